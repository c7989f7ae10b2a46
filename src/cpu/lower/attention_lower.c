/* Attention of floats by the kernel that keeps no scores: its lowering, and how it is evaluated
 * where shapes are not known, or numbers have to be widened. */
#include "cpu/lower/lower.h"

#include <math.h>

#include "cpu/kernels/attention/attention.h"
#include "ops/infer/rules/attention_form.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_V, ATTENTION_MASK, ATTENTION_PAST_K, ATTENTION_PAST_V };
enum { ATTENTION_LENGTHS = 6 };

/* ---- the job ---------------------------------------------------------------------------------- */

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

/* Keys or values are read where they lie, or behind those of the past. */
static hn_head_steps steps_of_side(const hn_attention_form *f, bool is_joined, int64_t size) {
    return is_joined ? steps_by_head(f->kv_heads, f->total, size)
                     : steps_of(f, f->kv_heads, f->kv_len, size);
}

/* Whether keys (side 1) or values (side 2) are put together with those of the past. */
static bool is_joined_side(const hn_eval *c, uint32_t side) {
    return hn_arg(c, side + ATTENTION_PAST_K - ATTENTION_K) || hn_ret(c, side);
}

/* All but the data. */
static hn_attention_job_f32 attention_job(const hn_eval *c, const hn_attention_form *f) {
    hn_attention_job_f32 job = {
        .batch = f->batch,
        .n_heads = f->q_heads,
        .n_kv_heads = f->kv_heads,
        .n_queries = f->q_len,
        .key_size = f->head_size,
        .value_size = f->v_size,
        .left = f->left < 0 ? HN_REACH_ALL : f->left,
        .right = f->right < 0 ? HN_REACH_ALL : f->right,
        .unseen = -HUGE_VALF,
        .q_step = steps_of(f, f->q_heads, f->q_len, f->head_size),
        .k_step = steps_of_side(f, is_joined_side(c, ATTENTION_K), f->head_size),
        .v_step = steps_of_side(f, is_joined_side(c, ATTENTION_V), f->v_size),
        .out_step = steps_of(f, f->q_heads, f->q_len, f->v_size),
        .scale = (float)f->scale,
        .softcap = (float)f->softcap};
    if (f->is_causal)
        job.right = 0;
    return job;
}

/* lengths: of the keys of each batch; NULL: all count. */
static void fill_reach(const hn_attention_form *f, const int64_t *lengths, hn_key_reach *reach) {
    for (int64_t b = 0; b < f->batch; b++) {
        reach[b] = (hn_key_reach){f->total, f->past_len};
        if (lengths) {
            reach[b].n_keys = HN_MAX(HN_MIN(lengths[b], f->total), 0);
            reach[b].first = reach[b].n_keys - f->q_len;
        }
        reach[b].n_keys = HN_MIN(reach[b].n_keys, f->mask_len);
    }
}

/* Truths become what is added. */
static void fill_mask(uint64_t n, const uint8_t *truths, float *to) {
    for (uint64_t i = 0; i < n; i++)
        to[i] = truths[i] ? 0 : -HUGE_VALF;
}

static void set_mask(const hn_attention_form *f, const float *at, hn_attention_job_f32 *job) {
    hn_score_mask_f32 m = {at, f->mask_strides[0], f->mask_strides[1], f->mask_strides[2]};
    *(m.query ? &job->mask : &job->key_mask) = m;
}

/* ---- evaluation ------------------------------------------------------------------------------- */

static const float *widen_side(hn_eval *c, const hn_attention_form *f, uint32_t side,
                               int64_t size) {
    if (!is_joined_side(c, side))
        return hn_wide_f32(c, hn_arg(c, side));
    return hn_attention_join_f32(c, f, hn_arg(c, side + ATTENTION_PAST_K - ATTENTION_K),
                                 hn_arg(c, side), size, hn_ret(c, side));
}

