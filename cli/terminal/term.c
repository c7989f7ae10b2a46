/* Terminal functions: colours, width, numbers, messages. */
#ifndef _DEFAULT_SOURCE
#  define _DEFAULT_SOURCE
#endif
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

/* Bytes of a printable character at `s`: 0 for a control character or a byte that is not UTF-8. */
static size_t printable_bytes(const unsigned char *s) {
    if (s[0] < 0x80)
        return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = s[0] >= 0xf0 && s[0] < 0xf8   ? 4
               : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
               : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : n; /* U+0080 to U+009F are controls, too */
}

/* What stands for the character at `s`, which is moved past: itself, or "\\x1b". */
static size_t plain_character(const unsigned char **s, char out[8]) {
    size_t n = printable_bytes(*s);
    size_t n_out = n ? n : (size_t)snprintf(out, 8, **s == '\n' ? "\\n" : "\\x%02x", **s);
    if (n)
        memcpy(out, *s, n);
    *s += n ? n : 1;
    return n_out;
}

void cli_put(FILE *out, const char *text) {
    char c[8];
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = plain_character(&s, c);
        fwrite(c, 1, n, out);
    }
}

char *cli_plain(const char *text) {
    char *out = malloc(4 * strlen(text) + 1), c[8], *end = out;
    for (const unsigned char *s = (const unsigned char *)text; out && *s;) {
        size_t n = plain_character(&s, c);
        memcpy(end, c, n);
        end += n;
    }
    if (out)
        *end = '\0';
    return out;
}

void cli_line(const char *fmt, ...) {
    char text[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cli_put(stdout, text);
    putchar('\n');
}

int cli_fail(const char *fmt, ...) {
    char message[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    fflush(stdout);
    cli_progress_clear();
    fprintf(stderr, "%shone:%s ", cli_begin(stderr, CLI_RED), cli_end(stderr));
    cli_put(stderr, message);
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
    printf("\n%s", cli_begin(stdout, CLI_BOLD));
    cli_put(stdout, text);
    printf("%s\n", cli_end(stdout));
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
