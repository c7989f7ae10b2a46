/* Products with weights of few bits, against sums in double: float precision within the bound of
 * float sums, 8-bit activations exactly as rounded ones give it. */
#include "kern/kern.h"

#include <math.h>
#include <stdio.h>

#include "cpu/kernels/gemm_nbits/gemm_nbits_tile.h"

typedef struct nbits_case {
    hn_nbits_source source;
    int64_t m, n_blocks;
    bool is_int8, has_bias;
} nbits_case;

static uint8_t *random_weight_bytes(int64_t n) {
    uint8_t *bytes = kern_bytes(n);
    for (int64_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(kern_random() >> 8);
    return bytes;
}

static float *positive_floats(int64_t n) {
    float *floats = kern_floats(n);
    for (int64_t i = 0; i < n; i++)
        floats[i] = fabsf(floats[i]) + 0.25f;
    return floats;
}

static void fill_nbits_source(nbits_case *t) {
    hn_nbits_source *s = &t->source;
    hn_nbits_form *form = &s->form;
    t->n_blocks = (form->k + form->block - 1) / form->block;
    s->data = random_weight_bytes(form->n * t->n_blocks * form->block * form->bits / 8);
    s->scales = positive_floats(form->n * t->n_blocks);
    if (form->zeros == HN_NBITS_INT_ZEROS)
        s->zeros = random_weight_bytes(form->n * ((t->n_blocks * form->bits + 7) / 8));
    if (form->zeros == HN_NBITS_FLOAT_ZEROS)
        s->float_zeros = positive_floats(form->n * t->n_blocks);
}

static int nbits_number(const uint8_t *from, int64_t i, int bits) {
    return from[i * bits / 8] >> i * bits % 8 & ((1 << bits) - 1);
}

static double nbits_weight(const nbits_case *t, int64_t k, int64_t j) {
    const hn_nbits_source *s = &t->source;
    const hn_nbits_form *form = &s->form;
    int64_t row_bytes = t->n_blocks * form->block * form->bits / 8, b = k / form->block;
    int64_t zeros_bytes = (t->n_blocks * form->bits + 7) / 8;
    double zero = s->zeros         ? nbits_number(s->zeros + j * zeros_bytes, b, form->bits)
                  : s->float_zeros ? (double)s->float_zeros[j * t->n_blocks + b]
                                   : 1 << (form->bits - 1);
    return (nbits_number(s->data + j * row_bytes, k, form->bits) - zero) *
           (double)s->scales[j * t->n_blocks + b];
}

/* What the sum may be off by: roundings of the sum of a block and of all blocks; the numbers of a
 * block are multiples of 2^-24 of the largest of them, or 127th parts of it. */
static void exact_nbits(const nbits_case *t, const float *a, int64_t j, double *sum,
                        double *bound) {
    const hn_nbits_form *form = &t->source.form;
    *sum = *bound = 0;
    for (int64_t b = 0; b < t->n_blocks; b++) {
        double largest = 0, weights = 0;
        for (int64_t k = b * form->block; k < HN_MIN(form->k, (b + 1) * form->block); k++) {
            double w = nbits_weight(t, k, j);
            *sum += (double)a[k] * w;
            weights += fabs(w) + (t->source.float_zeros ? 300 : 0);
            largest = fmax(largest, fabs((double)a[k]));
        }
        double unit = t->is_int8 ? 1.0 / 127 / 2 + 8 * KERN_EPS : 8 * KERN_EPS;
        *bound += weights * largest * (unit + (double)t->n_blocks * KERN_EPS);
    }
}

static void check_nbits_result(const nbits_case *t, const hn_gemm_nbits_job *job, int threads) {
    const hn_nbits_form *form = &t->source.form;
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < form->n; j++) {
            double sum, bound, got = (double)job->c[i * form->n + j];
            exact_nbits(t, job->a + i * form->k, j, &sum, &bound);
            sum += job->bias ? (double)job->bias[j] : 0;
            KERN_CHECK(fabs(got - sum) <= bound + fabs(sum) * 4 * KERN_EPS,
                       "%d bits, %dx%dx%d, blocks of %d, zeros %d, int8 %d, %d threads: %g, not %g",
                       form->bits, (int)job->m, (int)form->n, (int)form->k, (int)form->block,
                       (int)form->zeros, job->is_int8, threads, got, sum);
        }
}

static void check_nbits(nbits_case t) {
    if (kern_leaves_out())
        return;
    fill_nbits_source(&t);
    const hn_nbits_form *form = &t.source.form;
    void *packed = kern_bytes((int64_t)hn_gemm_nbits_packed_bytes(form));
    hn_gemm_nbits_pack(&t.source, packed);
    hn_gemm_nbits_job job = {.form = *form,
                             .packed = packed,
                             .m = t.m,
                             .is_int8 = t.is_int8,
                             .a = kern_floats(t.m * form->k),
                             .bias = t.has_bias ? kern_floats(form->n) : NULL};
    job.workspace = kern_bytes((int64_t)hn_gemm_nbits_workspace_bytes(&job));
    float *first = NULL;
    for (int pool = 0; pool < KERN_POOLS; pool++) {
        job.c = kern_floats(t.m * form->n);
        hn_gemm_nbits(kern_pool(pool), &job);
        if (!first)
            check_nbits_result(&t, &job, pool + 1);
        else
            KERN_CHECK(memcmp(first, job.c, (size_t)(t.m * form->n) * sizeof *first) == 0,
                       "%d threads give other bytes", pool + 1);
        first = first ? first : job.c;
    }
    kern_release();
}

