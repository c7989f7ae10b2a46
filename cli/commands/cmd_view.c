/* hone view: a model, or two versions of it, as a page that shows the graph and what it costs. */
#include "pages/page.h"
#include "view/graph_view.h"

#include <stdlib.h>
#include <string.h>

typedef struct view_options {
    cli_model_options model;
    const char *output, *format, *profile, *sensitivity, *optimize, *target;
    bool open, no_statistics;
} view_options;

static const cli_option view_option_table[] = {
    {"output", 'o', CLI_TEXT, offsetof(view_options, output), "FILE",
     "where to write (default: MODEL.html, for other formats stdout); - is stdout"},
    {"open", 0, CLI_FLAG, offsetof(view_options, open), NULL, "show the page in the browser"},
    {"format", 'f', CLI_TEXT, offsetof(view_options, format), "html|svg|dot|text",
     "a page (default), a picture, a graph for Graphviz, or lines"},
    {"optimize", 0, CLI_CHOICE, offsetof(view_options, optimize), "LEVEL",
     "beside the model what `hone optimize` makes of it (alone: extended)"},
    {"target", 0, CLI_TEXT, offsetof(view_options, target), "onnx|onnxruntime",
     "with --optimize: operators of the standard only (default), or of onnxruntime, too"},
    {"profile", 'p', CLI_TEXT, offsetof(view_options, profile), "FILE",
     "times of nodes: a profile of hone or onnxruntime, or what `hone profile --json` prints"},
    {"sensitivity", 0, CLI_TEXT, offsetof(view_options, sensitivity), "FILE",
     "errors of layers: what `hone quantize --explain --json` prints"},
    {"no-statistics", 0, CLI_FLAG, offsetof(view_options, no_statistics), NULL,
     "do not read the weights: faster, works without their files, no histograms"},
    {"dim", 'd', CLI_TEXTS, offsetof(view_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(view_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(view_options),
    CLI_COPY(view_options),
};

/* What the models need while they are shown. */
typedef struct view_work {
    const view_options *o;
    hone_model *loaded[2];
    hone_optimization *report;
    json_tree profile, sensitivity;
    view_scene scene;
    const char *format;
    char *second_label;
} view_work;

/* ---- models ---------------------------------------------------------------------------------- */

static int optimize_for_view(view_work *w, const char *path) {
    hone_optimize_options options;
    hone_error error;
    hone_optimize_options_init(&options);
    options.keep_origins = true;
    const char *target = w->o->target;
    if (target && strcmp(target, "onnxruntime") == 0)
        options.target = HONE_TARGET_ONNXRUNTIME;
    else if (target && strcmp(target, "onnx") != 0)
        return cli_fail("--target is onnx or onnxruntime, not '%s'", target);
    if (cli_parse_level(*w->o->optimize ? w->o->optimize : NULL, &options.level) != EXIT_OK)
        return EXIT_USAGE;
    if (hone_model_optimize(w->loaded[0], &options, &w->loaded[1], &w->report, &error) != HONE_OK ||
        hone_model_infer(w->loaded[1], &error) != HONE_OK)
        return cli_fail_error(&error);
    static const char suffix[] = ", optimized";
    w->second_label = malloc(strlen(path) + sizeof suffix);
    if (!w->second_label)
        return cli_fail("out of memory");
    strcat(strcpy(w->second_label, path), suffix);
    return EXIT_OK;
}

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int load_models(view_work *w, const cli_list *files) {
    hone_error error;
    bool skips_data = w->o->no_statistics && !w->o->optimize;
    for (size_t i = 0; i < files->n; i++) {
        w->loaded[i] = cli_load(files->at[i], &w->o->model, skips_data);
        if (!w->loaded[i])
            return EXIT_FAILED;
        if (hone_model_infer(w->loaded[i], &error) != HONE_OK)
            return cli_fail_error(&error);
    }
    return w->o->optimize ? optimize_for_view(w, file_name(files->at[0])) : EXIT_OK;
}

static int make_scene(view_work *w, const cli_list *files) {
    view_scene *s = &w->scene;
    const char *labels[2] = {file_name(files->at[0]), w->second_label
                                                          ? w->second_label
                                                          : file_name(files->at[files->n - 1])};
    s->report = w->report;
    s->profile = w->o->profile ? &w->profile : NULL;
    s->sensitivity = w->o->sensitivity ? &w->sensitivity : NULL;
    s->has_statistics = !w->o->no_statistics;
    for (; s->n_models < 2 && w->loaded[s->n_models]; s->n_models++)
        if (!view_model_make(w->loaded[s->n_models], labels[s->n_models], &s->models[s->n_models]))
            return cli_fail("out of memory");
    if (s->n_models == 2 && !view_pairs_make(&s->models[0], &s->models[1], &s->pairs))
        return cli_fail("out of memory");
    return EXIT_OK;
}

static int read_json_file(const char *path, json_tree *tree,
                          bool (*check)(const json_tree *, const char *, hone_error *)) {
    cli_buffer file;
    hone_error error;
    if (!path)
        return EXIT_OK;
    if (!cli_file_read(path, &file, &error) || !json_tree_parse(&file, path, tree, &error) ||
        !check(tree, path, &error))
        return cli_fail_error(&error);
    return EXIT_OK;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int save_view_text(const cli_buffer *text, const char *path) {
    hone_error error;
    if (strcmp(path, "-") != 0)
        return cli_file_write(path, text, &error) ? EXIT_OK : cli_fail_error(&error);
    if (text->failed)
        return cli_fail("out of memory");
    return cli_write_stdout(NULL, (const char *)text->at, text->n)
               ? EXIT_OK
               : cli_fail("cannot write to stdout");
}

static int save_scene(view_work *w, const char *path) {
    cli_buffer text = {0};
    int status;
    w->scene.is_interrupted = cli_watch_interrupts();
    if (strcmp(w->format, "svg") == 0)
        view_svg_print(&w->scene, &text);
    else if (strcmp(w->format, "dot") == 0)
        view_dot_print(&w->scene, &text);
    else if (strcmp(w->format, "text") == 0)
        view_text_print(&w->scene, &text);
    else
        view_json_print(&w->scene, &text);
    bool is_stopped = *w->scene.is_interrupted;
    if (is_stopped)
        status = EXIT_FAILED;
    else if (strcmp(w->format, "html") == 0)
        status = page_save(&view_page, &text, path);
    else
        status = save_view_text(&text, path);
    cli_buffer_free(&text);
    return status;
}

static int show_scene(view_work *w, const char *model) {
    bool is_page = strcmp(w->format, "html") == 0;
    char *made_up = NULL;
    const char *path = w->o->output;
    if (!path && is_page) {
        made_up = malloc(strlen(model) + 6);
        if (!made_up)
            return cli_fail("out of memory");
        path = strcat(strcpy(made_up, file_name(model)), ".html");
    }
    int status = save_scene(w, path ? path : "-");
    if (status == EXIT_OK && path && strcmp(path, "-") != 0)
        cli_line("%s written", path);
    if (status == EXIT_OK && w->o->open && path)
        status = page_open(path);
    free(made_up);
    return status;
}

static int check_view_options(view_work *w, const cli_list *files) {
    static const char *const formats[] = {"html", "svg", "dot", "text"};
    for (size_t i = 0; i < 4; i++)
        if (w->o->format && strcmp(w->o->format, formats[i]) == 0)
            w->format = formats[i];
    if (!w->format)
        return cli_fail("--format is html, svg, dot or text, not '%s'", w->o->format);
    if (w->o->open &&
        (strcmp(w->format, "html") != 0 || (w->o->output && strcmp(w->o->output, "-") == 0)))
        return cli_fail("--open needs a page in a file");
    if (w->o->optimize && files->n == 2)
        return cli_fail("--optimize makes the second model: give one");
    if (w->o->target && !w->o->optimize)
        return cli_fail("--target needs --optimize");
    return EXIT_OK;
}

static int view_files(const view_options *o, const cli_list *files) {
    view_work w = {.o = o, .format = o->format ? NULL : "html"};
    int status = check_view_options(&w, files);
    if (status != EXIT_OK)
        return EXIT_USAGE;
    status = read_json_file(o->profile, &w.profile, view_profile_check);
    if (status == EXIT_OK)
        status = read_json_file(o->sensitivity, &w.sensitivity, view_sensitivity_check);
    if (status == EXIT_OK)
        status = load_models(&w, files);
    if (status == EXIT_OK)
        status = make_scene(&w, files);
    if (status == EXIT_OK)
        status = show_scene(&w, files->at[0]);
    view_pairs_free(&w.scene.pairs);
    for (int i = 0; i < 2; i++)
        view_model_free(&w.scene.models[i]);
    hone_optimization_free(w.report);
    hone_model_free(w.loaded[1]);
    hone_model_free(w.loaded[0]);
    json_tree_free(&w.profile);
    json_tree_free(&w.sensitivity);
    free(w.second_label);
    cli_end_interrupted();
    return status;
}

static int run_view(const cli_command *self, int argc, char **argv) {
    view_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && (files.n == 0 || files.n > 2)) {
        cli_fail("give one model, or two to compare; see `hone view --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK)
        status = view_files(&o, &files);
    cli_model_options_free(&o.model);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const view_examples[] = {
    "hone view model.onnx --open|the graph in the browser",
    "hone view model.onnx -o page.html --optimize|beside it what the optimizer makes of it",
    "hone view before.onnx after.onnx -o page.html|two versions, node by node",
    "hone view model.onnx --profile profile.json|coloured by time",
    "hone view model.onnx --format svg -o graph.svg|a picture for a document",
    NULL,
};

const cli_command cli_command_view = {
    .name = "view",
    .arguments = "MODEL [MODEL] [-o FILE]",
    .summary = "show a graph, what it costs, and what an optimizer made of it",
    .details = "Writes one page that needs nothing else: it works offline, in any browser. Of two "
               "models it shows which nodes of the first the nodes of the second compute.",
    .options = view_option_table,
    .n_options = sizeof view_option_table / sizeof *view_option_table,
    .examples = view_examples,
    .run = run_view,
};
