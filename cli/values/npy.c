/* Reads and writes NumPy's .npy files: a header in Python syntax, then the elements. */
#define _POSIX_C_SOURCE 200809L
#include "cli_value.h"
#include "data/text_utf8.h"

#include <stdlib.h>
#include <string.h>

enum { ELEM_FLOAT = 1, ELEM_UINT8 = 2, ELEM_INT8 = 3, ELEM_STRING = 8 }; /* ONNX's numbers */
enum { MOST_DICT_BYTES = 4096, MOST_HEADER_BYTES = MOST_DICT_BYTES + 12 };

/* NumPy's letter and size for an ONNX element type. Other types (bfloat16, float8, int4, ...) are
 * stored as wider ones. */
static const struct {
    char letter;
    int bytes;
    int32_t elem_type;
} npy_types[] = {
    {'f', 4, ELEM_FLOAT}, {'u', 1, ELEM_UINT8}, {'i', 1, ELEM_INT8}, {'u', 2, 4},   {'i', 2, 5},
    {'i', 4, 6},          {'i', 8, 7},          {'b', 1, 9},         {'f', 2, 10},  {'f', 8, 11},
    {'u', 4, 12},         {'u', 8, 13},         {'c', 8, 14},        {'c', 16, 15},
};
#define N_NPY_TYPES (sizeof npy_types / sizeof *npy_types)

typedef struct npy_header {
    char order, letter; /* '<', '>', '|'; 'f', 'i', ..., 'U' and 'S' for text, 'V' for a type that
                           NumPy does not know */
    size_t item_bytes;
    bool is_fortran, is_structured;
    int32_t rank;
    int64_t dims[CLI_MAX_RANK];
    uint64_t n_elems;
    const unsigned char *data;
} npy_header;

/* ---- reading --------------------------------------------------------------------------------- */

static bool parse_npy_shape(const char *text, npy_header *h) {
    for (h->rank = 0, h->n_elems = 1;;) {
        text += strspn(text, " ,");
        if (*text == ')')
            return true;
        char *end;
        long long dim = strtoll(text, &end, 10);
        if (end == text || dim < 0 || h->rank == CLI_MAX_RANK)
            return false;
        if (dim && h->n_elems > UINT64_MAX / (uint64_t)dim)
            return false;
        h->n_elems *= (uint64_t)dim;
        h->dims[h->rank++] = dim;
        text = *end == 'L' ? end + 1 : end; /* Python 2 wrote 3L */
    }
}

/* "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" */
static bool parse_npy_dict(const char *dict, npy_header *h) {
    const char *descr = strstr(dict, "'descr'"), *order = strstr(dict, "'fortran_order'"),
               *shape = strstr(dict, "'shape'");
    if (!descr || !order || !shape)
        return false;
    const char *type = descr + 7 + strspn(descr + 7, ": ");
    h->is_structured = *type == '[';
    descr = strchr(descr + 7, '\'');
    shape = strchr(shape, '(');
    order = strchr(order, ':');
    if (!descr || !shape || !order || strlen(descr) < 4)
        return false;
    h->order = descr[1];
    h->letter = descr[2];
    unsigned long n = strtoul(descr + 3, NULL, 10);
    h->item_bytes = h->letter == 'U' ? 4 * n : n;
    h->is_fortran = strncmp(order + 1 + strspn(order + 1, " "), "True", 4) == 0;
    return parse_npy_shape(shape + 1, h);
}

/* `at` has the first n bytes of a file of n_bytes. */
static bool parse_npy_header(const unsigned char *at, size_t n, uint64_t n_bytes, const char *path,
                             npy_header *h, hone_error *error) {
    char dict[MOST_DICT_BYTES];
    if (n < 12 || memcmp(at, "\x93NUMPY", 6) != 0)
        return cli_refuse(error, "'%s' is no .npy file", path);
    size_t prefix = at[6] == 1 ? 10 : 12;
    size_t dict_bytes = (size_t)cli_number_at(at + 8, at[6] == 1 ? 2 : 4);
    if (dict_bytes >= sizeof dict || dict_bytes > n - prefix)
        return cli_refuse(error, "'%s': the .npy header is damaged", path);
    memcpy(dict, at + prefix, dict_bytes);
    dict[dict_bytes] = '\0';
    if (!parse_npy_dict(dict, h))
        return cli_refuse(error, "'%s': the .npy header is not understood: %.200s", path, dict);
    if (h->letter == 'O' || h->is_structured)
        return cli_refuse(error,
                          "'%s' holds %s, which a model cannot take; save an array of numbers or "
                          "text, for example array.astype(numpy.float32)",
                          path, h->letter == 'O' ? "Python objects (dtype object)" : "records");
    h->data = at + prefix + dict_bytes;
    uint64_t left = n_bytes - prefix - dict_bytes;
    if (h->item_bytes == 0 ? h->n_elems > 0 : h->n_elems > left / h->item_bytes)
        return cli_refuse(
            error, "'%s' is truncated: %llu elements of %zu bytes do not fit into %llu", path,
            (unsigned long long)h->n_elems, h->item_bytes, (unsigned long long)left);
    return true;
}

