/* hone diff: compares the outputs of two models. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

typedef struct diff_options {
    cli_model_options model;
    cli_input_options input;
    const char *limit;
    uint64_t threads;
    const char *level;
    bool all, json;
} diff_options;

static const cli_option diff_option_table[] = {
    {"all", 'a', CLI_FLAG, offsetof(diff_options, all), NULL,
     "every value that both models compute under the same name"},
    {"limit", 'l', CLI_TEXT, offsetof(diff_options, limit), "NUMBER",
     "largest allowed difference, relative to the largest element (default 1e-4)"},
    CLI_INPUT_OPTIONS(diff_options),
    {"level", 0, CLI_TEXT, offsetof(diff_options, level), "LEVEL",
     "graph optimization level: none, basic, extended, all (default; with --all: none)"},
    {"threads", 't', CLI_COUNT, offsetof(diff_options, threads), "N",
     "threads to use (default: all processors)"},
    {"dim", 'd', CLI_TEXTS, offsetof(diff_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension of both (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(diff_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input of both (repeatable)"},
    CLI_CUSTOM_OPS(diff_options),
    CLI_COPY(diff_options),
    {"json", 0, CLI_FLAG, offsetof(diff_options, json), NULL, "one JSON object instead of a table"},
};

/* ---- values by name -------------------------------------------------------------------------- */

typedef struct kept_value {
    char *name;
    hone_value *value;
} kept_value;

typedef struct kept_values { /* in the order of computation */
    kept_value *at;
    size_t n, cap;
    bool failed;
} kept_values;

static void kept_free(kept_values *k) {
    for (size_t i = 0; i < k->n; i++) {
        free(k->at[i].name);
        hone_value_free(k->at[i].value);
    }
    free(k->at);
}

/* Takes ownership of the value. */
static void keep(kept_values *k, const char *name, hone_value *v) {
    if (k->n == k->cap) {
        size_t cap = k->cap ? 2 * k->cap : 64;
        kept_value *grown = realloc(k->at, cap * sizeof *grown);
        if (grown) {
            k->at = grown;
            k->cap = cap;
        }
    }
    size_t n_bytes = strlen(name) + 1;
    char *copy = malloc(n_bytes);
    if (k->n == k->cap || !copy || !v) {
        free(copy);
        hone_value_free(v);
        k->failed = true;
        return;
    }
    memcpy(copy, name, n_bytes);
    k->at[k->n++] = (kept_value){copy, v};
}

static const hone_value *find_kept(const kept_values *k, const char *name) {
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->at[i].name, name) == 0)
            return k->at[i].value;
    return NULL;
}

/* Only tensors of numbers are compared by difference. */
static hone_value *copy_tensor(const hone_value *v) {
    hone_tensor_info t;
    hone_value *copy = NULL;
    hone_error error;
    if (hone_value_tensor(v, &t) && hone_elem_type_bits(t.elem_type))
        hone_value_create(t.elem_type, t.rank, t.dims, t.data, &copy, &error);
    return copy;
}

/* Keeps the results of nodes of the main graph; nodes in loops would give many. */
static void watch_node(void *ctx, const hone_step *step) {
    hone_node_info info;
    const hone_value *const *outputs = step->outputs;
    hone_graph_get_node(step->graph, step->node, &info);
    for (uint32_t i = 0; info.subgraph == 0 && i < step->n_outputs; i++) {
        hone_value_info value;
        hone_tensor_info t;
        if (info.outputs[i] == HONE_NONE || !outputs[i] || !hone_value_tensor(outputs[i], &t) ||
            !hone_elem_type_bits(t.elem_type))
            continue;
        hone_graph_get_value(step->graph, info.outputs[i], &value);
        keep(ctx, value.name, copy_tensor(outputs[i]));
    }
}

/* ---- the two sides --------------------------------------------------------------------------- */

/* Returns all values that the model computes, or only its outputs. Reports errors. */
static bool run_side(hone_model *m, const diff_options *o, const cli_feed *feed, kept_values *out) {
    hone_session_options session_options;
    hone_run_options run_options;
    hone_session *session;
    hone_error error;
    hone_session_options_init(&session_options);
    hone_run_options_init(&run_options);
    session_options.n_threads = (int)o->threads;
    if (o->all) /* compare the intermediate values of the models as written */
        session_options.level = HONE_LEVEL_NONE;
    if (cli_parse_level(o->level, &session_options.level) != EXIT_OK)
        return false;
    session_options.decode_image = cli_decode_image;
    if (o->all) {
        run_options.observe = watch_node;
        run_options.observe_ctx = out;
    }
    if (hone_session_create(m, &session_options, &session, &error) != HONE_OK) {
        cli_fail_error(&error);
        return false;
    }
    uint32_t n = hone_session_n_outputs(session);
    hone_value **values = calloc((size_t)n + 1, sizeof *values);
    if (!values)
        cli_refuse(&error, "out of memory");
    bool ok = values && hone_session_run(session, &run_options, feed->n, feed->names,
                                         (const hone_value *const *)feed->values, 0, NULL, values,
                                         &error) == HONE_OK;
    for (uint32_t i = 0; ok && i < n; i++) {
        const char *name = hone_session_output_name(session, i);
        if (find_kept(out, name))
            hone_value_free(values[i]);
        else
            keep(out, name, values[i]);
    }
    free(values);
    hone_session_free(session);
    if (!ok || out->failed)
        cli_fail("%s", ok ? "out of memory" : error.message);
    return ok && !out->failed;
}

