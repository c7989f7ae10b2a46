/* Reads and writes tensors as JSON: nested arrays, or {"shape": [2, 3], "data": [...]} with all
 * elements in one array. */
#include "cli_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEM_STRING_JSON = 8 };

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct json_item { /* one element of any kind */
    double number;
    int64_t integer;
    bool is_integer, is_text;
    size_t text; /* offset in the texts */
} json_item;

typedef struct json_reader {
    const char *at, *end;
    int32_t depth, rank; /* rank is -1 until the first element */
    int64_t dims[CLI_MAX_RANK];
    cli_buffer items, texts;
    const char *problem;
} json_reader;

static bool json_stop(json_reader *r, const char *problem) {
    if (!r->problem)
        r->problem = problem;
    return false;
}

static void skip_space(json_reader *r) {
    while (r->at < r->end && strchr(" \t\r\n", *r->at))
        r->at++;
}

static bool take(json_reader *r, char c) {
    skip_space(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

/* \uXXXX of the basic plane. */
static bool read_json_unicode(json_reader *r) {
    unsigned c = 0;
    if (r->end - r->at < 4)
        return json_stop(r, "a \\u escape is incomplete");
    char digits[5] = {r->at[0], r->at[1], r->at[2], r->at[3], 0};
    char *end;
    c = (unsigned)strtoul(digits, &end, 16);
    if (*end)
        return json_stop(r, "a \\u escape has four hexadecimal digits");
    r->at += 4;
    if (c >= 0x800)
        cli_buffer_number(&r->texts, 0xe0 | c >> 12, 1);
    if (c >= 0x80)
        cli_buffer_number(&r->texts, c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6, 1);
    cli_buffer_number(&r->texts, c >= 0x80 ? 0x80 | (c & 0x3f) : c, 1);
    return true;
}

/* Appends the text after the opening quote, unescaped, to the texts. */
static bool read_json_text(json_reader *r) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    while (r->at < r->end && *r->at != '"') {
        char c = *r->at++;
        if (c == '\\' && r->at < r->end) {
            c = *r->at++;
            const char *escape = c ? strchr(escapes, c) : NULL;
            if (c == 'u' ? !read_json_unicode(r) : !escape)
                return json_stop(r, "an unknown escape in a text");
            if (c == 'u')
                continue;
            c = meanings[escape - escapes];
        }
        cli_buffer_add(&r->texts, &c, 1);
    }
    cli_buffer_add(&r->texts, "", 1);
    return r->at++ < r->end ? true : json_stop(r, "a text does not end");
}

static bool is_word(json_reader *r, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

static bool read_json_number(json_reader *r, json_item *item) {
    char text[64];
    size_t n = 0;
    while (r->at + n < r->end && n + 1 < sizeof text && strchr("+-0123456789.eE", r->at[n]) &&
           r->at[n])
        n++;
    memcpy(text, r->at, n);
    text[n] = '\0';
    char *end;
    item->number = strtod(text, &end);
    if (n == 0 || *end)
        return json_stop(r, "a number, a text, true, false or an array belongs here");
    item->is_integer = !strpbrk(text, ".eE");
    if (item->is_integer) /* uint64 wraps */
        item->integer =
            text[0] == '-' ? strtoll(text, NULL, 10) : (int64_t)strtoull(text, NULL, 10);
    r->at += n;
    return true;
}

static bool read_json_element(json_reader *r) {
    json_item item = {0};
    if (take(r, '"')) {
        item.is_text = true;
        item.text = r->texts.n;
        if (!read_json_text(r))
            return false;
    } else if (is_word(r, "true") || is_word(r, "false")) {
        item.is_integer = true;
        item.integer = r->at[-2] == 'u';
        item.number = (double)item.integer;
    } else if (!read_json_number(r, &item)) {
        return false;
    }
    if (r->rank < 0)
        r->rank = r->depth;
    if (r->rank != r->depth)
        return json_stop(r, "rows of different depth");
    cli_buffer_add(&r->items, &item, sizeof item);
    return true;
}

static bool read_json_array(json_reader *r) {
    if (!take(r, '['))
        return read_json_element(r);
    if (r->depth == CLI_MAX_RANK)
        return json_stop(r, "arrays nested too deep");
    int32_t level = r->depth++;
    int64_t n = 0;
    if (!take(r, ']')) {
        do {
            if (!read_json_array(r))
                return false;
            n++;
        } while (take(r, ','));
        if (!take(r, ']'))
            return json_stop(r, "a comma or ] is missing");
    } else if (r->rank < 0) {
        r->rank = r->depth; /* an empty innermost row */
    }
    if (r->dims[level] >= 0 && r->dims[level] != n)
        return json_stop(r, "rows of different length");
    r->dims[level] = n;
    r->depth--;
    return true;
}

static bool read_nested(json_reader *r) {
    r->rank = -1;
    r->depth = 0;
    for (int i = 0; i < CLI_MAX_RANK; i++)
        r->dims[i] = -1;
    return read_json_array(r);
}

/* The members can be in any order; others, like "type", are texts. */
static bool read_json_object(json_reader *r, json_reader *shape) {
    bool has_data = false;
    do {
        size_t key = r->texts.n;
        if (!take(r, '"') || !read_json_text(r) || !take(r, ':'))
            return json_stop(r, "a member \"name\": is missing");
        const char *name = (const char *)r->texts.at + key;
        if (strcmp(name, "shape") == 0) {
            shape->at = r->at;
            bool ok = read_nested(shape);
            r->at = shape->at;
            if (!ok)
                return json_stop(r, "\"shape\" is not understood");
        } else if (strcmp(name, "data") == 0) {
            has_data = true;
            if (!read_nested(r))
                return false;
        } else if (!take(r, '"') || !read_json_text(r)) {
            return json_stop(r, "only the members \"shape\", \"type\" and \"data\" belong here");
        }
    } while (take(r, ','));
    return take(r, '}') && has_data ? true : json_stop(r, "the member \"data\" is missing");
}

/* A given shape replaces that of the nesting. */
static bool apply_json_shape(json_reader *r, const json_reader *shape) {
    const json_item *sizes = (const json_item *)(const void *)shape->items.at;
    size_t rank = shape->items.n / sizeof *sizes;
    uint64_t n = 1;
    for (size_t i = 0; i < rank && i < CLI_MAX_RANK; i++) {
        r->dims[i] = sizes[i].integer;
        if (!sizes[i].is_integer || sizes[i].integer < 0)
            return json_stop(r, "\"shape\" has an invalid size");
        n *= (uint64_t)sizes[i].integer;
    }
    r->rank = (int32_t)rank;
    return n == r->items.n / sizeof *sizes
               ? true
               : json_stop(r, "\"shape\" and \"data\" have different numbers of elements");
}

static hone_value *json_strings(const json_reader *r, size_t n, hone_error *error) {
    const json_item *items = (const json_item *)(const void *)r->items.at;
    const char **texts = calloc(n + 1, sizeof *texts);
    hone_value *v = NULL;
    for (size_t i = 0; texts && i < n; i++)
        texts[i] = items[i].is_text ? (const char *)r->texts.at + items[i].text : "";
    if (texts)
        hone_value_create_strings(r->rank, r->dims, texts, NULL, &v, error);
    else
        cli_refuse(error, "out of memory");
    free(texts);
    return v;
}

/* "nan", "inf" and "-inf" are texts, because JSON has no such numbers. */
static bool json_special(const json_reader *r, const json_item *item, double *number) {
    const char *text = (const char *)r->texts.at + item->text;
    bool is_nan = strcmp(text, "nan") == 0, is_inf = strcmp(text + (*text == '-'), "inf") == 0;
    *number = is_nan ? (double)NAN : *text == '-' ? -(double)INFINITY : (double)INFINITY;
    return is_nan || is_inf;
}

static hone_value *json_numbers(const json_reader *r, const char *path, size_t n, int32_t elem_type,
                                hone_error *error) {
    const json_item *items = (const json_item *)(const void *)r->items.at;
    hone_value *v;
    if (hone_value_create(elem_type, r->rank, r->dims, NULL, &v, error) != HONE_OK)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        double number = items[i].number;
        if (items[i].is_text && !json_special(r, &items[i], &number)) {
            cli_refuse(error, "'%s': element %zu is the text \"%s\" instead of a number", path, i,
                       (const char *)r->texts.at + items[i].text);
            hone_value_free(v);
            return NULL;
        }
        if (items[i].is_integer && !cli_is_float(elem_type))
            hone_value_set_i64(v, i, 1, &items[i].integer);
        else
            hone_value_set_f64(v, i, 1, &number);
    }
    return v;
}

/* The element type of the file when the model does not define one. */
static int32_t guess_elem_type(const json_reader *r, size_t n) {
    enum { FLOAT_TYPE = 1, INT64_TYPE = 7 };
    const json_item *items = (const json_item *)(const void *)r->items.at;
    bool all_integers = n > 0;
    for (size_t i = 0; i < n; i++)
        all_integers &= items[i].is_integer;
    return n && items[0].is_text ? ELEM_STRING_JSON : all_integers ? INT64_TYPE : FLOAT_TYPE;
}

hone_value *cli_json_parse(const cli_buffer *file, const char *path, const cli_expect *e,
                           hone_error *error) {
    const char *text = (const char *)file->at;
    json_reader r = {.at = text, .end = text + file->n}, shape = {.end = text + file->n};
    hone_value *v = NULL;
    bool ok = take(&r, '{') ? read_json_object(&r, &shape) : read_nested(&r);
    if (ok && shape.at)
        ok = apply_json_shape(&r, &shape);
    skip_space(&r);
    if (ok && r.at != r.end)
        ok = json_stop(&r, "something follows the tensor");
    size_t n = r.items.n / sizeof(json_item);
    int32_t elem_type = e->elem_type ? e->elem_type : guess_elem_type(&r, n);
    if (!ok || r.items.failed || r.texts.failed)
        cli_refuse(error, "'%s', byte %zu: %s", path, (size_t)(r.at - text),
                   r.problem ? r.problem : "out of memory");
    else if (elem_type == ELEM_STRING_JSON)
        v = json_strings(&r, n, error);
    else
        v = json_numbers(&r, path, n, elem_type, error);
    cli_buffer_free(&r.items);
    cli_buffer_free(&r.texts);
    cli_buffer_free(&shape.items);
    cli_buffer_free(&shape.texts);
    return v;
}

/* ---- writing --------------------------------------------------------------------------------- */

void cli_json_string(cli_buffer *out, const char *text, size_t n) {
    cli_buffer_add(out, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            cli_buffer_printf(out, "\\%c", c);
        else if (c < 0x20)
            cli_buffer_printf(out, "\\u%04x", c);
        else
            cli_buffer_add(out, &c, 1);
    }
    cli_buffer_add(out, "\"", 1);
}

void cli_json_member(cli_buffer *out, const char *key, const char *text) {
    cli_buffer_printf(out, "\"%s\": ", key);
    cli_json_string(out, text, strlen(text));
}

void cli_json_number(cli_buffer *out, double v, bool is_single) {
    char text[40];
    if (isnan(v) || isinf(v)) {
        cli_buffer_printf(out, "\"%s\"", isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 6; digits <= 17;
         digits++) { /* fewer would bring exponents into small integers */
        snprintf(text, sizeof text, "%.*g", digits, v);
        double again = strtod(text, NULL);
        if (is_single ? (float)again == (float)v : again == v)
            break;
    }
    cli_buffer_printf(out, "%s", text);
}

static bool is_complex_type(int32_t elem_type) {
    return strncmp(hone_elem_type_name(elem_type), "complex", 7) == 0;
}

static void print_json_integer(const hone_value *v, int32_t elem_type, uint64_t i,
                               cli_buffer *out) {
    const char *name = hone_elem_type_name(elem_type);
    int64_t integer;
    hone_value_get_i64(v, i, 1, &integer);
    if (strcmp(name, "bool") == 0)
        cli_buffer_printf(out, "%s", integer ? "true" : "false");
    else if (strcmp(name, "uint64") == 0)
        cli_buffer_printf(out, "%llu", (unsigned long long)integer);
    else
        cli_buffer_printf(out, "%lld", (long long)integer);
}

static void print_json_element(const hone_value *v, int32_t elem_type, uint64_t i,
                               cli_buffer *out) {
    double number;
    const char *text;
    size_t n;
    if (hone_value_string(v, i, &text, &n)) {
        cli_json_string(out, text, n);
    } else if (cli_is_float(elem_type) || is_complex_type(elem_type)) {
        hone_value_get_f64(v, i, 1, &number);
        int part_bits = hone_elem_type_bits(elem_type) / (is_complex_type(elem_type) ? 2 : 1);
        cli_json_number(out, number, part_bits <= 32);
    } else {
        print_json_integer(v, elem_type, i, out);
    }
}

static void print_json_tensor(const hone_value *v, const hone_tensor_info *t, cli_buffer *out) {
    uint64_t n = is_complex_type(t->elem_type) ? 2 * t->n_elements : t->n_elements;
    cli_buffer_printf(out, "{\"type\": \"%s\", \"shape\": [", hone_elem_type_name(t->elem_type));
    for (int32_t i = 0; i < t->rank; i++)
        cli_buffer_printf(out, "%s%lld", i ? ", " : "", (long long)t->dims[i]);
    cli_buffer_printf(out, "], \"data\": [");
    for (uint64_t i = 0; i < n; i++) {
        if (i)
            cli_buffer_printf(out, ", ");
        print_json_element(v, t->elem_type, i, out);
    }
    cli_buffer_printf(out, "]}");
}

void cli_json_print(const hone_value *v, cli_buffer *out) {
    hone_tensor_info t;
    if (hone_value_tensor(v, &t)) {
        print_json_tensor(v, &t, out);
        return;
    }
    hone_type_kind kind = hone_value_kind(v);
    if (kind == HONE_TYPE_OPTIONAL) {
        cli_buffer_printf(out, "null");
        return;
    }
    cli_buffer_printf(out, kind == HONE_TYPE_MAP ? "{\"map\": [" : "{\"sequence\": [");
    for (uint32_t i = 0; i < hone_value_n_items(v); i++) {
        if (i)
            cli_buffer_printf(out, ", ");
        cli_json_print(hone_value_item(v, i), out);
    }
    cli_buffer_printf(out, "]}");
}
