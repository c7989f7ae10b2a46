/* Attention, computed plainly: one head after the other, a block of queries at a time. */
#include "ops/infer/rules/attention_form.h"

#include <math.h>

#include "cpu/kernels/kernel.h"

enum { ATTENTION_ROWS = 256 }; /* queries whose scores are held at a time */

/* Where the row of a query, or of its result, begins; and the way to the next. */
static int64_t attention_row(const hn_attention_form *f, int64_t size) {
    return f->is_packed ? f->q_heads * size : size;
}
static int64_t attention_at(const hn_attention_form *f, int64_t size, int64_t batch, int64_t head,
                            int64_t i) {
    return f->is_packed ? ((batch * f->q_len + i) * f->q_heads + head) * size
                        : ((batch * f->q_heads + head) * f->q_len + i) * size;
}

/* What the masks add to the score of query i and key j; -inf: not allowed. */
static double attention_bias(const hn_attention_form *f, int64_t batch, int64_t head, int64_t i,
                             int64_t j) {
    int64_t length = f->total, at = i + f->past_len;
    if (f->lengths) {
        hn_load_i64(f->lengths, (uint64_t)batch, 1, &length);
        length = HN_MAX(HN_MIN(length, f->total), 0); /* beyond its ends it means the same */
        at = i + length - f->q_len;
    }
    if ((f->is_causal && j > at) || j >= length || (f->left >= 0 && j < at - f->left) ||
        (f->right >= 0 && j > at + f->right))
        return -HUGE_VAL;
    if (!f->mask)
        return 0;
    if (j >= f->mask_len)
        return -HUGE_VAL;
    const int64_t *s = f->mask_strides;
    uint64_t index = (uint64_t)(batch * s[0] + head * s[1] + i * s[2] + j * s[3]);
    double v;
    if (f->mask->dtype == HN_F32)
        return (double)((const float *)f->mask->data)[index];
    hn_load_f64(f->mask, index, 1, &v);
    return f->mask->dtype == HN_BOOL ? (v != 0 ? 0 : -HUGE_VAL) : v;
}

#define PASTE_NAME(a, b) a##_##b
#define T float
#define NAME(x) PASTE_NAME(x, f32)
#define HN_EXP expf
#include "ops/eval/onnx/attention_tmpl.h"
#undef T
#undef NAME
#undef HN_EXP
#define T double
#define NAME(x) PASTE_NAME(x, f64)
#define HN_EXP exp
#include "ops/eval/onnx/attention_tmpl.h"
#undef T
#undef NAME
#undef HN_EXP
#undef PASTE_NAME

/* ---- Attention ------------------------------------------------------------------------------- */

static hone_status read_score_mask(hn_eval *c, hn_attention_form *f) {
    const int64_t want[4] = {f->batch, f->q_heads, f->q_len, f->total};
    const hn_array *mask = hn_arg(c, 3);
    f->mask = mask;
    f->mask_len = f->total;
    if (!mask)
        return HONE_OK;
    bool fits = mask->rank >= 1 && mask->rank <= 4;
    int64_t step = 1;
    for (int32_t k = 3, i = mask->rank - 1; fits && k >= 0; k--, i--) {
        int64_t size = i >= 0 ? mask->dims[i] : 1;
        f->mask_strides[k] = size == 1 ? 0 : step;
        step *= size;
        if (k == 3)
            f->mask_len = size;
        fits = k == 3 ? size <= want[k] : size == 1 || size == want[k];
    }
    if (fits)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_SHAPE, "the mask does not broadcast to [%lld, %lld, %lld, %lld]",
                        (long long)want[0], (long long)want[1], (long long)want[2],
                        (long long)want[3]);
}

static void read_attention_sizes(hn_eval *c, hn_attention_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *q = hn_arg(c, 0), *k = hn_arg(c, 1), *v = hn_arg(c, 2);
    f->is_packed = q->rank == 3;
    f->batch = q->dims[0];
    f->q_heads = f->is_packed ? hn_attr_i(node, "q_num_heads", 1) : q->dims[1];
    f->kv_heads = f->is_packed ? hn_attr_i(node, "kv_num_heads", 1) : k->dims[1];
    f->q_len = q->dims[f->is_packed ? 1 : 2];
    f->kv_len = k->dims[f->is_packed ? 1 : 2];
    f->head_size = f->is_packed ? q->dims[2] / f->q_heads : q->dims[3];
    f->v_size = f->is_packed ? v->dims[2] / f->kv_heads : v->dims[3];
    f->scale = hn_has_attr(node, "scale") ? (double)hn_attr_f(node, "scale", 1)
                                          : 1 / sqrt((double)HN_MAX(f->head_size, 1));
}

