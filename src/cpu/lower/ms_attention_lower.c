/* Lowering of MultiHeadAttention and GroupQueryAttention of com.microsoft, in the forms that the
 * optimizer writes: floats, with nothing to be added to queries, keys and values. */
#include <float.h>
#include <math.h>

#include "cpu/lower/group_attention_lower.h"
#include "ops/eval/ms/ms_heads_eval.h"

static bool is_floats(const hn_array *a, int32_t rank, const int64_t *dims) {
    return a && a->dtype == HN_F32 && a->rank == rank && a->n_elems > 0 &&
           memcmp(a->dims, dims, (size_t)rank * sizeof *dims) == 0;
}

/* Whether any of the arguments is there. */
static bool has_args(const hn_eval *c, uint32_t n, const uint32_t *args) {
    for (uint32_t i = 0; i < n; i++)
        if (hn_arg(c, args[i]))
            return true;
    return false;
}

/* Queries [batch, rows, heads * size]. What comes out lies alike. */
static bool read_queries(const hn_eval *c, int64_t n_heads, hn_attention_form *f) {
    const hn_array *q = hn_arg(c, HN_ATTENTION_Q), *y = hn_ret(c, 0);
    if (!q || !y || q->dtype != HN_F32 || y->dtype != HN_F32 || q->rank != 3 || q->n_elems == 0 ||
        n_heads < 1 || q->dims[2] % n_heads != 0)
        return false;
    f->q_heads = n_heads;
    f->batch = q->dims[0];
    f->q_len = q->dims[1];
    f->head_size = q->dims[2] / n_heads;
    return hn_attention_fits_f32(f->head_size);
}

static hn_attention_job_f32 ms_attention_job(const hn_eval *c, const hn_attention_form *f) {
    return (hn_attention_job_f32){.batch = f->batch,
                                  .n_heads = f->q_heads,
                                  .n_kv_heads = f->kv_heads,
                                  .n_queries = f->q_len,
                                  .key_size = f->head_size,
                                  .value_size = f->v_size,
                                  .left = HN_REACH_ALL,
                                  .right = f->is_causal ? 0 : HN_REACH_ALL,
                                  .unseen = -HUGE_VALF,
                                  .lost_is_nan = true,
                                  .q_step = hn_steps_packed(f->q_heads, f->q_len, f->head_size),
                                  .out_step = hn_steps_packed(f->q_heads, f->q_len, f->v_size),
                                  .scale = hn_heads_scale(c, f->head_size),
                                  .softcap = (float)f->softcap};
}

/* ---- MultiHeadAttention ----------------------------------------------------------------------- */

enum { MHA_BIAS = 3, MHA_PADDING, MHA_SCORE_BIAS, MHA_PAST, MHA_PAST_LENGTH = 8, MHA_BEAMS };

/* Keys or values [batch, rows, heads * size], or [batch, heads, rows, size]. */
static bool is_side(const hn_array *a, const hn_attention_form *f, int64_t size) {
    const int64_t packed[] = {f->batch, f->kv_len, f->kv_heads * size},
                  by_head[] = {f->batch, f->kv_heads, f->kv_len, size};
    return f->is_packed ? is_floats(a, 3, packed) : is_floats(a, 4, by_head);
}

static bool read_keys_and_values(const hn_eval *c, hn_attention_form *f) {
    const hn_array *k = hn_arg(c, HN_ATTENTION_K), *v = hn_arg(c, HN_ATTENTION_V);
    if (!k || !v || (k->rank != 3 && k->rank != 4) || v->rank != k->rank)
        return false;
    f->is_packed = k->rank == 3;
    f->kv_len = k->dims[f->is_packed ? 1 : 2];
    f->v_size = f->is_packed ? v->dims[2] / f->kv_heads : v->dims[3];
    return is_side(k, f, f->head_size) && is_side(v, f, f->v_size);
}

/* Either all of the past and the present have room for the same rows, or there is none. */
static bool read_past(const hn_eval *c, hn_attention_form *f) {
    const hn_array *past = hn_arg(c, MHA_PAST);
    f->past_len = past && past->rank == 4 ? past->dims[2] : 0;
    f->total = f->mask_len = f->past_len + f->kv_len;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t size = i ? f->v_size : f->head_size;
        const int64_t before[] = {f->batch, f->kv_heads, f->past_len, size},
                      all[] = {f->batch, f->kv_heads, f->total, size};
        const hn_array *old = hn_arg(c, MHA_PAST + i), *present = hn_ret(c, HN_ATTENTION_K + i);
        if ((past || old) && !is_floats(old, 4, before))
            return false;
        if (present && !is_floats(present, 4, all))
            return false;
    }
    return true;
}

/* [batch or 1, heads or 1, queries, keys or more] */
static bool read_mha_mask(const hn_eval *c, hn_attention_form *f) {
    const hn_array *m = hn_arg(c, MHA_SCORE_BIAS);
    if (!m)
        return true;
    if (m->dtype != HN_F32 || m->rank != 4 || (m->dims[0] != 1 && m->dims[0] != f->batch) ||
        (m->dims[1] != 1 && m->dims[1] != f->q_heads) || m->dims[2] != f->q_len ||
        m->dims[3] < f->total)
        return false;
    int64_t row = m->dims[3], matrix = row * m->dims[2];
    f->mask_strides[0] = m->dims[0] == 1 ? 0 : matrix * m->dims[1];
    f->mask_strides[1] = m->dims[1] == 1 ? 0 : matrix;
    f->mask_strides[2] = row;
    return true;
}

