/* Vectors of 16 floats. Each file that uses them includes simd_end.h last, so that the next one may
 * choose another width. */
#include <immintrin.h>

#define V __m512
#define V_ELEMS 16
#define V_REGISTERS 32
/* Register tiles: rows of a tile whose sums fill the registers, columns (two vectors), and floats
 * of packed operands that stay in the second cache of such processors beside all else. */
#define V_TILE_ROWS 14
#define V_TILE_COLS 32
#define V_WORKING_SET_ELEMS (64 * 1024)
#define V_TARGET __attribute__((target("avx512f,avx512dq")))
/* A part of functions: compiled into each, for the constants that they pass. */
#define V_INLINE static inline __attribute__((always_inline)) V_TARGET
#define V_NAME(name) name##__avx512
#define V_ZERO() _mm512_setzero_ps()
#define V_LOAD(p) _mm512_loadu_ps(p)
#define V_STORE(p, v) _mm512_storeu_ps(p, v)
/* Elements of 16 bits: float16, bfloat16. */
#define V_LOAD_F16(p) _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(p)))
#define V_LOAD_BF16(p) \
  _mm512_castsi512_ps( \
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(p))), 16))
/* To the nearest, ties to even. */
#define V_STORE_F16(p, v) \
  _mm256_storeu_si256((void *)(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT))
/* Vectors of bfloat16; V_BF16_OF takes what is not normal for 0, and needs AVX-512 BF16. In
 * assembly: the types of the intrinsic need a compiler option. */
#define V_BF16 __m256i
#define V_BF16_OF(v) hn_to_bf16__avx512(v)
#define V_BF16_STORE(p, x) _mm256_storeu_si256((void *)(p), x)
#define V_STORE_BF16(p, v) _mm256_storeu_si256((void *)(p), hn_bf16__avx512(v))
/* Bytes 0 .. 255 as floats. */
#define V_LOAD_U8(p) _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p))))
#define V_LOAD_S8(p) _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)(p))))
/* Whole numbers that a byte can have. */
#define V_STORE_U8(p, v) V_INT_STORE_BYTES(p, V_INT_OF(v))
#define V_STORE_S8(p, v) V_STORE_U8(p, v)
/* Vectors of 32-bit integers, modulo 2^32. V_INT_OF rounds to the nearest, ties to even;
 * V_INT_STORE_BYTES stores the lowest bytes. */
#define V_INT __m512i
#define V_INT_LOAD(p) _mm512_loadu_si512(p)
#define V_INT_STORE(p, v) _mm512_storeu_si512(p, v)
#define V_INT_SET1(x) _mm512_set1_epi32((int)(x))
#define V_INT_ADD(a, b) _mm512_add_epi32(a, b)
#define V_INT_SUB(a, b) _mm512_sub_epi32(a, b)
#define V_INT_MUL(a, b) _mm512_mullo_epi32(a, b)
#define V_INT_OF(v) _mm512_cvtps_epi32(v)
#define V_OF_INT(v) _mm512_cvtepi32_ps(v)
#define V_INT_STORE_BYTES(p, v) _mm_storeu_si128((void *)(p), _mm512_cvtepi32_epi8(v))
/* The first n elements, 0 <= n <= V_ELEMS: memory of others is not touched, they are loaded as 0.
 */
#define V_SOME __mmask16
#define V_FIRST(n) ((__mmask16)((1u << (n)) - 1))
#define V_LOAD_SOME(p, some) _mm512_maskz_loadu_ps(some, p)
#define V_STORE_SOME(p, some, v) _mm512_mask_storeu_ps(p, some, v)
/* Holds v in a register: compilers like to load it again for each use. */
#define V_KEEP(v) __asm__("" : "+v"(v))
#define V_BROADCAST(p) _mm512_set1_ps(*(p))
#define V_SET1(x) _mm512_set1_ps(x)
#define V_ADD(a, b) _mm512_add_ps(a, b)
#define V_SUB(a, b) _mm512_sub_ps(a, b)
#define V_MUL(a, b) _mm512_mul_ps(a, b)
#define V_DIV(a, b) _mm512_div_ps(a, b)
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)   /* a * b + c */
#define V_FNMA(a, b, c) _mm512_fnmadd_ps(a, b, c) /* c - a * b */
#define V_MAX(a, b) _mm512_max_ps(a, b)           /* b when either is NaN */
#define V_MIN(a, b) _mm512_min_ps(a, b)
#define V_SQRT(a) _mm512_sqrt_ps(a)
#define V_ABS(a) _mm512_abs_ps(a)
#define V_SIGN_OF(a) _mm512_and_ps(a, _mm512_set1_ps(-0.0f))
#define V_OR(a, b) _mm512_or_ps(a, b)
#define V_ROUND(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
#define V_FLOOR(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
#define V_CEIL(a) _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
/* A normal number above 0 is mantissa * 2^exponent, with a mantissa in [1, 2). */
#define V_EXPONENT(a) _mm512_getexp_ps(a)
#define V_MANTISSA(a) _mm512_getmant_ps(a, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src)
/* a < b ? x : y */
#define V_IF_LESS(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x)
/* x where a is NaN, else y */
#define V_IF_NAN(a, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), y, x)
/* An answer per element; in memory bytes 0 and 1, or anything but 0. V_CHOOSE: t ? x : y */
#define V_TRUTH __mmask16
#define V_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)
#define V_LESS(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define V_LESS_EQUAL(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ)
#define V_STORE_TRUTH(p, t) \
  _mm_storeu_si128((void *)(p), _mm512_cvtepi32_epi8(_mm512_maskz_set1_epi32(t, 1)))
