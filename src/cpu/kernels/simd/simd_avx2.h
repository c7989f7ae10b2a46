/* Vectors of 8 floats; see simd_avx512.h. */
#include <immintrin.h>

#define V __m256
#define V_ELEMS 8
#define V_REGISTERS 16
#define V_TILE_ROWS 6
#define V_TILE_COLS 16
#define V_WORKING_SET_ELEMS (32 * 1024)
#define V_TARGET __attribute__((target("avx2,fma,f16c")))
#define V_INLINE static inline __attribute__((always_inline)) V_TARGET
#define V_NAME(name) name##__avx2
#define V_ZERO() _mm256_setzero_ps()
#define V_LOAD(p) _mm256_loadu_ps(p)
#define V_STORE(p, v) _mm256_storeu_ps(p, v)
#define V_LOAD_F16(p) _mm256_cvtph_ps(_mm_loadu_si128((const void *)(p)))
#define V_LOAD_BF16(p) \
  _mm256_castsi256_ps( \
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)(p))), 16))
#define V_STORE_F16(p, v) \
  _mm_storeu_si128((void *)(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
#define V_STORE_BF16(p, v) _mm_storeu_si128((void *)(p), hn_bf16__avx2(v))
#define V_LOAD_U8(p) _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)(p))))
#define V_LOAD_S8(p) _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(p))))
#define V_STORE_U8(p, v) V_INT_STORE_BYTES(p, V_INT_OF(v))
#define V_STORE_S8(p, v) V_STORE_U8(p, v)
#define V_INT __m256i
#define V_INT_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_INT_STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define V_INT_SET1(x) _mm256_set1_epi32((int)(x))
#define V_INT_ADD(a, b) _mm256_add_epi32(a, b)
#define V_INT_SUB(a, b) _mm256_sub_epi32(a, b)
#define V_INT_MUL(a, b) _mm256_mullo_epi32(a, b)
#define V_INT_OF(v) _mm256_cvtps_epi32(v)
#define V_OF_INT(v) _mm256_cvtepi32_ps(v)
#define V_INT_STORE_BYTES(p, v) hn_store_bytes__avx2(p, v)
#define V_SOME __m256i
#define V_FIRST(n) \
  _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define V_LOAD_SOME(p, some) _mm256_maskload_ps(p, some)
#define V_STORE_SOME(p, some, v) _mm256_maskstore_ps(p, some, v)
#define V_KEEP(v) __asm__("" : "+x"(v))
#define V_BROADCAST(p) _mm256_broadcast_ss(p)
#define V_SET1(x) _mm256_set1_ps(x)
#define V_ADD(a, b) _mm256_add_ps(a, b)
#define V_SUB(a, b) _mm256_sub_ps(a, b)
#define V_MUL(a, b) _mm256_mul_ps(a, b)
#define V_DIV(a, b) _mm256_div_ps(a, b)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define V_MAX(a, b) _mm256_max_ps(a, b)
#define V_MIN(a, b) _mm256_min_ps(a, b)
#define V_SQRT(a) _mm256_sqrt_ps(a)
#define V_ABS(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define V_SIGN_OF(a) _mm256_and_ps(a, _mm256_set1_ps(-0.0f))
#define V_OR(a, b) _mm256_or_ps(a, b)
#define V_ROUND(a) _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define V_FLOOR(a) _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define V_CEIL(a) _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
#define V_EXPONENT(a) hn_exponent__avx2(a)
#define V_MANTISSA(a)                                                              \
  _mm256_or_ps(_mm256_and_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffff))), \
               _mm256_set1_ps(1))
#define V_IF_LESS(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ))
#define V_IF_NAN(a, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, a, _CMP_UNORD_Q))
#define V_TRUTH __m256
#define V_EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_EQ_OQ)
#define V_LESS(a, b) _mm256_cmp_ps(a, b, _CMP_LT_OQ)
#define V_LESS_EQUAL(a, b) _mm256_cmp_ps(a, b, _CMP_LE_OQ)
#define V_STORE_TRUTH(p, t) hn_store_truth__avx2(p, t)
#define V_LOAD_TRUTH(p) hn_load_truth__avx2(p)
#define V_BOTH(t, u) _mm256_and_ps(t, u)
#define V_ANY(t) (_mm256_movemask_ps(t) != 0)
#define V_CHOOSE(t, x, y) _mm256_blendv_ps(y, x, t)
#define V_EVEN(a, b) \
  _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xD8))