/* The ONNX type of the file; 0 when there is none. */
static int32_t npy_elem_type(const npy_header *h, const cli_expect *e) {
    for (size_t i = 0; i < N_NPY_TYPES; i++)
        if (npy_types[i].letter == h->letter && (size_t)npy_types[i].bytes == h->item_bytes)
            return npy_types[i].elem_type;
    if (h->letter == 'V' && e->elem_type &&
        (size_t)hone_elem_type_bits(e->elem_type) == 8 * h->item_bytes)
        return e->elem_type; /* the format in which ml_dtypes are saved */
    return 0;
}

/* The row-major index of each element of a column-major array. */
static void next_fortran_place(const npy_header *h, int64_t *index, uint64_t *place) {
    uint64_t stride = 1;
    uint64_t strides[CLI_MAX_RANK];
    for (int32_t axis = h->rank; axis-- > 0;) {
        strides[axis] = stride;
        stride *= (uint64_t)h->dims[axis];
    }
    for (int32_t axis = 0; axis < h->rank; axis++) {
        *place += strides[axis];
        if (++index[axis] < h->dims[axis])
            return;
        *place -= strides[axis] * (uint64_t)h->dims[axis];
        index[axis] = 0;
    }
}

static void copy_npy_elements(const npy_header *h, unsigned char *out) {
    size_t part = h->letter == 'c' ? h->item_bytes / 2 : h->letter == 'U' ? 4 : h->item_bytes;
    int64_t index[CLI_MAX_RANK] = {0};
    uint64_t place = 0;
    for (uint64_t i = 0; i < h->n_elems; i++) {
        const unsigned char *from = h->data + i * h->item_bytes;
        unsigned char *to = out + (h->is_fortran ? place : i) * h->item_bytes;
        memcpy(to, from, h->item_bytes);
        for (size_t p = 0; h->order == '>' && p < h->item_bytes; p += part)
            for (size_t b = 0; b < part; b++)
                to[p + b] = from[p + part - 1 - b];
        if (h->is_fortran)
            next_fortran_place(h, index, &place);
    }
}

static void add_utf8(cli_buffer *out, uint32_t c) {
    char text[4];
    size_t n = text_put_utf8(c & 0x1fffff, text);
    cli_buffer_add(out, text, n);
}

/* Fixed-width text: UTF-32 or bytes, padded with zeros. */
static hone_value *npy_strings(const npy_header *h, const unsigned char *data, hone_error *error) {
    cli_buffer text = {0};
    size_t n = (size_t)h->n_elems, *offsets = calloc(n + 1, sizeof *offsets);
    const char **starts = calloc(n + 1, sizeof *starts);
    for (size_t i = 0; offsets && i < n; i++) {
        const unsigned char *item = data + i * h->item_bytes;
        size_t unit = h->letter == 'U' ? 4 : 1;
        for (size_t k = 0; k + unit <= h->item_bytes && cli_number_at(item + k, (int)unit);
             k += unit) {
            if (unit == 4)
                add_utf8(&text, (uint32_t)cli_number_at(item + k, 4));
            else
                cli_buffer_add(&text, item + k, 1);
        }
        cli_buffer_add(&text, "", 1);
        offsets[i + 1] = text.n;
    }
    hone_value *v = NULL;
    if (!offsets || !starts || text.failed) {
        cli_refuse(error, "out of memory");
    } else {
        for (size_t i = 0; i < n; i++)
            starts[i] = (const char *)text.at + offsets[i];
        hone_value_create_strings(h->rank, h->dims, starts, NULL, &v, error);
    }
    free(starts);
    free(offsets);
    cli_buffer_free(&text);
    return v;
}

