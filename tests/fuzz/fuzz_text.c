/* The same as fuzz_model for models in ONNX's textual syntax. */
#include "fuzz/judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    exercise_report report;
    exercise_text((const char *)data, n_bytes, &report);
    judge(&report);
    return 0;
}
