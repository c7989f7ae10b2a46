/* The body of gemm_ref.c for one type: T, and NAME(x) that appends the type's name.
 *
 * The output is cut into blocks of columns. For each, the right side is packed in slices of DEPTH
 * rows; every group of ROWS rows of the left side meets a slice in strips of COLS columns, whose
 * sums stay in registers. Each output element sums its products in the same order whatever the cut.
 */

/* Sums of one strip: acc[r][j] over nk products. b is packed with GEMM_STRIDE. */
static void NAME(gemm_strip)(int64_t nk, const T *const a[GEMM_ROWS], const T *b,
                             T acc[GEMM_ROWS][GEMM_COLS]) {
    T s[GEMM_ROWS][GEMM_COLS] = {{0}};
    const T *a0 = a[0], *a1 = a[1], *a2 = a[2], *a3 = a[3];
    for (int64_t k = 0; k < nk; k++) {
        const T *row = b + k * GEMM_STRIDE;
        for (int j = 0; j < GEMM_COLS; j++) {
            s[0][j] += a0[k] * row[j];
            s[1][j] += a1[k] * row[j];
            s[2][j] += a2[k] * row[j];
            s[3][j] += a3[k] * row[j];
        }
    }
    memcpy(acc, s, sizeof s);
}

typedef struct NAME(gemm_slice) {
    int64_t k0, nk, j0, nj; /* rows and columns of the right side */
    T b[GEMM_DEPTH * GEMM_STRIDE];
    T a[GEMM_ROWS]
       [GEMM_DEPTH]; /* rows of the left side, when its columns do not lie side by side */
} NAME(gemm_slice);

/* A block of the right side, read along the direction in which it lies side by side. */
static void NAME(gemm_copy_block)(const NAME(hn_gemm_job) * g, NAME(gemm_slice) * s) {
    const T *from = g->b + s->k0 * g->b_row + s->j0 * g->b_col;
    if (g->b_col == 1) {
        for (int64_t k = 0; k < s->nk; k++)
            memcpy(s->b + k * GEMM_STRIDE, from + k * g->b_row, (size_t)s->nj * sizeof(T));
        return;
    }
    for (int64_t j = 0; j < s->nj; j++)
        for (int64_t k = 0; k < s->nk; k++)
            s->b[k * GEMM_STRIDE + j] = from[j * g->b_col + k * g->b_row];
}

static void NAME(gemm_lay_out)(const NAME(hn_gemm_job) * g, NAME(gemm_slice) * s) {
    int64_t pad_to = (s->nj + GEMM_COLS - 1) / GEMM_COLS * GEMM_COLS;
    if (g->fill)
        g->fill(g->fill_ctx, s->k0, s->nk, s->j0, s->nj, s->b, GEMM_STRIDE);
    else
        NAME(gemm_copy_block)(g, s);
    for (int64_t k = 0; k < s->nk; k++)
        for (int64_t j = s->nj; j < pad_to; j++)
            s->b[k * GEMM_STRIDE + j] = 0;
}

/* Pointers to `n` rows of the left side from row i on; missing ones repeat the last, and their sums
 * are dropped. */
static void NAME(gemm_left)(const NAME(hn_gemm_job) * g, NAME(gemm_slice) * s, int64_t i, int64_t n,
                            const T *a[GEMM_ROWS]) {
    for (int64_t r = 0; r < GEMM_ROWS; r++) {
        const T *from = g->a + (i + HN_MIN(r, n - 1)) * g->a_row + s->k0 * g->a_col;
        a[r] = from;
        if (g->a_col == 1)
            continue;
        for (int64_t k = 0; k < s->nk; k++)
            s->a[r][k] = from[k * g->a_col];
        a[r] = s->a[r];
    }
}

static void NAME(gemm_rows)(const NAME(hn_gemm_job) * g, NAME(gemm_slice) * s, int64_t i,
                            int64_t n) {
    const T *a[GEMM_ROWS];
    T acc[GEMM_ROWS][GEMM_COLS];
    bool add = g->add || s->k0 > 0;
    NAME(gemm_left)(g, s, i, n, a);
    for (int64_t j0 = 0; j0 < s->nj; j0 += GEMM_COLS) {
        int64_t nj = HN_MIN(GEMM_COLS, s->nj - j0);
        NAME(gemm_strip)(s->nk, a, s->b + j0, acc);
        for (int64_t r = 0; r < n; r++) {
            T *c = g->c + (i + r) * g->c_row + s->j0 + j0;
            for (int64_t j = 0; j < nj; j++)
                c[j] = add ? c[j] + acc[r][j] : acc[r][j];
        }
    }
}

static void NAME(gemm_clear)(const NAME(hn_gemm_job) * g, int64_t row0, int64_t row1, int64_t col0,
                             int64_t col1) {
    for (int64_t i = row0; i < row1; i++)
        memset(g->c + i * g->c_row + col0, 0, (size_t)(col1 - col0) * sizeof(T));
}