/* Types that NumPy lacks are read from wider ones. */
static hone_value *narrow_npy(hone_value *wide, const cli_expect *e, hone_error *error) {
    hone_value *v = wide ? cli_value_cast(wide, e->elem_type, error) : NULL;
    hone_value_free(wide);
    return v;
}

static bool has_npy_type(int32_t elem_type) {
    for (size_t i = 0; i < N_NPY_TYPES; i++)
        if (npy_types[i].elem_type == elem_type)
            return true;
    return elem_type == ELEM_STRING || elem_type == 0;
}

static bool is_npy_text(const npy_header *h) {
    return h->letter == 'U' || h->letter == 'S';
}

static hone_value *npy_value(const npy_header *h, const char *path, const cli_expect *e,
                             hone_error *error) {
    int32_t elem_type = is_npy_text(h) ? ELEM_STRING : npy_elem_type(h, e);
    if (!elem_type) {
        cli_refuse(
            error,
            "'%s' holds elements of NumPy type '%c%c%zu', which ONNX does not have; '%s' is %s",
            path, h->order, h->letter, h->item_bytes, e->name, e->text);
        return NULL;
    }
    bool is_in_order = !h->is_fortran && h->order != '>';
    unsigned char *data = is_in_order ? NULL : malloc((size_t)h->n_elems * h->item_bytes + 1);
    hone_value *v = NULL;
    if (!is_in_order && !data) {
        cli_refuse(error, "'%s': out of memory", path);
        return NULL;
    }
    if (!is_in_order)
        copy_npy_elements(h, data);
    const unsigned char *elements = is_in_order ? h->data : data;
    if (is_npy_text(h))
        v = npy_strings(h, elements, error);
    else
        hone_value_create(elem_type, h->rank, h->dims, elements, &v, error);
    free(data);
    return !is_npy_text(h) && !has_npy_type(e->elem_type) && elem_type != e->elem_type
               ? narrow_npy(v, e, error)
               : v;
}

