/* Products of 8-bit integers: each tile alone, then the whole with every way to give a and b,
 * against sums element by element. All must agree to the bit. */
#include "kern/kern.h"

#include <stdio.h>

#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

static uint32_t *hostile_words(int64_t n) {
    uint32_t *words = kern_bytes(n * 4);
    for (int64_t i = 0; i < n; i++)
        words[i] = kern_random();
    return words;
}

/* ---- tiles ---- */

/* Windows of a convolution: runs that overlap, rows that do. */
static void check_u8s8_tile(const hn_u8s8_set *set, int rows, int64_t n_runs) {
    static const int64_t depths[] = {0, 1, 2, 7, 40};
    bool reads_more = kern_between(0, 1);
    int64_t runs[4], n_sums = HN_MAX(rows, set->least_rows) * HN_U8S8_MOST_COLS, far = 0;
    if (kern_leaves_out())
        return;
    hn_u8s8_tile t = {.n_groups = depths[kern_random() % HN_COUNT(depths)] * set->step_groups,
                      .rows = rows,
                      .reads_more_rows = reads_more,
                      .a_row = kern_between(0, 90),
                      .runs = runs,
                      .n_runs = n_runs,
                      .sums = (int32_t *)hostile_words(n_sums)};
    int64_t run_bytes = t.n_groups * HN_U8S8_GROUP;
    for (int64_t i = 0; i < n_runs; i++) {
        runs[i] = kern_between(0, 100);
        far = HN_MAX(far, runs[i]);
    }
    int64_t n_read = reads_more ? HN_MAX(rows, set->least_rows) : rows;
    t.a = kern_hostile_bytes((n_read - 1) * t.a_row + far + run_bytes);
    t.b = (const int8_t *)kern_hostile_bytes(n_runs * run_bytes * set->cols);
    hn_u8s8_begin(set);
    set->tiles[rows](&t);
    hn_u8s8_end(set);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < set->cols; j++) {
            uint32_t sum = 0;
            for (int64_t e = 0; e < n_runs * run_bytes; e++) {
                int64_t g = e / HN_U8S8_GROUP, in = e % HN_U8S8_GROUP;
                sum += (uint32_t)(t.a[r * t.a_row + runs[e / run_bytes] + e % run_bytes] *
                                  t.b[(g * set->cols + j) * HN_U8S8_GROUP + in]);
            }
            KERN_CHECK((uint32_t)t.sums[r * HN_U8S8_MOST_COLS + j] == sum,
                       "%d rows, %d runs of %d groups: element %d, %d is wrong", rows, (int)n_runs,
                       (int)t.n_groups, (int)r, (int)j);
        }
    kern_release();
}

/* ---- the whole ---- */

typedef struct int8_case {
    int64_t m, n, k;
    bool trans_a, trans_b, is_packed;
} int8_case;

static const int32_t *hostile_zeros(int64_t n, bool is_signed) {
    int32_t *zeros = kern_bytes(n * 4);
    for (int64_t i = 0; i < n; i++) {
        uint8_t byte = (uint8_t)kern_random();
        zeros[i] = is_signed ? (int8_t)byte : byte;
    }
    return zeros;
}

static int32_t int8_at(const void *bytes, bool is_signed, int64_t at) {
    return is_signed ? ((const int8_t *)bytes)[at] : ((const uint8_t *)bytes)[at];
}

static int32_t exact_int8(const hn_gemm_int8_job *g, int64_t i, int64_t j) {
    uint32_t sum = g->bias ? (uint32_t)g->bias[j] : 0;
    int32_t za = g->n_a_zeros ? g->a_zeros[i % g->n_a_zeros] : 0;
    int32_t zb = g->n_b_zeros ? g->b_zeros[j % g->n_b_zeros] : 0;
    for (int64_t k = 0; k < g->k; k++)
        sum += (uint32_t)((int8_at(g->a, g->a_is_signed, i * g->a_row + k * g->a_col) - za) *
                          (int8_at(g->b, g->b_is_signed, k * g->b_row + j * g->b_col) - zb));
    return (int32_t)sum;
}

static int64_t reach_of(int64_t rows, int64_t cols, int64_t row, int64_t col) {
    return rows && cols ? (rows - 1) * row + (cols - 1) * col + 1 : 0;
}

