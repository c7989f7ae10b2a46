/* How fast products are, in the sizes that networks have. */
#include "kern/kern.h"

#include <stdio.h>

/* How b is given. */
typedef enum bench_right {
    RIGHT_ROWS,
    RIGHT_COLUMNS,
    RIGHT_PACKED,
    RIGHT_PACKED_F16,
    RIGHT_PACKED_BF16
} bench_right;

static void run_gemm(hn_pool *pool, const void *job) {
    hn_gemm_f32(pool, job);
}

static void bench_gemm(int64_t m, int64_t n, int64_t k, bench_right right) {
    static const char *const names[] = {"", " transposed", " packed", " float16", " bfloat16"};
    char name[64];
    hn_gemm_job_f32 g = {.m = m,
                         .n = n,
                         .k = k,
                         .a = kern_floats(m * k),
                         .a_row = k,
                         .a_col = 1,
                         .b = kern_floats(k * n),
                         .b_row = right == RIGHT_COLUMNS ? 1 : n,
                         .b_col = right == RIGHT_COLUMNS ? k : 1,
                         .c = kern_floats(m * n),
                         .c_row = n};
    int64_t packed = right >= RIGHT_PACKED ? hn_gemm_packed_elems_f32(n, k) : 0;
    if (packed > 0) {
        float *room = kern_floats(packed);
        g.packed_as = (hn_stored)(right - RIGHT_PACKED);
        if (right == RIGHT_PACKED)
            hn_gemm_pack_f32(&g, room);
        else
            hn_gemm_pack_half_f32(&g, g.packed_as, (uint16_t *)(void *)room);
        g.packed_b = room;
    }
    snprintf(name, sizeof name, "gemm %dx%dx%d%s", (int)m, (int)n, (int)k, names[right]);
    kern_time(name,
              &(kern_run){
                  .fn = run_gemm, .job = &g, .flops = 2.0 * (double)(m * n * k), .with_two = true});
    kern_release();
}

void kern_bench_gemm(void) {
    static const int64_t layers[][3] = {
        {128, 768, 768},  {128, 2304, 768}, {128, 3072, 768}, {128, 768, 3072}, /* bert_base */
        {197, 3072, 768}, {197, 768, 3072},                                     /* vit_b_16 */
        {3136, 64, 64},   {3136, 256, 64},  {3136, 64, 256},  {784, 512, 128},  /* resnet50 */
        {196, 1024, 256}, {196, 256, 1024}, {49, 2048, 512},  {49, 512, 2048},  /* resnet50 */
        {3136, 24, 144},  {784, 40, 240},   {196, 116, 116},  {49, 96, 576},    /* narrow */
        {16, 768, 768},   {8, 3072, 768},   {4, 1024, 256},   {1, 4096, 1024},  /* few rows */
        {1, 1024, 256},   {1, 576, 192},                                        /* recurrent */
    };
    for (size_t i = 0; i < HN_COUNT(layers); i++)
        bench_gemm(layers[i][0], layers[i][1], layers[i][2], RIGHT_PACKED);
    for (bench_right right = RIGHT_PACKED_F16; right <= RIGHT_PACKED_BF16; right++) {
        bench_gemm(1, 4096, 1024, right);
        bench_gemm(8, 3072, 768, right);
        bench_gemm(128, 3072, 768, right);
    }
    bench_gemm(768, 768, 768, RIGHT_ROWS);
    bench_gemm(128, 64, 128, RIGHT_ROWS);
    bench_gemm(128, 128, 64, RIGHT_COLUMNS);
    bench_gemm(1, 1024, 256, RIGHT_ROWS);
    bench_gemm(1, 1024, 256, RIGHT_COLUMNS);
}
