/* Products: each tile alone, then the whole with every way to give a and b. */
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/kernels/gemm/gemm_micro.h"

/* How far float sums of k products may lie from `exact`, `size` being the sum of absolute values.
 */
static bool is_near(double got, double exact, double size, int64_t k) {
    return fabs(got - exact) <= (double)(k + 4) * KERN_EPS * size + 1e-40;
}

/* Numbers that halves have, so that nothing is lost in them. */
static void round_to(hn_stored as, int64_t n, float *x) {
    for (int64_t i = 0; i < n && as != HN_STORED_F32; i++)
        x[i] = as == HN_STORED_F16 ? hn_f16_to_f32(hn_f32_to_f16(x[i]))
                                   : hn_bf16_to_f32(hn_f32_to_bf16(x[i]));
}

/* Room for n halves that ends, or begins, at a page that cannot be touched. */
static uint16_t *halves_room(int64_t n) {
    return (uint16_t *)kern_floats((n + 1) / 2) + (kern_at_start ? 0 : n % 2);
}

static const void *stored_as(hn_stored as, int64_t n, const float *x) {
    if (as == HN_STORED_F32)
        return x;
    uint16_t *halves = halves_room(n);
    for (int64_t i = 0; i < n; i++)
        halves[i] = as == HN_STORED_F16 ? hn_f32_to_f16(x[i]) : hn_f32_to_bf16(x[i]);
    return halves;
}

/* ---- tiles ---- */

/* A tile of `width` columns, `cols` of which are wanted. */
static void check_tile(hn_gemm_tile_fn_f32 fn, int rows, int64_t width, int64_t cols, int64_t panel,
                       bool add, hn_stored as) {
    if (kern_leaves_out())
        return;
    static const int64_t depths[] = {1, 2, 5, 37};
    int64_t k = depths[kern_random() % HN_COUNT(depths)], gap = kern_between(0, 3);
    int64_t c_row = cols + kern_between(0, 3);
    hn_gemm_tile_f32 t = {.k = k, .c_row = c_row, .cols = cols, .add = add};
    t.a_row = add ? 1 : k + gap;
    t.a_col = add ? rows + gap : 1;
    t.b_row = gap ? width + gap : panel; /* as it lies, or in panels */
    t.b_next = gap ? panel : panel * k;
    float *a = kern_floats((rows - 1) * t.a_row + (k - 1) * t.a_col + 1);
    int64_t n_right = gap ? (k - 1) * t.b_row + width : k * HN_MAX(width, panel);
    float *b = kern_floats(n_right);
    round_to(as, n_right, b);
    int64_t n_out = (rows - 1) * c_row + cols;
    float *c = kern_floats(n_out), *before = kern_floats(n_out);
    memcpy(before, c, (size_t)n_out * sizeof *c);
    t.a = a;
    t.b = stored_as(as, n_right, b);
    t.c = c;
    fn(&t);
    for (int64_t at = 0; at < n_out; at++) {
        int64_t i = at / c_row, j = at % c_row;
        double sum = add ? before[at] : 0, size = fabs(sum);
        if (j >= cols) {
            KERN_CHECK(c[at] == before[at], "%dx%d wrote past its columns", rows, (int)cols);
            continue;
        }
        for (int64_t p = 0; p < k; p++) {
            double product = (double)a[i * t.a_row + p * t.a_col] *
                             b[p * t.b_row + j / panel * t.b_next + j % panel];
            sum += product;
            size += fabs(product);
        }
        KERN_CHECK(is_near(c[at], sum, size, k), "%d rows, %d columns, k %d: %g, not %g", rows,
                   (int)cols, (int)k, (double)c[at], sum);
    }
    kern_release();
}

static void check_set(const hn_gemm_set_f32 *set) {
    for (int rows = 1; rows <= set->max_rows; rows++) {
        int64_t full = set->cols, half = full / 2;
        for (int64_t cols = 1; cols <= full; cols++)
            check_tile(set->full[rows], rows, full, cols, full, cols % 2, HN_STORED_F32);
        for (int64_t cols = 1; cols <= half; cols++)
            check_tile(set->narrow[rows], rows, half, cols, half, cols % 2, HN_STORED_F32);
    }
    for (hn_stored as = 0; as < HN_STORED_BF16_PAIRS; as++)
        for (const hn_gemm_wide_f32 *w = set->wide[as]; w->rows; w++)
            for (int form = 0; form < 8; form++)
                check_tile(w->fn, w->rows, w->cols, w->cols, set->cols, form % 2, as);
}

static void test_tiles(void) {
    const hn_gemm_set_f32 *set = hn_gemm_pick_f32();
    if (set)
        check_set(set);
}

/* ---- the whole ---- */

enum left_form { A_ROWS, A_COLUMNS, A_SPARSE, A_PACKED, N_LEFT_FORMS };
enum right_form {
    B_ROWS,
    B_COLUMNS,
    B_SPARSE_ROWS,
    B_FILL,
    B_PACKED,
    B_PACKED_F16,
    B_PACKED_BF16,
    N_RIGHT_FORMS
};

