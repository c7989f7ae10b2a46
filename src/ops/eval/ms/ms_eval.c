/* What the evaluations of com.microsoft share. */
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"
#include "ops/eval_engine.h"
#include "ops/eval/copy.h"

/* ---- arrays ---------------------------------------------------------------------------------- */

static hn_object borrowed(const hn_array *a) {
    hn_object o;
    hn_object_init_borrowed(&o, a->dtype, a->rank, a->dims, a->data);
    return o;
}

/* Runs `inner`, a copy of the node's evaluation, on other arguments. */
static hone_status run_inner(hn_eval *inner, hn_eval_fn fn, uint32_t n_args,
                             const hn_array *const *args) {
    hn_object objects[HN_MAX_INNER_ARGS], *inner_args[HN_MAX_INNER_ARGS];
    for (uint32_t i = 0; i < n_args; i++) {
        inner_args[i] = args[i] ? &objects[i] : NULL;
        if (args[i])
            objects[i] = borrowed(args[i]);
    }
    inner->n_args = n_args;
    inner->args = inner_args;
    return fn(inner);
}

hone_status hn_eval_as(hn_eval *c, hn_eval_fn fn, uint32_t n_args, const hn_array *const *args,
                       hn_array *ret) {
    hn_object result = borrowed(ret), *rets = &result;
    const bool wanted = true;
    hn_eval inner = *c;
    inner.n_rets = 1;
    inner.rets = &rets;
    inner.wanted = &wanted;
    return run_inner(&inner, fn, n_args, args);
}

hone_status hn_eval_with(hn_eval *c, hn_eval_fn fn, uint32_t n_args, const hn_array *const *args) {
    hn_eval inner = *c;
    return run_inner(&inner, fn, n_args, args);
}

hone_status hn_scratch_array(hn_eval *c, hn_dtype dtype, int32_t rank, const int64_t *dims,
                             hn_array *out) {
    *out = (hn_array){.dtype = dtype, .rank = rank, .n_elems = hn_count(rank, dims), .dims = dims};
    out->data = hn_eval_scratch_n(c, out->n_elems, hn_elem_bytes(dtype));
    HN_TRY_PTR(out->data);
    return HONE_OK;
}

bool hn_arg_f32s(hn_eval *c, uint32_t arg, const float **out) {
    const hn_array *a = hn_arg(c, arg);
    *out = a ? hn_wide_f32(c, a) : NULL;
    return !a || *out;
}

float *hn_arg_copy_f32(hn_eval *c, uint32_t arg) {
    const hn_array *x = hn_arg(c, arg);
    float *at = hn_eval_scratch_n(c, x->n_elems, sizeof *at);
    if (at)
        hn_load_f32(x, 0, x->n_elems, at);
    return at;
}

hone_status hn_want_elems(hn_eval *c, uint32_t arg, uint64_t n) {
    const hn_array *a = hn_arg(c, arg);
    if (!a || a->n_elems == n)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE,
                        "input %u has %llu elements, but needs %llu to fit the others", arg,
                        (unsigned long long)a->n_elems, (unsigned long long)n);
}

hone_status hn_want_dims(hn_eval *c, uint32_t arg, int32_t rank, const int64_t *dims) {
    const hn_array *a = hn_arg(c, arg);
    if (!a)
        return HONE_OK;
    if (a->rank != rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u has rank %d, but needs %d", arg, a->rank,
                            rank);
    for (int32_t i = 0; i < rank; i++)
        if (a->dims[i] != dims[i])
            return hn_eval_fail(
                c, HONE_E_SHAPE,
                "dimension %d of input %u is %lld, but must be %lld to fit the others", i, arg,
                (long long)a->dims[i], (long long)dims[i]);
    return HONE_OK;
}

