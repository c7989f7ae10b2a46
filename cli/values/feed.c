/* Provides values for the inputs of a model: from files, random or constant. */
#include "cli_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void cli_input_options_free(cli_input_options *o) {
    cli_list_free(&o->files);
}

bool cli_parse_number(const char *text, double *out) {
    char *end;
    *out = strtod(text, &end);
    if (end != text && *end == '/') {
        const char *divisor = end + 1;
        *out /= strtod(divisor, &end);
        if (end == divisor)
            return false;
    }
    return end != text && *end == '\0' && isfinite(*out);
}

int cli_parse_numbers(const char *text, int max, double *out) {
    for (int n = 0; n < max;) {
        char part[64];
        size_t length = strcspn(text, ",");
        if (length >= sizeof part)
            return 0;
        memcpy(part, text, length);
        part[length] = '\0';
        if (!cli_parse_number(part, &out[n++]))
            return 0;
        if (text[length] == '\0')
            return n;
        text += length + 1;
    }
    return 0;
}

/* ---- generated values ------------------------------------------------------------------------ */

bool cli_parse_seed(const char *option, const char *text, uint64_t *seed, hone_error *error) {
    char *end;
    *seed = strtoull(text, &end, 10);
    return *text && !*end ? true
                          : cli_refuse(error, "--%s %s: write a seed, for example --%s 1", option,
                                       text, option);
}

/* splitmix64, which has no weak seeds. */
uint64_t cli_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Floats between -1 and 1; bytes of any value; 0 or 1 for wider integers, which are mostly indices
 * or masks. */
static double random_number(uint64_t *state, int32_t elem_type) {
    uint64_t bits = cli_random(state);
    const char *name = hone_elem_type_name(elem_type);
    if (strcmp(name, "uint8") == 0)
        return (double)(bits >> 56);
    if (strcmp(name, "int8") == 0)
        return (double)(bits >> 56) - 128;
    if (cli_is_float(elem_type) || strncmp(name, "complex", 7) == 0)
        return (double)(bits >> 11) * 0x1p-52 - 1;
    return (double)(bits >> 63);
}

