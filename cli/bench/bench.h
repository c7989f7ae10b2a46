/* hone bench: measures models on runtimes. What is measured with one set of options is a case; all
 * cases of a command run alternately. Functions that return bool report their errors. */
#ifndef HONE_BENCH_H
#define HONE_BENCH_H

#include "bench/bench_meter.h"
#include "bench/bench_stats.h"
#include "data/dataset.h"
#include "values/json_tree.h"

/* ---- what was asked for ---------------------------------------------------------------------- */

enum { BENCH_MOST_VALUES = 32, BENCH_NOT_GIVEN = -1 };

typedef struct bench_numbers { /* "1,2,4" */
    uint64_t at[BENCH_MOST_VALUES];
    size_t n;
} bench_numbers;

typedef struct bench_options {
    cli_model_options model;
    cli_input_options input;
    cli_dataset_options data;
    cli_list models, data_shapes, providers;
    const char *thread_list, *level_list, *batch_list, *concurrent_list;
    const char *against, *library, *baseline, *fail_above, *rate, *reference;
    const char *cache, *kernels, *weights, *compute, *labels;
    uint64_t runs, warm_up, top, memory; /* runs: UINT64_MAX when not given */
    double seconds;                      /* BENCH_NOT_GIVEN when not given */
    bool json, csv, plot, publish, keep_denormals, no_creation;
    /* Parsed from the texts above. */
    bench_numbers threads, batches, concurrent;
    hone_level levels[BENCH_MOST_VALUES];
    size_t n_levels;
    hone_precision parsed_weights, parsed_compute;
    double parsed_rate, fail_ratio; /* runs per second; 1.05. 0: not given */
} bench_options;
int bench_options_check(bench_options *o); /* parses; reports errors */
void bench_options_free(bench_options *o);
/* Replaces options of onnxruntime_perf_test and benchmark_app by ours. `changed` has room for as
 * many texts as there are arguments. free() the result; NULL: no memory. */
char **bench_translate(int argc, char **argv, int *n, char (*changed)[256]);

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct bench_runtime bench_runtime;
typedef struct bench_session bench_session;

typedef struct bench_setup {
    const char *path;
    const bench_runtime *runtime;
    hone_level level;
    uint64_t threads;    /* 0: the runtime's default */
    uint64_t concurrent; /* sessions that run at the same time, 1 or more */
    uint64_t batch;      /* 0: not given */
} bench_setup;

/* What a run gets. */
typedef struct bench_inputs {
    hone_model *model; /* with the sizes of these inputs; owns their names */
    cli_feed feed;
    char text[256]; /* "image float[1,3,224,224]" */
} bench_inputs;
bool bench_inputs_make(const bench_options *o, const bench_setup *s, const char *data_shape,
                       bench_inputs *in);
void bench_inputs_free(bench_inputs *in);

/* Creating a session and its first run, in a process of its own; seconds, negative: unknown. */
typedef struct bench_costs {
    double load, optimize, pack, plan, first, total;
    int64_t planned_bytes, steady_bytes, peak_bytes; /* negative: unknown */
} bench_costs;

typedef struct bench_series { /* in the order of the runs */
    double *seconds;
    uint32_t *feeds; /* which inputs each run had */
    size_t n, cap;
    double *turns; /* median of each turn */
    size_t n_turns, cap_turns;
} bench_series;

typedef struct bench_accuracy {
    uint64_t n_samples, n_labelled, n_first, n_near; /* right; among the first `top` */
    uint64_t top;
} bench_accuracy;

typedef struct bench_difference { /* the worst of all outputs */
    uint32_t n_outputs;           /* 0: not compared */
    double max_abs, max_rel, cosine, sqnr_db;
} bench_difference;

typedef struct bench_case {
    bench_setup setup;
    char label[512]; /* what distinguishes it from the others */
    bench_inputs *inputs;
    uint32_t n_inputs;
    const cli_feed **feeds; /* of them, for the session */
    int64_t model_bytes;
    bench_session *session;
    bench_costs costs;
    bench_series series;
    double wall; /* seconds of all turns */
    bench_reading used;
    uint64_t next_feed, n_late;
    double next_start; /* with a rate: when the next run is due */
    double estimate;   /* seconds of a run */
    bench_stats stats, *by_feed;
    bench_change against_first, against_baseline;
    bool has_baseline;
    double baseline_median;
    bench_accuracy accuracy;
    bench_difference difference;
} bench_case;
double bench_throughput(const bench_case *c); /* runs per second */
uint64_t bench_batch(const bench_case *c);    /* samples of a run */

typedef struct bench_cases {
    bench_case *at;
    size_t n;
    bench_meter meter;
    const bench_options *options;
    const char *reference; /* of the differences; NULL: none */
    json_tree baseline;
    const volatile int *interrupted;
} bench_cases;
/* Is it not the same in all cases? */
typedef enum bench_aspect {
    BENCH_MODEL,
    BENCH_RUNTIME,
    BENCH_LEVEL,
    BENCH_THREADS,
    BENCH_CONCURRENT,
    BENCH_BATCH
} bench_aspect;
bool bench_varies(const bench_cases *cases, bench_aspect aspect);
bool bench_cases_make(const bench_options *o, const cli_list *models, bench_cases *cases);
void bench_cases_free(bench_cases *cases);

/* ---- steps ----------------------------------------------------------------------------------- */

double bench_clock(void);
bool bench_measure_costs(bench_cases *cases); /* each in a process of its own */
bool bench_open(bench_cases *cases);          /* creates sessions and warms up */
bool bench_measure_differences(bench_cases *cases);
bool bench_measure(bench_cases *cases); /* the time, alternately */
bool bench_measure_accuracy(bench_cases *cases);
bool bench_open_baseline(bench_cases *cases); /* before the time is spent */
bool bench_compare_baseline(bench_cases *cases);
/* EXIT_FAILED when a case is slower than --fail-above admits, which is reported. */
int bench_judge(const bench_cases *cases);

void bench_print_tables(const bench_cases *cases);
void bench_print_published(const bench_cases *cases);
void bench_print_json(const bench_cases *cases);
void bench_print_csv(const bench_cases *cases);
void bench_print_plots(const bench_case *c);
const char *bench_level_name(hone_level level);
/* "1.23 ms", "456 us". */
const char *bench_time_text(char out[32], double seconds);

#endif /* HONE_BENCH_H */
