/* How fast elements are moved, combined and folded, beside how fast they can be copied. */
#include "kern/kern.h"
#include "cpu/kernels/reduce/reduce_loops.h"
#include "cpu/kernels/elementwise/binary.h"
#include "cpu/kernels/transpose/transpose.h"

#include <stdio.h>

typedef struct move_bench {
    const char *name;
    int64_t n; /* floats */
    const float *x, *y;
    float *z;
} move_bench;

static void run_copy(const move_bench *b) {
    memcpy(b->z, b->x, (size_t)b->n * sizeof *b->z);
}

static void run_add(const move_bench *b) {
    hn_binary_fn add = hn_binary_find_f32("Add");
    if (add)
        add(b->x, 1, b->y, 1, b->z, (uint64_t)b->n);
}

static void run_sum(const move_bench *b) {
    b->z[0] = hn_reduce_loops_find_f32()->run[HN_REDUCE_SUM](b->n, b->x);
}

static void run_sum_rows(const move_bench *b) {
    hn_reduce_loops_find_f32()->rows[HN_REDUCE_SUM](b->n / 64, 64, b->x, 64, b->z);
}

static void turn(const move_bench *b, int64_t rows) {
    int64_t cols = b->n / rows;
    hn_transpose(&(hn_transpose_job){4, rows, cols, b->x, cols, b->z, rows});
}

static void run_planes_to_pixels(const move_bench *b) {
    turn(b, 64);
}

static void run_pixels_to_planes(const move_bench *b) {
    turn(b, b->n / 64);
}

static void run_colours_to_pixels(const move_bench *b) {
    turn(b, 3);
}

static double best_ns(void (*run)(const move_bench *), const move_bench *b) {
    double best = 1e18;
    for (int i = 0; i < 200; i++) {
        double began = (double)hn_now_ns();
        run(b);
        best = HN_MIN(best, (double)hn_now_ns() - began);
    }
    return best;
}

void kern_bench_move(void) {
    static const struct move_row {
        const char *name;
        void (*run)(const move_bench *);
    } rows[] = {{"copy", run_copy},
                {"add", run_add},
                {"sum", run_sum},
                {"sum of rows", run_sum_rows},
                {"64 planes to pixels", run_planes_to_pixels},
                {"pixels to 64 planes", run_pixels_to_planes},
                {"3 planes to pixels", run_colours_to_pixels}};
    static const int64_t sizes[] = {3 * 64 * 16, 3 * 64 * 448, 3 * 64 * 20000};
    for (size_t s = 0; s < HN_COUNT(sizes); s++)
        for (size_t i = 0; i < HN_COUNT(rows); i++) {
            move_bench b = {rows[i].name, sizes[s], kern_floats(sizes[s]), kern_floats(sizes[s]),
                            kern_floats(sizes[s])};
            printf("%-24s %8.0f kB %7.3f ns per element\n", b.name, (double)b.n * 4e-3,
                   best_ns(rows[i].run, &b) / (double)b.n);
            kern_release();
        }
}
