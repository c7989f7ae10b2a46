/* Normalizations of com.microsoft, computed: with skip connections, of embeddings, of groups of
 * channels. */
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

static float silu(float x) {
    return x / (1 + expf(-x));
}

/* ---- with a skip connection ------------------------------------------------------------------ */

typedef struct skip_norm {
    const hn_array *x, *skip;
    const float *bias;                  /* may be NULL */
    hn_array *y, *mean, *inverse, *sum; /* each may be NULL */
    hn_norm_row_f32 norm;
    uint64_t width;
} skip_norm;

static void skip_norm_row(const skip_norm *s, uint64_t row, float *v, float *skip) {
    float mean, inverse;
    uint64_t at = row * s->width;
    hn_load_f32(s->x, at, s->width, v);
    hn_load_f32(s->skip, at % s->skip->n_elems, s->width, skip);
    for (uint64_t i = 0; i < s->width; i++)
        v[i] += skip[i] + (s->bias ? s->bias[i] : 0);
    if (s->sum)
        hn_store_f32(s->sum, at, s->width, v);
    hn_normalize_row(&s->norm, s->width, v, v, &mean, &inverse);
    if (s->y)
        hn_store_f32(s->y, at, s->width, v);
    if (s->mean)
        hn_store_f32(s->mean, row, 1, &mean);
    if (s->inverse)
        hn_store_f32(s->inverse, row, 1, &inverse);
}

/* The skip input may lack the batch: it is repeated then. */
static hone_status check_skip_norm(hn_eval *c, const skip_norm *s, uint32_t n_vectors) {
    if (s->skip->n_elems == 0 || s->skip->n_elems % s->width != 0 ||
        s->x->n_elems % s->skip->n_elems != 0)
        return hn_eval_fail(
            c, HONE_E_SHAPE, "skip has %llu elements, which do not fit the input's %llu",
            (unsigned long long)s->skip->n_elems, (unsigned long long)s->x->n_elems);
    for (uint32_t i = 2; i < 2 + n_vectors; i++)
        HN_TRY(hn_want_elems(c, i, s->width));
    return HONE_OK;
}

static hone_status run_skip_norm(hn_eval *c, bool simplified) {
    const hn_array *x = hn_arg(c, 0);
    skip_norm s = {.x = x, .skip = hn_arg(c, 1), .width = (uint64_t)x->dims[x->rank - 1]};
    if (x->n_elems == 0)
        return HONE_OK;
    HN_TRY(check_skip_norm(c, &s, simplified ? 2 : 3));
    s.norm = (hn_norm_row_f32){.epsilon = hn_attr_f(hn_eval_node(c), "epsilon", 1e-12f),
                               .simplified = simplified};
    HN_TRY_PTR(hn_arg_f32s(c, 2, &s.norm.gamma) && hn_arg_f32s(c, simplified ? 3 : 4, &s.bias) &&
               (simplified || hn_arg_f32s(c, 3, &s.norm.beta)));
    s.y = hn_ret(c, 0);
    s.mean = hn_ret(c, 1);
    s.inverse = hn_ret(c, 2);
    s.sum = hn_ret(c, 3);
    uint64_t n_rows = x->n_elems / s.width;
    float *v = hn_eval_scratch_n(c, s.width, sizeof *v),
          *skip = hn_eval_scratch_n(c, s.width, sizeof *skip);
    HN_TRY_PTR(v && skip);
    for (uint64_t row = 0; row < n_rows && !hn_spent(64); row++)
        skip_norm_row(&s, row, v, skip);
    return HONE_OK;
}

static hone_status eval_skip_layer_norm(hn_eval *c) {
    return run_skip_norm(c, false);
}
const hn_impl hn_impl_skip_layer_norm[1] = {{.eval = eval_skip_layer_norm}};

static hone_status eval_skip_simplified_layer_norm(hn_eval *c) {
    return run_skip_norm(c, true);
}
const hn_impl hn_impl_skip_simplified_layer_norm[1] = {{.eval = eval_skip_simplified_layer_norm}};

/* ---- of embeddings --------------------------------------------------------------------------- */

/* A table of embeddings, and where its scale and zero point stand when it is quantized. */
typedef struct embedding_table {
    uint32_t arg, scale, zero;
} embedding_table;

typedef struct embed_form {
    embedding_table word, position, segment, gamma, beta;
    uint32_t mask, position_ids;
    uint32_t mask_ret, sum_ret;
} embed_form;

/* Adds row `id` of a table. */
static hone_status add_embedding(hn_eval *c, const embedding_table *t, int64_t id, uint64_t width,
                                 float *part, float *sum) {
    const hn_array *table = hn_arg(c, t->arg);
    if (!table)
        return HONE_OK;
    if (id < 0 || id >= table->dims[0])
        return hn_eval_fail(c, HONE_E_INVALID, "index %lld lies outside the %lld rows of input %u",
                            (long long)id, (long long)table->dims[0], t->arg);
    hn_dequantize_f32(table, hn_affine_args(c, t->scale, t->zero), (uint64_t)id * width, width,
                      part);
    for (uint64_t i = 0; i < width; i++)
        sum[i] += part[i];
    return HONE_OK;
}

