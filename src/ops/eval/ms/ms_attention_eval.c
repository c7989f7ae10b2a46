/* Attention operators of com.microsoft that project their input themselves, computed. */
#include "ops/eval/ms/ms_heads_eval.h"

#include <math.h>

#include "cpu/kernels/kernel.h"
#include "ops/eval/product.h"

typedef struct packed_args {
    uint32_t mask, past, bias, past_length;
} packed_args;

/* Widths of Q, K and V in the packed weights. */
static hone_status read_widths(hn_eval *c, int64_t n_heads, int64_t widths[3]) {
    uint32_t n;
    const int64_t *given;
    const hn_array *w = hn_arg(c, 1);
    bool is_given = hn_attr_ints(hn_eval_node(c), "qkv_hidden_sizes", &n, &given) && n == 3;
    for (int i = 0; i < 3; i++)
        widths[i] = is_given ? given[i] : w->dims[1] / 3;
    if (widths[0] != widths[1] || widths[0] % n_heads != 0 || widths[2] % n_heads != 0 ||
        widths[0] + widths[1] + widths[2] != w->dims[1])
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "widths %lld, %lld and %lld of Q, K and V do not fit %lld heads and "
                            "weights of %lld columns",
                            (long long)widths[0], (long long)widths[1], (long long)widths[2],
                            (long long)n_heads, (long long)w->dims[1]);
    const hn_array *x = hn_arg(c, 0);
    HN_TRY(hn_want_dims(c, 1, 2, (const int64_t[]){x->dims[x->rank - 1], w->dims[1]}));
    return hn_want_elems(c, 2, (uint64_t)w->dims[1]);
}

/* x * w + bias over rows of x; bias may be NULL. */
static hone_status project_rows(hn_eval *c, const hn_array *x, const float *rows, const float *w,
                                int64_t width, float **out) {
    int64_t depth = x->dims[x->rank - 1], n_rows = (int64_t)hn_count(x->rank - 1, x->dims);
    const float *bias;
    *out = hn_eval_scratch_n(c, (uint64_t)(n_rows * width), sizeof **out);
    HN_TRY_PTR(*out && hn_arg_f32s(c, 2, &bias));
    for (int64_t i = 0; bias && i < n_rows; i++)
        memcpy(*out + i * width, bias, (size_t)width * sizeof **out);
    hn_gemm_f32(hn_eval_pool(c), &(hn_gemm_job_f32){.m = n_rows,
                                                    .n = width,
                                                    .k = depth,
                                                    .a = rows,
                                                    .a_row = depth,
                                                    .a_col = 1,
                                                    .b = w,
                                                    .b_row = width,
                                                    .b_col = 1,
                                                    .c = *out,
                                                    .c_row = width,
                                                    .add = bias != NULL});
    return HONE_OK;
}

/* The past holds keys and then values, [2, batch, heads, length, size]; so does the present. */
static hone_status find_packed_past(hn_eval *c, const packed_args *args, hn_attention_parts *p) {
    const hn_heads *a = &p->heads;
    const hn_array *past = hn_arg(c, args->past);
    hn_array *present = hn_ret(c, 1);
    if ((past || present) && a->key_size != a->value_size)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "keys and values of different sizes cannot stand in one past");
    if (past) {
        HN_TRY(hn_want_dims(
            c, args->past, 5,
            (const int64_t[]){2, a->batch, a->n_heads, hn_dim_or(past, 3), a->key_size}));
        p->keys.past = p->values.past = past;
        p->keys.past_room = p->values.past_room = p->n_past = past->dims[3];
        p->values.past_begin = a->batch * a->n_heads * past->dims[3];
        if (hn_attr_i(hn_eval_node(c), "past_present_share_buffer", 0))
            p->n_past = hn_arg_i64_or(c, args->past_length, 0);
    }
    p->keys.present = p->values.present = present;
    p->keys.room = p->values.room = present ? present->dims[3] : p->n_past + p->n_fresh;
    p->values.present_begin = present ? a->batch * a->n_heads * present->dims[3] : 0;
    return HONE_OK;
}

/* Queries and keys turned to where they stand, by angles that the operator knows itself. */
static hone_status turn_packed(hn_eval *c, const hn_attention_parts *p) {
    const hn_infer *node = hn_eval_node(c);
    const hn_heads *a = &p->heads;
    int64_t width = hn_attr_i(node, "rotary_embedding_dim", 0);
    if (!hn_attr_i(node, "do_rotary", 0))
        return HONE_OK;
    width = width == 0 ? a->key_size : width;
    if (width < 0 || width > a->key_size || width % 2 != 0)
        return hn_eval_fail(c, HONE_E_INVALID, "%lld of %lld elements of a head cannot be turned",
                            (long long)width, (long long)a->key_size);
    hn_rotary r = {.half = width / 2};
    float *cosines = hn_eval_scratch_n(c, (uint64_t)r.half, sizeof *cosines),
          *sines = hn_eval_scratch_n(c, (uint64_t)r.half, sizeof *sines);
    HN_TRY_PTR(cosines && sines);
    for (int64_t i = 0; i < p->n_fresh; i++) {
        for (int64_t e = 0; e < r.half; e++) {
            double angle = (double)(p->n_past + i) / pow(10000, (double)(2 * e) / (double)width);
            cosines[e] = (float)cos(angle);
            sines[e] = (float)sin(angle);
        }
        for (int64_t k = 0; k < a->batch * a->n_heads; k++) {
            int64_t b = k / a->n_heads, h = k % a->n_heads;
            hn_rotate(&r, cosines, sines, hn_row_at(&a->q, b, h, i));
            hn_rotate(&r, cosines, sines, hn_row_at(&p->keys.fresh, b, h, i));
        }
    }
    return HONE_OK;
}