hone_value *cli_npy_parse(const unsigned char *at, size_t n, const char *path, const cli_expect *e,
                          hone_error *error) {
    npy_header h;
    return parse_npy_header(at, n, n, path, &h, error) ? npy_value(&h, path, e, error) : NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct cli_npy_rows {
    const char *path;
    npy_header header;
    uint64_t first_byte, row_bytes;
};

bool cli_npy_rows_open(const char *path, cli_npy_rows **rows, hone_error *error) {
    unsigned char begin[MOST_HEADER_BYTES];
    npy_header h;
    FILE *f = fopen(path, "rb");
    *rows = NULL;
    if (!f)
        return cli_refuse(error, "cannot open '%s'", path);
    size_t n = fread(begin, 1, sizeof begin, f);
    bool ok = fseeko(f, 0, SEEK_END) == 0;
    off_t end = ftello(f);
    fclose(f);
    if (!ok || end < 0)
        return cli_refuse(error, "cannot read '%s'", path);
    if (!parse_npy_header(begin, n, (uint64_t)end, path, &h, error))
        return false;
    bool has_rows = h.rank > 0 && h.n_elems && !h.is_fortran && !is_npy_text(&h);
    cli_npy_rows *r = has_rows ? malloc(sizeof *r) : NULL;
    if (r)
        *r = (cli_npy_rows){.path = path,
                            .header = h,
                            .first_byte = (uint64_t)(h.data - begin),
                            .row_bytes = h.n_elems / (uint64_t)h.dims[0] * h.item_bytes};
    *rows = r;
    return !has_rows || r ? true : cli_refuse(error, "out of memory");
}

const int64_t *cli_npy_rows_dims(const cli_npy_rows *r, int32_t *rank) {
    *rank = r->header.rank;
    return r->header.dims;
}

hone_value *cli_npy_rows_read(const cli_npy_rows *r, uint64_t i, bool has_first_dim,
                              const cli_expect *e, hone_error *error) {
    npy_header h = r->header;
    hone_value *v = NULL;
    unsigned char *row = malloc((size_t)r->row_bytes + 1);
    FILE *f = fopen(r->path, "rb");
    bool ok = row && f && fseeko(f, (off_t)(r->first_byte + i * r->row_bytes), SEEK_SET) == 0 &&
              fread(row, 1, (size_t)r->row_bytes, f) == r->row_bytes;
    if (f)
        fclose(f);
    h.n_elems /= (uint64_t)h.dims[0];
    h.dims[0] = 1;
    h.rank -= !has_first_dim;
    memmove(h.dims, h.dims + !has_first_dim, (size_t)h.rank * sizeof *h.dims);
    h.data = row;
    if (ok)
        v = npy_value(&h, r->path, e, error);
    else
        cli_refuse(error, "cannot read row %llu of '%s'", (unsigned long long)i, r->path);
    free(row);
    return v;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void print_npy_header(const hone_tensor_info *t, char letter, size_t item_count,
                             cli_buffer *out) {
    cli_buffer dict = {0};
    char order = letter == 'b' || (item_count == 1 && letter != 'U') ? '|' : '<';
    cli_buffer_printf(&dict, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (", order,
                      letter, item_count);
    for (int32_t i = 0; i < t->rank; i++)
        cli_buffer_printf(&dict, i ? " %lld," : "%lld,", (long long)t->dims[i]);
    cli_buffer_printf(&dict, "), }");
    while ((10 + dict.n + 1) % 64)
        cli_buffer_add(&dict, " ", 1);
    cli_buffer_add(&dict, "\n", 1);
    cli_buffer_add(out, "\x93NUMPY\x01\x00", 8);
    cli_buffer_number(out, dict.n, 2);
    cli_buffer_add(out, dict.at, dict.n);
    out->failed |= dict.failed;
    cli_buffer_free(&dict);
}

/* Decodes one UTF-8 character; an invalid byte stands for itself. */
static uint32_t next_char(const unsigned char **at, const unsigned char *end) {
    unsigned char c = *(*at)++;
    int n_more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    if (n_more == 0 || end - *at < n_more)
        return c;
    uint32_t v = c & (0x3fu >> n_more);
    while (n_more-- > 0)
        v = v << 6 | (*(*at)++ & 0x3f);
    return v;
}

static void print_npy_strings(const hone_value *v, const hone_tensor_info *t, cli_buffer *out) {
    size_t longest = 1;
    const char *text;
    size_t n;
    for (uint64_t i = 0; i < t->n_elements && hone_value_string(v, i, &text, &n); i++)
        /* in bytes, which is at least the number of characters */
        longest = n > longest ? n : longest;
    print_npy_header(t, 'U', longest, out);
    for (uint64_t i = 0; i < t->n_elements && hone_value_string(v, i, &text, &n); i++) {
        const unsigned char *at = (const unsigned char *)text, *end = at + n;
        for (size_t k = 0; k < longest; k++)
            cli_buffer_number(out, at < end ? next_char(&at, end) : 0, 4);
    }
}

static void print_npy_wide(const hone_value *v, const hone_tensor_info *t, cli_buffer *out) {
    bool is_float = cli_is_float(t->elem_type);
    bool is_unsigned = hone_elem_type_name(t->elem_type)[0] == 'u';
    print_npy_header(t, is_float ? 'f' : is_unsigned ? 'u' : 'i', is_float ? 4 : 1, out);
    for (uint64_t i = 0; i < t->n_elements; i++) {
        double number;
        hone_value_get_f64(v, i, 1, &number);
        float narrow = (float)number;
        uint32_t bits = (uint32_t)(int32_t)(is_float ? 0 : number);
        if (is_float)
            memcpy(&bits, &narrow, sizeof bits);
        cli_buffer_number(out, bits, is_float ? 4 : 1);
    }
}

bool cli_npy_print(const hone_value *v, cli_buffer *out, hone_error *error) {
    hone_tensor_info t;
    char text[128];
    if (!hone_value_tensor(v, &t))
        return cli_refuse(error, "a %s does not fit into a .npy file; write .pb or .json",
                          cli_value_text(v, text, sizeof text));
    if (t.elem_type == ELEM_STRING) {
        print_npy_strings(v, &t, out);
        return true;
    }
    for (size_t i = 0; i < N_NPY_TYPES; i++)
        if (npy_types[i].elem_type == t.elem_type) {
            print_npy_header(&t, npy_types[i].letter, (size_t)npy_types[i].bytes, out);
            cli_buffer_add(out, t.data, (size_t)t.data_bytes);
            return true;
        }
    print_npy_wide(v, &t, out);
    return true;
}
