#include "damage/proto_tree.h"

enum { MAX_DECODE_DEPTH = 40 };

/* Which fields hold messages. */
static const struct {
    proto_kind parent;
    uint32_t tag;
    proto_kind child;
} nested[] = {
    {PROTO_MODEL, HN_F_MODEL_GRAPH, PROTO_GRAPH},
    {PROTO_MODEL, HN_F_MODEL_OPSET_IMPORT, PROTO_OPSET},
    {PROTO_MODEL, HN_F_MODEL_METADATA_PROPS, PROTO_ENTRY},
    {PROTO_MODEL, HN_F_MODEL_FUNCTIONS, PROTO_FUNCTION},
    {PROTO_GRAPH, HN_F_GRAPH_NODE, PROTO_NODE},
    {PROTO_GRAPH, HN_F_GRAPH_INITIALIZER, PROTO_TENSOR},
    {PROTO_GRAPH, HN_F_GRAPH_INPUT, PROTO_VALUE},
    {PROTO_GRAPH, HN_F_GRAPH_OUTPUT, PROTO_VALUE},
    {PROTO_GRAPH, HN_F_GRAPH_VALUE_INFO, PROTO_VALUE},
    {PROTO_GRAPH, HN_F_GRAPH_QUANTIZATION_ANNOTATION, PROTO_ANNOTATION},
    {PROTO_GRAPH, HN_F_GRAPH_SPARSE_INITIALIZER, PROTO_SPARSE},
    {PROTO_GRAPH, HN_F_GRAPH_METADATA_PROPS, PROTO_ENTRY},
    {PROTO_FUNCTION, HN_F_FUNCTION_NODE, PROTO_NODE},
    {PROTO_FUNCTION, HN_F_FUNCTION_OPSET_IMPORT, PROTO_OPSET},
    {PROTO_FUNCTION, HN_F_FUNCTION_ATTRIBUTE_PROTO, PROTO_ATTR},
    {PROTO_FUNCTION, HN_F_FUNCTION_VALUE_INFO, PROTO_VALUE},
    {PROTO_NODE, HN_F_NODE_ATTRIBUTE, PROTO_ATTR},
    {PROTO_NODE, HN_F_NODE_METADATA_PROPS, PROTO_ENTRY},
    {PROTO_ATTR, HN_F_ATTR_T, PROTO_TENSOR},
    {PROTO_ATTR, HN_F_ATTR_G, PROTO_GRAPH},
    {PROTO_ATTR, HN_F_ATTR_TENSORS, PROTO_TENSOR},
    {PROTO_ATTR, HN_F_ATTR_GRAPHS, PROTO_GRAPH},
    {PROTO_ATTR, HN_F_ATTR_TP, PROTO_TYPE},
    {PROTO_ATTR, HN_F_ATTR_TYPE_PROTOS, PROTO_TYPE},
    {PROTO_ATTR, HN_F_ATTR_SPARSE_TENSOR, PROTO_SPARSE},
    {PROTO_ATTR, HN_F_ATTR_SPARSE_TENSORS, PROTO_SPARSE},
    {PROTO_VALUE, HN_F_VALUE_TYPE, PROTO_TYPE},
    {PROTO_ANNOTATION, HN_F_ANNOTATION_PARAMETERS, PROTO_ENTRY},
    {PROTO_TENSOR, HN_F_TENSOR_EXTERNAL_DATA, PROTO_ENTRY},
    {PROTO_SPARSE, HN_F_SPARSE_VALUES, PROTO_TENSOR},
    {PROTO_SPARSE, HN_F_SPARSE_INDICES, PROTO_TENSOR},
    {PROTO_TYPE, HN_F_TYPE_TENSOR, PROTO_TENSOR_TYPE},
    {PROTO_TYPE, HN_F_TYPE_SEQUENCE, PROTO_SEQUENCE_TYPE},
    {PROTO_TYPE, HN_F_TYPE_MAP, PROTO_MAP_TYPE},
    {PROTO_TYPE, HN_F_TYPE_OPAQUE, PROTO_OPAQUE_TYPE},
    {PROTO_TYPE, HN_F_TYPE_SPARSE, PROTO_TENSOR_TYPE},
    {PROTO_TYPE, HN_F_TYPE_OPTIONAL, PROTO_SEQUENCE_TYPE},
    {PROTO_TENSOR_TYPE, HN_F_TENSOR_TYPE_SHAPE, PROTO_SHAPE},
    {PROTO_SEQUENCE_TYPE, HN_F_SEQUENCE_TYPE_ELEM_TYPE, PROTO_TYPE},
    {PROTO_MAP_TYPE, HN_F_MAP_TYPE_VALUE_TYPE, PROTO_TYPE},
    {PROTO_SHAPE, HN_F_SHAPE_DIM, PROTO_DIM},
};

static proto_kind child_kind(proto_kind parent, uint32_t tag) {
    for (size_t i = 0; i < HN_COUNT(nested); i++)
        if (nested[i].parent == parent && nested[i].tag == tag)
            return nested[i].child;
    return PROTO_ANY;
}

