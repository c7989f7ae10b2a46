/* Moving elements of any type: whole bytes, strings that are copied, and elements packed into bits.
 */
#include "ops/eval/copy.h"
#include "cpu/kernels/elementwise/typed_pairs.h"

/* ---- single elements and runs ---------------------------------------------------------------- */

static void move_packed(hn_array *to, uint64_t at, const hn_array *from, uint64_t first) {
    int bits = hn_dtype_bits(to->dtype);
    hn_pack_int(to->data, at, bits, hn_unpack_int(from->data, first, bits, false));
}

static hone_status move_string(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                               uint64_t first) {
    const hn_bytes *s = (const hn_bytes *)from->data + first;
    return hn_array_set_string(c, to, at, s->at, s->n);
}

hone_status hn_copy_run(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from, uint64_t first,
                        uint64_t n) {
    size_t bytes = hn_elem_bytes(to->dtype);
    if (n == 0)
        return HONE_OK;
    if (hn_spent(4 + n / 8))
        return HONE_E_CANCELLED;
    if (to->dtype == HN_STRING) {
        for (uint64_t i = 0; i < n; i++)
            HN_TRY(move_string(c, to, at + i, from, first + i));
    } else if (hn_array_is_packed(to)) {
        for (uint64_t i = 0; i < n; i++)
            move_packed(to, at + i, from, first + i);
    } else {
        memcpy((uint8_t *)to->data + at * bytes, (const uint8_t *)from->data + first * bytes,
               (size_t)n * bytes);
    }
    return HONE_OK;
}

/* The first element again and again: what is there doubles until it is enough. */
static void repeat_first(uint8_t *to, size_t elem_bytes, size_t n_bytes) {
    for (size_t done = elem_bytes; done < n_bytes; done *= 2)
        memcpy(to + done, to, HN_MIN(done, n_bytes - done));
}

void hn_fill_elems(uint8_t *to, uint64_t n, size_t elem_bytes, const void *value) {
    enum { FEW_ELEMS = 8 };
#define FILL_LOOP(B)               \
  for (uint64_t i = 0; i < n; i++) \
    memcpy(to + i * B, value, B);
    if (!value) {
        memset(to, 0, (size_t)n * elem_bytes);
    } else if (n <= FEW_ELEMS) {
        HN_FOR_ELEM_BYTES(elem_bytes, FILL_LOOP)
    } else if (elem_bytes <= sizeof(uint64_t)) {
        hn_repeat_element(value, elem_bytes, n, to);
    } else {
        memcpy(to, value, elem_bytes);
        repeat_first(to, elem_bytes, (size_t)n * elem_bytes);
    }
#undef FILL_LOOP
}

hone_status hn_copy_fill(hn_eval *c, hn_array *to, uint64_t at, uint64_t n, const hn_array *value) {
    enum { FILLED_AT_ONCE = 1 << 18 };
    size_t bytes = hn_is_whole_bytes(to->dtype) ? hn_elem_bytes(to->dtype) : 0;
    for (uint64_t done = 0; bytes && done < n; done += FILLED_AT_ONCE) {
        uint64_t part = HN_MIN(n - done, FILLED_AT_ONCE);
        if (hn_spent(4 + part / 8))
            return HONE_E_CANCELLED;
        hn_fill_elems((uint8_t *)to->data + (at + done) * bytes, part, bytes,
                      value ? value->data : NULL);
    }
    for (uint64_t i = 0; !bytes && i < n; i++) {
        if (value)
            HN_TRY(hn_copy_run(c, to, at + i, value, 0, 1));
        else if (to->dtype == HN_STRING)
            HN_TRY(hn_array_set_string(c, to, at + i, NULL, 0));
        else if (!hn_spent(2))
            hn_pack_int(to->data, at + i, hn_dtype_bits(to->dtype), 0);
    }
    return HONE_OK;
}

/* Runs whose size is that of some element; starts are counted in elements of elem_bytes. */
static void move_short_runs(uint8_t *to, const uint8_t *from, size_t run_bytes, int64_t elem_bytes,
                            uint64_t n, const int64_t *starts) {
#define LISTED_LOOP(B)             \
  for (uint64_t i = 0; i < n; i++) \
    memcpy(to + i * B, from + starts[i] * elem_bytes, B);
    HN_FOR_ELEM_BYTES(run_bytes, LISTED_LOOP)
#undef LISTED_LOOP
}

hone_status hn_copy_listed(hn_eval *c, hn_array *to, uint64_t at, const hn_array *from,
                           int64_t first, uint64_t run, uint64_t n, const int64_t *starts) {
    size_t bytes = hn_elem_bytes(to->dtype);
    if (to->dtype == HN_STRING || hn_array_is_packed(to)) {
        for (uint64_t i = 0; i < n; i++)
            HN_TRY(hn_copy_run(c, to, at + i * run, from, (uint64_t)(first + starts[i]), run));
        return HONE_OK;
    }
    if (n == 0 || run == 0)
        return HONE_OK;
    if (hn_spent(n + n * run / 8))
        return HONE_E_CANCELLED;
    uint8_t *out = (uint8_t *)to->data + at * bytes;
    const uint8_t *in = (const uint8_t *)from->data + first * (int64_t)bytes;
    size_t run_bytes = (size_t)run * bytes;
    if (run == 1 || run_bytes == 8 || run_bytes == 16) {
        move_short_runs(out, in, run_bytes, (int64_t)bytes, n, starts);
        return HONE_OK;
    }
    for (uint64_t i = 0; i < n; i++)
        memcpy(out + i * run_bytes, in + starts[i] * (int64_t)bytes, run_bytes);
    return HONE_OK;
}

/* ---- what the movers read -------------------------------------------------------------------- */

bool hn_list_arg(hn_eval *c, const char *attr, uint32_t arg, uint32_t *n, const int64_t **out) {
    const hn_array *a = arg == HN_NO_ARG ? NULL : hn_arg(c, arg);
    if (!a)
        return hn_attr_ints(hn_eval_node(c), attr, n, out);
    int64_t *list =
        a->n_elems < UINT32_MAX ? hn_eval_scratch(c, (a->n_elems + 1) * sizeof *list) : NULL;
    *n = list ? (uint32_t)a->n_elems : 0;
    *out = list;
    if (list)
        hn_load_i64(a, 0, *n, list);
    return true;
}

hone_status hn_axis_of(hn_eval *c, int64_t axis, int32_t rank, int32_t *out) {
    if (axis < -rank || axis >= rank)
        return hn_eval_fail(c, HONE_E_SHAPE, "axis is %lld, but must lie in [%d, %d)",
                            (long long)axis, -rank, rank);
    *out = (int32_t)(axis < 0 ? axis + rank : axis);
    return HONE_OK;
}

hone_status hn_fail_index(hone_error *err, int64_t index, int64_t size) {
    return hn_fail(err, HONE_E_INVALID, "index %lld is out of range for an axis of %lld elements",
                   (long long)index, (long long)size);
}

hn_split3 hn_split_at(int32_t rank, const int64_t *dims, int32_t axis) {
    return (hn_split3){(int64_t)hn_count(axis, dims), dims[axis],
                       (int64_t)hn_count(rank - axis - 1, dims + axis + 1)};
}
