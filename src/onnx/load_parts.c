/* Parts of several messages: strings, lists of numbers, properties, fields kept verbatim. */
#include "onnx/load_int.h"

hn_wire hn_load_open(const hn_loader *ld, hn_bytes message, const char *name) {
    const uint8_t *at = message.at;
    return (hn_wire){
        .at = at, .end = at + message.n, .file = ld->file, .message = name, .err = ld->err};
}

hone_status hn_load_enter(hn_loader *ld, const hn_wire *w) {
    if (ld->depth >= ld->max_depth) {
        hone_status status =
            hn_fail(ld->err, HONE_E_LIMIT,
                    "at byte %lld: %s is nested deeper than %u levels; raise the limit if the "
                    "model is really so",
                    (long long)(w->at - w->file), w->message, (unsigned)ld->max_depth);
        if (ld->err)
            ld->err->offset = w->at - w->file;
        return status;
    }
    ld->depth++;
    return HONE_OK;
}

void hn_load_leave(hn_loader *ld) {
    ld->depth--;
}

hone_status hn_load_str(hn_loader *ld, hn_bytes text, hn_str *out) {
    if (text.n >= UINT32_MAX)
        return hn_fail(ld->err, HONE_E_LIMIT, "a name of %llu bytes is too long",
                       (unsigned long long)text.n);
    *out = hn_intern(ld->names, text.at, (size_t)text.n);
    HN_TRY_PTR(*out);
    return HONE_OK;
}

/* ---- repeated numbers ------------------------------------------------------------------------ */

static hone_status count_numbers(hn_wire w, uint32_t tag, uint32_t packed_tag, uint64_t *n) {
    hn_field f;
    hone_status status;
    *n = 0;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == tag)
            ++*n;
        else if (f.tag == packed_tag)
            *n += hn_wire_count_varints(f.bytes);
    }
    return status;
}

hone_status hn_load_i64s(hn_loader *ld, hn_wire message, uint32_t tag, uint32_t packed_tag,
                         const int64_t **out, uint32_t *n) {
    uint64_t count;
    *out = NULL;
    *n = 0;
    HN_TRY(count_numbers(message, tag, packed_tag, &count));
    if (count > UINT32_MAX)
        return hn_wire_fail(&message, message.at, "a list of %llu numbers is too long",
                            (unsigned long long)count);
    int64_t *list = HN_NEW_N(ld->arena, int64_t, count ? (size_t)count : 1);
    HN_TRY_PTR(list);
    hn_field f;
    hone_status status;
    while (hn_wire_next(&message, &f, &status)) {
        if (f.tag == tag) {
            list[(*n)++] = (int64_t)f.number;
        } else if (f.tag == packed_tag) {
            const uint8_t *at = f.bytes.at, *end = at + f.bytes.n;
            uint64_t v;
            while (at < end) {
                if (!hn_wire_varint(&at, end, &v))
                    return hn_wire_fail(&message, at, "a packed list of %s is damaged",
                                        message.message);
                list[(*n)++] = (int64_t)v;
            }
        }
    }
    *out = list;
    return status;
}

hone_status hn_load_dims(hn_loader *ld, hn_wire message, uint32_t tag, uint32_t packed_tag,
                         const int64_t **dims, int32_t *rank, uint64_t *n_elems) {
    uint32_t n;
    HN_TRY(hn_load_i64s(ld, message, tag, packed_tag, dims, &n));
    if (n > INT32_MAX)
        return hn_wire_fail(&message, message.at,
                            "a tensor has %u dimensions, which is more than the limit",
                            (unsigned)n);
    *rank = (int32_t)n;
    *n_elems = 1;
    bool is_empty = false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t d = (*dims)[i];
        if (d < 0)
            return hn_wire_fail(&message, message.at,
                                "dimension %u is %lld; it must not be negative", (unsigned)i,
                                (long long)d);
        is_empty = is_empty || d == 0;
    }
    for (uint32_t i = 0; i < n && !is_empty; i++) {
        if (!hn_mul_u64(*n_elems, (uint64_t)(*dims)[i], n_elems))
            return hn_wire_fail(&message, message.at,
                                "the dimensions multiply to more than 2^64 elements");
    }
    if (is_empty)
        *n_elems = 0;
    return HONE_OK;
}

/* ---- what is kept verbatim, and properties --------------------------------------------------- */

hone_status hn_load_keep(hn_loader *ld, hn_keep *k, hn_bytes field) {
    if (k->n == 0 || (k->cap == 0 && k->at + k->n == field.at)) {
        k->at = k->n == 0 ? (uint8_t *)(uintptr_t)field.at : k->at;
        k->n += field.n;
        return HONE_OK;
    }
    uint64_t need = k->n + field.n;
    if (need > k->cap) {
        uint64_t cap = 2 * need;
        uint8_t *grown = cap <= SIZE_MAX ? hn_arena_alloc(ld->arena, (size_t)cap) : NULL;
        HN_TRY_PTR(grown);
        memcpy(grown, k->at, (size_t)k->n);
        k->at = grown;
        k->cap = cap;
    }
    memcpy(k->at + k->n, field.at, (size_t)field.n);
    k->n = need;
    return HONE_OK;
}

hone_status hn_load_prop(hn_loader *ld, const hn_field *entry, hn_props *props, hn_keep *unknown) {
    hn_wire w = hn_load_open(ld, entry->bytes, "StringStringEntryProto");
    hn_field f;
    hone_status status;
    hn_prop prop = {0};
    bool is_odd = false;
    while (hn_wire_next(&w, &f, &status)) {
        if (f.tag == HN_F_ENTRY_KEY)
            HN_TRY(hn_load_str(ld, f.bytes, &prop.key));
        else if (f.tag == HN_F_ENTRY_VALUE)
            HN_TRY(hn_load_str(ld, f.bytes, &prop.value));
        else
            is_odd = true;
    }
    HN_TRY(status);
    if (is_odd)
        return hn_load_keep(ld, unknown, entry->whole);
    return HN_VEC_PUSH(ld->arena, props, prop) ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_load_extra(hn_loader *ld, const hn_extra_draft *draft, const hn_extra **out) {
    *out = NULL;
    if (!draft->doc && !draft->overload && draft->props.n == 0 && draft->unknown.n == 0)
        return HONE_OK;
    hn_extra *extra = HN_NEW(ld->arena, hn_extra);
    HN_TRY_PTR(extra);
    extra->doc = draft->doc;
    extra->overload = draft->overload;
    extra->props = draft->props;
    extra->unknown = hn_keep_bytes(&draft->unknown);
    *out = extra;
    return HONE_OK;
}
