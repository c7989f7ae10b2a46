/* Choosing loops over pairs by what the processor has. */
#include "kernels/pairs.h"

#include "kernels/vec.h"
#include "kernels/vec_pairs_int.h"

#if defined(__x86_64__)
extern const hn_vec_pairs hn_vec_pairs__avx512, hn_vec_pairs__avx2;
static const hn_vec_pairs *best_pairs(void) {
    return hn_cpu_has_all(HN_NEEDS_AVX512) ? &hn_vec_pairs__avx512
           : hn_cpu_has_all(HN_NEEDS_AVX2) ? &hn_vec_pairs__avx2
                                           : NULL;
}
#elif defined(__aarch64__)
extern const hn_vec_pairs hn_vec_pairs__neon;
static const hn_vec_pairs *best_pairs(void) {
    return hn_cpu_has_all(HN_NEEDS_NEON) ? &hn_vec_pairs__neon : NULL;
}
#else
static const hn_vec_pairs *best_pairs(void) {
    return NULL;
}
#endif

hn_pair_fn hn_pair_find_f32(const char *op) {
    const hn_vec_pairs *best = best_pairs();
    for (const hn_vec_pair *p = best ? best->pairs : NULL; p && p->op; p++)
        if (strcmp(p->op, op) == 0)
            return p->fn;
    return NULL;
}

hn_choose_fn hn_choose_find_32(void) {
    const hn_vec_pairs *best = best_pairs();
    return best ? best->choose_32 : NULL;
}
