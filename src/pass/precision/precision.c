/* Converts float to float16 or bfloat16: nodes compute in half precision unless a rule keeps them
 * in float. */
#include "pass/precision/precision.h"

static const hn_tensor *narrow_constant(const hn_retyping *w, hn_id value, const hn_tensor *t) {
    (void)value;
    return hn_narrow_tensor(w->g->model, t, w->to);
}

static hone_status begin_narrowing(hn_narrowing *w) {
    hn_pass *p = w->types.pass;
    HN_TRY(hn_retype_begin(&w->types));
    size_t n = (size_t)w->types.n_values + 1;
    bool *is_large = HN_NEW_N(p->scratch, bool, n);
    w->is_size = HN_NEW_N(p->scratch, bool, n);
    w->is_large = is_large;
    if (!w->is_size || !is_large)
        return HONE_E_NOMEM;
    return w->wish->find_large ? w->wish->find_large(w->wish->ctx, p->model,
                                                     hn_narrow_limit(w->types.to), is_large, p->err)
                               : HONE_OK;
}

static hone_status check_opset(const hn_retyping *w) {
    int64_t opset = hn_opset_version(w->pass->g->opsets, NULL), least = w->to == HN_F16 ? 6 : 13;
    return opset >= least
               ? HONE_OK
               : hn_fail(w->pass->err, HONE_E_UNSUPPORTED,
                         "%s needs opset %lld, the model has %lld: convert it first (--opset)",
                         hn_dtype_name(w->to), (long long)least, (long long)opset);
}

hone_status hn_pass_precision(hn_pass *p) {
    const hn_precision *wish = &p->options->precision;
    hn_narrowing w = {.types = {.pass = p,
                                .from = HN_F32,
                                .to = wish->elem,
                                .keep_io = wish->keep_io,
                                .convert = narrow_constant},
                      .wish = wish};
    if (wish->elem == HN_UNDEFINED || p->g->nodes.n == 0 || !hn_pass_may(p, "narrow"))
        return HONE_OK;
    HN_TRY(check_opset(&w.types));
    HN_TRY(begin_narrowing(&w));
    HN_TRY(hn_narrow_judge(&w));
    p->is_done = true;
    return hn_retype_apply(&w.types, "narrow");
}
