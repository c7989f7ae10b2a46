/* Attention of floats by the kernel that keeps no scores: its lowering, and how it is evaluated
 * where shapes are not known, or numbers have to be widened. */
#include <math.h>

#include "cpu/lower/attention_step.h"

enum { ATTENTION_MASK = 3, ATTENTION_PAST = 4, ATTENTION_LENGTHS = 6 };

bool hn_attention_is_fast(const hn_eval *c, const hn_attention_form *f) {
    return hn_arg(c, 0)->dtype != HN_F64 && hn_ret(c, 0) && !hn_wants_ret(c, 3) &&
           hn_attention_fits_f32(f->head_size);
}

static hn_head_steps steps_of_queries(const hn_attention_form *f, int64_t size) {
    return f->is_packed ? hn_steps_packed(f->q_heads, f->q_len, size)
                        : hn_steps_by_head(f->q_heads, f->q_len, size);
}

/* All but the data, the reach, and the steps of keys and values. */
static hn_attention_job_f32 attention_job(const hn_attention_form *f) {
    hn_attention_job_f32 job = {.batch = f->batch,
                                .n_heads = f->q_heads,
                                .n_kv_heads = f->kv_heads,
                                .n_queries = f->q_len,
                                .key_size = f->head_size,
                                .value_size = f->v_size,
                                .left = f->left < 0 ? HN_REACH_ALL : f->left,
                                .right = f->right < 0 ? HN_REACH_ALL : f->right,
                                .unseen = -HUGE_VALF,
                                .q_step = steps_of_queries(f, f->head_size),
                                .out_step = steps_of_queries(f, f->v_size),
                                .scale = (float)f->scale,
                                .softcap = (float)f->softcap};
    if (f->is_causal)
        job.right = 0;
    return job;
}

/* ---- evaluation ------------------------------------------------------------------------------- */

/* Keys or values where they lie, or behind those of the past. */
static hone_status find_side(hn_eval *c, const hn_attention_form *f, uint32_t side, int64_t size,
                             const float **at, hn_head_steps *steps) {
    const hn_array *past = hn_arg(c, ATTENTION_PAST + side - HN_ATTENTION_K);
    bool is_joined = past || hn_ret(c, side);
    *at = is_joined ? hn_attention_join_f32(c, f, past, hn_arg(c, side), size, hn_ret(c, side))
                    : hn_wide_f32(c, hn_arg(c, side));
    *steps = hn_attention_side_steps(f, is_joined, size);
    HN_TRY_PTR(*at);
    return HONE_OK;
}

static hone_status find_reach(hn_eval *c, const hn_attention_form *f, const hn_key_reach **out) {
    hn_key_reach *reach = hn_eval_scratch_n(c, (uint64_t)f->batch, sizeof *reach);
    int64_t *lengths = hn_eval_scratch_n(c, (uint64_t)f->batch, sizeof *lengths);
    HN_TRY_PTR(reach && lengths);
    if (f->lengths)
        hn_load_i64(f->lengths, 0, (uint64_t)f->batch, lengths);
    hn_attention_fill_reach(f, f->lengths ? lengths : NULL, reach);
    *out = reach;
    return HONE_OK;
}

static hone_status find_mask(hn_eval *c, const hn_attention_form *f, hn_attention_job_f32 *job) {
    const hn_array *mask = f->mask;
    if (!mask)
        return HONE_OK;
    bool has_truths = mask->dtype == HN_BOOL;
    float *truths = hn_eval_scratch_n(c, has_truths ? mask->n_elems : 0, sizeof *truths);
    HN_TRY_PTR(truths);
    if (has_truths)
        hn_attention_fill_mask(mask->n_elems, mask->data, truths);
    const float *at = has_truths ? truths : hn_wide_f32(c, mask);
    HN_TRY_PTR(at);
    hn_attention_set_mask(f, at, job);
    return HONE_OK;
}

hone_status hn_attention_run_fast(hn_eval *c, const hn_attention_form *f) {
    hn_array *y = hn_ret(c, 0), *present_k = hn_ret(c, 1), *present_v = hn_ret(c, 2);
    hn_attention_job_f32 job = attention_job(f);
    job.q = hn_wide_f32(c, hn_arg(c, 0));
    job.out = hn_buffer_f32(c, y);
    HN_TRY_PTR(job.q && job.out);
    HN_TRY(find_side(c, f, HN_ATTENTION_K, f->head_size, &job.k, &job.k_step));
    HN_TRY(find_side(c, f, HN_ATTENTION_V, f->v_size, &job.v, &job.v_step));
    HN_TRY(find_reach(c, f, &job.reach));
    HN_TRY(find_mask(c, f, &job));
    job.scratch =
        hn_eval_scratch_n(c, (uint64_t)hn_attention_scratch_elems_f32(&job), sizeof *job.scratch);
    HN_TRY_PTR(job.scratch);
    hn_attention_f32(hn_eval_pool(c), &job);
    hn_narrow_f32(y, job.out);
    if (present_k)
        hn_narrow_f32(present_k, job.k);
    if (present_v)
        hn_narrow_f32(present_v, job.v);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

/* ---- lowering --------------------------------------------------------------------------------- */

static bool is_float_or_absent(const hn_array *a) {
    return !a || (a->dtype == HN_F32 && a->n_elems > 0);
}

static bool has_floats_only(const hn_eval *c) {
    const hn_array *mask = hn_arg(c, ATTENTION_MASK);
    for (uint32_t i = 0; i < ATTENTION_LENGTHS; i++)
        if (i != ATTENTION_MASK && !is_float_or_absent(hn_arg(c, i)))
            return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!is_float_or_absent(hn_ret(c, i)))
            return false;
    return is_float_or_absent(mask) || (mask->dtype == HN_BOOL && mask->n_elems > 0);
}

static hone_status lower_attention(hn_eval *c, hn_lowered *out) {
    hn_attention_form f;
    if (!hn_arg(c, HN_ATTENTION_Q) || !hn_arg(c, HN_ATTENTION_K) || !hn_arg(c, HN_ATTENTION_V) ||
        !has_floats_only(c))
        return HONE_OK;
    HN_TRY(hn_attention_form_read(c, &f));
    if (f.kv_heads < 1 || f.q_heads < 1 || !hn_attention_is_fast(c, &f) ||
        (f.lengths && f.lengths->n_elems != (uint64_t)f.batch))
        return HONE_OK;
    hn_attention_step s = {.form = f,
                           .job = attention_job(&f),
                           .i_mask = f.mask ? ATTENTION_MASK : 0,
                           .i_past = f.past_len ? ATTENTION_PAST : 0,
                           .i_lengths = f.lengths ? ATTENTION_LENGTHS : 0,
                           .has_truths = f.mask && f.mask->dtype == HN_BOOL};
    s.n_truths = s.has_truths ? f.mask->n_elems : 0;
    return hn_attention_step_lower(c, &s, out);
}

const hn_lowering hn_lower_attention[1] = {{.lower = lower_attention}};
