/* Deferred tensors: weights that are computed when somebody packs them, from others times a factor
 * per channel, or from those of half precision. Nobody else looks at hn_tensor.deferred. */
#include "ir/ir.h"

#define RUN_ELEMS                                                                \
  1024u /* elements copied at a time, because those in the file may be unaligned \
         */
#define BLOCK_ELEMS 16u

typedef struct scaled_run {
    const hn_tensor *from;
    uint64_t at; /* first element */
    float *to;
    uint64_t n;
} scaled_run;

/* Without branches, so that compilers vectorize the loops over it; sums and products of subnormal
 * floats are avoided, because they may be flushed to zero. */
static inline float half_as_float(uint32_t h) {
    uint32_t magnitude = h & 0x7FFFu;
    float small = (float)(int32_t)magnitude * 0x1p-24f, out;
    uint32_t bits, small_bits;
    memcpy(&small_bits, &small, sizeof bits);
    bits = (magnitude << 13) + (magnitude < 0x7C00u ? 0x38000000u : 0x70000000u);
    bits |= magnitude > 0x7C00u ? 0x00400000u : 0;
    bits = (magnitude < 0x0400u ? small_bits : bits) | (h & 0x8000u) << 16;
    memcpy(&out, &bits, sizeof out);
    return out;
}

static void load_halves(const uint16_t *from, uint64_t n, float *to) {
    for (uint64_t i = 0; i < n; i += BLOCK_ELEMS)
        for (uint64_t k = 0; k < BLOCK_ELEMS; k++)
            to[i + k] = half_as_float(from[i + k]);
}

static void load_bfloats(const uint16_t *from, uint64_t n, float *to) {
    for (uint64_t i = 0; i < n; i++)
        to[i] = hn_bf16_to_f32(from[i]);
}

/* At most RUN_ELEMS elements, which may be unaligned where they lie. */
static void load_run(const hn_tensor *t, uint64_t at, uint64_t n, float *to) {
    uint16_t halves[RUN_ELEMS];
    size_t bytes = t->dtype == HN_F32 ? sizeof *to : sizeof *halves;
    const uint8_t *from = (const uint8_t *)t->data + at * bytes;
    memcpy(t->dtype == HN_F32 ? (void *)to : halves, from, (size_t)n * bytes);
    if (t->dtype == HN_F16)
        load_halves(halves, (n + BLOCK_ELEMS - 1) / BLOCK_ELEMS * BLOCK_ELEMS, to);
    else if (t->dtype == HN_BF16)
        load_bfloats(halves, n, to);
}

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
        load_run(r->from, r->at + at, n, aligned);
        scale_floats(r->to + at, aligned, n, scale);
    }
}

/* One factor after the other, as in a matrix whose columns are the channels. */
static void scale_columns(const scaled_run *r, const double *scale) {
    float aligned[RUN_ELEMS];
    for (uint64_t at = 0; at < r->n; at += RUN_ELEMS) {
        uint64_t n = HN_MIN(r->n - at, RUN_ELEMS);
        load_run(r->from, r->at + at, n, aligned);
        for (uint64_t i = 0; i < n; i++)
            r->to[at + i] = (float)((double)aligned[i] * scale[at + i]);
    }
}

static void scale_tensor(const hn_scaling *s, float *out) {
    const hn_channel_layout *l = &s->layout;
    for (uint64_t outer = 0; outer < l->n_outer; outer++) {
        const double *scale = s->scale + outer / l->outer_per_group * l->n_mid;
        uint64_t at = outer * l->n_mid * l->n_inner;
        if (l->n_inner == 1) {
            scale_columns(&(scaled_run){s->of, at, out + at, l->n_mid}, scale);
            continue;
        }
        for (uint64_t mid = 0; mid < l->n_mid; mid++, at += l->n_inner)
            scale_channel(&(scaled_run){s->of, at, out + at, l->n_inner}, scale[mid]);
    }
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool has_same_channels(const hn_scaling *s, const hn_channel_layout *layout, uint64_t n) {
    return s->n_channels == n && memcmp(&s->layout, layout, sizeof *layout) == 0;
}

hn_tensor *hn_tensor_scaled(hn_arena *a, const hn_tensor *of, const hn_channel_layout *layout,
                            uint64_t n_channels, const double *scale) {
    const hn_scaling *before = hn_tensor_is_widened(of) ? NULL : of->deferred;
    if (before && !has_same_channels(before, layout, n_channels))
        return NULL;
    hn_tensor *t = HN_NEW(a, hn_tensor);
    hn_scaling *s = HN_NEW(a, hn_scaling);
    double *kept = hn_arena_copy(a, scale, (size_t)n_channels * sizeof *scale);
    if (!t || !s || !kept)
        return NULL;
    for (uint64_t i = 0; before && i < n_channels; i++)
        kept[i] = before->scale[i] * scale[i];
    *s = (hn_scaling){
        .of = hn_tensor_stored(of), .layout = *layout, .n_channels = n_channels, .scale = kept};
    *t = (hn_tensor){.dtype = HN_F32,
                     .rank = of->rank,
                     .dims = of->dims,
                     .n_elems = of->n_elems,
                     .data_bytes = of->n_elems * sizeof(float),
                     .deferred = s};
    return t;
}

hn_tensor *hn_tensor_widened(hn_arena *a, const hn_tensor *of) {
    return hn_tensor_scaled(a, of, &(hn_channel_layout){1, 1, of->n_elems, 1}, 1, (double[]){1.0});
}

/* ---- asking ---------------------------------------------------------------------------------- */

bool hn_tensor_is_deferred(const hn_tensor *t) {
    return t->deferred != NULL;
}

bool hn_tensor_is_widened(const hn_tensor *t) {
    const hn_scaling *s = t->deferred;
    return s && s->of->dtype != HN_F32 && s->n_channels == 1 && s->scale[0] == 1.0;
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
    hn_tensor *made = hn_tensor_blank(a, HN_F32, t->rank, t->dims, &data);
    if (made)
        hn_tensor_compute(t, data);
    return made;
}
