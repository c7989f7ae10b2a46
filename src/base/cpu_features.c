#define _GNU_SOURCE /* syscall */
#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>

#if defined(__x86_64__) || defined(__i386__)
#  include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#  include <sys/auxv.h>
#endif
#if defined(__linux__)
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

#define FEATURE(id) (UINT64_C(1) << HN_CPU_##id)

/* ---- tiers: the values of HONE_CPU ---- */

#define TIER_SSE41 (FEATURE(SSE2) | FEATURE(SSE41))
#define TIER_AVX (TIER_SSE41 | FEATURE(AVX))
#define TIER_AVX2 (TIER_AVX | FEATURE(F16C) | FEATURE(FMA) | FEATURE(AVX2))
#define TIER_AVXVNNI (TIER_AVX2 | FEATURE(AVXVNNI))
#define TIER_AVX512 \
  (TIER_AVX2 | FEATURE(AVX512F) | FEATURE(AVX512BW) | FEATURE(AVX512VL) | FEATURE(AVX512DQ))
#define TIER_AVX512VBMI (TIER_AVX512 | FEATURE(AVX512VBMI))
#define TIER_AVX512VNNI (TIER_AVX512VBMI | TIER_AVXVNNI | FEATURE(AVX512VNNI))
#define TIER_AVX512BF16 (TIER_AVX512VNNI | FEATURE(AVX512BF16))
#define TIER_AVX512FP16 (TIER_AVX512BF16 | FEATURE(AVX512FP16))
#define AMX_FEATURES (FEATURE(AMX_TILE) | FEATURE(AMX_INT8) | FEATURE(AMX_BF16))
#define TIER_FP16 (FEATURE(NEON) | FEATURE(FP16ARITH))
#define TIER_DOTPROD (TIER_FP16 | FEATURE(DOTPROD))
#define TIER_I8MM (TIER_DOTPROD | FEATURE(I8MM))
#define TIER_BF16 (TIER_I8MM | FEATURE(BF16ARM))

static const struct cpu_tier {
    const char *name;
    uint64_t features;
} cpu_tiers[] = {
    {"scalar", 0},
    {"sse2", FEATURE(SSE2)},
    {"sse4.1", TIER_SSE41},
    {"avx", TIER_AVX},
    {"avx2", TIER_AVX2},
    {"avxvnni", TIER_AVXVNNI},
    {"avx512", TIER_AVX512},
    {"avx512vbmi", TIER_AVX512VBMI},
    {"avx512vnni", TIER_AVX512VNNI},
    {"avx512bf16", TIER_AVX512BF16},
    {"avx512fp16", TIER_AVX512FP16},
    {"amx", TIER_AVX512FP16 | AMX_FEATURES},
    {"neon", FEATURE(NEON)},
    {"fp16", TIER_FP16},
    {"dotprod", TIER_DOTPROD},
    {"i8mm", TIER_I8MM},
    {"bf16", TIER_BF16},
    {"sve", TIER_BF16 | FEATURE(SVE)},
};

const char *hn_cpu_tier_name(int i) {
    return i >= 0 && (size_t)i < HN_COUNT(cpu_tiers) ? cpu_tiers[i].name : NULL;
}

uint64_t hn_cpu_tier_mask(const char *name) {
    for (size_t i = 0; name && i < HN_COUNT(cpu_tiers); i++) {
        if (strcmp(cpu_tiers[i].name, name) == 0) {
            return cpu_tiers[i].features;
        }
    }
    return UINT64_MAX;
}

/* ---- detection ---- */

#if defined(__x86_64__) || defined(__i386__)

typedef struct cpuid_regs {
    unsigned reg[4]; /* eax, ebx, ecx, edx */
} cpuid_regs;
enum { CPUID_EAX, CPUID_EBX, CPUID_ECX, CPUID_EDX };

/* All zero when the processor does not know the leaf. */
static cpuid_regs cpuid_read(unsigned leaf, unsigned subleaf) {
    cpuid_regs r = {{0}};
    __get_cpuid_count(leaf, subleaf, &r.reg[CPUID_EAX], &r.reg[CPUID_EBX], &r.reg[CPUID_ECX],
                      &r.reg[CPUID_EDX]);
    return r;
}

/* Register sets that the operating system saves and restores (XCR0). */
#  define XCR0_AVX 0x6u     /* xmm and ymm */
#  define XCR0_AVX512 0xE6u /* and opmask, zmm */
#  define XCR0_AMX 0x60000u /* tile configuration and data */

