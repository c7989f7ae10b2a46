#include "ir/ir.h"

static bool count_tensor_elems(int32_t rank, const int64_t *dims, uint64_t *n_elems) {
    uint64_t n = 1;
    bool has_zero = false;
    for (int32_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return false;
        has_zero = has_zero || dims[i] == 0;
    }
    for (int32_t i = 0; i < rank && !has_zero; i++) {
        if (!hn_mul_u64(n, (uint64_t)dims[i], &n))
            return false;
    }
    *n_elems = has_zero ? 0 : n;
    return true;
}

/* Borrowed data outlive the tensor by contract; other data are copied. */
static bool keep_tensor_data(hn_arena *a, hn_tensor *t, const void *data, uint64_t bytes,
                             bool borrow) {
    if (!data || bytes == 0)
        return true;
    if (bytes > SIZE_MAX)
        return false;
    t->data = borrow ? data : hn_arena_copy(a, data, (size_t)bytes);
    t->data_bytes = bytes;
    return t->data != NULL;
}

static hn_tensor *new_tensor(hn_arena *a, hn_dtype t, int32_t rank, const int64_t *dims,
                             uint64_t *bytes) {
    uint64_t n_elems;
    if (rank < 0 || !count_tensor_elems(rank, dims, &n_elems) || !hn_dtype_bytes(t, n_elems, bytes))
        return NULL;
    hn_tensor *tensor = HN_NEW(a, hn_tensor);
    if (!tensor)
        return NULL;
    tensor->dtype = t;
    tensor->rank = rank;
    tensor->n_elems = n_elems;
    if (rank > 0) {
        tensor->dims = hn_arena_copy(a, dims, (size_t)rank * sizeof(*dims));
        if (!tensor->dims)
            return NULL;
    }
    return tensor;
}

const hn_tensor *hn_tensor_new(hn_arena *a, hn_dtype t, int32_t rank, const int64_t *dims,
                               const void *data, bool borrow) {
    uint64_t bytes;
    hn_tensor *tensor = new_tensor(a, t, rank, dims, &bytes);
    return tensor && keep_tensor_data(a, tensor, data, bytes, borrow) ? tensor : NULL;
}

hn_tensor *hn_tensor_blank(hn_arena *a, hn_dtype t, int32_t rank, const int64_t *dims,
                           void **data) {
    uint64_t bytes;
    hn_tensor *tensor = new_tensor(a, t, rank, dims, &bytes);
    *data = tensor && bytes <= SIZE_MAX - 1 ? hn_arena_calloc(a, (size_t)bytes + 1, 1) : NULL;
    if (!*data)
        return NULL;
    tensor->data = *data;
    tensor->data_bytes = bytes;
    return tensor;
}

/* The bits of element i, low bits first; false when the data does not reach that far. */
static bool load_element_bits(const hn_tensor *t, uint64_t i, uint64_t *bits) {
    uint64_t n_bits = (uint64_t)hn_dtype_bits(t->dtype);
    uint64_t end_bytes;
    if (!t->data || i >= t->n_elems || n_bits == 0 || n_bits > 64)
        return false;
    if (!hn_dtype_bytes(t->dtype, i + 1, &end_bytes) || end_bytes > t->data_bytes)
        return false;
    const uint8_t *data = t->data;
    if (n_bits < 8) {
        *bits = (uint64_t)hn_unpack_int(data, i, (int)n_bits, false);
        return true;
    }
    uint64_t n_bytes = n_bits / 8;
    const uint8_t *element = data + (end_bytes - n_bytes);
    *bits = 0;
    for (uint64_t b = 0; b < n_bytes; b++)
        *bits |= (uint64_t)element[b] << (8 * b);
    return true;
}

static int64_t sign_extend(uint64_t bits, int n_bits) {
    uint64_t sign = UINT64_C(1) << (n_bits - 1);
    uint64_t extended = (bits ^ sign) - sign;
    int64_t value;
    memcpy(&value, &extended, sizeof(value));
    return value;
}

bool hn_tensor_get_i64(const hn_tensor *t, uint64_t i, int64_t *out) {
    uint64_t bits;
    if ((!hn_dtype_is_int(t->dtype) && t->dtype != HN_BOOL) || !load_element_bits(t, i, &bits))
        return false;
    switch (t->dtype) {
    case HN_BOOL:
        *out = bits != 0;
        return true;
    case HN_I2:
    case HN_I4:
    case HN_I8:
    case HN_I16:
    case HN_I32:
    case HN_I64:
        *out = sign_extend(bits, hn_dtype_bits(t->dtype));
        return true;
    default:
        if (bits > INT64_MAX)
            return false;
        *out = (int64_t)bits;
        return true;
    }
}

static double element_f32(uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof(value));
    return (double)value;
}

static double element_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

bool hn_tensor_get_f64(const hn_tensor *t, uint64_t i, double *out) {
    uint64_t bits;
    int64_t integer;
    if (hn_tensor_get_i64(t, i, &integer)) {
        *out = (double)integer;
        return true;
    }
    if (!load_element_bits(t, i, &bits))
        return false;
    switch (t->dtype) {
    case HN_U64:
        *out = (double)bits;
        return true;
    case HN_F32:
        *out = element_f32(bits);
        return true;
    case HN_F64:
        *out = element_f64(bits);
        return true;
    case HN_F16:
        *out = (double)hn_f16_to_f32((uint16_t)bits);
        return true;
    case HN_BF16:
        *out = (double)hn_bf16_to_f32((uint16_t)bits);
        return true;
    case HN_F8E4M3FN:
        *out = (double)hn_f8_to_f32((uint8_t)bits, HN_F8_E4M3FN);
        return true;
    case HN_F8E4M3FNUZ:
        *out = (double)hn_f8_to_f32((uint8_t)bits, HN_F8_E4M3FNUZ);
        return true;
    case HN_F8E5M2:
        *out = (double)hn_f8_to_f32((uint8_t)bits, HN_F8_E5M2);
        return true;
    case HN_F8E5M2FNUZ:
        *out = (double)hn_f8_to_f32((uint8_t)bits, HN_F8_E5M2FNUZ);
        return true;
    case HN_F8E8M0:
        *out = (double)hn_e8m0_to_f32((uint8_t)bits);
        return true;
    case HN_F6E2M3:
        *out = (double)hn_f6_to_f32((uint8_t)bits, HN_F6_E2M3);
        return true;
    case HN_F6E3M2:
        *out = (double)hn_f6_to_f32((uint8_t)bits, HN_F6_E3M2);
        return true;
    case HN_F4E2M1:
        *out = (double)hn_f4_to_f32((uint8_t)bits);
        return true;
    default:
        return false;
    }
}
