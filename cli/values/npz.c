/* Reads and writes NumPy's .npz files: .npy files in a zip archive. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

#ifdef HONE_HAVE_ZLIB
#  include <zlib.h>
#endif

enum { LOCAL_HEAD = 30, CENTRAL_HEAD = 46, END_HEAD = 22 };
static const uint32_t local_magic = 0x04034b50, central_magic = 0x02014b50, end_magic = 0x06054b50;

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct zip_member {
    char name[512]; /* without ".npy" */
    unsigned method;
    size_t packed, unpacked; /* bytes */
    const unsigned char *data;
} zip_member;

static const unsigned char *find_zip_end(const cli_buffer *zip) {
    for (size_t back = END_HEAD; back <= zip->n && back < END_HEAD + 65536; back++)
        if (cli_number_at(zip->at + zip->n - back, 4) == end_magic)
            return zip->at + zip->n - back;
    return NULL;
}

/* Reads the entry at *offset of the central directory and moves past it. */
static bool read_zip_entry(const cli_buffer *zip, size_t *offset, zip_member *m) {
    if (*offset > zip->n || zip->n - *offset < CENTRAL_HEAD)
        return false;
    const unsigned char *e = zip->at + *offset;
    size_t name_bytes = (size_t)cli_number_at(e + 28, 2), local = (size_t)cli_number_at(e + 42, 4);
    size_t after = name_bytes + (size_t)cli_number_at(e + 30, 2) + (size_t)cli_number_at(e + 32, 2);
    if (cli_number_at(e, 4) != central_magic || after > zip->n - *offset - CENTRAL_HEAD ||
        name_bytes >= sizeof m->name)
        return false;
    memcpy(m->name, e + CENTRAL_HEAD, name_bytes);
    m->name[name_bytes] = '\0';
    if (cli_has_suffix(m->name, ".npy"))
        m->name[name_bytes - 4] = '\0';
    m->method = (unsigned)cli_number_at(e + 10, 2);
    m->packed = (size_t)cli_number_at(e + 20, 4);
    m->unpacked = (size_t)cli_number_at(e + 24, 4);
    *offset += CENTRAL_HEAD + after;
    if (local > zip->n || zip->n - local < LOCAL_HEAD ||
        cli_number_at(zip->at + local, 4) != local_magic)
        return false;
    size_t skip = LOCAL_HEAD + (size_t)cli_number_at(zip->at + local + 26, 2) +
                  (size_t)cli_number_at(zip->at + local + 28, 2);
    if (skip > zip->n - local || m->packed > zip->n - local - skip)
        return false;
    m->data = zip->at + local + skip;
    return true;
}

#ifdef HONE_HAVE_ZLIB
static bool inflate_member(const zip_member *m, unsigned char *out) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)m->data,
                  .avail_in = (uInt)m->packed,
                  .next_out = out,
                  .avail_out = (uInt)m->unpacked};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
        return false;
    bool ok = inflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out == m->unpacked;
    inflateEnd(&z);
    return ok;
}
#endif

static bool read_zip_member(const zip_member *m, const char *path, cli_npz_fn each, void *ctx,
                            hone_error *error) {
    if (m->method == 0)
        return each(ctx, m->name, m->data, m->packed, error);
    if (m->method != 8)
        return cli_refuse(error, "'%s': '%s' is compressed with method %u, which is not supported",
                          path, m->name, m->method);
#ifdef HONE_HAVE_ZLIB
    if (m->unpacked / 1032 > m->packed) /* deflate cannot expand data further */
        return cli_refuse(error, "'%s': '%s' is damaged", path, m->name);
    unsigned char *data = malloc(m->unpacked + 1);
    bool ok = data && inflate_member(m, data)
                  ? each(ctx, m->name, data, m->unpacked, error)
                  : cli_refuse(error, "'%s': '%s' is damaged", path, m->name);
    free(data);
    return ok;
#else
    return cli_refuse(
        error, "'%s' is compressed, and this hone was built without zlib; save it with numpy.savez",
        path);
#endif
}

