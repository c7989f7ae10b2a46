/* Inside ops/: arrays as plain C numbers, for evaluations that compute with whole arrays instead of
 * tiles. An array that has the type already is used where it lies; any other is converted once, in
 * scratch. */
#ifndef HN_EVAL_WIDE_H
#define HN_EVAL_WIDE_H

#include "ops/eval/eval_int.h"

/* The elements of an argument; NULL: out of memory. */
const float *hn_wide_f32(hn_eval *c, const hn_array *a);
const double *hn_wide_f64(hn_eval *c, const hn_array *a);

/* Which of several scales or zero points an element has: number i / outer * width + i / step %
 * width, counted round. */
typedef struct hn_slices {
    uint64_t step, width, outer; /* none is 0 */
} hn_slices;
static inline uint64_t hn_slice_of(const hn_slices *s, uint64_t i, uint64_t n) {
    return n <= 1 ? 0 : (i / s->outer * s->width + i / s->step % s->width) % n;
}
/* Integers less their zero points. `zero` may be NULL: all are 0. */
int32_t *hn_wide_i32(hn_eval *c, const hn_array *a, const hn_array *zero, const hn_slices *s);

/* Room for the elements of an output: its own memory when that has the type. hn_narrow_* then
 * stores them; it does nothing when they are there already. NULL: out of memory. */
float *hn_buffer_f32(hn_eval *c, hn_array *y);
double *hn_buffer_f64(hn_eval *c, hn_array *y);
void hn_narrow_f32(hn_array *y, const float *from);
void hn_narrow_f64(hn_array *y, const double *from);

/* Numbers of one scale and zero point: real = (q - zero) * scale. */
typedef struct hn_affine {
    float scale, zero;
} hn_affine;
/* The range of the numbers, with 0 in it, over the 256 steps of a byte. */
hn_affine hn_byte_affine(uint64_t n, const float *v);
/* The numbers become what such bytes hold of them. */
void hn_round_to_bytes(uint64_t n, float *v);
static inline int32_t hn_byte_at(const void *bytes, bool is_signed, int64_t i) {
    return is_signed ? ((const int8_t *)bytes)[i] : ((const uint8_t *)bytes)[i];
}
/* Smallest and largest number of an integer type of up to 16 bits. */
void hn_int_range(hn_dtype t, float *lo, float *hi);

/* n elements of scratch, product checked; NULL: out of memory. */
void *hn_eval_scratch_n(hn_eval *c, uint64_t n, size_t elem_bytes);

/* The single number of a scalar or one-element argument; `def` when it is left out or empty. */
double hn_arg_f64_or(const hn_eval *c, uint32_t i, double def);
int64_t hn_arg_i64_or(const hn_eval *c, uint32_t i, int64_t def);

#endif /* HN_EVAL_WIDE_H */
