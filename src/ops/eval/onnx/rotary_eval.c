/* Rotary embeddings and linear attention, computed. */
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/onnx/rotary_eval.h"
#include "ops/eval/widen.h"
#include "ops/eval_engine.h"

#include <math.h>

#include "cpu/kernels/kernel.h"

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

typedef struct rotary_form {
    int64_t batch, heads, len, size, half; /* half: pairs that turn */
    bool is_packed, interleaved;
    const float *cos, *sin;
    int64_t n_positions; /* of the caches */
    const hn_array *positions;
} rotary_form;

static hone_status read_rotary_form(hn_eval *c, rotary_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *cos_cache = hn_arg(c, 1), *sin_cache = hn_arg(c, 2);
    int64_t turned = hn_attr_i(node, "rotary_embedding_dim", 0);
    *f = (rotary_form){.batch = x->dims[0], .is_packed = x->rank == 3, .positions = hn_arg(c, 3)};
    f->heads = f->is_packed ? HN_MAX(hn_attr_i(node, "num_heads", 1), 1) : x->dims[1];
    f->len = x->dims[f->is_packed ? 1 : 2];
    f->size = x->dims[x->rank - 1] / (f->is_packed ? f->heads : 1);
    f->half = (turned > 0 ? turned : f->size) / 2;
    f->interleaved = hn_attr_i(node, "interleaved", 0) != 0;
    f->n_positions = f->half > 0 ? (int64_t)cos_cache->n_elems / f->half : 0;
    bool fits = 2 * f->half <= f->size && (!f->is_packed || f->heads * f->size == x->dims[2]) &&
                cos_cache->n_elems == sin_cache->n_elems && cos_cache->rank >= 1 &&
                cos_cache->dims[cos_cache->rank - 1] == f->half &&
                (f->positions ? f->positions->n_elems == (uint64_t)(f->batch * f->len)
                              : f->n_positions == f->batch * f->len);
    if (!fits)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "caches, positions and the input's %lld heads of %lld elements do not fit together",
            (long long)f->heads, (long long)f->size);
    f->cos = hn_wide_f32(c, cos_cache);
    f->sin = hn_wide_f32(c, sin_cache);
    HN_TRY_PTR(f->cos && f->sin);
    return HONE_OK;
}

hone_status hn_rotary_check(hone_error *err, int64_t n, const int64_t *positions,
                            int64_t n_positions) {
    for (int64_t i = 0; i < n; i++)
        if (positions[i] < 0 || positions[i] >= n_positions)
            return hn_fail(err, HONE_E_INVALID,
                           "position %lld lies outside the tables, which have %lld",
                           (long long)positions[i], (long long)n_positions);
    return HONE_OK;
}

/* Rows of the caches by which batch * len rows are turned. */
static hone_status read_rotary_positions(hn_eval *c, const rotary_form *f, const int64_t **out) {
    uint64_t n = (uint64_t)(f->batch * f->len);
    int64_t *at = hn_eval_scratch_n(c, n, sizeof *at);
    HN_TRY_PTR(at);
    *out = at;
    if (f->positions)
        hn_load_i64(f->positions, 0, n, at);
    for (uint64_t i = 0; i < n && !f->positions; i++)
        at[i] = (int64_t)i;
    return hn_rotary_check(c->err, (int64_t)n, at, f->n_positions);
}

typedef struct rotary_job {
    const rotary_form *form;
    const int64_t *positions;
    float *heads; /* [batch, heads, len, size], or packed; turned in place */
} rotary_job;

static void rotate_head(const rotary_form *f, int64_t position, float *x) {
    const float *cos_row = f->cos + position * f->half, *sin_row = f->sin + position * f->half;
    if (!f->interleaved && hn_rotate_row_f32(f->half, cos_row, sin_row, x, x))
        return;
    for (int64_t i = 0; i < f->half; i++) {
        float *a = x + (f->interleaved ? 2 * i : i), *b = f->interleaved ? a + 1 : a + f->half;
        float real = cos_row[i] * *a - sin_row[i] * *b, imag = sin_row[i] * *a + cos_row[i] * *b;
        *a = real;
        *b = imag;
    }
}

static void rotary_heads(void *ctx, int64_t begin, int64_t end) {
    const rotary_job *j = ctx;
    const rotary_form *f = j->form;
    for (int64_t i = begin; i < end; i++) {
        int64_t b = i / (f->len * f->heads), t = f->is_packed ? i / f->heads % f->len : i % f->len;
        rotate_head(f, j->positions[b * f->len + t], j->heads + i * f->size);
    }
}

static hone_status eval_rotary_embedding(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    rotary_form f;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(read_rotary_form(c, &f));
    rotary_job job = {.form = &f, .heads = hn_buffer_f32(c, y)};
    HN_TRY_PTR(job.heads);
    HN_TRY(read_rotary_positions(c, &f, &job.positions));
    hn_load_f32(x, 0, x->n_elems, job.heads);
    hn_pool_for(hn_eval_pool(c), f.batch * f.len * f.heads, HN_MAX(HN_GRAIN / f.size, 1),
                rotary_heads, &job);
    hn_narrow_f32(y, job.heads);
    return HONE_OK;
}
const hn_impl hn_impl_rotary_embedding[1] = {{.eval = eval_rotary_embedding}};

