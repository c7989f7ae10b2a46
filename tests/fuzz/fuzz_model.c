/* Whatever loads is checked, inferred, described, printed, saved and edited. */
#include "fuzz/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    exercise_report report;
    exercise_model(data, n_bytes, &report);
    judge(&report);
    return 0;
}
