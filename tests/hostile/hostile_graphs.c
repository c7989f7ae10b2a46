/* Makes hostile graphs (hostile/wild.h) and watches what the library does with them.
 *
 * usage: hostile_graphs [--graphs N] [--seed N] [--first N] [--only N] [--seconds N] [--levels]
 *                       [--no-exercise] [--dump FOLDER]
 *
 * Each graph depends on the seed and its number alone, and goes all the way of damage/exercise.h.
 * With --levels it also runs at every level, which must do the same. None may crash, leak, fail for
 * a reason of ours, take too much time or memory. --seconds ends early, by processor time. --dump
 * writes the models into a folder instead, for other programs to run. */
#define _GNU_SOURCE
#include "damage/exercise.h"
#include "damage/watchdog.h"
#include "hostile/levels.h"
#include "hostile/wild.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WATCHDOG_SECONDS 60 /* of processor time, for one graph */

enum { MAX_COMPLAINTS = 50 };

typedef struct options {
    uint64_t n_graphs, seed, first;
    double seconds; /* 0: no limit */
    bool levels, exercise;
    const char *dump;
} options;

typedef struct totals {
    uint64_t n_graphs, n_loaded, n_sessions, n_runs, n_compared, n_complaints;
} totals;

static double processor_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void dump_graph(const char *folder, uint64_t number, const void *data, size_t n) {
    char path[512];
    snprintf(path, sizeof path, "%s/%06llu.onnx", folder, (unsigned long long)number);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0)
        grow_fail("cannot write a model");
}

static void complain_of(const options *o, uint64_t number, const char *complaint, totals *t) {
    if (!complaint[0])
        return;
    t->n_complaints++;
    printf("graph %llu (seed %llu): %s\n", (unsigned long long)number, (unsigned long long)o->seed,
           complaint);
    fflush(stdout);
}

static void try_hostile(const options *o, uint64_t number, totals *t) {
    void *data;
    size_t n;
    exercise_report report;
    levels_report levels;
    if (!wild_model(2 * (o->seed * UINT64_C(0x9E3779B97F4A7C15) + number) + number % 2, &data, &n))
        return;
    t->n_graphs++;
    if (o->dump)
        dump_graph(o->dump, number, data, n);
    if (o->exercise) {
        exercise_model(data, n, &report);
        t->n_loaded += report.is_loaded;
        t->n_sessions += report.n_sessions;
        t->n_runs += report.n_runs_completed;
        complain_of(o, number, report.complaint, t);
    }
    if (o->levels) {
        levels_compare(data, n, &levels);
        t->n_compared += levels.n_compared;
        complain_of(o, number, levels.complaint, t);
    }
    free(data);
}

static int run_hostile(void *ctx, watch_progress *p) {
    const options *o = ctx;
    totals t = {0};
    for (uint64_t i = o->first; i < o->n_graphs && t.n_complaints < MAX_COMPLAINTS; i++) {
        if (o->seconds > 0 && processor_seconds() > o->seconds)
            break;
        watch_begin(p, i, WATCHDOG_SECONDS);
        try_hostile(o, i, &t);
    }
    printf(
        "%llu hostile graphs (seed %llu): %llu loaded, %llu made a session, %llu runs completed, "
        "%llu compared, %llu complaints\n",
        (unsigned long long)t.n_graphs, (unsigned long long)o->seed, (unsigned long long)t.n_loaded,
        (unsigned long long)t.n_sessions, (unsigned long long)t.n_runs,
        (unsigned long long)t.n_compared, (unsigned long long)t.n_complaints);
    p->is_done = true;
    return t.n_complaints > 0;
}

static options read_options(int argc, char **argv) {
    options o = {.n_graphs = 2000, .seed = 1, .exercise = true};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--levels") == 0) {
            o.levels = true;
            continue;
        }
        if (strcmp(argv[i], "--no-exercise") == 0) {
            o.exercise = false;
            continue;
        }
        if (!value)
            grow_fail("an option without its value");
        if (strcmp(argv[i], "--graphs") == 0)
            o.n_graphs = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--first") == 0)
            o.first = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            o.n_graphs = 1 + (o.first = strtoull(value, NULL, 10));
        else if (strcmp(argv[i], "--seconds") == 0)
            o.seconds = strtod(value, NULL);
        else if (strcmp(argv[i], "--dump") == 0)
            o.dump = value;
        else
            grow_fail("the head of hostile_graphs.c tells the options");
        i++;
    }
    return o;
}

/* After a crash the next graph follows. */
int main(int argc, char **argv) {
    options o = read_options(argc, argv);
    int failed = 0;
    for (uint32_t n = 0; n < MAX_COMPLAINTS && o.first < o.n_graphs; n++) {
        uint64_t last;
        int status = watch_child("graph", o.seed, run_hostile, &o, &last);
        failed |= status != 0;
        if (status >= 0)
            break;
        o.first = last + 1;
    }
    return failed;
}