static bool keep_npz_member(void *ctx, const char *name, const unsigned char *at, size_t n,
                            hone_error *error) {
    cli_expect any = {.name = name, .rank = -1, .kind = HONE_TYPE_TENSOR, .text = "any tensor"};
    hone_value *v = cli_npy_parse(at, n, name, &any, error);
    if (v)
        keep(ctx, name, v);
    return v != NULL;
}

/* Loads saved outputs: an archive with all of them, or one file for a model with one output. */
static bool read_side(const char *path, const hone_model *m, kept_values *out) {
    const cli_image_options no_image = {0};
    hone_subgraph_info graph;
    hone_error error;
    bool ok = true;
    hone_graph_get_subgraph(hone_model_graph(m), 0, &graph);
    if (cli_has_suffix(path, ".npz")) {
        ok = cli_npz_read(path, keep_npz_member, out, &error);
    } else if (graph.n_outputs == 1) {
        cli_expect e;
        cli_expect_init(hone_model_graph(m), graph.outputs[0], &e);
        hone_value *v = cli_value_read(path, &e, &no_image, NULL, &error);
        ok = v != NULL;
        if (v)
            keep(out, e.name, v);
    } else {
        ok = cli_refuse(
            &error, "'%s': the model has %u outputs; save them with `hone run --output FILE.npz`",
            path, graph.n_outputs);
    }
    if (!ok)
        cli_fail_error(&error);
    return ok;
}

/* ---- report ---------------------------------------------------------------------------------- */

typedef struct diff_row {
    const char *name;
    const hone_value *reference;
    cli_comparison c;
} diff_row;

typedef struct diff_report {
    const char *a, *b;
    diff_row *rows; /* values that both have */
    size_t n, n_apart;
    const diff_row *first; /* the first one that differs by more than the limit; NULL: none */
    double limit;
} diff_report;

static bool make_diff_report(diff_report *r, const kept_values *a, const kept_values *b) {
    cli_tolerance t = {.of_largest = r->limit, .any_float = true};
    r->rows = calloc(a->n + 1, sizeof *r->rows);
    for (size_t i = 0; r->rows && i < a->n; i++) {
        const hone_value *other = find_kept(b, a->at[i].name);
        if (!other)
            continue;
        diff_row *row = &r->rows[r->n++];
        *row = (diff_row){.name = a->at[i].name, .reference = a->at[i].value};
        cli_compare(row->reference, other, &t, &row->c);
        r->n_apart += !row->c.equal;
        if (!row->c.equal && !r->first)
            r->first = row;
    }
    return r->rows != NULL;
}

static void print_diff_table(const diff_report *r) {
    static const char *const headings[] = {"value",  "type",    "max abs", "max rel",
                                           "cosine", "SQNR dB", ""};
    cli_table table;
    char text[256];
    printf("%s%s%s against %s%s%s\n", cli_begin(stdout, CLI_BOLD), r->b, cli_end(stdout),
           cli_begin(stdout, CLI_BOLD), r->a, cli_end(stdout));
    cli_table_begin(&table, 7, headings, "LLrrrrl");
    for (size_t i = 0; i < r->n; i++) {
        const cli_comparison *c = &r->rows[i].c;
        cli_table_add(&table, "%s", r->rows[i].name);
        cli_table_add(&table, "%s", cli_value_text(r->rows[i].reference, text, sizeof text));
        cli_table_add(&table, c->has_numbers ? "%.3g" : "", c->max_abs);
        cli_table_add(&table, c->has_numbers ? "%.3g" : "", c->max_rel);
        cli_table_add(&table, c->has_numbers ? "%.9f" : "", c->cosine);
        cli_table_add(&table, c->has_numbers ? "%.1f" : "", c->sqnr_db);
        cli_table_add(&table, "%s", c->equal ? "" : "differs");
    }
    cli_table_print(&table);
    printf("\n%zu value%s compared, %zu differ%s by more than %g of the largest element\n", r->n,
           r->n == 1 ? "" : "s", r->n_apart, r->n_apart == 1 ? "s" : "", r->limit);
    if (r->first)
        cli_line("first: '%s': %s", r->first->name, r->first->c.problem);
}

static void add_json_measure(cli_buffer *out, const char *key, double v) {
    cli_buffer_printf(out, ", \"%s\": ", key);
    cli_json_number(out, v, false);
}

