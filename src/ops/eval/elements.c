/* Elements of any type as wide numbers, and back: one float loop serves float16, bfloat16, float8
 * and the rest. */
#include "cpu/kernels/convert/convert.h"
#include "ops/eval/eval_int.h"

size_t hn_elem_bytes(hn_dtype t) {
    return t == HN_STRING ? sizeof(hn_bytes) : (size_t)hn_dtype_bits(t) / 8;
}

/* Small floats have a decoder and an encoder of one element. */
static float decode_small(hn_dtype t, const uint8_t *data, uint64_t i) {
    uint16_t h;
    switch (t) {
    case HN_F16:
        memcpy(&h, data + 2 * i, 2);
        return hn_f16_to_f32(h);
    case HN_BF16:
        memcpy(&h, data + 2 * i, 2);
        return hn_bf16_to_f32(h);
    case HN_F8E4M3FN:
        return hn_f8_to_f32(data[i], HN_F8_E4M3FN);
    case HN_F8E4M3FNUZ:
        return hn_f8_to_f32(data[i], HN_F8_E4M3FNUZ);
    case HN_F8E5M2:
        return hn_f8_to_f32(data[i], HN_F8_E5M2);
    case HN_F8E5M2FNUZ:
        return hn_f8_to_f32(data[i], HN_F8_E5M2FNUZ);
    case HN_F8E8M0:
        return hn_e8m0_to_f32(data[i]);
    case HN_F6E2M3:
        return hn_f6_to_f32((uint8_t)hn_unpack_int(data, i, 6, false), HN_F6_E2M3);
    case HN_F6E3M2:
        return hn_f6_to_f32((uint8_t)hn_unpack_int(data, i, 6, false), HN_F6_E3M2);
    case HN_F4E2M1:
        return hn_f4_to_f32((uint8_t)hn_unpack_int(data, i, 4, false));
    default:
        return 0;
    }
}

static void encode_small(hn_dtype t, uint8_t *data, uint64_t i, float v) {
    uint16_t h;
    switch (t) {
    case HN_F16:
        h = hn_f32_to_f16(v);
        memcpy(data + 2 * i, &h, 2);
        break;
    case HN_BF16:
        h = hn_f32_to_bf16(v);
        memcpy(data + 2 * i, &h, 2);
        break;
    case HN_F8E4M3FN:
        data[i] = hn_f32_to_f8(v, HN_F8_E4M3FN, true);
        break;
    case HN_F8E4M3FNUZ:
        data[i] = hn_f32_to_f8(v, HN_F8_E4M3FNUZ, true);
        break;
    case HN_F8E5M2:
        data[i] = hn_f32_to_f8(v, HN_F8_E5M2, true);
        break;
    case HN_F8E5M2FNUZ:
        data[i] = hn_f32_to_f8(v, HN_F8_E5M2FNUZ, true);
        break;
    case HN_F8E8M0:
        data[i] = hn_f32_to_e8m0(v, HN_ROUND_UP, true);
        break;
    case HN_F6E2M3:
        hn_pack_int(data, i, 6, hn_f32_to_f6(v, HN_F6_E2M3));
        break;
    case HN_F6E3M2:
        hn_pack_int(data, i, 6, hn_f32_to_f6(v, HN_F6_E3M2));
        break;
    case HN_F4E2M1:
        hn_pack_int(data, i, 4, hn_f32_to_f4(v));
        break;
    default:
        break;
    }
}

/* A double on its way to a smaller float passes through float32; there it is rounded to odd, so
 * that the second rounding sees what the first one cut off. */
static float float_to_odd(double v) {
    float f = (float)v;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bool is_exact = (double)f == v || v != v;
    if (is_exact)
        return f;
    if (((double)f > v) == (v > 0)) /* rounded away from zero */
        bits--;
    bits |= 1;
    memcpy(&f, &bits, sizeof f);
    return f;
}
static float float_as_is(float v) {
    return v;
}
static float float_of_i64(int64_t v) {
    return (float)v;
}

static bool packed_int(hn_dtype t, int *bits, bool *is_signed) {
    *bits = hn_dtype_bits(t);
    *is_signed = t == HN_I4 || t == HN_I2;
    return t == HN_I4 || t == HN_U4 || t == HN_I2 || t == HN_U2;
}

/* A float that an integer type cannot hold is undefined behaviour in C: such values wrap through
 * the widest integer, and what even that cannot hold becomes its smallest number, as the processors
 * of today do. */
static int64_t double_to_i64(double v) {
    return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : INT64_MIN;
}
static int64_t float_to_i64(float v) {
    return double_to_i64((double)v);
}
static int64_t i64_to_i64(int64_t v) {
    return v;
}

/* The loaders and the stores differ in the wide type alone. */
#define LOAD_CASE(id, T)                     \
  case id: {                                 \
    const T *p = (const T *)a->data + begin; \
    for (uint64_t i = 0; i < n; i++)         \
      out[i] = (HN_WIDE)p[i];                \
    break;                                   \
  }
