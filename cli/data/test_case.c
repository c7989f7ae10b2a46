/* Runs one ONNX test case and compares the outputs. */
#define _POSIX_C_SOURCE 200809L
#include "data/test_sets.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_PATH_TEXT 4096

typedef struct case_run {
    const test_case *c;
    const hone_graph *g;
    hone_subgraph_info graph;
    hone_session *session;
    cli_feed feed;
    hone_value **outputs;
    hone_error error;
} case_run;

static bool file_exists(const char *path) {
    struct stat s;
    return stat(path, &s) == 0;
}

static bool read_pb(case_run *r, const char *path, uint32_t value, hone_value **out) {
    cli_expect e;
    cli_buffer file;
    cli_expect_init(r->g, value, &e);
    if (!cli_file_read(path, &file, &r->error))
        return false;
    *out = cli_pb_parse(&file, path, e.kind, &r->error);
    cli_buffer_free(&file);
    return *out != NULL;
}

/* Element i of n is i / n. */
static bool make_ramp(case_run *r, uint32_t value, hone_value **out) {
    cli_expect e;
    cli_expect_init(r->g, value, &e);
    uint64_t n = 1;
    for (int32_t i = 0; i < e.rank; i++) {
        e.dims[i] = e.dims[i] < 0 ? 1 : e.dims[i];
        n *= (uint64_t)e.dims[i];
    }
    if (e.rank < 0 ||
        hone_value_create(e.elem_type, e.rank, e.dims, NULL, out, &r->error) != HONE_OK)
        return e.rank < 0 ? cli_refuse(&r->error, "input '%s' has no shape", e.name) : false;
    for (uint64_t i = 0; i < n; i++) {
        double number = (double)i / (double)n;
        hone_value_set_f64(*out, i, 1, &number);
    }
    return true;
}

static void push_input(case_run *r, uint32_t value, hone_value *v) {
    hone_value_info info;
    hone_graph_get_value(r->g, value, &info);
    r->feed.names[r->feed.n] = info.name;
    r->feed.values[r->feed.n++] = v;
}

/* input_N.pb is the Nth input of the graph. */
static bool read_inputs(case_run *r, const char *set) {
    char path[MAX_PATH_TEXT + 32];
    for (uint32_t i = 0; i < r->graph.n_inputs; i++) {
        hone_value *v;
        snprintf(path, sizeof path, "%s/input_%u.pb", set, i);
        if (!file_exists(path))
            continue;
        if (!read_pb(r, path, r->graph.inputs[i], &v))
            return false;
        push_input(r, r->graph.inputs[i], v);
    }
    return true;
}

static bool make_inputs(case_run *r) {
    for (uint32_t i = 0; i < r->graph.n_inputs; i++) {
        hone_value_info info;
        hone_value *v;
        hone_graph_get_value(r->g, r->graph.inputs[i], &info);
        if (info.is_initializer)
            continue;
        if (!make_ramp(r, r->graph.inputs[i], &v))
            return false;
        push_input(r, r->graph.inputs[i], v);
    }
    return true;
}

/* bfloat16 has 8 significant bits: two ulp are the smallest useful tolerance. */
static cli_tolerance tolerance_for(const test_case *c, const hone_value *expected) {
    cli_tolerance t = c->tolerance;
    hone_tensor_info info;
    if (hone_value_tensor(expected, &info) &&
        strcmp(hone_elem_type_name(info.elem_type), "bfloat16") == 0)
        t.relative = fmax(t.relative, 0x1p-6);
    return t;
}

static bool refuse_output(case_run *r, const char *name, const cli_comparison *c) {
    char count[64] = "";
    if (c->n_different)
        snprintf(count, sizeof count, "; %llu of %llu elements differ",
                 (unsigned long long)c->n_different, (unsigned long long)c->n);
    return cli_refuse(&r->error, "output '%s': %s%s", name, c->problem, count);
}