/* The sequence of each input does not depend on other inputs. */
static uint64_t seed_for(const char *name, uint64_t seed) {
    for (; *name; name++)
        seed = (seed ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return seed;
}

typedef struct made_up {
    bool is_random;
    uint64_t seed;
    double number; /* when not random */
} made_up;

/* False: the user has interrupted it. */
static bool fill_value(const cli_expect *e, const made_up *how, uint64_t n, hone_value *v) {
    enum { AT_ONCE = 1024 };
    double numbers[AT_ONCE];
    uint64_t state = seed_for(e->name, how->seed);
    for (uint64_t at = 0; at < n; at += AT_ONCE) {
        uint64_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        for (uint64_t i = 0; i < some; i++)
            numbers[i] = how->is_random ? random_number(&state, e->elem_type) : how->number;
        if (cli_is_interrupted())
            return false;
        hone_value_set_f64(v, at, some, numbers);
    }
    return true;
}

static hone_value *make_value(const cli_expect *e, const made_up *how, hone_error *error) {
    int64_t dims[CLI_MAX_RANK];
    hone_value *v;
    if (e->kind != HONE_TYPE_TENSOR || !hone_elem_type_bits(e->elem_type) || e->rank < 0) {
        cli_refuse(error,
                   "input '%s' is %s: values cannot be generated for it, give --input %s=FILE%s",
                   e->name, e->text, e->name, e->rank < 0 ? " or --shape" : "");
        return NULL;
    }
    uint64_t n = strncmp(hone_elem_type_name(e->elem_type), "complex", 7) == 0 ? 2 : 1;
    for (int32_t i = 0; i < e->rank; i++) {
        dims[i] = e->dims[i] < 0 ? 1 : e->dims[i];
        n *= (uint64_t)dims[i];
    }
    if (hone_value_create(e->elem_type, e->rank, dims, NULL, &v, error) != HONE_OK)
        return NULL;
    if (fill_value(e, how, n, v))
        return v;
    cli_refuse(error, "interrupted while values of input '%s' were generated", e->name);
    hone_value_free(v);
    return NULL;
}

/* False when no option applies; the error is set when an option is wrong. */
static bool read_made_up(const cli_input_options *o, const cli_expect *e, const char *inputs,
                         made_up *how, hone_error *error) {
    *how = (made_up){.is_random = o->random != NULL};
    if (o->random)
        return cli_parse_seed("random", o->random, &how->seed, error);
    if (!o->fill)
        return cli_refuse(error,
                          "input '%s', %s, is missing: give --input %s=FILE, --random SEED or "
                          "--fill zeros (the inputs are %s)",
                          e->name, e->text, e->name, inputs);
    how->number = strcmp(o->fill, "ones") == 0;
    return how->number > 0 || strcmp(o->fill, "zeros") == 0
               ? true
               : cli_refuse(error, "--fill %s: write zeros or ones", o->fill);
}

/* ---- from files ------------------------------------------------------------------------------ */

/* What was given for one input: one value, or the images of a batch. */
typedef struct given_input {
    cli_expect expect;
    bool has_default;
    bool has_images;
    const char *path; /* the first one */
    hone_value **values;
    size_t n;
} given_input;

typedef struct feed_maker {
    const hone_graph *g;
    const cli_input_options *o;
    given_input *inputs;
    uint32_t n_inputs, n_required;
    const char *path; /* of the archive that is read */
    hone_error error;
} feed_maker;

/* Takes ownership of the value; NULL: it could not be read. */
static bool give_value(feed_maker *m, given_input *in, const char *path, bool is_image,
                       hone_value *v) {
    hone_value **grown = v ? realloc(in->values, (in->n + 1) * sizeof *grown) : NULL;
    if (!grown) {
        hone_value_free(v);
        return v ? cli_refuse(&m->error, "out of memory") : false;
    }
    in->values = grown;
    in->values[in->n++] = v;
    if (in->n == 1) {
        in->path = path;
        in->has_images = is_image;
        return true;
    }
    return in->has_images && is_image
               ? true
               : cli_refuse(&m->error,
                            "input '%s' is given twice: by '%s' and '%s'; only images make a batch",
                            in->expect.name, in->path, path);
}

static given_input *find_given(const feed_maker *m, const char *name, size_t n) {
    for (uint32_t i = 0; i < m->n_inputs; i++)
        if (strlen(m->inputs[i].expect.name) == n && memcmp(m->inputs[i].expect.name, name, n) == 0)
            return &m->inputs[i];
    return NULL;
}

static given_input *only_required(const feed_maker *m) {
    for (uint32_t i = 0; m->n_required == 1 && i < m->n_inputs; i++)
        if (!m->inputs[i].has_default)
            return &m->inputs[i];
    return NULL;
}

/* A member that is no input would be ignored silently. */
static bool give_member(void *ctx, const char *name, const unsigned char *at, size_t n,
                        hone_error *error) {
    feed_maker *m = ctx;
    given_input *in = find_given(m, name, strlen(name));
    char names[512];
    if (!in && cli_npz_is_unnamed(name))
        in = only_required(m);
    if (!in)
        return cli_refuse(error, "'%s' has the array '%s', which is no input: the inputs are %s",
                          m->path, name, cli_list_names(m->g, false, names, sizeof names));
    return give_value(m, in, m->path, false, cli_npy_parse(at, n, m->path, &in->expect, error));
}

/* The input of "NAME=FILE" and its file; names may contain '='. */
static given_input *split_given(const feed_maker *m, const char *text, const char **path) {
    for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '=')) {
        given_input *in = find_given(m, text, (size_t)(equals - text));
        *path = equals + 1;
        if (in)
            return in;
    }
    *path = text;
    return strchr(text, '=') ? NULL : only_required(m);
}

static bool give_file(feed_maker *m, const char *text) {
    char names[512];
    bool is_image;
    if (!strchr(text, '=') && cli_has_suffix(text, ".npz")) {
        m->path = text;
        return cli_npz_read(text, give_member, m, &m->error);
    }
    const char *path;
    given_input *in = split_given(m, text, &path);
    if (!in)
        return cli_refuse(&m->error,
                          "--input %s: write NAME=FILE with the name of an input; the model has %s",
                          text, cli_list_names(m->g, false, names, sizeof names));
    hone_value *v = cli_value_read(path, &in->expect, &m->o->image, &is_image, &m->error);
    return give_value(m, in, path, is_image, v);
}