static hone_status load_embed_vector(hn_eval *c, const embedding_table *t, const float **out) {
    hn_array wide;
    const hn_array *a = hn_arg(c, t->arg);
    HN_TRY(hn_dequantize_array(c, a, hn_affine_args(c, t->scale, t->zero), &wide));
    *out = wide.data;
    return HONE_OK;
}

static int64_t id_at(const hn_array *ids, uint64_t i, int64_t def) {
    if (ids)
        hn_load_i64(ids, i % ids->n_elems, 1, &def);
    return def;
}

/* How many tokens of each sentence the mask keeps. */
static void count_mask(const hn_array *mask, int64_t batch, int64_t n, hn_array *out) {
    for (int64_t b = 0; out && b < batch; b++) {
        int64_t kept = 0;
        for (int64_t i = 0; mask && i < n; i++)
            kept += id_at(mask, (uint64_t)(b * n + i), 0) == 1;
        hn_store_i64(out, (uint64_t)b, 1, &kept);
    }
}

static hone_status check_embed_args(hn_eval *c, const embed_form *f, uint64_t width) {
    const hn_array *ids = hn_arg(c, 0), *positions = hn_arg(c, f->position_ids);
    HN_TRY(hn_want_elems(c, 1, ids->n_elems));
    HN_TRY(hn_want_elems(c, f->mask, ids->n_elems));
    if (positions && positions->n_elems != ids->n_elems)
        HN_TRY(hn_want_elems(c, f->position_ids, (uint64_t)ids->dims[1]));
    HN_TRY(hn_want_elems(c, f->gamma.arg, width));
    return hn_want_elems(c, f->beta.arg, width);
}

static hone_status embed_rows(hn_eval *c, const embed_form *f, const hn_norm_row_f32 *norm,
                              uint64_t width) {
    const hn_array *ids = hn_arg(c, 0), *segments = hn_arg(c, 1),
                   *positions = hn_arg(c, f->position_ids);
    hn_array *y = hn_ret(c, 0), *sums = f->sum_ret == HN_NO_ARG ? NULL : hn_ret(c, f->sum_ret);
    float *sum = hn_eval_scratch_n(c, width, sizeof *sum),
          *part = hn_eval_scratch_n(c, width, sizeof *part), mean, inverse;
    HN_TRY_PTR(sum && part);
    for (uint64_t i = 0; i < ids->n_elems && !hn_spent(4096); i++) {
        memset(sum, 0, width * sizeof *sum);
        HN_TRY(add_embedding(c, &f->word, id_at(ids, i, 0), width, part, sum));
        HN_TRY(add_embedding(c, &f->position,
                             id_at(positions, i, (int64_t)(i % (uint64_t)ids->dims[1])), width,
                             part, sum));
        if (segments)
            HN_TRY(add_embedding(c, &f->segment, id_at(segments, i, 0), width, part, sum));
        if (sums)
            hn_store_f32(sums, i * width, width, sum);
        hn_normalize_row(norm, width, sum, sum, &mean, &inverse);
        if (y)
            hn_store_f32(y, i * width, width, sum);
    }
    return HONE_OK;
}

static hone_status run_embed_norm(hn_eval *c, const embed_form *f) {
    const hn_array *ids = hn_arg(c, 0);
    uint64_t width = (uint64_t)hn_arg(c, f->word.arg)->dims[1];
    hn_norm_row_f32 norm = {.epsilon = hn_attr_f(hn_eval_node(c), "epsilon", 1e-12f)};
    HN_TRY(check_embed_args(c, f, width));
    HN_TRY(load_embed_vector(c, &f->gamma, &norm.gamma));
    HN_TRY(load_embed_vector(c, &f->beta, &norm.beta));
    count_mask(hn_arg(c, f->mask), ids->dims[0], ids->dims[1], hn_ret(c, f->mask_ret));
    return embed_rows(c, f, &norm, width);
}

static hone_status eval_embed_layer_norm(hn_eval *c) {
    static const embed_form form = {{2, HN_NO_ARG, HN_NO_ARG},
                                    {3, HN_NO_ARG, HN_NO_ARG},
                                    {4, HN_NO_ARG, HN_NO_ARG},
                                    {5, HN_NO_ARG, HN_NO_ARG},
                                    {6, HN_NO_ARG, HN_NO_ARG},
                                    7,
                                    8,
                                    1,
                                    2};
    return run_embed_norm(c, &form);
}
const hn_impl hn_impl_embed_layer_norm[1] = {{.eval = eval_embed_layer_norm}};

static hone_status eval_qembed_layer_norm(hn_eval *c) {
    static const embed_form form = {{2, 8, 13}, {3, 9, 14}, {4, 10, 15}, {5, 11, 16}, {6, 12, 17},
                                    7,          HN_NO_ARG,  1,           HN_NO_ARG};
    return run_embed_norm(c, &form);
}
const hn_impl hn_impl_qembed_layer_norm[1] = {{.eval = eval_qembed_layer_norm}};

