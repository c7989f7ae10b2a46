/* hone save: edits a model and writes it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct save_options {
    cli_model_options model;
    cli_save_options save;
    const char *strip, *extract;
    cli_list renames;
    bool inline_functions, infer;
} save_options;

static const cli_option save_option_table[] = {
    CLI_SAVE_OPTIONS(save_options),
    {"inline-functions", 0, CLI_FLAG, offsetof(save_options, inline_functions), NULL,
     "replace calls of model-local functions by their bodies"},
    {"infer", 'i', CLI_FLAG, offsetof(save_options, infer), NULL,
     "store the inferred type and shape of every value"},
    {"dim", 'd', CLI_TEXTS, offsetof(save_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(save_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(save_options),
    {"extract", 'e', CLI_TEXT, offsetof(save_options, extract), "IN,OUT",
     "keep the part from value IN to value OUT; several: in1,in2:out1,out2"},
    {"rename", 'r', CLI_TEXTS, offsetof(save_options, renames), "OLD=NEW",
     "rename an input, an output or any value (repeatable)"},
    {"strip", 0, CLI_CHOICE, offsetof(save_options, strip),
     "docs,names,values,metadata,shapes,unused",
     "remove what a run does not need (without a value: docs, names, metadata)"},
};

/* ---- strip ----------------------------------------------------------------------------------- */

static int parse_strip(const char *text, unsigned *what) {
    static const struct {
        const char *name;
        unsigned flag;
    } parts[] = {{"docs", HONE_STRIP_DOCS},          {"names", HONE_STRIP_NODE_NAMES},
                 {"values", HONE_STRIP_VALUE_NAMES}, {"metadata", HONE_STRIP_METADATA},
                 {"shapes", HONE_STRIP_VALUE_INFO},  {"unused", HONE_STRIP_UNUSED}};
    *what = *text ? 0 : HONE_STRIP_DOCS | HONE_STRIP_NODE_NAMES | HONE_STRIP_METADATA;
    while (*text) {
        size_t n = strcspn(text, ","), i = 0;
        while (i < sizeof parts / sizeof *parts &&
               (strlen(parts[i].name) != n || memcmp(parts[i].name, text, n) != 0))
            i++;
        if (i == sizeof parts / sizeof *parts)
            return cli_fail(
                "--strip accepts docs, names, values, metadata, shapes and unused, not '%.*s'",
                (int)n, text);
        *what |= parts[i].flag;
        text += n + (text[n] == ',');
    }
    return EXIT_OK;
}

/* ---- extract --------------------------------------------------------------------------------- */

#define MAX_NAMES 256

typedef struct name_list {
    const char *at[MAX_NAMES];
    uint32_t n;
} name_list;

/* Splits `text` in place at commas; false when a name is not in the graph. */
static bool split_names(const hone_graph *g, char *text, name_list *out) {
    out->n = 0;
    for (char *name = text; name;) {
        char *comma = strchr(name, ',');
        if (comma)
            *comma = '\0';
        if (out->n == MAX_NAMES || hone_graph_find_value(g, name) == HONE_NONE)
            return false;
        out->at[out->n++] = name;
        name = comma ? comma + 1 : NULL;
    }
    return true;
}

/* Splits a new copy at position k. Names may contain ':' or ',', so a split counts only if all
 * names exist. */
static char *try_split(const hone_graph *g, const char *spec, size_t k, name_list *in,
                       name_list *out) {
    char *copy = malloc(strlen(spec) + 1);
    if (!copy)
        return NULL;
    memcpy(copy, spec, strlen(spec) + 1);
    copy[k] = '\0';
    if (split_names(g, copy, in) && split_names(g, copy + k + 1, out))
        return copy;
    free(copy);
    return NULL;
}

