/* Runs many ONNX test cases, each in its own process, so that a crash or a hang is an ordinary
 * failure. */
#define _XOPEN_SOURCE 700
#include "data/test_sets.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct test_job {
    pid_t pid; /* 0: idle */
    int pipe;  /* delivers the result */
    size_t i_case;
} test_job;

typedef struct test_run {
    const test_options *o;
    test_case_list cases;
    cli_buffer manifest;
    test_result *results; /* by case */
    test_job *jobs;
    int n_running;
} test_run;

/* ---- processes ------------------------------------------------------------------------------- */

static void run_child(const test_run *r, const test_case *c, int out) {
    test_result result;
    double whole = floor(r->o->timeout_seconds);
    struct itimerval limit = {
        .it_value = {(time_t)whole, (suseconds_t)(1e6 * (r->o->timeout_seconds - whole))}};
    setitimer(ITIMER_REAL, &limit, NULL);
    test_case_run(c, r->o, &result);
    ssize_t n = write(out, &result, sizeof result);
    _exit(n == (ssize_t)sizeof result ? 0 : 1);
}

static bool start_job(test_run *r, test_job *job, size_t i_case, hone_error *error) {
    int ends[2];
    if (pipe(ends) != 0)
        return cli_refuse(error, "cannot make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(r, &r->cases.at[i_case], ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return cli_refuse(error, "cannot start a process: %s", strerror(errno));
    }
    *job = (test_job){.pid = pid, .pipe = ends[0], .i_case = i_case};
    r->n_running++;
    return true;
}

/* Reads the result, or reports how the process ended. */
static void collect_job(test_run *r, test_job *job, int status) {
    test_result *result = &r->results[job->i_case];
    ssize_t n = read(job->pipe, result, sizeof *result);
    close(job->pipe);
    job->pid = 0;
    r->n_running--;
    if (n == (ssize_t)sizeof *result)
        return;
    *result = (test_result){.passed = false};
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(result->message, sizeof result->message, "not finished after %g seconds",
                 r->o->timeout_seconds);
    else if (WIFSIGNALED(status))
        snprintf(result->message, sizeof result->message, "ended by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(result->message, sizeof result->message, "ended with status %d and no result",
                 WEXITSTATUS(status));
}

static void wait_for_one(test_run *r) {
    int status;
    pid_t pid = wait(&status);
    for (int i = 0; pid > 0 && i < r->o->n_jobs; i++)
        if (r->jobs[i].pid == pid)
            collect_job(r, &r->jobs[i], status);
}

static test_job *idle_job(test_run *r) {
    for (int i = 0; i < r->o->n_jobs; i++)
        if (r->jobs[i].pid == 0)
            return &r->jobs[i];
    return NULL;
}

static bool run_all_cases(test_run *r, hone_error *error) {
    bool ok = true;
    fflush(stdout); /* or a child would print it again */
    cli_progress progress;
    cli_progress_begin(&progress, "testing", "cases");
    for (size_t i = 0; ok && i < r->cases.n; i++) {
        while (!idle_job(r))
            wait_for_one(r);
        cli_progress_step(&progress, i, r->cases.n);
        ok = start_job(r, idle_job(r), i, error);
    }
    while (r->n_running > 0)
        wait_for_one(r);
    cli_progress_end(&progress);
    return ok;
}

/* ---- report ---------------------------------------------------------------------------------- */

typedef enum verdict { CASE_PASSED, CASE_FAILED, CASE_EXCUSED, CASE_STALE, N_VERDICTS } verdict;

static verdict verdict_of(const test_run *r, size_t i) {
    if (r->results[i].passed)
        return r->cases.at[i].excuse ? CASE_STALE : CASE_PASSED;
    return r->cases.at[i].excuse ? CASE_EXCUSED : CASE_FAILED;
}

static void print_case(cli_style style, const char *mark, const char *name, const char *what,
                       const char *why) {
    printf("%s%s%s ", cli_begin(stdout, style), mark, cli_end(stdout));
    cli_line("%s: %s%s", name, what, why);
}

