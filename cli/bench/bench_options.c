/* Options of hone bench, and those of other tools that mean the same. */
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

void bench_options_free(bench_options *o) {
    cli_model_options_free(&o->model);
    cli_input_options_free(&o->input);
    cli_list_free(&o->models);
    cli_list_free(&o->data_shapes);
    cli_list_free(&o->providers);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* "1,2,4": none of them is 0. Without the option one number, `otherwise`. */
static int parse_list(const char *option, const char *text, uint64_t most, uint64_t otherwise,
                      bench_numbers *out) {
    double numbers[BENCH_MOST_VALUES];
    *out = (bench_numbers){.at = {otherwise}, .n = 1};
    int n = text ? cli_parse_numbers(text, BENCH_MOST_VALUES, numbers) : 0;
    for (int i = 0; i < n; i++) {
        if (!(numbers[i] >= 1 && numbers[i] <= (double)most) ||
            numbers[i] != (double)(uint64_t)numbers[i])
            n = 0;
        else
            out->at[i] = (uint64_t)numbers[i];
    }
    if (text && n == 0)
        return cli_fail(
            "%s %s: write whole numbers from 1 to %llu with commas, for example %s 1,2,4", option,
            text, (unsigned long long)most, option);
    out->n = text ? (size_t)n : 1;
    return EXIT_OK;
}

static int parse_levels(bench_options *o) {
    static const hone_level all[] = {HONE_LEVEL_NONE, HONE_LEVEL_BASIC, HONE_LEVEL_EXTENDED,
                                     HONE_LEVEL_ALL};
    const char *text = o->level_list ? o->level_list : "all";
    char part[32];
    if (strcmp(text, "each") == 0) {
        memcpy(o->levels, all, sizeof all);
        o->n_levels = sizeof all / sizeof *all;
        return EXIT_OK;
    }
    for (;;) {
        size_t n = strcspn(text, ",");
        snprintf(part, sizeof part, "%.*s", n < sizeof part ? (int)n : (int)sizeof part - 1, text);
        if (strcmp(part, "3") == 0) /* onnxruntime's level of layouts */
            o->levels[o->n_levels] = HONE_LEVEL_ALL;
        else if (cli_parse_level(part, &o->levels[o->n_levels]) != EXIT_OK)
            return EXIT_FAILED;
        o->n_levels++;
        if (!text[n] || o->n_levels == BENCH_MOST_VALUES)
            return EXIT_OK;
        text += n + 1;
    }
}

/* "5%", "5 %" and "5" are 1.05. */
static int parse_fail_above(bench_options *o) {
    char *end;
    if (!o->fail_above)
        return EXIT_OK;
    double percent = strtod(o->fail_above, &end);
    bool ok = end != o->fail_above && percent >= 0 && percent < 1e6;
    end += strspn(end, " ");
    end += *end == '%';
    if (!ok || *end)
        return cli_fail("--fail-above %s: write percents, for example --fail-above 5%%",
                        o->fail_above);
    o->fail_ratio = 1 + percent / 100;
    return EXIT_OK;
}

static int parse_rate(bench_options *o) {
    if (o->rate && (!cli_parse_number(o->rate, &o->parsed_rate) || !(o->parsed_rate > 0) ||
                    o->parsed_rate > 1e6))
        return cli_fail("--rate %s: write runs per second, for example --rate 30", o->rate);
    return EXIT_OK;
}

static int check_combinations(const bench_options *o) {
    if (o->runs == 0)
        return cli_fail("--runs 0: write one run or more");
    if (o->runs == UINT64_MAX && o->seconds == 0)
        return cli_fail("--time 0: write some seconds, for example --time 5");
    if (o->against && strcmp(o->against, "onnxruntime") != 0)
        return cli_fail("--against %s: only onnxruntime is known", o->against);
    if (o->library && !o->against)
        return cli_fail("--library is for --against onnxruntime");
    if ((o->json != 0) + (o->csv != 0) + (o->publish != 0) > 1)
        return cli_fail("--json, --csv and --publish exclude each other");
    if (o->data_shapes.n && (o->data.source || o->input.files.n))
        return cli_fail("--data-shape is for generated inputs: leave out %s",
                        o->data.source ? "--data" : "--input");
    return EXIT_OK;
}

/* perf_test's -m duration and -m times say what -t and -r say. */
static void take_mode(bench_options *o) {
    size_t n = 0;
    for (size_t i = 0; i < o->models.n; i++)
        if (strcmp(o->models.at[i], "duration") != 0 && strcmp(o->models.at[i], "times") != 0)
            o->models.at[n++] = o->models.at[i];
    o->models.n = n;
}

int bench_options_check(bench_options *o) {
    take_mode(o);
    if (o->publish && !o->batch_list)
        o->batch_list = "1,32";
    bool ok = check_combinations(o) == EXIT_OK && parse_levels(o) == EXIT_OK &&
              parse_fail_above(o) == EXIT_OK && parse_rate(o) == EXIT_OK &&
              parse_list("--threads", o->thread_list, 1024, 0, &o->threads) == EXIT_OK &&
              parse_list("--concurrent", o->concurrent_list, 1024, 1, &o->concurrent) == EXIT_OK &&
              parse_list("--batch", o->batch_list, 1 << 20, 0, &o->batches) == EXIT_OK &&
              cli_parse_precision("--weights", o->weights, &o->parsed_weights) == EXIT_OK &&
              cli_parse_precision("--compute", o->compute, &o->parsed_compute) == EXIT_OK;
    return ok ? EXIT_OK : EXIT_USAGE;
}

/* ---- options of other tools ------------------------------------------------------------------ */

typedef struct foreign_option {
    const char *name, *ours;
    const char *value; /* that ours gets where theirs has none; NULL: theirs is the next argument */
} foreign_option;

/* docs/bench.md has the table for people. */
static const foreign_option foreign_options[] = {{"-niter", "--runs", NULL},
                                                 {"-nthreads", "--threads", NULL},
                                                 {"-nireq", "--concurrent", NULL},
                                                 {"-nstreams", "--concurrent", NULL},
                                                 {"-max_irate", "--rate", NULL},
                                                 {"-no_warmup", "--warm-up", "0"},
                                                 {"-cache_dir", "--cache", NULL},
                                                 {"-json_stats", "--json", ""},
                                                 {"-f", "--dim", NULL},
                                                 {"-S", "--random", NULL},
                                                 {"-R", "--custom-ops", NULL},
                                                 {"--data_shape", "--data-shape", NULL},
                                                 {"-data_shape", "--data-shape", NULL}};

/* -f batch:4 is --dim batch=4. */
static const char *with_equals(const char *text, char *copy, size_t size) {
    snprintf(copy, size, "%s", text);
    char *colon = strchr(copy, '=') ? NULL : strrchr(copy, ':');
    if (colon)
        *colon = '=';
    return copy;
}

static const foreign_option *find_foreign(const char *text) {
    for (size_t i = 0; i < sizeof foreign_options / sizeof *foreign_options; i++)
        if (strcmp(foreign_options[i].name, text) == 0)
            return &foreign_options[i];
    return NULL;
}

char **bench_translate(int argc, char **argv, int *n, char (*changed)[256]) {
    char **out = calloc(2 * (size_t)argc + 1, sizeof *out);
    size_t n_changed = 0;
    *n = 0;
    for (int i = 0; out && i < argc; i++) {
        const foreign_option *f = i > 0 ? find_foreign(argv[i]) : NULL;
        out[(*n)++] = f ? (char *)(uintptr_t)f->ours : argv[i];
        if (f && f->value && *f->value)
            out[(*n)++] = (char *)(uintptr_t)f->value;
        if (f && strcmp(f->ours, "--dim") == 0 && i + 1 < argc)
            out[(*n)++] =
                (char *)(uintptr_t)with_equals(argv[++i], changed[n_changed++], sizeof *changed);
    }
    return out;
}
