/* Terminal functions: colours, width, numbers, messages. */
#define _DEFAULT_SOURCE
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool cli_is_terminal(FILE *f) {
    return isatty(fileno(f)) == 1;
}

int cli_width(void) {
    const char *columns = getenv("COLUMNS");
    int n = columns ? atoi(columns) : 0;
    struct winsize size;
    if (n <= 0 && cli_is_terminal(stdout) && ioctl(fileno(stdout), TIOCGWINSZ, &size) == 0)
        n = size.ws_col;
    if (n <= 0)
        return cli_is_terminal(stdout) ? 80 : 1 << 20; /* a pipe accepts lines of any length */
    return n < 40 ? 40 : n;
}

static bool wants_colour(FILE *f) {
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return cli_is_terminal(f) && !(no_color && *no_color) && !(term && strcmp(term, "dumb") == 0);
}

const char *cli_begin(FILE *f, cli_style style) {
    static const char *const codes[] = {"",         "\033[1m",  "\033[2m", "\033[1;31m",
                                        "\033[33m", "\033[32m", "\033[36m"};
    return wants_colour(f) ? codes[style] : "";
}

const char *cli_end(FILE *f) {
    return wants_colour(f) ? "\033[0m" : "";
}

int cli_fail(const char *fmt, ...) {
    fflush(stdout);
    fprintf(stderr, "%shone:%s ", cli_begin(stderr, CLI_RED), cli_end(stderr));
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

int cli_fail_error(const hone_error *error) {
    return cli_fail("%s", error->message);
}

bool cli_write_stdout(void *ctx, const char *text, size_t n_bytes) {
    (void)ctx;
    return fwrite(text, 1, n_bytes, stdout) == n_bytes;
}

void cli_heading(const char *text) {
    printf("\n%s%s%s\n", cli_begin(stdout, CLI_BOLD), text, cli_end(stdout));
}

const char *cli_count(char out[32], uint64_t n) {
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n), k = 0;
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            out[k++] = ',';
        out[k++] = digits[i];
    }
    out[k] = '\0';
    return out;
}

/* Three significant digits and a unit of the series. */
static const char *scaled(char out[32], uint64_t n, const char *const *units, size_t n_units) {
    double v = (double)n;
    size_t u = 0;
    while (v >= 999.5 && u + 1 < n_units) {
        v /= 1000;
        u++;
    }
    int decimals = u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
    snprintf(out, 32, "%.*f%s", decimals, v, units[u]);
    return out;
}

const char *cli_amount(char out[32], uint64_t n) {
    static const char *const units[] = {"", " k", " M", " G", " T", " P", " E"};
    return scaled(out, n, units, sizeof units / sizeof *units);
}

const char *cli_bytes(char out[32], uint64_t n) {
    static const char *const units[] = {" B", " kB", " MB", " GB", " TB", " PB", " EB"};
    return scaled(out, n, units, sizeof units / sizeof *units);
}
