/* Costs of creating a session: measured in a process of its own, so that no case profits from
 * weights that another one has packed, and memory is that of one case. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_runtime.h"

enum { MOST_CREATIONS = 3, STEADY_RUNS = 3 };
static const double enough_seconds = 0.5; /* small models are created a few times */

static const bench_costs no_costs = {.load = -1,
                                     .optimize = -1,
                                     .pack = -1,
                                     .plan = -1,
                                     .first = -1,
                                     .total = -1,
                                     .planned_bytes = -1,
                                     .steady_bytes = -1,
                                     .peak_bytes = -1};

static bool run_checked(bench_session *s, const volatile int *interrupted) {
    hone_error error = {0};
    bool ok = s->runtime->run(s, 0, 0, interrupted, &error);
    s->runtime->drop(s, 0);
    if (!ok && !*interrupted)
        cli_fail_error(&error);
    return ok;
}

/* In the child. */
static bool create_and_run(const bench_cases *cases, bench_case *c, bench_costs *costs) {
    const bench_runtime *runtime = c->setup.runtime;
    bench_setup one = c->setup;
    one.concurrent = 1;
    *costs = no_costs;
    double start = bench_clock();
    bool ok = runtime->open(cases->options, &one, &c->session, costs) && bench_bind_case(c);
    double created = bench_clock();
    ok = ok && run_checked(c->session, cases->interrupted);
    if (!ok)
        return false;
    costs->first = bench_clock() - created;
    costs->total = bench_clock() - start;
    runtime->first_costs(c->session, costs);
    if (costs->plan >= 0)
        costs->first -= costs->pack + costs->plan;
    for (int i = 0; ok && i < STEADY_RUNS; i++)
        ok = run_checked(c->session, cases->interrupted);
    costs->steady_bytes = bench_resident_bytes();
    costs->peak_bytes = bench_peak_bytes();
    return ok;
}

/* A signal that ends the command may have come to the parent alone. */
static bool read_costs(const bench_cases *cases, pid_t child, int from, bench_costs *costs) {
    char *at = (char *)costs;
    size_t n = 0;
    while (n < sizeof *costs) {
        ssize_t got = read(from, at + n, sizeof *costs - n);
        if (got < 0 && errno == EINTR && *cases->interrupted)
            kill(child, SIGTERM);
        else if (got == 0 || (got < 0 && errno != EINTR))
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    return n == sizeof *costs;
}

static _Noreturn void be_child(const bench_cases *cases, bench_case *c, int to) {
    bench_costs costs;
    cli_progress progress;
    cli_progress_begin(&progress, "creating a session", NULL);
    bool ok = create_and_run(cases, c, &costs) &&
              write(to, &costs, sizeof costs) == (ssize_t)sizeof costs;
    cli_progress_end(&progress);
    _exit(ok ? EXIT_OK : EXIT_FAILED);
}

static bool measure_one_creation(const bench_cases *cases, bench_case *c, bench_costs *costs) {
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return cli_fail("cannot create a pipe: %s", strerror(errno)) == EXIT_OK;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_child(cases, c, ends[1]);
    close(ends[1]);
    bool ok = child > 0 && read_costs(cases, child, ends[0], costs);
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        cli_fail("cannot start a process: %s", strerror(errno));
    else if (WIFSIGNALED(status) && !*cases->interrupted)
        cli_fail("'%s' on %s: the process ended by signal %d", c->setup.path,
                 c->setup.runtime->name, WTERMSIG(status));
    return ok && status == 0;
}

/* The fastest one counts. */
static bool measure_creations(const bench_cases *cases, bench_case *c) {
    double spent = 0;
    c->costs = no_costs;
    for (int i = 0; i < MOST_CREATIONS && (i == 0 || spent < enough_seconds); i++) {
        bench_costs costs;
        if (!measure_one_creation(cases, c, &costs))
            return false;
        spent += costs.total;
        if (i == 0 || costs.total < c->costs.total)
            c->costs = costs;
    }
    return true;
}

bool bench_measure_costs(bench_cases *cases) {
    bool ok = true;
    for (size_t i = 0; ok && i < cases->n; i++) {
        cases->at[i].costs = no_costs;
        if (!cases->options->no_creation)
            ok = measure_creations(cases, &cases->at[i]) && !*cases->interrupted;
    }
    return ok;
}