static void check_int8_job(const int8_case *t, int form) {
    int64_t gap = kern_between(0, 3);
    hn_gemm_int8_job g = {.m = t->m, .n = t->n, .k = t->k};
    g.a_is_signed = form & 1;
    g.b_is_signed = form & 2;
    g.a_row = t->trans_a ? 1 : t->k + gap;
    g.a_col = t->trans_a ? t->m + gap : 1;
    g.b_row = t->trans_b ? 1 : t->n + gap;
    g.b_col = t->trans_b ? t->k + gap : 1;
    g.a = kern_hostile_bytes(reach_of(t->m, t->k, g.a_row, g.a_col));
    g.b = kern_hostile_bytes(reach_of(t->k, t->n, g.b_row, g.b_col));
    g.n_a_zeros = kern_random() % 3 ? kern_between(0, 1) : t->m;
    g.n_b_zeros = kern_random() % 3 ? kern_between(0, 1) : t->n;
    g.a_zeros = hostile_zeros(g.n_a_zeros, g.a_is_signed);
    g.b_zeros = hostile_zeros(g.n_b_zeros, g.b_is_signed);
    g.bias = kern_random() & 1 ? (int32_t *)hostile_words(t->n) : NULL;
    g.c_row = t->n + gap;
    int64_t n_out = reach_of(t->m, t->n, g.c_row, 1);
    if (t->is_packed) {
        void *packed = kern_bytes((int64_t)hn_gemm_int8_packed_bytes(t->n, t->k));
        hn_gemm_int8_pack(kern_pool(1), &g, packed);
        g.packed_b = packed;
    }
    g.workspace = kern_bytes((int64_t)hn_gemm_int8_workspace_bytes(&g));
    for (int pool = 0; pool < KERN_POOLS; pool++) {
        int32_t *c = (int32_t *)hostile_words(n_out);
        g.c = c;
        hn_gemm_int8(kern_pool(pool), &g);
        for (int64_t at = 0; at < n_out; at++) {
            int64_t i = at / g.c_row, j = at % g.c_row;
            KERN_CHECK(j >= t->n || c[at] == exact_int8(&g, i, j),
                       "%dx%dx%d, form %d, %d threads: %d, not %d", (int)t->m, (int)t->n, (int)t->k,
                       form, pool + 1, j < t->n ? c[at] : 0, exact_int8(&g, i, j));
        }
    }
    kern_release();
}

static void check_int8_sizes(int64_t m, int64_t n, int64_t k) {
    for (int form = 0; form < 16 && !kern_leaves_out(); form++)
        check_int8_job(&(int8_case){m, n, k, form & 4, form & 8, kern_random() & 1}, form);
}

void kern_test_gemm_u8s8(void) {
    static const int64_t sizes[][3] = {{1, 1, 1},    {1, 1, 0},     {0, 5, 3},     {3, 0, 2},
                                       {1, 33, 5},   {14, 32, 64},  {15, 31, 3},   {13, 65, 130},
                                       {29, 17, 67}, {5, 48, 4},    {70, 100, 33}, {2, 3, 3000},
                                       {16, 32, 64}, {33, 64, 128}, {31, 40, 192}, {9, 33, 64}};
    const hn_u8s8_set *set = hn_u8s8_pick();
    for (int rows = 1; rows <= set->max_rows; rows++)
        for (int i = 0; i < 20; i++)
            check_u8s8_tile(set, rows, kern_between(0, 4));
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        check_int8_sizes(sizes[i][0], sizes[i][1], sizes[i][2]);
    for (int i = 0; i < 20; i++)
        check_int8_sizes(kern_between(1, 40), kern_between(1, 70), kern_between(1, 40));
}

/* ---- speed ---- */

static void run_int8(hn_pool *pool, const void *job) {
    hn_gemm_int8(pool, job);
}

static void bench_int8(int64_t m, int64_t n, int64_t k, bool is_packed) {
    char name[64];
    hn_gemm_int8_job g = {.m = m,
                          .n = n,
                          .k = k,
                          .a = kern_hostile_bytes(m * k),
                          .a_row = k,
                          .a_col = 1,
                          .a_zeros = hostile_zeros(1, false),
                          .n_a_zeros = 1,
                          .b = kern_hostile_bytes(k * n),
                          .b_is_signed = true,
                          .b_row = n,
                          .b_col = 1,
                          .c = kern_bytes(m * n * 4),
                          .c_row = n};
    if (is_packed) {
        void *packed = kern_bytes((int64_t)hn_gemm_int8_packed_bytes(n, k));
        hn_gemm_int8_pack(NULL, &g, packed);
        g.packed_b = packed;
    }
    g.workspace = kern_bytes((int64_t)hn_gemm_int8_workspace_bytes(&g));
    snprintf(name, sizeof name, "gemm int8 %dx%dx%d%s", (int)m, (int)n, (int)k,
             is_packed ? " packed" : "");
    kern_time(name, &(kern_run){.fn = run_int8,
                                .job = &g,
                                .flops = 2.0 * (double)(m * n * k),
                                .with_two = true,
                                .is_int = true});
    kern_release();
}

void kern_bench_gemm_int8(void) {
    static const int64_t layers[][3] = {{128, 768, 768},  {128, 3072, 768}, {128, 768, 3072},
                                        {196, 1024, 256}, {3136, 64, 64},   {8, 3072, 768},
                                        {1, 4096, 1024}};
    for (size_t i = 0; i < HN_COUNT(layers); i++)
        bench_int8(layers[i][0], layers[i][1], layers[i][2], true);
    bench_int8(128, 768, 768, false);
}