#define LOAD_FLOAT_CASE(id, T)               \
  case id: {                                 \
    const T *p = (const T *)a->data + begin; \
    for (uint64_t i = 0; i < n; i++)         \
      out[i] = HN_OF_FLOAT(p[i]);            \
    break;                                   \
  }
#define LOAD_BODY()                                                           \
  int bits;                                                                   \
  bool is_signed;                                                             \
  switch (a->dtype) {                                                         \
    HN_C_INTS(LOAD_CASE)                                                      \
    HN_C_FLOATS(LOAD_FLOAT_CASE)                                              \
    LOAD_CASE(HN_BOOL, uint8_t)                                               \
  default:                                                                    \
    if (packed_int(a->dtype, &bits, &is_signed))                              \
      for (uint64_t i = 0; i < n; i++)                                        \
        out[i] = (HN_WIDE)hn_unpack_int(a->data, begin + i, bits, is_signed); \
    else                                                                      \
      for (uint64_t i = 0; i < n; i++)                                        \
        out[i] = HN_OF_FLOAT(decode_small(a->dtype, a->data, begin + i));     \
  }

#define HN_WIDE float
#define HN_OF_FLOAT (float)
static void load_any_f32(const hn_array *a, uint64_t begin, uint64_t n, float *out) {
    LOAD_BODY()
}
void hn_load_f32(const hn_array *a, uint64_t begin, uint64_t n, float *out) {
    const hn_conversions *fast = hn_conversions_find();
    if (a->dtype == HN_F16)
        fast->halves_to_floats(n, (const uint16_t *)a->data + begin, out);
    else if (a->dtype == HN_BOOL || a->dtype == HN_U8)
        fast->bytes_to_floats(n, (const uint8_t *)a->data + begin, out);
    else
        load_any_f32(a, begin, n, out);
}
#undef HN_WIDE
#undef HN_OF_FLOAT
#define HN_WIDE double
#define HN_OF_FLOAT (double)
void hn_load_f64(const hn_array *a, uint64_t begin, uint64_t n, double *out) {
    LOAD_BODY()
}
#undef HN_WIDE
#undef HN_OF_FLOAT
#define HN_WIDE int64_t
#define HN_OF_FLOAT double_to_i64
void hn_load_i64(const hn_array *a, uint64_t begin, uint64_t n, int64_t *out) {
    LOAD_BODY()
}
#undef HN_WIDE
#undef HN_OF_FLOAT

static uint64_t double_to_u64(double v) {
    return v >= 9223372036854775808.0 && v < 18446744073709551616.0 ? (uint64_t)v
                                                                    : (uint64_t)double_to_i64(v);
}
static uint64_t float_to_u64(float v) {
    return double_to_u64((double)v);
}
static uint64_t i64_to_u64(int64_t v) {
    return (uint64_t)v;
}

#define STORE_INT(id, T)             \
  case id: {                         \
    T *p = (T *)a->data + begin;     \
    for (uint64_t i = 0; i < n; i++) \
      p[i] = (T)HN_TO_I64(in[i]);    \
    break;                           \
  }
#define STORE_FLOAT(id, T)           \
  case id: {                         \
    T *p = (T *)a->data + begin;     \
    for (uint64_t i = 0; i < n; i++) \
      p[i] = (T)in[i];               \
    break;                           \
  }
#define STORE_BODY()                                                  \
  int bits;                                                           \
  bool is_signed;                                                     \
  switch (a->dtype) {                                                 \
    STORE_INT(HN_I8, int8_t)                                          \
    STORE_INT(HN_I16, int16_t)                                        \
    STORE_INT(HN_I32, int32_t)                                        \
    STORE_INT(HN_I64, int64_t)                                        \
    STORE_INT(HN_U8, uint8_t)                                         \
    STORE_INT(HN_U16, uint16_t)                                       \
    STORE_INT(HN_U32, uint32_t)                                       \
    STORE_FLOAT(HN_F32, float)                                        \
    STORE_FLOAT(HN_F64, double)                                       \
  case HN_U64:                                                        \
    for (uint64_t i = 0; i < n; i++)                                  \
      ((uint64_t *)a->data)[begin + i] = HN_TO_U64(in[i]);            \
    break;                                                            \
  case HN_BOOL: {                                                     \
    uint8_t *p = (uint8_t *)a->data + begin;                          \
    for (uint64_t i = 0; i < n; i++)                                  \
      p[i] = in[i] != 0;                                              \
    break;                                                            \
  }                                                                   \
  default:                                                            \
    if (packed_int(a->dtype, &bits, &is_signed))                      \
      for (uint64_t i = 0; i < n; i++)                                \
        hn_pack_int(a->data, begin + i, bits, (int)HN_TO_I64(in[i])); \
    else                                                              \
      for (uint64_t i = 0; i < n; i++)                                \
        encode_small(a->dtype, a->data, begin + i, HN_TO_F32(in[i])); \
  }

