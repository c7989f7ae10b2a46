/* TensorProto and SparseTensorProto. Data are a view of the file if their layout permits; else they
 * are decoded. */
#include "onnx/load_int.h"

/* The field that has the elements of a type when they are not in raw_data, and how many bytes one
 * entry yields. Entries of 4-bit and 2-bit types hold a whole byte of packed elements. */
typedef struct typed_field {
    uint32_t tag, packed_tag;
    uint8_t entry_bytes;
} typed_field;

#define FLOATS(n) \
  { HN_F_TENSOR_FLOAT_DATA, HN_F_TENSOR_FLOAT_DATA_PACKED, n }
#define DOUBLES(n) \
  { HN_F_TENSOR_DOUBLE_DATA, HN_F_TENSOR_DOUBLE_DATA_PACKED, n }
#define INT32S(n) \
  { HN_F_TENSOR_INT32_DATA, HN_F_TENSOR_INT32_DATA_PACKED, n }
#define INT64S(n) \
  { HN_F_TENSOR_INT64_DATA, HN_F_TENSOR_INT64_DATA_PACKED, n }
#define UINT64S(n) \
  { HN_F_TENSOR_UINT64_DATA, HN_F_TENSOR_UINT64_DATA_PACKED, n }
static const typed_field typed_fields[HN_DTYPE_COUNT] = {
    [HN_F32] = FLOATS(4),        [HN_C64] = FLOATS(4),        [HN_F64] = DOUBLES(8),
    [HN_C128] = DOUBLES(8),      [HN_I64] = INT64S(8),        [HN_U64] = UINT64S(8),
    [HN_U32] = UINT64S(4),       [HN_I32] = INT32S(4),        [HN_I16] = INT32S(2),
    [HN_U16] = INT32S(2),        [HN_F16] = INT32S(2),        [HN_BF16] = INT32S(2),
    [HN_I8] = INT32S(1),         [HN_U8] = INT32S(1),         [HN_BOOL] = INT32S(1),
    [HN_F8E4M3FN] = INT32S(1),   [HN_F8E4M3FNUZ] = INT32S(1), [HN_F8E5M2] = INT32S(1),
    [HN_F8E5M2FNUZ] = INT32S(1), [HN_F8E8M0] = INT32S(1),     [HN_U4] = INT32S(1),
    [HN_I4] = INT32S(1),         [HN_F4E2M1] = INT32S(1),     [HN_U2] = INT32S(1),
    [HN_I2] = INT32S(1),         [HN_F6E2M3] = INT32S(1),     [HN_F6E3M2] = INT32S(1),
};
#undef FLOATS
#undef DOUBLES
#undef INT32S
#undef INT64S
#undef UINT64S

/* ---- typed fields ---------------------------------------------------------------------------- */

static uint64_t packed_entries(const typed_field *field, hn_bytes packed) {
    switch (field->tag & 7) {
    case HN_WIRE_FIXED32:
        return packed.n / 4;
    case HN_WIRE_FIXED64:
        return packed.n / 8;
    default:
        return hn_wire_count_varints(packed);
    }
}

static uint8_t *store_entry(uint8_t *to, uint64_t v, unsigned n_bytes) {
    for (unsigned i = 0; i < n_bytes; i++)
        *to++ = (uint8_t)(v >> (8 * i));
    return to;
}

static hone_status unpack_entries(const hn_wire *w, const typed_field *field, hn_bytes packed,
                                  uint8_t **to) {
    if ((field->tag & 7) != HN_WIRE_VARINT) {
        uint64_t n = packed_entries(field, packed) * field->entry_bytes;
        memcpy(*to, packed.at, (size_t)n);
        *to += n;
        return HONE_OK;
    }
    const uint8_t *at = packed.at, *end = at + packed.n;
    uint64_t v;
    while (at < end) {
        if (!hn_wire_varint(&at, end, &v))
            return hn_wire_fail(w, at, "the packed numbers of a tensor are damaged");
        *to = store_entry(*to, v, field->entry_bytes);
    }
    return HONE_OK;
}

static hone_status decode_entries(hn_wire w, const typed_field *field, uint8_t *to) {
    hn_field f;
    hone_status status;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == field->tag)
            to = store_entry(to, f.number, field->entry_bytes);
        else if (f.tag == field->packed_tag)
            HN_TRY(unpack_entries(&w, field, f.bytes, &to));
    }
    return status;
}

/* Entries hold one 6-bit element each, while those of 4 and 2 bits hold a packed byte. Packing in
 * place is safe: an element never moves past the entry it comes from. */
static void pack_six_bits(hn_tensor *t, uint8_t *data) {
    uint64_t n = t->data_bytes;
    for (uint64_t i = 0; i < n; i++) {
        int code = data[i];
        data[i] = 0;
        hn_pack_int(data, i, 6, code);
    }
    hn_dtype_bytes(t->dtype, n, &t->data_bytes);
}

