/* Attention of floats, computed by the kernel that keeps no scores. */
#include <math.h>

#include "cpu/kernels/attention/attention.h"
#include "ops/infer/rules/attention_form.h"

bool hn_attention_is_fast(const hn_eval *c, const hn_attention_form *f) {
    return hn_arg(c, 0)->dtype != HN_F64 && hn_ret(c, 0) && !hn_wants_ret(c, 3) &&
           hn_attention_fits_f32(f->head_size);
}

static hn_head_steps steps_by_head(int64_t heads, int64_t rows, int64_t size) {
    return (hn_head_steps){heads * rows * size, rows * size, size};
}

static hn_head_steps steps_of(const hn_attention_form *f, int64_t heads, int64_t rows,
                              int64_t size) {
    return f->is_packed ? (hn_head_steps){rows * heads * size, size, heads * size}
                        : steps_by_head(heads, rows, size);
}

/* Keys or values where they lie, or behind those of the past. */
static hone_status find_side(hn_eval *c, const hn_attention_form *f, uint32_t fresh, uint32_t past,
                             hn_array *present, int64_t size, const float **at,
                             hn_head_steps *steps) {
    if (!hn_arg(c, past) && !present) {
        *at = hn_wide_f32(c, hn_arg(c, fresh));
        *steps = steps_of(f, f->kv_heads, f->kv_len, size);
    } else {
        *at = hn_attention_join_f32(c, f, hn_arg(c, past), hn_arg(c, fresh), size, present);
        *steps = steps_by_head(f->kv_heads, f->total, size);
    }
    HN_TRY_PTR(*at);
    return HONE_OK;
}

static hone_status find_reach(hn_eval *c, const hn_attention_form *f, const hn_key_reach **out) {
    hn_key_reach *reach = hn_eval_scratch_n(c, (uint64_t)f->batch, sizeof *reach);
    HN_TRY_PTR(reach);
    for (int64_t b = 0; b < f->batch; b++) {
        reach[b] = (hn_key_reach){f->total, f->past_len};
        if (f->lengths) {
            hn_load_i64(f->lengths, (uint64_t)b, 1, &reach[b].n_keys);
            reach[b].n_keys = HN_MAX(HN_MIN(reach[b].n_keys, f->total), 0);
            reach[b].first = reach[b].n_keys - f->q_len;
        }
        if (f->mask)
            reach[b].n_keys = HN_MIN(reach[b].n_keys, f->mask_len);
    }
    *out = reach;
    return HONE_OK;
}

/* Truths become what is added. */
static hone_status find_mask(hn_eval *c, const hn_attention_form *f, hn_attention_job_f32 *job) {
    const hn_array *mask = f->mask;
    if (!mask)
        return HONE_OK;
    hn_score_mask_f32 m = {NULL, f->mask_strides[0], f->mask_strides[1], f->mask_strides[2]};
    if (mask->dtype == HN_BOOL) {
        const uint8_t *from = mask->data;
        float *to = hn_eval_scratch_n(c, mask->n_elems, sizeof *to);
        for (uint64_t i = 0; to && i < mask->n_elems; i++)
            to[i] = from[i] ? 0 : -HUGE_VALF;
        m.at = to;
    } else {
        m.at = hn_wide_f32(c, mask);
    }
    HN_TRY_PTR(m.at);
    *(m.query ? &job->mask : &job->key_mask) = m;
    return HONE_OK;
}

hone_status hn_attention_run_fast(hn_eval *c, const hn_attention_form *f) {
    hn_array *y = hn_ret(c, 0), *present_k = hn_ret(c, 1), *present_v = hn_ret(c, 2);
    hn_attention_job_f32 job = {.batch = f->batch,
                                .n_heads = f->q_heads,
                                .n_kv_heads = f->kv_heads,
                                .n_queries = f->q_len,
                                .key_size = f->head_size,
                                .value_size = f->v_size,
                                .left = f->left < 0 ? HN_REACH_ALL : f->left,
                                .right = f->right < 0 ? HN_REACH_ALL : f->right,
                                .unseen = -HUGE_VALF,
                                .q = hn_wide_f32(c, hn_arg(c, 0)),
                                .q_step = steps_of(f, f->q_heads, f->q_len, f->head_size),
                                .out = hn_room_f32(c, y),
                                .out_step = steps_of(f, f->q_heads, f->q_len, f->v_size),
                                .scale = (float)f->scale,
                                .softcap = (float)f->softcap};
    if (f->is_causal)
        job.right = 0;
    HN_TRY_PTR(job.q && job.out);
    HN_TRY(find_side(c, f, 1, 4, present_k, f->head_size, &job.k, &job.k_step));
    HN_TRY(find_side(c, f, 2, 5, present_v, f->v_size, &job.v, &job.v_step));
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