#define V_SCALE(a, n) hn_scale__avx2(a, n)
#define V_EXPONENT_WITHIN(t) V_MIN(V_SET1(129.0f), V_MAX(V_SET1(-151.0f), t))
#define V_SCALE_FLOOR(a, t) V_SCALE(a, V_FLOOR(t))
#define V_FRACTION(t) V_SUB(t, V_FLOOR(t))
#define V_INVERSE(a) V_DIV(V_SET1(1.0f), a)
#define V_SUM(a) hn_sum__avx2(a)
#define V_LARGEST(a) hn_largest__avx2(a)
#define V_INDEX __m256i
#define V_INDEX_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define V_INDEX_NEXT(i) _mm256_add_epi32(i, _mm256_set1_epi32(1))
#define V_PICK(v, i) _mm256_permutevar8x32_ps(v, i)
#define V_TRANSPOSE(r) hn_transpose__avx2(r)

#ifndef HN_SIMD_AVX2_H
#  define HN_SIMD_AVX2_H

/* 2^n is made of two factors, so that results below the normal numbers come out right. */
static inline V_TARGET __m256 hn_scale__avx2(__m256 a, __m256 n) {
    __m256i whole = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(whole, 1);
    __m256i rest = _mm256_sub_epi32(whole, half), bias = _mm256_set1_epi32(127);
    __m256i first = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23);
    return _mm256_mul_ps(_mm256_mul_ps(a, _mm256_castsi256_ps(first)), _mm256_castsi256_ps(second));
}

static inline V_TARGET float hn_sum__avx2(__m256 a) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static inline V_TARGET float hn_largest__avx2(__m256 a) {
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

static inline V_TARGET void hn_store_truth__avx2(uint8_t *p, __m256 t) {
    __m256i ones = _mm256_srli_epi32(_mm256_castps_si256(t), 31);
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(ones), _mm256_extracti128_si256(ones, 1));
    _mm_storel_epi64((void *)p, _mm_packus_epi16(half, half));
}

/* The lowest byte of each number. */
static inline V_TARGET void hn_store_bytes__avx2(void *p, __m256i v) {
    __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xff));
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    _mm_storel_epi64(p, _mm_packus_epi16(half, half));
}

static inline V_TARGET __m256 hn_load_truth__avx2(const uint8_t *p) {
    __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_setzero_si256()));
}

static inline V_TARGET __m256 hn_exponent__avx2(__m256 a) {
    __m256i biased = _mm256_srli_epi32(_mm256_castps_si256(a), 23);
    return _mm256_cvtepi32_ps(_mm256_sub_epi32(biased, _mm256_set1_epi32(127)));
}

/* As hn_bf16__avx512. */
V_INLINE __m128i hn_bf16__avx2(__m256 v) {
    __m256i bits = _mm256_castps_si256(v), odd = _mm256_srli_epi32(_mm256_slli_epi32(bits, 15), 31);
    __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    rounded = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, is_nan), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
}

/* Within the lower and the upper half of a vector: element k of four consecutive rows becomes
 * half-row k. */
V_INLINE void hn_transpose_halves__avx2(__m256 *r) {
    __m256 low0 = _mm256_unpacklo_ps(r[0], r[1]), high0 = _mm256_unpackhi_ps(r[0], r[1]);
    __m256 low1 = _mm256_unpacklo_ps(r[2], r[3]), high1 = _mm256_unpackhi_ps(r[2], r[3]);
    r[0] = _mm256_shuffle_ps(low0, low1, 0x44);
    r[1] = _mm256_shuffle_ps(low0, low1, 0xEE);
    r[2] = _mm256_shuffle_ps(high0, high1, 0x44);
    r[3] = _mm256_shuffle_ps(high0, high1, 0xEE);
}

/* 8 x 8 by 24 shuffles. */
V_INLINE void hn_transpose__avx2(__m256 *r) {
    hn_transpose_halves__avx2(r);
    hn_transpose_halves__avx2(r + 4);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        __m256 low = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
        r[i] = low;
    }
}
#endif
