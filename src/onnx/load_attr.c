/* AttributeProto. */
#include "onnx/load_int.h"

enum { N_ATTR_KINDS = HN_ATTR_TYPES + 1 };

/* Result of the first pass over an attribute. */
typedef struct attr_scan {
    hn_wire message;
    uint64_t type;
    bool has_type;
    uint64_t n_values[N_ATTR_KINDS];
    hn_extra_draft extra;
} attr_scan;

/* The attribute kind of a field. A switch, because tree ensembles have millions of these fields. */
static hn_attr_kind kind_of_field(uint32_t tag) {
    switch (tag) {
    case HN_F_ATTR_F:
        return HN_ATTR_FLOAT;
    case HN_F_ATTR_I:
        return HN_ATTR_INT;
    case HN_F_ATTR_S:
        return HN_ATTR_STRING;
    case HN_F_ATTR_T:
        return HN_ATTR_TENSOR;
    case HN_F_ATTR_G:
        return HN_ATTR_GRAPH;
    case HN_F_ATTR_FLOATS:
    case HN_F_ATTR_FLOATS_PACKED:
        return HN_ATTR_FLOATS;
    case HN_F_ATTR_INTS:
    case HN_F_ATTR_INTS_PACKED:
        return HN_ATTR_INTS;
    case HN_F_ATTR_STRINGS:
        return HN_ATTR_STRINGS;
    case HN_F_ATTR_TENSORS:
        return HN_ATTR_TENSORS;
    case HN_F_ATTR_GRAPHS:
        return HN_ATTR_GRAPHS;
    case HN_F_ATTR_SPARSE_TENSOR:
        return HN_ATTR_SPARSE;
    case HN_F_ATTR_SPARSE_TENSORS:
        return HN_ATTR_SPARSES;
    case HN_F_ATTR_TP:
        return HN_ATTR_TYPE;
    case HN_F_ATTR_TYPE_PROTOS:
        return HN_ATTR_TYPES;
    default:
        return HN_ATTR_UNDEFINED;
    }
}

static uint64_t count_values(const hn_field *f) {
    if (f->tag == HN_F_ATTR_FLOATS_PACKED)
        return f->bytes.n / 4;
    if (f->tag == HN_F_ATTR_INTS_PACKED)
        return hn_wire_count_varints(f->bytes);
    return 1;
}

static hone_status scan_attr(hn_loader *ld, attr_scan *scan, hn_attr *a) {
    hn_wire w = scan->message;
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        switch (f.tag) {
        case HN_F_ATTR_NAME:
            HN_TRY(hn_load_str(ld, f.bytes, &a->name));
            break;
        case HN_F_ATTR_REF_ATTR_NAME:
            HN_TRY(hn_load_str(ld, f.bytes, &a->ref));
            break;
        case HN_F_ATTR_DOC_STRING:
            HN_TRY(hn_load_str(ld, f.bytes, &scan->extra.doc));
            break;
        case HN_F_ATTR_TYPE:
            scan->type = f.number;
            scan->has_type = true;
            break;
        default:
            scan->n_values[kind_of_field(f.tag)] += count_values(&f);
        }
    }
    return status;
}

/* Files of the first IR versions have no type: it follows from the field that is set. */
static hn_attr_kind decide_kind(const attr_scan *scan) {
    if (scan->has_type)
        return scan->type < N_ATTR_KINDS ? (hn_attr_kind)scan->type : HN_ATTR_UNDEFINED;
    for (int kind = HN_ATTR_FLOAT; kind < N_ATTR_KINDS; kind++) {
        if (scan->n_values[kind])
            return (hn_attr_kind)kind;
    }
    return HN_ATTR_UNDEFINED;
}

static bool has_other_value(const attr_scan *scan, const hn_attr *a) {
    for (int kind = HN_ATTR_UNDEFINED; kind < N_ATTR_KINDS; kind++) {
        if (scan->n_values[kind] && (hn_attr_kind)kind != a->kind)
            return true;
    }
    return false;
}