static hone_status lower_multi_head_attention(hn_eval *c, hn_lowered *out) {
    static const uint32_t unusual[] = {MHA_BIAS, MHA_PADDING, MHA_PAST_LENGTH, MHA_BEAMS};
    const hn_infer *node = hn_eval_node(c);
    hn_attention_form f = {.is_causal = hn_attr_i(node, "unidirectional", 0) != 0};
    if (has_args(c, HN_COUNT(unusual), unusual) || hn_wants_ret(c, 3) ||
        !read_queries(c, hn_attr_i(node, "num_heads", 1), &f))
        return HONE_OK;
    f.kv_heads = f.q_heads;
    if (!read_keys_and_values(c, &f) || !read_past(c, &f) || !read_mha_mask(c, &f) ||
        hn_ret(c, 0)->n_elems != (uint64_t)(f.batch * f.q_len * f.q_heads * f.v_size))
        return HONE_OK;
    hn_attention_step s = {.form = f,
                           .job = ms_attention_job(c, &f),
                           .i_mask = hn_arg(c, MHA_SCORE_BIAS) ? MHA_SCORE_BIAS : 0,
                           .i_past = f.past_len ? MHA_PAST : 0};
    if (s.i_mask)
        s.job.unseen = -FLT_MAX;
    return hn_attention_step_lower(c, &s, out);
}
const hn_lowering hn_lower_multi_head_attention[1] = {{.lower = lower_multi_head_attention}};

/* ---- GroupQueryAttention ---------------------------------------------------------------------- */

enum { GROUP_LAST_KEYS = 5, GROUP_TOTAL };

/* No positions, biases, sinks, normalization or codes. */
static bool is_usual_group(const hn_eval *c) {
    static const uint32_t unusual[] = {9, 10, 11, 14, 15};
    const hn_infer *node = hn_eval_node(c);
    return !has_args(c, HN_COUNT(unusual), unusual) && !hn_wants_ret(c, 3) &&
           hn_attr_i(node, "sliding_window_cache", 0) == 0 &&
           hn_attr_i(node, "smooth_softmax", -1) != 1 && hn_attr_is(node, "k_quant_type", "NONE") &&
           hn_attr_is(node, "v_quant_type", "NONE");
}

/* No cache, no rotation, no window. */
static bool is_plain_group(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    return !hn_arg(c, 3) && !hn_arg(c, 4) && hn_attr_i(node, "do_rotary", 0) == 0 &&
           hn_attr_i(node, "local_window_size", -1) < 0;
}

/* Known lengths of which none is of a past. NULL, with *status HONE_OK: it is evaluated. */
static const hn_key_reach *read_group_reach(hn_eval *c, const hn_attention_form *f,
                                            hone_status *status) {
    const hn_array *last = hn_arg(c, GROUP_LAST_KEYS), *total = hn_arg(c, GROUP_TOTAL);
    *status = HONE_OK;
    if (!last || !total || !last->data || !total->data || last->dtype != HN_I32 ||
        last->n_elems != (uint64_t)f->batch || total->n_elems < 1)
        return NULL;
    bool is_prompt = hn_arg_i64_or(c, GROUP_TOTAL, 0) == f->q_len;
    hn_key_reach *reach = hn_lower_alloc(c, (size_t)f->batch * sizeof *reach);
    if (!reach) {
        *status = HONE_E_NOMEM;
        return NULL;
    }
    for (int64_t b = 0; b < f->batch; b++) {
        reach[b].n_keys = (int64_t)((const int32_t *)last->data)[b] + 1;
        if (reach[b].n_keys < 1 || reach[b].n_keys > f->kv_len ||
            (!is_prompt && reach[b].n_keys != f->q_len))
            return NULL;
    }
    return reach;
}

static hone_status lower_group_query_attention(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    hn_attention_form f = {.is_causal = hn_attr_i(node, "causal", 1) != 0,
                           .softcap = (double)hn_attr_f(node, "softcap", 0),
                           .kv_heads = hn_attr_i(node, "kv_num_heads", 1)};
    hone_status status;
    if (!is_usual_group(c))
        return HONE_OK;
    if (hn_wants_ret(c, 1) && hn_wants_ret(c, 2))
        return hn_lower_group_cache(c, out);
    if (hn_wants_ret(c, 1) || hn_wants_ret(c, 2) || !is_plain_group(c) ||
        !read_queries(c, hn_attr_i(node, "num_heads", 1), &f) || f.kv_heads < 1 ||
        f.q_heads % f.kv_heads != 0 || !hn_arg(c, HN_ATTENTION_K) || !read_keys_and_values(c, &f) ||
        !f.is_packed || f.v_size != f.head_size)
        return HONE_OK;
    f.total = f.mask_len = f.kv_len;
    hn_attention_step s = {.form = f, .job = ms_attention_job(c, &f)};
    s.job.reach = read_group_reach(c, &f, &status);
    return s.job.reach ? hn_attention_step_lower(c, &s, out) : status;
}
const hn_lowering hn_lower_group_query_attention[1] = {{.lower = lower_group_query_attention}};
