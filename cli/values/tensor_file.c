/* Reads and writes files that hold a tensor, in all formats. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

/* Low enough that a product with the bits of an element cannot overflow. */
static uint64_t capped_product(uint64_t a, uint64_t b) {
    const uint64_t cap = UINT64_MAX >> 8;
    return b && a > cap / b ? cap : a * b;
}

/* A raw file has only the elements: type and shape are those of the model. The file size determines
 * one symbolic dimension. */
static hone_value *parse_raw(const cli_buffer *file, const char *path, const cli_expect *e,
                             hone_error *error) {
    uint64_t known = 1, bits = (uint64_t)hone_elem_type_bits(e->elem_type);
    int32_t free_axis = -1, n_free = e->rank < 0 || !bits ? 2 : 0;
    for (int32_t i = 0; i < e->rank; i++) {
        if (e->dims[i] < 0) {
            free_axis = i;
            n_free++;
        } else {
            known = capped_product(known, (uint64_t)e->dims[i]);
        }
    }
    if (n_free > 1) {
        cli_refuse(error, "'%s' is raw, so '%s', which is %s, needs a known shape: add --shape",
                   path, e->name, e->text);
        return NULL;
    }
    int64_t dims[CLI_MAX_RANK];
    memcpy(dims, e->dims, sizeof dims);
    uint64_t n_elems = (uint64_t)file->n * 8 / bits;
    if (free_axis >= 0)
        dims[free_axis] = known ? (int64_t)(n_elems / known) : 0;
    uint64_t wanted = capped_product(known, free_axis >= 0 ? (uint64_t)dims[free_axis] : 1);
    hone_value *v = NULL;
    if ((wanted * bits + 7) / 8 != file->n)
        cli_refuse(error, "'%s' has %zu bytes, which is not the size of %s", path, file->n,
                   e->text);
    else
        hone_value_create(e->elem_type, e->rank, dims, file->at, &v, error);
    return v;
}

static hone_value *parse_image(const cli_buffer *file, const char *path, const cli_expect *e,
                               const cli_image_options *o, hone_error *error) {
    cli_image image;
    if (!cli_image_decode(file, path, &image, error))
        return NULL;
    hone_value *v = cli_image_to_value(&image, o, e, error);
    cli_image_free(&image);
    return v;
}

/* ---- a member of an archive ------------------------------------------------------------------ */

typedef struct npz_search {
    const char *path;
    const cli_expect *wanted;
    hone_value *found;
    bool is_unnamed; /* what was found */
    int n_members;
    char names[512]; /* of all members, for the message */
} npz_search;

bool cli_npz_is_unnamed(const char *member) {
    return strcmp(member, "arr_0") == 0;
}

static bool look_at_member(void *ctx, const char *name, const unsigned char *at, size_t n,
                           hone_error *error) {
    npz_search *s = ctx;
    size_t used = strlen(s->names);
    snprintf(s->names + used, sizeof s->names - used, "%s%s", used ? ", " : "", name);
    bool is_wanted = strcmp(name, s->wanted->name) == 0;
    if (s->n_members++ > 0 && !is_wanted)
        return true;
    s->is_unnamed = !is_wanted;
    if (!is_wanted && !cli_npz_is_unnamed(name))
        return true;
    hone_value_free(s->found);
    s->found = cli_npy_parse(at, n, s->path, s->wanted, error);
    return s->found != NULL;
}

static hone_value *read_npz_member(const char *path, const cli_expect *e, hone_error *error) {
    npz_search s = {.path = path, .wanted = e};
    bool ok = cli_npz_read(path, look_at_member, &s, error);
    if (ok && (!s.found || (s.is_unnamed && s.n_members > 1)))
        ok = cli_refuse(error, "'%s' has no array '%s'; it has %s", path, e->name, s.names);
    if (ok)
        return s.found;
    hone_value_free(s.found);
    return NULL;
}

/* ---- all formats ----------------------------------------------------------------------------- */

static bool begins_with(const cli_buffer *file, const char *magic) {
    size_t n = strlen(magic);
    return file->n >= n && memcmp(file->at, magic, n) == 0;
}

static hone_value *parse_by_content(const cli_buffer *file, const char *path, const cli_expect *e,
                                    const cli_image_options *o, hone_error *error) {
    if (begins_with(file, "\x93NUMPY"))
        return cli_npy_parse(file->at, file->n, path, e, error);
    if (cli_has_suffix(path, ".pb"))
        return cli_pb_parse(file, path, e->kind, error);
    if (cli_has_suffix(path, ".json"))
        return cli_json_parse(file, path, e, error);
    if (cli_has_suffix(path, ".raw") || cli_has_suffix(path, ".bin"))
        return parse_raw(file, path, e, error);
    if (begins_with(file, "PK\x03\x04"))
        return read_npz_member(path, e, error);
    if (cli_is_image(file))
        return parse_image(file, path, e, o, error);
    cli_refuse(error,
               "'%s' is no .npy, .npz, .pb, .json or image file; elements alone "
               "are read from .raw and .bin files",
               path);
    return NULL;
}

hone_value *cli_value_read(const char *path, const cli_expect *e, const cli_image_options *o,
                           bool *is_image, hone_error *error) {
    cli_buffer file;
    if (!cli_file_read(path, &file, error))
        return NULL;
    if (is_image)
        *is_image = cli_is_image(&file);
    hone_value *v = parse_by_content(&file, path, e, o, error);
    cli_buffer_free(&file);
    return v;
}

bool cli_value_write(const char *path, const hone_value *v, hone_error *error) {
    cli_buffer out = {0};
    bool ok = true;
    if (cli_has_suffix(path, ".npy")) {
        ok = cli_npy_print(v, &out, error);
    } else if (cli_has_suffix(path, ".pb")) {
        ok = cli_pb_print(v, &out, error);
    } else if (cli_has_suffix(path, ".json")) {
        cli_json_print(v, &out);
        cli_buffer_printf(&out, "\n");
    } else {
        ok = cli_refuse(error, "'%s': the name of an output file ends in .npy, .npz, .pb or .json",
                        path);
    }
    ok = ok && cli_file_write(path, &out, error);
    cli_buffer_free(&out);
    return ok;
}
