/* Attributes of the textual syntax: name, optional kind, value or list of values. */
#include "ir/text_int.h"

static hn_attr_kind kind_of_element(hn_attr_kind kind) {
    switch (kind) {
    case HN_ATTR_FLOATS:
        return HN_ATTR_FLOAT;
    case HN_ATTR_INTS:
        return HN_ATTR_INT;
    case HN_ATTR_STRINGS:
        return HN_ATTR_STRING;
    case HN_ATTR_TENSORS:
        return HN_ATTR_TENSOR;
    case HN_ATTR_GRAPHS:
        return HN_ATTR_GRAPH;
    case HN_ATTR_SPARSES:
        return HN_ATTR_SPARSE;
    case HN_ATTR_TYPES:
        return HN_ATTR_TYPE;
    default:
        return kind;
    }
}

static hn_attr_kind kind_of_list(hn_attr_kind element) {
    static const hn_attr_kind lists[] = {HN_ATTR_FLOATS,  HN_ATTR_INTS,   HN_ATTR_STRINGS,
                                         HN_ATTR_TENSORS, HN_ATTR_GRAPHS, HN_ATTR_SPARSES,
                                         HN_ATTR_TYPES};
    for (size_t i = 0; i < HN_COUNT(lists); i++) {
        if (kind_of_element(lists[i]) == element)
            return lists[i];
    }
    return HN_ATTR_UNDEFINED;
}

/* ---- one value ------------------------------------------------------------------------------- */

/* `kind` is the requested kind; an integer is accepted as a float. */
static hone_status read_attr_number(hn_text *t, hn_attr_kind kind, hn_attr *out) {
    hn_literal l;
    HN_TRY(hn_text_literal(t, "the value of the attribute", &l));
    if (l.kind == HN_LITERAL_INT && kind != HN_ATTR_FLOAT) {
        uint64_t bits;
        out->kind = HN_ATTR_INT;
        HN_TRY(hn_text_integer(t, &l, INT64_MIN, INT64_MAX, &bits));
        out->v.i = (int64_t)bits;
        return HONE_OK;
    }
    out->kind = HN_ATTR_FLOAT;
    return hn_text_f32(t, &l, &out->v.f);
}

/* A value that begins with a type is a type, unless data follow. */
static hone_status read_attr_type_or_tensor(hn_text *t, hn_attr *out) {
    const hn_type *type;
    HN_TRY(hn_text_type(t, &type));
    if (!hn_text_next_is_tensor_data(t)) {
        out->kind = HN_ATTR_TYPE;
        out->v.type = type;
        return HONE_OK;
    }
    if (type->kind == HN_TYPE_SPARSE) {
        out->kind = HN_ATTR_SPARSE;
        return hn_text_sparse(t, type, &out->v.sparse);
    }
    out->kind = HN_ATTR_TENSOR;
    return hn_text_tensor(t, type, &out->v.tensor);
}

static hone_status read_attr_graph(hn_text *t, hn_id block, hn_attr *out) {
    hn_str name;
    HN_TRY(hn_text_descend(t));
    HN_TRY(hn_text_name(t, "the name of a graph", &name));
    hn_id inner = hn_graph_add_block(t->graph, block, HN_NONE);
    if (inner == HN_NONE)
        return HONE_E_NOMEM;
    hn_block_at(t->graph, inner)->name = name;
    out->kind = HN_ATTR_GRAPH;
    out->v.block = inner;
    HN_TRY(hn_text_graph_rest(t, inner));
    t->depth--;
    return HONE_OK;
}

static hone_status read_attr_value(hn_text *t, hn_id block, hn_attr_kind kind, hn_attr *out) {
    hn_bytes word;
    if (hn_text_next_is_type(t))
        return read_attr_type_or_tensor(t, out);
    if (hn_text_peek_word(t, &word) && !hn_text_is_float_word(word.at, word.n))
        return read_attr_graph(t, block, out);
    if (hn_text_peek(t) == '"') {
        out->kind = HN_ATTR_STRING;
        return hn_text_string_copy(t, "a string", &out->v.s);
    }
    return read_attr_number(t, kind, out);
}

static hone_status fail_kind(hn_text *t, const char *at, const hn_attr *attr, hn_attr_kind expected,
                             hn_attr_kind found) {
    return hn_text_fail(t, at, "attribute '%s' needs a value of kind %s, found one of kind %s",
                        attr->name->s, hn_text_attr_kind_name(expected),
                        hn_text_attr_kind_name(found));
}

static hone_status read_single(hn_text *t, hn_id block, hn_attr *attr) {
    hn_attr_kind expected = attr->kind;
    hn_text_peek(t);
    const char *at = t->at;
    attr->n = 1;
    HN_TRY(read_attr_value(t, block, expected, attr));
    if (expected != HN_ATTR_UNDEFINED && attr->kind != expected)
        return fail_kind(t, at, attr, expected, attr->kind);
    return HONE_OK;
}

/* ---- lists ----------------------------------------------------------------------------------- */

typedef struct attr_values {
    hn_attr_kind kind; /* of an element; UNDEFINED until the first one when none was written */
    HN_VEC(int64_t) ints;
    HN_VEC(float) floats;
    HN_VEC(hn_bytes) strings;
    HN_VEC(const hn_tensor *) tensors;
    HN_VEC(const hn_sparse *) sparses;
    HN_VEC(const hn_type *) types;
    HN_VEC(hn_id) blocks;
} attr_values;

