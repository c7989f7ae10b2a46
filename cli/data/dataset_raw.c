/* Datasets: raw files with a JSON manifest, which has types, shapes and places; docs/data.md has
 * the format. */
#define _POSIX_C_SOURCE 200809L
#include "data/dataset_int.h"
#include "values/json_tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where the elements of an input lie. */
typedef struct raw_place {
    int32_t elem_type;
    int32_t rank; /* -1: not given */
    int64_t dims[CLI_MAX_RANK];
    const char *file; /* NULL: not given */
    uint64_t offset;
} raw_place;

typedef struct raw_files {
    json_tree tree;
    char *folder;              /* of the manifest */
    raw_place *places;         /* by input: those of all samples, or what they leave out */
    const json_node **samples; /* NULL: they follow each other in the file of each input */
    const json_node **labels;  /* NULL: none */
} raw_files;

static void close_raw_files(void *state) {
    raw_files *f = state;
    json_tree_free(&f->tree);
    free(f->folder);
    free(f->places);
    free((void *)f->samples);
    free((void *)f->labels);
    free(f);
}

/* ---- places ---------------------------------------------------------------------------------- */

static int32_t elem_type_named(const char *name) {
    static const struct {
        const char *alias, *name;
    } aliases[] = {{"float32", "float"}, {"float64", "double"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        name = strcmp(name, aliases[i].alias) == 0 ? aliases[i].name : name;
    for (int32_t type = 1; type < 64; type++)
        if (hone_elem_type_bits(type) >= 8 && strcmp(hone_elem_type_name(type), name) == 0)
            return type;
    return 0;
}

static bool read_raw_shape(const json_tree *tree, const json_node *shape, raw_place *place) {
    bool ok = shape->kind == JSON_ARRAY && shape->n < CLI_MAX_RANK;
    place->rank = 0;
    for (const json_node *n = json_first(tree, shape); ok && n; n = json_next(tree, n)) {
        uint64_t size;
        ok = json_count(n, &size);
        if (ok)
            place->dims[place->rank++] = (int64_t)size;
    }
    return ok;
}

/* Files outside the folder of the manifest are not read. */
static bool is_inside(const char *file) {
    if (*file == '/' || *file == '\0')
        return false;
    for (const char *at = file; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return false;
    }
    return true;
}

/* A place is the name of a file, or an object; what it leaves out stays as it is. */
static bool read_raw_place(const cli_dataset *d, const json_node *node, const char *input,
                           raw_place *place, hone_error *error) {
    const json_tree *tree = &((const raw_files *)d->state)->tree;
    bool ok = node->kind == JSON_TEXT || node->kind == JSON_OBJECT;
    const char *wrong = node->key;
    if (node->kind == JSON_TEXT)
        place->file = node->text;
    for (const json_node *n = json_first(tree, node); ok && n; n = json_next(tree, n)) {
        wrong = n->key;
        if (strcmp(wrong, "type") == 0)
            ok = n->kind == JSON_TEXT && (place->elem_type = elem_type_named(n->text)) != 0;
        else if (strcmp(wrong, "shape") == 0)
            ok = read_raw_shape(tree, n, place);
        else if (strcmp(wrong, "file") == 0)
            ok = n->kind == JSON_TEXT && (place->file = n->text) != NULL;
        else
            ok = strcmp(wrong, "offset") == 0 && json_count(n, &place->offset);
    }
    if (!ok)
        return cli_refuse(error,
                          "'%s': input '%s' has a wrong \"%s\"; an input has \"type\", \"shape\", "
                          "\"file\" and \"offset\"",
                          d->path, input, wrong ? wrong : "");
    return !place->file || is_inside(place->file)
               ? true
               : cli_refuse(error,
                            "'%s': the file '%s' of input '%s' does not lie in the folder of the "
                            "manifest",
                            d->path, place->file, input);
}

/* Bytes of the elements; false: too many. */
static bool raw_bytes(const raw_place *p, uint64_t *n_bytes) {
    uint64_t n = (uint64_t)hone_elem_type_bits(p->elem_type) / 8;
    for (int32_t axis = 0; axis < p->rank; axis++) {
        uint64_t size = (uint64_t)p->dims[axis];
        if (size && n > (UINT64_C(1) << 48) / size)
            return false;
        n *= size;
    }
    *n_bytes = n;
    return true;
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_raw_bytes(const char *path, const raw_place *p, void *out, size_t n_bytes,
                           hone_error *error) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return cli_refuse(error, "cannot open '%s'", path);
    bool ok = fseeko(f, (off_t)p->offset, SEEK_SET) == 0 && fread(out, 1, n_bytes, f) == n_bytes;
    fclose(f);
    return ok ? true : cli_refuse(error, "cannot read '%s'", path);
}

static hone_value *read_raw_value(const char *path, const raw_place *p, bool is_row,
                                  hone_error *error) {
    uint64_t n_bytes = 0;
    struct stat info;
    hone_value *v = NULL;
    int64_t dims[CLI_MAX_RANK + 1] = {1};
    if (!raw_bytes(p, &n_bytes)) {
        cli_refuse(error, "'%s': its shape has too many elements", path);
        return NULL;
    }
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || p->offset > (uint64_t)info.st_size ||
        n_bytes > (uint64_t)info.st_size - p->offset) {
        cli_refuse(error, "'%s' is missing, or has no %llu bytes of elements from byte %llu on",
                   path, (unsigned long long)n_bytes, (unsigned long long)p->offset);
        return NULL;
    }
    memcpy(dims + 1, p->dims, sizeof p->dims);
    char *data = malloc((size_t)n_bytes + 1);
    if (!data)
        cli_refuse(error, "out of memory");
    else if (read_raw_bytes(path, p, data, (size_t)n_bytes, error))
        hone_value_create(p->elem_type, p->rank + is_row, dims + !is_row, data, &v, error);
    free(data);
    return v;
}

static bool read_raw_input(const cli_dataset *d, uint64_t i, uint32_t k, hone_value **v,
                           hone_error *error) {
    const raw_files *f = d->state;
    raw_place place = f->places[k];
    uint64_t n_bytes;
    if (f->samples) {
        const json_node *inputs = json_member(&f->tree, f->samples[i], "inputs"),
                        *node = json_member(&f->tree, inputs, d->inputs[k]);
        if (node && !read_raw_place(d, node, d->inputs[k], &place, error))
            return false;
    } else if (raw_bytes(&place, &n_bytes)) {
        place.offset += i * n_bytes;
    }
    if (!place.file || place.rank < 0)
        return cli_refuse(error, "'%s' has no \"%s\" for input '%s'", d->path,
                          place.file ? "shape" : "file", d->inputs[k]);
    char *path = dataset_path_in(f->folder, place.file);
    if (!path)
        return cli_refuse(error, "out of memory");
    *v = read_raw_value(path, &place, d->are_rows[k], error);
    free(path);
    return *v != NULL;
}

static bool read_raw_sample(const cli_dataset *d, uint64_t i, dataset_item *item,
                            hone_error *error) {
    const raw_files *f = d->state;
    const json_node *sample = f->samples ? f->samples[i] : NULL,
                    *name = json_member(&f->tree, sample, "name"),
                    *label = json_member(&f->tree, sample, "label");
    char number[24];
    uint64_t class;
    snprintf(number, sizeof number, "%llu", (unsigned long long)i);
    item->name = dataset_copy_text(name && name->kind == JSON_TEXT ? name->text : number);
    bool ok = item->name ? true : cli_refuse(error, "out of memory");
    label = f->labels ? f->labels[i] : label;
    if (ok && label && !json_count(label, &class))
        ok = cli_refuse(error, "the label must be a whole number");
    else if (label)
        item->label = (int64_t) class;
    for (uint32_t k = 0; ok && k < d->n; k++)
        ok = read_raw_input(d, i, k, &item->values[k], error);
    return ok;
}

static const dataset_reader raw_reader = {.read = read_raw_sample, .close = close_raw_files};

/* ---- opening --------------------------------------------------------------------------------- */

/* The children of an array, which cannot be found by number. */
static const json_node **list_children(const json_tree *tree, const json_node *array) {
    const json_node **list = calloc((size_t)array->n + 1, sizeof *list);
    uint32_t i = 0;
    for (const json_node *n = json_first(tree, array); list && n; n = json_next(tree, n))
        list[i++] = n;
    return list;
}

/* What the manifest leaves out is as the model declares it: the type, and a known shape. */
static void declared_place(const cli_expect *e, raw_place *p) {
    *p = (raw_place){.elem_type = e->elem_type, .rank = e->rank > 0 ? e->rank - 1 : -1};
    for (int32_t axis = 0; axis < p->rank; axis++) {
        p->dims[axis] = e->dims[axis + 1];
        if (p->dims[axis] < 0)
            p->rank = -1;
    }
}

static bool add_raw_input(cli_dataset *d, const json_node *node, hone_error *error) {
    raw_files *f = d->state;
    char names[512];
    uint32_t value = dataset_find_input(d, node->key, strlen(node->key));
    if (value == HONE_NONE)
        return cli_refuse(error, "'%s' has '%s', which is no input: the inputs are %s", d->path,
                          node->key, cli_list_names(d->g, false, names, sizeof names));
    uint32_t k = d->n;
    if (!dataset_add_input(d, value, error))
        return false;
    const cli_expect *e = &d->expects[k];
    raw_place *place = &f->places[k];
    declared_place(e, place);
    if (!read_raw_place(d, node, e->name, place, error))
        return false;
    const json_node *shape = json_member(&f->tree, node, "shape");
    d->are_rows[k] = shape ? place->rank == e->rank - 1 : e->rank > 0;
    return place->elem_type && hone_elem_type_bits(place->elem_type) >= 8
               ? true
               : cli_refuse(error, "'%s': input '%s' needs a \"type\" of at least 8 bits", d->path,
                            e->name);
}

static bool open_raw_inputs(cli_dataset *d, const json_node *inputs, hone_error *error) {
    raw_files *f = d->state;
    hone_subgraph_info graph;
    hone_graph_get_subgraph(d->g, 0, &graph);
    f->places = calloc((size_t)graph.n_inputs + 1, sizeof *f->places);
    if (!f->places)
        return cli_refuse(error, "out of memory");
    if (!inputs || inputs->kind != JSON_OBJECT || inputs->n == 0)
        return cli_refuse(error, "'%s' has no \"inputs\": {\"NAME\": {...}}", d->path);
    for (const json_node *n = json_first(&f->tree, inputs); n; n = json_next(&f->tree, n))
        if (!add_raw_input(d, n, error))
            return false;
    return true;
}

/* Samples without a list follow each other in the files: their number follows from the sizes. */
static bool count_raw_samples(cli_dataset *d, hone_error *error) {
    const raw_files *f = d->state;
    for (uint32_t k = 0; k < d->n; k++) {
        const raw_place *p = &f->places[k];
        struct stat info = {0};
        uint64_t n_bytes = 0;
        if (!p->file || p->rank < 0)
            return cli_refuse(error, "'%s': input '%s' has no \"%s\"", d->path, d->inputs[k],
                              p->file ? "shape" : "file");
        char *path = dataset_path_in(f->folder, p->file);
        bool is_there = path && stat(path, &info) == 0;
        free(path);
        if (!is_there)
            return cli_refuse(error, "'%s': there is no file '%s'", d->path, p->file);
        uint64_t left = (uint64_t)info.st_size - p->offset;
        bool fits = raw_bytes(p, &n_bytes) && n_bytes && p->offset < (uint64_t)info.st_size &&
                    left % n_bytes == 0 && (k == 0 || left / n_bytes == d->n_stored);
        if (!fits)
            return cli_refuse(error,
                              "'%s': '%s' has %llu bytes from byte %llu on, which are not samples "
                              "of %llu bytes, as many as for the other inputs",
                              d->path, p->file, (unsigned long long)left,
                              (unsigned long long)p->offset, (unsigned long long)n_bytes);
        d->n_stored = left / n_bytes;
    }
    return true;
}

static bool open_raw_samples(cli_dataset *d, const json_node *root, hone_error *error) {
    raw_files *f = d->state;
    const json_node *samples = json_member(&f->tree, root, "samples"),
                    *labels = json_member(&f->tree, root, "labels");
    if (samples && (samples->kind != JSON_ARRAY || samples->n == 0))
        return cli_refuse(error, "'%s': \"samples\" must be an array that is not empty", d->path);
    if (samples) {
        f->samples = list_children(&f->tree, samples);
        d->n_stored = samples->n;
    } else if (!count_raw_samples(d, error)) {
        return false;
    }
    if (labels && (labels->kind != JSON_ARRAY || labels->n != d->n_stored))
        return cli_refuse(error, "'%s': \"labels\" must be an array of %llu numbers", d->path,
                          (unsigned long long)d->n_stored);
    if (labels)
        f->labels = list_children(&f->tree, labels);
    return (!samples || f->samples) && (!labels || f->labels) ? true
                                                              : cli_refuse(error, "out of memory");
}

bool dataset_is_manifest(const char *path) {
    cli_buffer file;
    hone_error ignored;
    if (!cli_has_suffix(path, ".json") || !cli_file_read(path, &file, &ignored))
        return false;
    cli_buffer_add(&file, "", 1);
    const char *text = (const char *)file.at;
    bool is_manifest =
        !file.failed && text[strspn(text, " \t\r\n")] == '{' && strstr(text, "\"inputs\"");
    cli_buffer_free(&file);
    return is_manifest;
}

bool dataset_open_manifest(cli_dataset *d, hone_error *error) {
    raw_files *f = calloc(1, sizeof *f);
    cli_buffer file;
    const char *slash = strrchr(d->path, '/');
    if (!f)
        return cli_refuse(error, "out of memory");
    d->state = f;
    d->reader = &raw_reader;
    f->folder = dataset_copy_text(slash ? d->path : ".");
    if (!f->folder)
        return cli_refuse(error, "out of memory");
    if (slash)
        f->folder[slash - d->path + (slash == d->path)] = '\0';
    if (!cli_file_read(d->path, &file, error) || !json_tree_parse(&file, d->path, &f->tree, error))
        return false;
    const json_node *root = &f->tree.nodes[0];
    return open_raw_inputs(d, json_member(&f->tree, root, "inputs"), error) &&
           open_raw_samples(d, root, error);
}
