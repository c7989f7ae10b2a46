/* hone ops: lists and describes the operators that hone supports. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

typedef struct ops_options {
    bool json;
} ops_options;

static const cli_option ops_option_table[] = {
    {"json", 0, CLI_FLAG, offsetof(ops_options, json), NULL,
     "all schemas of all versions as one JSON array"},
};

static bool same_op(const hone_op_info *a, const hone_op_info *b) {
    return strcmp(a->name, b->name) == 0 && strcmp(a->domain, b->domain) == 0;
}

static void list_ops(void) {
    static const char *const headings[] = {"operator", "versions"};
    cli_table table;
    hone_op_info op, last = {0};
    char versions[256] = "";
    cli_table_begin(&table, 2, headings, "LL");
    for (uint32_t i = 0; hone_op_get(i, &op); i++) {
        if (!last.name || !same_op(&op, &last)) {
            if (last.name)
                cli_table_add(&table, "%s", versions);
            bool is_standard = strcmp(op.domain, "ai.onnx") == 0;
            cli_table_add(&table, "%s%s%s", is_standard ? "" : op.domain, is_standard ? "" : ".",
                          op.name);
            versions[0] = '\0';
        }
        size_t used = strlen(versions);
        snprintf(versions + used, sizeof versions - used, "%s%d%s", used ? " " : "",
                 op.since_version, op.is_deprecated ? " (deprecated)" : "");
        last = op;
    }
    cli_table_add(&table, "%s", versions);
    cli_table_print(&table);
}

static void print_formals(uint32_t op, bool is_output) {
    static const char *const headings[] = {"", "", ""};
    cli_table table;
    hone_op_parameter p;
    cli_table_begin(&table, 3, headings, "llL");
    for (uint32_t i = 0; hone_op_get_parameter(op, is_output, i, &p); i++) {
        char types[1024];
        hone_op_parameter_types(op, is_output, i, types, sizeof types);
        cli_table_add(&table, "%s", p.name);
        cli_table_add(&table, "%s", p.is_variadic ? "variadic" : p.is_optional ? "optional" : "");
        cli_table_add(&table, "%s", types);
    }
    cli_table_print(&table);
}

static void print_attribute_specs(uint32_t op) {
    static const char *const kinds[] = {
        "?",    "float",   "int",     "string", "tensor",        "graph",          "floats",
        "ints", "strings", "tensors", "graphs", "sparse tensor", "sparse tensors", "type",
        "types"};
    static const char *const headings[] = {"", "", ""};
    cli_table table;
    hone_op_attribute a;
    cli_table_begin(&table, 3, headings, "llL");
    for (uint32_t i = 0; hone_op_get_attribute(op, i, &a); i++) {
        cli_table_add(&table, "%s", a.name);
        cli_table_add(&table, "%s", kinds[a.kind]);
        cli_table_add(&table, "%s%s",
                      a.is_required   ? "required"
                      : a.has_default ? "default "
                                      : "",
                      a.has_default ? a.default_text : "");
    }
    cli_table_print(&table);
}

static void print_op(uint32_t index, const hone_op_info *op) {
    printf("%s%s%s%s%s-%d%s%s%s\n", cli_begin(stdout, CLI_BOLD),
           strcmp(op->domain, "ai.onnx") ? op->domain : "",
           strcmp(op->domain, "ai.onnx") ? "." : "", op->name, cli_end(stdout), op->since_version,
           op->is_deprecated ? ", deprecated" : "", op->is_extension ? ", not in the standard" : "",
           op->can_run ? "" : ", cannot be run");
    printf(" inputs\n");
    print_formals(index, false);
    printf(" outputs\n");
    print_formals(index, true);
    if (op->n_attributes) {
        printf(" attributes\n");
        print_attribute_specs(index);
    }
}

static int unknown_op(const char *name) {
    const char *dot = strrchr(name, '.'), *bare = dot ? dot + 1 : name;
    cli_suggestion s = {.word = bare, .n = strlen(bare)};
    hone_op_info op;
    for (uint32_t i = 0; hone_op_get(i, &op); i++)
        cli_suggest(&s, op.name);
    return cli_fail("hone has no operator '%s'%s `hone ops` lists them", name,
                    cli_suggestion_text(&s, ""));
}

/* Prints all versions of an operator, in every domain that has one of that name. */
static int describe(const char *name) {
    hone_op_info op;
    bool found = false;
    for (uint32_t i = 0; hone_op_get(i, &op); i++) {
        size_t domain = strlen(op.domain);
        bool qualified = strncmp(name, op.domain, domain) == 0 && name[domain] == '.' &&
                         strcmp(name + domain + 1, op.name) == 0;
        if (!qualified && strcmp(name, op.name) != 0)
            continue;
        if (found)
            putchar('\n');
        print_op(i, &op);
        found = true;
    }
    return found ? EXIT_OK : unknown_op(name);
}

static int run_ops(const cli_command *self, int argc, char **argv) {
    ops_options o = {0};
    cli_list names = {0};
    hone_error error;
    int status = cli_parse(self, argc, argv, &o, &names);
    if (status == EXIT_OK && o.json)
        status = hone_ops_write_json(cli_write_stdout, NULL, &error) == HONE_OK
                     ? EXIT_OK
                     : cli_fail_error(&error);
    else if (status == EXIT_OK && names.n == 0)
        list_ops();
    else
        for (size_t i = 0; status == EXIT_OK && i < names.n; i++)
            status = describe(names.at[i]);
    cli_list_free(&names);
    return status < 0 ? EXIT_OK : status;
}

static const char *const ops_examples[] = {
    "hone ops|all operators with their versions",
    "hone ops Resize|inputs, outputs, types and attributes of every version",
    "hone ops com.microsoft.MatMulNBits|an operator of another set",
    NULL,
};

const cli_command cli_command_ops = {
    .name = "ops",
    .arguments = "[OPERATOR...]",
    .summary = "list the operators that hone supports, or describe one",
    .options = ops_option_table,
    .n_options = sizeof ops_option_table / sizeof *ops_option_table,
    .examples = ops_examples,
    .run = run_ops,
};
