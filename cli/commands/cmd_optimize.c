/* hone optimize: rewrites a graph into a smaller and faster one that computes the same. */
#include "cli_value.h"
#include "commands/optimize_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct optimize_options {
    cli_model_options model;
    cli_input_options input;
    cli_save_options save;
    const char *level, *target, *opset, *passes, *print_after, *stop_after, *precision;
    cli_list disabled, blocked_ops, blocked_nodes, rules;
    uint64_t max_fold, memory;
    double timeout;
    bool approximate, verify, trust_names, explain, json, print_changed, keep_io;
} optimize_options;

static const cli_option optimize_option_table[] = {
    CLI_SAVE_OPTIONS(optimize_options),
    {"level", 'l', CLI_TEXT, offsetof(optimize_options, level), "LEVEL",
     "none, basic, extended (default) or all; or 0, 1, 2, 99"},
    {"target", 0, CLI_TEXT, offsetof(optimize_options, target), "onnx|onnxruntime",
     "write operators of the standard only (default), or also those of onnxruntime"},
    {"opset", 0, CLI_TEXT, offsetof(optimize_options, opset), "N",
     "convert the model to this opset first, up or down"},
    {"passes", 'p', CLI_TEXT, offsetof(optimize_options, passes), "A,B",
     "run only these passes; `hone passes` lists them"},
    {"disable", 0, CLI_TEXTS, offsetof(optimize_options, disabled), "PASS[.RULE]",
     "disable a pass, or one rule of it (repeatable)"},
    {"stop-after", 0, CLI_TEXT, offsetof(optimize_options, stop_after), "N",
     "stop after N rewrites"},
    {"max-fold", 0, CLI_SIZE, offsetof(optimize_options, max_fold), "BYTES",
     "largest result of constant folding that may grow the model (default 16M)"},
    {"approximate", 0, CLI_FLAG, offsetof(optimize_options, approximate), NULL,
     "allow passes that change results slightly"},
    {"precision", 0, CLI_TEXT, offsetof(optimize_options, precision), "float16|bfloat16",
     "compute in half precision; with --verify nodes that exceed its range stay float"},
    {"keep-io", 0, CLI_FLAG, offsetof(optimize_options, keep_io), NULL,
     "with --precision: inputs and outputs of the graph stay float"},
    {"block-op", 0, CLI_TEXTS, offsetof(optimize_options, blocked_ops), "OP",
     "with --precision: further operators that stay float (repeatable)"},
    {"block-node", 0, CLI_TEXTS, offsetof(optimize_options, blocked_nodes), "NAME",
     "with --precision: nodes that stay float (repeatable)"},
    {"verify", 0, CLI_FLAG, offsetof(optimize_options, verify), NULL,
     "run the graph before and after every pass, and disable rules that change results"},
    {"timeout", 0, CLI_SECONDS, offsetof(optimize_options, timeout), "SECONDS",
     "with --verify: stop after that time (default 300)"},
    {"memory", 'm', CLI_SIZE, offsetof(optimize_options, memory), "BYTES",
     "with --verify: limit of the memory for intermediate values (default 4G)"},
    {"trust-names", 0, CLI_FLAG, offsetof(optimize_options, trust_names), NULL,
     "dimensions of inputs that share a name have one size: fewer nodes, wrong where they do not"},
    {"explain", 'e', CLI_FLAG, offsetof(optimize_options, explain), NULL,
     "list the rewrites and near misses of every pass"},
    {"print-after", 0, CLI_TEXT, offsetof(optimize_options, print_after), "PASS",
     "print the graph after this pass changed it"},
    {"print-changed", 0, CLI_FLAG, offsetof(optimize_options, print_changed), NULL,
     "print the graph after every pass that changed it"},
    {"json", 0, CLI_FLAG, offsetof(optimize_options, json), NULL, "the report as one JSON object"},
    {"dim", 'd', CLI_TEXTS, offsetof(optimize_options, model.dims), "NAME=SIZE",
     "fix a symbolic dimension (repeatable)"},
    {"shape", 's', CLI_TEXTS, offsetof(optimize_options, model.shapes), "INPUT=1x3x8x8",
     "fix the shape of an input (repeatable)"},
    CLI_CUSTOM_OPS(optimize_options),
    CLI_COPY(optimize_options),
    {"rules", 0, CLI_TEXTS, offsetof(optimize_options, rules), "LIBRARY",
     "rules of a shared library, see docs/custom-rules.md (repeatable)"},
    CLI_INPUT_OPTIONS(optimize_options),
};

