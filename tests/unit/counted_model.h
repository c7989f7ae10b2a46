/* Models with counted memory and injected allocation failures. */
#ifndef TEST_COUNTED_MODEL_H
#define TEST_COUNTED_MODEL_H

#include "run_model.h"

#include "counting_allocator.h"

/* Loading is not counted: `fail_at` starts with the requests after it. */
static inline hone_model *counted_model(const char *text, counting_allocator *memory,
                                        size_t fail_at) {
    hone_load_options load;
    hone_model *model;
    counting_init(memory, 0);
    hone_load_options_init(&load);
    load.allocator = &memory->hook;
    expect_ok(load_text(text, &load, &model, &error));
    memory->n_requests = 0;
    memory->fail_at = fail_at;
    return model;
}

#endif /* TEST_COUNTED_MODEL_H */
