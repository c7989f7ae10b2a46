/* Operators of the provider cpu with arguments that no pass would give them, as a cache file that
 * somebody made by hand could: they are refused or computed, and nothing is read beside them. */
#include "lowered_case.h"

#include <stdio.h>

#include "run/session.h"

enum { N_TRIALS = 5000, MOST_RANK = 5, MOST_INPUTS = 14, MOST_CONST_ELEMS = 600 };

typedef struct internal_op {
    const char *name;
    int least_inputs, most_inputs;
    const char *attributes; /* one letter for each: see put_attribute */
    /* Types of the result and of the inputs, a letter for each: f float, u uint8, s int8, i int32.
     * NULL: all are floats. */
    const char *types;
} internal_op;

static const internal_op internal_ops[] = {
    {"AveragePool", 1, 1, "kspdcil", NULL},
    {"ByteTable", 2, 2, "", "usu"},
    {"BatchNormalization", 5, 5, "ae", NULL},
    {"Conv", 2, 4, "kspdga", NULL},
    {"ConvChain", 4, 8, "SPDGA", NULL},
    {"ConvTranspose", 2, 3, "kspd", NULL},
    {"DepthToSpace", 1, 1, "b", NULL},
    {"DynamicConv", 3, 6, "kspdgaf", "ffsfsff"},
    {"GlobalAveragePool", 1, 1, "", NULL},
    {"GlobalMaxPool", 1, 1, "", NULL},
    {"GroupNormalization", 3, 3, "aen", NULL},
    {"InstanceNormalization", 3, 3, "ae", NULL},
    {"LRN", 1, 1, "z", NULL},
    {"MaxPool", 1, 1, "kspdcl", NULL},
    {"MaxPool", 1, 1, "kspdcl", "uu"},
    {"NchwConv", 2, 4, "kspda", NULL},
    {"NchwConvChain", 4, 8, "SPDGA", NULL},
    {"QLinearConv", 6, 14, "kspdgaf", "uufusfsfuiufufu"},
    {"QLinearConv", 6, 6, "kspdgaf", "fufusfs"},
    {"SpaceToDepth", 1, 1, "b", NULL},
};

typedef struct text_out {
    char text[20000];
    size_t n;
    uint32_t seed;
    int rank;      /* of most arguments */
    uint32_t size; /* of most dimensions */
} text_out;

static uint32_t draw(text_out *t, uint32_t n) {
    return lowered_draw(&t->seed, n);
}

static void put(text_out *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    t->n += (size_t)vsnprintf(t->text + t->n, sizeof t->text - t->n, fmt, args);
    va_end(args);
    assert_true(t->n < sizeof t->text);
}

/* Mostly as many as fit, and small. */
static void put_numbers(text_out *t, const char *name, int n, int64_t least, uint32_t range) {
    n = draw(t, 8) ? n : (int)draw(t, 6);
    put(t, "%s: ints = [", name);
    for (int i = 0; i < n; i++)
        put(t, "%s%lld", i ? ", " : "",
            (long long)(draw(t, 60) ? least + (int64_t)draw(t, range) : (int64_t)draw(t, 9) - 4));
    put(t, "]");
}

static void put_attribute(text_out *t, char which) {
    int spatial = HN_MAX(t->rank - 2, 0), stages = 2 + (int)draw(t, 2);
    switch (which) {
    case 'k':
        put_numbers(t, "kernel_shape", spatial, 1, 3);
        return;
    case 's':
        put_numbers(t, "strides", spatial, 1, 3);
        return;
    case 'p':
        put_numbers(t, "pads", 2 * spatial, 0, 3);
        return;
    case 'd':
        put_numbers(t, "dilations", spatial, 1, 2);
        return;
    case 'g':
        put(t, "group = %u", draw(t, 4));
        return;
    case 'S':
        put_numbers(t, "strides", 2 * stages, 1, 2);
        return;
    case 'P':
        put_numbers(t, "pads", 4 * stages, 0, 2);
        return;
    case 'D':
        put_numbers(t, "dilations", 2 * stages, 1, 2);
        return;
    case 'G':
        put_numbers(t, "groups", stages, 1, 4);
        return;
    case 'A':
        put(t, "activations = [\"Relu\", \"Clip\"%s], activation_params = [0.0%s]",
            draw(t, 2) ? ", \"\"" : "", draw(t, 2) ? ", 6.0" : "");
        put(t, ", ");
        put_numbers(t, "n_activation_params", stages, 0, 3);
        return;
    case 'a':
        put(t, "activation = \"%s\"", draw(t, 3) ? "Relu" : draw(t, 2) ? "Clip" : "Nothing");
        return;
    case 'e':
        put(t, "epsilon = 0.25");
        return;
    case 'n':
        put(t, "num_groups = %d", (int)draw(t, 5) - 1);
        return;
    case 'z':
        put(t, "size = %d", (int)draw(t, 5) - 1);
        return;
    case 'b':
        put(t, "blocksize = %d", (int)draw(t, 4));
        return;
    case 'c':
        put(t, "ceil_mode = %u", draw(t, 2));
        return;
    case 'i':
        put(t, "count_include_pad = %u", draw(t, 2));
        return;
    case 'f':
        put(t, "channels_first = %u", draw(t, 2));
        return;
    default:
        put(t, "keeps_last = %u", draw(t, 2));
        return;
    }
}

typedef struct internal_arg {
    int rank;
    uint32_t dims[MOST_RANK];
    uint32_t n_elems;
    bool is_const;
    char type;
} internal_arg;

static const char *type_name(char letter) {
    return letter == 'u' ? "uint8" : letter == 's' ? "int8" : letter == 'i' ? "int32" : "float";
}

