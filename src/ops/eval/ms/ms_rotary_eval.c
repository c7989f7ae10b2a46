/* Rotary positions of com.microsoft, computed. */
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/ms/ms_heads_eval.h"
#include "ops/eval/onnx/rotary_eval.h"
#include "ops/eval_engine.h"

hone_status hn_read_rotary(hn_eval *c, uint32_t cosines, uint32_t sines, int64_t size,
                           const char *interleaved, hn_rotary *out) {
    const hn_array *table = hn_arg(c, cosines);
    if (!table || !hn_arg(c, sines) || table->rank != 2)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "rotary positions need inputs %u and %u, [positions, half of what is turned]", cosines,
            sines);
    HN_TRY(hn_want_dims(c, sines, 2, table->dims));
    *out = (hn_rotary){.n_positions = table->dims[0],
                       .half = table->dims[1],
                       .interleaved = hn_attr_i(hn_eval_node(c), interleaved, 0) != 0};
    if (out->half > size / 2)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the tables turn %lld pairs, but a head has %lld elements",
                            (long long)out->half, (long long)size);
    HN_TRY_PTR(hn_arg_f32s(c, cosines, &out->cosines) && hn_arg_f32s(c, sines, &out->sines));
    return HONE_OK;
}

void hn_rotate(const hn_rotary *r, const float *cosines, const float *sines, float *v) {
    int64_t step = r->interleaved ? 2 : 1, apart = r->interleaved ? 1 : r->half;
    if (!r->interleaved && hn_rotate_row_f32(r->half, cosines, sines, v, v))
        return;
    for (int64_t i = 0; i < r->half; i++) {
        float *x = v + i * step, *y = x + apart, first = *x;
        *x = first * cosines[i] - *y * sines[i];
        *y = first * sines[i] + *y * cosines[i];
    }
}

/* Rows of heads, and where each stands. */
typedef struct rotate_job {
    const hn_rotary *r;
    const int64_t *positions;
    const hn_head_rows *rows;
    int64_t n_heads, n_rows;
} rotate_job;

static void rotate_rows(void *ctx, int64_t begin, int64_t end) {
    const rotate_job *j = ctx;
    const hn_rotary *r = j->r;
    for (int64_t i = begin; i < end; i++)
        for (int64_t h = 0; h < j->n_heads; h++)
            hn_rotate(r, r->cosines + j->positions[i] * r->half,
                      r->sines + j->positions[i] * r->half,
                      hn_row_at(j->rows, i / j->n_rows, h, i % j->n_rows));
}

hone_status hn_rotate_heads(hn_eval *c, const hn_rotary *r, const int64_t *positions,
                            const hn_head_rows *rows, int64_t batch, int64_t n_heads,
                            int64_t n_rows) {
    rotate_job job = {r, positions, rows, n_heads, n_rows};
    HN_TRY(hn_rotary_check(c->err, batch * n_rows, positions, r->n_positions));
    int64_t per_row = HN_MAX(n_heads * r->half * 2, 1);
    hn_pool_for(hn_eval_pool(c), batch * n_rows, HN_MAX(HN_GRAIN / per_row, 1), rotate_rows, &job);
    return HONE_OK;
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

/* How the input stands: [batch, rows, heads * size] or [batch, heads, rows, size]. */
typedef struct rotary_view {
    int64_t batch, n_rows, n_heads, size;
    hn_head_rows rows;
} rotary_view;

static hone_status view_rotary(hn_eval *c, float *at, rotary_view *v) {
    const hn_array *x = hn_arg(c, 0), *table = hn_arg(c, 2);
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 0), width = x->dims[2];
    *v = (rotary_view){.batch = x->dims[0]};
    if (x->rank == 4) {
        v->n_heads = x->dims[1];
        v->n_rows = x->dims[2];
        v->size = x->dims[3];
        v->rows = hn_rows_by_head(at, v->n_heads, v->n_rows, v->size);
        return HONE_OK;
    }
    v->n_rows = x->dims[1];
    if (n_heads < 1 && table->rank == 2 && table->dims[1] > 0)
        n_heads = width / (2 * table->dims[1]);
    if (n_heads < 1 || width % n_heads != 0)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "rows of %lld elements cannot be split into %lld heads; set num_heads",
                            (long long)width, (long long)n_heads);
    v->n_heads = n_heads;
    v->size = width / n_heads;
    v->rows = hn_rows_packed(at, v->n_rows, width, v->size);
    return HONE_OK;
}

/* In range, so that those after it do not overflow. */
static hone_status read_first_position(hn_eval *c, const hn_rotary *r, int64_t *first) {
    hn_load_i64(hn_arg(c, 1), 0, 1, first);
    return hn_rotary_check(c->err, 1, first, r->n_positions);
}