static hone_status load_typed_data(hn_loader *ld, hn_wire message, hn_tensor *t) {
    if ((unsigned)t->dtype >= HN_DTYPE_COUNT || !typed_fields[t->dtype].entry_bytes)
        return HONE_OK;
    const typed_field *field = &typed_fields[t->dtype];
    hn_wire w = message;
    hn_field f;
    hone_status status;
    uint64_t n_entries = 0, n_pieces = 0;
    hn_bytes packed = {0};
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag != field->tag && f.tag != field->packed_tag)
            continue;
        n_pieces++;
        packed = f.bytes;
        n_entries += f.tag == field->tag ? 1 : packed_entries(field, f.bytes);
    }
    HN_TRY(status);
    t->data_bytes = n_entries * field->entry_bytes; /* at most 8 bytes for each byte of the file */
    bool is_view = n_pieces == 1 && packed.at && (field->tag & 7) != HN_WIRE_VARINT;
    if (is_view || n_entries == 0) {
        t->data = is_view ? packed.at : t->data;
        return HONE_OK;
    }
    uint8_t *data =
        t->data_bytes <= SIZE_MAX ? hn_arena_alloc(ld->arena, (size_t)t->data_bytes) : NULL;
    HN_TRY_PTR(data);
    t->data = data;
    HN_TRY(decode_entries(message, field, data));
    if (hn_dtype_bits(t->dtype) == 6)
        pack_six_bits(t, data);
    return HONE_OK;
}

static hone_status load_strings(hn_loader *ld, hn_wire message, hn_tensor *t) {
    hn_wire w = message;
    hn_field f;
    hone_status status;
    uint64_t n = 0;
    while (hn_wire_next(&w, &f, &status))
        n += f.tag == HN_F_TENSOR_STRING_DATA;
    HN_TRY(status);
    if (n != t->n_elems)
        return hn_wire_fail(&message, message.at,
                            "tensor '%s' has %llu strings, but its shape needs %llu", hn_s(t->name),
                            (unsigned long long)n, (unsigned long long)t->n_elems);
    hn_bytes *strings = HN_NEW_N(ld->arena, hn_bytes, n ? (size_t)n : 1);
    HN_TRY_PTR(strings);
    for (uint64_t i = 0; hn_wire_next(&message, &f, &status);) {
        if (f.tag == HN_F_TENSOR_STRING_DATA)
            strings[i++] = f.bytes;
    }
    t->strings = strings;
    return status;
}

/* ---- the whole message ----------------------------------------------------------------------- */

typedef struct tensor_draft {
    hn_extra_draft extra;
    hn_props external;
    hn_bytes raw;
    bool has_raw, is_external;
    uint32_t data_fields; /* a bit for each field that holds elements */
} tensor_draft;

static void note_data_field(tensor_draft *d, const hn_field *f) {
    bool is_empty_list = (f->tag & 7) == HN_WIRE_LEN && f->bytes.n == 0 &&
                         f->tag != HN_F_TENSOR_STRING_DATA && f->tag != HN_F_TENSOR_RAW_DATA;
    if (!is_empty_list)
        d->data_fields |= 1u << (f->tag >> 3);
}

static hone_status load_tensor_field(hn_loader *ld, const hn_field *f, hn_tensor *t,
                                     tensor_draft *d) {
    switch (f->tag) {
    case HN_F_TENSOR_DATA_TYPE:
        t->dtype = (hn_dtype)(uint32_t)f->number;
        return HONE_OK;
    case HN_F_TENSOR_NAME:
        return hn_load_str(ld, f->bytes, &t->name);
    case HN_F_TENSOR_DOC_STRING:
        return hn_load_str(ld, f->bytes, &d->extra.doc);
    case HN_F_TENSOR_RAW_DATA:
        d->raw = f->bytes;
        d->has_raw = true;
        note_data_field(d, f);
        return HONE_OK;
    case HN_F_TENSOR_EXTERNAL_DATA:
        return hn_load_prop(ld, f, &d->external, &d->extra.unknown);
    case HN_F_TENSOR_DATA_LOCATION:
        d->is_external = f->number == HN_LOCATION_EXTERNAL;
        return HONE_OK;
    case HN_F_TENSOR_METADATA_PROPS:
        return hn_load_prop(ld, f, &d->extra.props, &d->extra.unknown);
    case HN_F_TENSOR_DIMS:
    case HN_F_TENSOR_DIMS_PACKED:
        return HONE_OK; /* read in one go */
    case HN_F_TENSOR_STRING_DATA:
    case HN_F_TENSOR_FLOAT_DATA:
    case HN_F_TENSOR_FLOAT_DATA_PACKED:
    case HN_F_TENSOR_INT32_DATA:
    case HN_F_TENSOR_INT32_DATA_PACKED:
    case HN_F_TENSOR_INT64_DATA:
    case HN_F_TENSOR_INT64_DATA_PACKED:
    case HN_F_TENSOR_DOUBLE_DATA:
    case HN_F_TENSOR_DOUBLE_DATA_PACKED:
    case HN_F_TENSOR_UINT64_DATA:
    case HN_F_TENSOR_UINT64_DATA_PACKED:
        note_data_field(d, f);
        return HONE_OK; /* read once the type is known */
    default:
        return hn_load_keep(ld, &d->extra.unknown, f->whole);
    }
}

