/* Every level of optimization must do the same with a model: give the same results, or refuse. */
#ifndef TEST_LEVELS_H
#define TEST_LEVELS_H

#include <stddef.h>

typedef struct levels_report {
    unsigned n_compared; /* runs of two levels */
    char complaint[256]; /* "" when all levels did the same */
} levels_report;

void levels_compare(const void *data, size_t n_bytes, levels_report *report);

#endif
