/* Tiles of AMX: eight registers of 16 rows of 64 bytes each, named by numbers. In assembly, because
 * the intrinsics need an option of the compiler. No other instruction set has these words, so they
 * are never undefined.
 *
 * Compiled with HN_AMX_EMULATED they are plain C, which tests run on processors without AMX. */
#ifndef HN_SIMD_AMX_H
#define HN_SIMD_AMX_H

#include "base/base.h"

#define AMX_ROWS 16
#define AMX_ROW_BYTES 64

#ifndef HN_AMX_EMULATED

typedef struct hn_amx_shapes {
    uint8_t palette, first_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} hn_amx_shapes;

/* A thread that uses tiles gives all of them their shape first, and gives them up in the end. */
static inline void hn_amx_begin(void) {
    static const hn_amx_shapes shapes = {
        .palette = 1,
        .row_bytes = {AMX_ROW_BYTES, AMX_ROW_BYTES, AMX_ROW_BYTES, AMX_ROW_BYTES, AMX_ROW_BYTES,
                      AMX_ROW_BYTES, AMX_ROW_BYTES, AMX_ROW_BYTES},
        .rows = {AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS, AMX_ROWS}};
    __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
}

static inline void hn_amx_end(void) {
    __asm__ volatile("tilerelease" : :);
}

#  define AMX_ZERO(t) __asm__ volatile("tilezero %%tmm" #  t : :)
#  define AMX_LOAD(t, from, row_bytes)                                      \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t                        \
                     :                                                      \
                     : "r"((const void *)(from)), "r"((int64_t)(row_bytes)) \
                     : "memory")
#  define AMX_STORE(t, to, row_bytes)                               \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)"            \
                     :                                              \
                     : "r"((void *)(to)), "r"((int64_t)(row_bytes)) \
                     : "memory")
/* sum[r, j] += a[r, 4 k .. 4 k + 3] * b[k, 4 j .. 4 j + 3], unsigned by signed bytes. */
#  define AMX_DOT_BYTES(sum, a, b) \
    __asm__ volatile("tdpbusd %%tmm" #b ", %%tmm" #a ", %%tmm" #sum : :)
/* The same of pairs of bfloat16, with sums that are floats. */
#  define AMX_DOT_PAIRS(sum, a, b) \
    __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #sum : :)

#else

typedef union hn_amx_tile {
    uint8_t bytes[AMX_ROWS][AMX_ROW_BYTES];
    int8_t signed_bytes[AMX_ROWS][AMX_ROW_BYTES];
    uint16_t halves[AMX_ROWS][AMX_ROW_BYTES / 2];
    uint32_t words[AMX_ROWS][AMX_ROW_BYTES / 4];
    float floats[AMX_ROWS][AMX_ROW_BYTES / 4];
} hn_amx_tile;
extern _Thread_local hn_amx_tile hn_amx_tiles[8];

static inline void hn_amx_begin(void) {
    memset(hn_amx_tiles, 0, sizeof hn_amx_tiles);
}

static inline void hn_amx_end(void) {
}

static inline void hn_amx_load(int t, const void *from, int64_t row_bytes) {
    for (int r = 0; r < AMX_ROWS; r++)
        memcpy(hn_amx_tiles[t].bytes[r], (const uint8_t *)from + r * row_bytes, AMX_ROW_BYTES);
}

static inline void hn_amx_store(int t, void *to, int64_t row_bytes) {
    for (int r = 0; r < AMX_ROWS; r++)
        memcpy((uint8_t *)to + r * row_bytes, hn_amx_tiles[t].bytes[r], AMX_ROW_BYTES);
}

void hn_amx_dot_bytes(int sum, int a, int b);
void hn_amx_dot_pairs(int sum, int a, int b);

#  define AMX_ZERO(t) memset(&hn_amx_tiles[t], 0, sizeof hn_amx_tiles[t])
#  define AMX_LOAD(t, from, row_bytes) hn_amx_load(t, from, row_bytes)
#  define AMX_STORE(t, to, row_bytes) hn_amx_store(t, to, row_bytes)
#  define AMX_DOT_BYTES(sum, a, b) hn_amx_dot_bytes(sum, a, b)
#  define AMX_DOT_PAIRS(sum, a, b) hn_amx_dot_pairs(sum, a, b)
#endif

/* The first four, which hold the sums of two tiles of a times two of b. */
#define AMX_ZERO_SUMS() \
  do {                  \
    AMX_ZERO(0);        \
    AMX_ZERO(1);        \
    AMX_ZERO(2);        \
    AMX_ZERO(3);        \
  } while (0)

#endif /* HN_SIMD_AMX_H */
