/* hone.h: optimizing. */
#include "api/value_int.h"
#include "report/report.h"
#include "run/session.h"

#define RAISED_OPSET 23 /* Attention, RMSNormalization, RotaryEmbedding: onnxruntime runs them */

struct hone_optimization {
    const hone_allocator *alloc;
    hn_opt_log *log;
    hn_proof *proof;
    bool is_verified;
    const char *difference_at; /* in the memory of the verification */
};

/* ---- passes ---------------------------------------------------------------------------------- */

uint32_t hone_pass_count(void) {
    uint32_t n = 0;
    while (hn_pass_at(n))
        n++;
    return n;
}

bool hone_pass_get(uint32_t pass, hone_pass_info *info) {
    const hn_pass_row *row = hn_pass_at(pass);
    if (!row)
        return false;
    *info = (hone_pass_info){.name = row->name,
                             .summary = row->summary,
                             .level = (hone_level)row->level,
                             .numerics = (hone_numerics)row->numerics};
    return true;
}

/* ---- options --------------------------------------------------------------------------------- */

void hone_optimize_options_init(hone_optimize_options *options) {
    *options = (hone_optimize_options){.size = sizeof *options,
                                       .level = HONE_LEVEL_EXTENDED,
                                       .stop_after = UINT32_MAX,
                                       .max_fold_bytes = (uint64_t)16 << 20,
                                       .verify_timeout_seconds = 300,
                                       .verify_memory_limit_bytes = (uint64_t)4 << 30};
}

hone_status hn_api_check_level(hone_level level, hone_error *error) {
    if (level == HONE_LEVEL_NONE || level == HONE_LEVEL_BASIC || level == HONE_LEVEL_EXTENDED ||
        level == HONE_LEVEL_ALL)
        return HONE_OK;
    return hn_fail(error, HONE_E_ARGUMENT, "%d is not a level; the levels are 0, 1, 2 and 99",
                   (int)level);
}

/* Names of passes, or of passes and rules: "fold-affine.conv". */
static hone_status check_pass_names(uint32_t n, const char *const *names, bool with_rules,
                                    hone_error *error) {
    for (uint32_t i = 0; i < n; i++) {
        size_t len = with_rules ? strcspn(names[i], ".") : strlen(names[i]);
        if (!hn_pass_find(names[i], len))
            return hn_fail(error, HONE_E_NOT_FOUND,
                           "there is no pass '%s'; `hone passes` lists them", names[i]);
    }
    return HONE_OK;
}

static hone_status check_optimize_options(const hone_optimize_options *o, hone_error *error) {
    HN_TRY(hn_api_check_level(o->level, error));
    if (o->target != HONE_TARGET_ONNX && o->target != HONE_TARGET_ONNXRUNTIME)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a target", (int)o->target);
    if (o->precision > HONE_PRECISION_BFLOAT16)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a precision", (int)o->precision);
    HN_TRY(hn_api_require(!o->n_blocked_ops || o->blocked_ops, "blocked_ops", error));
    HN_TRY(hn_api_require(!o->n_blocked_nodes || o->blocked_nodes, "blocked_nodes", error));
    if (o->opset < 0)
        return hn_fail(error, HONE_E_ARGUMENT, "opset %lld does not exist", (long long)o->opset);
    HN_TRY(hn_api_require(!o->n_passes || o->passes, "passes", error));
    HN_TRY(hn_api_require(!o->n_disabled || o->disabled, "disabled", error));
    HN_TRY(check_pass_names(o->n_passes, o->passes, false, error));
    HN_TRY(check_pass_names(o->n_disabled, o->disabled, true, error));
    return hn_api_require(!o->n_verify_inputs || (o->verify_input_names && o->verify_inputs),
                          "verify_inputs", error);
}

/* The caller's hook, called by ours. */
typedef struct pass_observer {
    const hone_optimize_options *options;
    uint32_t n_seen;
} pass_observer;

static hone_status report_pass_to_caller(void *ctx, hn_model *m, const hn_pass_row *pass,
                                         const hn_opt_log *log, hone_error *err) {
    pass_observer *o = ctx;
    uint32_t n = log->rewrites.n - HN_MIN(o->n_seen, log->rewrites.n);
    o->n_seen = log->rewrites.n;
    if (o->options->after_pass(o->options->after_pass_ctx, (const hone_model *)(const void *)m,
                               pass->name, n))
        return hn_fail(err, HONE_E_CANCELLED, "the optimization was stopped by its caller");
    return HONE_OK;
}

static hn_precision translate_precision(const hone_optimize_options *o) {
    static const hn_dtype elems[] = {HN_UNDEFINED, HN_F16, HN_BF16};
    return (hn_precision){.elem = elems[o->precision],
                          .keep_io = o->keep_io_types,
                          .n_blocked_ops = o->n_blocked_ops,
                          .blocked_ops = o->blocked_ops,
                          .n_blocked_nodes = o->n_blocked_nodes,
                          .blocked_nodes = o->blocked_nodes};
}