/* ---- options --------------------------------------------------------------------------------- */

static int parse_target(const char *text, hone_target *target) {
    if (!text || strcmp(text, "onnx") == 0)
        *target = HONE_TARGET_ONNX;
    else if (strcmp(text, "onnxruntime") == 0 || strcmp(text, "ort") == 0)
        *target = HONE_TARGET_ONNXRUNTIME;
    else
        return cli_fail("--target is onnx or onnxruntime, not '%s'", text);
    return EXIT_OK;
}

static int parse_precision(const optimize_options *o, hone_optimize_options *options) {
    bool has_details = o->keep_io || o->blocked_ops.n || o->blocked_nodes.n;
    if (!o->precision)
        return has_details ? cli_fail("--keep-io, --block-op and --block-node need --precision")
                           : EXIT_OK;
    if (cli_parse_precision("--precision", o->precision, &options->precision) != EXIT_OK)
        return EXIT_USAGE;
    options->keep_io_types = o->keep_io;
    options->n_blocked_ops = (uint32_t)o->blocked_ops.n;
    options->blocked_ops = o->blocked_ops.at;
    options->n_blocked_nodes = (uint32_t)o->blocked_nodes.n;
    options->blocked_nodes = o->blocked_nodes.at;
    return EXIT_OK;
}

static int parse_count(const char *option, const char *text, uint32_t *out) {
    char *end;
    if (!text)
        return EXIT_OK;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || *end || *text == '-' || errno || n > UINT32_MAX)
        return cli_fail("%s %s: write a number", option, text);
    *out = (uint32_t)n;
    return EXIT_OK;
}

/* A name that nothing has would be ignored silently. */
static int check_pass_name(const char *option, const char *name) {
    hone_pass_info p;
    size_t n = name ? strcspn(name, ".") : 0; /* a rule may follow */
    cli_suggestion s = {.word = name, .n = n};
    for (uint32_t i = 0; name && hone_pass_get(i, &p); i++) {
        if (strlen(p.name) == n && memcmp(p.name, name, n) == 0)
            return EXIT_OK;
        cli_suggest(&s, p.name);
    }
    return name ? cli_fail("%s %s: there is no such pass%s `hone passes` lists them", option, name,
                           cli_suggestion_text(&s, ""))
                : EXIT_OK;
}

#define MAX_PASSES 128

/* Splits a copy of `text` at commas. The caller frees the copy. */
static char *split_passes(const char *text, const char **names, uint32_t *n) {
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        return NULL;
    strcpy(copy, text);
    for (char *name = copy; name && *n < MAX_PASSES;) {
        char *comma = strchr(name, ',');
        if (comma)
            *comma = '\0';
        names[(*n)++] = name;
        name = comma ? comma + 1 : NULL;
    }
    return copy;
}

/* ---- printing between passes ----------------------------------------------------------------- */

/* Pieces may begin within a character, so only single bytes that control a terminal are escaped. */
static bool write_graph_text(void *ctx, const char *text, size_t n_bytes) {
    (void)ctx;
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n') || c == 0x7f)
            printf("\\x%02x", c);
        else
            putchar(c);
    }
    return !ferror(stdout);
}

static bool print_graph(void *ctx, const hone_model *m, const char *pass, uint32_t n_rewrites) {
    const optimize_options *o = ctx;
    hone_error error;
    if (o->print_changed || (o->print_after && strcmp(o->print_after, pass) == 0)) {
        if (n_rewrites)
            printf("// after %s: %u rewrite%s\n", pass, n_rewrites, n_rewrites == 1 ? "" : "s");
        else
            printf("// after %s\n", pass);
        hone_model_print(m, 16, write_graph_text, NULL, &error);
    }
    return false;
}

/* ---- optimization ---------------------------------------------------------------------------- */

static uint64_t bytes_of_file(const char *path) {
    struct stat s;
    return path && stat(path, &s) == 0 ? (uint64_t)s.st_size : 0;
}

