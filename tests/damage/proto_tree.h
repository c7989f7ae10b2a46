/* An ONNX file as a tree of protobuf fields that can be changed at will and written back, right or
 * wrong. */
#ifndef TEST_PROTO_TREE_H
#define TEST_PROTO_TREE_H

#include "onnx/wire.h"

typedef enum proto_kind { /* message types, as fields.def names them */
                          PROTO_MODEL,
                          PROTO_OPSET,
                          PROTO_ENTRY,
                          PROTO_GRAPH,
                          PROTO_FUNCTION,
                          PROTO_NODE,
                          PROTO_ATTR,
                          PROTO_VALUE,
                          PROTO_ANNOTATION,
                          PROTO_TENSOR,
                          PROTO_SPARSE,
                          PROTO_TYPE,
                          PROTO_TENSOR_TYPE,
                          PROTO_SEQUENCE_TYPE,
                          PROTO_MAP_TYPE,
                          PROTO_OPAQUE_TYPE,
                          PROTO_SHAPE,
                          PROTO_DIM,
                          PROTO_KIND_COUNT,
                          PROTO_ANY = PROTO_KIND_COUNT
} proto_kind;

typedef struct proto_message proto_message;

typedef struct proto_field {
    uint32_t tag;           /* as hn_field has it */
    uint64_t number;        /* VARINT, FIXED32, FIXED64 */
    hn_bytes bytes;         /* LEN that is no message */
    proto_message *message; /* LEN that is one; NULL otherwise */
    uint64_t false_length;  /* written instead of the true length; 0: the truth */
} proto_field;

struct proto_message {
    proto_kind kind;
    HN_VEC(proto_field) fields;
};

/* NULL when the bytes are no protobuf, are nested too deep, or memory ran out. Points into `bytes`.
 */
proto_message *proto_decode(hn_arena *arena, hn_bytes bytes);
proto_message *proto_new(hn_arena *arena, proto_kind kind);
/* Field and bytes are shared, messages are copied. */
proto_message *proto_copy(hn_arena *arena, const proto_message *from);

/* Appending returns the field, to be filled further; NULL when out of memory. */
proto_field *proto_add(hn_arena *arena, proto_message *to, uint32_t tag);
proto_message *proto_add_message(hn_arena *arena, proto_message *to, uint32_t tag, proto_kind kind);
void proto_add_text(hn_arena *arena, proto_message *to, uint32_t tag, const char *text);
void proto_add_number(hn_arena *arena, proto_message *to, uint32_t tag, uint64_t number);

/* In the arena. False when the result passes `max_bytes`. */
bool proto_encode(hn_arena *arena, const proto_message *message, size_t max_bytes, hn_bytes *out);

static inline bool proto_is_text(const proto_field *f) {
    return (f->tag & 7) == HN_WIRE_LEN && !f->message;
}

#endif