hone_status hn_want_broadcast(hn_eval *c, uint32_t arg, const hn_array *y) {
    const hn_array *a = hn_arg(c, arg);
    bool fits = !a || a->rank <= y->rank;
    for (int32_t i = 1; a && fits && i <= a->rank; i++)
        fits = a->dims[a->rank - i] == 1 || a->dims[a->rank - i] == y->dims[y->rank - i];
    return fits ? HONE_OK
                : hn_eval_fail(c, HONE_E_SHAPE, "input %u does not broadcast to the output", arg);
}

/* ---- channels -------------------------------------------------------------------------------- */

hone_status hn_channels_first_like(hn_eval *c, const hn_array *y, hn_dtype dtype, int64_t *dims,
                                   hn_array *out) {
    dims[0] = y->dims[0];
    dims[1] = y->dims[y->rank - 1];
    for (int32_t i = 2; i < y->rank; i++)
        dims[i] = y->dims[i - 1];
    return hn_scratch_array(c, dtype, y->rank, dims, out);
}

hone_status hn_channels_first(hn_eval *c, const hn_array *x, int64_t *dims, hn_array *out) {
    int64_t from[HN_MAX_RANK], to[HN_MAX_RANK], moved[HN_MAX_RANK];
    HN_TRY(hn_channels_first_like(c, x, x->dtype, dims, out));
    hn_strides(x->rank, x->dims, from);
    hn_strides(x->rank, dims, to);
    for (int32_t i = 0; i < x->rank; i++)
        moved[i] = from[i == 0 ? 0 : i == 1 ? x->rank - 1 : i - 1];
    return hn_copy_grid(c, x->rank, dims, out, &(hn_grid){0, to}, x, &(hn_grid){0, moved});
}

hone_status hn_channels_last(hn_eval *c, const hn_array *x, hn_array *y) {
    int64_t from[HN_MAX_RANK], to[HN_MAX_RANK], moved[HN_MAX_RANK];
    hn_strides(x->rank, x->dims, from);
    hn_strides(y->rank, y->dims, to);
    for (int32_t i = 0; i < y->rank; i++)
        moved[i] = from[i == 0 ? 0 : i == y->rank - 1 ? 1 : i + 1];
    return hn_copy_grid(c, y->rank, y->dims, y, &(hn_grid){0, to}, x, &(hn_grid){0, moved});
}

/* ---- quantized numbers ----------------------------------------------------------------------- */

hn_affine hn_affine_args(const hn_eval *c, uint32_t scale, uint32_t zero) {
    return (hn_affine){(float)hn_arg_f64_or(c, scale, 1), (float)hn_arg_f64_or(c, zero, 0)};
}

void hn_dequantize_f32(const hn_array *q, hn_affine by, uint64_t begin, uint64_t n, float *out) {
    hn_load_f32(q, begin, n, out);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (out[i] - by.zero) * by.scale;
}

void hn_quantize_f32(float *real, hn_affine by, hn_array *q, uint64_t begin, uint64_t n) {
    float lo, hi;
    hn_int_range(q->dtype, &lo, &hi);
    for (uint64_t i = 0; i < n; i++)
        real[i] = fminf(fmaxf(hn_round_even(real[i] / by.scale) + by.zero, lo), hi);
    hn_store_f32(q, begin, n, real);
}

hone_status hn_dequantize_array(hn_eval *c, const hn_array *q, hn_affine by, hn_array *out) {
    HN_TRY(hn_scratch_array(c, HN_F32, q->rank, q->dims, out));
    hn_dequantize_f32(q, by, 0, q->n_elems, out->data);
    return HONE_OK;
}

/* ---- activations ----------------------------------------------------------------------------- */

/* Parameter i: from the list, or by name; NULL when neither is there. */
static const float *activation_param(const hn_eval *c, uint32_t i, const char *name) {
    const hn_attr *list = hn_attr_raw(hn_eval_node(c), "activation_params");
    const hn_attr *alone = hn_attr_raw(hn_eval_node(c), name);
    if (list && list->kind == HN_ATTR_FLOATS && i < list->n)
        return &list->v.floats[i];
    return alone && alone->kind == HN_ATTR_FLOAT ? &alone->v.f : NULL;
}

