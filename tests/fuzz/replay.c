/* What the fuzzers once found must stay found out: every file goes through all that the library
 * does.
 *
 * usage: replay FILE...        (*.onnxtxt is text, everything else binary) */
#include "base/base.h"
#include "damage/exercise.h"

#include <stdio.h>

/* The bytes end where a block ends, so that a sanitizer sees any step beyond. */
static bool replay(const char *path) {
    hn_filemap map;
    hone_error error;
    exercise_report report;
    hn_error_clear(&error);
    if (hn_filemap_open(path, &map, &error) != HONE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return false;
    }
    size_t n = (size_t)map.bytes.n;
    void *copy = hn_alloc(NULL, n);
    if (copy && n)
        memcpy(copy, map.bytes.at, n);
    hn_filemap_close(&map);
    if (!copy)
        return false;
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".onnxtxt") == 0)
        exercise_text(copy, n, &report);
    else
        exercise_model(copy, n, &report);
    hn_free(NULL, copy, n);
    if (report.complaint[0])
        printf("%s: %s\n", path, report.complaint);
    return !report.complaint[0];
}

int main(int argc, char **argv) {
    int n_bad = 0;
    for (int i = 1; i < argc; i++)
        n_bad += !replay(argv[i]);
    printf("%d files, %d complaints\n", argc - 1, n_bad);
    return n_bad ? 1 : 0;
}
