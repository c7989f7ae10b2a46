/* Packing of weights as MatMulNBits wants them. */
#include "quant/writer.h"

typedef struct nbits_layout {
    const hn_tensor *from;
    bool is_transposed; /* the source is [k, n] */
    int64_t n, k;
    int shift; /* signed numbers become unsigned ones */
} nbits_layout;

static int number_of_few_bits(const nbits_layout *l, int64_t row, int64_t column) {
    int64_t x = 0;
    hn_tensor_get_i64(l->from,
                      (uint64_t)(l->is_transposed ? column * l->n + row : row * l->k + column), &x);
    return (int)x + l->shift;
}

static void put_bits(uint8_t *data, uint64_t i, int bits, int value) {
    if (bits == 8)
        data[i] = (uint8_t)value;
    else
        hn_pack_int(data, i, bits, value);
}

/* Rows of k numbers, each padded to n_padded with `padding` of its last block. */
static const hn_tensor *packed_rows(hn_arena *arena, const nbits_layout *l, int bits,
                                    const nbits_layout *zeros, int64_t block, int32_t rank,
                                    const int64_t *dims, int64_t n_padded) {
    void *data;
    hn_tensor *out = hn_tensor_blank(arena, HN_U8, rank, dims, &data);
    for (int64_t row = 0; out && row < l->n; row++)
        for (int64_t i = 0; i < n_padded; i++) {
            int value = i < l->k ? number_of_few_bits(l, row, i)
                        : zeros  ? number_of_few_bits(zeros, row, i / block)
                                 : 0;
            put_bits((uint8_t *)data, (uint64_t)(row * n_padded + i), bits, value);
        }
    return out;
}

static const hn_tensor *scales_of_rows(hn_arena *arena, const hn_tensor *scale,
                                       bool is_transposed) {
    int64_t n = scale->dims[is_transposed], n_blocks = scale->dims[!is_transposed];
    void *data;
    hn_tensor *out = hn_tensor_blank(arena, scale->dtype, 2, (int64_t[]){n, n_blocks}, &data);
    size_t bytes = (size_t)hn_dtype_bits(scale->dtype) / 8;
    for (int64_t row = 0; out && row < n; row++)
        for (int64_t i = 0; i < n_blocks; i++) {
            int64_t at = is_transposed ? i * n + row : row * n_blocks + i;
            memcpy((char *)data + (size_t)(row * n_blocks + i) * bytes,
                   (const char *)scale->data + (size_t)at * bytes, bytes);
        }
    return out;
}

hone_status hn_nbits_pack(hn_arena *arena, int32_t k_axis, int64_t block, hn_quant_result *r) {
    int bits = hn_dtype_bits(r->q->dtype);
    bool is_transposed = k_axis == 0;
    bool is_signed = r->q->dtype == HN_I2 || r->q->dtype == HN_I4 || r->q->dtype == HN_I8;
    int64_t n = r->q->dims[is_transposed], k = r->q->dims[!is_transposed];
    int64_t n_blocks = (k + block - 1) / block, per_byte = 8 / bits;
    int64_t n_zeros = (n_blocks + per_byte - 1) / per_byte * per_byte;
    nbits_layout zeros = {r->zero, is_transposed, n, n_blocks, is_signed ? 1 << (bits - 1) : 0};
    nbits_layout numbers = {r->q, is_transposed, n, k, zeros.shift};
    const hn_tensor *q = packed_rows(arena, &numbers, bits, &zeros, block, 3,
                                     (int64_t[]){n, n_blocks, block / per_byte}, n_blocks * block);
    const hn_tensor *zero =
        packed_rows(arena, &zeros, bits, NULL, 0, 2, (int64_t[]){n, n_zeros / per_byte}, n_zeros);
    const hn_tensor *scale = scales_of_rows(arena, r->scale, is_transposed);
    if (!q || !zero || !scale)
        return HONE_E_NOMEM;
    *r = (hn_quant_result){q, scale, zero};
    return HONE_OK;
}
