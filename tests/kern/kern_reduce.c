/* Folds and weighted sums against sums in double; matrices turned around. */
#include "kern/kern.h"
#include "cpu/kernels/reduce/reduce_loops.h"
#include "cpu/kernels/transpose/transpose.h"

#include <math.h>
#include <stdio.h>

/* ---- folds ---- */

static const char *const fold_names[] = {"sum", "abs", "square", "max", "min"};

/* What n numbers fold to, and the sum of their sizes, which errors are measured by. */
static double exact_fold(hn_reduce_kind fold, int64_t n, const float *x, int64_t step,
                         double *size) {
    double acc = fold == HN_REDUCE_MAX ? -HUGE_VAL : fold == HN_REDUCE_MIN ? HUGE_VAL : 0;
    *size = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * step];
        if (fold == HN_REDUCE_MAX || fold == HN_REDUCE_MIN) {
            bool is_better = fold == HN_REDUCE_MAX ? v > acc : v < acc;
            acc = is_better || isnan(v) ? v : acc;
            continue;
        }
        v = fold == HN_REDUCE_ABS ? fabs(v) : fold == HN_REDUCE_SQUARE ? v * v : v;
        acc += v;
        *size += fabs(v);
    }
    return acc;
}

/* As docs/numerics.md says it. */
static bool is_good_fold(double got, double exact, double size, int64_t n) {
    double allowed = (68 + (double)n / 64) * KERN_EPS * size;
    return isnan(exact) ? isnan(got) : got == exact || fabs(got - exact) <= allowed;
}

static void put_odd_ones(float *x, int64_t n, int form) {
    static const float odd[] = {NAN, HUGE_VALF, -HUGE_VALF};
    if (form > 0 && n > 0)
        x[kern_between(0, n - 1)] = odd[form - 1];
}

static void check_run(hn_reduce_kind fold, int64_t n, int form) {
    float *x = kern_floats(n);
    double size;
    put_odd_ones(x, n, form);
    double exact = exact_fold(fold, n, x, 1, &size),
           got = hn_reduce_loops_find_f32()->run[fold](n, x);
    KERN_CHECK(is_good_fold(got, exact, size, n), "%s of %d: %g, not %g", fold_names[fold], (int)n,
               got, exact);
    kern_release();
}

static void check_rows(hn_reduce_kind fold, int64_t n_rows, int64_t n, int64_t gap, int form) {
    int64_t row = n + gap;
    float *x = kern_floats(n_rows ? (n_rows - 1) * row + n : 0), *out = kern_floats(n);
    put_odd_ones(x, n_rows ? n : 0, form);
    hn_reduce_loops_find_f32()->rows[fold](n_rows, row, x, n, out);
    for (int64_t i = 0; i < n; i++) {
        double size, exact = exact_fold(fold, n_rows, x + i, row, &size);
        KERN_CHECK(is_good_fold(out[i], exact, size, n_rows), "%s of %d rows of %d: %g, not %g",
                   fold_names[fold], (int)n_rows, (int)n, (double)out[i], exact);
    }
    kern_release();
}

static void test_weighted_rows(void) {
    for (int64_t n = 0; n < 90; n += n < 36 ? 1 : 17)
        for (int64_t n_rows = 1; n_rows < 6; n_rows++) {
            int64_t offsets[5];
            float *x = kern_floats(2 * n), *w = kern_floats(n_rows), *out = kern_floats(n);
            for (int64_t t = 0; t < n_rows; t++)
                offsets[t] = kern_between(0, n);
            hn_reduce_loops_find_f32()->weigh_rows(n, n_rows, x, offsets, w, out);
            for (int64_t i = 0; i < n; i++) {
                double exact = 0;
                for (int64_t t = 0; t < n_rows; t++)
                    exact += (double)w[t] * x[offsets[t] + i];
                KERN_CHECK(fabs(out[i] - exact) <= 8 * KERN_EPS * (double)n_rows,
                           "weighted rows of %d: %g, not %g", (int)n, (double)out[i], exact);
            }
            kern_release();
        }
}

void kern_test_reduce(void) {
    static const int64_t rows[] = {0, 1, 2, 3, 5, 63, 64, 65, 257, 300};
    for (int fold = 0; fold < HN_REDUCE_COUNT; fold++)
        for (int form = 0; form < 4; form++) {
            for (int64_t n = 0; n < 5000; n += n < 140 ? 1 : 971)
                check_run((hn_reduce_kind)fold, n, form);
            for (size_t r = 0; r < HN_COUNT(rows); r++)
                for (int64_t n = 0; n < 140; n += n < 36 ? 1 : 13)
                    check_rows((hn_reduce_kind)fold, rows[r], n, n % 3, form);
        }
    test_weighted_rows();
}

/* ---- matrices ---- */

static void check_transpose(size_t bytes, int64_t rows, int64_t cols, int64_t gap) {
    int64_t from_row = cols + gap, to_row = rows + gap, size = (int64_t)bytes;
    int64_t n_from = (rows - 1) * from_row + cols, n_to = (cols - 1) * to_row + rows;
    /* elements of 16 bytes are two of 8, which need no more alignment than pages have */
    uint8_t *from = kern_bytes(n_from * size), *to = kern_bytes(n_to * size);
    uint8_t *expected = kern_bytes(n_to * size);
    memset(to, 0x5a, (size_t)(n_to * size));
    memset(expected, 0x5a, (size_t)(n_to * size));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            memcpy(expected + (j * to_row + i) * size, from + (i * from_row + j) * size, bytes);
    hn_transpose(&(hn_transpose_job){bytes, rows, cols, from, from_row, to, to_row});
    KERN_CHECK(memcmp(to, expected, (size_t)(n_to * size)) == 0,
               "a matrix of %d x %d elements of %d bytes is turned wrongly", (int)rows, (int)cols,
               (int)bytes);
    kern_release();
}

void kern_test_transpose(void) {
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 50, 131, 200};
    for (size_t bytes = 1; bytes <= 16; bytes *= 2)
        for (size_t i = 0; i < HN_COUNT(sizes); i++)
            for (size_t j = 0; j < HN_COUNT(sizes); j++)
                check_transpose(bytes, sizes[i], sizes[j], (int64_t)(i + j) % 3);
}
