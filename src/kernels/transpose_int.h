/* Inside kernels/: tiles of a matrix turned around in registers. */
#ifndef HN_TRANSPOSE_INT_H
#define HN_TRANSPOSE_INT_H

#include "kernels/transpose.h"

/* Elements of 4 bytes. */
void hn_transpose_32__avx512(const hn_transpose_job *job);
void hn_transpose_32__avx2(const hn_transpose_job *job);
void hn_transpose_32__neon(const hn_transpose_job *job);

#endif /* HN_TRANSPOSE_INT_H */