static void translate_options(const hone_optimize_options *o, pass_observer *observer,
                              hn_optimize_options *out) {
    hn_optimize_options_init(out);
    out->level = (hn_level)o->level;
    out->target = o->target == HONE_TARGET_ONNX ? HN_TARGET_ONNX : HN_TARGET_ONNXRUNTIME;
    out->opset = o->opset;
    out->max_opset = o->target == HONE_TARGET_ONNXRUNTIME && o->opset == 0 ? RAISED_OPSET : 0;
    out->n_only = o->n_passes;
    out->only = o->passes;
    out->n_disabled = o->n_disabled;
    out->disabled = o->disabled;
    out->stop_after = o->stop_after;
    out->max_fold_bytes = o->max_fold_bytes;
    out->allow_approximate = o->allow_approximate;
    out->measure = o->measure;
    out->keep_origins = o->keep_origins;
    out->trusts_names = o->trust_dim_names;
    out->precision = translate_precision(o);
    out->after_pass = o->after_pass ? report_pass_to_caller : NULL;
    out->ctx = observer;
    if (o->rules)
        out->custom = hn_rule_set_rows((const hn_rule_set *)(const void *)o->rules, &out->n_custom);
}

/* ---- inputs for the verification ------------------------------------------------------------- */

static hone_status give_sample(hn_samples *s, const hn_model *m, const char *name,
                               const hone_value *value, hone_error *error) {
    const hn_block *b = hn_block_at(m->graph, 0);
    HN_TRY(hn_api_require(name && value, "verify_inputs", error));
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        if (strcmp(hn_s(hn_value_at(m->graph, b->inputs.at[i])->name), name) != 0)
            continue;
        hn_object *copy = hn_heap_copy(s->heap, value->object);
        HN_TRY_PTR(copy);
        if (s->inputs[i])
            hn_heap_unref(s->heap, s->inputs[i]);
        s->inputs[i] = copy;
        return HONE_OK;
    }
    return hn_fail(error, HONE_E_NOT_FOUND, "the model has no input '%s'", name);
}

static hone_status open_samples(const hn_model *m, const hone_optimize_options *o,
                                hn_samples **samples, hone_error *error) {
    *samples = NULL;
    if (!o->verify)
        return HONE_OK;
    double seconds = o->verify_timeout_seconds;
    HN_TRY(hn_samples_empty(m, samples, error));
    (*samples)->memory_limit = o->verify_memory_limit_bytes;
    if (seconds > 0 && seconds < 1e9)
        (*samples)->deadline_ns = hn_now_ns() + (uint64_t)(seconds * 1e9);
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < o->n_verify_inputs && status == HONE_OK; i++)
        status = give_sample(*samples, m, o->verify_input_names[i], o->verify_inputs[i], error);
    if (status == HONE_OK && o->n_verify_inputs < hn_block_at(m->graph, 0)->inputs.n)
        status = hn_samples_fill(*samples, m, o->verify_seed, false, error);
    if (status != HONE_OK) {
        hn_samples_free(*samples);
        *samples = NULL;
    }
    return status;
}

/* ---- optimizing ------------------------------------------------------------------------------ */

void hone_optimization_free(hone_optimization *report) {
    if (!report)
        return;
    hn_opt_log_free(report->log);
    hn_proof_free(report->proof);
    hn_free(report->alloc, report, sizeof *report);
}

static hone_status keep_difference(hone_optimization *report, const hn_model *m) {
    const hn_block *b = hn_block_at(m->graph, 0);
    uint32_t output = report->proof->remaining.output;
    if (!report->is_verified || output >= b->outputs.n)
        return HONE_OK;
    const char *name = hn_s(hn_value_at(m->graph, b->outputs.at[output])->name);
    report->difference_at = hn_arena_copy(report->proof->arena, name, strlen(name) + 1);
    return report->difference_at ? HONE_OK : HONE_E_NOMEM;
}

static hone_status optimize_into(hone_optimization *report, const hn_model *m,
                                 const hone_optimize_options *o, hn_model **out,
                                 hone_error *error) {
    pass_observer observer = {.options = o};
    hn_optimize_options options;
    hn_samples *samples;
    report->proof = hn_proof_new(report->alloc);
    HN_TRY_PTR(report->proof);
    translate_options(o, &observer, &options);
    HN_TRY(open_samples(m, o, &samples, error));
    report->is_verified = samples != NULL;
    hone_status status =
        hn_prove_optimize(m, &options, samples, out, &report->log, report->proof, error);
    if (status == HONE_OK && samples && samples->shapes.n) {
        report->proof->shapes =
            hn_arena_copy(report->proof->arena, samples->shapes.at, samples->shapes.n + 1);
        status = report->proof->shapes ? HONE_OK : HONE_E_NOMEM;
    }
    hn_samples_free(samples);
    return status == HONE_OK ? keep_difference(report, m) : status;
}

