/* Layer 5: quantization of models. Sees pass and run as prove does; api/ hands in samples. */
#ifndef HN_QUANT_H
#define HN_QUANT_H

#include "ops/eval.h"
#include "quant/scheme.h"

/* Samples with the values that runs take: hone_dataset without the handles. */
typedef struct hn_quant_sample {
    const char *name;
    uint32_t n; /* 0: there are no more */
    const char *const *inputs;
    const hn_object *const *values;
    uint64_t batch; /* how many samples it is; 0 counts as 1 */
} hn_quant_sample;
typedef struct hn_quant_source {
    void *ctx;
    uint64_t n_samples; /* 0: unknown */
    hone_status (*read)(void *ctx, uint64_t i, hn_quant_sample *sample, hone_error *err);
} hn_quant_source;

/* ---- what was done ----------------------------------------------------------------------------- */

typedef struct hn_quant_tensor_info { /* an activation */
    const char *name, *method;
    double low, high; /* range */
    double min, max;  /* observed; equal when nothing was */
    hn_dtype dtype;
    hn_quant_params params;
    double sqnr; /* NAN: not measured */
} hn_quant_tensor_info;

typedef struct hn_quant_report {
    hn_arena *arena;
    HN_VEC(hone_quantized_node) nodes;
    HN_VEC(const char *) notes;
    HN_VEC(hn_quant_tensor_info) tensors;
    uint64_t n_samples, float_bytes, quantized_bytes;
} hn_quant_report;
hn_quant_report *hn_quant_report_new(const hone_allocator *a);
void hn_quant_report_free(hn_quant_report *r); /* NULL is fine */
bool hn_quant_report_note(hn_quant_report *r, const char *fmt, ...) HN_PRINTF(2, 3);
/* A note: layers that were rounded with feedback, and the sum of the logarithms of the gains. */
hone_status hn_quant_tell_of_feedback(hn_quant_report *report, uint32_t n_layers, double log_gain);
void hn_quant_report_json(const hn_quant_report *r, const char *label, hn_json *j);

/* A quantized copy of the model, which must outlive it. */
hone_status hn_quantize(const hn_model *m, const hone_quantize_options *o,
                        const hn_quant_source *source, hn_quant_report *report, hn_model **out,
                        hone_error *err);

#endif /* HN_QUANT_H */
