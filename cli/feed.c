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

/* splitmix64, which has no weak seeds. */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Floats between -1 and 1; bytes of any value; 0 or 1 for wider integers, which are mostly indices
 * or masks. */
static double random_number(uint64_t *state, int32_t elem_type) {
    uint64_t bits = next_random(state);
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
    uint64_t state = seed_for(e->name, how->seed);
    for (uint64_t i = 0; i < n; i++) {
        double number = how->is_random ? random_number(&state, e->elem_type) : how->number;
        hone_value_set_f64(v, i, 1, &number);
    }
    return v;
}

/* False when no option applies; the error is set when an option is wrong. */
static bool read_made_up(const cli_input_options *o, const cli_expect *e, const char *inputs,
                         made_up *how, hone_error *error) {
    char *end;
    *how = (made_up){.is_random = o->random != NULL};
    if (o->random) {
        how->seed = strtoull(o->random, &end, 10);
        return *o->random && !*end
                   ? true
                   : cli_refuse(error, "--random %s: write a seed, for example --random 1",
                                o->random);
    }
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

/* Returns the file of "NAME=FILE" for this input; NULL for another input. Names may contain '='. */
static const char *file_for(const char *text, const char *name) {
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

/* The graph inputs without a default, and those with a file. */
typedef struct feed_maker {
    const hone_graph *g;
    const cli_input_options *o;
    cli_feed *feed;
    uint32_t n_required;
    hone_error error;
} feed_maker;

static const char *given_file(const feed_maker *m, const char *name, bool is_only) {
    for (size_t i = 0; i < m->o->files.n; i++) {
        const char *text = m->o->files.at[i];
        const char *path = file_for(text, name);
        if (path)
            return path;
        if (!strchr(text, '=') && (is_only || cli_has_suffix(text, ".npz")))
            return text;
    }
    return NULL;
}

static bool feed_input(feed_maker *m, uint32_t value, bool has_default) {
    cli_expect e;
    made_up how;
    char inputs[512];
    cli_expect_init(m->g, value, &e);
    const char *path = given_file(m, e.name, !has_default && m->n_required == 1);
    hone_value *v = NULL;
    if (path) {
        v = cli_value_read(path, &e, &m->o->image, &m->error);
    } else if (has_default || e.kind == HONE_TYPE_OPTIONAL) {
        return true;
    } else if (read_made_up(m->o, &e, cli_list_names(m->g, false, inputs, sizeof inputs), &how,
                            &m->error)) {
        v = make_value(&e, &how, &m->error);
    }
    if (!v)
        return false;
    m->feed->names[m->feed->n] = e.name;
    m->feed->values[m->feed->n++] = v;
    return true;
}

/* A name that no input has would be ignored silently. */
static bool check_given_names(feed_maker *m, const hone_subgraph_info *graph) {
    for (size_t i = 0; i < m->o->files.n; i++) {
        const char *text = m->o->files.at[i];
        bool is_known = !strchr(text, '=') && (m->n_required == 1 || cli_has_suffix(text, ".npz"));
        for (uint32_t k = 0; !is_known && k < graph->n_inputs; k++) {
            hone_value_info info;
            hone_graph_get_value(m->g, graph->inputs[k], &info);
            is_known = file_for(text, info.name) != NULL;
        }
        char names[512];
        if (!is_known)
            return cli_refuse(
                &m->error,
                "--input %s: write NAME=FILE with the name of an input; the model has %s", text,
                cli_list_names(m->g, false, names, sizeof names));
    }
    return true;
}

bool cli_feed_make(const hone_model *model, const cli_input_options *o, cli_feed *feed) {
    hone_subgraph_info graph;
    hone_value_info info;
    feed_maker m = {.g = hone_model_graph(model), .o = o, .feed = feed};
    hone_graph_get_subgraph(m.g, 0, &graph);
    *feed = (cli_feed){.names = calloc((size_t)graph.n_inputs + 1, sizeof *feed->names),
                       .values = calloc((size_t)graph.n_inputs + 1, sizeof *feed->values)};
    bool ok = feed->names && feed->values ? true : cli_refuse(&m.error, "out of memory");
    for (uint32_t i = 0; i < graph.n_inputs; i++) {
        hone_graph_get_value(m.g, graph.inputs[i], &info);
        m.n_required += !info.is_initializer;
    }
    ok = ok && check_given_names(&m, &graph);
    for (uint32_t i = 0; ok && i < graph.n_inputs; i++) {
        hone_graph_get_value(m.g, graph.inputs[i], &info);
        ok = feed_input(&m, graph.inputs[i], info.is_initializer);
    }
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