#define V_LOAD_TRUTH(p)                                                              \
  _mm512_cmpneq_epi32_mask(_mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)(p))), \
                           _mm512_setzero_si512())
#define V_BOTH(t, u) ((__mmask16)((t) & (u)))
#define V_ANY(t) ((t) != 0)
#define V_CHOOSE(t, x, y) _mm512_mask_blend_ps(t, y, x)
/* Elements 0, 2, 4, ... of a, then of b. */
#define V_EVEN(a, b)      \
  _mm512_permutex2var_ps( \
      a, _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0), b)
#define V_SCALE(a, n) _mm512_scalef_ps(a, n) /* a * 2^n, n a whole number */
/* For powers 2^t: t within the limits of V_SCALE (here it has none), a * 2^floor(t), t - floor(t).
 */
#define V_EXPONENT_WITHIN(t) (t)
#define V_SCALE_FLOOR(a, t) _mm512_scalef_ps(a, t)
#define V_FRACTION(t) _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
/* 1 / a for 1 <= a; 0 where that is not a normal number. A division takes longer. */
#define V_INVERSE(a) hn_inverse__avx512(a)
#define V_SUM(a) _mm512_reduce_add_ps(a)
#define V_LARGEST(a) _mm512_reduce_max_ps(a)
/* Vectors of indices, less than V_ELEMS: V_PICK gives element i[k] of v at place k. Instruction
 * sets without such a permutation do not define them. */
#define V_INDEX __m512i
#define V_INDEX_LOAD(p) _mm512_loadu_si512(p)
#define V_INDEX_NEXT(i) _mm512_add_epi32(i, _mm512_set1_epi32(1))
#define V_PICK(v, i) _mm512_permutexvar_ps(i, v)
/* r[V_ELEMS] is transposed in registers. */
#define V_TRANSPOSE(r) hn_transpose__avx512(r)

#ifndef HN_SIMD_AVX512_H
#  define HN_SIMD_AVX512_H

V_INLINE __m256i hn_to_bf16__avx512(__m512 v) {
    __m256i rounded;
    __asm__("vcvtneps2bf16 %1, %0" : "=v"(rounded) : "v"(v));
    return rounded;
}

/* 14 bits, and what they lack. */
V_INLINE __m512 hn_inverse__avx512(__m512 a) {
    __m512 one = _mm512_set1_ps(1), most = _mm512_set1_ps(0x1p126f), y = _mm512_rcp14_ps(a);
    __mmask16 is_normal = _mm512_cmp_ps_mask(a, most, _CMP_NGT_UQ);
    return _mm512_maskz_fmadd_ps(is_normal, _mm512_fnmadd_ps(a, y, one), y, y);
}

/* Half of the last place, less a bit when the place is even, carries over. NaN keeps its upper bits
 * and becomes quiet. */
V_INLINE __m256i hn_bf16__avx512(__m512 v) {
    __m512i bits = _mm512_castps_si512(v), odd = _mm512_srli_epi32(_mm512_slli_epi32(bits, 15), 31);
    __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    rounded = _mm512_mask_or_epi32(rounded, is_nan, bits, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(rounded, 16));
}

/* Within quarters of a vector: element k of four consecutive rows becomes quarter-row k. */
V_INLINE void hn_transpose_quarters__avx512(__m512 *r) {
    __m512 low0 = _mm512_unpacklo_ps(r[0], r[1]), high0 = _mm512_unpackhi_ps(r[0], r[1]);
    __m512 low1 = _mm512_unpacklo_ps(r[2], r[3]), high1 = _mm512_unpackhi_ps(r[2], r[3]);
    r[0] = _mm512_shuffle_ps(low0, low1, 0x44);
    r[1] = _mm512_shuffle_ps(low0, low1, 0xEE);
    r[2] = _mm512_shuffle_ps(high0, high1, 0x44);
    r[3] = _mm512_shuffle_ps(high0, high1, 0xEE);
}

/* 16 x 16 by 64 shuffles: pairs of rows, then of pairs, interleave within each quarter of a vector;
 * then the quarters change places. */
V_INLINE void hn_transpose__avx512(__m512 *r) {
    _Pragma("GCC unroll 4") for (int i = 0; i < 16; i += 4) hn_transpose_quarters__avx512(r + i);
    _Pragma("GCC unroll 4") for (int i = 0; i < 4; i++) {
        __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
        __m512 b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
        __m512 c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
        __m512 d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
        r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
        r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
    }
}
#endif
