/* The protobuf wire format: a bounds-checked zero-copy reader, and a writer that measures before it
 * writes. */
#ifndef HN_WIRE_H
#define HN_WIRE_H

#include "base/base.h"

typedef enum hn_wire_type {
    HN_WIRE_VARINT = 0,
    HN_WIRE_FIXED64 = 1,
    HN_WIRE_LEN = 2,
    HN_WIRE_GROUP = 3,
    HN_WIRE_GROUP_END = 4,
    HN_WIRE_FIXED32 = 5
} hn_wire_type;

enum {
#define X(message, field, number, type) HN_F_##message##_##field = ((number) << 3) | HN_WIRE_##type,
#include "onnx/fields.def"
#undef X
    HN_LOCATION_EXTERNAL = 1 /* value of data_location */
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads the fields of one message in order. `file` is where byte offsets in error messages are
 * counted from. */
typedef struct hn_wire {
    const uint8_t *at, *end;
    const uint8_t *file;
    const char *message; /* "GraphProto" */
    hone_error *err;
} hn_wire;

/* One field. Everything points into the message. */
typedef struct hn_field {
    uint32_t tag; /* number << 3 | wire type: compare with the HN_F_<message>_<field> constants */
    uint64_t number; /* VARINT, FIXED32, FIXED64: the value's bits */
    hn_bytes bytes;  /* LEN: the payload */
    hn_bytes whole;  /* tag and payload */
} hn_field;

/* Moves to the next field. False at the end of the message and on an error; see *status. */
bool hn_wire_next(hn_wire *w, hn_field *out, hone_status *status);
/* One varint of packed data; false when it is truncated or longer than 10 bytes. */
bool hn_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out);
/* How many varints end inside the bytes. */
uint64_t hn_wire_count_varints(hn_bytes packed);
/* Fails with HONE_E_FORMAT at the given place of the file: "at byte 12: ...". */
hone_status hn_wire_fail(const hn_wire *w, const void *where, const char *fmt, ...) HN_PRINTF(3, 4);
uint32_t hn_wire_load32(const void *at); /* little-endian, any alignment */
uint64_t hn_wire_load64(const void *at);

/* ---- writing --------------------------------------------------------------------------------- */

typedef enum hn_out_mode { HN_OUT_MEASURE, HN_OUT_FILE, HN_OUT_MEMORY } hn_out_mode;

/* The same code traverses a message twice: first it measures and records the sizes of all nested
 * messages in order, then it writes the bytes. The first failure is kept in `status`; later calls
 * do nothing. */
typedef struct hn_wire_out {
    hn_out_mode mode;
    hone_status status;
    hone_error *err;
    uint64_t n_bytes;       /* measured or written so far */
    HN_VEC(uint64_t) sizes; /* of nested messages, in the order they begin */
    hn_arena *arena;        /* for `sizes`; NULL: measure the total alone */
    uint32_t next_size;
    hn_outfile *file;
    uint8_t *memory; /* HN_OUT_MEMORY: the destination */
    uint64_t memory_bytes;
    /* Called after each write to the file; a failure stops writing. May be NULL. */
    hone_status (*written)(void *ctx, uint64_t n);
    void *written_ctx;
} hn_wire_out;

/* Write a nested message between these two calls. Pass the return value of begin to end. */
typedef struct hn_wire_scope {
    uint64_t start;
    uint32_t slot;
    uint32_t tag;
} hn_wire_scope;
hn_wire_scope hn_out_begin(hn_wire_out *w, uint32_t tag);
void hn_out_end(hn_wire_out *w, hn_wire_scope scope);
void hn_out_varint(hn_wire_out *w, uint32_t tag, uint64_t v);
void hn_out_fixed32(hn_wire_out *w, uint32_t tag, uint32_t v);
/* Tag, length, bytes. */
void hn_out_len(hn_wire_out *w, uint32_t tag, const void *data, uint64_t n);
/* The same for a string; nothing when it is absent. */
void hn_out_str(hn_wire_out *w, uint32_t tag, hn_str s);
/* Bytes that are in wire format already. */
void hn_out_raw(hn_wire_out *w, const void *data, uint64_t n);
int hn_out_varint_bytes(uint64_t v);

#endif /* HN_WIRE_H */