/* Keeps every field verbatim except the name, the value of this kind and what the scan consumed. */
static hone_status keep_rest(hn_loader *ld, attr_scan *scan, const hn_attr *a) {
    hn_wire w = scan->message;
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        bool is_value = !a->ref && a->kind != HN_ATTR_UNDEFINED && kind_of_field(f.tag) == a->kind;
        bool is_type = f.tag == HN_F_ATTR_TYPE && a->kind != HN_ATTR_UNDEFINED;
        bool is_text = f.tag == HN_F_ATTR_NAME || f.tag == HN_F_ATTR_REF_ATTR_NAME ||
                       f.tag == HN_F_ATTR_DOC_STRING;
        if (!is_value && !is_type && !is_text)
            HN_TRY(hn_load_keep(ld, &scan->extra.unknown, f.whole));
    }
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static hone_status load_attr_tensor(hn_loader *ld, hn_bytes message, const hn_tensor **out) {
    hn_tensor *t = HN_NEW(ld->arena, hn_tensor);
    HN_TRY_PTR(t);
    *out = t;
    return hn_load_tensor_proto(ld, message, t);
}

static hone_status load_attr_block(hn_loader *ld, hn_graph *g, hn_id parent, hn_id node,
                                   hn_bytes message, hn_id *out) {
    hn_wire w = hn_load_open(ld, message, "GraphProto");
    HN_TRY(hn_load_enter(ld, &w));
    *out = hn_graph_add_block(g, parent, node);
    if (*out == HN_NONE)
        return HONE_E_NOMEM;
    HN_TRY(hn_load_block(ld, g, *out, message));
    hn_load_leave(ld);
    return HONE_OK;
}

/* Destination of attribute values: a scalar, or the array of a list. */
typedef struct attr_sink {
    hn_graph *g;
    hn_id block, node;
    hn_attr_kind kind;
    void *at;
    uint32_t n;
} attr_sink;

static hone_status load_attr_floats(hn_wire *w, attr_sink *to, const hn_field *f) {
    float *at = (float *)to->at + to->n;
    if (f->tag != HN_F_ATTR_FLOATS_PACKED) {
        uint32_t bits = (uint32_t)f->number;
        memcpy(at, &bits, sizeof(bits));
        to->n++;
        return HONE_OK;
    }
    if (f->bytes.n % 4)
        return hn_wire_fail(w, f->bytes.at, "a packed list of floats has %llu bytes",
                            (unsigned long long)f->bytes.n);
    for (uint64_t i = 0; i < f->bytes.n / 4; i++) {
        uint32_t bits = hn_wire_load32((const uint8_t *)f->bytes.at + 4 * i);
        memcpy(at + i, &bits, sizeof(bits));
    }
    to->n += (uint32_t)(f->bytes.n / 4);
    return HONE_OK;
}

static hone_status load_attr_value(hn_loader *ld, hn_wire *w, attr_sink *to, const hn_field *f) {
    uint32_t i = to->n;
    switch (to->kind) {
    case HN_ATTR_FLOAT:
    case HN_ATTR_FLOATS:
        return load_attr_floats(w, to, f);
    case HN_ATTR_INT:
        ((int64_t *)to->at)[i] = (int64_t)f->number;
        break;
    case HN_ATTR_STRING:
    case HN_ATTR_STRINGS:
        ((hn_bytes *)to->at)[i] = f->bytes;
        break;
    case HN_ATTR_TENSOR:
    case HN_ATTR_TENSORS:
        HN_TRY(load_attr_tensor(ld, f->bytes, (const hn_tensor **)to->at + i));
        break;
    case HN_ATTR_GRAPH:
    case HN_ATTR_GRAPHS:
        HN_TRY(load_attr_block(ld, to->g, to->block, to->node, f->bytes, (hn_id *)to->at + i));
        break;
    case HN_ATTR_SPARSE:
    case HN_ATTR_SPARSES:
        HN_TRY(hn_load_sparse(ld, f->bytes, (const hn_sparse **)to->at + i));
        break;
    case HN_ATTR_TYPE:
    case HN_ATTR_TYPES:
        HN_TRY(hn_load_type(ld, f->bytes, (const hn_type **)to->at + i));
        break;
    case HN_ATTR_INTS: /* read by hn_load_i64s */
    case HN_ATTR_UNDEFINED:
        break;
    }
    to->n++;
    return HONE_OK;
}

