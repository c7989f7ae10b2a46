/* SequenceProto and OptionalProto of test data sets (onnx-data.proto). */
#include "onnx/load_int.h"

/* Field numbers of both messages that carry content, and the kind of value in it. */
enum {
    SEQUENCE_TENSORS = 3,
    SEQUENCE_SEQUENCES = 5,
    OPTIONAL_TENSOR = 3,
    OPTIONAL_SEQUENCE = 5,
    OPTIONAL_OPTIONAL = 7
};

static hone_status load_parsed(hn_loader *ld, hn_bytes bytes, hn_type_kind kind, hn_parsed *out);

static uint32_t field_number(const hn_field *f) {
    return f->tag >> 3;
}

static hone_status load_sequence(hn_loader *ld, hn_bytes bytes, hn_parsed *out) {
    hn_wire w = hn_load_open(ld, bytes, "SequenceProto");
    hn_field f;
    hone_status status;
    HN_VEC(hn_parsed) items = {0};
    out->kind = HN_TYPE_SEQUENCE;
    while (hn_wire_next(&w, &f, &status)) {
        hn_type_kind kind = field_number(&f) == SEQUENCE_TENSORS     ? HN_TYPE_TENSOR
                            : field_number(&f) == SEQUENCE_SEQUENCES ? HN_TYPE_SEQUENCE
                                                                     : HN_TYPE_NONE;
        hn_parsed item = {0};
        if (kind == HN_TYPE_NONE || !f.bytes.at)
            continue;
        HN_TRY(load_parsed(ld, f.bytes, kind, &item));
        if (!HN_VEC_PUSH(ld->arena, &items, item))
            return HONE_E_NOMEM;
    }
    out->items = items.at;
    out->n_items = items.n;
    return status;
}

static hone_status load_optional(hn_loader *ld, hn_bytes bytes, hn_parsed *out) {
    hn_wire w = hn_load_open(ld, bytes, "OptionalProto");
    hn_field f;
    hone_status status;
    out->kind = HN_TYPE_OPTIONAL;
    while (hn_wire_next(&w, &f, &status)) {
        uint32_t number = field_number(&f);
        hn_type_kind kind = number == OPTIONAL_TENSOR     ? HN_TYPE_TENSOR
                            : number == OPTIONAL_SEQUENCE ? HN_TYPE_SEQUENCE
                            : number == OPTIONAL_OPTIONAL ? HN_TYPE_OPTIONAL
                                                          : HN_TYPE_NONE;
        if (kind != HN_TYPE_NONE && f.bytes.at)
            HN_TRY(load_parsed(ld, f.bytes, kind, out));
    }
    return status;
}

/* Nesting is limited like that of any message. */
static hone_status load_parsed(hn_loader *ld, hn_bytes bytes, hn_type_kind kind, hn_parsed *out) {
    hn_wire w = hn_load_open(ld, bytes, "value");
    HN_TRY(hn_load_enter(ld, &w));
    hone_status status;
    switch (kind) {
    case HN_TYPE_SEQUENCE:
        status = load_sequence(ld, bytes, out);
        break;
    case HN_TYPE_OPTIONAL:
        status = load_optional(ld, bytes, out);
        break;
    default:
        out->kind = HN_TYPE_TENSOR;
        status = hn_load_tensor_proto(ld, bytes, &out->tensor);
    }
    hn_load_leave(ld);
    return status;
}

hone_status hn_load_value(hn_arena *a, hn_strtab *names, hn_bytes bytes, hn_type_kind kind,
                          hn_parsed *out, hone_error *err) {
    hn_loader ld = {.arena = a,
                    .names = names,
                    .file = bytes.at,
                    .max_depth = 64,
                    .skip_external = true,
                    .err = err};
    *out = (hn_parsed){0};
    HN_TRY(load_parsed(&ld, bytes, kind, out));
    uint64_t need = 0;
    const hn_tensor *t = &out->tensor;
    bool is_short = out->kind == HN_TYPE_TENSOR && t->dtype != HN_STRING &&
                    (!hn_dtype_bytes(t->dtype, t->n_elems, &need) || need > t->data_bytes);
    return is_short ? hn_fail(err, HONE_E_FORMAT, "the tensor has less data than its shape needs")
                    : HONE_OK;
}
