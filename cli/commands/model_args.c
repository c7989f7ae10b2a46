/* Loads a model, with the options that several commands share. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RANK 64

static bool parse_i64(const char **text, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(*text, &end, 10);
    if (end == *text || errno)
        return false;
    *out = v;
    *text = end;
    return true;
}

/* Splits "NAME=...". The name may contain '=', so the last one counts. NULL when there is none. */
static char *split_assignment(const char *text, const char **value) {
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return NULL;
    size_t n = (size_t)(equals - text);
    char *name = malloc(n + 1);
    if (!name)
        return NULL;
    memcpy(name, text, n);
    name[n] = '\0';
    *value = equals + 1;
    return name;
}

int cli_fix_dim(hone_model *m, const char *option, const char *text) {
    const char *value;
    int64_t size;
    hone_error error;
    char *name = split_assignment(text, &value);
    if (!name || !parse_i64(&value, &size) || *value) {
        free(name);
        return cli_fail("%s %s: write NAME=SIZE, for example %s batch=4", option, text, option);
    }
    hone_status status = hone_model_fix_dim(m, name, size, &error);
    free(name);
    return status == HONE_OK ? EXIT_OK : cli_fail("%s %s: %s", option, text, error.message);
}

/* 1x3x224x224, or with commas. */
static bool parse_dims(const char *text, uint32_t *rank, int64_t dims[MAX_RANK]) {
    *rank = 0;
    if (*text == '\0')
        return true; /* a scalar */
    for (;;) {
        if (*rank == MAX_RANK || !parse_i64(&text, &dims[(*rank)++]))
            return false;
        if (*text == '\0')
            return true;
        if (*text != 'x' && *text != ',')
            return false;
        text++;
    }
}

int cli_fix_shape(hone_model *m, const char *option, const char *text) {
    const char *value;
    uint32_t rank;
    int64_t dims[MAX_RANK];
    hone_error error;
    char *name = split_assignment(text, &value);
    if (!name || !parse_dims(value, &rank, dims)) {
        free(name);
        return cli_fail("%s %s: write INPUT=SIZES, for example %s image=1x3x224x224", option, text,
                        option);
    }
    hone_status status = hone_model_fix_shape(m, name, rank, dims, &error);
    free(name);
    return status == HONE_OK ? EXIT_OK : cli_fail("%s %s: %s", option, text, error.message);
}

int cli_parse_level(const char *text, hone_level *level) {
    static const struct {
        const char *name;
        hone_level level;
    } names[] = {{"none", HONE_LEVEL_NONE},         {"0", HONE_LEVEL_NONE},
                 {"basic", HONE_LEVEL_BASIC},       {"1", HONE_LEVEL_BASIC},
                 {"extended", HONE_LEVEL_EXTENDED}, {"2", HONE_LEVEL_EXTENDED},
                 {"all", HONE_LEVEL_ALL},           {"99", HONE_LEVEL_ALL}};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, text) == 0) {
            *level = names[i].level;
            return EXIT_OK;
        }
    return text ? cli_fail("--level is none, basic, extended or all, not '%s'", text) : EXIT_OK;
}

int cli_parse_precision(const char *option, const char *text, hone_precision *precision) {
    static const struct {
        const char *name;
        hone_precision precision;
    } names[] = {{"float", HONE_PRECISION_KEEP},
                 {"float32", HONE_PRECISION_KEEP},
                 {"float16", HONE_PRECISION_FLOAT16},
                 {"bfloat16", HONE_PRECISION_BFLOAT16}};
    for (size_t i = 0; text && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].name, text) == 0) {
            *precision = names[i].precision;
            return EXIT_OK;
        }
    return text ? cli_fail("%s is float16 or bfloat16, not '%s'", option, text) : EXIT_OK;
}

void cli_model_options_free(cli_model_options *o) {
    cli_list_free(&o->dims);
    cli_list_free(&o->shapes);
    cli_list_free(&o->custom_ops);
}

hone_status cli_load_model(const char *path, const cli_list *custom_ops, bool skip_external_data,
                           bool copy_files, hone_model **model, hone_error *error) {
    hone_load_options load;
    hone_load_options_init(&load);
    load.skip_external_data = skip_external_data;
    load.copy_files = copy_files;
    hone_status status = HONE_OK;
    *model = NULL;
    if (custom_ops->n)
        status = hone_op_registry_create(NULL, &load.ops, error);
    for (size_t i = 0; i < custom_ops->n && status == HONE_OK; i++)
        status = hone_op_registry_load(load.ops, custom_ops->at[i], error);
    if (status == HONE_OK)
        status = hone_model_load(path, &load, model, error);
    hone_op_registry_free(load.ops);
    return status;
}

hone_model *cli_load(const char *path, const cli_model_options *o, bool skip_external_data) {
    hone_model *m;
    hone_error error;
    if (cli_load_model(path, &o->custom_ops, skip_external_data, o->copy, &m, &error) != HONE_OK) {
        cli_fail_error(&error);
        return NULL;
    }
    int status = EXIT_OK;
    for (size_t i = 0; i < o->shapes.n && status == EXIT_OK; i++)
        status = cli_fix_shape(m, "--shape", o->shapes.at[i]);
    for (size_t i = 0; i < o->dims.n && status == EXIT_OK; i++)
        status = cli_fix_dim(m, "--dim", o->dims.at[i]);
    if (status == EXIT_OK)
        return m;
    hone_model_free(m);
    return NULL;
}

char *cli_type_text(const hone_graph *g, uint32_t value) {
    size_t n = hone_value_type_text(g, value, NULL, 0);
    char *text = malloc(n + 1);
    if (text)
        hone_value_type_text(g, value, text, n + 1);
    return text;
}