bool cli_npz_read(const char *path, cli_npz_fn each, void *ctx, hone_error *error) {
    cli_buffer zip;
    if (!cli_file_read(path, &zip, error))
        return false;
    const unsigned char *end = find_zip_end(&zip);
    bool ok = end != NULL;
    size_t offset = end ? (size_t)cli_number_at(end + 16, 4) : 0,
           n = end ? (size_t)cli_number_at(end + 10, 2) : 0;
    if (!ok)
        cli_refuse(error, "'%s' is no .npz file", path);
    for (size_t i = 0; ok && i < n; i++) {
        zip_member m;
        ok = read_zip_entry(&zip, &offset, &m)
                 ? read_zip_member(&m, path, each, ctx, error)
                 : cli_refuse(error, "'%s': the .npz directory is damaged", path);
    }
    cli_buffer_free(&zip);
    return ok;
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint32_t zip_crc(const unsigned char *at, size_t n) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0u - (crc & 1)));
    }
    return ~crc;
}

/* The fields that the local and the central header share, from "version needed" on. */
static void print_zip_fields(cli_buffer *out, const char *name, uint32_t crc, size_t n_bytes) {
    cli_buffer_number(out, 20, 2);
    cli_buffer_number(out, 0, 4); /* flags, no compression */
    cli_buffer_number(out, 0x00210000,
                      4); /* 1 January 1980, so that equal values give equal files */
    cli_buffer_number(out, crc, 4);
    cli_buffer_number(out, n_bytes, 4);
    cli_buffer_number(out, n_bytes, 4);
    cli_buffer_number(out, strlen(name) + 4, 2);
    cli_buffer_number(out, 0, 2);
}

static bool print_zip_member(cli_buffer *zip, cli_buffer *directory, const char *name,
                             const hone_value *v, hone_error *error) {
    cli_buffer npy = {0};
    bool ok = cli_npy_print(v, &npy, error);
    if (ok && npy.n + zip->n > UINT32_MAX)
        ok = cli_refuse(error, "4 GB do not fit into a .npz file; write .npy files");
    if (ok) {
        size_t offset = zip->n;
        uint32_t crc = zip_crc(npy.at, npy.n);
        cli_buffer_number(zip, local_magic, 4);
        print_zip_fields(zip, name, crc, npy.n);
        cli_buffer_printf(zip, "%s.npy", name);
        cli_buffer_add(zip, npy.at, npy.n);
        cli_buffer_number(directory, central_magic, 4);
        cli_buffer_number(directory, 20, 2);
        print_zip_fields(directory, name, crc, npy.n);
        cli_buffer_number(directory, 0, 8); /* no comment, disk 0, no internal attributes */
        cli_buffer_number(directory, 0, 2);
        cli_buffer_number(directory, offset, 4);
        cli_buffer_printf(directory, "%s.npy", name);
        zip->failed |= npy.failed;
    }
    cli_buffer_free(&npy);
    return ok;
}

bool cli_npz_write(const char *path, uint32_t n, const char *const *names,
                   hone_value *const *values, hone_error *error) {
    cli_buffer zip = {0}, directory = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++)
        ok = print_zip_member(&zip, &directory, names[i], values[i], error);
    if (ok) {
        size_t offset = zip.n;
        cli_buffer_add(&zip, directory.at, directory.n);
        cli_buffer_number(&zip, end_magic, 4);
        cli_buffer_number(&zip, 0, 4); /* one disk */
        cli_buffer_number(&zip, n, 2);
        cli_buffer_number(&zip, n, 2);
        cli_buffer_number(&zip, directory.n, 4);
        cli_buffer_number(&zip, offset, 4);
        cli_buffer_number(&zip, 0, 2);
        zip.failed |= directory.failed;
        ok = cli_file_write(path, &zip, error);
    }
    cli_buffer_free(&directory);
    cli_buffer_free(&zip);
    return ok;
}