/* ---- of groups of channels ------------------------------------------------------------------- */

typedef struct group_norm {
    int64_t channels, groups, places; /* places: per image */
    bool channels_last, silu;
    float epsilon;
    const float *gamma, *beta;
} group_norm;

/* Where channel k of place p of an image stands. */
static int64_t group_norm_at(const group_norm *g, int64_t p, int64_t k) {
    return g->channels_last ? p * g->channels + k : k * g->places + p;
}

static void normalize_group(const group_norm *g, int64_t group, float *image) {
    int64_t per_group = g->channels / g->groups, first = group * per_group;
    double sum = 0, squares = 0, n = (double)(per_group * g->places);
    for (int64_t k = first; k < first + per_group; k++)
        for (int64_t p = 0; p < g->places; p++)
            sum += (double)image[group_norm_at(g, p, k)];
    double mean = sum / n;
    for (int64_t k = first; k < first + per_group; k++)
        for (int64_t p = 0; p < g->places; p++) {
            double d = (double)image[group_norm_at(g, p, k)] - mean;
            squares += d * d;
        }
    float by = (float)(1 / sqrt(squares / n + (double)g->epsilon));
    for (int64_t k = first; k < first + per_group; k++)
        for (int64_t p = 0; p < g->places; p++) {
            float *at = &image[group_norm_at(g, p, k)];
            float v = (*at - (float)mean) * by * g->gamma[k] + g->beta[k];
            *at = g->silu ? silu(v) : v;
        }
}

static hone_status read_group_norm(hn_eval *c, group_norm *g) {
    const hn_array *x = hn_arg(c, 0);
    const hn_infer *node = hn_eval_node(c);
    g->channels_last = hn_attr_i(node, "channels_last", 1) != 0;
    g->channels = x->dims[g->channels_last ? x->rank - 1 : 1];
    g->groups = hn_attr_i(node, "groups", 0);
    g->silu = hn_attr_i(node, "activation", 0) == 1;
    g->epsilon = hn_attr_f(node, "epsilon", 1e-5f);
    if (g->groups < 1 || g->channels < 1 || g->channels % g->groups != 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "%lld channels cannot be split into %lld groups",
                            (long long)g->channels, (long long)g->groups);
    g->places = x->dims[0] > 0 ? (int64_t)x->n_elems / x->dims[0] / g->channels : 0;
    HN_TRY(hn_want_elems(c, 1, (uint64_t)g->channels));
    HN_TRY(hn_want_elems(c, 2, (uint64_t)g->channels));
    HN_TRY_PTR(hn_arg_f32s(c, 1, &g->gamma) && hn_arg_f32s(c, 2, &g->beta));
    return HONE_OK;
}

/* Adds skip, of the image's shape or one number per image and channel, and bias. */
static hone_status add_skip(hn_eval *c, const group_norm *g, int64_t image, float *v) {
    const hn_array *skip = hn_arg(c, 3);
    const float *skips, *bias;
    HN_TRY(hn_want_elems(c, 4, (uint64_t)g->channels));
    HN_TRY_PTR(hn_arg_f32s(c, 3, &skips) && hn_arg_f32s(c, 4, &bias));
    bool per_channel = skip->n_elems != hn_arg(c, 0)->n_elems;
    if (per_channel)
        HN_TRY(hn_want_elems(c, 3, (uint64_t)(hn_arg(c, 0)->dims[0] * g->channels)));
    for (int64_t k = 0; k < g->channels; k++)
        for (int64_t p = 0; p < g->places; p++) {
            int64_t at = group_norm_at(g, p, k);
            v[at] += per_channel ? skips[image * g->channels + k]
                                 : skips[image * g->channels * g->places + at];
            v[at] += bias ? bias[k] : 0;
        }
    return HONE_OK;
}

static hone_status run_group_norm(hn_eval *c, bool has_skip) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), *sum = has_skip ? hn_ret(c, 1) : NULL;
    group_norm g;
    HN_TRY(read_group_norm(c, &g));
    uint64_t n = (uint64_t)(g.channels * g.places);
    float *image = hn_eval_scratch_n(c, n, sizeof *image);
    HN_TRY_PTR(image);
    for (int64_t i = 0; i < x->dims[0]; i++) {
        hn_load_f32(x, (uint64_t)i * n, n, image);
        if (has_skip)
            HN_TRY(add_skip(c, &g, i, image));
        if (sum)
            hn_store_f32(sum, (uint64_t)i * n, n, image);
        for (int64_t group = 0; group < g.groups; group++)
            normalize_group(&g, group, image);
        if (y)
            hn_store_f32(y, (uint64_t)i * n, n, image);
    }
    return HONE_OK;
}

static hone_status eval_ms_group_norm(hn_eval *c) {
    return run_group_norm(c, false);
}
const hn_impl hn_impl_ms_group_norm[1] = {{.eval = eval_ms_group_norm}};

static hone_status eval_skip_group_norm(hn_eval *c) {
    return run_group_norm(c, true);
}
const hn_impl hn_impl_skip_group_norm[1] = {{.eval = eval_skip_group_norm}};