static hn_activation fused_activation(const hn_eval *c) {
    return (hn_activation){.name = hn_attr_s(hn_eval_node(c), "activation"),
                           .a = activation_param(c, 0, "activation_alpha"),
                           .b = activation_param(c, 1, "activation_beta")};
}

/* Parameter i of an activation: given, or its default. */
static float activation_value(const hn_activation_row *row, uint32_t i, const float *given) {
    return given && i < row->n_params ? *given : (float)row->defaults[i];
}

static hone_status limit_array(double lo, double hi, hn_array *y) {
    double tile[HN_TILE];
    for (uint64_t begin = 0; begin < y->n_elems && !hn_spent(HN_TILE); begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, y->n_elems - begin);
        hn_load_f64(y, begin, n, tile);
        for (uint64_t i = 0; i < n; i++)
            tile[i] = tile[i] < lo ? lo : tile[i] > hi ? hi : tile[i];
        hn_store_f64(y, begin, n, tile);
    }
    return HONE_OK;
}

bool hn_activation_epilogue(const hn_activation *act, hn_epilogue_f32 *out) {
    const hn_activation_row *row = hn_activation_find(act->name);
    out->is_limited = row && row->is_limit;
    out->unary = row && !row->is_limit ? hn_unary_find_f32(row->name) : NULL;
    if (row) {
        out->a = out->least = activation_value(row, 0, act->a);
        out->b = out->most = activation_value(row, 1, act->b);
    }
    return act->name.n == 0 || out->is_limited || out->unary;
}

bool hn_fused_epilogue(const hn_eval *c, hn_epilogue_f32 *out) {
    hn_activation act = fused_activation(c);
    return hn_activation_epilogue(&act, out);
}

static hone_status activate_array(hn_eval *c, const hn_activation *act, hn_array *y) {
    const hn_activation_row *row = hn_activation_find(act->name);
    if (!row)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "activation '%.*s' is unknown",
                            (int)HN_MIN(act->name.n, 100), (const char *)act->name.at);
    double a = (double)activation_value(row, 0, act->a),
           b = (double)activation_value(row, 1, act->b);
    return row->is_limit ? limit_array(a, b, y)
                         : hn_unary_eval(c, hn_unary_find(row->name), a, b, y, y);
}

hone_status hn_activate(hn_eval *c, const hn_activation *act, hn_array *y) {
    if (act->name.n == 0)
        return HONE_OK;
    if (!y->row_stride)
        return activate_array(c, act, y);
    for (int64_t i = 0; i < hn_n_rows(y); i++) {
        hn_array row = hn_array_row(y, i);
        HN_TRY(activate_array(c, act, &row));
    }
    return HONE_OK;
}

hone_status hn_fused_activation(hn_eval *c, hn_array *y) {
    hn_activation act = fused_activation(c);
    return hn_activate(c, &act, y);
}

/* ---- normalization --------------------------------------------------------------------------- */

void hn_normalize_row(const hn_norm_row_f32 *norm, uint64_t n, const float *x, float *y,
                      float *mean, float *inverse) {
    double sum = 0, squares = 0;
    if (hn_normalize_row_f32(norm, (int64_t)n, x, y, mean, inverse))
        return;
    for (uint64_t i = 0; i < n && !norm->simplified; i++)
        sum += (double)x[i];
    double middle = n > 0 ? sum / (double)n : 0;
    for (uint64_t i = 0; i < n; i++)
        squares += ((double)x[i] - middle) * ((double)x[i] - middle);
    double by = 1 / sqrt((n > 0 ? squares / (double)n : 0) + (double)norm->epsilon);
    for (uint64_t i = 0; i < n; i++) {
        double v = ((double)x[i] - middle) * by;
        v *= norm->gamma ? (double)norm->gamma[i] : 1;
        y[i] = (float)(v + (norm->beta ? (double)norm->beta[i] : 0));
    }
    *mean = (float)middle;
    *inverse = (float)by;
}