hone_status hone_model_optimize(const hone_model *model, const hone_optimize_options *options,
                                hone_model **optimized, hone_optimization **report,
                                hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(optimized, error);
    *optimized = NULL;
    if (report)
        *report = NULL;
    HN_REQUIRE(model, error);
    hone_optimize_options o;
    hone_optimize_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_optimize_options");
    HN_TRY(check_optimize_options(&o, error));
    const hn_model *m = model_of(model);
    const hone_allocator *alloc = hn_arena_allocator(m->arena);
    hone_optimization *r = hn_calloc(alloc, 1, sizeof *r);
    if (!r)
        return hn_error_complete(error, HONE_E_NOMEM);
    r->alloc = alloc;
    hn_model *out = NULL;
    hone_status status = optimize_into(r, m, &o, &out, error);
    if (status != HONE_OK) {
        hn_model_free(out);
        out = NULL;
    }
    *optimized = (hone_model *)(void *)out;
    if (report && status == HONE_OK)
        *report = r;
    else
        hone_optimization_free(r);
    return hn_error_complete(error, status);
}

/* ---- reading the report ---------------------------------------------------------------------- */

void hone_optimization_get_info(const hone_optimization *report, hone_optimization_info *info) {
    const hn_opt_log *log = report->log;
    *info = (hone_optimization_info){
        .n_passes = log->stats.n,
        .n_rewrites = log->rewrites.n,
        .n_near_misses = log->misses.n,
        .n_guilty = report->proof->guilty.n,
        .opset_before = log->opset_before,
        .opset_after = log->opset_after,
        .is_stopped = log->is_stopped,
        .is_verified = report->is_verified,
        .n_runs = report->proof->n_runs,
        .max_difference = report->proof->remaining.max_abs,
        .max_relative = report->proof->remaining.max_relative,
        .difference_at = report->difference_at ? report->difference_at : "",
        .verify_shapes = report->proof->shapes ? report->proof->shapes : ""};
}

void hone_optimization_get_pass(const hone_optimization *report, uint32_t i,
                                hone_pass_stats *stats) {
    *stats = (hone_pass_stats){.pass = ""};
    if (i >= report->log->stats.n)
        return;
    const hn_pass_stat *s = &report->log->stats.at[i];
    *stats = (hone_pass_stats){.pass = s->pass->name,
                               .n_runs = s->n_runs,
                               .n_rewrites = s->n_rewrites,
                               .nodes_saved = s->nodes_saved,
                               .weight_bytes_saved = s->weight_bytes_saved,
                               .macs_saved = s->macs_saved,
                               .seconds = s->seconds};
}

void hone_optimization_get_rewrite(const hone_optimization *report, uint32_t i,
                                   hone_rewrite *rewrite) {
    *rewrite = (hone_rewrite){.pass = "", .rule = "", .node = "", .detail = ""};
    if (i >= report->log->rewrites.n)
        return;
    const hn_rewrite *w = &report->log->rewrites.at[i];
    *rewrite = (hone_rewrite){.pass = w->pass->name,
                              .rule = w->rule,
                              .node = w->node,
                              .detail = w->detail,
                              .n_nodes_removed = w->n_nodes_removed,
                              .n_nodes_added = w->n_nodes_added};
}

void hone_optimization_get_near_miss(const hone_optimization *report, uint32_t i,
                                     hone_near_miss *miss) {
    *miss = (hone_near_miss){"", "", "", ""};
    if (i >= report->log->misses.n)
        return;
    const hn_near_miss *m = &report->log->misses.at[i];
    *miss = (hone_near_miss){m->pass->name, m->rule, m->node, m->reason};
}

void hone_optimization_get_guilty(const hone_optimization *report, uint32_t i,
                                  hone_near_miss *guilty) {
    *guilty = (hone_near_miss){"", "", "", ""};
    if (i >= report->proof->guilty.n)
        return;
    const hn_guilty *g = &report->proof->guilty.at[i];
    *guilty = (hone_near_miss){g->pass, g->rule, g->node, g->reason};
}

hone_status hone_optimization_write_json(const hone_optimization *report, const char *label,
                                         hone_write_fn write, void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(report, error);
    HN_REQUIRE(write, error);
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, report->alloc);
    hn_json_init(&j, &text, true);
    hn_optimization_json(report->log, report->proof, report->is_verified, label, &j);
    return hn_api_give_json(&text, write, ctx, error);
}
