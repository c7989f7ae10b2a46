/* A growing byte buffer, and reading and writing whole files. */
#include "cli_value.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool buffer_reserve(cli_buffer *b, size_t n_more) {
    if (b->failed || n_more > SIZE_MAX - b->n) {
        b->failed = true;
        return false;
    }
    if (b->n + n_more <= b->cap)
        return true;
    size_t cap = b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
    cap = cap < b->n + n_more ? b->n + n_more : cap;
    unsigned char *grown = realloc(b->at, cap);
    b->failed = !grown;
    if (grown) {
        b->at = grown;
        b->cap = cap;
    }
    return grown != NULL;
}

void cli_buffer_add(cli_buffer *b, const void *data, size_t n_bytes) {
    if (n_bytes == 0 || !buffer_reserve(b, n_bytes))
        return;
    memcpy(b->at + b->n, data, n_bytes);
    b->n += n_bytes;
}

void cli_buffer_number(cli_buffer *b, uint64_t v, int n_bytes) {
    unsigned char bytes[8];
    for (int i = 0; i < n_bytes; i++)
        bytes[i] = (unsigned char)(v >> (8 * i));
    cli_buffer_add(b, bytes, (size_t)n_bytes);
}

void cli_buffer_printf(cli_buffer *b, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n >= 0 && buffer_reserve(b, (size_t)n + 1)) {
        vsnprintf((char *)b->at + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void cli_buffer_free(cli_buffer *b) {
    free(b->at);
    *b = (cli_buffer){0};
}

uint64_t cli_number_at(const unsigned char *at, int n_bytes) {
    uint64_t v = 0;
    for (int i = 0; i < n_bytes; i++)
        v |= (uint64_t)at[i] << (8 * i);
    return v;
}

bool cli_refuse(hone_error *error, const char *fmt, ...) {
    *error = (hone_error){.code = HONE_E_ARGUMENT, .offset = -1};
    va_list args;
    va_start(args, fmt);
    vsnprintf(error->message, sizeof error->message, fmt, args);
    va_end(args);
    return false;
}

bool cli_has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), k = strlen(suffix);
    if (n < k)
        return false;
    for (size_t i = 0; i < k; i++)
        if (tolower((unsigned char)path[n - k + i]) != suffix[i])
            return false;
    return true;
}

bool cli_file_read(const char *path, cli_buffer *out, hone_error *error) {
    enum { PIECE = 1 << 16 };
    *out = (cli_buffer){0};
    FILE *f = fopen(path, "rb");
    if (!f)
        return cli_refuse(error, "cannot open '%s': %s", path, strerror(errno));
    errno = 0;
    for (size_t n = 1; n > 0 && buffer_reserve(out, PIECE);) {
        n = fread(out->at + out->n, 1, PIECE, f);
        out->n += n;
    }
    bool ok = !ferror(f) && !out->failed;
    if (!ok)
        cli_refuse(error, "cannot read '%s': %s", path,
                   out->failed ? "out of memory" : strerror(errno));
    fclose(f);
    if (!ok)
        cli_buffer_free(out);
    return ok;
}

bool cli_file_write(const char *path, const cli_buffer *b, hone_error *error) {
    if (b->failed)
        return cli_refuse(error, "cannot write '%s': out of memory", path);
    return hone_write_file(path, b->at, b->n, error) == HONE_OK;
}