static void print_diff_json(const diff_report *r) {
    cli_buffer out = {0};
    char text[256];
    cli_buffer_printf(&out, "{\n  ");
    cli_json_member(&out, "a", r->a);
    cli_buffer_printf(&out, ",\n  ");
    cli_json_member(&out, "b", r->b);
    cli_buffer_printf(&out, ",\n  \"limit\": %g,\n  \"compared\": %zu,\n  \"different\": %zu,\n  ",
                      r->limit, r->n, r->n_apart);
    cli_json_member(&out, "first", r->first ? r->first->name : "");
    cli_buffer_printf(&out, ",\n  \"values\": [");
    for (size_t i = 0; i < r->n; i++) {
        const cli_comparison *c = &r->rows[i].c;
        cli_buffer_printf(&out, "%s\n    {", i ? "," : "");
        cli_json_member(&out, "name", r->rows[i].name);
        cli_buffer_printf(&out, ", ");
        cli_json_member(&out, "type", cli_value_text(r->rows[i].reference, text, sizeof text));
        cli_buffer_printf(&out, ", \"equal\": %s, \"different\": %llu", c->equal ? "true" : "false",
                          (unsigned long long)c->n_different);
        if (c->has_numbers) {
            add_json_measure(&out, "max_abs", c->max_abs);
            add_json_measure(&out, "max_rel", c->max_rel);
            add_json_measure(&out, "cosine", c->cosine);
            add_json_measure(&out, "sqnr_db", c->sqnr_db);
        }
        if (!c->equal) {
            cli_buffer_printf(&out, ", ");
            cli_json_member(&out, "problem", c->problem);
        }
        cli_buffer_printf(&out, "}");
    }
    cli_buffer_printf(&out, "\n  ]\n}\n");
    fwrite(out.at, 1, out.n, stdout);
    cli_buffer_free(&out);
}

static int report_diff(const char *a, const char *b, const diff_options *o, double limit,
                       const kept_values *from_a, const kept_values *from_b) {
    diff_report r = {.a = a, .b = b, .limit = limit};
    if (!make_diff_report(&r, from_a, from_b))
        return cli_fail("out of memory");
    int status = r.n_apart ? EXIT_FAILED : EXIT_OK;
    if (r.n == 0)
        status = cli_fail("'%s' and '%s' have no output of the same name", a, b);
    else if (o->json)
        print_diff_json(&r);
    else
        print_diff_table(&r);
    free(r.rows);
    return status;
}

/* ---- command --------------------------------------------------------------------------------- */

static bool is_saved_output(const char *path) {
    return cli_has_suffix(path, ".npz") || cli_has_suffix(path, ".npy") ||
           cli_has_suffix(path, ".pb") || cli_has_suffix(path, ".json");
}

/* Loads the other side, on the same inputs. */
static bool open_other_side(const char *path, const diff_options *o, const hone_model *m,
                            const cli_feed *feed, kept_values *out) {
    if (is_saved_output(path))
        return read_side(path, m, out);
    cli_feed converted = {0};
    hone_model *other = cli_load(path, &o->model, false);
    bool ok =
        other && cli_feed_convert(other, feed, &converted) && run_side(other, o, &converted, out);
    cli_feed_free_converted(&converted, feed);
    hone_model_free(other);
    return ok;
}

static int diff_models(const char *a, const char *b, diff_options *o) {
    double limit = 1e-4;
    kept_values from_a = {0}, from_b = {0};
    cli_feed feed = {0};
    int status = EXIT_FAILED;
    if (o->limit && !cli_parse_number(o->limit, &limit))
        return cli_fail("--limit %s: write a number, for example 1e-3", o->limit);
    if (!o->input.random && !o->input.fill)
        o->input.random = "0";
    hone_model *m = cli_load(a, &o->model, false);
    cli_progress progress;
    cli_progress_begin(&progress, "comparing", "");
    bool ok = m && cli_feed_make(m, &o->input, &feed) && run_side(m, o, &feed, &from_a) &&
              open_other_side(b, o, m, &feed, &from_b);
    cli_progress_end(&progress);
    if (ok)
        status = report_diff(a, b, o, limit, &from_a, &from_b);
    kept_free(&from_a);
    kept_free(&from_b);
    cli_feed_free(&feed);
    hone_model_free(m);
    return status;
}

static int run_diff(const cli_command *self, int argc, char **argv) {
    diff_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && files.n != 2) {
        cli_fail("give a model and what to compare it with; see `hone diff --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK)
        status = diff_models(files.at[0], files.at[1], &o);
    cli_model_options_free(&o.model);
    cli_input_options_free(&o.input);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const diff_examples[] = {
    "hone diff model.onnx optimized.onnx|the outputs on random inputs",
    "hone diff --all --limit 1e-3 model.onnx quantized.onnx -i image=cat.npy|where they begin to "
    "differ",
    "hone diff model.onnx outputs.npz -i image=cat.npy|against saved outputs",
    NULL,
};

const cli_command cli_command_diff = {
    .name = "diff",
    .arguments = "MODEL MODEL|OUTPUTS",
    .summary = "compare the outputs of two models, or of a model with saved outputs",
    .details = "The first model is the reference. Both get the same inputs: the given ones, and "
               "random numbers (seed 0) for the others.\n"
               "Where one takes another float type than the other, its inputs are converted.\n"
               "Exit status 1 when a value differs by more than the limit.",
    .options = diff_option_table,
    .n_options = sizeof diff_option_table / sizeof *diff_option_table,
    .examples = diff_examples,
    .run = run_diff,
};
