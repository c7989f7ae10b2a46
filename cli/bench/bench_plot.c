/* A histogram and a time series of latencies in the terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

enum { N_BINS = 16, LEAST_PLOTTED = 20, SERIES_HEIGHT = 8, MOST_POINTS = 72 };

const char *bench_time_text(char out[32], double seconds) {
    if (seconds < 1e-3)
        snprintf(out, 32, "%.2f us", 1e6 * seconds);
    else if (seconds < 1)
        snprintf(out, 32, "%.3f ms", 1e3 * seconds);
    else
        snprintf(out, 32, "%.3f s", seconds);
    return out;
}

/* Eighths of a character, so that small differences show. */
static void print_bar(double length) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int whole = (int)length;
    for (int i = 0; i < whole; i++)
        fputs("█", stdout);
    printf("%s\n", eighths[(int)(8 * (length - whole))]);
}

/* From the shortest to P99; what is above is one bin, or a few outliers would hide the rest. */
static void print_histogram(const bench_case *c) {
    const bench_series *s = &c->series;
    size_t counts[N_BINS + 1] = {0}, most = 1;
    double low = c->stats.min, high = c->stats.p99;
    double width = high > low ? (high - low) / N_BINS : 1;
    char from[32];
    for (size_t i = 0; i < s->n; i++) {
        double bin = (s->seconds[i] - low) / width;
        counts[bin < N_BINS ? (size_t)bin : N_BINS]++;
    }
    for (size_t i = 0; i <= N_BINS; i++)
        most = counts[i] > most ? counts[i] : most;
    cli_heading("Histogram of latencies");
    for (size_t i = 0; i <= N_BINS; i++) {
        printf("  %s%10s %7zu%s", i == N_BINS ? ">" : " ",
               bench_time_text(from, low + (double)i * width), counts[i], counts[i] ? " " : "");
        print_bar(50 * (double)counts[i] / (double)most);
    }
}

/* Each column is the median of the runs that fall into it. */
static void print_series(const bench_case *c) {
    const bench_series *s = &c->series;
    size_t n = s->n < MOST_POINTS ? s->n : MOST_POINTS;
    double points[MOST_POINTS], low = (double)INFINITY, high = 0;
    char text[32];
    for (size_t i = 0; i < n; i++) {
        size_t begin = i * s->n / n, end = (i + 1) * s->n / n;
        points[i] = bench_median(s->seconds + begin, end - begin);
        low = fmin(low, points[i]);
        high = fmax(high, points[i]);
    }
    double step = high > low ? (high - low) / (SERIES_HEIGHT - 1) : 1;
    cli_heading("Latency over time");
    for (int row = SERIES_HEIGHT - 1; row >= 0; row--) {
        printf("  %10s ",
               row == SERIES_HEIGHT - 1 || row == 0 ? bench_time_text(text, low + row * step) : "");
        fputs("│", stdout);
        for (size_t i = 0; i < n; i++)
            fputs((int)((points[i] - low) / step + 0.5) == row ? "•" : " ", stdout);
        putchar('\n');
    }
    printf("  %10s └", "");
    for (size_t i = 0; i < n; i++)
        fputs("─", stdout);
    printf("\n  %10s  first run%*s\n", "", (int)(n > 20 ? n - 9 : 11), "last run");
}

void bench_print_plots(const bench_case *c) {
    if (c->series.n < LEAST_PLOTTED)
        return;
    printf("\n%s%s%s\n", cli_begin(stdout, CLI_BOLD), c->label, cli_end(stdout));
    print_histogram(c);
    print_series(c);
}