static hone_status find_reach(hn_eval *c, const hn_attention_form *f, const hn_key_reach **out) {
    hn_key_reach *reach = hn_eval_scratch_n(c, (uint64_t)f->batch, sizeof *reach);
    int64_t *lengths = hn_eval_scratch_n(c, (uint64_t)f->batch, sizeof *lengths);
    HN_TRY_PTR(reach && lengths);
    if (f->lengths)
        hn_load_i64(f->lengths, 0, (uint64_t)f->batch, lengths);
    fill_reach(f, f->lengths ? lengths : NULL, reach);
    *out = reach;
    return HONE_OK;
}

static hone_status find_mask(hn_eval *c, const hn_attention_form *f, hn_attention_job_f32 *job) {
    const hn_array *mask = f->mask;
    if (!mask)
        return HONE_OK;
    if (mask->dtype == HN_BOOL) {
        float *to = hn_eval_scratch_n(c, mask->n_elems, sizeof *to);
        HN_TRY_PTR(to);
        fill_mask(mask->n_elems, mask->data, to);
        set_mask(f, to, job);
        return HONE_OK;
    }
    const float *at = hn_wide_f32(c, mask);
    HN_TRY_PTR(at);
    set_mask(f, at, job);
    return HONE_OK;
}

hone_status hn_attention_run_fast(hn_eval *c, const hn_attention_form *f) {
    hn_array *y = hn_ret(c, 0), *present_k = hn_ret(c, 1), *present_v = hn_ret(c, 2);
    hn_attention_job_f32 job = attention_job(c, f);
    job.q = hn_wide_f32(c, hn_arg(c, 0));
    job.k = widen_side(c, f, ATTENTION_K, f->head_size);
    job.v = widen_side(c, f, ATTENTION_V, f->v_size);
    job.out = hn_room_f32(c, y);
    HN_TRY_PTR(job.q && job.k && job.v && job.out);
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

/* Keys or values. */
typedef struct attention_side {
    bool is_joined, has_past, has_present;
    int64_t size;
    int64_t n_joined; /* floats of scratch where they are joined, but not wanted */
} attention_side;

typedef struct attention_step {
    hn_attention_form form; /* without arrays */
    hn_attention_job_f32 job;
    attention_side sides[2];
    bool has_lengths, has_mask, has_truths;
    uint64_t n_mask; /* elements of a mask of truths, which are made floats in each run */
    int64_t n_reach, n_scratch; /* floats */
} attention_step;

static float *take_floats(float **at, int64_t n) {
    float *taken = *at;
    *at += n;
    return taken;
}

/* Multiples of cache lines. */
static int64_t line_floats(uint64_t n_floats) {
    return (int64_t)((n_floats + 15) / 16 * 16);
}

static const float *join_at_run(const attention_step *s, uint32_t side, const hn_step_io *io,
                                float **scratch) {
    const attention_side *d = &s->sides[side - ATTENTION_K];
    if (!d->is_joined)
        return io->in[side];
    float *all = d->has_present ? io->out[side] : take_floats(scratch, d->n_joined);
    hn_attention_join_rows_f32(&s->form,
                               d->has_past ? io->in[side + ATTENTION_PAST_K - ATTENTION_K] : NULL,
                               io->in[side], d->size, all);
    return all;
}

static hone_status run_attention(const void *record, const hn_step_io *io) {
    const attention_step *s = record;
    hn_attention_job_f32 job = s->job;
    float *scratch = io->scratch;
    job.q = io->in[ATTENTION_Q];
    job.out = io->out[0];
    job.k = join_at_run(s, ATTENTION_K, io, &scratch);
    job.v = join_at_run(s, ATTENTION_V, io, &scratch);
    if (s->has_lengths) {
        hn_key_reach *reach = (void *)take_floats(&scratch, s->n_reach);
        fill_reach(&s->form, io->in[ATTENTION_LENGTHS], reach);
        job.reach = reach;
    }
    if (s->has_truths) {
        float *mask = take_floats(&scratch, line_floats(s->n_mask));
        fill_mask(s->n_mask, io->in[ATTENTION_MASK], mask);
        set_mask(&s->form, mask, &job);
    } else if (s->has_mask) {
        set_mask(&s->form, io->in[ATTENTION_MASK], &job);
    }
    job.scratch = scratch;
    hn_attention_f32(io->pool, &job);
    return HONE_OK;
}

static bool is_float_or_absent(const hn_array *a) {
    return !a || (a->dtype == HN_F32 && a->n_elems > 0);
}

static bool has_floats_only(const hn_eval *c) {
    const hn_array *mask = hn_arg(c, ATTENTION_MASK);
    for (uint32_t i = ATTENTION_Q; i <= ATTENTION_PAST_V; i++)
        if (i != ATTENTION_MASK && !is_float_or_absent(hn_arg(c, i)))
            return false;
    for (uint32_t i = 0; i < 3; i++)
        if (!is_float_or_absent(hn_ret(c, i)))
            return false;
    return is_float_or_absent(mask) || (mask->dtype == HN_BOOL && mask->n_elems > 0);
}

static attention_side lower_side(const hn_eval *c, const hn_attention_form *f, uint32_t side,
                                 int64_t size) {
    attention_side d = {.is_joined = is_joined_side(c, side),
                        .has_past = hn_arg(c, side + ATTENTION_PAST_K - ATTENTION_K) != NULL,
                        .has_present = hn_ret(c, side) != NULL,
                        .size = size};
    if (d.is_joined && !d.has_present)
        d.n_joined = line_floats((uint64_t)(f->batch * f->kv_heads * f->total * size));
    return d;
}

/* Scratch for as many keys as there may be. */
static hone_status size_attention(hn_eval *c, attention_step *s) {
    static const float some_mask[1];
    hn_attention_form *f = &s->form;
    hn_key_reach *reach = hn_lower_alloc(c, (size_t)f->batch * sizeof *reach);
    HN_TRY_PTR(reach);
    fill_reach(f, NULL, reach);
    s->job.reach = reach;
    hn_attention_job_f32 job = s->job;
    if (s->has_mask)
        set_mask(f, some_mask, &job);
    if (s->has_lengths)
        s->n_reach = line_floats((uint64_t)f->batch * sizeof *reach / sizeof(float));
    s->n_scratch = s->sides[0].n_joined + s->sides[1].n_joined + s->n_reach +
                   line_floats(s->n_mask) + hn_attention_scratch_elems_f32(&job);
    return HONE_OK;
}

static hone_status lower_attention(hn_eval *c, hn_lowered *out) {
    hn_attention_form f;
    if (!hn_arg(c, ATTENTION_Q) || !hn_arg(c, ATTENTION_K) || !hn_arg(c, ATTENTION_V) ||
        !has_floats_only(c))
        return HONE_OK;
    HN_TRY(hn_attention_form_read(c, &f));
    if (f.kv_heads < 1 || f.q_heads < 1 || !hn_attention_is_fast(c, &f) ||
        (f.lengths && f.lengths->n_elems != (uint64_t)f.batch))
        return HONE_OK;
    attention_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (attention_step){.form = f,
                          .job = attention_job(c, &f),
                          .sides = {lower_side(c, &f, ATTENTION_K, f.head_size),
                                    lower_side(c, &f, ATTENTION_V, f.v_size)},
                          .has_lengths = f.lengths != NULL,
                          .has_mask = f.mask != NULL,
                          .has_truths = f.mask && f.mask->dtype == HN_BOOL};
    s->n_mask = s->has_truths ? f.mask->n_elems : 0;
    s->form.mask = s->form.lengths = NULL;
    HN_TRY(size_attention(c, s));
    *out = (hn_lowered){
        .run = run_attention, .record = s, .scratch_bytes = (size_t)s->n_scratch * sizeof(float)};
    return HONE_OK;
}

const hn_lowering hn_lower_attention[1] = {{.lower = lower_attention}};
