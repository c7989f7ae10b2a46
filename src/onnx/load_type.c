/* TypeProto. */
#include "onnx/load_int.h"

/* A type while it is read. `is_odd`: hn_type cannot represent it, so its bytes are kept for saving.
 */
typedef struct type_draft {
    hn_type type;
    bool is_odd;
} type_draft;

static void load_elem(type_draft *d, uint64_t number) {
    d->type.elem = (hn_dtype)(uint32_t)number;
    if (number == 0 || number > INT32_MAX)
        d->is_odd = true;
}

static hone_status load_dim(hn_loader *ld, type_draft *d, hn_bytes message, hn_dim *dim,
                            hn_str *denotation) {
    hn_wire w = hn_load_open(ld, message, "TensorShapeProto.Dimension");
    hn_field f;
    hone_status status;
    *dim = HN_DIM_UNKNOWN;
    while (hn_wire_next(&w, &f, &status)) {
        hn_str text;
        switch (f.tag) {
        case HN_F_DIM_VALUE:
            *dim = (int64_t)f.number >= 0 ? (hn_dim)f.number : HN_DIM_UNKNOWN;
            d->is_odd = d->is_odd || *dim == HN_DIM_UNKNOWN;
            break;
        case HN_F_DIM_PARAM:
            HN_TRY(hn_load_str(ld, f.bytes, &text));
            *dim = text->n ? hn_dim_parse(ld->model->syms, text) : HN_DIM_UNKNOWN;
            if (hn_syms_failed(ld->model->syms))
                return HONE_E_NOMEM;
            d->is_odd = d->is_odd || !hn_dim_is_symbolic(*dim);
            break;
        case HN_F_DIM_DENOTATION:
            HN_TRY(hn_load_str(ld, f.bytes, denotation));
            break;
        default:
            d->is_odd = true;
        }
    }
    return status;
}

static hone_status load_shape(hn_loader *ld, type_draft *d, hn_bytes message) {
    hn_wire count = hn_load_open(ld, message, "TensorShapeProto"), w = count;
    hn_field f;
    hone_status status;
    uint32_t rank = 0;
    while (hn_wire_next(&count, &f, &status)) {
        if (f.tag != HN_F_SHAPE_DIM)
            d->is_odd = true;
        else if (rank++ == INT32_MAX)
            return hn_wire_fail(&w, w.at, "a shape has too many dimensions");
    }
    HN_TRY(status);
    hn_dim *dims = HN_NEW_N(ld->arena, hn_dim, rank ? rank : 1);
    HN_TRY_PTR(dims);
    hn_str *denotations = NULL;
    for (uint32_t i = 0; hn_wire_next(&w, &f, &status);) {
        if (f.tag != HN_F_SHAPE_DIM)
            continue;
        hn_str denotation = NULL;
        HN_TRY(load_dim(ld, d, f.bytes, &dims[i], &denotation));
        if (denotation && !denotations) {
            denotations = HN_NEW_N(ld->arena, hn_str, rank);
            HN_TRY_PTR(denotations);
        }
        if (denotation)
            denotations[i] = denotation;
        i++;
    }
    d->type.shape = (hn_shape){.rank = (int32_t)rank, .dims = dims};
    d->type.dim_denotations = denotations;
    return status;
}

/* TypeProto.Tensor and TypeProto.SparseTensor have the same fields. */
static hone_status load_tensor_type(hn_loader *ld, type_draft *d, hn_bytes message) {
    hn_wire w = hn_load_open(ld, message, "TypeProto.Tensor");
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_TENSOR_TYPE_ELEM_TYPE)
            load_elem(d, f.number);
        else if (f.tag == HN_F_TENSOR_TYPE_SHAPE)
            HN_TRY(load_shape(ld, d, f.bytes));
        else
            d->is_odd = true;
    }
    return status;
}

/* Sequence, optional and map: a type inside, and the key of a map. */
static hone_status load_container_type(hn_loader *ld, type_draft *d, hn_bytes message) {
    bool is_map = d->type.kind == HN_TYPE_MAP;
    uint32_t inner_tag = is_map ? HN_F_MAP_TYPE_VALUE_TYPE : HN_F_SEQUENCE_TYPE_ELEM_TYPE;
    hn_wire w = hn_load_open(ld, message, is_map ? "TypeProto.Map" : "TypeProto.Sequence");
    hn_field f;
    hone_status status;
    HN_TRY(hn_load_enter(ld, &w));
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == inner_tag)
            HN_TRY(hn_load_type(ld, f.bytes, &d->type.inner));
        else if (is_map && f.tag == HN_F_MAP_TYPE_KEY_TYPE)
            load_elem(d, f.number);
        else
            d->is_odd = true;
    }
    hn_load_leave(ld);
    return status;
}

static hone_status load_opaque_type(hn_loader *ld, type_draft *d, hn_bytes message) {
    hn_wire w = hn_load_open(ld, message, "TypeProto.Opaque");
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_OPAQUE_TYPE_DOMAIN)
            HN_TRY(hn_load_str(ld, f.bytes, &d->type.opaque_domain));
        else if (f.tag == HN_F_OPAQUE_TYPE_NAME)
            HN_TRY(hn_load_str(ld, f.bytes, &d->type.opaque_name));
        else
            d->is_odd = true;
    }
    return status;
}

typedef hone_status type_reader(hn_loader *, type_draft *, hn_bytes);
static const struct {
    uint32_t tag;
    hn_type_kind kind;
    type_reader *read;
} type_kinds[] = {
    {HN_F_TYPE_TENSOR, HN_TYPE_TENSOR, load_tensor_type},
    {HN_F_TYPE_SPARSE, HN_TYPE_SPARSE, load_tensor_type},
    {HN_F_TYPE_SEQUENCE, HN_TYPE_SEQUENCE, load_container_type},
    {HN_F_TYPE_OPTIONAL, HN_TYPE_OPTIONAL, load_container_type},
    {HN_F_TYPE_MAP, HN_TYPE_MAP, load_container_type},
    {HN_F_TYPE_OPAQUE, HN_TYPE_OPAQUE, load_opaque_type},
};

static hone_status load_type_field(hn_loader *ld, type_draft *d, const hn_field *f) {
    for (size_t i = 0; i < HN_COUNT(type_kinds); i++) {
        if (type_kinds[i].tag != f->tag)
            continue;
        d->is_odd = d->is_odd || d->type.kind != HN_TYPE_NONE; /* repeated: the last one applies */
        d->type = (hn_type){
            .kind = type_kinds[i].kind, .shape.rank = -1, .denotation = d->type.denotation};
        return type_kinds[i].read(ld, d, f->bytes);
    }
    d->is_odd = true;
    return HONE_OK;
}

hone_status hn_load_type(hn_loader *ld, hn_bytes message, const hn_type **out) {
    hn_wire w = hn_load_open(ld, message, "TypeProto");
    hn_field f;
    hone_status status;
    type_draft draft = {.type.shape.rank = -1};
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_TYPE_DENOTATION)
            HN_TRY(hn_load_str(ld, f.bytes, &draft.type.denotation));
        else
            HN_TRY(load_type_field(ld, &draft, &f));
    }
    HN_TRY(status);
    if (draft.is_odd)
        draft.type.unknown = message;
    *out = hn_arena_copy(ld->arena, &draft.type, sizeof(draft.type));
    HN_TRY_PTR(*out);
    return HONE_OK;
}
