/* Choosing loops by what the processor has. */
#include "kernels/vec.h"

#if defined(__x86_64__)
extern const hn_vec_map hn_vec_maps_f32__avx512[], hn_vec_maps_f32__avx2[];
extern const hn_vec_loops_f32 hn_vec_loops_f32__avx512, hn_vec_loops_f32__avx2;
static const hn_vec_map *best_maps(void) {
    return hn_cpu_has_all(HN_NEEDS_AVX512) ? hn_vec_maps_f32__avx512
           : hn_cpu_has_all(HN_NEEDS_AVX2) ? hn_vec_maps_f32__avx2
                                           : NULL;
}
const hn_vec_loops_f32 *hn_vec_loops_pick_f32(void) {
    return hn_cpu_has_all(HN_NEEDS_AVX512) ? &hn_vec_loops_f32__avx512
           : hn_cpu_has_all(HN_NEEDS_AVX2) ? &hn_vec_loops_f32__avx2
                                           : NULL;
}
#elif defined(__aarch64__)
extern const hn_vec_map hn_vec_maps_f32__neon[];
extern const hn_vec_loops_f32 hn_vec_loops_f32__neon;
static const hn_vec_map *best_maps(void) {
    return hn_cpu_has_all(HN_NEEDS_NEON) ? hn_vec_maps_f32__neon : NULL;
}
const hn_vec_loops_f32 *hn_vec_loops_pick_f32(void) {
    return hn_cpu_has_all(HN_NEEDS_NEON) ? &hn_vec_loops_f32__neon : NULL;
}
#else
static const hn_vec_map *best_maps(void) {
    return NULL;
}
const hn_vec_loops_f32 *hn_vec_loops_pick_f32(void) {
    return NULL;
}
#endif

bool hn_rows_are_fast_f32(void) {
    return hn_vec_loops_pick_f32() != NULL;
}

bool hn_softmax_row_f32(int64_t n, const float *x, float *y) {
    const hn_vec_loops_f32 *loops = hn_vec_loops_pick_f32();
    if (loops)
        loops->softmax(n, x, y);
    return loops != NULL;
}

bool hn_sum_row_f32(int64_t n, const float *x, float *sum) {
    const hn_vec_loops_f32 *loops = hn_vec_loops_pick_f32();
    if (loops)
        *sum = loops->sum(n, x);
    return loops != NULL;
}

bool hn_add_rows_f32(int64_t n, const float *x, const float *z, const float *b, float *y) {
    const hn_vec_loops_f32 *loops = hn_vec_loops_pick_f32();
    if (loops)
        loops->add_rows(n, x, z, b, y);
    return loops != NULL;
}

bool hn_rotate_row_f32(int64_t half, const float *cosines, const float *sines, const float *x,
                       float *y) {
    const hn_vec_loops_f32 *loops = hn_vec_loops_pick_f32();
    if (loops)
        loops->rotate(half, cosines, sines, x, y);
    return loops != NULL;
}

bool hn_normalize_row_f32(const hn_norm_row_f32 *norm, int64_t n, const float *x, float *y,
                          float *mean, float *inverse) {
    const hn_vec_loops_f32 *loops = hn_vec_loops_pick_f32();
    if (loops)
        loops->normalize(norm, n, x, y, mean, inverse);
    return loops != NULL;
}

hn_map_f32 hn_map_find_f32(const char *op) {
    for (const hn_vec_map *m = best_maps(); m && m->op; m++)
        if (strcmp(m->op, op) == 0)
            return m->fn;
    return NULL;
}
