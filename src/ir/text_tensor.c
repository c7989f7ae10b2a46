/* Tensor data of the textual syntax: numbers in braces, or a reference to a file. */
#include "ir/text_int.h"

/* ---- elements -------------------------------------------------------------------------------- */

static void store_little_endian(uint8_t *to, uint64_t bits, size_t n_bytes) {
    for (size_t i = 0; i < n_bytes; i++)
        to[i] = (uint8_t)(bits >> (8 * i));
}

static bool is_signed_dtype(hn_dtype t) {
    return t == HN_I64 || t == HN_I32 || t == HN_I16 || t == HN_I8 || t == HN_I4 || t == HN_I2;
}

/* The small float nearest to a number with a decimal point. */
static uint64_t small_float_bits(hn_dtype t, float v) {
    switch (t) {
    case HN_F16:
        return hn_f32_to_f16(v);
    case HN_BF16:
        return hn_f32_to_bf16(v);
    case HN_F8E4M3FN:
        return hn_f32_to_f8(v, HN_F8_E4M3FN, true);
    case HN_F8E4M3FNUZ:
        return hn_f32_to_f8(v, HN_F8_E4M3FNUZ, true);
    case HN_F8E5M2:
        return hn_f32_to_f8(v, HN_F8_E5M2, true);
    case HN_F8E5M2FNUZ:
        return hn_f32_to_f8(v, HN_F8_E5M2FNUZ, true);
    case HN_F8E8M0:
        return hn_f32_to_e8m0(v, HN_ROUND_NEAREST, true);
    case HN_F6E2M3:
        return hn_f32_to_f6(v, HN_F6_E2M3);
    case HN_F6E3M2:
        return hn_f32_to_f6(v, HN_F6_E3M2);
    default:
        return hn_f32_to_f4(v);
    }
}

/* Integers and bool by value; a small float by its bits, as in ONNX, or by value when it has a
 * decimal point. */
static hone_status read_narrow(hn_text *t, hn_dtype dtype, int n_bits, uint64_t *bits) {
    hn_literal l;
    HN_TRY(hn_text_literal(t, "an element of the tensor", &l));
    if (l.kind == HN_LITERAL_FLOAT && hn_dtype_is_float(dtype)) {
        float v;
        HN_TRY(hn_text_f32(t, &l, &v));
        *bits = small_float_bits(dtype, v);
        return HONE_OK;
    }
    bool is_signed = is_signed_dtype(dtype);
    uint64_t max = UINT64_MAX >> (64 - n_bits + is_signed);
    return hn_text_integer(t, &l, is_signed ? -(int64_t)max - 1 : 0, max, bits);
}

static hone_status read_number(hn_text *t, hn_dtype dtype, uint8_t *to, size_t n_bytes) {
    hn_literal l;
    uint64_t bits = 0;
    if (dtype == HN_F32 || dtype == HN_C64) {
        float v;
        uint32_t word;
        HN_TRY(hn_text_literal(t, "an element of the tensor", &l));
        HN_TRY(hn_text_f32(t, &l, &v));
        memcpy(&word, &v, sizeof(word));
        bits = word;
    } else if (dtype == HN_F64 || dtype == HN_C128) {
        double v;
        HN_TRY(hn_text_literal(t, "an element of the tensor", &l));
        HN_TRY(hn_text_f64(t, &l, &v));
        memcpy(&bits, &v, sizeof(bits));
    } else {
        HN_TRY(read_narrow(t, dtype, (int)n_bytes * 8, &bits));
    }
    store_little_endian(to, bits, n_bytes);
    return HONE_OK;
}

/* ---- lists of elements ----------------------------------------------------------------------- */

static hone_status fail_count(hn_text *t, const hn_tensor *tensor, uint64_t expected,
                              const char *found) {
    return hn_text_fail(t, t->at, "expected %llu numbers or strings for the tensor '%s', found %s",
                        (unsigned long long)expected, hn_s(tensor->name), found);
}