/* Infinities and NaN come out as products of floats have them; tiny and huge numbers are kept. */
static void check_strange_numbers(void) {
    enum { K = 64, N = 5 };
    static const float strange[] = {INFINITY, -INFINITY, NAN, 1e35f, 1e-31f};
    nbits_case t = {.source.form = {.bits = 4, .n = N, .k = K, .block = 32}, .m = 2};
    fill_nbits_source(&t);
    const hn_nbits_form *form = &t.source.form;
    void *packed = kern_bytes((int64_t)hn_gemm_nbits_packed_bytes(form));
    hn_gemm_nbits_pack(&t.source, packed);
    for (size_t s = 0; s < HN_COUNT(strange); s++) {
        float *a = kern_floats(2 * K);
        hn_gemm_nbits_job job = {
            .form = *form, .packed = packed, .m = 2, .a = a, .c = kern_floats(2 * N)};
        for (int k = 0; k < K; k++)
            a[k] = 0;
        a[3] = strange[s];
        job.workspace = kern_bytes((int64_t)hn_gemm_nbits_workspace_bytes(&job));
        hn_gemm_nbits(kern_pool(0), &job);
        for (int j = 0; j < N; j++) {
            float by = (float)nbits_weight(&t, 3, j), expected = strange[s] * by;
            bool is_same = isnan(expected) ? isnan(job.c[j])
                           : isinf(expected)
                               ? job.c[j] == expected
                               : fabsf(job.c[j] - expected) <= 1e-6f * fabsf(expected);
            KERN_CHECK(is_same, "%g * %g is %g", (double)strange[s], (double)by, (double)job.c[j]);
            KERN_CHECK(!isnan(job.c[N + j]) && !isinf(job.c[N + j]), "row 2 has %g",
                       (double)job.c[N + j]);
        }
    }
    kern_release();
}

void kern_test_gemm_nbits(void) {
    static const int all_bits[] = {2, 4, 8};
    static const int64_t sizes[][4] = {{1, 1, 1, 16},     {1, 33, 20, 16},   {2, 32, 64, 32},
                                       {3, 65, 130, 64},  {5, 16, 256, 128}, {7, 40, 96, 48},
                                       {4, 31, 257, 256}, {40, 70, 90, 32},  {37, 100, 700, 128}};
    if (!hn_nbits_pick())
        return;
    for (size_t b = 0; b < HN_COUNT(all_bits); b++)
        for (size_t i = 0; i < HN_COUNT(sizes); i++)
            for (int form = 0; form < 12; form++)
                check_nbits((nbits_case){.source.form = {.bits = all_bits[b],
                                                         .n = sizes[i][1],
                                                         .k = sizes[i][2],
                                                         .block = sizes[i][3],
                                                         .zeros = (hn_nbits_zero_kind)(form % 3)},
                                         .m = sizes[i][0],
                                         .is_int8 = form / 3 & 1,
                                         .has_bias = form / 6});
    check_strange_numbers();
}

/* ---- speed ---- */

static void run_nbits(hn_pool *pool, const void *job) {
    hn_gemm_nbits(pool, job);
}

static void bench_nbits(int64_t m, int64_t n, int64_t k, int bits, bool is_int8) {
    char name[64];
    nbits_case t = {.source.form = {.bits = bits, .n = n, .k = k, .block = 32}, .m = m};
    fill_nbits_source(&t);
    void *packed = kern_bytes((int64_t)hn_gemm_nbits_packed_bytes(&t.source.form));
    hn_gemm_nbits_pack(&t.source, packed);
    hn_gemm_nbits_job job = {.form = t.source.form,
                             .packed = packed,
                             .m = m,
                             .is_int8 = is_int8,
                             .a = kern_floats(m * k),
                             .c = kern_floats(m * n)};
    job.workspace = kern_bytes((int64_t)hn_gemm_nbits_workspace_bytes(&job));
    snprintf(name, sizeof name, "%d bits %dx%dx%d %s", bits, (int)m, (int)n, (int)k,
             is_int8 ? "int8" : "float");
    kern_time(name, &(kern_run){.fn = run_nbits,
                                .job = &job,
                                .flops = 2.0 * (double)(m * n * k),
                                .with_two = true,
                                .is_int = true});
    kern_release();
}

void kern_bench_gemm_nbits(void) {
    static const int64_t rows[] = {1, 4, 16, 128};
    if (!hn_nbits_pick())
        return;
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        for (int form = 0; form < 4; form++)
            bench_nbits(rows[i], 4096, 4096, form & 1 ? 8 : 4, form & 2);
}