static bool parse_decimal(hn_str text, uint64_t *out) {
    uint64_t v = 0;
    if (hn_str_empty(text))
        return false;
    for (uint32_t i = 0; i < text->n; i++) {
        char c = text->s[i];
        if (c < '0' || c > '9' || !hn_mul_u64(v, 10, &v) || !hn_add_u64(v, (uint64_t)(c - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

static hone_status load_external_entries(hn_loader *ld, const hn_wire *w, const hn_props *entries,
                                         hn_tensor *t) {
    hn_external *e = HN_NEW(ld->arena, hn_external);
    HN_TRY_PTR(e);
    for (uint32_t i = 0; i < entries->n; i++) {
        const hn_prop *p = &entries->at[i];
        bool is_number = true;
        if (hn_str_is(p->key, "location"))
            e->location = p->value;
        else if (hn_str_is(p->key, "checksum"))
            e->checksum = p->value;
        else if (hn_str_is(p->key, "offset"))
            e->has_offset = is_number = parse_decimal(p->value, &e->offset);
        else if (hn_str_is(p->key, "length"))
            e->has_length = is_number = parse_decimal(p->value, &e->length);
        if (!is_number)
            return hn_wire_fail(
                w, w->at, "the external data of tensor '%s' has the %s '%s', which is not a number",
                hn_s(t->name), hn_s(p->key), hn_s(p->value));
    }
    if (!e->location)
        return hn_wire_fail(w, w->at,
                            "the data of tensor '%s' is external, but no location is given",
                            hn_s(t->name));
    t->external = e;
    return hn_load_external(ld, t);
}

hone_status hn_load_tensor_proto(hn_loader *ld, hn_bytes message, hn_tensor *t) {
    hn_wire start = hn_load_open(ld, message, "TensorProto"), w = start;
    hn_field f;
    hone_status status;
    tensor_draft d = {0};
    *t = (hn_tensor){.wire = message};
    while (hn_wire_next(&w, &f, &status))
        HN_TRY(load_tensor_field(ld, &f, t, &d));
    HN_TRY(status);
    status = hn_load_dims(ld, start, HN_F_TENSOR_DIMS, HN_F_TENSOR_DIMS_PACKED, &t->dims, &t->rank,
                          &t->n_elems);
    if (status != HONE_OK) {
        hn_error_prefix(ld->err, "tensor '%s'", hn_s(t->name));
        return status;
    }
    t->has_mixed_data = (d.data_fields & (d.data_fields - 1)) != 0;
    HN_TRY(hn_load_extra(ld, &d.extra, &t->extra));
    if (d.is_external && t->dtype != HN_STRING)
        return load_external_entries(ld, &start, &d.external, t);
    if (t->dtype == HN_STRING)
        return load_strings(ld, start, t);
    t->data = "";
    if (!d.has_raw)
        return load_typed_data(ld, start, t);
    t->data = d.raw.at;
    t->data_bytes = d.raw.n;
    return HONE_OK;
}

static hone_status load_sparse_part(hn_loader *ld, const hn_wire *w, hn_bytes message,
                                    const hn_tensor **out) {
    if (*out)
        return hn_wire_fail(w, message.at, "a field of %s occurs twice", w->message);
    hn_tensor *t = HN_NEW(ld->arena, hn_tensor);
    HN_TRY_PTR(t);
    *out = t;
    return hn_load_tensor_proto(ld, message, t);
}

hone_status hn_load_sparse(hn_loader *ld, hn_bytes message, const hn_sparse **out) {
    hn_wire start = hn_load_open(ld, message, "SparseTensorProto"), w = start;
    hn_field f;
    hone_status status;
    hn_keep unknown = {0};
    hn_sparse *s = HN_NEW(ld->arena, hn_sparse);
    HN_TRY_PTR(s);
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_SPARSE_VALUES)
            HN_TRY(load_sparse_part(ld, &w, f.bytes, &s->values));
        else if (f.tag == HN_F_SPARSE_INDICES)
            HN_TRY(load_sparse_part(ld, &w, f.bytes, &s->indices));
        else if (f.tag != HN_F_SPARSE_DIMS && f.tag != HN_F_SPARSE_DIMS_PACKED)
            HN_TRY(hn_load_keep(ld, &unknown, f.whole));
    }
    HN_TRY(status);
    if (!s->values)
        return hn_wire_fail(&start, start.at, "a sparse tensor has no values");
    if (!s->indices)
        return hn_wire_fail(&start, start.at, "sparse tensor '%s' has no indices",
                            hn_s(s->values->name));
    uint64_t n_elems;
    s->unknown = hn_keep_bytes(&unknown);
    *out = s;
    status = hn_load_dims(ld, start, HN_F_SPARSE_DIMS, HN_F_SPARSE_DIMS_PACKED, &s->dims, &s->rank,
                          &n_elems);
    if (status != HONE_OK)
        hn_error_prefix(ld->err, "sparse tensor '%s'", hn_s(s->values->name));
    return status;
}