/* A product under way. */
typedef struct NAME(gemm_run) {
    NAME(hn_gemm_job) job;
    const hn_pool *pool; /* says when to give up */
} NAME(gemm_run);

static void NAME(gemm_tile)(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const NAME(gemm_run) *run = ctx;
    const NAME(hn_gemm_job) *g = &run->job;
    NAME(gemm_slice) s;
    s.j0 = col0;
    s.nj = col1 - col0;
    for (s.k0 = 0; s.k0 < g->k; s.k0 += GEMM_DEPTH) {
        s.nk = HN_MIN(GEMM_DEPTH, g->k - s.k0);
        NAME(gemm_lay_out)(g, &s);
        for (int64_t i = row0; i < row1; i += GEMM_ROWS) {
            if (i % GEMM_HEIGHT == 0 && hn_pool_is_stopped(run->pool))
                return;
            NAME(gemm_rows)(g, &s, i, HN_MIN(GEMM_ROWS, row1 - i));
        }
    }
}

/* c[0..n) += x * b[0..n), in pieces of a constant size that compilers turn into vectors. */
static void NAME(gemm_axpy)(int64_t n, T x, const T *restrict b, T *restrict c) {
    int64_t j = 0;
    for (; j + GEMM_COLS <= n; j += GEMM_COLS)
        for (int i = 0; i < GEMM_COLS; i++)
            c[j + i] += x * b[j + i];
    for (; j < n; j++)
        c[j] += x * b[j];
}

/* Few rows: laying the right side out would cost more than using it. Columns side by side: row by
 * row of b into c. */
static void NAME(gemv_rows)(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const NAME(gemm_run) *run = ctx;
    const NAME(hn_gemm_job) *g = &run->job;
    if (!g->add)
        NAME(gemm_clear)(g, row0, row1, col0, col1);
    for (int64_t k = 0; k < g->k; k++) {
        if (k % GEMM_DEPTH == 0 && hn_pool_is_stopped(run->pool))
            return;
        for (int64_t i = row0; i < row1; i++)
            NAME(gemm_axpy)
        (col1 - col0, g->a[i * g->a_row + k * g->a_col], g->b + k * g->b_row + col0,
         g->c + i * g->c_row + col0);
    }
}

/* The same when rows of b lie side by side: sums along both. */
static T NAME(gemm_dot)(int64_t n, const T *a, int64_t a_step, const T *b) {
    T part[GEMM_COLS] = {0}, sum = 0;
    int64_t k = 0;
    for (; k + GEMM_COLS <= n; k += GEMM_COLS)
        for (int j = 0; j < GEMM_COLS; j++)
            part[j] += a[(k + j) * a_step] * b[k + j];
    for (; k < n; k++)
        sum += a[k * a_step] * b[k];
    for (int j = 0; j < GEMM_COLS; j++)
        sum += part[j];
    return sum;
}

static void NAME(gemv_dots)(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    const NAME(gemm_run) *run = ctx;
    const NAME(hn_gemm_job) *g = &run->job;
    for (int64_t j = col0; j < col1 && !hn_pool_is_stopped(run->pool); j++)
        for (int64_t i = row0; i < row1; i++) {
            T *c = g->c + i * g->c_row + j;
            T sum = NAME(gemm_dot)(g->k, g->a + i * g->a_row, g->a_col, g->b + j * g->b_col);
            *c = g->add ? *c + sum : sum;
        }
}

void NAME(hn_gemm_plain)(hn_pool *pool, const NAME(hn_gemm_job) * job) {
    NAME(gemm_run) run = {*job, pool};
    const NAME(hn_gemm_job) *g = &run.job;
    bool few_rows = !g->fill && g->m < GEMM_ROWS;
    int64_t blocks = (g->n + GEMM_WIDTH - 1) / GEMM_WIDTH;
    int64_t row_grain = blocks >= 16 ? g->m : HN_MIN(g->m, GEMM_HEIGHT);
    if (g->m <= 0 || g->n <= 0)
        return;
    if (g->k <= 0 && !g->add)
        NAME(gemm_clear)(g, 0, g->m, 0, g->n);
    else if (few_rows && g->b_col == 1)
        hn_pool_for_2d(pool, g->m, g->n, g->m, GEMV_WIDTH, NAME(gemv_rows), &run);
    else if (few_rows && g->b_row == 1)
        hn_pool_for_2d(pool, g->m, g->n, g->m, GEMM_WIDTH, NAME(gemv_dots), &run);
    else
        hn_pool_for_2d(pool, g->m, g->n, row_grain, GEMM_WIDTH, NAME(gemm_tile), &run);
    if (g->after)
        g->after(g->after_ctx, 0, g->m, 0, g->n);
}
