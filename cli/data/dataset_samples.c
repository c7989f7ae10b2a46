#include "data/dataset_samples.h"

#include <stdlib.h>

static bool open_dataset_of(const hone_model *m, const cli_dataset_options *data, cli_samples *s) {
    hone_error error;
    s->batch_size = 1;
    if (!data->source || (cli_dataset_open(m, data, &s->dataset, &error) &&
                          cli_dataset_batch_size(s->dataset, &s->batch_size, &error)))
        return true;
    cli_fail_error(&error);
    return false;
}

bool cli_samples_open(const hone_model *m, const cli_dataset_options *data,
                      const cli_input_options *input, cli_samples *s) {
    cli_dataset_options with_image = *data;
    cli_input_options others = *input;
    uint32_t n = 0;
    *s = (cli_samples){0};
    with_image.image = input->image;
    if (!open_dataset_of(m, &with_image, s))
        return false;
    if (s->dataset) {
        const char *const *names = cli_dataset_inputs(s->dataset, &n);
        others.provided = (cli_list){(const char **)(uintptr_t)names, n};
    }
    if (!cli_feed_make(m, &others, &s->feed))
        return false;
    s->names = calloc((size_t)s->feed.n + n + 1, sizeof *s->names);
    s->values = calloc((size_t)s->feed.n + n + 1, sizeof *s->values);
    for (uint32_t i = 0; s->names && s->values && i < s->feed.n; i++) {
        s->names[i] = s->feed.names[i];
        s->values[i] = s->feed.values[i];
    }
    if (s->names && s->values)
        return true;
    cli_fail("out of memory");
    return false;
}

/* Sample number i is a batch; after the last one, n_inputs stays 0. */
static hone_status read_samples(void *ctx, uint64_t i, hone_sample *sample, hone_error *error) {
    cli_samples *s = ctx;
    *sample = (hone_sample){.label = -1};
    cli_dataset_batch_free(&s->batch);
    if (s->dataset && !cli_dataset_batch_read(s->dataset, i * s->batch_size, &s->batch, error))
        return error->code;
    if (s->dataset ? s->batch.n == 0 : i > 0)
        return HONE_OK;
    for (uint32_t k = 0; k < s->batch.n_inputs; k++) {
        s->names[s->feed.n + k] = s->batch.inputs[k];
        s->values[s->feed.n + k] = s->batch.values[k];
    }
    *sample = (hone_sample){.name = s->dataset ? s->batch.names[0] : "the inputs given",
                            .label = s->batch.n == 1 ? s->batch.labels[0] : -1,
                            .n_inputs = s->feed.n + s->batch.n_inputs,
                            .inputs = s->names,
                            .values = s->values,
                            .batch = s->batch.n};
    return HONE_OK;
}

hone_dataset cli_samples_source(cli_samples *s) {
    uint64_t n = s->dataset ? cli_dataset_size(s->dataset) : 1;
    return (hone_dataset){
        .ctx = s, .n_samples = (n + s->batch_size - 1) / s->batch_size, .read = read_samples};
}

void cli_samples_close(cli_samples *s) {
    cli_dataset_batch_free(&s->batch);
    cli_dataset_close(s->dataset);
    cli_feed_free(&s->feed);
    free(s->names);
    free(s->values);
}
