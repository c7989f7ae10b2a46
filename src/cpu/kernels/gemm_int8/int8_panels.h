/* Inside cpu/kernels: bytes of b as tiles read them, in panels as wide as a tile. Unsigned numbers
 * are shifted (b - 128, one flipped bit), so that all are signed. */
#ifndef HN_INT8_PANELS_H
#define HN_INT8_PANELS_H

#include "cpu/kernels/gemm_int8/gemm_u8s8.h"

#define HN_INT8_SIGN_BIT 0x80
#define HN_INT8_PANEL_ALIGN 64

/* That hold so many steps. */
static inline int64_t hn_int8_groups_of(int64_t k) {
    return (k + HN_U8S8_GROUP - 1) / HN_U8S8_GROUP;
}

/* The same for the tiles of a set. */
static inline int64_t hn_int8_groups(const hn_u8s8_set *set, int64_t k) {
    return (hn_int8_groups_of(k) + set->step_groups - 1) / set->step_groups * set->step_groups;
}

static inline int64_t hn_int8_panels(const hn_u8s8_set *set, int64_t n) {
    return (n + set->cols - 1) / set->cols;
}

static inline size_t hn_int8_aligned(int64_t n, size_t elem_bytes) {
    size_t bytes = (size_t)n * elem_bytes;
    return (bytes + HN_INT8_PANEL_ALIGN - 1) / HN_INT8_PANEL_ALIGN * HN_INT8_PANEL_ALIGN;
}

/* Panels with n_groups groups in all of their runs, then the sum of each column. */
static inline size_t hn_int8_panels_bytes(const hn_u8s8_set *set, int64_t n, int64_t n_groups) {
    return hn_int8_aligned(hn_int8_panels(set, n) * set->cols * n_groups, HN_U8S8_GROUP);
}

static inline size_t hn_int8_packed_bytes(const hn_u8s8_set *set, int64_t n, int64_t n_groups) {
    return hn_int8_panels_bytes(set, n, n_groups) +
           hn_int8_aligned(hn_int8_panels(set, n) * set->cols, sizeof(uint32_t));
}

static inline const uint32_t *hn_int8_col_sums(const hn_u8s8_set *set, const void *packed,
                                               int64_t n, int64_t n_groups) {
    return (const uint32_t *)(const void *)((const uint8_t *)packed +
                                            hn_int8_panels_bytes(set, n, n_groups));
}

/* One run of k bytes of some columns: element (k, j) at from + k * row + j * col. */
typedef struct hn_int8_run_of_b {
    const uint8_t *from;
    int64_t k, row, col, cols;
    bool is_signed;
} hn_int8_run_of_b;
/* Writes its groups into a panel of `width` columns, which was filled with zeros, and adds to the
 * sums of the columns. */
void hn_int8_pack_run(const hn_int8_run_of_b *run, int64_t width, uint8_t *out, uint32_t *sums);

#endif /* HN_INT8_PANELS_H */