static int report(hone_model *before, hone_model *after, const hone_optimization *done,
                  const char *path, const optimize_options *o) {
    hone_error error;
    if (o->json)
        return hone_optimization_write_json(done, path, cli_write_stdout, NULL, &error) == HONE_OK
                   ? EXIT_OK
                   : cli_fail_error(&error);
    model_size x = {0}, y = {0};
    bool ok = model_size_take(before, bytes_of_file(path), &x) &&
              model_size_take(after, bytes_of_file(o->save.output), &y);
    if (ok) {
        print_changes(&x, &y, done);
        if (o->explain)
            print_explanation(done);
        print_verdict(done);
    }
    model_size_free(&x);
    model_size_free(&y);
    return ok ? EXIT_OK : EXIT_FAILED;
}

static int optimize_model(hone_model *m, const char *path, const hone_optimize_options *options,
                          const optimize_options *o) {
    hone_model *optimized;
    hone_optimization *done;
    hone_error error;
    int status = EXIT_OK;
    cli_progress progress = {0};
    if (!o->print_changed && !o->print_after)
        cli_progress_begin(&progress, options->verify ? "verifying" : "optimizing", "");
    bool ok = hone_model_optimize(m, options, &optimized, &done, &error) == HONE_OK;
    cli_progress_end(&progress);
    if (!ok)
        return cli_fail_error(&error);
    if (o->save.output)
        status = cli_save_model(optimized, &o->save);
    if (status == EXIT_OK)
        status = report(m, optimized, done, path, o);
    if (status == EXIT_OK && o->explain && !o->json)
        hint_at_names(m, optimized, options);
    hone_optimization_free(done);
    hone_model_free(optimized);
    return status;
}

/* Does a node of the model have this name, or this operator? A pass may write any operator. */
static bool model_has(const hone_graph *g, const char *text, bool is_op, cli_suggestion *s) {
    hone_op_info op;
    for (uint32_t i = 0; is_op && hone_op_get(i, &op); i++) {
        if (strcmp(op.name, text) == 0)
            return true;
        cli_suggest(s, op.name);
    }
    for (uint32_t i = 0; i < hone_graph_n_nodes(g); i++) {
        hone_node_info node;
        hone_graph_get_node(g, i, &node);
        const char *known = is_op ? node.op : node.name;
        if (strcmp(known, text) == 0)
            return true;
        cli_suggest(s, known);
    }
    return false;
}

static int check_blocked(const hone_model *m, const optimize_options *o) {
    for (size_t i = 0; i < o->blocked_ops.n + o->blocked_nodes.n; i++) {
        bool is_op = i < o->blocked_ops.n;
        const char *text = is_op ? o->blocked_ops.at[i] : o->blocked_nodes.at[i - o->blocked_ops.n];
        cli_suggestion s = {.word = text, .n = strlen(text)};
        if (!model_has(hone_model_graph(m), text, is_op, &s))
            return cli_fail("--block-%s %s: there is no such %s%s `hone %s` lists them",
                            is_op ? "op" : "node", text, is_op ? "operator" : "node",
                            cli_suggestion_text(&s, ""), is_op ? "ops" : "info --nodes");
    }
    return EXIT_OK;
}

static int with_inputs(hone_model *m, const char *path, hone_optimize_options *options,
                       optimize_options *o) {
    cli_feed feed = {0};
    bool has_inputs = o->input.files.n || o->input.random || o->input.fill;
    if (has_inputs) {
        if (!cli_feed_make(m, &o->input, &feed))
            return EXIT_FAILED;
        options->n_verify_inputs = feed.n;
        options->verify_input_names = feed.names;
        options->verify_inputs = (const hone_value *const *)feed.values;
    }
    options->verify = o->verify || has_inputs;
    int status = optimize_model(m, path, options, o);
    cli_feed_free(&feed);
    return status;
}

static int load_rules(const cli_list *libraries, hone_rule_set **rules) {
    hone_error error;
    *rules = NULL;
    if (libraries->n > 0 && hone_rule_set_create(NULL, rules, &error) != HONE_OK)
        return cli_fail_error(&error);
    for (size_t i = 0; i < libraries->n; i++)
        if (hone_rule_set_load(*rules, libraries->at[i], &error) != HONE_OK)
            return cli_fail_error(&error);
    return EXIT_OK;
}

