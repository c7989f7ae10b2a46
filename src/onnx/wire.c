#include "onnx/wire.h"

enum { MAX_VARINT_BYTES = 10, MAX_GROUP_DEPTH = 32 };

uint32_t hn_wire_load32(const void *at) {
    const uint8_t *b = at;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

uint64_t hn_wire_load64(const void *at) {
    return hn_wire_load32(at) | (uint64_t)hn_wire_load32((const uint8_t *)at + 4) << 32;
}

hone_status hn_wire_fail(const hn_wire *w, const void *where, const char *fmt, ...) {
    int64_t offset = (const uint8_t *)where - w->file;
    bool is_first = w->err && w->err->code == HONE_OK;
    va_list args;
    va_start(args, fmt);
    hone_status status = hn_failv(w->err, HONE_E_FORMAT, fmt, args);
    va_end(args);
    if (is_first) {
        hn_error_prefix(w->err, "at byte %lld", (long long)offset);
        w->err->offset = offset;
    }
    return status;
}

bool hn_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
    const uint8_t *p = *at;
    if (HN_LIKELY(p < end && *p < 0x80)) { /* tags, lengths and most numbers have one byte */
        *out = *p;
        *at = p + 1;
        return true;
    }
    uint64_t v = 0;
    for (int i = 0; i < MAX_VARINT_BYTES && p < end; i++) {
        uint8_t byte = *p++;
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            *at = p;
            *out = v;
            return true;
        }
    }
    return false;
}

uint64_t hn_wire_count_varints(hn_bytes packed) {
    const uint8_t *p = packed.at;
    uint64_t n = 0;
    for (uint64_t i = 0; i < packed.n; i++)
        n += p[i] < 0x80;
    return n;
}

static hone_status fail_varint(const hn_wire *w, const uint8_t *where) {
    if (w->end - where < MAX_VARINT_BYTES)
        return hn_wire_fail(w, where, "%s ends inside a number: the file is truncated or damaged",
                            w->message);
    return hn_wire_fail(w, where, "a number of %s is longer than 10 bytes: the file is damaged",
                        w->message);
}

static hone_status fail_length(const hn_wire *w, const uint8_t *where, uint32_t tag,
                               uint64_t claimed, uint64_t left) {
    return hn_wire_fail(
        w, where, "field %u of %s claims %llu bytes, %llu remain: the file is truncated or damaged",
        (unsigned)(tag >> 3), w->message, (unsigned long long)claimed, (unsigned long long)left);
}

static hone_status read_tag(hn_wire *w, uint32_t *tag) {
    const uint8_t *start = w->at;
    uint64_t v;
    if (!hn_wire_varint(&w->at, w->end, &v))
        return fail_varint(w, start);
    if (v > UINT32_MAX || v >> 3 == 0)
        return hn_wire_fail(w, start,
                            "%s has a field with the invalid number %llu: the file is damaged",
                            w->message, (unsigned long long)(v >> 3));
    *tag = (uint32_t)v;
    return HONE_OK;
}

/* Reads what follows a tag that is no group. */
static hone_status read_payload(hn_wire *w, hn_field *f) {
    const uint8_t *start = w->at;
    uint64_t left = (uint64_t)(w->end - w->at);
    switch (f->tag & 7) {
    case HN_WIRE_VARINT:
        return hn_wire_varint(&w->at, w->end, &f->number) ? HONE_OK : fail_varint(w, start);
    case HN_WIRE_FIXED32:
    case HN_WIRE_FIXED64: {
        bool is_wide = (f->tag & 7) == HN_WIRE_FIXED64;
        uint64_t n = is_wide ? 8 : 4;
        if (left < n)
            return fail_length(w, start, f->tag, n, left);
        f->number = is_wide ? hn_wire_load64(start) : hn_wire_load32(start);
        w->at += n;
        return HONE_OK;
    }
    case HN_WIRE_LEN: {
        uint64_t n;
        if (!hn_wire_varint(&w->at, w->end, &n))
            return fail_varint(w, start);
        left = (uint64_t)(w->end - w->at);
        if (n > left)
            return fail_length(w, start, f->tag, n, left);
        f->bytes = (hn_bytes){w->at, n};
        w->at += n;
        return HONE_OK;
    }
    default:
        return hn_wire_fail(
            w, start, "field %u of %s has wire type %u, which does not exist: the file is damaged",
            (unsigned)(f->tag >> 3), w->message, (unsigned)(f->tag & 7));
    }
}

/* Groups are an old form of nesting that onnx.proto never used; they are skipped without
 * recursion. */
static hone_status skip_group(hn_wire *w, uint32_t tag) {
    uint32_t open[MAX_GROUP_DEPTH];
    int depth = 0;
    open[depth++] = tag >> 3;
    while (depth > 0) {
        const uint8_t *start = w->at;
        hn_field inner = {0};
        HN_TRY(read_tag(w, &inner.tag));
        if ((inner.tag & 7) == HN_WIRE_GROUP) {
            if (depth == MAX_GROUP_DEPTH)
                return hn_wire_fail(w, start, "%s nests groups deeper than %d", w->message,
                                    MAX_GROUP_DEPTH);
            open[depth++] = inner.tag >> 3;
        } else if ((inner.tag & 7) == HN_WIRE_GROUP_END) {
            if (open[--depth] != inner.tag >> 3)
                return hn_wire_fail(
                    w, start, "%s has the end of a group that never began: the file is damaged",
                    w->message);
        } else {
            HN_TRY(read_payload(w, &inner));
        }
    }
    return HONE_OK;
}

bool hn_wire_next(hn_wire *w, hn_field *out, hone_status *status) {
    *status = HONE_OK;
    if (w->at >= w->end)
        return false;
    const uint8_t *start = w->at;
    *out = (hn_field){0};
    *status = read_tag(w, &out->tag);
    if (*status == HONE_OK) {
        if ((out->tag & 7) == HN_WIRE_GROUP)
            *status = skip_group(w, out->tag);
        else
            *status = read_payload(w, out);
    }
    out->whole = (hn_bytes){start, (uint64_t)(w->at - start)};
    return *status == HONE_OK;
}
