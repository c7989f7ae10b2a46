/* Shared by the files of the loader. */
#ifndef HN_LOAD_INT_H
#define HN_LOAD_INT_H

#include "onnx/onnx.h"
#include "onnx/wire.h"

/* State of one load. */
typedef struct hn_loader {
    hn_arena *arena;
    hn_strtab *names;
    hn_model *model;     /* NULL when a single tensor is read */
    const uint8_t *file; /* first byte of the file, for offsets in messages */
    uint32_t depth, max_depth;
    const char *folder; /* of external data; NULL: there is none */
    hn_map_mode map_mode;
    bool skip_external;
    void (*skipped)(void *ctx, const char *location);
    void *skipped_ctx;
    hn_map data_files; /* id of a location -> index into model->maps */
    hone_error *err;
} hn_loader;

/* The fields of one message. */
hn_wire hn_load_open(const hn_loader *ld, hn_bytes message, const char *name);
/* Refuses nesting beyond the limit; call hn_load_leave on the way out when it succeeded. */
hone_status hn_load_enter(hn_loader *ld, const hn_wire *w);
void hn_load_leave(hn_loader *ld);

hone_status hn_load_str(hn_loader *ld, hn_bytes text, hn_str *out);
/* All numbers of one repeated field, packed or not. */
hone_status hn_load_i64s(hn_loader *ld, hn_wire message, uint32_t tag, uint32_t packed_tag,
                         const int64_t **out, uint32_t *n);
/* Dimensions of a tensor: >= 0, and their product fits. */
hone_status hn_load_dims(hn_loader *ld, hn_wire message, uint32_t tag, uint32_t packed_tag,
                         const int64_t **dims, int32_t *rank, uint64_t *n_elems);

/* Collects wire fields verbatim: a view while they are adjacent in the file, else a copy that grows
 * geometrically. */
typedef struct hn_keep {
    uint8_t *at;
    uint64_t n, cap; /* cap 0: a view */
} hn_keep;
hone_status hn_load_keep(hn_loader *ld, hn_keep *k, hn_bytes field);
static inline hn_bytes hn_keep_bytes(const hn_keep *k) {
    return (hn_bytes){k->at, k->n};
}

/* The rare parts of a message while it is read. */
typedef struct hn_extra_draft {
    hn_str doc, overload;
    hn_props props;
    hn_keep unknown;
} hn_extra_draft;
/* A StringStringEntryProto; one with fields beyond key and value is kept verbatim instead. */
hone_status hn_load_prop(hn_loader *ld, const hn_field *f, hn_props *props, hn_keep *unknown);
/* *out is NULL when there are none. */
hone_status hn_load_extra(hn_loader *ld, const hn_extra_draft *draft, const hn_extra **out);

hone_status hn_load_type(hn_loader *ld, hn_bytes message, const hn_type **out);
hone_status hn_load_tensor_proto(hn_loader *ld, hn_bytes message, hn_tensor *out);
hone_status hn_load_sparse(hn_loader *ld, hn_bytes message, const hn_sparse **out);
/* Where a mapped file lies, so that it can be looked at again. */
hone_status hn_load_remember_path(const char *folder, const char *name, hn_arena *arena,
                                  hn_filemap *map);
/* Gives an external tensor its data. */
hone_status hn_load_external(hn_loader *ld, hn_tensor *t);
/* Graph-valued attributes become blocks inside `block`, owned by `node`. */
hone_status hn_load_attr(hn_loader *ld, hn_graph *g, hn_id block, hn_id node, hn_bytes message,
                         hn_attr *out);
/* The fields of a GraphProto become those of an empty block. */
hone_status hn_load_block(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message);
/* All nodes of a GraphProto or FunctionProto: first their outputs, then their inputs and
 * attributes. */
hone_status hn_load_nodes(hn_loader *ld, hn_graph *g, hn_id block, hn_wire message,
                          uint32_t node_tag);
/* A ValueInfoProto of the block's value_info list. */
hone_status hn_load_value_info(hn_loader *ld, hn_graph *g, hn_id block, hn_bytes message);
/* The value that a name refers to in a block; an undefined one is created there. */
hone_status hn_load_lookup(hn_graph *g, hn_id block, hn_str name, hn_id *out);
hone_status hn_load_opset(hn_loader *ld, hn_bytes message, hn_opsets *opsets);
hone_status hn_load_function(hn_loader *ld, hn_bytes message);

#endif /* HN_LOAD_INT_H */
