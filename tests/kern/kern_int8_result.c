/* Results of integer products: vectors against plain C, to the bit. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

enum { MOST_ELEMS = 16 }; /* of a vector of any instruction set */

static int32_t *random_words(int64_t n) {
    int32_t *words = kern_bytes(n * 4);
    for (int64_t i = 0; i < n; i++)
        words[i] = (int32_t)kern_random() >> kern_between(0, 31);
    return words;
}

static float *random_scales(int64_t n) {
    float *scales = kern_floats(n);
    for (int64_t i = 0; i < n; i++)
        scales[i] = ldexpf(1.0f + fabsf(scales[i]), (int)kern_between(-20, 2));
    return scales;
}

/* Multiples of a half, where ties to even matter, in every fourth column. */
static void halve_some(int64_t n, float *scales) {
    for (int64_t i = 0; i < n; i += 4)
        scales[i] = 0.5f;
}

static hn_int8_result random_result(int64_t padded, hn_int8_to to, bool has_residual) {
    float *scales = random_scales(padded);
    halve_some(padded, scales);
    if (to == HN_INT8_TO_BYTES) {
        scales[padded / 2] = NAN;
        scales[padded - 1] = INFINITY;
    }
    hn_int8_result s = {.to = to,
                        .add = random_words(padded),
                        .scales = scales,
                        .bias = kern_random() & 1 ? kern_floats(padded) : NULL,
                        .zero = (int32_t)kern_between(0, 255)};
    s.zeros = kern_random() & 1 ? (uint32_t *)random_words(padded) : NULL;
    s.terms = kern_random() & 1 ? (uint32_t *)random_words(padded) : NULL;
    s.low = to == HN_INT8_TO_F32 ? -INFINITY : (float)-s.zero;
    s.high = to == HN_INT8_TO_F32 ? 1000.0f : (float)(255 - s.zero);
    if (has_residual)
        s.residual = (hn_int8_residual){.at = scales, /* there is one */
                                        .row = padded,
                                        .is_signed = kern_random() & 1,
                                        .zero = (float)kern_between(-128, 255),
                                        .of_residual = kern_random() & 1 ? 0.5f : 0.37f,
                                        .of_result = kern_random() & 1 ? 0.5f : 1.7f,
                                        .low = -100,
                                        .high = 155,
                                        .sum_zero = 100};
    return s;
}

static const void *random_residual(int64_t n, hn_int8_to to) {
    return to == HN_INT8_TO_F32 ? (const void *)kern_floats(n) : kern_hostile_bytes(n);
}

static void check_int8_result(int rows, int64_t cols, hn_int8_to to, bool has_residual) {
    int64_t col = kern_between(0, 40), width = (cols + MOST_ELEMS - 1) / MOST_ELEMS * MOST_ELEMS;
    size_t elem_bytes = to == HN_INT8_TO_BYTES ? 1 : 4;
    if (kern_leaves_out())
        return;
    hn_int8_result s = random_result(col + width, to, has_residual);
    hn_int8_block t = {.rows = rows,
                       .col = col,
                       .cols = cols,
                       .sums = random_words(rows * width),
                       .sums_row = width,
                       .row_sums = (uint32_t *)random_words(rows),
                       .row_zeros = (uint32_t *)random_words(rows),
                       .y_row = cols + kern_between(0, 3),
                       .residual = has_residual ? random_residual(rows * (col + width), to) : NULL};
    size_t n_bytes = (size_t)((rows - 1) * t.y_row + cols) * elem_bytes;
    void *plain = kern_bytes((int64_t)n_bytes);
    if (has_residual)
        s.residual.row = col + width;
    t.y = plain;
    memset(plain, 0xA5, n_bytes);
    hn_int8_result__scalar(&s, &t);
    t.y = kern_bytes((int64_t)n_bytes);
    memset(t.y, 0xA5, n_bytes);
    hn_int8_result_find()(&s, &t);
    KERN_CHECK(memcmp(t.y, plain, n_bytes) == 0, "%d rows of %d columns become others, form %d",
               rows, (int)cols, (int)to);
    kern_release();
}

/* Tiles that finish their sums in registers do as plain C does with the sums. */
static void check_finished_tile(const hn_u8s8_set *set, int rows, int64_t cols) {
    static const int64_t one_run[] = {0};
    int64_t col = kern_between(0, 40), y_row = cols + kern_between(0, 3);
    int64_t n_bytes = (rows - 1) * y_row + cols;
    hn_int8_result s = random_result(col + set->cols, HN_INT8_TO_BYTES, false);
    hn_u8s8_tile t = {.n_groups = kern_between(0, 9),
                      .runs = one_run,
                      .n_runs = 1,
                      .sums = random_words((int64_t)rows * HN_U8S8_MOST_COLS)};
    s.zeros = s.terms = NULL;
    t.a_row = t.n_groups * HN_U8S8_GROUP;
    t.a = kern_hostile_bytes(rows * t.a_row);
    t.b = (const int8_t *)kern_hostile_bytes(t.a_row * set->cols);
    hn_int8_block block = {.rows = rows,
                           .col = col,
                           .cols = cols,
                           .sums = t.sums,
                           .sums_row = HN_U8S8_MOST_COLS,
                           .y = kern_bytes(n_bytes),
                           .y_row = y_row};
    const uint8_t *plain = block.y;
    memset(block.y, 0xA5, (size_t)n_bytes);
    set->tiles[rows](&t);
    hn_int8_result__scalar(&s, &block);
    block.y = kern_bytes(n_bytes);
    memset(block.y, 0xA5, (size_t)n_bytes);
    t.result = hn_int8_finished(set->finishes, &s);
    t.block = &block;
    if (t.result) {
        set->tiles[rows](&t);
        KERN_CHECK(memcmp(block.y, plain, (size_t)n_bytes) == 0,
                   "a tile of %d rows and %d columns becomes others", rows, (int)cols);
    }
    kern_release();
}

void kern_test_int8_result(void) {
    const hn_u8s8_set *set = hn_u8s8_pick();
    for (int rows = 1; rows <= set->max_rows; rows++)
        for (int64_t cols = 1; cols <= set->cols; cols++)
            check_finished_tile(set, rows, cols);
    for (int64_t cols = 1; cols < 70; cols++)
        for (int i = 0; i < 4; i++) {
            check_int8_result((int)kern_between(1, 14), cols, HN_INT8_TO_I32, false);
            check_int8_result((int)kern_between(1, 14), cols, HN_INT8_TO_F32, i & 1);
            check_int8_result((int)kern_between(1, 14), cols, HN_INT8_TO_BYTES, i & 1);
        }
}