/* ---- reading --------------------------------------------------------------------------------- */

static proto_message *decode(hn_arena *arena, hn_bytes bytes, proto_kind kind, int depth) {
    hn_wire w = {.at = bytes.at, .end = (const uint8_t *)bytes.at + bytes.n, .file = bytes.at};
    proto_message *m = depth < MAX_DECODE_DEPTH ? proto_new(arena, kind) : NULL;
    hn_field f;
    hone_status status = HONE_OK;
    while (m && hn_wire_next(&w, &f, &status)) {
        proto_field *to = proto_add(arena, m, f.tag);
        if (!to)
            return NULL;
        to->number = f.number;
        to->bytes = f.bytes;
        proto_kind child = child_kind(kind, f.tag);
        if (child != PROTO_ANY && !(to->message = decode(arena, f.bytes, child, depth + 1)))
            return NULL;
    }
    return status == HONE_OK ? m : NULL;
}

proto_message *proto_decode(hn_arena *arena, hn_bytes bytes) {
    return decode(arena, bytes, PROTO_MODEL, 0);
}

/* ---- building -------------------------------------------------------------------------------- */

proto_message *proto_new(hn_arena *arena, proto_kind kind) {
    proto_message *m = HN_NEW(arena, proto_message);
    if (m)
        m->kind = kind;
    return m;
}

proto_message *proto_copy(hn_arena *arena, const proto_message *from) {
    proto_message *to = proto_new(arena, from->kind);
    for (uint32_t i = 0; to && i < from->fields.n; i++) {
        proto_field f = from->fields.at[i];
        if (f.message && !(f.message = proto_copy(arena, f.message)))
            return NULL;
        if (!HN_VEC_PUSH(arena, &to->fields, f))
            return NULL;
    }
    return to;
}

proto_field *proto_add(hn_arena *arena, proto_message *to, uint32_t tag) {
    proto_field f = {.tag = tag};
    return HN_VEC_PUSH(arena, &to->fields, f) ? &to->fields.at[to->fields.n - 1] : NULL;
}

proto_message *proto_add_message(hn_arena *arena, proto_message *to, uint32_t tag,
                                 proto_kind kind) {
    proto_field *f = proto_add(arena, to, tag);
    return f ? f->message = proto_new(arena, kind) : NULL;
}

void proto_add_text(hn_arena *arena, proto_message *to, uint32_t tag, const char *text) {
    proto_field *f = proto_add(arena, to, tag);
    size_t n = strlen(text);
    const char *copy = hn_arena_copy(arena, text, n);
    if (f && copy)
        f->bytes = (hn_bytes){copy, n};
}

void proto_add_number(hn_arena *arena, proto_message *to, uint32_t tag, uint64_t number) {
    proto_field *f = proto_add(arena, to, tag);
    if (f)
        f->number = number;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Written from the end to the start, so that the length of a message is known when its turn comes.
 */
typedef struct back_buffer {
    uint8_t *at; /* `free` bytes, then what was written */
    size_t free;
    bool is_full;
} back_buffer;

static void put_before(back_buffer *b, const void *data, size_t n) {
    if (n > b->free) {
        b->is_full = true;
        return;
    }
    b->free -= n;
    if (n)
        memcpy(b->at + b->free, data, n);
}

static void put_varint_before(back_buffer *b, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7)
        bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    put_before(b, bytes, n);
}

static void encode(back_buffer *b, const proto_message *m);

static void encode_payload(back_buffer *b, const proto_field *f) {
    size_t end = b->free;
    uint8_t le[8];
    for (int i = 0; i < 8; i++)
        le[i] = (uint8_t)(f->number >> (8 * i));
    switch (f->tag & 7) {
    case HN_WIRE_VARINT:
        put_varint_before(b, f->number);
        break;
    case HN_WIRE_FIXED32:
        put_before(b, le, 4);
        break;
    case HN_WIRE_FIXED64:
        put_before(b, le, 8);
        break;
    default: /* groups, too, carry whatever they have */
        if (f->message)
            encode(b, f->message);
        else
            put_before(b, f->bytes.at, (size_t)f->bytes.n);
    }
    if ((f->tag & 7) == HN_WIRE_LEN)
        put_varint_before(b, f->false_length ? f->false_length : end - b->free);
}

static void encode(back_buffer *b, const proto_message *m) {
    for (uint32_t i = m->fields.n; i-- > 0 && !b->is_full;) {
        encode_payload(b, &m->fields.at[i]);
        put_varint_before(b, m->fields.at[i].tag);
    }
}

bool proto_encode(hn_arena *arena, const proto_message *message, size_t max_bytes, hn_bytes *out) {
    back_buffer b = {.at = hn_arena_alloc(arena, max_bytes), .free = max_bytes};
    if (!b.at)
        return false;
    encode(&b, message);
    *out = (hn_bytes){b.at + b.free, max_bytes - b.free};
    return !b.is_full;
}