static uint64_t saved_register_sets(void) {
    if (!(cpuid_read(1, 0).reg[CPUID_ECX] >> 27 & 1)) { /* OSXSAVE */
        return 0;
    }
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static const struct cpuid_bit {
    uint8_t feature;
    uint8_t leaf;
    uint8_t subleaf;
    uint8_t reg;
    uint8_t bit;
    uint32_t needs_xcr0;
} cpuid_bits[] = {
    {HN_CPU_SSE2, 1, 0, CPUID_EDX, 26, 0},
    {HN_CPU_SSE41, 1, 0, CPUID_ECX, 19, 0},
    {HN_CPU_AVX, 1, 0, CPUID_ECX, 28, XCR0_AVX},
    {HN_CPU_F16C, 1, 0, CPUID_ECX, 29, XCR0_AVX},
    {HN_CPU_FMA, 1, 0, CPUID_ECX, 12, XCR0_AVX},
    {HN_CPU_AVX2, 7, 0, CPUID_EBX, 5, XCR0_AVX},
    {HN_CPU_AVX512F, 7, 0, CPUID_EBX, 16, XCR0_AVX512},
    {HN_CPU_AVX512BW, 7, 0, CPUID_EBX, 30, XCR0_AVX512},
    {HN_CPU_AVX512VL, 7, 0, CPUID_EBX, 31, XCR0_AVX512},
    {HN_CPU_AVX512DQ, 7, 0, CPUID_EBX, 17, XCR0_AVX512},
    {HN_CPU_AVX512VBMI, 7, 0, CPUID_ECX, 1, XCR0_AVX512},
    {HN_CPU_AVX512VNNI, 7, 0, CPUID_ECX, 11, XCR0_AVX512},
    {HN_CPU_AVX512BF16, 7, 1, CPUID_EAX, 5, XCR0_AVX512},
    {HN_CPU_AVX512FP16, 7, 0, CPUID_EDX, 23, XCR0_AVX512},
    {HN_CPU_AVXVNNI, 7, 1, CPUID_EAX, 4, XCR0_AVX},
    {HN_CPU_AMX_TILE, 7, 0, CPUID_EDX, 24, XCR0_AMX},
    {HN_CPU_AMX_INT8, 7, 0, CPUID_EDX, 25, XCR0_AMX},
    {HN_CPU_AMX_BF16, 7, 0, CPUID_EDX, 22, XCR0_AMX},
};

static uint64_t detect_features(void) {
    uint64_t saved = saved_register_sets();
    uint64_t mask = 0;
    for (size_t i = 0; i < HN_COUNT(cpuid_bits); i++) {
        const struct cpuid_bit *b = &cpuid_bits[i];
        unsigned value = cpuid_read(b->leaf, b->subleaf).reg[b->reg];
        if ((value >> b->bit & 1) && (saved & b->needs_xcr0) == b->needs_xcr0) {
            mask |= UINT64_C(1) << b->feature;
        }
    }
#  ifdef HN_AMX_EMULATED
    mask |= mask & FEATURE(AVX512BF16) ? AMX_FEATURES : 0;
#  endif
    return mask;
}

/* Linux grants the 8 KB of tile data per thread only to a process that requests it. The request
 * enlarges the signal frames of the whole process, so it is made only when HONE_CPU allows AMX. */
static bool amx_is_permitted(void) {
#  if defined(HN_AMX_EMULATED)
    return true;
#  elif defined(__linux__) && defined(SYS_arch_prctl)
    enum { ARCH_REQ_XCOMP_PERM_CALL = 0x1023, TILE_DATA_COMPONENT = 18 };
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM_CALL, TILE_DATA_COMPONENT) == 0;
#  else
    return false;
#  endif
}

#elif defined(__aarch64__) && defined(__linux__)

/* Bits of the kernel interface, by number: old C libraries lack names for the newer ones. */
static uint64_t detect_features(void) {
    static const struct hwcap_bit {
        uint8_t feature;
        uint8_t word; /* 0: AT_HWCAP, 1: AT_HWCAP2 */
        uint8_t bit;
    } hwcap_bits[] = {
        {HN_CPU_NEON, 0, 1}, {HN_CPU_FP16ARITH, 0, 10}, {HN_CPU_DOTPROD, 0, 20},
        {HN_CPU_SVE, 0, 22}, {HN_CPU_I8MM, 1, 13},      {HN_CPU_BF16ARM, 1, 14},
    };
    const unsigned long words[] = {getauxval(AT_HWCAP), getauxval(AT_HWCAP2)};
    uint64_t mask = 0;
    for (size_t i = 0; i < HN_COUNT(hwcap_bits); i++) {
        if (words[hwcap_bits[i].word] >> hwcap_bits[i].bit & 1) {
            mask |= UINT64_C(1) << hwcap_bits[i].feature;
        }
    }
    return mask;
}

static bool amx_is_permitted(void) {
    return false;
}

#else

static uint64_t detect_features(void) {
#  if defined(__aarch64__)
    return FEATURE(NEON); /* part of the architecture */
#  else
    return 0;
#  endif
}

static bool amx_is_permitted(void) {
    return false;
}

#endif

/* ---- the features in use, determined once ---- */

static const char *const feature_names[HN_CPU_COUNT] = {
#define HN_CPU_NAME(id, text) text,
    HN_CPU_LIST(HN_CPU_NAME)
#undef HN_CPU_NAME
};

static pthread_once_t features_once = PTHREAD_ONCE_INIT;
static uint64_t features_mask;
static char features_text[HN_CPU_COUNT * 16];

static void write_features_text(void) {
    size_t n = 0;
    for (int i = 0; i < HN_CPU_COUNT; i++) {
        size_t length = strlen(feature_names[i]);
        if ((features_mask >> i & 1) && n + length + 2 <= sizeof features_text) {
            if (n > 0) {
                features_text[n++] = ' ';
            }
            memcpy(features_text + n, feature_names[i], length);
            n += length;
        }
    }
    features_text[n] = '\0';
}

static void find_features(void) {
    features_mask = detect_features() & hn_cpu_tier_mask(getenv("HONE_CPU"));
    if ((features_mask & AMX_FEATURES) && !amx_is_permitted()) {
        features_mask &= ~AMX_FEATURES;
    }
    write_features_text();
}

uint64_t hn_cpu_mask(void) {
    pthread_once(&features_once, find_features);
    return features_mask;
}

const char *hone_cpu_tier(uint32_t i) {
    const char *name = i < HN_COUNT(cpu_tiers) ? hn_cpu_tier_name((int)i) : NULL;
    return name ? name : "";
}

const char *hone_cpu_features(void) {
    pthread_once(&features_once, find_features);
    return features_text;
}
