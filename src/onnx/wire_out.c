/* Writer of the wire format. */
#include "onnx/wire.h"

/* Writes of this size allow frequent progress reports and quick cancelling, with negligible
 * overhead. */
#define PIECE_BYTES ((uint64_t)4 << 20)

int hn_out_varint_bytes(uint64_t v) {
    int n = 1;
    while (v >= 0x80) {
        v >>= 7;
        n++;
    }
    return n;
}

static hone_status out_to_file(hn_wire_out *w, const uint8_t *data, uint64_t n) {
    while (n > 0) {
        uint64_t piece = HN_MIN(n, PIECE_BYTES);
        HN_TRY(hn_outfile_write(w->file, data, piece, w->err));
        if (w->written)
            HN_TRY(w->written(w->written_ctx, piece));
        data += piece;
        n -= piece;
    }
    return HONE_OK;
}

void hn_out_raw(hn_wire_out *w, const void *data, uint64_t n) {
    if (w->status != HONE_OK || n == 0)
        return;
    if (w->mode == HN_OUT_FILE) {
        w->status = out_to_file(w, data, n);
    } else if (w->mode == HN_OUT_MEMORY) {
        if (n > w->memory_bytes - w->n_bytes)
            w->status = HONE_E_INTERNAL;
        else
            memcpy(w->memory + w->n_bytes, data, (size_t)n);
    }
    w->n_bytes += n;
}

static void out_number(hn_wire_out *w, uint64_t v) {
    uint8_t bytes[10];
    size_t n = 0;
    while (v >= 0x80) {
        bytes[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[n++] = (uint8_t)v;
    hn_out_raw(w, bytes, n);
}

hn_wire_scope hn_out_begin(hn_wire_out *w, uint32_t tag) {
    hn_wire_scope scope = {.tag = tag};
    if (w->mode == HN_OUT_MEASURE) {
        if (w->arena && w->status == HONE_OK) {
            scope.slot = w->sizes.n;
            if (!HN_VEC_PUSH(w->arena, &w->sizes, 0))
                w->status = HONE_E_NOMEM;
        }
        scope.start = w->n_bytes;
    } else if (w->next_size < w->sizes.n) {
        out_number(w, tag);
        out_number(w, w->sizes.at[w->next_size++]);
    } else {
        w->status = w->status == HONE_OK ? HONE_E_INTERNAL : w->status;
    }
    return scope;
}

void hn_out_end(hn_wire_out *w, hn_wire_scope scope) {
    if (w->mode != HN_OUT_MEASURE || w->status != HONE_OK)
        return;
    uint64_t n = w->n_bytes - scope.start;
    if (w->arena)
        w->sizes.at[scope.slot] = n;
    w->n_bytes += (uint64_t)(hn_out_varint_bytes(scope.tag) + hn_out_varint_bytes(n));
}

void hn_out_varint(hn_wire_out *w, uint32_t tag, uint64_t v) {
    out_number(w, tag);
    out_number(w, v);
}

void hn_out_fixed32(hn_wire_out *w, uint32_t tag, uint32_t v) {
    uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    out_number(w, tag);
    hn_out_raw(w, bytes, sizeof(bytes));
}

void hn_out_len(hn_wire_out *w, uint32_t tag, const void *data, uint64_t n) {
    out_number(w, tag);
    out_number(w, n);
    hn_out_raw(w, data, n);
}

void hn_out_str(hn_wire_out *w, uint32_t tag, hn_str s) {
    if (s)
        hn_out_len(w, tag, s->s, s->n);
}