/* One number is the position of the first row; else there is one for every row. */
static hone_status eval_ms_rotary_embedding(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *positions = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    rotary_view v;
    hn_rotary r;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    float *at = hn_buffer_f32(c, y);
    HN_TRY_PTR(at);
    hn_load_f32(x, 0, x->n_elems, at);
    HN_TRY(view_rotary(c, at, &v));
    HN_TRY(hn_read_rotary(c, 2, 3, v.size, "interleaved", &r));
    bool is_offset = positions->n_elems == 1 && positions->rank == 1;
    if (!is_offset)
        HN_TRY(hn_want_elems(c, 1, (uint64_t)(v.batch * v.n_rows)));
    int64_t *stands = hn_eval_scratch_n(c, (uint64_t)(v.batch * v.n_rows), sizeof *stands), first;
    HN_TRY_PTR(stands);
    if (is_offset)
        HN_TRY(read_first_position(c, &r, &first));
    else
        hn_load_i64(positions, 0, positions->n_elems, stands);
    for (int64_t row = 0; is_offset && row < v.batch * v.n_rows; row++)
        stands[row] = first + row % v.n_rows;
    HN_TRY(hn_rotate_heads(c, &r, stands, &v.rows, v.batch, v.n_heads, v.n_rows));
    hn_narrow_f32(y, at);
    return HONE_OK;
}
const hn_impl hn_impl_ms_rotary_embedding[1] = {{.eval = eval_ms_rotary_embedding}};

/* ---- MRotaryEmbedding ------------------------------------------------------------------------ */

/* Which of time, height and width (0, 1, 2) turns each pair: three sections side by side, or height
 * and width at every third. */
static hone_status assign_pairs(hn_eval *c, int64_t half, uint8_t *stream) {
    uint32_t n;
    const int64_t *sections;
    if (!hn_attr_ints(hn_eval_node(c), "mrope_section", &n, &sections) || n != 3)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "mrope_section must be three lengths: time, height, width");
    memset(stream, 0, (size_t)half);
    int64_t at = 0;
    bool is_mixed = hn_attr_i(hn_eval_node(c), "mrope_layout", 0) != 0;
    for (uint8_t s = 0; s < 3 && !is_mixed; s++)
        for (int64_t i = 0; i < sections[s] && at < half; i++)
            stream[at++] = s;
    for (uint8_t s = 1; s < 3 && is_mixed; s++)
        for (int64_t i = s; i < half && i / 3 < sections[s]; i += 3)
            stream[i] = s;
    return HONE_OK;
}

typedef struct mixed_row {
    float *cosines, *sines;
    const uint8_t *stream;
    float scale;
} mixed_row;

/* The row of the tables that one token is turned by, put together from three positions. */
static hone_status mix_positions(hn_eval *c, const hn_rotary *r, uint64_t row, uint64_t n_rows,
                                 const mixed_row *out) {
    const hn_array *positions = hn_arg(c, 1);
    int64_t at[3];
    for (uint64_t s = 0; s < 3; s++)
        hn_load_i64(positions, s * n_rows + row, 1, &at[s]);
    HN_TRY(hn_rotary_check(c->err, 3, at, r->n_positions));
    for (int64_t i = 0; i < r->half; i++) {
        int64_t from = at[out->stream[i]] * r->half + i;
        out->cosines[i] = r->cosines[from] * out->scale;
        out->sines[i] = r->sines[from] * out->scale;
    }
    return HONE_OK;
}

static hone_status eval_mrotary_embedding(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    rotary_view v;
    hn_rotary r;
    if (!y || y->n_elems == 0)
        return HONE_OK;
    float *at = hn_buffer_f32(c, y);
    HN_TRY_PTR(at);
    hn_load_f32(x, 0, x->n_elems, at);
    HN_TRY(view_rotary(c, at, &v));
    HN_TRY(hn_read_rotary(c, 2, 3, v.size, "interleaved", &r));
    HN_TRY(hn_want_dims(c, 1, 3, (const int64_t[]){3, v.batch, v.n_rows}));
    uint64_t half = (uint64_t)r.half;
    float *cosines = hn_eval_scratch_n(c, half, sizeof(float)),
          *sines = hn_eval_scratch_n(c, half, sizeof(float));
    uint8_t *stream = hn_eval_scratch(c, half);
    HN_TRY_PTR(cosines && sines && stream);
    HN_TRY(assign_pairs(c, r.half, stream));
    mixed_row mixed = {cosines, sines, stream, hn_attr_f(hn_eval_node(c), "scale", 1)};
    for (int64_t row = 0; row < v.batch * v.n_rows; row++) {
        HN_TRY(mix_positions(c, &r, (uint64_t)row, (uint64_t)(v.batch * v.n_rows), &mixed));
        for (int64_t h = 0; h < v.n_heads; h++)
            hn_rotate(&r, cosines, sines, hn_row_at(&v.rows, row / v.n_rows, h, row % v.n_rows));
    }
    hn_narrow_f32(y, at);
    return HONE_OK;
}
const hn_impl hn_impl_mrotary_embedding[1] = {{.eval = eval_mrotary_embedding}};
