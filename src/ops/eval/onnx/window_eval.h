/* Windows over spatial axes at run time, when every size is known. */
#ifndef HN_WINDOW_EVAL_H
#define HN_WINDOW_EVAL_H

#include "cpu/kernels/kernel.h"
#include "ops/eval/widen.h"
#include "ops/infer/spatial.h"

/* A window of these attributes over spatial sizes `in`, at `out` positions. `kernel` may be NULL:
 * the attribute kernel_shape. */
void hn_window_set(const hn_window_attrs *attrs, const int64_t *in, const int64_t *out,
                   const int64_t *kernel, hn_window *s);
/* The same with the attributes of the node, which inference has checked. */
void hn_window_read(const hn_infer *node, int32_t n_axes, const int64_t *in, const int64_t *out,
                    const int64_t *kernel, hn_window *s);
/* The same for a transposed convolution, seen from the windows: the output is the image they lie
 * on, the input tells how many there are. */
void hn_window_read_transposed(const hn_infer *node, int32_t n_axes, const int64_t *image,
                               const int64_t *positions, const int64_t *kernel, hn_window *s);
/* Padding at the end of each axis, which only averages that count it need. */
void hn_window_pad_end(const hn_infer *node, const hn_window *s, int64_t *pad_end);

/* Channels as one more axis, before the others, which windows cover from one end to the other;
 * sizes that are not known are 0. */
void hn_window_add_channels(const hn_window *flat, int64_t channels, hn_window *s);

/* Conv with an epilogue for float outputs: residual and activation. NULL: none. */
hone_status hn_conv_with_epilogue(hn_eval *c, const hn_epilogue_f32 *epilogue);

#endif /* HN_WINDOW_EVAL_H */
