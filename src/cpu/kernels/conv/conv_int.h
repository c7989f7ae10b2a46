/* Inside cpu/kernels: convolutions as products, and in plain C. */
#ifndef HN_CONV_INT_H
#define HN_CONV_INT_H

#include "cpu/kernels/conv_chain/band.h"

/* The matrix that the filters of one group are multiplied with: one row per channel and window
 * element, one column per output position of one image. hn_conv_fill writes pieces of it: it is the
 * `fill` of a product whose fill_ctx is this. */
#define HN_CONV_COLUMNS(name, T)                                                            \
  typedef struct hn_conv_columns_##name {                                                   \
    const hn_window *window;                                                                \
    const T *x;                                                                             \
    const hn_band *form; /* for hn_conv_panels; floats only */                              \
  } hn_conv_columns_##name;                                                                 \
  void hn_conv_fill_##name(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t nj, \
                           T *out, int64_t out_stride);                                     \
  void hn_conv_plain_##name(hn_pool *pool, const hn_conv_job_##name *job); /* without epilogue */
HN_KERNEL_TYPES(HN_CONV_COLUMNS)
#undef HN_CONV_COLUMNS

/* The same matrix in panels, with vectors; fill_ctx is the columns with a form. False: not on this
 * processor, or not for these sizes. */
bool hn_conv_windows_read(const hn_window *s, hn_band *form);
void hn_conv_panels_f32(const void *ctx, int64_t k0, int64_t nk, int64_t j0, int64_t j1,
                        int64_t width, float *out);

/* One channel per filter, by vectors; false when this processor or these sizes are not for it. */
bool hn_conv_depthwise_f32(hn_pool *pool, const hn_conv_job_f32 *job);
/* The same along one axis of any length. */
bool hn_conv_lines_f32(hn_pool *pool, const hn_conv_job_f32 *job);
/* The epilogue of n outputs from element `at` of y on; the bias is part of them already. */
void hn_conv_epilogue_f32(const hn_conv_job_f32 *job, int64_t at, int64_t n);

#endif /* HN_CONV_INT_H */
