/* Deferred tensors: weights that are computed when somebody packs them, from others times a factor
 * per channel. Nobody else looks at hn_tensor.deferred. */
#include "ir/ir.h"

#define RUN_ELEMS                                                                \
  1024u /* elements copied at a time, because those in the file may be unaligned \
         */
#define BLOCK_ELEMS 16u

typedef struct scaled_run {
    const uint8_t *from;
    float *to;
    uint64_t n;
} scaled_run;

/* The fixed size lets compilers vectorize the loop. */
static void scale_floats(float *to, const float *from, uint64_t n, double scale) {
    uint64_t i = 0;
    for (; i + BLOCK_ELEMS <= n; i += BLOCK_ELEMS)
        for (uint64_t k = 0; k < BLOCK_ELEMS; k++)
            to[i + k] = (float)((double)from[i + k] * scale);
    for (; i < n; i++)
        to[i] = (float)((double)from[i] * scale);
}

static void scale_channel(const scaled_run *r, double scale) {
    float aligned[RUN_ELEMS];
    for (uint64_t at = 0; at < r->n; at += RUN_ELEMS) {
        uint64_t n = HN_MIN(r->n - at, RUN_ELEMS);
        memcpy(aligned, r->from + at * sizeof *aligned, (size_t)n * sizeof *aligned);
        scale_floats(r->to + at, aligned, n, scale);
    }
}

/* One factor after the other, as in a matrix whose columns are the channels. */
static void scale_columns(const scaled_run *r, const double *scale) {
    float aligned[RUN_ELEMS];
    for (uint64_t at = 0; at < r->n; at += RUN_ELEMS) {
        uint64_t n = HN_MIN(r->n - at, RUN_ELEMS);
        memcpy(aligned, r->from + at * sizeof *aligned, (size_t)n * sizeof *aligned);
        for (uint64_t i = 0; i < n; i++)
            r->to[at + i] = (float)((double)aligned[i] * scale[at + i]);
    }
}

static void scale_tensor(const hn_scaling *s, float *out) {
    const hn_channel_layout *l = &s->layout;
    const uint8_t *from = s->of->data;
    for (uint64_t outer = 0; outer < l->n_outer; outer++) {
        const double *scale = s->scale + outer / l->outer_per_group * l->n_mid;
        uint64_t at = outer * l->n_mid * l->n_inner;
        if (l->n_inner == 1) {
            scale_columns(&(scaled_run){from + at * sizeof *out, out + at, l->n_mid}, scale);
            continue;
        }
        for (uint64_t mid = 0; mid < l->n_mid; mid++, at += l->n_inner)
            scale_channel(&(scaled_run){from + at * sizeof *out, out + at, l->n_inner}, scale[mid]);
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool has_same_channels(const hn_scaling *s, const hn_channel_layout *layout, uint64_t n) {
    return s->n_channels == n && memcmp(&s->layout, layout, sizeof *layout) == 0;
}

hn_tensor *hn_tensor_scaled(hn_arena *a, const hn_tensor *of, const hn_channel_layout *layout,
                            uint64_t n_channels, const double *scale) {
    const hn_scaling *before = of->deferred;
    if (before && !has_same_channels(before, layout, n_channels))
        return NULL;
    hn_tensor *t = HN_NEW(a, hn_tensor);
    hn_scaling *s = HN_NEW(a, hn_scaling);
    double *kept = hn_arena_copy(a, scale, (size_t)n_channels * sizeof *scale);
    if (!t || !s || !kept)
        return NULL;
    for (uint64_t i = 0; before && i < n_channels; i++)
        kept[i] = before->scale[i] * scale[i];
    *s = (hn_scaling){.of = hn_tensor_stored(of),
                      .layout = *layout,
                      .n_channels = n_channels,
                      .scale = kept};
    *t = (hn_tensor){.dtype = of->dtype,
                     .rank = of->rank,
                     .dims = of->dims,
                     .n_elems = of->n_elems,
                     .data_bytes = of->data_bytes,
                     .deferred = s};
    return t;
}

/* ---- asking ---------------------------------------------------------------------------------- */

bool hn_tensor_is_deferred(const hn_tensor *t) {
    return t->deferred != NULL;
}

const hn_scaling *hn_tensor_scaling(const hn_tensor *t) {
    return t->deferred;
}

const hn_tensor *hn_tensor_stored(const hn_tensor *t) {
    return t->deferred ? t->deferred->of : t;
}

void hn_tensor_compute(const hn_tensor *t, float *out) {
    scale_tensor(t->deferred, out);
}

const hn_tensor *hn_tensor_dense(hn_arena *a, const hn_tensor *t) {
    void *data;
    if (!t->deferred)
        return t;
    hn_tensor *made = hn_tensor_blank(a, t->dtype, t->rank, t->dims, &data);
    if (made)
        hn_tensor_compute(t, data);
    return made;
}