#define HN_TO_F32 float_as_is
#define HN_TO_I64 float_to_i64
#define HN_TO_U64 float_to_u64
static void store_any_f32(hn_array *a, uint64_t begin, uint64_t n, const float *in) {
    STORE_BODY()
}
/* Magnitudes below 2^31 have smaller bits; one difference below zero shows in the sign of all. */
static bool are_all_int32(uint64_t n, const float *in) {
    int32_t all = 0;
    for (uint64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &in[i], sizeof bits);
        all |= 0x4effffff - (bits & 0x7fffffff);
    }
    return all >= 0;
}

/* Floats that int32 holds are converted by vectors; the others wrap in the same way through int64.
 * False: of another type. */
static bool store_int32s(hn_array *a, uint64_t begin, uint64_t n, const float *in) {
#define STORE_INT32(id, T)           \
  case id: {                         \
    T *p = (T *)a->data + begin;     \
    for (uint64_t i = 0; i < n; i++) \
      p[i] = (T)(int32_t)in[i];      \
    return true;                     \
  }
    switch (a->dtype) {
        STORE_INT32(HN_I8, int8_t)
        STORE_INT32(HN_U8, uint8_t)
        STORE_INT32(HN_I16, int16_t)
        STORE_INT32(HN_U16, uint16_t)
        STORE_INT32(HN_I32, int32_t)
    default:
        return false;
    }
#undef STORE_INT32
}

void hn_store_f32(hn_array *a, uint64_t begin, uint64_t n, const float *in) {
    bool may_be_int32 = hn_dtype_is_int(a->dtype) && hn_elem_bytes(a->dtype) <= 4;
    if (a->dtype == HN_F16)
        hn_conversions_find()->floats_to_halves(n, in, (uint16_t *)a->data + begin);
    else if (!may_be_int32 || !are_all_int32(n, in) || !store_int32s(a, begin, n, in))
        store_any_f32(a, begin, n, in);
}
#undef HN_TO_F32
#undef HN_TO_I64
#undef HN_TO_U64
#define HN_TO_F32 float_to_odd
#define HN_TO_I64 double_to_i64
#define HN_TO_U64 double_to_u64
void hn_store_f64(hn_array *a, uint64_t begin, uint64_t n, const double *in) {
    STORE_BODY()
}
#undef HN_TO_F32
#undef HN_TO_I64
#undef HN_TO_U64
#define HN_TO_F32 float_of_i64
#define HN_TO_I64 i64_to_i64
#define HN_TO_U64 i64_to_u64
void hn_store_i64(hn_array *a, uint64_t begin, uint64_t n, const int64_t *in) {
    STORE_BODY()
}
#undef HN_TO_F32
#undef HN_TO_I64
#undef HN_TO_U64

/* ---- shapes ---------------------------------------------------------------------------------- */

uint64_t hn_count(int32_t rank, const int64_t *dims) {
    uint64_t n = 1;
    for (int32_t i = 0; i < rank; i++)
        n *= (uint64_t)dims[i];
    return n;
}

/* Sizes behind a dimension of 0 have no bounds; their products wrap, and nobody uses them. */
void hn_strides(int32_t rank, const int64_t *dims, int64_t *strides) {
    uint64_t step = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        strides[i] = (int64_t)step;
        step *= (uint64_t)dims[i];
    }
}

void hn_array_strides(const hn_array *a, int64_t *strides) {
    hn_strides(a->rank, a->dims, strides);
    for (int32_t i = a->rank - 2; a->row_stride && i >= 0; i--)
        strides[i] = i == a->rank - 2 ? a->row_stride : strides[i + 1] * a->dims[i + 1];
}

int64_t hn_n_rows(const hn_array *a) {
    return a->n_elems ? (int64_t)a->n_elems / (a->rank > 0 ? a->dims[a->rank - 1] : 1) : 0;
}

hn_array hn_array_row(const hn_array *a, int64_t row) {
    hn_array one = {.dtype = a->dtype, .rank = 1, .dims = a->dims + a->rank - 1};
    one.n_elems = (uint64_t)one.dims[0];
    one.data = (uint8_t *)a->data + row * hn_row_stride(a) * (int64_t)hn_elem_bytes(a->dtype);
    return one;
}

void hn_copy_rows(hn_array *to, const hn_array *from) {
    for (int64_t i = 0; i < hn_n_rows(from); i++) {
        hn_array row = hn_array_row(from, i), place = hn_array_row(to, i);
        memcpy(place.data, row.data, (size_t)row.n_elems * hn_elem_bytes(row.dtype));
    }
}

void hn_broadcast_strides(const hn_array *a, int32_t rank, int64_t *strides) {
    uint64_t step = 1;
    for (int32_t i = rank - 1, k = a->rank - 1; i >= 0; i--, k--) {
        strides[i] = k >= 0 && a->dims[k] != 1 ? (int64_t)step : 0;
        if (k >= 0)
            step *= (uint64_t)a->dims[k];
    }
}