static bool compare_outputs(case_run *r, const char *prefix) {
    char path[MAX_PATH_TEXT + 32];
    uint32_t n_compared = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->graph.n_outputs; i++) {
        hone_value *expected;
        hone_value_info info;
        cli_comparison comparison;
        snprintf(path, sizeof path, "%soutput_%u.pb", prefix, i);
        if (!file_exists(path))
            continue;
        if (!read_pb(r, path, r->graph.outputs[i], &expected))
            return false;
        hone_graph_get_value(r->g, r->graph.outputs[i], &info);
        cli_tolerance t = tolerance_for(r->c, expected);
        cli_compare(expected, r->outputs[i], &t, &comparison);
        ok = comparison.equal ? true : refuse_output(r, info.name, &comparison);
        hone_value_free(expected);
        n_compared++;
    }
    return ok && n_compared == 0 ? cli_refuse(&r->error, "%soutput_0.pb is missing", prefix) : ok;
}

static bool run_feed(case_run *r) {
    return hone_session_run(r->session, NULL, r->feed.n, r->feed.names,
                            (const hone_value *const *)r->feed.values, 0, NULL, r->outputs,
                            &r->error) == HONE_OK;
}

/* `set` is a folder of inputs and outputs; NULL: generated inputs. */
static bool run_set(case_run *r, const char *set) {
    char prefix[MAX_PATH_TEXT];
    size_t n_model = strlen(r->c->model) - strlen(".onnx");
    if (set)
        snprintf(prefix, sizeof prefix, "%s/", set);
    else
        snprintf(prefix, sizeof prefix, "%.*s_", (int)n_model, r->c->model);
    r->feed = (cli_feed){.names = calloc((size_t)r->graph.n_inputs + 1, sizeof *r->feed.names),
                         .values = calloc((size_t)r->graph.n_inputs + 1, sizeof *r->feed.values)};
    r->outputs = calloc((size_t)r->graph.n_outputs + 1, sizeof *r->outputs);
    bool ok = r->feed.names && r->feed.values && r->outputs
                  ? true
                  : cli_refuse(&r->error, "out of memory");
    ok = ok && (set ? read_inputs(r, set) : make_inputs(r)) && run_feed(r) &&
         compare_outputs(r, prefix);
    for (uint32_t i = 0; r->outputs && i < r->graph.n_outputs; i++)
        hone_value_free(r->outputs[i]);
    free(r->outputs);
    cli_feed_free(&r->feed);
    return ok;
}

static bool run_sets(case_run *r) {
    char set[MAX_PATH_TEXT - 1];
    if (!r->c->folder)
        return run_set(r, NULL);
    for (int i = 0;; i++) {
        snprintf(set, sizeof set, "%s/test_data_set_%d", r->c->folder, i);
        if (!file_exists(set))
            return true;
        if (!run_set(r, set))
            return false;
    }
}

static double wall_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void test_case_run(const test_case *c, const test_options *o, test_result *result) {
    case_run r = {.c = c};
    hone_model *m = NULL;
    hone_session_options options;
    double start = wall_clock();
    hone_session_options_init(&options);
    options.n_threads = o->n_threads;
    options.level = o->level;
    options.decode_image = cli_decode_image;
    bool ok = cli_load_model(c->model, o->custom_ops, false, false, &m, &r.error) == HONE_OK &&
              hone_session_create(m, &options, &r.session, &r.error) == HONE_OK;
    if (ok) {
        r.g = hone_model_graph(m);
        hone_graph_get_subgraph(r.g, 0, &r.graph);
        ok = run_sets(&r);
    }
    *result = (test_result){.passed = ok, .seconds = wall_clock() - start};
    if (!ok)
        snprintf(result->message, sizeof result->message, "%.*s", (int)sizeof result->message - 1,
                 r.error.message);
    hone_session_free(r.session);
    hone_model_free(m);
}