/* qkv: the projected input. */
static hone_status run_packed_attention(hn_eval *c, const packed_args *args, const int64_t *widths,
                                        float *qkv) {
    const hn_array *input = hn_arg(c, 0);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1), n_rows = input->dims[1],
            width = hn_arg(c, 1)->dims[1];
    hn_attention_parts p = {.heads = {.batch = input->dims[0],
                                      .n_heads = n_heads,
                                      .n_kv_heads = n_heads,
                                      .n_queries = n_rows},
                            .n_fresh = n_rows,
                            .mask = args->mask,
                            .bias = args->bias};
    p.heads.key_size = widths[0] / n_heads;
    p.heads.value_size = widths[2] / n_heads;
    p.heads.q = hn_rows_packed(qkv, n_rows, width, p.heads.key_size);
    p.keys.fresh = hn_rows_packed(qkv + widths[0], n_rows, width, p.heads.key_size);
    p.values.fresh = hn_rows_packed(qkv + 2 * widths[0], n_rows, width, p.heads.value_size);
    HN_TRY(find_packed_past(c, args, &p));
    HN_TRY(turn_packed(c, &p));
    HN_TRY(hn_attention_join(c, &p));
    return hn_attention_run(c, &p);
}

static hone_status eval_ms_attention(hn_eval *c) {
    static const packed_args args = {.mask = 3, .past = 4, .bias = 5, .past_length = 6};
    int64_t widths[3];
    const float *x, *w;
    float *qkv;
    HN_TRY(read_widths(c, hn_attr_i(hn_eval_node(c), "num_heads", 1), widths));
    HN_TRY_PTR(hn_arg_f32s(c, 0, &x) && hn_arg_f32s(c, 1, &w));
    HN_TRY(project_rows(c, hn_arg(c, 0), x, w, hn_arg(c, 1)->dims[1], &qkv));
    return run_packed_attention(c, &args, widths, qkv);
}
const hn_impl hn_impl_ms_attention[1] = {{.eval = eval_ms_attention}};

/* Bytes times bytes; scale and zero point of the weights stand for all of them, or for each column.
 */
static hone_status project_bytes(hn_eval *c, float **out) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *scale = hn_arg(c, 4),
                   *zero = hn_arg(c, 7);
    uint64_t columns = (uint64_t)HN_MAX(w->dims[1], 1);
    int64_t dims[3] = {x->dims[0], x->dims[1], w->dims[1]};
    const float *scales, *bias;
    hn_array sums;
    float by_x = (float)hn_arg_f64_or(c, 3, 1);
    if (scale->n_elems != 1)
        HN_TRY(hn_want_elems(c, 4, columns));
    if (zero && zero->n_elems != 1)
        HN_TRY(hn_want_elems(c, 7, columns));
    HN_TRY(hn_want_elems(c, 6, 1));
    HN_TRY(hn_scratch_array(c, HN_I32, 3, dims, &sums));
    HN_TRY(hn_product_eval_int(c, &(hn_product){.a = x, .b = w}, hn_arg(c, 6), zero, &sums,
                               sums.data));
    *out = hn_eval_scratch_n(c, sums.n_elems, sizeof **out);
    HN_TRY_PTR(*out && hn_arg_f32s(c, 4, &scales) && hn_arg_f32s(c, 2, &bias));
    for (uint64_t i = 0; i < sums.n_elems; i++) {
        uint64_t k = i % columns;
        float by = by_x * scales[scale->n_elems == 1 ? 0 : k];
        (*out)[i] = (float)((const int32_t *)sums.data)[i] * by + (bias ? bias[k] : 0);
    }
    return HONE_OK;
}

static hone_status eval_qattention(hn_eval *c) {
    static const packed_args args = {
        .mask = 5, .past = 8, .bias = HN_NO_ARG, .past_length = HN_NO_ARG};
    int64_t widths[3];
    float *qkv;
    HN_TRY(read_widths(c, hn_attr_i(hn_eval_node(c), "num_heads", 1), widths));
    HN_TRY(project_bytes(c, &qkv));
    return run_packed_attention(c, &args, widths, qkv);
}
const hn_impl hn_impl_qattention[1] = {{.eval = eval_qattention}};

/* Tokens without padding, [tokens, width]. */
static hone_status eval_packed_attention(hn_eval *c) {
    static const hn_token_args args = {.offsets = 3, .starts = 4, .bias = 5};
    const hn_array *x = hn_arg(c, 0);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 1), width = hn_arg(c, 1)->dims[1],
            n_tokens = x->dims[0], widths[3];
    const float *rows, *w;
    float *qkv;
    HN_TRY(read_widths(c, n_heads, widths));
    HN_TRY_PTR(hn_arg_f32s(c, 0, &rows) && hn_arg_f32s(c, 1, &w));
    HN_TRY(project_rows(c, x, rows, w, width, &qkv));
    hn_heads a = {
        .n_heads = n_heads, .key_size = widths[0] / n_heads, .value_size = widths[2] / n_heads};
    a.q = hn_rows_packed(qkv, n_tokens, width, a.key_size);
    a.k = hn_rows_packed(qkv + widths[0], n_tokens, width, a.key_size);
    a.v = hn_rows_packed(qkv + 2 * widths[0], n_tokens, width, a.value_size);
    return hn_attend_sequences(c, &args, n_tokens, &a);
}
const hn_impl hn_impl_packed_attention[1] = {{.eval = eval_packed_attention}};
