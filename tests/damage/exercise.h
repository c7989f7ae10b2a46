/* All that the library does with a model that nobody has checked: load, check, infer, describe,
 * print, save, run, optimize, edit, load again. The damage test, the fuzzers and the files of
 * tests/data/regress go through it. */
#ifndef TEST_EXERCISE_H
#define TEST_EXERCISE_H

#include "hone/hone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the library may take for a hostile file. */
#define EXERCISE_BASE_BYTES ((size_t)96 << 20) /* functions may multiply; two copies are run */
#define EXERCISE_BYTES_PER_FILE_BYTE 64u
#if defined(__SANITIZE_ADDRESS__) || \
    defined(__clang__) /* instrumented code is several times slower */
#  define EXERCISE_CPU_SECONDS 3.0
#  define EXERCISE_RUN_SECONDS 12.0
#else
#  define EXERCISE_CPU_SECONDS 1.0
#  define EXERCISE_RUN_SECONDS 4.0 /* three sessions with two runs each */
#endif

typedef struct exercise_report {
    bool is_loaded; /* the file was accepted */
    uint32_t n_sessions, n_runs_completed;
    size_t peak_bytes;  /* most memory held at once */
    double cpu_seconds; /* of this process, so that a busy machine does not count; without runs */
    double run_seconds;
    char complaint[256]; /* what the library did wrong; "" when it behaved */
} exercise_report;

/* Binary ONNX. */
void exercise_model(const void *data, size_t n_bytes, exercise_report *report);
/* ONNX text. */
void exercise_text(const char *text, size_t n_bytes, exercise_report *report);

#endif
