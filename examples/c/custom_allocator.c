/* Measures the memory that a model takes: custom_allocator MODEL
 * Every byte comes through the caller's allocator; tensor data stay in the mapped file. */
#include <stdio.h>
#include <stdlib.h>

#include <hone/hone.h>

typedef struct meter {
    size_t held_bytes, peak_bytes;
} meter;

/* One function allocates, grows and frees. The library tells the old size, so no header is needed.
 * One model and one thread: otherwise the counts would have to be atomic. */
static void *metered_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes) {
    meter *m = ctx;
    void *moved = NULL;
    if (new_bytes == 0) {
        free(ptr);
    } else {
        moved = realloc(ptr, new_bytes);
        if (!moved)
            return NULL; /* the old block still stands */
    }
    m->held_bytes = m->held_bytes - old_bytes + new_bytes;
    if (m->held_bytes > m->peak_bytes)
        m->peak_bytes = m->held_bytes;
    return moved;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: custom_allocator MODEL\n");
        return 2;
    }
    meter m = {0, 0};
    hone_allocator allocator = {.resize = metered_resize, .ctx = &m};
    hone_load_options options;
    hone_load_options_init(&options);
    options.allocator = &allocator;

    hone_model *model;
    hone_error error;
    hone_status status = hone_model_load(argv[1], &options, &model, &error);
    printf("loaded: %zu bytes\n", m.held_bytes);
    if (status == HONE_OK)
        status = hone_model_infer(model, &error);
    printf("inferred: %zu bytes\n", m.held_bytes);
    if (status != HONE_OK)
        fprintf(stderr, "%s\n", error.message);
    hone_model_free(model);
    printf("peak: %zu bytes\nfreed: %zu bytes left\n", m.peak_bytes, m.held_bytes);
    return status == HONE_OK && m.held_bytes == 0 ? 0 : 1;
}
