/* Tiles of 6 x 16 with AVX2 and with AVX-VNNI. */
#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#if defined(__x86_64__)
#  include "cpu/kernels/simd/simd_bytes256.h"

enum { YMM_TILE_ROWS = 6, YMM_TILE_COLS = 2 * YMM_ELEMS };
enum { YMM_TILE_AHEAD = 4096 }; /* bytes of b that are prefetched */

#  define T_NAME(name) name##__avxvnni
#  define T_COLS YMM_TILE_COLS
#  define T_BYTES (YMM_ELEMS * HN_U8S8_GROUP)
#  define T_RIGHT(p) YMM_LOAD(p)
#  define T_LEFT(p) YMM_BROADCAST(p)
#  define T_ADD(sum, left, right) YMM_DOT(sum, left, right)
#  define T_STORE(p, sums0, sums1) (YMM_STORE(p, sums0), YMM_STORE((p) + YMM_ELEMS, sums1))
#  include "cpu/kernels/gemm_int8/gemm_u8s8_256_tmpl.h"

/* Products are those of 16-bit integers, because the one of bytes saturates its sums of pairs.
 * Eight columns after the other: their sums are those of pairs until the end. */
#  define T_NAME(name) name##__avx2
#  define T_COLS YMM_ELEMS
#  define T_BYTES (YMM_ELEMS / 2 * HN_U8S8_GROUP)
#  define T_RIGHT(p) YMM_WIDE(p)
#  define T_LEFT(p) YMM_WIDE_BROADCAST(p)
#  define T_ADD(sum, left, right) YMM_ADD_PAIRS(sum, left, right)
#  define T_STORE(p, sums0, sums1) YMM_STORE(p, YMM_JOIN_PAIRS(sums0, sums1))
#  include "cpu/kernels/gemm_int8/gemm_u8s8_256_tmpl.h"
#endif
