/* Rounding with error feedback: see feedback.h.
 *
 * The squared error of all products is sum of E' H E, where E are the errors of the weights (k x n)
 * and H the moments of the inputs. With H = U D U', U upper triangular with ones, it is the sum
 * over k of d[k] times the squares of e[k] + sum over j < k of U[j, k] e[j]. So row k is rounded
 * after that sum was added to it. */
#include "quant/feedback.h"
#include "cpu/kernels/kernel.h"
#include "ops/eval.h"

#include <math.h>

#define PANEL 64     /* rows that are treated one by one before a product treats the rest */
#define DAMPING 0.01 /* of the mean of the diagonal, so that unseen directions count a little */

/* ---- moments --------------------------------------------------------------------------------- */

hn_moments *hn_moments_new(hn_arena *arena, uint64_t k, uint64_t n_groups) {
    hn_moments *m = HN_NEW(arena, hn_moments);
    float *sums = m ? HN_NEW_N(arena, float, k *k *n_groups) : NULL;
    if (sums)
        *m = (hn_moments){.k = k, .n_groups = n_groups, .sums = sums};
    return sums ? m : NULL;
}

void hn_moments_add(hn_moments *m, uint64_t group, const float *x, uint64_t n, int64_t row,
                    int64_t column, hn_pool *pool) {
    int64_t k = (int64_t)m->k;
    hn_gemm_f32(pool, &(hn_gemm_job_f32){.m = k,
                                         .n = k,
                                         .k = (int64_t)n,
                                         .a = x,
                                         .a_row = column,
                                         .a_col = row,
                                         .b = x,
                                         .b_row = row,
                                         .b_col = column,
                                         .c = m->sums + group * m->k * m->k,
                                         .c_row = k,
                                         .add = true});
    m->n_rows += group + 1 == m->n_groups ? n : 0;
}

/* ---- the factors ----------------------------------------------------------------------------- */

typedef struct feedback {
    const hn_feedback_job *job;
    uint64_t k, n;   /* of a group */
    uint64_t group;  /* that is rounded now */
    float *factor;   /* k x k: row k has U[j, k] for j < k */
    float *diagonal; /* d */
    float *panel;    /* PANEL x k */
    float *weight;   /* k x n */
    float *error;    /* k x n: of the rows that were rounded */
    float *target;   /* PANEL x n */
    int8_t *numbers; /* k x n: as signed bytes, of unsigned types their low bits */
    hn_quant_groups groups;
    hn_quant_limits limits;
    const hn_quant_params *params; /* by group */
} feedback;

