/* The measuring loop. Cases take turns of some runs each, so that what slows the machine down for a
 * while meets all of them. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench_runtime.h"

enum { LEAST_RUNS = 10, LEAST_COMPARED = 10, USUAL_TURNS = 20, WORKER_STACK_BYTES = 2 << 20 };
static const double default_seconds = 3, turn_seconds = 0.05;
static const double settled_seconds = 0.25; /* cold caches cost longer runs less than a percent */

double bench_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sleeping ends some microseconds late: the last ones are waited for. */
static void sleep_until(double when) {
    static const double waited = 60e-6;
    for (double left = when - bench_clock(); left > 0; left = when - bench_clock()) {
        double slept = left - waited;
        struct timespec t = {.tv_sec = (time_t)slept,
                             .tv_nsec = (long)(1e9 * (slept - (double)(time_t)slept))};
        if (slept > 0)
            nanosleep(&t, NULL);
    }
}

/* ---- series ---------------------------------------------------------------------------------- */

static bool reserve_runs(bench_series *s, size_t n) {
    if (s->n + n > s->cap) {
        size_t cap = 2 * (s->n + n);
        double *seconds = realloc(s->seconds, cap * sizeof *seconds);
        if (seconds)
            s->seconds = seconds;
        uint32_t *feeds = realloc(s->feeds, cap * sizeof *feeds);
        if (feeds)
            s->feeds = feeds;
        if (!seconds || !feeds)
            return cli_fail("out of memory") == EXIT_OK;
        s->cap = cap;
    }
    return true;
}

static bool end_turn(bench_series *s, size_t first) {
    if (s->n_turns == s->cap_turns) {
        size_t cap = s->cap_turns ? 2 * s->cap_turns : 64;
        double *turns = realloc(s->turns, cap * sizeof *turns);
        if (!turns)
            return cli_fail("out of memory") == EXIT_OK;
        s->turns = turns;
        s->cap_turns = cap;
    }
    s->turns[s->n_turns++] = bench_median(s->seconds + first, s->n - first);
    return true;
}

/* ---- a turn ---------------------------------------------------------------------------------- */

typedef struct bench_turn {
    const bench_cases *cases;
    bench_case *c;
    size_t first, n_runs; /* of each worker; runs of worker w lie behind those of w - 1 */
    bool settles;         /* one run that is not measured comes first: caches are another case's */
    double start;         /* with a rate: when the first run is due */
    atomic_uint n_ready;
    atomic_bool is_started, has_failed;
    atomic_ullong n_late;
    hone_error error;
} bench_turn;

typedef struct bench_worker {
    bench_turn *turn;
    uint32_t number;
    pthread_t thread;
} bench_worker;

static bool run_once_for(bench_turn *t, uint32_t worker, uint32_t feed, double *end) {
    bench_session *s = t->c->session;
    hone_error error = {0};
    bool ok = s->runtime->run(s, worker, feed, t->cases->interrupted, &error);
    *end = bench_clock();
    s->runtime->drop(s, worker);
    if (!ok && !atomic_exchange(&t->has_failed, true))
        t->error = error;
    return ok;
}

static void run_turn_of(bench_turn *t, uint32_t worker) {
    const bench_case *c = t->c;
    double rate = t->cases->options->parsed_rate / (double)c->setup.concurrent;
    size_t at = t->first + worker * t->n_runs;
    for (size_t i = 0; i < t->n_runs && !t->has_failed && !*t->cases->interrupted; i++) {
        uint32_t feed = (uint32_t)((c->next_feed + i) % c->n_inputs);
        double end, start = bench_clock();
        if (rate > 0) {
            double due = t->start + (double)i / rate;
            t->n_late += start > due;
            sleep_until(due);
            start = due; /* who waits for the run before has waited since then */
        }
        if (!run_once_for(t, worker, feed, &end))
            return;
        c->series.seconds[at + i] = end - start;
        c->series.feeds[at + i] = feed;
    }
}

static void settle(bench_turn *t, uint32_t worker) {
    double end;
    if (t->settles)
        run_once_for(t, worker, (uint32_t)(t->c->next_feed % t->c->n_inputs), &end);
}

static void *work(void *worker) {
    bench_worker *w = worker;
    bench_turn *t = w->turn;
    settle(t, w->number);
    atomic_fetch_add(&t->n_ready, 1);
    while (!atomic_load(&t->is_started))
        sched_yield();
    run_turn_of(t, w->number);
    return NULL;
}

