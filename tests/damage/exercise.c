/* Processor time needs more than C11. */
#define _GNU_SOURCE
#include "damage/exercise.h"
#include "damage/trial_run.h"
#include "ir/ir.h"
#include "unit/counting_allocator.h"

#include <stdio.h>
#include <time.h>

typedef struct exercise {
    exercise_report *report;
    counting_allocator memory; /* of everything that the library does for us */
    hone_load_options load;
    double run_seconds; /* of processor time; the rest has a limit of its own */
    bool is_valid;      /* the check has found no error */
} exercise;

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The first complaint stays. */
static void complain(exercise *x, const char *fmt, ...) HN_PRINTF(2, 3);
static void complain(exercise *x, const char *fmt, ...) {
    va_list args;
    if (x->report->complaint[0])
        return;
    va_start(args, fmt);
    vsnprintf(x->report->complaint, sizeof x->report->complaint, fmt, args);
    va_end(args);
}

/* Success leaves the record empty, failure explains itself, and neither is a bug of ours. */
static bool expect_honest(exercise *x, const char *step, hone_status status,
                          const hone_error *error) {
    if (status == HONE_E_INTERNAL)
        complain(x, "%s: internal error: %.150s", step, error->message);
    else if (error->code != status)
        complain(x, "%s: returned '%s', recorded '%s'", step, hone_status_text(status),
                 hone_status_text(error->code));
    else if (status != HONE_OK && !error->message[0])
        complain(x, "%s: '%s' without a message", step, hone_status_text(status));
    if (status == HONE_E_NOMEM && x->memory.n_refused == 0)
        complain(x, "%s: 'out of memory', which it was not", step);
    return status == HONE_OK;
}

static bool discard(void *ctx, const char *text, size_t n_bytes) {
    size_t *total = ctx;
    (void)text;
    *total += n_bytes;
    return true;
}

