/* Types of the textual syntax: "float[N, 3]", "seq(tensor)", "map(int64, float)", ... */
#include "ir/text_int.h"

bool hn_text_next_is_type(hn_text *t) {
    hn_bytes word;
    return hn_text_peek_word(t, &word) && hn_text_is_type_word(word.at, word.n);
}

static hone_status read_dim(hn_text *t, hn_dim *out) {
    hn_str name;
    hn_bytes word;
    *out = HN_DIM_UNKNOWN;
    if (hn_text_accept(t, '?'))
        return HONE_OK;
    if (hn_text_peek(t) == '"' || hn_text_peek_word(t, &word)) {
        HN_TRY(hn_text_name(t, "a dimension", &name));
        *out = hn_dim_parse(t->model->syms, name);
        return HONE_OK;
    }
    int64_t size;
    HN_TRY(hn_text_i64(t, "a dimension (a number, a name or '?')", &size));
    *out = size < 0 ? HN_DIM_UNKNOWN : size; /* exporters write -1 for it */
    return HONE_OK;
}

/* No brackets: a scalar. Empty brackets: the rank is unknown. */
static hone_status read_tensor_type(hn_text *t, hn_dtype elem, const hn_type **out) {
    HN_VEC(hn_dim) dims = {0};
    int32_t rank = 0;
    if (hn_text_accept(t, '[')) {
        if (hn_text_accept(t, ']')) {
            rank = -1;
        } else {
            do {
                hn_dim dim;
                HN_TRY(read_dim(t, &dim));
                HN_TRY_PTR(HN_VEC_PUSH(t->scratch, &dims, dim));
            } while (hn_text_accept(t, ','));
            HN_TRY(hn_text_expect(t, ']', "after the dimensions of a type"));
            if (dims.n > INT32_MAX)
                return hn_text_fail(t, t->at, "a type with %u dimensions", dims.n);
            rank = (int32_t)dims.n;
        }
    }
    *out = hn_type_tensor(t->model->arena, elem, rank, dims.at);
    HN_TRY_PTR(*out);
    return HONE_OK;
}

static hone_status read_elem_type(hn_text *t, const char *where, hn_dtype *out) {
    hn_bytes word;
    if (hn_text_peek_word(t, &word)) {
        *out = hn_dtype_from_name(word.at, word.n);
        if (*out != HN_UNDEFINED || hn_text_is_type_word(word.at, word.n)) {
            t->at += word.n;
            return HONE_OK;
        }
    }
    return hn_text_expected(t, "an element type %s", where);
}

static hone_status read_sparse_type(hn_text *t, const hn_type **out) {
    hn_dtype elem;
    const hn_type *dense;
    HN_TRY(read_elem_type(t, "in sparse_tensor(...)", &elem));
    HN_TRY(read_tensor_type(t, elem, &dense));
    hn_type *sparse = hn_arena_copy(t->model->arena, dense, sizeof(*dense));
    HN_TRY_PTR(sparse);
    sparse->kind = HN_TYPE_SPARSE;
    *out = sparse;
    return HONE_OK;
}

/* "seq()" is printed when the inner type is unknown. */
static hone_status read_inner(hn_text *t, hn_type_kind kind, hn_dtype key, const hn_type **out) {
    const hn_type *inner = NULL;
    if (hn_text_peek(t) != ')')
        HN_TRY(hn_text_type(t, &inner));
    *out = hn_type_wrap(t->model->arena, kind, key, inner);
    HN_TRY_PTR(*out);
    return HONE_OK;
}

static hone_status read_map_type(hn_text *t, const hn_type **out) {
    hn_dtype key;
    HN_TRY(read_elem_type(t, "as the key of a map", &key));
    HN_TRY(hn_text_expect(t, ',', "after the key of a map"));
    return read_inner(t, HN_TYPE_MAP, key, out);
}

static hone_status read_opaque_type(hn_text *t, const hn_type **out) {
    hn_type *type = HN_NEW(t->model->arena, hn_type);
    HN_TRY_PTR(type);
    type->kind = HN_TYPE_OPAQUE;
    *out = type;
    if (hn_text_peek(t) == ')')
        return HONE_OK;
    hn_str before, last;
    HN_TRY(hn_text_dotted_name(t, "the name of an opaque type", &before, &last));
    type->opaque_name = before ? hn_internf(t->model->names, "%s.%s", before->s, last->s) : last;
    HN_TRY_PTR(type->opaque_name);
    if (!hn_text_accept(t, ','))
        return HONE_OK;
    type->opaque_domain = type->opaque_name;
    return hn_text_name(t, "the name of an opaque type", &type->opaque_name);
}

static hone_status read_type_in_parentheses(hn_text *t, const hn_type **out) {
    hn_bytes word = {0};
    if (hn_text_accept_word(t, "seq")) {
        HN_TRY(hn_text_expect(t, '(', "after 'seq'"));
        HN_TRY(read_inner(t, HN_TYPE_SEQUENCE, HN_UNDEFINED, out));
    } else if (hn_text_accept_word(t, "optional")) {
        HN_TRY(hn_text_expect(t, '(', "after 'optional'"));
        HN_TRY(read_inner(t, HN_TYPE_OPTIONAL, HN_UNDEFINED, out));
    } else if (hn_text_accept_word(t, "map")) {
        HN_TRY(hn_text_expect(t, '(', "after 'map'"));
        HN_TRY(read_map_type(t, out));
    } else if (hn_text_accept_word(t, "sparse_tensor")) {
        HN_TRY(hn_text_expect(t, '(', "after 'sparse_tensor'"));
        HN_TRY(read_sparse_type(t, out));
    } else if (hn_text_accept_word(t, "opaque")) {
        HN_TRY(hn_text_expect(t, '(', "after 'opaque'"));
        HN_TRY(read_opaque_type(t, out));
    } else if (hn_text_peek_word(t, &word)) {
        return hn_text_fail(t, t->at, "'%.*s' is not a type", (int)HN_MIN(word.n, (uint64_t)40),
                            (const char *)word.at);
    } else {
        return hn_text_expected(t, "a type");
    }
    return hn_text_expect(t, ')', "after the type inside the parentheses");
}

hone_status hn_text_type(hn_text *t, const hn_type **out) {
    HN_TRY(hn_text_descend(t));
    hn_bytes word;
    hn_dtype elem = HN_UNDEFINED;
    if (hn_text_peek_word(t, &word))
        elem = hn_dtype_from_name(word.at, word.n);
    if (elem != HN_UNDEFINED || hn_text_accept_word(t, "undefined")) {
        t->at += elem != HN_UNDEFINED ? word.n : 0;
        HN_TRY(read_tensor_type(t, elem, out));
    } else {
        HN_TRY(read_type_in_parentheses(t, out));
    }
    t->depth--;
    return HONE_OK;
}
