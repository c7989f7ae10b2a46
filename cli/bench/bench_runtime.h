/* What runs models: this library, or onnxruntime. */
#ifndef HONE_BENCH_RUNTIME_H
#define HONE_BENCH_RUNTIME_H

#include "bench/bench.h"

/* The first member of the sessions of all runtimes: `concurrent` sessions of one model. */
struct bench_session {
    const bench_runtime *runtime;
    uint32_t n_workers, n_outputs;
};

struct bench_runtime {
    const char *name;
    const char *(*version)(void);
    /* Loads the model and creates the sessions; adds to load and optimize of the costs. */
    bool (*open)(const bench_options *o, const bench_setup *s, bench_session **session,
                 bench_costs *costs);
    /* The feeds of the runs that follow, which outlive them. */
    bool (*bind)(bench_session *s, uint32_t n, const cli_feed *const *feeds);
    /* One run, which is what is timed. Its outputs stay until they are dropped. Thread-safe for
     * different workers. False with the error. */
    bool (*run)(bench_session *s, uint32_t worker, uint32_t feed, const volatile int *interrupted,
                hone_error *error);
    void (*drop)(bench_session *s, uint32_t worker);
    const char *(*output_name)(const bench_session *s, uint32_t i);
    /* An output of the last run of worker 0, which the caller frees; NULL with the error. */
    hone_value *(*output)(bench_session *s, uint32_t i, hone_error *error);
    /* What the first run took for packing and plans, and the planned memory. */
    void (*first_costs)(bench_session *s, bench_costs *costs);
    void (*close)(bench_session *s);
};

extern const bench_runtime bench_hone, bench_onnxruntime;
/* Binds all inputs of a case. */
bool bench_bind_case(bench_case *c);

#endif /* HONE_BENCH_RUNTIME_H */
