/* Makes of every row of kernels.def the function that picks its best version. */
#include "cpu/kernels/kernel_select.h"

#include "cpu/kernels/kernel_sets.h"

/* What the vectors of x86/simd_*.h and arm/simd_neon.h need. */
#define FEATURE_BIT(id) ((uint64_t)1 << HN_CPU_##id)
static const uint64_t tier_needs[] = {
    [HN_TIER_SCALAR] = 0,
    [HN_TIER_NEON] = FEATURE_BIT(NEON),
    [HN_TIER_AVX2] = FEATURE_BIT(AVX2) | FEATURE_BIT(FMA) | FEATURE_BIT(F16C),
    [HN_TIER_AVX512] = FEATURE_BIT(AVX512F) | FEATURE_BIT(AVX512DQ),
};

hn_kernel_tier hn_kernel_tier_of_cpu(void) {
    hn_kernel_tier tier = HN_TIER_AVX512;
    while ((hn_cpu_mask() & tier_needs[tier]) != tier_needs[tier])
        tier--;
    return tier;
}

const char *hn_kernel_tier_name(hn_kernel_tier tier) {
    static const char *const names[] = {"scalar", "neon", "avx2", "avx512"};
    return names[tier];
}

#if defined(__x86_64__)
#  define DECLARE(type, set) extern type set##__avx512, set##__avx2
#  define BEST(tier, set, plain) \
    ((tier) == HN_TIER_AVX512 ? &set##__avx512 : (tier) == HN_TIER_AVX2 ? &set##__avx2 : (plain))
#elif defined(__aarch64__)
#  define DECLARE(type, set) extern type set##__neon
#  define BEST(tier, set, plain) ((tier) == HN_TIER_NEON ? &set##__neon : (plain))
#else
#  define DECLARE(type, set) extern type set##__none
#  define BEST(tier, set, plain) (plain)
#endif

#define HN_KERNEL(name, type, set, plain, pick, tiles, summary) \
  DECLARE(type, set);                                           \
  type *pick(void) {                                            \
    return BEST(hn_kernel_tier_of_cpu(), set, plain);           \
  }
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL

#undef BEST
#undef DECLARE
#undef FEATURE_BIT

#define HN_KERNEL(name, type, set, plain, pick, tiles, summary) {#name, tiles, summary},
static const hn_kernel kernel_rows[] = {
#include "cpu/kernels/kernels.def"
};
#undef HN_KERNEL

const hn_kernel *hn_kernel_row(uint32_t row) {
    return row < HN_COUNT(kernel_rows) ? &kernel_rows[row] : NULL;
}
