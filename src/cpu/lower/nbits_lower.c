/* Lowering of MatMulNBits of floats: constant weights are packed once; sizes and zero points of
 * others are read once. */
#include "cpu/lower/lower.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/ms/ms_nbits_eval.h"

enum { NBITS_A, NBITS_B, NBITS_SCALES, NBITS_ZEROS, NBITS_GROUPS, NBITS_BIAS };

typedef struct nbits_step {
    hn_nbits weights; /* data, scales and groups are filled in when it runs */
    int64_t n_rows;
    bool has_bias, has_groups;
    bool zeros_are_floats; /* an argument */
} nbits_step;

static hone_status run_nbits(const void *record, const hn_step_io *io) {
    const nbits_step *s = record;
    hn_nbits w = s->weights;
    float *y = io->out[0];
    w.data = io->in[NBITS_B];
    w.scales = io->in[NBITS_SCALES];
    if (s->zeros_are_floats)
        w.zeros = io->in[NBITS_ZEROS];
    if (s->has_groups)
        w.groups = io->in[NBITS_GROUPS];
    for (int64_t i = 0; s->has_bias && i < s->n_rows; i++)
        memcpy(y + i * w.n_rows, io->in[NBITS_BIAS], (size_t)w.n_rows * sizeof *y);
    hn_gemm_f32(io->pool, &(hn_gemm_job_f32){.m = s->n_rows,
                                             .n = w.n_rows,
                                             .k = w.depth,
                                             .a = io->in[NBITS_A],
                                             .a_row = w.depth,
                                             .a_col = 1,
                                             .fill = hn_nbits_fill,
                                             .fill_ctx = &w,
                                             .c = y,
                                             .c_row = w.n_rows,
                                             .add = s->has_bias});
    return HONE_OK;
}

/* Packed zero points must be known. False, with *status HONE_OK: it is evaluated. */
static bool keep_zeros(hn_eval *c, nbits_step *s, hone_status *status) {
    const hn_array *zeros = hn_arg(c, NBITS_ZEROS);
    hn_nbits *w = &s->weights;
    uint64_t n = (uint64_t)(w->n_rows * w->n_blocks);
    if (!zeros)
        return true;
    s->zeros_are_floats = zeros->dtype == HN_F32;
    if (s->zeros_are_floats)
        return zeros->n_elems == n;
    if (zeros->dtype != HN_U8 || !zeros->data ||
        zeros->n_elems != (uint64_t)(w->n_rows * hn_bits_to_bytes(w->n_blocks, w->bits)))
        return false;
    float *wide = hn_lower_alloc(c, (size_t)n * sizeof *wide);
    if (!wide) {
        *status = HONE_E_NOMEM;
        return false;
    }
    hn_nbits_widen_zeros(w, zeros->data, wide);
    w->zeros = wide;
    return true;
}

/* So must be the groups of columns, which are looked at here only. */
static bool check_groups(const hn_eval *c, nbits_step *s) {
    const hn_array *groups = hn_arg(c, NBITS_GROUPS);
    hn_nbits w = s->weights;
    s->has_groups = groups != NULL;
    if (!groups)
        return true;
    w.groups = groups->data;
    return w.groups && (int64_t)groups->n_elems >= w.depth &&
           hn_nbits_check_groups(NULL, &w) == HONE_OK;
}

typedef struct packed_nbits_step {
    hn_gemm_nbits_job job; /* arrays are filled in when it runs */
    bool has_bias;
} packed_nbits_step;

static hone_status run_packed_nbits(const void *record, const hn_step_io *io) {
    const packed_nbits_step *s = record;
    hn_gemm_nbits_job job = s->job;
    job.a = io->in[NBITS_A];
    job.bias = s->has_bias ? io->in[NBITS_BIAS] : NULL;
    job.c = io->out[0];
    job.workspace = io->scratch;
    hn_gemm_nbits(io->pool, &job);
    return HONE_OK;
}

static hone_status lower_packed_nbits(hn_eval *c, const hn_gemm_nbits_job *job, hn_lowered *out) {
    packed_nbits_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (packed_nbits_step){.job = *job, .has_bias = hn_arg(c, NBITS_BIAS) != NULL};
    s->job.m = (int64_t)hn_ret(c, 0)->n_elems / job->form.n;
    *out = (hn_lowered){.run = run_packed_nbits,
                        .record = s,
                        .scratch_bytes = hn_gemm_nbits_workspace_bytes(&s->job)};
    return HONE_OK;
}

static hone_status lower_matmul_nbits(hn_eval *c, hn_lowered *out) {
    const hn_array *a = hn_arg(c, NBITS_A), *scales = hn_arg(c, NBITS_SCALES), *y = hn_ret(c, 0),
                   *bias = hn_arg(c, NBITS_BIAS);
    hone_status status = HONE_OK;
    hn_gemm_nbits_job packed;
    hn_nbits w;
    if (!a || !hn_arg(c, NBITS_B) || !scales || !y || a->dtype != HN_F32 ||
        scales->dtype != HN_F32 || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_nbits_read_form(c, &w));
    if (bias && (bias->dtype != HN_F32 || bias->n_elems != (uint64_t)w.n_rows))
        return HONE_OK;
    if (hn_packed_nbits(c, &packed))
        return lower_packed_nbits(c, &packed, out);
    nbits_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = (nbits_step){
        .weights = w, .n_rows = (int64_t)y->n_elems / w.n_rows, .has_bias = bias != NULL};
    if (keep_zeros(c, s, &status) && check_groups(c, s))
        *out = (hn_lowered){.run = run_nbits, .record = s};
    return status;
}

const hn_lowering hn_lower_matmul_nbits[1] = {
    {.lower = lower_matmul_nbits, .prepare = hn_prepare_nbits, .release = hn_release_weights}};