static void add_scaled_row(float *to, const float *from, float factor, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

static bool damp_moments(feedback *f) {
    double mean = 0;
    memcpy(f->factor, f->job->moments->sums + f->group * f->k * f->k, f->k * f->k * sizeof(float));
    for (uint64_t i = 0; i < f->k; i++)
        mean += (double)f->factor[i * f->k + i] / (double)f->k;
    for (uint64_t i = 0; i < f->k; i++)
        f->factor[i * f->k + i] += (float)(DAMPING * mean);
    return isfinite(mean) && mean > 0;
}

/* Rows [begin, end), from the last one back. */
static bool factor_panel(feedback *f, uint64_t begin, uint64_t end) {
    for (uint64_t k = end; k-- > begin;) {
        float *row = f->factor + k * f->k, d = row[k];
        if (!(d > 0) || !isfinite(d))
            return false;
        f->diagonal[k] = d;
        for (uint64_t j = 0; j < k; j++)
            row[j] /= d;
        for (uint64_t i = begin; i < k; i++)
            add_scaled_row(f->factor + i * f->k, row, -row[i] * d, i + 1);
    }
    return true;
}

/* Takes the part of the panel off the rows before it. */
static void subtract_panel(feedback *f, uint64_t begin, uint64_t end) {
    for (uint64_t k = begin; k < end; k++)
        for (uint64_t j = 0; j < begin; j++)
            f->panel[(k - begin) * begin + j] = -f->diagonal[k] * f->factor[k * f->k + j];
    hn_gemm_f32(f->job->pool, &(hn_gemm_job_f32){.m = (int64_t)begin,
                                                 .n = (int64_t)begin,
                                                 .k = (int64_t)(end - begin),
                                                 .a = f->panel,
                                                 .a_row = 1,
                                                 .a_col = (int64_t)begin,
                                                 .b = f->factor + begin * f->k,
                                                 .b_row = (int64_t)f->k,
                                                 .b_col = 1,
                                                 .c = f->factor,
                                                 .c_row = (int64_t)f->k,
                                                 .add = true});
}

static bool factor_moments(feedback *f) {
    if (!damp_moments(f))
        return false;
    for (uint64_t end = f->k; end > 0;) {
        uint64_t begin = end > PANEL ? end - PANEL : 0;
        if (!factor_panel(f, begin, end))
            return false;
        if (begin > 0)
            subtract_panel(f, begin, end);
        end = begin;
    }
    return true;
}

/* ---- rounding -------------------------------------------------------------------------------- */

static uint64_t place_in_weight(const feedback *f, uint64_t k, uint64_t n) {
    return f->job->inputs == HN_INPUTS_ARE_ROWS ? k * f->n + n : (f->group * f->n + n) * f->k + k;
}

static hn_quant_params params_at(const feedback *f, uint64_t i) {
    const hn_quant_groups *g = &f->groups;
    if (g->axis < 0)
        return f->params[0];
    uint64_t inner = i % g->n_inner, k = i / g->n_inner % g->n_axis;
    uint64_t outer = i / g->n_inner / g->n_axis;
    uint64_t n_blocks = g->block ? (g->n_axis + g->block - 1) / g->block : 0;
    return f->params[g->block ? (outer * n_blocks + k / g->block) * g->n_inner + inner : k];
}

/* The rows of the panel with the errors of all rows before it; of those inside it, `error` has
 * the rows before `k`. */
static void begin_panel(feedback *f, uint64_t begin, uint64_t end) {
    memcpy(f->target, f->weight + begin * f->n, (end - begin) * f->n * sizeof(float));
    if (begin > 0)
        hn_gemm_f32(f->job->pool, &(hn_gemm_job_f32){.m = (int64_t)(end - begin),
                                                     .n = (int64_t)f->n,
                                                     .k = (int64_t)begin,
                                                     .a = f->factor + begin * f->k,
                                                     .a_row = (int64_t)f->k,
                                                     .a_col = 1,
                                                     .b = f->error,
                                                     .b_row = (int64_t)f->n,
                                                     .b_col = 1,
                                                     .c = f->target,
                                                     .c_row = (int64_t)f->n,
                                                     .add = true});
}

/* Rounds row k of the target, or takes the numbers that there are. Returns its squared error. */
static double round_row(feedback *f, uint64_t k, const float *target, bool keeps_numbers) {
    double sum = 0;
    for (uint64_t n = 0; n < f->n; n++) {
        uint64_t at = k * f->n + n;
        hn_quant_params p = params_at(f, place_in_weight(f, k, n));
        int32_t q = keeps_numbers ? hn_quant_number(f->weight[at], p, f->limits)
                                  : hn_quant_number(target[n], p, f->limits);
        float rounded = (float)(q - p.zero) * p.scale;
        double d = (double)target[n] - (double)rounded;
        f->error[at] = f->weight[at] - rounded;
        f->numbers[at] = (int8_t)q;
        sum += d * d;
    }
    return sum;
}

/* The squared error of the products. */
static double round_rows(feedback *f, bool keeps_numbers) {
    double sum = 0;
    for (uint64_t begin = 0; begin < f->k; begin += PANEL) {
        uint64_t end = HN_MIN(begin + PANEL, f->k);
        begin_panel(f, begin, end);
        for (uint64_t k = begin; k < end; k++) {
            float *target = f->target + (k - begin) * f->n;
            for (uint64_t j = begin; j < k; j++)
                add_scaled_row(target, f->error + j * f->n, f->factor[k * f->k + j], f->n);
            sum += (double)f->diagonal[k] * round_row(f, k, target, keeps_numbers);
        }
    }
    return sum;
}

/* ---- a weight -------------------------------------------------------------------------------- */

static hone_status begin_feedback(feedback *f, hn_arena *scratch, const hn_quant_result *r) {
    uint64_t n_params = r->scale->n_elems;
    f->factor = HN_NEW_N(scratch, float, f->k * f->k);
    f->diagonal = HN_NEW_N(scratch, float, f->k);
    f->panel = HN_NEW_N(scratch, float, PANEL * f->k);
    f->weight = HN_NEW_N(scratch, float, f->k * f->n);
    f->error = HN_NEW_N(scratch, float, f->k * f->n);
    f->target = HN_NEW_N(scratch, float, PANEL * f->n);
    f->numbers = HN_NEW_N(scratch, int8_t, f->k * f->n);
    hn_quant_params *params = HN_NEW_N(scratch, hn_quant_params, n_params);
    if (!f->factor || !f->diagonal || !f->panel || !f->weight || !f->error || !f->target ||
        !f->numbers || !params)
        return HONE_E_NOMEM;
    for (uint64_t i = 0; i < n_params; i++) {
        float zero;
        hn_quant_load(r->scale, i, 1, &params[i].scale);
        hn_quant_load(r->zero, i, 1, &zero);
        params[i].zero = (int32_t)zero;
    }
    f->params = params;
    return HONE_OK;
}

static void load_group(feedback *f) {
    for (uint64_t k = 0; k < f->k; k++)
        for (uint64_t n = 0; n < f->n; n++)
            hn_quant_load(f->job->w, place_in_weight(f, k, n), 1, &f->weight[k * f->n + n]);
}

static void store_group(const feedback *f, hn_array *out) {
    for (uint64_t k = 0; k < f->k; k++)
        for (uint64_t n = 0; n < f->n; n++) {
            int64_t number = f->numbers[k * f->n + n];
            hn_store_i64(out, place_in_weight(f, k, n), 1, &number);
        }
}

static hone_status give_feedback(feedback *f, hn_arena *scratch, hn_arena *arena,
                                 hn_quant_result *result, double *gain) {
    void *data;
    double plain = 0, best = 0;
    HN_TRY(begin_feedback(f, scratch, result));
    hn_tensor *q =
        hn_tensor_blank(arena, result->q->dtype, result->q->rank, result->q->dims, &data);
    HN_TRY_PTR(q);
    memcpy(data, result->q->data, result->q->data_bytes);
    hn_array out = {.dtype = q->dtype, .n_elems = q->n_elems, .data = data};
    for (f->group = 0; f->group < f->job->moments->n_groups; f->group++) {
        load_group(f);
        if (!factor_moments(f))
            continue;
        double before = round_rows(f, true), after = round_rows(f, false);
        plain += before;
        best += fmin(before, after);
        if (after < before)
            store_group(f, &out);
    }
    if (!(best < plain))
        return HONE_OK;
    *gain = best > 0 ? plain / best : INFINITY;
    result->q = q;
    return HONE_OK;
}

hone_status hn_quant_feedback(const hn_feedback_job *job, hn_arena *arena, hn_quant_result *result,
                              double *gain) {
    feedback f = {.job = job, .k = job->moments->k, .limits = hn_quant_limits_of(job->type)};
    *gain = 1;
    uint64_t n_groups = job->moments->n_groups;
    if (job->inputs == HN_INPUTS_NONE || f.k == 0 || job->w->n_elems % (f.k * n_groups) ||
        job->w->n_elems == 0 || (n_groups > 1 && job->inputs != HN_INPUTS_ARE_COLUMNS) ||
        !hn_dtype_is_int(job->type->dtype) || hn_dtype_bits(job->type->dtype) > 8 ||
        !hn_quant_groups_of(job->w, job->axis, job->block, &f.groups))
        return HONE_OK;
    f.n = job->w->n_elems / f.k / n_groups;
    hn_arena *scratch = hn_arena_new(hn_arena_allocator(arena));
    HN_TRY_PTR(scratch);
    hone_status status = give_feedback(&f, scratch, arena, result, gain);
    hn_arena_free(scratch);
    return status;
}
