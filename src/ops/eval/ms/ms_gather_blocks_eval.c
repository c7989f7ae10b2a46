/* GatherBlockQuantized of com.microsoft, computed: rows of numbers of few bits that share scales in
 * blocks. */
#include "ops/eval/ms/ms_eval.h"

#include "ops/eval/copy.h"

typedef struct block_gather {
    hn_array data, zeros; /* one number per element, whatever the file's type */
    bool has_zeros;
    float half; /* zero point when there are none */
    const float *scales;
    uint64_t axis,
        inner; /* the quantized axis: its length, and the numbers behind each of its steps */
    uint64_t block, n_blocks; /* along it */
    uint64_t zero_row;        /* zero points from one step before the axis to the next */
} block_gather;

/* Bytes that hold several numbers, seen as those. */
static hn_array unpacked_view(const hn_array *a, int64_t bits) {
    hn_array view = *a;
    if (a->dtype == HN_U8 && bits < 8) {
        view.dtype = bits == 2 ? HN_U2 : HN_U4;
        view.n_elems = a->n_elems * (uint64_t)(8 / bits);
    }
    return view;
}

static hone_status read_block_gather(hn_eval *c, const hn_array *data, block_gather *g) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *zero = hn_arg(c, 3);
    int32_t axis;
    int64_t bits = hn_attr_i(node, "bits", 4), block = hn_attr_i(node, "block_size", 128);
    HN_TRY(hn_axis_of(c, hn_attr_i(node, "quantize_axis", 1), data->rank, &axis));
    bool is_bytes = data->dtype == HN_U8;
    if (block < 1 ||
        (is_bytes && (axis != data->rank - 1 || (bits != 2 && bits != 4 && bits != 8))))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "bytes must hold 2, 4 or 8 bits, and be quantized along the last axis");
    uint64_t per_byte = is_bytes ? (uint64_t)(8 / bits) : 1;
    hn_split3 sizes = hn_split_at(data->rank, data->dims, axis);
    *g = (block_gather){
        .data = unpacked_view(data, bits), .has_zeros = zero != NULL, .block = (uint64_t)block};
    g->half = is_bytes ? (float)(1 << (bits - 1)) : 0;
    g->axis = (uint64_t)sizes.mid * per_byte;
    g->inner = (uint64_t)sizes.inner;
    g->n_blocks = (g->axis + g->block - 1) / g->block;
    uint64_t n_scales = (uint64_t)sizes.outer * g->n_blocks * g->inner;
    g->zero_row =
        is_bytes ? (g->n_blocks + per_byte - 1) / per_byte * per_byte : g->n_blocks * g->inner;
    HN_TRY(hn_want_elems(c, 2, n_scales));
    HN_TRY(hn_want_elems(c, 3, (uint64_t)sizes.outer * g->zero_row / per_byte));
    if (zero)
        g->zeros = unpacked_view(zero, bits);
    HN_TRY_PTR(hn_arg_f32s(c, 2, &g->scales));
    return HONE_OK;
}

/* n numbers of 4 bits with one scale, from a table of all that there are. */
static void widen_nibbles(const block_gather *g, uint64_t from, uint64_t n, hn_affine by,
                          float *out) {
    const uint8_t *bytes = g->data.data;
    int flip = g->data.dtype == HN_I4 ? 8 : 0; /* of the sign */
    float values[16];
    uint64_t i = 0;
    for (int q = 0; q < 16; q++)
        values[q] = ((float)((q ^ flip) - flip) - by.zero) * by.scale;
    if (from % 2 != 0 && n > 0)
        out[i++] = values[bytes[from / 2] >> 4];
    for (; i + 2 <= n; i += 2) {
        uint8_t byte = bytes[(from + i) / 2];
        out[i] = values[byte & 15];
        out[i + 1] = values[byte >> 4];
    }
    if (i < n)
        out[i] = values[bytes[(from + i) / 2] & 15];
}

/* The same for numbers of other types. */
static void widen_numbers(const block_gather *g, uint64_t from, uint64_t n, hn_affine by,
                          float *out) {
    hn_load_f32(&g->data, from, n, out);
    for (uint64_t i = 0; i < n; i++)
        out[i] = (out[i] - by.zero) * by.scale;
}

/* Numbers of a block follow each other. */
static void widen_rows(const block_gather *g, uint64_t from, uint64_t n, float *out) {
    bool is_nibbles = g->data.dtype == HN_I4 || g->data.dtype == HN_U4;
    for (uint64_t i = 0, next; i < n; i = next) {
        uint64_t row = (from + i) / g->axis, step = (from + i) % g->axis, block = step / g->block;
        hn_affine by = {.scale = g->scales[row * g->n_blocks + block], .zero = g->half};
        if (g->has_zeros)
            hn_load_f32(&g->zeros, row * g->zero_row + block, 1, &by.zero);
        next = HN_MIN(n, i + HN_MIN((block + 1) * g->block, g->axis) - step);
        (is_nibbles ? widen_nibbles : widen_numbers)(g, from + i, next - i, by, out + i);
    }
}

static void widen_run(const block_gather *g, uint64_t from, uint64_t n, float *out) {
    hn_load_f32(&g->data, from, n, out);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = from + i, row = at / (g->axis * g->inner), step = at / g->inner % g->axis,
                 behind = at % g->inner;
        uint64_t in_row = step / g->block * g->inner + behind;
        float zero = g->half;
        if (g->has_zeros)
            hn_load_f32(&g->zeros, row * g->zero_row + in_row, 1, &zero);
        out[i] = (out[i] - zero) * g->scales[row * g->n_blocks * g->inner + in_row];
    }
}

static hone_status eval_gather_block_quantized(hn_eval *c) {
    const hn_array *data = hn_arg(c, 0), *indices = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    block_gather g;
    int32_t axis;
    float tile[HN_TILE];
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(read_block_gather(c, data, &g));
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "gather_axis", 0), data->rank, &axis));
    hn_split3 sizes = hn_split_at(data->rank, data->dims, axis);
    uint64_t run = (uint64_t)sizes.inner * (g.data.n_elems / HN_MAX(data->n_elems, 1)),
             n_runs = y->n_elems / run;
    for (uint64_t i = 0; i < n_runs; i++) {
        int64_t index;
        hn_load_i64(indices, i % indices->n_elems, 1, &index);
        if (index < -sizes.mid || index >= sizes.mid)
            return hn_eval_fail(c, HONE_E_INVALID,
                                "index %lld lies outside the axis of length %lld", (long long)index,
                                (long long)sizes.mid);
        uint64_t at = (uint64_t)(index < 0 ? index + sizes.mid : index) +
                      i / indices->n_elems * (uint64_t)sizes.mid;
        for (uint64_t done = 0; done < run && !hn_spent(4 * HN_TILE); done += HN_TILE) {
            uint64_t n = HN_MIN(HN_TILE, run - done);
            float *out = y->dtype == HN_F32 ? (float *)y->data + i * run + done : tile;
            (g.inner == 1 ? widen_rows : widen_run)(&g, at * run + done, n, out);
            if (out == tile)
                hn_store_f32(y, i * run + done, n, tile);
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_gather_block_quantized[1] = {{.eval = eval_gather_block_quantized}};
