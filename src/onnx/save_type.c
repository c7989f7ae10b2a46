/* TypeProto. */
#include "onnx/save_int.h"

static void save_symbolic_dim(hn_saver *s, hn_dim d) {
    hn_str name;
    if (hn_dim_is_symbol(s->model->syms, d, &name)) {
        hn_out_str(&s->out, HN_F_DIM_PARAM, name);
        return;
    }
    s->text.n = 0;
    hn_dim_text(s->model->syms, d, &s->text);
    if (s->text.failed && s->out.status == HONE_OK)
        s->out.status = HONE_E_NOMEM;
    hn_out_len(&s->out, HN_F_DIM_PARAM, s->text.at, s->text.n);
}

static void save_shape(hn_saver *s, uint32_t tag, const hn_type *t) {
    hn_wire_scope shape = hn_out_begin(&s->out, tag);
    for (int32_t i = 0; i < t->shape.rank; i++) {
        hn_dim d = t->shape.dims[i];
        hn_wire_scope dim = hn_out_begin(&s->out, HN_F_SHAPE_DIM);
        if (hn_dim_is_known(d))
            hn_out_varint(&s->out, HN_F_DIM_VALUE, (uint64_t)d);
        else if (hn_dim_is_symbolic(d))
            save_symbolic_dim(s, d);
        if (t->dim_denotations)
            hn_out_str(&s->out, HN_F_DIM_DENOTATION, t->dim_denotations[i]);
        hn_out_end(&s->out, dim);
    }
    hn_out_end(&s->out, shape);
}

static void save_elem(hn_saver *s, uint32_t tag, hn_dtype elem) {
    if (elem != HN_UNDEFINED)
        hn_out_varint(&s->out, tag, (uint64_t)elem);
}

/* The message inside TypeProto that belongs to the kind. */
static void save_kind(hn_saver *s, uint32_t tag, const hn_type *t) {
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    switch (t->kind) {
    case HN_TYPE_TENSOR:
    case HN_TYPE_SPARSE:
        save_elem(s, HN_F_TENSOR_TYPE_ELEM_TYPE, t->elem);
        if (t->shape.rank >= 0)
            save_shape(s, HN_F_TENSOR_TYPE_SHAPE, t);
        break;
    case HN_TYPE_SEQUENCE:
    case HN_TYPE_OPTIONAL:
        if (t->inner)
            hn_save_type(s, HN_F_SEQUENCE_TYPE_ELEM_TYPE, t->inner);
        break;
    case HN_TYPE_MAP:
        save_elem(s, HN_F_MAP_TYPE_KEY_TYPE, t->elem);
        if (t->inner)
            hn_save_type(s, HN_F_MAP_TYPE_VALUE_TYPE, t->inner);
        break;
    case HN_TYPE_OPAQUE:
        hn_out_str(&s->out, HN_F_OPAQUE_TYPE_DOMAIN, t->opaque_domain);
        hn_out_str(&s->out, HN_F_OPAQUE_TYPE_NAME, t->opaque_name);
        break;
    case HN_TYPE_NONE:
        break;
    }
    hn_out_end(&s->out, scope);
}

void hn_save_type(hn_saver *s, uint32_t tag, const hn_type *t) {
    static const uint32_t kind_tags[] = {
        [HN_TYPE_TENSOR] = HN_F_TYPE_TENSOR,     [HN_TYPE_SPARSE] = HN_F_TYPE_SPARSE,
        [HN_TYPE_SEQUENCE] = HN_F_TYPE_SEQUENCE, [HN_TYPE_OPTIONAL] = HN_F_TYPE_OPTIONAL,
        [HN_TYPE_MAP] = HN_F_TYPE_MAP,           [HN_TYPE_OPAQUE] = HN_F_TYPE_OPAQUE,
    };
    if (t->unknown.n) {
        hn_out_len(&s->out, tag, t->unknown.at, t->unknown.n);
        return;
    }
    uint32_t kind_tag = kind_tags[t->kind]; /* fields in the order of their numbers */
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    if (t->kind != HN_TYPE_NONE && kind_tag < HN_F_TYPE_DENOTATION)
        save_kind(s, kind_tag, t);
    hn_out_str(&s->out, HN_F_TYPE_DENOTATION, t->denotation);
    if (t->kind != HN_TYPE_NONE && kind_tag > HN_F_TYPE_DENOTATION)
        save_kind(s, kind_tag, t);
    hn_out_end(&s->out, scope);
}
