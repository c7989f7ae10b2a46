/* How lowered attention of floats runs. */
#include "cpu/lower/attention_step.h"

#include <math.h>

/* ---- parts of the job ------------------------------------------------------------------------- */

hn_head_steps hn_attention_side_steps(const hn_attention_form *f, bool is_joined, int64_t size) {
    if (is_joined)
        return hn_steps_by_head(f->kv_heads, f->total, size);
    return f->is_packed ? hn_steps_packed(f->kv_heads, f->kv_len, size)
                        : hn_steps_by_head(f->kv_heads, f->kv_len, size);
}

void hn_attention_fill_reach(const hn_attention_form *f, const int64_t *lengths,
                             hn_key_reach *reach) {
    for (int64_t b = 0; b < f->batch; b++) {
        reach[b] = (hn_key_reach){f->total, f->past_len};
        if (lengths) {
            reach[b].n_keys = HN_MAX(HN_MIN(lengths[b], f->total), 0);
            reach[b].first = reach[b].n_keys - f->q_len;
        }
        reach[b].n_keys = HN_MIN(reach[b].n_keys, f->mask_len);
    }
}

void hn_attention_fill_mask(uint64_t n, const uint8_t *truths, float *to) {
    for (uint64_t i = 0; i < n; i++)
        to[i] = truths[i] ? 0 : -HUGE_VALF;
}

void hn_attention_set_mask(const hn_attention_form *f, const float *at, hn_attention_job_f32 *job) {
    hn_score_mask_f32 m = {at, f->mask_strides[0], f->mask_strides[1], f->mask_strides[2]};
    *(m.query ? &job->mask : &job->key_mask) = m;
}

/* ---- runs ------------------------------------------------------------------------------------- */

static float *take_scratch_floats(float **at, int64_t n) {
    float *taken = *at;
    *at += n;
    return taken;
}

/* Whole cache lines. */
static int64_t line_floats(uint64_t n_floats) {
    return (int64_t)((n_floats + 15) / 16 * 16);
}

/* Keys or values. */
static const float *join_side_at_run(const hn_attention_step *s, uint32_t side, int64_t size,
                                     const hn_step_io *io, float **scratch) {
    if (!s->is_joined[side])
        return io->in[side];
    float *all =
        s->has_present[side] ? io->out[side] : take_scratch_floats(scratch, s->n_joined[side]);
    const float *past = s->i_past ? io->in[s->i_past + side - HN_ATTENTION_K] : NULL;
    hn_attention_join_rows_f32(&s->form, past, io->in[side], size, all);
    return all;
}

static hone_status run_attention_step(const void *record, const hn_step_io *io) {
    const hn_attention_step *s = record;
    hn_attention_job_f32 job = s->job;
    float *scratch = io->scratch;
    job.q = io->in[HN_ATTENTION_Q];
    job.out = io->out[0];
    job.k = join_side_at_run(s, HN_ATTENTION_K, s->form.head_size, io, &scratch);
    job.v = join_side_at_run(s, HN_ATTENTION_V, s->form.v_size, io, &scratch);
    if (s->i_lengths) {
        hn_key_reach *reach = (void *)take_scratch_floats(&scratch, s->n_reach);
        hn_attention_fill_reach(&s->form, io->in[s->i_lengths], reach);
        job.reach = reach;
    }
    if (s->has_truths) {
        float *mask = take_scratch_floats(&scratch, line_floats(s->n_truths));
        hn_attention_fill_mask(s->n_truths, io->in[s->i_mask], mask);
        hn_attention_set_mask(&s->form, mask, &job);
    } else if (s->i_mask) {
        hn_attention_set_mask(&s->form, io->in[s->i_mask], &job);
    }
    job.scratch = scratch;
    hn_attention_f32(io->pool, &job);
    return HONE_OK;
}

/* ---- lowering --------------------------------------------------------------------------------- */

static hn_head_steps plan_side(const hn_eval *c, hn_attention_step *s, uint32_t side,
                               int64_t size) {
    const hn_attention_form *f = &s->form;
    s->has_present[side] = hn_ret(c, side) != NULL;
    s->is_joined[side] = s->i_past || s->has_present[side];
    if (s->is_joined[side] && !s->has_present[side])
        s->n_joined[side] = line_floats((uint64_t)(f->batch * f->kv_heads * f->total * size));
    return hn_attention_side_steps(f, s->is_joined[side], size);
}

static hone_status plan_reach(hn_eval *c, hn_attention_step *s) {
    if (s->job.reach)
        return HONE_OK;
    hn_key_reach *reach = hn_lower_alloc(c, (size_t)s->form.batch * sizeof *reach);
    HN_TRY_PTR(reach);
    hn_attention_fill_reach(&s->form, NULL, reach);
    s->job.reach = reach;
    return HONE_OK;
}

/* Scratch for as many keys as there may be. */
static void plan_scratch(hn_attention_step *s) {
    static const float some_mask[1];
    hn_attention_job_f32 job = s->job;
    if (s->i_mask)
        hn_attention_set_mask(&s->form, some_mask, &job);
    if (s->i_lengths)
        s->n_reach = line_floats((uint64_t)s->form.batch * sizeof *job.reach / sizeof(float));
    s->n_scratch = s->n_joined[HN_ATTENTION_K] + s->n_joined[HN_ATTENTION_V] + s->n_reach +
                   line_floats(s->n_truths) + hn_attention_scratch_elems_f32(&job);
}

hone_status hn_attention_step_lower(hn_eval *c, const hn_attention_step *filled, hn_lowered *out) {
    hn_attention_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = *filled;
    s->form.mask = s->form.lengths = NULL;
    s->job.k_step = plan_side(c, s, HN_ATTENTION_K, s->form.head_size);
    s->job.v_step = plan_side(c, s, HN_ATTENTION_V, s->form.v_size);
    HN_TRY(plan_reach(c, s));
    plan_scratch(s);
    *out = (hn_lowered){.run = run_attention_step,
                        .record = s,
                        .scratch_bytes = (size_t)s->n_scratch * sizeof(float)};
    return HONE_OK;
}
