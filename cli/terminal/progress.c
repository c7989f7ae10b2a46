/* A progress line for long operations. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum { REDRAW_MS = 200 };

static volatile int interrupted; /* the signal; an int, which is what runs look at */

static void on_interrupt(int signal_number) {
    interrupted = signal_number;
}

const volatile int *cli_watch_interrupts(void) {
    struct sigaction action = {.sa_handler = on_interrupt,
                               .sa_flags =
                                   (int)SA_RESETHAND}; /* a second Ctrl-C terminates the process */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}

bool cli_is_interrupted(void) {
    return interrupted != 0;
}

void cli_end_interrupted(void) {
    if (interrupted) {
        signal((int)interrupted, SIG_DFL);
        raise((int)interrupted);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static void draw_bytes(const cli_progress *p, double elapsed) {
    char amount[32], all[32], rate[32];
    fprintf(stderr, "  %s of %s  %s/s", cli_bytes(amount, p->done), cli_bytes(all, p->total),
            cli_bytes(rate, (uint64_t)((double)p->done / elapsed)));
}

static void draw(const cli_progress *p, double elapsed) {
    enum { WIDTH = 24 };
    char bar[WIDTH + 1];
    if (p->total == 0) {
        fprintf(stderr, "\r%s: %.0f s \033[K", p->what, elapsed);
        fflush(stderr);
        return;
    }
    double share = (double)p->done / (double)p->total;
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < (int)(share * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r%s [%s] %3.0f %%", p->what, bar, share * 100);
    if (p->unit)
        fprintf(stderr, "  %llu of %llu %s", (unsigned long long)p->done,
                (unsigned long long)p->total, p->unit);
    else
        draw_bytes(p, elapsed);
    if (share > 0)
        fprintf(stderr, "  %.0f s left", elapsed / share - elapsed);
    fputs(" \033[K", stderr);
    fflush(stderr);
}

/* ---- a thread that draws, because some operations report nothing for seconds ----------------- */

static pthread_mutex_t ticker_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ticker_ends = PTHREAD_COND_INITIALIZER;
static pthread_t ticker_thread;
static bool ticker_runs, ticker_has_drawn;

static void *tick(void *progress) {
    const cli_progress *p = progress;
    pthread_mutex_lock(&ticker_lock);
    while (ticker_runs) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += REDRAW_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        bool is_late = pthread_cond_timedwait(&ticker_ends, &ticker_lock, &until) == ETIMEDOUT;
        double elapsed = now() - p->start;
        if (ticker_runs && is_late && elapsed > 1) {
            draw(p, elapsed);
            ticker_has_drawn = true;
        }
    }
    pthread_mutex_unlock(&ticker_lock);
    return NULL;
}

void cli_progress_begin(cli_progress *p, const char *what, const char *unit) {
    *p = (cli_progress){.what = what, .unit = unit, .start = now()};
    if (ticker_runs || !cli_is_terminal(stderr))
        return;
    ticker_has_drawn = false;
    ticker_runs = p->is_drawn = true;
    if (pthread_create(&ticker_thread, NULL, tick, p) != 0)
        ticker_runs = p->is_drawn = false;
}

bool cli_progress_step(void *progress, uint64_t done, uint64_t total) {
    cli_progress *p = progress;
    pthread_mutex_lock(&ticker_lock);
    p->done = done;
    p->total = total;
    pthread_mutex_unlock(&ticker_lock);
    return interrupted != 0;
}

void cli_progress_clear(void) {
    pthread_mutex_lock(&ticker_lock);
    if (ticker_has_drawn)
        fputs("\r\033[K", stderr);
    ticker_has_drawn = false;
    pthread_mutex_unlock(&ticker_lock);
}

void cli_progress_end(cli_progress *p) {
    if (!p->is_drawn)
        return;
    pthread_mutex_lock(&ticker_lock);
    ticker_runs = p->is_drawn = false;
    pthread_cond_signal(&ticker_ends);
    pthread_mutex_unlock(&ticker_lock);
    pthread_join(ticker_thread, NULL);
    cli_progress_clear();
}