static bool append(void *ctx, const char *text, size_t n_bytes) {
    hn_strbuf *b = ctx;
    hn_strbuf_put(b, text, n_bytes);
    return !b->failed;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void check(hone_model *m, exercise *x) {
    hone_error error;
    hone_problems *problems;
    size_t n_written = 0;
    hone_status status = hone_model_check(m, &problems, &error);
    if (!expect_honest(x, "check", status, &error))
        return;
    x->is_valid = hone_problems_count(problems, HONE_ERROR) == 0;
    status = hone_problems_write_json(problems, "model", discard, &n_written, &error);
    expect_honest(x, "problems as JSON", status, &error);
    hone_problems_free(problems);
}

static void describe(hone_model *m, exercise *x) {
    hone_error error;
    size_t n_written = 0;
    unsigned all = HONE_JSON_NODES | HONE_JSON_WEIGHTS | HONE_JSON_VALUES;
    hone_status status = hone_model_write_json(m, "model", all, discard, &n_written, &error);
    expect_honest(x, "model as JSON", status, &error);
}

/* What was printed is read again; names that the syntax cannot express may fail, but cleanly. */
static void print(hone_model *m, exercise *x) {
    const hone_allocator *a = &x->memory.hook;
    hone_error error;
    hn_strbuf text;
    hn_strbuf_init(&text, a);
    hone_status status = hone_model_print(m, UINT64_MAX, append, &text, &error);
    if (expect_honest(x, "print", status, &error)) {
        hn_model *again;
        hn_error_clear(&error);
        status = hn_model_parse(text.at, text.n, a, &again, &error);
        expect_honest(x, "parse of what was printed", hn_error_complete(&error, status), &error);
        if (status == HONE_OK)
            hn_model_free(again);
    }
    hn_strbuf_free(&text);
}

/* A file that was accepted can be saved, and what was saved loads and saves as the same bytes. */
static void save(const hone_model *m, exercise *x) {
    hone_error error;
    void *first, *second;
    size_t n_first, n_second;
    hone_model *again;
    hone_status status = hone_model_save_buffer(m, &first, &n_first, &error);
    if (!expect_honest(x, "save", status, &error))
        return;
    status = hone_model_load_buffer(first, n_first, &x->load, &again, &error);
    if (!expect_honest(x, "load of what was saved", status, &error)) {
        complain(x, "what was saved does not load: %.200s", error.message);
        hone_buffer_free(m, first, n_first);
        return;
    }
    status = hone_model_save_buffer(again, &second, &n_second, &error);
    if (expect_honest(x, "second save", status, &error)) {
        if (n_first != n_second || memcmp(first, second, n_first) != 0)
            complain(x, "saved %zu bytes, loaded and saved again %zu other bytes", n_first,
                     n_second);
        hone_buffer_free(again, second, n_second);
    }
    hone_model_free(again);
    hone_buffer_free(m, first, n_first);
}

/* What computes the last value from the first: any two values will do. */
static void extract(hone_model *m, exercise *x) {
    const hone_graph *g = hone_model_graph(m);
    uint32_t n = hone_graph_n_values(g);
    if (n == 0)
        return;
    hone_value_info first, last;
    hone_error error;
    hone_graph_get_value(g, 0, &first);
    hone_graph_get_value(g, n - 1, &last);
    hone_status status = hone_model_rename(m, first.name, "renamed", &error);
    bool is_renamed = expect_honest(x, "rename", status, &error);
    const char *input = is_renamed ? "renamed" : first.name;
    status = hone_model_extract(m, 1, &input, 1, &last.name, &error);
    expect_honest(x, "extract", status, &error);
}

static void edit(hone_model *m, exercise *x) {
    hone_error error;
    unsigned all = HONE_STRIP_DOCS | HONE_STRIP_NODE_NAMES | HONE_STRIP_VALUE_NAMES |
                   HONE_STRIP_METADATA | HONE_STRIP_VALUE_INFO | HONE_STRIP_UNUSED;
    expect_honest(x, "store shapes", hone_model_store_shapes(m, &error), &error);
    expect_honest(x, "fix dim", hone_model_fix_dim(m, "N", 2, &error), &error);
    expect_honest(x, "strip", hone_model_strip(m, all, &error), &error);
    if (expect_honest(x, "inline", hone_model_inline_functions(m, &error), &error))
        extract(m, x);
}

/* Twice in one session, so that the second run finds the plan and the memory of the first. */
static void run(hone_model *m, exercise *x, hone_level level) {
    hone_error error;
    hone_session_options o;
    hone_session *session;
    double start = cpu_now();
    hone_session_options_init(&o);
    o.n_threads = 1;
    o.level = level;
    o.memory_limit_bytes = TRIAL_MEMORY_BYTES;
    hone_status status = hone_session_create(m, &o, &session, &error);
    x->report->n_sessions += expect_honest(x, "session", status, &error);
    for (uint64_t seed = 1; session && seed <= 2; seed++) {
        status = trial_run(session, m, seed, &error);
        x->report->n_runs_completed += expect_honest(x, "run", status, &error);
    }
    hone_session_free(session);
    x->run_seconds += cpu_now() - start;
}

/* No rule may fail on a valid model; what comes out can be saved and run as it is. */
static void expect_no_guilty(exercise *x, const hone_optimization *report) {
    hone_optimization_info info;
    hone_near_miss g;
    hone_optimization_get_info(report, &info);
    hone_optimization_get_guilty(report, 0, &g);
    if (info.n_guilty && x->is_valid)
        complain(x, "%s.%s failed at %.40s: %.120s", g.pass, g.rule, g.node, g.reason);
}

static void optimize(hone_model *m, exercise *x, hone_target target) {
    hone_error error;
    hone_optimize_options o;
    hone_model *optimized;
    hone_optimization *report;
    size_t n_written = 0;
    hone_optimize_options_init(&o);
    o.target = target;
    o.measure = true;
    o.max_fold_bytes = (uint64_t)1 << 20;
    hone_status status = hone_model_optimize(m, &o, &optimized, &report, &error);
    if (!expect_honest(x, "optimize", status, &error))
        return;
    expect_no_guilty(x, report);
    status = hone_optimization_write_json(report, "model", discard, &n_written, &error);
    expect_honest(x, "report as JSON", status, &error);
    save(optimized, x);
    run(optimized, x, HONE_LEVEL_NONE);
    hone_optimization_free(report);
    hone_model_free(optimized);
}

/* ---- the whole way --------------------------------------------------------------------------- */

static void use_model(hone_model *m, exercise *x) {
    hone_error error;
    x->report->is_loaded = true;
    check(m, x);
    expect_honest(x, "infer", hone_model_infer(m, &error), &error);
    describe(m, x);
    print(m, x);
    save(m, x);
    run(m, x, HONE_LEVEL_ALL);
    optimize(m, x, HONE_TARGET_ONNX);
    optimize(m, x, HONE_TARGET_ONNXRUNTIME);
    edit(m, x);
}

static void begin(exercise *x, exercise_report *report, size_t file_bytes) {
    *report = (exercise_report){.cpu_seconds = -cpu_now()};
    *x = (exercise){.report = report};
    counting_init(&x->memory, 0);
    x->memory.limit_bytes = EXERCISE_BASE_BYTES + EXERCISE_BYTES_PER_FILE_BYTE * file_bytes;
    hone_load_options_init(&x->load);
    x->load.allocator = &x->memory.hook;
    x->load.skip_external_data = true;
}

static void end(exercise *x) {
    const counting_allocator *memory = &x->memory;
    x->report->cpu_seconds += cpu_now() - x->run_seconds;
    x->report->run_seconds = x->run_seconds;
    x->report->peak_bytes = memory->peak_bytes;
    if (memory->n_refused)
        complain(x, "wanted more than %zu MB", memory->limit_bytes >> 20);
    if (!counting_is_clean(memory))
        complain(x, "%zu bytes in %zu blocks leaked, or a block came back with a wrong size",
                 memory->n_bytes, memory->n_blocks);
    if (x->report->cpu_seconds > EXERCISE_CPU_SECONDS)
        complain(x, "took %.2f s", x->report->cpu_seconds);
    if (x->run_seconds > EXERCISE_RUN_SECONDS)
        complain(x, "a session and its runs took %.2f s", x->run_seconds);
}

void exercise_model(const void *data, size_t n_bytes, exercise_report *report) {
    exercise x;
    hone_error error;
    hone_model *m;
    begin(&x, report, n_bytes);
    hone_status status = hone_model_load_buffer(data, n_bytes, &x.load, &m, &error);
    if (expect_honest(&x, "load", status, &error))
        use_model(m, &x);
    hone_model_free(m);
    end(&x);
}

void exercise_text(const char *text, size_t n_bytes, exercise_report *report) {
    exercise x;
    hone_error error;
    hn_model *m = NULL;
    begin(&x, report, n_bytes);
    hn_error_clear(&error);
    hone_status status = hn_model_parse(text, n_bytes, &x.memory.hook, &m, &error);
    if (expect_honest(&x, "parse", hn_error_complete(&error, status), &error))
        use_model((hone_model *)m, &x);
    hn_model_free(m);
    end(&x);
}