static internal_arg draw_arg(text_out *t, bool is_first, bool is_number) {
    internal_arg arg = {.rank = draw(t, 6) ? t->rank : (int)draw(t, MOST_RANK + 1), .n_elems = 1};
    if (!is_first && draw(t, 2))
        arg.rank = draw(t, 2) ? 1 : 4; /* as a bias, as a filter */
    if (is_number && draw(t, 8))
        arg.rank = 0;
    for (int i = 0; i < arg.rank; i++) {
        arg.dims[i] = draw(t, 3) ? t->size : draw(t, 20) ? 1 + draw(t, 4) : draw(t, 40);
        arg.n_elems *= arg.dims[i];
    }
    arg.is_const = !is_first && arg.n_elems <= MOST_CONST_ELEMS && draw(t, 2);
    return arg;
}

static void put_arg(text_out *t, const internal_arg *arg, int number, const char *separator) {
    put(t, "%s%s", separator, type_name(arg->type));
    for (int i = 0; i < arg->rank; i++)
        put(t, "%s%u", i ? "," : "[", arg->dims[i]);
    put(t, "%s x%d", arg->rank ? "]" : "", number);
    if (!arg->is_const)
        return;
    put(t, " = {");
    for (uint32_t i = 0; i < arg->n_elems; i++)
        put(t, "%s%u", i ? "," : "", i % 5);
    put(t, "}");
}

static void put_args(text_out *t, int n, const internal_arg *args, bool are_consts) {
    const char *separator = "";
    for (int i = 0; i < n; i++)
        if (args[i].is_const == are_consts) {
            put_arg(t, &args[i], i, separator);
            separator = ", ";
        }
}

/* Is an input a scale or a zero point? */
static bool is_parameter(const internal_op *op, int i) {
    bool is_static = strcmp(op->name, "QLinearConv") == 0;
    return is_static ? i != 0 && i != 3 && i != 8 && i != 9
                     : strcmp(op->name, "DynamicConv") == 0 && (i == 2 || i == 3);
}

static void put_model(text_out *t, uint32_t seed) {
    const internal_op *op = &internal_ops[seed % HN_COUNT(internal_ops)];
    internal_arg args[MOST_INPUTS];
    t->n = 0;
    t->seed = seed * 2654435761u;
    t->rank = draw(t, 4) ? 4 : (int)draw(t, MOST_RANK + 1);
    t->size = 1 + draw(t, 4);
    int n = op->least_inputs + (int)draw(t, (uint32_t)(op->most_inputs - op->least_inputs) + 1);
    for (int i = 0; i < n; i++) {
        args[i] = draw_arg(t, i == 0, op->types && is_parameter(op, i));
        args[i].type = op->types ? op->types[i + 1] : 'f';
    }
    put(t, "<ir_version: 10, opset_import: [\"\" : 21, \"hone\" : 1]>\ng (");
    put_args(t, n, args, false);
    put(t, ") => (%s[] y) <", type_name(op->types ? op->types[0] : 'f'));
    put_args(t, n, args, true);
    put(t, "> { y = hone.%s ", op->name);
    const char *separator = "<";
    for (const char *a = op->attributes; *a; a++)
        if (!strchr("ksdpgaecilf", *a) || draw(t, 2)) {
            put(t, "%s", separator);
            put_attribute(t, *a);
            separator = ", ";
        }
    put(t, "%s (", *separator == ',' ? ">" : "");
    for (int i = 0; i < n; i++)
        put(t, "%sx%d", i ? ", " : "", i);
    put(t, ") }");
}

/* True when it was run. */
static bool run_internal(const text_out *t, bool evaluates_all, hn_pool *pool) {
    static const lowered_case tame = {.is_tame = true};
    hn_model *m = NULL;
    lowered_side s = {0};
    hone_error err;
    hn_error_clear(&err);
    if (hn_model_parse(t->text, t->n, NULL, &m, &err) != HONE_OK)
        fail_msg("%s\n%s", err.message, t->text);
    assert_int_equal(hn_providers_add_ops(m, NULL, &err), HONE_OK);
    hn_program_options options = {.evaluates_all = evaluates_all};
    lowered_inputs in = lowered_inputs_of(&tame, m, t->seed);
    bool runs =
        hn_program_new(m, &options, &s.program, &err) == HONE_OK &&
        hn_plan_new(s.program, 1, in.n, (const hn_object *const *)in.at, &s.plan, &err) == HONE_OK;
    if (runs) {
        s.plan->serial = 1;
        s.state = hn_state_new(s.program, &(hn_state_options){.pool = pool});
        assert_non_null(s.state);
        runs = lowered_run(&s, &in, &err) == HONE_OK;
        lowered_drop_outputs(&s, &in);
    }
    if (getenv("HONE_ONLY_SEED"))
        puts(err.message);
    lowered_side_free(&s);
    lowered_inputs_free(&in);
    hn_model_free(m);
    return runs;
}

static void wrong_arguments_make_no_harm(void **state) {
    (void)state;
    static text_out t;
    const char *only = getenv("HONE_ONLY_SEED");
    int n_run = 0;
    hn_pool *pool = hn_pool_new(1, NULL);
    for (uint32_t seed = only ? (uint32_t)atoi(only) : 0; seed < N_TRIALS; seed++) {
        put_model(&t, seed);
        if (only)
            puts(t.text);
        n_run += run_internal(&t, false, pool) + run_internal(&t, true, pool);
        if (only)
            break;
    }
    hn_pool_free(pool);
    if (only)
        return;
    printf("%d of %d were run\n", n_run, 2 * N_TRIALS);
    assert_true(n_run > N_TRIALS / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_make_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