hone_status hn_attention_form_read(hn_eval *c, hn_attention_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *past_k = hn_arg(c, 4), *past_v = hn_arg(c, 5);
    *f = (hn_attention_form){.lengths = past_k ? NULL : hn_arg(c, 6)};
    if ((past_k != NULL) != (past_v != NULL))
        return hn_eval_fail(c, HONE_E_INVALID, "past_key and past_value must be given together");
    read_attention_sizes(c, f);
    f->past_len = past_k ? past_k->dims[2] : 0;
    f->total = f->past_len + f->kv_len;
    f->softcap = (double)hn_attr_f(node, "softcap", 0);
    f->qk_mode = (int)hn_attr_i(node, "qk_matmul_output_mode", 0);
    f->is_causal = hn_attr_i(node, "is_causal", 0) != 0;
    f->left = HN_MIN(hn_attr_i(node, "left_window_size", -1), INT32_MAX);
    f->right = HN_MIN(hn_attr_i(node, "right_window_size", -1), INT32_MAX);
    if (f->kv_heads < 1 || f->q_heads % f->kv_heads != 0)
        return f->q_heads == 0
                   ? HONE_OK
                   : hn_eval_fail(c, HONE_E_SHAPE, "there are no key and value heads to attend");
    return read_score_mask(c, f);
}

static hone_status eval_attention(hn_eval *c) {
    hn_attention_form f;
    HN_TRY(hn_attention_form_read(c, &f));
    if (f.kv_heads < 1)
        return HONE_OK;
    if (hn_attention_is_fast(c, &f))
        return hn_attention_run_fast(c, &f);
    return hn_arg(c, 0)->dtype == HN_F64 ? attention_run_f64(c, &f) : attention_run_f32(c, &f);
}
const hn_impl hn_impl_attention[1] = {{.eval = eval_attention}};

/* ---- FlexAttention --------------------------------------------------------------------------- */

/* Gives the scores to a body and takes its answer in their place. */
static hone_status flex_modify(hn_eval *c, hn_body_role role, hn_object **scores) {
    hn_object *out = NULL;
    if (!hn_eval_has_body(c, role))
        return HONE_OK;
    HN_TRY(hn_eval_body(c, role, 1, scores, 1, &out));
    const hn_array *a = &out->array, *b = &(*scores)->array;
    bool fits = out->kind == HN_OBJECT_TENSOR && a->dtype == b->dtype && a->rank == b->rank &&
                memcmp(a->dims, b->dims, (size_t)b->rank * sizeof *b->dims) == 0;
    if (!fits) {
        hn_object_unref(c, out);
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "%s must give a tensor of the type and shape that it gets",
                            role == HN_BODY_MAIN ? "score_mod" : "prob_mod");
    }
    hn_object_unref(c, *scores);
    *scores = out;
    return HONE_OK;
}

/* All scores of all heads, in the softmax's precision. */
static hone_status flex_scores(hn_eval *c, const hn_attention_form *f, hn_array *scores) {
    const double *q = hn_wide_f64(c, hn_arg(c, 0)), *k = hn_wide_f64(c, hn_arg(c, 1));
    int64_t matrix = f->q_len * f->total, n_heads = f->batch * f->q_heads,
            shared = f->q_heads / f->kv_heads;
    double *block = hn_eval_scratch_n(c, (uint64_t)matrix, sizeof *block);
    HN_TRY_PTR(q && k && block);
    for (int64_t i = 0; i < n_heads; i++) {
        int64_t kv = i / f->q_heads * f->kv_heads + i % f->q_heads / shared;
        hn_gemm_f64(hn_eval_pool(c), &(hn_gemm_job_f64){.m = f->q_len,
                                                        .n = f->total,
                                                        .k = f->head_size,
                                                        .a = q + i * f->q_len * f->head_size,
                                                        .a_row = f->head_size,
                                                        .a_col = 1,
                                                        .b = k + kv * f->total * f->head_size,
                                                        .b_row = 1,
                                                        .b_col = f->head_size,
                                                        .c = block,
                                                        .c_row = f->total});
        for (int64_t j = 0; j < matrix; j++)
            block[j] *= f->scale;
        hn_store_f64(scores, (uint64_t)(i * matrix), (uint64_t)matrix, block);
    }
    return HONE_OK;
}