/* True when another element follows; otherwise consumes the closing brace. */
static hone_status next_element(hn_text *t, const hn_tensor *tensor, uint64_t i, uint64_t n,
                                bool *more) {
    *more = !hn_text_accept(t, '}');
    if (!*more)
        return i < n ? fail_count(t, tensor, n, "fewer") : HONE_OK;
    if (i > 0)
        HN_TRY(hn_text_expect(t, ',', "between the elements of tensor '%s'", hn_s(tensor->name)));
    return i == n ? fail_count(t, tensor, n, "more") : HONE_OK;
}

/* Every element takes at least one character, so the length of the text limits the memory. */
static hone_status check_element_count(hn_text *t, const hn_tensor *tensor, uint64_t n) {
    return n > (uint64_t)(t->end - t->at) ? fail_count(t, tensor, n, "fewer") : HONE_OK;
}

static hone_status read_numbers(hn_text *t, hn_tensor *tensor) {
    uint64_t n = hn_text_n_literals(tensor->dtype, tensor->n_elems, tensor->data_bytes);
    HN_TRY(check_element_count(t, tensor, n));
    uint8_t *data = hn_arena_alloc(t->model->arena, tensor->data_bytes ? tensor->data_bytes : 1);
    HN_TRY_PTR(data);
    tensor->data = tensor->data_bytes ? data : NULL;
    size_t step = n ? tensor->data_bytes / n : 0;
    bool more;
    for (uint64_t i = 0;; i++) {
        HN_TRY(next_element(t, tensor, i, n, &more));
        if (!more)
            return HONE_OK;
        HN_TRY(read_number(t, tensor->dtype, data + i * step, step));
    }
}

static hone_status read_strings(hn_text *t, hn_tensor *tensor) {
    uint64_t n = tensor->n_elems;
    HN_TRY(check_element_count(t, tensor, n));
    hn_bytes *strings = HN_NEW_N(t->model->arena, hn_bytes, n ? n : 1);
    HN_TRY_PTR(strings);
    tensor->strings = strings;
    bool more;
    for (uint64_t i = 0;; i++) {
        HN_TRY(next_element(t, tensor, i, n, &more));
        if (!more)
            return HONE_OK;
        HN_TRY(hn_text_string_copy(t, "an element of the tensor", &strings[i]));
    }
}

/* One element or byte of a sub-byte tensor; which of the two shows in the count alone. */
static hone_status read_packed(hn_text *t, hn_dtype dtype, int16_t *out) {
    hn_literal l;
    uint64_t bits;
    HN_TRY(hn_text_literal(t, "an element of the tensor", &l));
    if (l.kind == HN_LITERAL_FLOAT && hn_dtype_is_float(dtype)) {
        float v;
        HN_TRY(hn_text_f32(t, &l, &v));
        bits = small_float_bits(dtype, v);
    } else {
        HN_TRY(hn_text_integer(t, &l, INT8_MIN, UINT8_MAX, &bits));
    }
    *out = (int16_t)(int64_t)bits;
    return HONE_OK;
}

static hone_status pack_elements(hn_text *t, hn_tensor *tensor, const int16_t *values,
                                 uint8_t *data) {
    int n_bits = hn_dtype_bits(tensor->dtype);
    bool is_signed = is_signed_dtype(tensor->dtype);
    int max = (1 << (n_bits - is_signed)) - 1, min = is_signed ? -max - 1 : 0;
    for (uint64_t i = 0; i < tensor->n_elems; i++) {
        if (values[i] < min || values[i] > max)
            return hn_text_fail(t, t->at, "element %llu of tensor '%s' is %d, out of range for %s",
                                (unsigned long long)i, hn_s(tensor->name), values[i],
                                hn_dtype_name(tensor->dtype));
        hn_pack_int(data, i, n_bits, values[i]);
    }
    return HONE_OK;
}

/* In ONNX every number is a byte that holds several elements. One number per element is accepted,
 * too, because it is the natural way to write it. */