static void print_test_lines(const test_run *r, const size_t counts[N_VERDICTS]) {
    for (size_t i = 0; i < r->cases.n; i++) {
        verdict v = verdict_of(r, i);
        if (v == CASE_FAILED)
            print_case(CLI_RED, "FAIL", r->cases.at[i].name, "", r->results[i].message);
        else if (v == CASE_STALE)
            print_case(CLI_YELLOW, "PASS", r->cases.at[i].name,
                       "the manifest lists it as a known failure: ", r->cases.at[i].excuse);
    }
    printf("%zu case%s: %zu passed, %zu failed", r->cases.n, r->cases.n == 1 ? "" : "s",
           counts[CASE_PASSED] + counts[CASE_STALE], counts[CASE_FAILED]);
    if (counts[CASE_EXCUSED])
        printf(", %zu known to fail", counts[CASE_EXCUSED]);
    if (counts[CASE_STALE])
        printf(", %zu to be removed from the manifest", counts[CASE_STALE]);
    putchar('\n');
}

static void print_test_json(const test_run *r) {
    static const char *const names[] = {"passed", "failed", "excused", "stale"};
    cli_buffer out = {0};
    cli_buffer_printf(&out, "[");
    for (size_t i = 0; i < r->cases.n; i++) {
        const test_case *c = &r->cases.at[i];
        cli_buffer_printf(&out, "%s\n  {\"name\": ", i ? "," : "");
        cli_json_string(&out, c->name, strlen(c->name));
        cli_buffer_printf(&out, ", \"model\": ");
        cli_json_string(&out, c->model, strlen(c->model));
        cli_buffer_printf(&out, ", \"verdict\": \"%s\", \"seconds\": %.6g", names[verdict_of(r, i)],
                          r->results[i].seconds);
        if (!r->results[i].passed) {
            cli_buffer_printf(&out, ", \"message\": ");
            cli_json_string(&out, r->results[i].message, strlen(r->results[i].message));
        }
        if (c->excuse) {
            cli_buffer_printf(&out, ", \"excuse\": ");
            cli_json_string(&out, c->excuse, strlen(c->excuse));
        }
        cli_buffer_printf(&out, "}");
    }
    cli_buffer_printf(&out, "\n]\n");
    fwrite(out.at, 1, out.n, stdout);
    cli_buffer_free(&out);
}

static int report_cases(const test_run *r) {
    size_t counts[N_VERDICTS] = {0};
    for (size_t i = 0; i < r->cases.n; i++)
        counts[verdict_of(r, i)]++;
    if (r->o->json)
        print_test_json(r);
    else
        print_test_lines(r, counts);
    return counts[CASE_FAILED] || counts[CASE_STALE] ? EXIT_FAILED : EXIT_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static bool prepare_cases(test_run *r, hone_error *error) {
    for (size_t i = 0; i < r->o->folders->n; i++)
        if (!test_cases_find(r->o->folders->at[i], &r->cases, error))
            return false;
    if (r->cases.n == 0)
        return cli_refuse(
            error, "no test cases found: a case is a folder with a model and test_data_set_0");
    if (r->o->manifest) {
        if (!cli_file_read(r->o->manifest, &r->manifest, error))
            return false;
        cli_buffer_add(&r->manifest, "", 1);
        if (r->manifest.failed)
            return cli_refuse(error, "out of memory");
        if (!test_manifest_apply((char *)r->manifest.at, r->o->manifest, &r->cases, error))
            return false;
    }
    r->results = calloc(r->cases.n, sizeof *r->results);
    r->jobs = calloc((size_t)r->o->n_jobs, sizeof *r->jobs);
    return r->results && r->jobs ? true : cli_refuse(error, "out of memory");
}

int test_sets_run(const test_options *o) {
    test_run r = {.o = o};
    hone_error error;
    int status = prepare_cases(&r, &error) && run_all_cases(&r, &error) ? report_cases(&r)
                                                                        : cli_fail_error(&error);
    free(r.jobs);
    free(r.results);
    test_cases_free(&r.cases);
    cli_buffer_free(&r.manifest);
    return status;
}