static hone_status flex_softmax(hn_eval *c, const hn_attention_form *f, hn_array *scores) {
    double *row = hn_eval_scratch_n(c, (uint64_t)f->total, sizeof *row);
    HN_TRY_PTR(row);
    for (int64_t i = 0; i < f->batch * f->q_heads * f->q_len; i++) {
        hn_load_f64(scores, (uint64_t)(i * f->total), (uint64_t)f->total, row);
        attention_softmax_f64(f->total, row);
        hn_store_f64(scores, (uint64_t)(i * f->total), (uint64_t)f->total, row);
    }
    return HONE_OK;
}

static hone_status flex_values(hn_eval *c, const hn_attention_form *f, const hn_array *weights,
                               hn_array *y) {
    const double *v = hn_wide_f64(c, hn_arg(c, 2));
    int64_t matrix = f->q_len * f->total, shared = f->q_heads / f->kv_heads;
    double *block = hn_eval_scratch_n(c, (uint64_t)matrix, sizeof *block),
           *out = hn_buffer_f64(c, y);
    HN_TRY_PTR(v && block && out);
    for (int64_t i = 0; i < f->batch * f->q_heads; i++) {
        int64_t kv = i / f->q_heads * f->kv_heads + i % f->q_heads / shared;
        hn_load_f64(weights, (uint64_t)(i * matrix), (uint64_t)matrix, block);
        hn_gemm_f64(hn_eval_pool(c), &(hn_gemm_job_f64){.m = f->q_len,
                                                        .n = f->v_size,
                                                        .k = f->total,
                                                        .a = block,
                                                        .a_row = f->total,
                                                        .a_col = 1,
                                                        .b = v + kv * f->total * f->v_size,
                                                        .b_row = f->v_size,
                                                        .b_col = 1,
                                                        .c = out + i * f->q_len * f->v_size,
                                                        .c_row = f->v_size});
    }
    hn_narrow_f64(y, out);
    return HONE_OK;
}

static hone_status flex_steps(hn_eval *c, const hn_attention_form *f, hn_object **scores,
                              hn_array *y) {
    HN_TRY(flex_scores(c, f, &(*scores)->array));
    HN_TRY(flex_modify(c, HN_BODY_MAIN, scores));
    hn_object *weights = hn_object_tensor(c, (*scores)->array.dtype, 4, (*scores)->array.dims);
    HN_TRY_PTR(weights); /* the body's answer may be somebody else's as well: not written to */
    uint64_t bytes = weights->array.n_elems * hn_elem_bytes(weights->array.dtype);
    if (bytes > 0)
        memcpy(weights->array.data, (*scores)->array.data, bytes);
    hn_object_unref(c, *scores);
    *scores = weights;
    HN_TRY(flex_softmax(c, f, &weights->array));
    HN_TRY(flex_modify(c, HN_BODY_SECOND, scores));
    return flex_values(c, f, &(*scores)->array, y);
}

static hone_status eval_flex_attention(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_array *y = hn_ret(c, 0);
    hn_attention_form f = {.left = -1, .right = -1};
    if (!y || y->n_elems == 0)
        return HONE_OK;
    read_attention_sizes(c, &f);
    f.total = f.kv_len;
    hn_dtype type = hn_arg(c, 0)->dtype;
    hn_dtype precision =
        (hn_dtype)hn_attr_i(node, "softmax_precision", type == HN_F64 ? HN_F64 : HN_F32);
    hn_object *scores =
        hn_object_tensor(c, precision, 4, (int64_t[]){f.batch, f.q_heads, f.q_len, f.total});
    HN_TRY_PTR(scores);
    hone_status status = flex_steps(c, &f, &scores, y);
    hn_object_unref(c, scores);
    return status;
}
const hn_impl hn_impl_flex_attention[1] = {{.eval = eval_flex_attention}};
