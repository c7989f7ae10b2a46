/* Strings, names, types and tensors in the textual syntax. */
#include "ir/text_int.h"

#include <math.h>

/* ---- strings and names ----------------------------------------------------------------------- */

static const char *escape_of(const hn_text_out *o, char c) {
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return o->in_note ? "\\n" : NULL;
    case '\r':
        return o->in_note ? "\\r" : NULL;
    default:
        return NULL;
    }
}

void hn_text_put_string(hn_text_out *o, const char *s, uint64_t n) {
    hn_strbuf_puts(o->b, "\"");
    size_t begin = 0;
    for (size_t i = 0; i < n; i++) {
        const char *escape = escape_of(o, s[i]);
        if (escape) {
            hn_strbuf_put(o->b, s + begin, i - begin);
            hn_strbuf_puts(o->b, escape);
            begin = i + 1;
        }
    }
    if (begin < n) /* an absent string is NULL, and NULL + n is undefined */
        hn_strbuf_put(o->b, s + begin, n - begin);
    hn_strbuf_puts(o->b, "\"");
}

void hn_text_put_str(hn_text_out *o, hn_str s) {
    hn_text_put_string(o, hn_s(s), s ? s->n : 0);
}

void hn_text_put_word(hn_text_out *o, hn_str s) {
    if (s && hn_text_is_identifier(s->s, s->n))
        hn_strbuf_put(o->b, s->s, s->n);
    else
        hn_text_put_str(o, s);
}

void hn_text_put_name(hn_text_out *o, hn_str s) {
    if (s && hn_text_is_type_word(s->s, s->n))
        hn_text_put_str(o, s);
    else
        hn_text_put_word(o, s);
}

static bool is_dotted(hn_str s) {
    size_t begin = 0;
    for (size_t i = 0; i <= s->n; i++) {
        if (i < s->n && s->s[i] != '.')
            continue;
        if (!hn_text_is_identifier(s->s + begin, i - begin))
            return false;
        begin = i + 1;
    }
    return true;
}