static int extract(hone_model *m, const char *spec) {
    const hone_graph *g = hone_model_graph(m);
    name_list in, out;
    char *names = NULL;
    for (const char *separator = ":,"; *separator && !names; separator++)
        for (size_t k = 0; spec[k] && !names; k++)
            if (spec[k] == *separator)
                names = try_split(g, spec, k, &in, &out);
    if (!names)
        return cli_fail("--extract %s: write IN,OUT or in1,in2:out1,out2 with names of values; "
                        "`hone info --values` lists them",
                        spec);
    hone_error error;
    hone_status status = hone_model_extract(m, in.n, in.at, out.n, out.at, &error);
    free(names);
    return status == HONE_OK ? EXIT_OK : cli_fail_error(&error);
}

/* ---- edits ----------------------------------------------------------------------------------- */

static int rename_value(hone_model *m, const char *spec) {
    hone_error error;
    for (const char *equals = strchr(spec, '='); equals; equals = strchr(equals + 1, '=')) {
        char *old_name = malloc((size_t)(equals - spec) + 1);
        if (!old_name)
            return cli_fail("out of memory");
        memcpy(old_name, spec, (size_t)(equals - spec));
        old_name[equals - spec] = '\0';
        bool exists = hone_graph_find_value(hone_model_graph(m), old_name) != HONE_NONE;
        hone_status status = exists ? hone_model_rename(m, old_name, equals + 1, &error) : HONE_OK;
        free(old_name);
        if (exists)
            return status == HONE_OK ? EXIT_OK : cli_fail_error(&error);
    }
    return cli_fail("--rename %s: write OLD=NEW, where OLD is the name of a value; `hone info "
                    "--values` lists them",
                    spec);
}

static int edit(hone_model *m, const save_options *o) {
    hone_error error;
    unsigned what;
    if (o->inline_functions && hone_model_inline_functions(m, &error) != HONE_OK)
        return cli_fail_error(&error);
    if (o->extract && extract(m, o->extract) != EXIT_OK)
        return EXIT_FAILED;
    for (size_t i = 0; i < o->renames.n; i++)
        if (rename_value(m, o->renames.at[i]) != EXIT_OK)
            return EXIT_FAILED;
    if (o->strip) {
        if (parse_strip(o->strip, &what) != EXIT_OK)
            return EXIT_FAILED;
        if (hone_model_strip(m, what, &error) != HONE_OK)
            return cli_fail_error(&error);
    }
    if (o->infer && hone_model_store_shapes(m, &error) != HONE_OK)
        return cli_fail_error(&error);
    return EXIT_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_save(const cli_command *self, int argc, char **argv) {
    save_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && (files.n != 1 || !o.save.output)) {
        cli_fail("give one model and -o FILE; see `hone save --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK) {
        hone_model *m = cli_load(files.at[0], &o.model, false);
        status = m ? edit(m, &o) : EXIT_FAILED;
        if (status == EXIT_OK)
            status = cli_save_model(m, &o.save);
        hone_model_free(m);
    }
    cli_model_options_free(&o.model);
    cli_list_free(&o.renames);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const save_examples[] = {
    "hone save in.onnx -o out.onnx --infer|store inferred shapes, for viewers and other tools",
    "hone save big.onnx -o big2.onnx --external-data|write weights to big2.onnx.data",
    "hone save in.onnx -o fixed.onnx --dim batch=1 --shape image=1x3x224x224|fix symbolic "
    "dimensions",
    "hone save in.onnx -o part.onnx --extract image,features|extract a part",
    "hone save in.onnx -o small.onnx --strip --inline-functions|plain nodes, no docs, no names",
    "hone save in.onnx -o in.onnxtxt|the textual syntax",
    NULL,
};

const cli_command cli_command_save = {
    .name = "save",
    .arguments = "MODEL -o FILE",
    .summary = "edit a model: shapes, external data, parts, names",
    .details = "The output is written under a temporary name and renamed, so FILE is the old one "
               "or the new one, never incomplete;\n"
               "it may be the model itself. A data file is replaced together with its model, and "
               "kept when another model needs it.\n"
               "Unchanged tensors are copied byte for byte.",
    .options = save_option_table,
    .n_options = sizeof save_option_table / sizeof *save_option_table,
    .examples = save_examples,
    .run = run_save,
};
