/* The reader alone: many inputs a second, all bytes that reach no graph. */
#include "hone/hone.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    hone_load_options options;
    hone_error error;
    hone_model *model;
    hone_load_options_init(&options);
    options.borrow_buffer = true;
    options.skip_external_data = true;
    hone_status status = hone_model_load_buffer(data, n_bytes, &options, &model, &error);
    if ((status == HONE_OK) != (model != NULL) || error.code != status)
        abort();
    hone_model_free(model);
    return 0;
}
