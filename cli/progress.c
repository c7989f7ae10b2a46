/* A progress bar for long operations. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <signal.h>
#include <time.h>

static volatile int interrupted; /* the signal; an int, which is what runs look at */

static void on_interrupt(int signal_number) {
    interrupted = signal_number;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

const volatile int *cli_watch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags =
                                   (int)SA_RESETHAND}; /* a second Ctrl-C terminates the process */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

void cli_end_interrupted(void) {
    if (interrupted) {
        signal((int)interrupted, SIG_DFL);
        raise((int)interrupted);
    }
}

void cli_progress_begin(cli_progress *p, const char *what) {
    *p = (cli_progress){.what = what, .start = now()};
    cli_watch_interrupts();
}

static void draw(cli_progress *p, double t, uint64_t done, uint64_t total) {
    enum { WIDTH = 24 };
    char bar[WIDTH + 1], amount[32], all[32], rate[32];
    double share = total ? (double)done / (double)total : 1.0, elapsed = t - p->start;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    double left = share > 0 ? elapsed / share - elapsed : 0;
    fprintf(stderr, "\r%s [%s] %3.0f %%  %s of %s  %s/s  %.0f s left \033[K", p->what, bar,
            share * 100, cli_bytes(amount, done), cli_bytes(all, total),
            cli_bytes(rate, (uint64_t)((double)done / elapsed)), left);
    fflush(stderr);
}

bool cli_progress_step(void *progress, uint64_t done, uint64_t total) {
    cli_progress *p = progress;
    double t = now();
    if (t - p->start > 1.0 && t - p->last > 0.1 && cli_is_terminal(stderr)) {
        draw(p, t, done, total);
        p->last = t;
        p->shown = true;
    }
    return interrupted != 0;
}

void cli_progress_end(cli_progress *p) {
    if (p->shown)
        fputs("\r\033[K", stderr);
}
