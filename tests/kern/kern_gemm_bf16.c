/* Products of bfloat16: against sums in double, whose operands may be off by 2^-8 of themselves
 * each; the same bytes for any number of threads. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/gemm/gemm_micro.h"
#include "cpu/kernels/gemm_bf16/gemm_bf16.h"

typedef struct bf16_case {
    int64_t m, n, k;
    bool trans_a, trans_b, has_epilogue;
} bf16_case;

static void check_bf16_element(const hn_gemm_job_f32 *g, int64_t i, int64_t j) {
    double sum = g->epilogue ? (double)g->epilogue->col_bias[j] : 0, size = fabs(sum);
    for (int64_t k = 0; k < g->k; k++) {
        double product =
            (double)g->a[i * g->a_row + k * g->a_col] * (double)g->b[k * g->b_row + j * g->b_col];
        sum += product;
        size += fabs(product);
    }
    if (g->epilogue)
        sum = fmin(sum, (double)g->epilogue->most);
    double got = (double)g->c[i * g->c_row + j];
    double bound = size * (0x1p-7 + 0x1p-16 + (double)(g->k + 4) * KERN_EPS);
    KERN_CHECK(fabs(got - sum) <= bound, "%dx%dx%d: %g, not %g", (int)g->m, (int)g->n, (int)g->k,
               got, sum);
}

static void check_bf16(const bf16_case *t) {
    hn_epilogue_f32 epilogue = {
        .col_bias = kern_floats(t->n), .is_limited = true, .least = -100, .most = 0.5f};
    hn_gemm_job_f32 g = {.m = t->m,
                         .n = t->n,
                         .k = t->k,
                         .a = kern_floats(t->m * t->k),
                         .a_row = t->trans_a ? 1 : t->k,
                         .a_col = t->trans_a ? t->m : 1,
                         .b = kern_floats(t->k * t->n),
                         .b_row = t->trans_b ? 1 : t->n,
                         .b_col = t->trans_b ? t->k : 1,
                         .c_row = t->n,
                         .packed_as = HN_STORED_BF16_PAIRS,
                         .epilogue = t->has_epilogue ? &epilogue : NULL};
    float *packed = kern_floats(hn_gemm_packed_elems_bf16(t->n, t->k)), *first = NULL;
    hn_gemm_pack_bf16(&g, packed);
    g.packed_b = packed;
    for (int pool = 0; pool < KERN_POOLS; pool++) {
        g.c = kern_floats(t->m * t->n);
        hn_gemm_f32(kern_pool(pool), &g);
        for (int64_t at = 0; !first && at < t->m * t->n; at++)
            check_bf16_element(&g, at / t->n, at % t->n);
        KERN_CHECK(!first || memcmp(first, g.c, (size_t)(t->m * t->n) * sizeof *first) == 0,
                   "%d threads give other bytes", pool + 1);
        first = first ? first : g.c;
    }
    kern_release();
}

/* 1x1 convolutions, with pixels that are not contiguous and a residual, against floats. */
static void check_bf16_conv(int64_t channels, int64_t filters, int64_t gap) {
    kern_conv_case t = {.n_axes = 2,
                        .in = {5, 7},
                        .kernel = {1, 1},
                        .stride = {1, 1},
                        .dilation = {1, 1},
                        .batch = 2,
                        .channels = channels,
                        .filters = filters,
                        .groups = 1};
    hn_window window = kern_window(&t);
    int64_t pixels = t.batch * window.out_elems;
    hn_conv_nhwc_job job = {.window = &window,
                            .batch = t.batch,
                            .channels = channels,
                            .filters = filters,
                            .groups = 1,
                            .x = kern_floats(pixels * (channels + gap)),
                            .w = kern_floats(filters * channels),
                            .method = HN_CONV_NHWC_BF16,
                            .y = kern_floats(pixels * (filters + gap)),
                            .epilogue = {.residual = kern_floats(pixels * filters)},
                            .x_step = channels + gap,
                            .y_step = filters + gap};
    KERN_CHECK(hn_conv_nhwc_fits(&job, HN_CONV_NHWC_BF16), "%d channels", (int)channels);
    float *packed = kern_floats(hn_conv_nhwc_packed_elems(&job));
    hn_conv_nhwc_pack(&job, packed);
    job.packed_w = packed;
    hn_conv_nhwc_f32(kern_pool(1), &job);
    for (int64_t at = 0; at < pixels * filters; at++) {
        int64_t i = at / filters, j = at % filters;
        double sum = (double)job.epilogue.residual[at], size = fabs(sum);
        for (int64_t c = 0; c < channels; c++) {
            double product = (double)job.x[i * job.x_step + c] * (double)job.w[j * channels + c];
            sum += product;
            size += fabs(product);
        }
        KERN_CHECK(fabs((double)job.y[i * job.y_step + j] - sum) <= size * 0x1.1p-7,
                   "%d channels, %d filters: %g, not %g", (int)channels, (int)filters,
                   (double)job.y[i * job.y_step + j], sum);
    }
    kern_release();
}

void kern_test_gemm_bf16(void) {
    static const int64_t sizes[][3] = {{1, 1, 1},     {1, 300, 64},   {2, 33, 7},    {14, 32, 64},
                                       {15, 31, 3},   {13, 65, 130},  {29, 17, 701}, {5, 48, 1400},
                                       {70, 100, 33}, {64, 96, 2400}, {33, 64, 64}};
    if (!hn_gemm_has_bf16())
        return;
    for (size_t i = 0; i < HN_COUNT(sizes); i++)
        for (int form = 0; form < 8 && !kern_leaves_out(); form++)
            check_bf16(&(bf16_case){.m = sizes[i][0],
                                    .n = sizes[i][1],
                                    .k = sizes[i][2],
                                    .trans_a = form & 1,
                                    .trans_b = form & 2,
                                    .has_epilogue = form & 4});
    check_bf16_conv(32, 32, 0);
    check_bf16_conv(67, 45, 3);
}

/* Blocks are what products use where the processor has them. */
void kern_test_gemm_bf16_blocks(void) {
    if (hn_bf16_blocks_pick())
        kern_test_gemm_bf16();
}