static bool push_value(hn_arena *a, attr_values *list, const hn_attr *v) {
    switch (v->kind) {
    case HN_ATTR_INT:
        return HN_VEC_PUSH(a, &list->ints, v->v.i);
    case HN_ATTR_FLOAT:
        return HN_VEC_PUSH(a, &list->floats, v->v.f);
    case HN_ATTR_STRING:
        return HN_VEC_PUSH(a, &list->strings, v->v.s);
    case HN_ATTR_TENSOR:
        return HN_VEC_PUSH(a, &list->tensors, v->v.tensor);
    case HN_ATTR_SPARSE:
        return HN_VEC_PUSH(a, &list->sparses, v->v.sparse);
    case HN_ATTR_TYPE:
        return HN_VEC_PUSH(a, &list->types, v->v.type);
    default:
        return HN_VEC_PUSH(a, &list->blocks, v->v.block);
    }
}

/* [1, 2.5] without a kind is a list of floats. */
static bool convert_ints_to_floats(hn_arena *a, attr_values *list) {
    for (uint32_t i = 0; i < list->ints.n; i++) {
        if (!HN_VEC_PUSH(a, &list->floats, (float)list->ints.at[i]))
            return false;
    }
    list->kind = HN_ATTR_FLOAT;
    return true;
}

static hone_status read_list_element(hn_text *t, hn_id block, const hn_attr *attr,
                                     bool is_kind_written, attr_values *list) {
    hn_attr value = {.name = attr->name};
    hn_text_peek(t);
    const char *at = t->at;
    HN_TRY(read_attr_value(t, block, list->kind, &value));
    if (list->kind == HN_ATTR_UNDEFINED)
        list->kind = value.kind;
    if (list->kind == HN_ATTR_INT && value.kind == HN_ATTR_FLOAT && !is_kind_written)
        HN_TRY_PTR(convert_ints_to_floats(t->model->arena, list));
    if (value.kind != list->kind)
        return fail_kind(t, at, attr, list->kind, value.kind);
    HN_TRY_PTR(push_value(t->model->arena, list, &value));
    return HONE_OK;
}

static void take_values(hn_attr *attr, const attr_values *list) {
    attr->kind = kind_of_list(list->kind);
    switch (attr->kind) {
    case HN_ATTR_INTS:
        attr->n = list->ints.n;
        attr->v.ints = list->ints.at;
        break;
    case HN_ATTR_FLOATS:
        attr->n = list->floats.n;
        attr->v.floats = list->floats.at;
        break;
    case HN_ATTR_STRINGS:
        attr->n = list->strings.n;
        attr->v.strings = list->strings.at;
        break;
    case HN_ATTR_TENSORS:
        attr->n = list->tensors.n;
        attr->v.tensors = list->tensors.at;
        break;
    case HN_ATTR_SPARSES:
        attr->n = list->sparses.n;
        attr->v.sparses = list->sparses.at;
        break;
    case HN_ATTR_TYPES:
        attr->n = list->types.n;
        attr->v.types = list->types.at;
        break;
    default:
        attr->n = list->blocks.n;
        attr->v.blocks = list->blocks.at;
        break;
    }
}

static hone_status read_list(hn_text *t, hn_id block, hn_attr *attr) {
    hn_attr_kind written = attr->kind;
    attr_values list = {.kind = kind_of_element(written)};
    const char *open = t->at - 1;
    if (written != HN_ATTR_UNDEFINED && kind_of_element(written) == written)
        return hn_text_fail(t, open, "attribute '%s' is one %s, not a list", attr->name->s,
                            hn_text_attr_kind_name(written));
    if (hn_text_peek(t) == ']' && written == HN_ATTR_UNDEFINED)
        return hn_text_fail(t, open,
                            "the empty list of attribute '%s' needs a kind, as in '%s: ints = []'",
                            attr->name->s, attr->name->s);
    if (hn_text_peek(t) != ']') {
        do {
            HN_TRY(read_list_element(t, block, attr, written != HN_ATTR_UNDEFINED, &list));
        } while (hn_text_accept(t, ','));
    }
    HN_TRY(hn_text_expect(t, ']', "after the values of attribute '%s'", attr->name->s));
    take_values(attr, &list);
    return HONE_OK;
}

/* ---- whole attributes ------------------------------------------------------------------------ */

static hone_status read_kind(hn_text *t, hn_attr *attr) {
    hn_bytes word;
    if (!hn_text_peek_word(t, &word) || !hn_text_attr_kind_from_name(word, &attr->kind))
        return hn_text_expected(t, "the kind of attribute '%s' (int, floats, tensor, ...)",
                                attr->name->s);
    t->at += word.n;
    return HONE_OK;
}

hone_status hn_text_attr_rest(hn_text *t, hn_id block, hn_attr *attr) {
    if (hn_text_accept(t, ':')) {
        HN_TRY(read_kind(t, attr));
        /* "a: undefined" represents an attribute without kind and value. */
        if (attr->kind == HN_ATTR_UNDEFINED && hn_text_peek(t) != '=')
            return HONE_OK;
    }
    HN_TRY(hn_text_expect(t, '=', "after attribute '%s'", attr->name->s));
    if (hn_text_accept(t, '@'))
        return hn_text_name(t, "the name of the function's attribute", &attr->ref);
    if (hn_text_accept(t, '['))
        return read_list(t, block, attr);
    return read_single(t, block, attr);
}

hone_status hn_text_attr_list(hn_text *t, hn_id block, hn_text_attrs *out) {
    if (!hn_text_accept(t, '<'))
        return HONE_OK;
    do {
        hn_attr attr = {0};
        HN_TRY(hn_text_name(t, "the name of an attribute", &attr.name));
        HN_TRY(hn_text_attr_rest(t, block, &attr));
        HN_TRY_PTR(HN_VEC_PUSH(t->scratch, out, attr));
    } while (hn_text_accept(t, ','));
    return hn_text_expect(t, '>', "after the attributes");
}
