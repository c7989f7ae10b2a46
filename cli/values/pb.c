/* Reads and writes serialized TensorProto, SequenceProto and OptionalProto, the format of ONNX test
 * data. */
#include "cli_value.h"

#include <string.h>

hone_value *cli_pb_parse(const cli_buffer *file, const char *path, hone_type_kind kind,
                         hone_error *error) {
    hone_value *v = NULL;
    hone_error inner;
    if (hone_value_parse(file->at, file->n, kind == HONE_TYPE_UNKNOWN ? HONE_TYPE_TENSOR : kind, &v,
                         &inner) != HONE_OK)
        cli_refuse(error, "'%s': %s", path, inner.message);
    return v;
}

/* Field numbers of the messages. */
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_STRINGS = 6, TENSOR_RAW = 9 };
enum { SEQUENCE_TYPE = 2, SEQUENCE_TENSORS = 3, SEQUENCE_SEQUENCES = 5 };
enum { KIND_TENSOR = 1, KIND_SEQUENCE = 3 }; /* values of elem_type */
enum { ELEM_STRING_PB = 8 };

static void put_varint(cli_buffer *out, uint64_t v) {
    for (; v > 0x7f; v >>= 7)
        cli_buffer_number(out, (v & 0x7f) | 0x80, 1);
    cli_buffer_number(out, v, 1);
}

void cli_pb_int(cli_buffer *out, unsigned field, uint64_t v) {
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, v);
}

void cli_pb_bytes(cli_buffer *out, unsigned field, const void *data, size_t n) {
    put_varint(out, (uint64_t)field << 3 | 2);
    put_varint(out, n);
    cli_buffer_add(out, data, n);
}

static void put_strings(const hone_value *v, unsigned field, cli_buffer *out) {
    const char *text;
    size_t n;
    for (uint64_t i = 0; hone_value_string(v, i, &text, &n); i++)
        cli_pb_bytes(out, field, text, n);
}

static void put_tensor(const hone_value *v, const hone_tensor_info *t, cli_buffer *out) {
    for (int32_t i = 0; i < t->rank; i++)
        cli_pb_int(out, TENSOR_DIMS, (uint64_t)t->dims[i]);
    cli_pb_int(out, TENSOR_TYPE, (uint64_t)t->elem_type);
    if (t->elem_type == ELEM_STRING_PB)
        put_strings(v, TENSOR_STRINGS, out);
    else
        cli_pb_bytes(out, TENSOR_RAW, t->data, (size_t)t->data_bytes);
}

static void put_value(const hone_value *v, cli_buffer *out);

static void put_message(const hone_value *v, unsigned field, cli_buffer *out) {
    cli_buffer inner = {0};
    put_value(v, &inner);
    cli_pb_bytes(out, field, inner.at, inner.n);
    out->failed |= inner.failed;
    cli_buffer_free(&inner);
}

static void put_sequence(const hone_value *v, cli_buffer *out) {
    uint32_t n = hone_value_n_items(v);
    const hone_value *first = n ? hone_value_item(v, 0) : NULL;
    bool holds_tensors = !first || hone_value_kind(first) == HONE_TYPE_TENSOR;
    unsigned field = holds_tensors ? SEQUENCE_TENSORS : SEQUENCE_SEQUENCES;
    cli_pb_int(out, SEQUENCE_TYPE, holds_tensors ? KIND_TENSOR : KIND_SEQUENCE);
    for (uint32_t i = 0; i < n; i++)
        put_message(hone_value_item(v, i), field, out);
}

/* Only sequences and tensors are written, no maps. */
static bool can_put(const hone_value *v) {
    bool ok = hone_value_kind(v) != HONE_TYPE_MAP;
    for (uint32_t i = 0; ok && i < hone_value_n_items(v); i++)
        ok = can_put(hone_value_item(v, i));
    return ok;
}

static void put_value(const hone_value *v, cli_buffer *out) {
    hone_tensor_info t;
    if (hone_value_tensor(v, &t))
        put_tensor(v, &t, out);
    else if (hone_value_kind(v) == HONE_TYPE_SEQUENCE)
        put_sequence(v, out);
}

bool cli_pb_print(const hone_value *v, cli_buffer *out, hone_error *error) {
    if (!can_put(v))
        return cli_refuse(error, "a map does not fit into a .pb file; write .json");
    put_value(v, out);
    return out->failed ? cli_refuse(error, "out of memory") : true;
}
