/* Inside and above cpu/kernels: transpose of matrices. */
#ifndef HN_TRANSPOSE_H
#define HN_TRANSPOSE_H

#include "base/base.h"

/* A matrix and where its columns become rows: to[j * to_row + i] = from[i * from_row + j]. Strides
 * count elements, of 1, 2, 4, 8 or 16 bytes. The two do not overlap. */
typedef struct hn_transpose_job {
    size_t elem_bytes;
    int64_t rows, cols; /* of `from` */
    const void *from;
    int64_t from_row;
    void *to;
    int64_t to_row;
} hn_transpose_job;
void hn_transpose(const hn_transpose_job *job);
void hn_transpose_plain(const hn_transpose_job *job);

#endif /* HN_TRANSPOSE_H */