static int with_rules(const char *path, hone_optimize_options *options, optimize_options *o) {
    hone_rule_set *rules;
    hone_model *m =
        load_rules(&o->rules, &rules) == EXIT_OK ? cli_load(path, &o->model, false) : NULL;
    options->rules = rules;
    int status = m ? check_blocked(m, o) : EXIT_FAILED;
    if (status == EXIT_OK)
        status = with_inputs(m, path, options, o);
    hone_model_free(m);
    hone_rule_set_free(rules);
    return status;
}

static int optimize_file(const char *path, optimize_options *o) {
    const char *names[MAX_PASSES];
    char *copy = NULL;
    uint32_t opset = 0;
    hone_optimize_options options;
    hone_optimize_options_init(&options);
    if (cli_parse_level(o->level, &options.level) != EXIT_OK ||
        parse_target(o->target, &options.target) != EXIT_OK ||
        parse_precision(o, &options) != EXIT_OK ||
        parse_count("--opset", o->opset, &opset) != EXIT_OK ||
        parse_count("--stop-after", o->stop_after, &options.stop_after) != EXIT_OK ||
        check_pass_name("--print-after", o->print_after) != EXIT_OK)
        return EXIT_USAGE;
    options.opset = opset;
    options.passes = names;
    if (o->passes && !(copy = split_passes(o->passes, names, &options.n_passes)))
        return cli_fail("out of memory");
    int status = EXIT_OK;
    for (uint32_t i = 0; i < options.n_passes && status == EXIT_OK; i++)
        status = check_pass_name("--passes", names[i]);
    for (size_t i = 0; i < o->disabled.n && status == EXIT_OK; i++)
        status = check_pass_name("--disable", o->disabled.at[i]);
    options.disabled = o->disabled.at;
    options.n_disabled = (uint32_t)o->disabled.n;
    if (o->max_fold)
        options.max_fold_bytes = o->max_fold;
    if (o->timeout > 0)
        options.verify_timeout_seconds = o->timeout;
    if (o->memory)
        options.verify_memory_limit_bytes = o->memory;
    options.trust_dim_names = o->trust_names;
    options.allow_approximate = o->approximate;
    options.measure = o->explain || o->json;
    options.after_pass = print_graph;
    options.after_pass_ctx = o;
    if (status == EXIT_OK)
        status = with_rules(path, &options, o);
    free(copy);
    return status;
}

static int run_optimize(const cli_command *self, int argc, char **argv) {
    optimize_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && files.n != 1) {
        cli_fail("give one model; see `hone optimize --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK)
        status = optimize_file(files.at[0], &o);
    cli_model_options_free(&o.model);
    cli_input_options_free(&o.input);
    cli_list_free(&o.disabled);
    cli_list_free(&o.rules);
    cli_list_free(&o.blocked_ops);
    cli_list_free(&o.blocked_nodes);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const optimize_examples[] = {
    "hone optimize in.onnx -o out.onnx|standard ONNX, fewer nodes",
    "hone optimize in.onnx -o out.onnx --target onnxruntime|with the fused operators of "
    "onnxruntime",
    "hone optimize in.onnx -o out.onnx --opset 23|attention as one operator of the standard",
    "hone optimize in.onnx --explain|the rewrites, and the near misses with their reasons",
    "hone optimize in.onnx -o out.onnx --verify --input image=cat.jpg --resize 256 --crop "
    "224x224|verified on a real input",
    "hone optimize in.onnx -o out.onnx --level none --opset 17|only convert the opset",
    "hone optimize in.onnx -o out.onnx --precision float16 --keep-io|half the size, float inputs "
    "and outputs",
    NULL,
};

const cli_command cli_command_optimize = {
    .name = "optimize",
    .arguments = "MODEL [-o FILE]",
    .summary = "make a graph smaller and faster, and report the changes",
    .details =
        "Inputs and outputs keep their names and order, and their types unless --precision "
        "changes them. Without -o nothing is written. With --verify (or any input given) the\n"
        "graph is run before and after every pass; a rule that changes results is named and "
        "left out.",
    .options = optimize_option_table,
    .n_options = sizeof optimize_option_table / sizeof *optimize_option_table,
    .examples = optimize_examples,
    .run = run_optimize,
};