static hone_status read_sub_byte_numbers(hn_text *t, hn_tensor *tensor) {
    uint64_t n_elems = tensor->n_elems, n_bytes = tensor->data_bytes, n = 0;
    HN_TRY(check_element_count(t, tensor, n_bytes));
    uint8_t *data = hn_arena_calloc(t->model->arena, n_bytes ? n_bytes : 1, 1);
    uint64_t most = HN_MIN(n_elems, (uint64_t)(t->end - t->at));
    int16_t *values = HN_NEW_N(t->scratch, int16_t, most ? most : 1);
    HN_TRY_PTR(data);
    HN_TRY_PTR(values);
    tensor->data = n_bytes ? data : NULL;
    for (; !hn_text_accept(t, '}'); n++) {
        if (n > 0)
            HN_TRY(
                hn_text_expect(t, ',', "between the elements of tensor '%s'", hn_s(tensor->name)));
        if (n == most)
            return fail_count(t, tensor, n_elems, "more");
        HN_TRY(read_packed(t, tensor->dtype, &values[n]));
    }
    if (n != n_bytes && n != n_elems)
        return fail_count(t, tensor, n_elems, "another count");
    if (n == n_elems && n != n_bytes)
        return pack_elements(t, tensor, values, data);
    for (uint64_t i = 0; i < n_bytes; i++)
        data[i] = (uint8_t)values[i];
    return HONE_OK;
}

/* Empty braces of a tensor with elements: its data are missing, as in a model whose weights were
 * removed. Strings have no such form. */
static hone_status read_elements(hn_text *t, hn_tensor *tensor) {
    int n_bits = hn_dtype_bits(tensor->dtype);
    if (tensor->dtype == HN_STRING)
        return read_strings(t, tensor);
    if (hn_text_accept(t, '}')) {
        tensor->data_bytes = 0;
        return HONE_OK;
    }
    if (n_bits == 0)
        return hn_text_fail(t, t->at, "a tensor of undefined type has no elements");
    return n_bits > 0 && n_bits < 8 ? read_sub_byte_numbers(t, tensor) : read_numbers(t, tensor);
}

/* ---- external data --------------------------------------------------------------------------- */

static hone_status size_of_prop(hn_text *t, const hn_prop *p, uint64_t *out, bool *has) {
    hn_literal l = {HN_LITERAL_INT, p->value->s, p->value->n};
    for (size_t i = 0; i < l.n; i++) {
        if (l.at[i] < '0' || l.at[i] > '9')
            l.n = 0;
    }
    if (l.n == 0)
        return hn_text_fail(t, t->at, "the %s of external data is \"%s\", which is not a number",
                            p->key->s, p->value->s);
    hn_text reader = *t; /* the value may be a copy: its place in the text is where it was read */
    reader.err = NULL;
    if (hn_text_integer(&reader, &l, 0, UINT64_MAX, out) != HONE_OK)
        return hn_text_fail(t, t->at, "the %s of external data is \"%s\", which is too large",
                            p->key->s, p->value->s);
    *has = true;
    return HONE_OK;
}