/* ---- LinearAttention ------------------------------------------------------------------------- */

typedef struct linear_form {
    int64_t batch, len, q_heads, kv_heads, d_k, d_v;
    float scale;
    int64_t decay_width, beta_width; /* last dimensions; 0: left out */
    const float *q, *k, *v, *decay, *beta;
} linear_form;

static void linear_decay(const linear_form *f, int64_t row, int64_t head, float *state) {
    bool per_key = f->decay_width != f->kv_heads;
    for (int64_t i = 0; i < f->d_k && f->decay; i++) {
        float g = expf(f->decay[row * f->decay_width + (per_key ? head * f->d_k + i : head)]);
        for (int64_t j = 0; j < f->d_v; j++)
            state[i * f->d_v + j] *= g;
    }
}

static void linear_step(const linear_form *f, int64_t row, int64_t head, float *state, float *v,
                        float *y) {
    const float *k = f->k + (row * f->kv_heads + head) * f->d_k;
    linear_decay(f, row, head, state);
    memcpy(v, f->v + (row * f->kv_heads + head) * f->d_v, (size_t)f->d_v * sizeof *v);
    for (int64_t i = 0; i < f->d_k && f->beta;
         i++) /* delta rules write how far the state is from the value */
        for (int64_t j = 0; j < f->d_v; j++)
            v[j] -= state[i * f->d_v + j] * k[i];
    float rate = f->beta ? f->beta[row * f->beta_width + head % f->beta_width] : 1;
    for (int64_t i = 0; i < f->d_k; i++)
        for (int64_t j = 0; j < f->d_v; j++)
            state[i * f->d_v + j] += k[i] * rate * v[j];
    int64_t shared = f->q_heads / f->kv_heads;
    for (int64_t h = head * shared; h < (head + 1) * shared; h++) {
        const float *q = f->q + (row * f->q_heads + h) * f->d_k;
        float *out = y + (row * f->q_heads + h) * f->d_v;
        memset(out, 0, (size_t)f->d_v * sizeof *out);
        for (int64_t i = 0; i < f->d_k; i++)
            for (int64_t j = 0; j < f->d_v; j++)
                out[j] += f->scale * q[i] * state[i * f->d_v + j];
    }
}

static hone_status read_linear_form(hn_eval *c, linear_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *q = hn_arg(c, 0), *v = hn_arg(c, 2), *decay = hn_arg(c, 4),
                   *beta = hn_arg(c, 5);
    *f = (linear_form){.batch = q->dims[0], .len = q->dims[1]};
    f->q_heads = hn_attr_i(node, "q_num_heads", 1);
    f->kv_heads = hn_attr_i(node, "kv_num_heads", 1);
    f->d_k = q->dims[2] / f->q_heads;
    f->d_v = v->dims[2] / f->kv_heads;
    f->scale = hn_attr_f(node, "scale", 0);
    if (f->scale == 0)
        f->scale = 1 / sqrtf((float)HN_MAX(f->d_k, 1));
    f->decay_width = decay ? decay->dims[2] : 0;
    f->beta_width = beta ? HN_MAX(beta->dims[2], 1) : 0;
    f->q = hn_wide_f32(c, q);
    f->k = hn_wide_f32(c, hn_arg(c, 1));
    f->v = hn_wide_f32(c, v);
    f->decay = decay ? hn_wide_f32(c, decay) : NULL;
    f->beta = beta ? hn_wide_f32(c, beta) : NULL;
    HN_TRY_PTR(f->q && f->k && f->v && (!decay || f->decay) && (!beta || f->beta));
    return HONE_OK;
}

static hone_status eval_linear_attention(hn_eval *c) {
    const hn_array *past = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0), *present = hn_ret(c, 1);
    linear_form f;
    HN_TRY(read_linear_form(c, &f));
    uint64_t matrix = (uint64_t)(f.d_k * f.d_v),
             n_out = (uint64_t)(f.batch * f.len * f.q_heads * f.d_v);
    float *state = hn_eval_scratch_n(c, matrix, sizeof *state),
          *v = hn_eval_scratch_n(c, (uint64_t)f.d_v, sizeof *v);
    float *out = y ? hn_buffer_f32(c, y) : hn_eval_scratch_n(c, n_out, sizeof *out);
    HN_TRY_PTR(state && v && out);
    for (int64_t i = 0; i < f.batch * f.kv_heads; i++) {
        memset(state, 0, matrix * sizeof *state);
        if (past)
            hn_load_f32(past, (uint64_t)i * matrix, matrix, state);
        for (int64_t t = 0; t < f.len; t++) {
            if (hn_eval_stopped(c))
                return HONE_E_CANCELLED;
            linear_step(&f, i / f.kv_heads * f.len + t, i % f.kv_heads, state, v, out);
        }
        if (present)
            hn_store_f32(present, (uint64_t)i * matrix, matrix, state);
    }
    if (y)
        hn_narrow_f32(y, out);
    return HONE_OK;
}
const hn_impl hn_impl_linear_attention[1] = {{.eval = eval_linear_attention}};
