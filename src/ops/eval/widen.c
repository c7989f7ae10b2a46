/* Whole arrays as plain C numbers. */
#include "ops/eval/widen.h"

#include "cpu/kernels/quantize/quantize.h"

#include <math.h>

void *hn_eval_scratch_n(hn_eval *c, uint64_t n, size_t elem_bytes) {
    uint64_t bytes;
    return hn_mul_u64(n, elem_bytes, &bytes) ? hn_eval_scratch(c, bytes) : NULL;
}

#define WIDE(name, T, id)                                                          \
  const T *hn_wide_##name(hn_eval *c, const hn_array *a) {                         \
    if (a->dtype == id)                                                            \
      return a->data;                                                              \
    T *out = hn_eval_scratch_n(c, a->n_elems, sizeof(T));                          \
    if (out)                                                                       \
      hn_load_##name(a, 0, a->n_elems, out);                                       \
    return out;                                                                    \
  }                                                                                \
  T *hn_buffer_##name(hn_eval *c, hn_array *y) {                                   \
    return y->dtype == id ? y->data : hn_eval_scratch_n(c, y->n_elems, sizeof(T)); \
  }                                                                                \
  void hn_narrow_##name(hn_array *y, const T *from) {                              \
    if (y->dtype != id)                                                            \
      hn_store_##name(y, 0, y->n_elems, from);                                     \
  }
WIDE(f32, float, HN_F32)
WIDE(f64, double, HN_F64)
#undef WIDE

int32_t *hn_wide_i32(hn_eval *c, const hn_array *a, const hn_array *zero, const hn_slices *s) {
    int32_t *out = hn_eval_scratch_n(c, a->n_elems, sizeof *out);
    uint64_t n_zeros = zero ? zero->n_elems : 0;
    int64_t wide[HN_TILE], less = 0;
    if (n_zeros > 0)
        hn_load_i64(zero, 0, 1, &less);
    for (uint64_t begin = 0; out && begin < a->n_elems; begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, a->n_elems - begin);
        hn_load_i64(a, begin, n, wide);
        for (uint64_t i = 0; i < n; i++) {
            if (n_zeros > 1)
                hn_load_i64(zero, hn_slice_of(s, begin + i, n_zeros), 1, &less);
            out[begin + i] = (int32_t)(wide[i] - less);
        }
    }
    return out;
}

void hn_int_range(hn_dtype t, float *lo, float *hi) {
    int bits = HN_MIN(hn_dtype_bits(t), 16);
    bool is_signed = t == HN_I16 || t == HN_I8 || t == HN_I4 || t == HN_I2;
    *hi = (float)((1 << (is_signed ? bits - 1 : bits)) - 1);
    *lo = is_signed ? -*hi - 1 : 0;
}

hn_affine hn_byte_affine(uint64_t n, const float *v) {
    hn_affine by;
    hn_quantize_find_scale(NULL, n, v, &by.scale, &by.zero);
    return by;
}

void hn_round_to_bytes(uint64_t n, float *v) {
    hn_affine by = hn_byte_affine(n, v);
    for (uint64_t i = 0; i < n; i++) {
        float q = fminf(fmaxf(hn_round_even(v[i] / by.scale) + by.zero, 0), 255);
        v[i] = (q - by.zero) * by.scale;
    }
}

double hn_arg_f64_or(const hn_eval *c, uint32_t i, double def) {
    const hn_array *a = hn_arg(c, i);
    if (a && a->n_elems > 0)
        hn_load_f64(a, 0, 1, &def);
    return def;
}

int64_t hn_arg_i64_or(const hn_eval *c, uint32_t i, int64_t def) {
    const hn_array *a = hn_arg(c, i);
    if (a && a->n_elems > 0)
        hn_load_i64(a, 0, 1, &def);
    return def;
}