static hone_status read_external(hn_text *t, hn_tensor *tensor) {
    hn_props props = {0};
    hn_external *e = HN_NEW(t->model->arena, hn_external);
    HN_TRY_PTR(e);
    HN_TRY(hn_text_props(t, &props));
    for (uint32_t i = 0; i < props.n; i++) {
        const hn_prop *p = &props.at[i];
        if (hn_str_is(p->key, "location"))
            e->location = p->value;
        else if (hn_str_is(p->key, "checksum"))
            e->checksum = p->value;
        else if (hn_str_is(p->key, "offset"))
            HN_TRY(size_of_prop(t, p, &e->offset, &e->has_offset));
        else if (hn_str_is(p->key, "length"))
            HN_TRY(size_of_prop(t, p, &e->length, &e->has_length));
    }
    if (!e->location)
        return hn_text_fail(t, t->at, "the external data of tensor '%s' has no \"location\"",
                            hn_s(tensor->name));
    tensor->external = e;
    tensor->data_bytes = 0;
    return HONE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static hone_status tensor_of_type(hn_text *t, const hn_type *type, hn_str name, hn_tensor **out) {
    const char *shown = hn_s(name);
    if (type->kind != HN_TYPE_TENSOR || type->shape.rank < 0)
        return hn_text_fail(t, t->at, "the tensor '%s' needs a tensor type with a shape", shown);
    hn_tensor *tensor = HN_NEW(t->model->arena, hn_tensor);
    HN_TRY_PTR(tensor);
    uint64_t n = 1;
    bool fits = true, is_empty = false;
    for (int32_t i = 0; i < type->shape.rank; i++) {
        hn_dim dim = type->shape.dims[i];
        if (!hn_dim_is_known(dim))
            return hn_text_fail(t, t->at, "dimension %d of the tensor '%s' is not a number", i,
                                shown);
        is_empty = is_empty || dim == 0;
        fits = fits && hn_mul_u64(n, (uint64_t)dim, &n);
    }
    tensor->n_elems = is_empty ? 0 : n;
    if ((!fits && !is_empty) || !hn_dtype_bytes(type->elem, tensor->n_elems, &tensor->data_bytes))
        return hn_text_fail(t, t->at, "the tensor '%s' is too large", shown);
    tensor->name = name;
    tensor->dtype = type->elem;
    tensor->rank = type->shape.rank;
    tensor->dims = type->shape.dims;
    *out = tensor;
    return HONE_OK;
}

hone_status hn_text_tensor_data(hn_text *t, const hn_type *type, hn_str name,
                                const hn_tensor **out) {
    hn_tensor *tensor = NULL;
    HN_TRY(tensor_of_type(t, type, name, &tensor));
    *out = tensor;
    if (hn_text_peek(t) == '[')
        return read_external(t, tensor);
    HN_TRY(hn_text_expect(t, '{', "or '[' before the data of tensor '%s'", hn_s(name)));
    return read_elements(t, tensor);
}

bool hn_text_next_is_tensor_data(hn_text *t) {
    hn_bytes word;
    int c = hn_text_peek(t);
    return c == '{' || c == '=' || c == '"' || hn_text_peek_word(t, &word);
}

hone_status hn_text_tensor(hn_text *t, const hn_type *type, const hn_tensor **out) {
    hn_str name = NULL;
    int c = hn_text_peek(t);
    if (c != '{' && c != '=' && c != '[')
        HN_TRY(hn_text_name(t, "the name or the data of a tensor", &name));
    hn_text_accept(t, '=');
    return hn_text_tensor_data(t, type, name, out);
}

static hone_status read_part(hn_text *t, const hn_tensor **out) {
    const hn_type *type;
    HN_TRY(hn_text_type(t, &type));
    return hn_text_tensor(t, type, out);
}

/* {values, indices}, both tensors */
hone_status hn_text_sparse(hn_text *t, const hn_type *type, const hn_sparse **out) {
    hn_sparse *s = HN_NEW(t->model->arena, hn_sparse);
    HN_TRY_PTR(s);
    for (int32_t i = 0; i < type->shape.rank; i++) {
        if (!hn_dim_is_known(type->shape.dims[i]))
            return hn_text_fail(t, t->at, "dimension %d of a sparse tensor is not a number", i);
    }
    s->rank = HN_MAX(type->shape.rank, 0);
    s->dims = type->shape.dims;
    HN_TRY(hn_text_expect(t, '{', "before the values of a sparse tensor"));
    HN_TRY(read_part(t, &s->values));
    HN_TRY(hn_text_expect(t, ',', "between the values and indices of a sparse tensor"));
    HN_TRY(read_part(t, &s->indices));
    HN_TRY(hn_text_expect(t, '}', "after the indices of a sparse tensor"));
    *out = s;
    return HONE_OK;
}
