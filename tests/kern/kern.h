/* What the tests of kernels share. No test library: the program also runs under an emulator. */
#ifndef KERN_H
#define KERN_H

#include "base/base.h"
#include "cpu/kernels/conv_nhwc/conv_nhwc.h"
#include "cpu/kernels/kernel.h"

#define KERN_EPS 5.9604644775390625e-8 /* half of the last place of 1.0f */

/* ---- verdicts ---- */

/* Counts a failure and prints the first ones. */
void kern_fail(const char *file, int line, const char *format, ...);
#define KERN_CHECK(ok, ...)                       \
  do {                                            \
    if (!(ok))                                    \
      kern_fail(__FILE__, __LINE__, __VA_ARGS__); \
  } while (0)

/* With --few, for slow machines: is this one of the many cases that are left out? */
bool kern_leaves_out(void);

/* ---- numbers ---- */

uint32_t kern_random(void); /* the same sequence in every run */
int64_t kern_between(int64_t least, int64_t most);
/* Numbers in [-1, 1] that end, or begin (see kern_at_start), exactly at a page that cannot be
 * touched. They live until kern_release, which also checks that nobody wrote beside them. */
float *kern_floats(int64_t n);
extern bool kern_at_start;
uint8_t *kern_hostile_bytes(int64_t n); /* half of them the extremes of either sign */
void *kern_bytes(int64_t n);            /* the same for bytes, of which nothing is known */
void kern_release(void);

/* Pools of 1, 2 and 3 threads; results must not depend on them. */
enum { KERN_POOLS = 3 };
hn_pool *kern_pool(int i);

/* ---- sizes of convolutions and pools ---- */

enum { KERN_AXES = 3, KERN_CONV_CASES = 22 };

typedef struct kern_conv_case {
    int32_t n_axes;
    int64_t in[KERN_AXES], kernel[KERN_AXES], stride[KERN_AXES], dilation[KERN_AXES];
    int64_t pads[2][KERN_AXES];
    int64_t batch, channels, filters, groups;
} kern_conv_case;

extern const kern_conv_case kern_conv_cases[KERN_CONV_CASES];
/* Small sizes, many of them: what a table of cases forgets. */
kern_conv_case kern_random_case(void);
hn_window kern_window(const kern_conv_case *t);
/* The element of a plane that a window reads; -1 in the padding. */
int64_t kern_window_at(const hn_window *s, int64_t out, int64_t tap);

/* What a convolution does beside its sums. */
enum {
    KERN_BIAS = 1,
    KERN_RESIDUAL = 2,
    KERN_UNARY = 4,
    KERN_PACK = 8, /* filters are packed ahead */
    KERN_LIMITS = 16,
    KERN_EPILOGUE = KERN_BIAS | KERN_RESIDUAL | KERN_UNARY | KERN_LIMITS,
    KERN_ALL_FORMS = 31
};
void kern_line(const float *xs, float *ys, uint64_t n, float a, float b); /* a * x + b */
/* Without bias. */
hn_epilogue_f32 kern_epilogue(int form, int64_t n_out);
/* What becomes of the exact sum of an output, and of the size of its terms; NULL: nothing. */
void kern_epilogue_exact(const hn_epilogue_f32 *e, int64_t at, double *sum, double *size);
/* Everything but packed filters, scratch memory, method and result. */
hn_conv_nhwc_job kern_conv_nhwc_job(const kern_conv_case *t, const hn_window *s, int form,
                                    const hn_epilogue_f32 *epilogue);

/* ---- the tests ---- */

void kern_test_gemm(void);
void kern_test_gemm_bf16(void);
void kern_test_gemm_bf16_blocks(void);
void kern_test_gemm_u8s8(void);
void kern_test_int8_result(void);
void kern_test_depthwise_int8(void);
void kern_test_gemm_nbits(void);
void kern_test_conv(void);
void kern_test_conv_small(void);
void kern_test_conv_nhwc(void);
void kern_test_conv_chain(void);
void kern_test_pool_max(void);
void kern_test_attention(void);
void kern_test_depthwise_nhwc(void);
void kern_test_pool_bytes(void);
void kern_test_pool_nhwc(void);
void kern_test_winograd(void);
void kern_test_unary(void);
void kern_test_binary(void);
void kern_test_overlap(void);
void kern_test_typed_pairs(void);
void kern_test_fourier(void);
void kern_test_reduce(void);
void kern_test_convert(void);
void kern_test_quantize(void);
void kern_test_byte_pairs(void);
void kern_test_byte_lookup(void);
void kern_test_transpose(void);
void kern_test_rows(void);
void kern_test_rows_nhwc(void);
void kern_test_rnn_cells(void);
void kern_test_conv_transpose_nhwc(void);
void kern_test_row_strides(void);

void kern_print_errors(void); /* of functions: the table in docs/numerics.md */
void kern_bench(void);
void kern_bench_gemm(void);
void kern_bench_gemm_int8(void);
void kern_bench_conv_int8(void);
void kern_bench_gemm_nbits(void);
void kern_bench_conv_nhwc(void);
void kern_bench_conv_chain(void);
void kern_bench_move(void);
typedef struct kern_run {
    void (*fn)(hn_pool *pool, const void *job);
    const void *job;
    double flops;
    bool with_two; /* with two threads, too */
    bool is_int;   /* operations of integers: the peak of floats says nothing */
} kern_run;
void kern_time(const char *name, const kern_run *run); /* prints one row */
double kern_peak_gflops(void); /* what one core can multiply and add with this tier */
double kern_read_gbytes(void); /* per second, what one core can read of memory */
void kern_print_peaks(void);   /* both, as JSON */

#endif /* KERN_H */
