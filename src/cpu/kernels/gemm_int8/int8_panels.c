/* Packing of b. */
#include "cpu/kernels/gemm_int8/int8_panels.h"

/* n steps along k, at most a group. */
static void pack_int8_rows(const hn_int8_run_of_b *run, const uint8_t *from, int64_t n,
                           uint8_t *out, uint32_t *sums) {
    uint8_t flip = run->is_signed ? 0 : HN_INT8_SIGN_BIT;
    for (int64_t e = 0; e < n; e++)
        for (int64_t j = 0; j < run->cols; j++) {
            uint8_t byte = from[e * run->row + j * run->col] ^ flip;
            int32_t value = (int8_t)byte;
            out[j * HN_U8S8_GROUP + e] = byte;
            sums[j] += (uint32_t)value;
        }
}

/* A whole group of steps whose columns are contiguous. */
static void interleave_int8_rows(const hn_int8_run_of_b *run, const uint8_t *from, uint8_t *out,
                                 uint32_t *sums) {
    const uint8_t *r0 = from, *r1 = r0 + run->row, *r2 = r1 + run->row, *r3 = r2 + run->row;
    uint8_t flip = run->is_signed ? 0 : HN_INT8_SIGN_BIT;
    for (int64_t j = 0; j < run->cols; j++) {
        uint8_t bytes[HN_U8S8_GROUP] = {r0[j] ^ flip, r1[j] ^ flip, r2[j] ^ flip, r3[j] ^ flip};
        int32_t sum = (int8_t)bytes[0] + (int8_t)bytes[1] + (int8_t)bytes[2] + (int8_t)bytes[3];
        memcpy(out + j * HN_U8S8_GROUP, bytes, sizeof bytes);
        sums[j] += (uint32_t)sum;
    }
}

/* A whole group of steps that are neighbours: columns are copied as words. */
static void copy_int8_groups(const hn_int8_run_of_b *run, const uint8_t *from, uint8_t *out,
                             uint32_t *sums) {
    uint32_t flip = run->is_signed ? 0 : HN_INT8_SIGN_BIT * 0x01010101u;
    for (int64_t j = 0; j < run->cols; j++) {
        uint32_t word;
        memcpy(&word, from + j * run->col, sizeof word);
        word ^= flip;
        memcpy(out + j * HN_U8S8_GROUP, &word, sizeof word);
        int32_t sum =
            (int8_t)word + (int8_t)(word >> 8) + (int8_t)(word >> 16) + (int8_t)(word >> 24);
        sums[j] += (uint32_t)sum;
    }
}

void hn_int8_pack_run(const hn_int8_run_of_b *run, int64_t width, uint8_t *out, uint32_t *sums) {
    for (int64_t k = 0; k < run->k; k += HN_U8S8_GROUP, out += width * HN_U8S8_GROUP) {
        const uint8_t *from = run->from + k * run->row;
        bool is_whole = run->k - k >= HN_U8S8_GROUP;
        if (run->col == 1 && is_whole)
            interleave_int8_rows(run, from, out, sums);
        else if (run->row == 1 && is_whole)
            copy_int8_groups(run, from, out, sums);
        else
            pack_int8_rows(run, from, HN_MIN(HN_U8S8_GROUP, run->k - k), out, sums);
    }
}
