/* What the fuzzers share: a complaint about the library is a crash to libFuzzer. */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "damage/exercise.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static inline void judge(const exercise_report *report) {
    if (!report->complaint[0])
        return;
    fprintf(stderr, "the library misbehaved: %s\n", report->complaint);
    abort();
}

#endif
