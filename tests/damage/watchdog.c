#define _GNU_SOURCE
#include "damage/watchdog.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

void watch_begin(watch_progress *p, uint64_t number, unsigned seconds) {
    struct itimerval timer = {.it_value.tv_sec = seconds};
    p->number = number;
    setitimer(ITIMER_PROF, &timer, NULL);
}

static _Noreturn void cannot_watch(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(2);
}

int watch_child(const char *what, uint64_t seed, watch_work work, void *ctx, uint64_t *number) {
    int status = 0;
    watch_progress *p =
        mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        cannot_watch("no memory for progress");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        exit(work(ctx, p));
    if (child < 0 || waitpid(child, &status, 0) != child)
        cannot_watch("cannot start a process");
    *number = p->number;
    bool is_done = p->is_done;
    munmap(p, sizeof *p);
    if (is_done && WIFEXITED(status))
        return WEXITSTATUS(status);
    printf("%s %llu (seed %llu) %s\n", what, (unsigned long long)*number, (unsigned long long)seed,
           WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF ? "never ends" : "crashes");
    return is_done ? 1 : -1;
}