typedef struct gemm_case {
    int64_t m, n, k;
    bool add, has_after, has_epilogue;
    enum left_form left;
    enum right_form right;
} gemm_case;

static void fill_from_job(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj,
                          float *out, int64_t out_stride) {
    const hn_gemm_job_f32 *g = ctx;
    for (int64_t k = 0; k < nk; k++)
        for (int64_t j = 0; j < nj; j++)
            out[k * out_stride + j] = g->b[(k0 + k) * g->b_row + (j0 + j) * g->b_col];
}

/* a * x + b, by which elements that are left out or met twice show. */
static void double_and_shift(const float *xs, float *ys, uint64_t n, float a, float b) {
    for (uint64_t i = 0; i < n; i++)
        ys[i] = a * xs[i] + b;
}

/* Negates: calls that come too early, twice or never show in the result. */
static void negate_part(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const hn_gemm_job_f32 *g = ctx;
    for (int64_t i = row0; i < row1; i++)
        for (int64_t j = col0; j < col1; j++)
            g->c[i * g->c_row + j] = -g->c[i * g->c_row + j];
}

static int64_t reach(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_step) {
    return rows && cols ? (rows - 1) * row_stride + (cols - 1) * col_step + 1 : 0;
}

static hn_gemm_job_f32 make_job(const gemm_case *t) {
    hn_gemm_job_f32 g = {.m = t->m, .n = t->n, .k = t->k, .add = t->add};
    int64_t gap = kern_between(0, 3);
    g.a_row = t->left == A_COLUMNS ? 1 : (t->k + gap) * (1 + (t->left == A_SPARSE));
    g.a_col = t->left == A_COLUMNS ? t->m + gap : 1 + (t->left == A_SPARSE);
    g.b_row = t->right == B_COLUMNS ? 1 : (t->n + gap) * (1 + (t->right == B_SPARSE_ROWS));
    g.b_col = t->right == B_COLUMNS ? t->k + gap : 1 + (t->right == B_SPARSE_ROWS);
    g.c_row = t->n + gap;
    g.a = kern_floats(reach(t->m, t->k, g.a_row, g.a_col));
    int64_t n_right = reach(t->k, t->n, g.b_row, g.b_col);
    float *b = kern_floats(n_right);
    g.packed_as = t->right < B_PACKED ? HN_STORED_F32 : (hn_stored)(t->right - B_PACKED);
    round_to(g.packed_as, n_right, b);
    g.b = b;
    return g;
}

static void check_sums(const hn_gemm_job_f32 *g, const float *before) {
    const hn_epilogue_f32 *e = g->epilogue;
    double sign = g->after ? -1 : 1;
    for (int64_t i = 0; i < g->m; i++)
        for (int64_t j = 0; j < g->n; j++) {
            double sum = g->add ? before[i * g->c_row + j] : 0, size = fabs(sum);
            for (int64_t p = 0; p < g->k; p++) {
                double product =
                    (double)g->a[i * g->a_row + p * g->a_col] * g->b[p * g->b_row + j * g->b_col];
                sum += product;
                size += fabs(product);
            }
            if (e) {
                double bias = e->bias ? e->bias[i] : 0;
                int64_t stride = e->residual_stride ? e->residual_stride : g->c_row;
                double more = e->residual ? e->residual[i * stride + j] : 0;
                double by_col = e->col_bias ? e->col_bias[j] : 0;
                sum += bias + by_col + more;
                sum = e->is_limited ? fmin(fmax(sum, e->least), e->most) : sum;
                size += fabs(bias) + fabs(by_col) + fabs(more);
                if (e->unary) {
                    sum = sum * e->a + e->b;
                    size = size * fabs((double)e->a) + 1;
                }
            }
            float got = g->c[i * g->c_row + j];
            KERN_CHECK(is_near(sign * got, sum, size, g->k),
                       "gemm %d x %d x %d: element %d, %d is %g, not %g", (int)g->m, (int)g->n,
                       (int)g->k, (int)i, (int)j, sign * got, sum);
        }
}

static const void *pack_right(const hn_gemm_job_f32 *g, int64_t n_elems) {
    if (g->packed_as == HN_STORED_F32) {
        float *room = kern_floats(n_elems);
        hn_gemm_pack_f32(g, room);
        return room;
    }
    uint16_t *room = halves_room(n_elems);
    KERN_CHECK(hn_gemm_pack_half_f32(g, g->packed_as, room), "halves do not reach 1");
    return room;
}