static bool feed_input(feed_maker *m, given_input *in, cli_feed *feed) {
    made_up how;
    char inputs[512];
    hone_value *v = NULL;
    if (in->n == 1)
        v = in->values[--in->n];
    else if (in->n && in->expect.rank == 3) /* an image without a batch dimension */
        cli_refuse(&m->error, "'%s' is %s: it takes one image, not %zu", in->expect.name,
                   in->expect.text, in->n);
    else if (in->n)
        v = cli_batch(in->values, in->n, &in->expect, &m->error);
    else if (in->has_default || in->expect.kind == HONE_TYPE_OPTIONAL)
        return true;
    else if (read_made_up(m->o, &in->expect, cli_list_names(m->g, false, inputs, sizeof inputs),
                          &how, &m->error))
        v = make_value(&in->expect, &how, &m->error);
    if (!v)
        return false;
    feed->names[feed->n] = in->expect.name;
    feed->values[feed->n++] = v;
    return true;
}

static bool is_provided(const cli_input_options *o, const char *name) {
    for (size_t i = 0; i < o->provided.n; i++)
        if (strcmp(o->provided.at[i], name) == 0)
            return true;
    return false;
}

static bool open_inputs(feed_maker *m, cli_feed *feed) {
    hone_subgraph_info graph;
    hone_value_info info;
    hone_graph_get_subgraph(m->g, 0, &graph);
    m->inputs = calloc((size_t)graph.n_inputs + 1, sizeof *m->inputs);
    *feed = (cli_feed){.names = calloc((size_t)graph.n_inputs + 1, sizeof *feed->names),
                       .values = calloc((size_t)graph.n_inputs + 1, sizeof *feed->values)};
    if (!m->inputs || !feed->names || !feed->values)
        return cli_refuse(&m->error, "out of memory");
    for (; m->n_inputs < graph.n_inputs; m->n_inputs++) {
        given_input *in = &m->inputs[m->n_inputs];
        hone_graph_get_value(m->g, graph.inputs[m->n_inputs], &info);
        cli_expect_init(m->g, graph.inputs[m->n_inputs], &in->expect);
        in->has_default = info.is_initializer || is_provided(m->o, info.name);
        m->n_required += !in->has_default;
    }
    return true;
}

static void close_inputs(feed_maker *m) {
    for (uint32_t i = 0; i < m->n_inputs; i++) {
        for (size_t k = 0; k < m->inputs[i].n; k++)
            hone_value_free(m->inputs[i].values[k]);
        free(m->inputs[i].values);
    }
    free(m->inputs);
}

bool cli_feed_make(const hone_model *model, const cli_input_options *o, cli_feed *feed) {
    feed_maker m = {.g = hone_model_graph(model), .o = o};
    bool ok = open_inputs(&m, feed);
    for (size_t i = 0; ok && i < o->files.n; i++)
        ok = give_file(&m, o->files.at[i]);
    for (uint32_t i = 0; ok && i < m.n_inputs; i++)
        ok = feed_input(&m, &m.inputs[i], feed);
    close_inputs(&m);
    if (!ok) {
        cli_fail_error(&m.error);
        cli_feed_free(feed);
    }
    return ok;
}

void cli_feed_free(cli_feed *feed) {
    for (uint32_t i = 0; feed->values && i < feed->n; i++)
        hone_value_free(feed->values[i]);
    free(feed->values);
    free(feed->names);
    *feed = (cli_feed){0};
}

/* ---- for another model ----------------------------------------------------------------------- */

static bool find_expect(const hone_graph *g, const char *name, cli_expect *e) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(g, 0, &graph);
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        cli_expect_init(g, graph.inputs[i], e);
        if (strcmp(e->name, name) == 0)
            return true;
    }
    return false;
}

bool cli_feed_convert(const hone_model *m, const cli_feed *from, cli_feed *to) {
    hone_error error;
    hone_tensor_info t;
    cli_expect e;
    *to =
        (cli_feed){.names = from->names, .values = calloc((size_t)from->n + 1, sizeof *to->values)};
    bool ok = to->values ? true : cli_refuse(&error, "out of memory");
    for (; ok && to->n < from->n; to->n++) {
        hone_value *v = from->values[to->n];
        if (hone_value_tensor(v, &t) && cli_is_float(t.elem_type) &&
            find_expect(hone_model_graph(m), from->names[to->n], &e) && cli_is_float(e.elem_type) &&
            e.elem_type != t.elem_type)
            v = cli_value_cast(v, e.elem_type, &error);
        to->values[to->n] = v;
        ok = v != NULL;
    }
    if (!ok)
        cli_fail_error(&error);
    return ok;
}

void cli_feed_free_converted(cli_feed *to, const cli_feed *from) {
    for (uint32_t i = 0; i < to->n; i++)
        if (to->values[i] != from->values[i])
            hone_value_free(to->values[i]);
    free(to->values);
    *to = (cli_feed){0};
}