/* Meters while all workers are ready and none has begun. */
static void begin_turn(bench_turn *t, bench_reading *before, double *start) {
    bench_meter_read(&t->cases->meter, before);
    *start = bench_clock();
    bool goes_on = t->cases->n == 1 && t->c->next_start > 0; /* no other case came between */
    t->start = goes_on ? t->c->next_start : *start;
    atomic_store(&t->is_started, true);
}

static bool run_workers(bench_turn *t, bench_reading *before, double *start) {
    uint32_t n = (uint32_t)t->c->setup.concurrent, n_started = 0;
    bench_worker *workers = calloc(n, sizeof *workers);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
    for (; workers && n_started < n; n_started++) {
        workers[n_started] = (bench_worker){.turn = t, .number = n_started};
        if (pthread_create(&workers[n_started].thread, &attributes, work, &workers[n_started]) != 0)
            break;
    }
    pthread_attr_destroy(&attributes);
    while (atomic_load(&t->n_ready) < n_started)
        sched_yield();
    bool ok = workers && n_started == n;
    if (!ok)
        t->has_failed = true;
    begin_turn(t, before, start);
    for (uint32_t i = 0; i < n_started; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
    return ok ? true : cli_refuse(&t->error, "cannot start %u threads", n);
}

static bool take_turn(bench_cases *cases, bench_case *c, size_t n_runs, bool settles) {
    bench_turn t = {
        .cases = cases, .c = c, .first = c->series.n, .n_runs = n_runs, .settles = settles};
    bench_reading before, after;
    double start;
    size_t n = n_runs * c->setup.concurrent;
    if (!reserve_runs(&c->series, n))
        return false;
    if (c->setup.concurrent > 1) {
        run_workers(&t, &before, &start);
    } else {
        settle(&t, 0);
        begin_turn(&t, &before, &start);
        run_turn_of(&t, 0);
    }
    double wall = bench_clock() - start;
    bench_meter_read(&cases->meter, &after);
    if (t.has_failed && !*cases->interrupted)
        cli_fail("'%s' on %s: %s", c->setup.path, c->setup.runtime->name, t.error.message);
    if (t.has_failed || *cases->interrupted)
        return false;
    bench_meter_add(&cases->meter, &before, &after, &c->used);
    c->wall += wall;
    c->n_late += t.n_late;
    c->next_feed += n_runs;
    if (cases->options->parsed_rate > 0)
        c->next_start = t.start + (double)n / cases->options->parsed_rate;
    c->series.n += n;
    c->estimate = wall / (double)n_runs;
    return end_turn(&c->series, t.first);
}

/* ---- all turns ------------------------------------------------------------------------------- */

typedef struct bench_limits {
    size_t runs;    /* of a case; SIZE_MAX: none */
    double seconds; /* of a case; negative: none */
} bench_limits;

static bench_limits limits_of(const bench_options *o) {
    bench_limits l = {.runs = o->runs == UINT64_MAX ? SIZE_MAX : (size_t)o->runs,
                      .seconds = o->seconds};
    if (o->runs == UINT64_MAX && o->seconds < 0)
        l.seconds = default_seconds;
    return l;
}

static bool is_done(const bench_case *c, const bench_limits *l) {
    if (c->series.n >= l->runs)
        return true;
    return l->seconds >= 0 && c->wall >= l->seconds && c->series.n_turns >= LEAST_COMPARED &&
           c->series.n >= LEAST_RUNS;
}

/* All inputs appear equally often in a turn, so that the medians of turns can be compared. */
static size_t runs_of_turn(const bench_case *c, const bench_limits *l) {
    double seconds = turn_seconds;
    if (l->seconds > 0 && l->seconds / USUAL_TURNS < seconds)
        seconds = l->seconds / USUAL_TURNS;
    double fitting = seconds / (c->estimate > 1e-9 ? c->estimate : 1e-9);
    size_t most = l->runs == SIZE_MAX ? 1 << 20 : (l->runs + USUAL_TURNS - 1) / USUAL_TURNS;
    size_t n = fitting < (double)most ? (size_t)fitting : most;
    n = (n + c->n_inputs - 1) / c->n_inputs * c->n_inputs;
    n = n > 0 ? n : c->n_inputs;
    size_t left = l->runs == SIZE_MAX
                      ? n
                      : (l->runs - c->series.n + c->setup.concurrent - 1) / c->setup.concurrent;
    return n < left ? n : left;
}

/* Counted in runs, or in milliseconds where only the time is limited. */
static void show_progress(const bench_cases *cases, const bench_limits *l, cli_progress *p) {
    bool by_runs = l->runs != SIZE_MAX;
    uint64_t all = by_runs ? l->runs : (uint64_t)(1e3 * l->seconds), done = 0;
    for (size_t i = 0; i < cases->n; i++) {
        const bench_case *c = &cases->at[i];
        uint64_t own = by_runs ? c->series.n : (uint64_t)(1e3 * c->wall);
        done += own < all ? own : all;
    }
    cli_progress_step(p, done, all * cases->n);
}

static bool open_case(bench_cases *cases, bench_case *c) {
    bench_costs unused;
    return c->setup.runtime->open(cases->options, &c->setup, &c->session, &unused) &&
           bench_bind_case(c);
}

static bool warm_up(bench_cases *cases, bench_case *c) {
    hone_error error = {0};
    bool ok = true;
    uint64_t n = cases->options->warm_up;
    double start = bench_clock();
    for (uint64_t i = 0; ok && i < n * c->n_inputs; i++)
        for (uint32_t w = 0; ok && w < c->session->n_workers; w++) {
            ok = c->session->runtime->run(c->session, w, (uint32_t)(i % c->n_inputs),
                                          cases->interrupted, &error);
            double now = bench_clock();
            c->session->runtime->drop(c->session, w);
            c->estimate = now - start;
            start = now;
        }
    if (!ok && !*cases->interrupted)
        cli_fail("'%s' on %s: %s", c->setup.path, c->setup.runtime->name, error.message);
    bench_costs own = c->costs;
    if (ok && n && own.planned_bytes < 0) /* the creation was not measured */
        c->session->runtime->first_costs(c->session, &own);
    c->costs.planned_bytes = own.planned_bytes;
    return ok;
}

static bool summarize_case(const bench_cases *cases, bench_case *c) {
    bench_series *s = &c->series;
    double *some = malloc((s->n + 1) * sizeof *some);
    bool ok = some && bench_stats_make(s->seconds, s->n, &c->stats);
    for (uint32_t feed = 0; ok && feed < c->n_inputs; feed++) {
        size_t n = 0;
        for (size_t i = 0; i < s->n; i++)
            if (s->feeds[i] == feed)
                some[n++] = s->seconds[i];
        ok = bench_stats_make(some, n, &c->by_feed[feed]);
    }
    free(some);
    const bench_series *first = &cases->at[0].series;
    size_t n = s->n_turns < first->n_turns ? s->n_turns : first->n_turns;
    ok = ok && bench_compare_pairs(first->turns, s->turns, n, &c->against_first);
    return ok ? true : cli_fail("out of memory") == EXIT_OK;
}

bool bench_open(bench_cases *cases) {
    cli_progress progress;
    bool ok = true;
    bench_meter_open(&cases->meter);
    cli_progress_begin(&progress, "warming up", "cases");
    for (size_t i = 0; ok && i < cases->n; i++) {
        cli_progress_step(&progress, i, cases->n);
        ok = open_case(cases, &cases->at[i]) && warm_up(cases, &cases->at[i]);
    }
    cli_progress_end(&progress);
    return ok;
}

bool bench_measure(bench_cases *cases) {
    bench_limits limits = limits_of(cases->options);
    cli_progress progress;
    bool ok = true, has_more = true;
    cli_progress_begin(&progress, "measuring", limits.runs == SIZE_MAX ? "ms" : "runs");
    while (ok && has_more) {
        has_more = false;
        for (size_t i = 0; ok && i < cases->n; i++) {
            bench_case *c = &cases->at[i];
            if (is_done(c, &limits))
                continue;
            has_more = true;
            show_progress(cases, &limits, &progress);
            bool settles = cases->n > 1 && c->estimate < settled_seconds;
            ok = take_turn(cases, c, runs_of_turn(c, &limits), settles);
        }
    }
    cli_progress_end(&progress);
    for (size_t i = 0; ok && i < cases->n; i++)
        ok = summarize_case(cases, &cases->at[i]);
    return ok;
}