static hone_status load_attr_values(hn_loader *ld, const attr_scan *scan, attr_sink to,
                                    bool is_scalar) {
    hn_wire w = scan->message;
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        if (kind_of_field(f.tag) != to.kind)
            continue;
        if (is_scalar)
            to.n = 0; /* repeated: the last one applies */
        HN_TRY(load_attr_value(ld, &w, &to, &f));
    }
    return status;
}

static size_t list_elem_bytes(hn_attr_kind kind) {
    switch (kind) {
    case HN_ATTR_FLOATS:
        return sizeof(float);
    case HN_ATTR_STRINGS:
        return sizeof(hn_bytes);
    case HN_ATTR_GRAPHS:
        return sizeof(hn_id);
    default:
        return sizeof(void *);
    }
}

static hone_status load_attr_list(hn_loader *ld, const attr_scan *scan, attr_sink to, hn_attr *a) {
    uint64_t n = scan->n_values[a->kind];
    if (n > UINT32_MAX)
        return hn_wire_fail(&scan->message, scan->message.at, "attribute '%s' has too many values",
                            hn_s(a->name));
    if (a->kind == HN_ATTR_INTS)
        return hn_load_i64s(ld, scan->message, HN_F_ATTR_INTS, HN_F_ATTR_INTS_PACKED, &a->v.ints,
                            &a->n);
    to.at = hn_arena_calloc(ld->arena, n ? (size_t)n : 1, list_elem_bytes(a->kind));
    HN_TRY_PTR(to.at);
    a->n = (uint32_t)n;
    a->v.strings = to.at;
    return load_attr_values(ld, scan, to, false);
}

static bool attr_is_list(hn_attr_kind kind) {
    return (kind >= HN_ATTR_FLOATS && kind <= HN_ATTR_GRAPHS) || kind == HN_ATTR_SPARSES ||
           kind == HN_ATTR_TYPES;
}

/* Kinds whose value is a message: it must be present exactly once. An omitted number or string has
 * its default. */
static bool attr_is_message(hn_attr_kind kind) {
    return kind == HN_ATTR_TENSOR || kind == HN_ATTR_GRAPH || kind == HN_ATTR_SPARSE ||
           kind == HN_ATTR_TYPE;
}

hone_status hn_load_attr(hn_loader *ld, hn_graph *g, hn_id block, hn_id node, hn_bytes message,
                         hn_attr *out) {
    attr_scan scan = {.message = hn_load_open(ld, message, "AttributeProto")};
    *out = (hn_attr){0};
    HN_TRY(scan_attr(ld, &scan, out));
    if (!out->name)
        HN_TRY(hn_load_str(ld, (hn_bytes){"", 0}, &out->name));
    out->kind = decide_kind(&scan);
    out->is_kind_implied = !scan.has_type && out->kind != HN_ATTR_UNDEFINED;
    out->has_other_value = has_other_value(&scan, out);
    if (out->has_other_value || out->ref || out->kind == HN_ATTR_UNDEFINED)
        HN_TRY(keep_rest(ld, &scan, out));
    HN_TRY(hn_load_extra(ld, &scan.extra, &out->extra));
    if (out->ref || out->kind == HN_ATTR_UNDEFINED)
        return HONE_OK;
    attr_sink sink = {.g = g, .block = block, .node = node, .kind = out->kind, .at = &out->v};
    if (attr_is_list(out->kind))
        return load_attr_list(ld, &scan, sink, out);
    out->n = 1;
    if (attr_is_message(out->kind) && scan.n_values[out->kind] != 1)
        return hn_wire_fail(&scan.message, scan.message.at,
                            "attribute '%s' is of a kind with one message but has %llu",
                            out->name->s, (unsigned long long)scan.n_values[out->kind]);
    return load_attr_values(ld, &scan, sink, true);
}