static void check_product(const gemm_case *t) {
    if (kern_leaves_out())
        return;
    hn_gemm_job_f32 g = make_job(t), source = g;
    int64_t n_out = reach(t->m, t->n, g.c_row, 1), packed = hn_gemm_packed_elems_f32(t->n, t->k);
    float *start = kern_floats(n_out), *first = kern_floats(n_out);
    g.c = first;
    if (t->right == B_FILL) {
        g.fill = fill_from_job;
        g.fill_ctx = &source;
    }
    if (t->left == A_PACKED && packed > 0) {
        float *room = kern_floats(hn_gemm_packed_left_elems_f32(t->m, t->k));
        hn_gemm_pack_left_f32(&g, room);
        g.packed_a = room;
    }
    if (t->right >= B_PACKED && packed > 0)
        g.packed_b = pack_right(&g, packed);
    hn_epilogue_f32 epilogue = {.least = -1, .most = 1.5f, .a = 2, .b = -0.5f};
    if (t->has_epilogue) {
        epilogue.bias = t->k % 2 ? kern_floats(t->m) : NULL;
        epilogue.residual_stride = t->n % 3 ? 0 : t->n + 5;
        epilogue.residual = t->n % 2 ? kern_floats(n_out + 5 * t->m) : NULL;
        epilogue.is_limited = (t->m + t->k) % 3 != 0;
        epilogue.col_bias = t->m % 2 ? kern_floats(t->n) : NULL;
        epilogue.unary = kern_random() % 2 ? double_and_shift : NULL;
        g.epilogue = &epilogue;
    }
    if (t->has_after) {
        g.after = negate_part;
        g.after_ctx = &g;
    }
    for (int i = 0; i < KERN_POOLS; i++) {
        g.c = i ? kern_floats(n_out) : first;
        memcpy(g.c, start, (size_t)n_out * sizeof *start);
        hn_gemm_f32(kern_pool(i), &g);
        KERN_CHECK(memcmp(g.c, first, (size_t)n_out * sizeof *first) == 0,
                   "gemm %d x %d x %d differs with %d threads", (int)t->m, (int)t->n, (int)t->k,
                   i + 1);
    }
    check_sums(&g, start);
    kern_release();
}

static gemm_case form_of(int i, int64_t m, int64_t n, int64_t k) {
    return (gemm_case){.m = m,
                       .n = n,
                       .k = k,
                       .add = i % 2,
                       .has_after = i / 2 % 2,
                       .has_epilogue = kern_random() % 2,
                       .left = (enum left_form)(i / 4 % N_LEFT_FORMS),
                       .right = (enum right_form)(i / 4 / N_LEFT_FORMS % N_RIGHT_FORMS)};
}

static void test_products(void) {
    static const int64_t rows[] = {0, 1, 3, 4, 6, 7, 13, 14, 15, 31};
    static const int64_t cols[] = {0, 1, 5, 15, 16, 17, 32, 33, 49, 127, 131, 290};
    static const int64_t depths[] = {0, 1, 2, 7, 31, 130, 256, 257, 523};
    enum { N_FORMS = 4 * N_LEFT_FORMS * N_RIGHT_FORMS };
    for (int i = 0; i < N_FORMS; i++) {
        check_product(&(gemm_case[]){form_of(i, 17, 37, 41)}[0]);
        check_product(&(gemm_case[]){form_of(i, 2, 61, 300)}[0]);
        check_product(&(gemm_case[]){form_of(i, 29, 131, 259)}[0]);
    }
    for (size_t i = 0; i < HN_COUNT(rows); i++)
        for (size_t j = 0; j < HN_COUNT(cols); j++)
            for (size_t k = 0; k < HN_COUNT(depths); k++) {
                gemm_case t = form_of((int)(kern_random() % N_FORMS), rows[i], cols[j], depths[k]);
                check_product(&t);
            }
    check_product(&(gemm_case[]){form_of(0, 463, 19, 11)}[0]); /* more rows than a task has */
    check_product(&(gemm_case[]){form_of(12, 463, 19, 11)}[0]);
    for (int i = 0; i < N_FORMS;
         i++) /* several slices, collisions of rows, tasks for all threads */
        check_product(&(gemm_case[]){form_of(i, 30, 140, 1024)}[0]);
}

/* What float16 cannot hold is refused, wherever it stands; bfloat16 holds it. */
static void test_large_numbers(void) {
    enum { N = 37, K = 401 };
    uint16_t room[48 * K];
    for (int i = 0; i < 20 && hn_gemm_packed_elems_f32(N, K) > 0; i++) {
        float *b = kern_floats(N * K);
        hn_gemm_job_f32 g = {.n = N, .k = K, .b = b, .b_row = N, .b_col = 1};
        float *one = &b[kern_between(0, N * K - 1)];
        *one = i % 3 ? -65504 : HUGE_VALF;
        KERN_CHECK(hn_gemm_pack_half_f32(&g, HN_STORED_F16, room), "%g is refused", (double)*one);
        *one = i % 2 ? 70000 : -3e38f;
        KERN_CHECK(!hn_gemm_pack_half_f32(&g, HN_STORED_F16, room), "%g is taken", (double)*one);
        KERN_CHECK(hn_gemm_pack_half_f32(&g, HN_STORED_BF16, room), "%g is refused", (double)*one);
        kern_release();
    }
}

void kern_test_gemm(void) {
    test_tiles();
    test_products();
    test_large_numbers();
}