void hn_text_put_dotted(hn_text_out *o, hn_str s) {
    if (is_dotted(s))
        hn_strbuf_put(o->b, s->s, s->n);
    else
        hn_text_put_str(o, s);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void put_dim(hn_text_out *o, hn_dim dim) {
    if (!hn_dim_is_symbolic(dim)) {
        hn_dim_text(o->model->syms, dim, o->b);
        return;
    }
    hn_strbuf text;
    hn_strbuf_init(&text, o->b->alloc);
    hn_dim_text(o->model->syms, dim, &text);
    if (text.failed)
        o->b->failed = true;
    else if (text.n > 0 && hn_text_is_identifier(text.at, text.n))
        hn_strbuf_put(o->b, text.at, text.n);
    else
        hn_text_put_string(o, text.n > 0 ? text.at : "", text.n);
    hn_strbuf_free(&text);
}

static void put_elem(hn_text_out *o, hn_dtype t) {
    bool exists = t > HN_UNDEFINED && t < HN_DTYPE_COUNT;
    hn_strbuf_puts(o->b, exists ? hn_dtype_name(t) : "undefined");
}

static void put_tensor_type(hn_text_out *o, const hn_type *type) {
    put_elem(o, type->elem);
    if (type->shape.rank == 0)
        return;
    hn_strbuf_puts(o->b, "[");
    for (int32_t i = 0; i < type->shape.rank; i++) {
        hn_strbuf_puts(o->b, i > 0 ? "," : "");
        put_dim(o, type->shape.dims[i]);
    }
    hn_strbuf_puts(o->b, "]");
}

static void put_opaque_type(hn_text_out *o, const hn_type *type) {
    hn_strbuf_puts(o->b, "opaque(");
    if (!hn_str_empty(type->opaque_domain)) {
        hn_text_put_dotted(o, type->opaque_domain);
        hn_strbuf_puts(o->b, ",");
        hn_text_put_word(o, type->opaque_name);
    } else if (!hn_str_empty(type->opaque_name)) {
        hn_text_put_dotted(o, type->opaque_name);
    }
    hn_strbuf_puts(o->b, ")");
}

/* The opening of a type that holds another; false for one that does not. */
static bool put_type_opening(hn_text_out *o, const hn_type *type) {
    if (type->kind == HN_TYPE_MAP) {
        hn_strbuf_puts(o->b, "map(");
        put_elem(o, type->elem);
        hn_strbuf_puts(o->b, ", ");
        return true;
    }
    if (type->kind != HN_TYPE_SEQUENCE && type->kind != HN_TYPE_OPTIONAL)
        return false;
    hn_strbuf_puts(o->b, type->kind == HN_TYPE_SEQUENCE ? "seq(" : "optional(");
    return true;
}

/* Not recursive, because the file determines how deep types nest. */
void hn_text_put_type(hn_text_out *o, const hn_type *type) {
    uint64_t n_open = 0;
    for (; type && put_type_opening(o, type); type = type->inner)
        n_open++;
    if (type && type->kind == HN_TYPE_TENSOR) {
        put_tensor_type(o, type);
    } else if (type && type->kind == HN_TYPE_SPARSE) {
        hn_strbuf_puts(o->b, "sparse_tensor(");
        put_tensor_type(o, type);
        hn_strbuf_puts(o->b, ")");
    } else if (type && type->kind == HN_TYPE_OPAQUE) {
        put_opaque_type(o, type);
    }
    for (; n_open > 0; n_open--)
        hn_strbuf_puts(o->b, ")");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void put_f32_bits(hn_text_out *o, uint32_t bits) {
    char text[32];
    float v;
    memcpy(&v, &bits, sizeof(v));
    if (!isnan(v))
        hn_strbuf_put(o->b, text, (size_t)hn_format_f32(text, v));
    else if ((bits & 0x7FFFFFFF) == 0x7FC00000)
        hn_strbuf_puts(o->b, bits >> 31 ? "-nan" : "nan");
    else
        hn_strbuf_printf(o->b, "0x%08x", (unsigned)bits);
}

static void put_f64_bits(hn_text_out *o, uint64_t bits) {
    char text[32];
    double v;
    memcpy(&v, &bits, sizeof(v));
    if (!isnan(v))
        hn_strbuf_put(o->b, text, (size_t)hn_format_f64(text, v));
    else if (bits << 1 == UINT64_C(0x7FF8000000000000) << 1)
        hn_strbuf_puts(o->b, bits >> 63 ? "-nan" : "nan");
    else
        hn_strbuf_printf(o->b, "0x%016llx", (unsigned long long)bits);
}

void hn_text_put_f32(hn_text_out *o, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof(bits));
    put_f32_bits(o, bits);
}

static uint64_t load_little_endian(const uint8_t *from, size_t n_bytes) {
    uint64_t bits = 0;
    for (size_t i = 0; i < n_bytes; i++)
        bits |= (uint64_t)from[i] << (8 * i);
    return bits;
}

static void put_number(hn_text_out *o, hn_dtype t, uint64_t bits) {
    switch (t) {
    case HN_F32:
    case HN_C64:
        put_f32_bits(o, (uint32_t)bits);
        break;
    case HN_F64:
    case HN_C128:
        put_f64_bits(o, bits);
        break;
    case HN_I8:
        hn_strbuf_printf(o->b, "%d", (int8_t)bits);
        break;
    case HN_I16:
        hn_strbuf_printf(o->b, "%d", (int16_t)bits);
        break;
    case HN_I32:
        hn_strbuf_printf(o->b, "%ld", (long)(int32_t)bits);
        break;
    case HN_I64:
        hn_strbuf_printf(o->b, "%lld", (long long)bits);
        break;
    default:
        hn_strbuf_printf(o->b, "%llu", (unsigned long long)bits);
        break;
    }
}

/* ---- tensors --------------------------------------------------------------------------------- */

static void put_external(hn_text_out *o, const hn_external *e) {
    hn_strbuf_puts(o->b, "[\"location\": ");
    hn_text_put_str(o, e->location);
    if (e->has_offset)
        hn_strbuf_printf(o->b, ", \"offset\": \"%llu\"", (unsigned long long)e->offset);
    if (e->has_length)
        hn_strbuf_printf(o->b, ", \"length\": \"%llu\"", (unsigned long long)e->length);
    if (!hn_str_empty(e->checksum)) {
        hn_strbuf_puts(o->b, ", \"checksum\": ");
        hn_text_put_str(o, e->checksum);
    }
    hn_strbuf_puts(o->b, "]");
}

static bool has_no_data(const hn_tensor *t) {
    return t->n_elems == 0 || (t->dtype == HN_STRING ? !t->strings : t->data_bytes == 0);
}

static bool has_all_data(const hn_tensor *t, uint64_t *data_bytes) {
    *data_bytes = 0;
    if (t->dtype == HN_STRING)
        return true;
    return t->data && hn_dtype_bits(t->dtype) > 0 &&
           hn_dtype_bytes(t->dtype, t->n_elems, data_bytes) && t->data_bytes >= *data_bytes;
}

/* Empty braces also represent a tensor whose data are missing. */
static void put_data(hn_text_out *o, const hn_tensor *t) {
    uint64_t data_bytes;
    if (has_no_data(t)) {
        hn_strbuf_puts(o->b, "{}");
        return;
    }
    if (t->n_elems > o->max_elems || !has_all_data(t, &data_bytes)) {
        hn_strbuf_puts(o->b, "{...}");
        o->n_left_out += t->n_elems;
        return;
    }
    uint64_t n = hn_text_n_literals(t->dtype, t->n_elems, data_bytes);
    size_t step = n ? (size_t)(data_bytes / n) : 0;
    hn_strbuf_puts(o->b, "{");
    for (uint64_t i = 0; i < n && !o->b->failed; i++) {
        hn_strbuf_puts(o->b, i > 0 ? ", " : "");
        if (t->dtype == HN_STRING)
            hn_text_put_string(o, t->strings[i].at, t->strings[i].n);
        else
            put_number(o, t->dtype, load_little_endian((const uint8_t *)t->data + i * step, step));
    }
    hn_strbuf_puts(o->b, "}");
}

static void put_sizes(hn_text_out *o, int32_t rank, const int64_t *dims) {
    for (int32_t i = 0; i < rank; i++)
        hn_strbuf_printf(o->b, "%s%lld", i > 0 ? "," : "[", (long long)dims[i]);
    hn_strbuf_puts(o->b, rank > 0 ? "]" : "");
}

void hn_text_put_tensor(hn_text_out *o, const hn_tensor *t, hn_str name) {
    put_elem(o, t->dtype);
    put_sizes(o, t->rank, t->dims);
    hn_strbuf_puts(o->b, " ");
    if (name) {
        hn_text_put_name(o, name);
        hn_strbuf_puts(o->b, " ");
    }
    if (name || t->external)
        hn_strbuf_puts(o->b, "= ");
    if (t->external)
        put_external(o, t->external);
    else
        put_data(o, t);
}

static hn_str name_or_null(hn_str name) {
    return hn_str_empty(name) ? NULL : name;
}

void hn_text_put_sparse(hn_text_out *o, const hn_sparse *s) {
    hn_strbuf_puts(o->b, "sparse_tensor(");
    put_elem(o, s->values->dtype);
    put_sizes(o, s->rank, s->dims);
    hn_strbuf_puts(o->b, ") {");
    hn_text_put_tensor(o, s->values, name_or_null(s->values->name));
    hn_strbuf_puts(o->b, ", ");
    hn_text_put_tensor(o, s->indices, name_or_null(s->indices->name));
    hn_strbuf_puts(o->b, "}");
}
