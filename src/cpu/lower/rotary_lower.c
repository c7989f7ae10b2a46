/* Lowering of RotaryEmbedding of floats, of ai.onnx and of com.microsoft. */
#include "cpu/kernels/rows/row_loops.h"
#include "cpu/lower/lower.h"
#include "ops/eval/eval_broadcast.h"
#include "ops/eval/onnx/rotary_eval.h"

typedef void (*rotate_fn)(int64_t half, const float *cosines, const float *sines, const float *x,
                          float *y);

typedef enum rotary_positions {
    POSITIONS_EACH,  /* one for every row */
    POSITIONS_FIRST, /* of the first row of each batch */
    POSITIONS_NONE   /* row i stands at position i */
} rotary_positions;

typedef struct rotary_step {
    rotate_fn rotate;
    int64_t n_vectors;       /* heads of all rows */
    int64_t n_heads, n_rows; /* n_rows: of a batch */
    int64_t size, half;      /* of a vector; pairs that are turned */
    bool is_packed;          /* heads of a row lie side by side */
    int64_t n_positions;     /* of the tables */
    rotary_positions positions;
    int i_positions, i_cosines, i_sines; /* arguments */
} rotary_step;

typedef struct rotary_run {
    const rotary_step *step;
    const int64_t *positions;
    const float *cosines, *sines, *x;
    float *y;
} rotary_run;

/* Pairs are neighbours. */
static void rotate_neighbours(int64_t half, const float *cosines, const float *sines,
                              const float *x, float *y) {
    for (int64_t i = 0; i < half; i++) {
        float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = cosines[i] * a - sines[i] * b;
        y[2 * i + 1] = sines[i] * a + cosines[i] * b;
    }
}

static int64_t position_of(const rotary_run *r, int64_t batch, int64_t row) {
    const rotary_step *s = r->step;
    if (s->positions == POSITIONS_FIRST)
        return r->positions[0] + row;
    int64_t i = batch * s->n_rows + row;
    return s->positions == POSITIONS_EACH ? r->positions[i] : i;
}

static void run_rotary_vectors(void *ctx, int64_t begin, int64_t end) {
    const rotary_run *r = ctx;
    const rotary_step *s = r->step;
    size_t rest = (size_t)(s->size - 2 * s->half) * sizeof *r->y;
    for (int64_t i = begin; i < end; i++) {
        int64_t row = s->is_packed ? i / s->n_heads % s->n_rows : i % s->n_rows;
        int64_t at = position_of(r, i / (s->n_heads * s->n_rows), row) * s->half;
        const float *x = r->x + i * s->size;
        float *y = r->y + i * s->size;
        s->rotate(s->half, r->cosines + at, r->sines + at, x, y);
        if (rest)
            memcpy(y + 2 * s->half, x + 2 * s->half, rest);
    }
}

/* The first position is looked at before the others are made of it, so that none overflows. */
static hone_status check_rotary_positions(const rotary_step *s, const int64_t *positions,
                                          hone_error *err) {
    int64_t n = s->n_vectors / s->n_heads;
    if (s->positions == POSITIONS_NONE)
        return HONE_OK;
    if (s->positions == POSITIONS_EACH)
        return hn_rotary_check(err, n, positions, s->n_positions);
    HN_TRY(hn_rotary_check(err, 1, positions, s->n_positions));
    int64_t beyond = HN_MIN(positions[0] + s->n_rows - 1, s->n_positions);
    return hn_rotary_check(err, 1, &beyond, s->n_positions);
}

static hone_status run_rotary(const void *record, const hn_step_io *io) {
    const rotary_step *s = record;
    rotary_run r = {.step = s,
                    .positions = s->positions == POSITIONS_NONE ? NULL : io->in[s->i_positions],
                    .cosines = io->in[s->i_cosines],
                    .sines = io->in[s->i_sines],
                    .x = io->in[0],
                    .y = io->out[0]};
    HN_TRY(check_rotary_positions(s, r.positions, io->err));
    hn_pool_for(io->pool, s->n_vectors, HN_MAX(HN_GRAIN / s->size, 1), run_rotary_vectors, &r);
    return HONE_OK;
}

/* [batch, rows, heads * size], or [batch, heads, rows, size]. False: it is evaluated. */
static bool view_vectors(const hn_array *x, int64_t n_heads, rotary_step *s) {
    s->is_packed = x->rank == 3;
    s->n_heads = s->is_packed ? n_heads : x->dims[1];
    if ((x->rank != 3 && x->rank != 4) || s->n_heads < 1 ||
        (s->is_packed && x->dims[2] % s->n_heads != 0))
        return false;
    s->n_rows = x->dims[s->is_packed ? 1 : 2];
    s->size = s->is_packed ? x->dims[2] / s->n_heads : x->dims[3];
    s->n_vectors = x->dims[0] * s->n_heads * s->n_rows;
    return true;
}

static bool is_int64(const hn_array *a) {
    return a && a->dtype == HN_I64;
}

/* Tables of one shape, whose rows are `half` long. */
static bool view_tables(const hn_eval *c, rotary_step *s, int64_t half) {
    const hn_array *cosines = hn_arg(c, (uint32_t)s->i_cosines),
                   *sines = hn_arg(c, (uint32_t)s->i_sines);
    s->half = half;
    if (half < 1 || 2 * half > s->size || cosines->rank < 1 || sines->dtype != HN_F32 ||
        cosines->dtype != HN_F32 || cosines->dims[cosines->rank - 1] != half ||
        cosines->n_elems != sines->n_elems)
        return false;
    s->n_positions = (int64_t)cosines->n_elems / half;
    return true;
}

static bool choose_rotation(const hn_eval *c, rotary_step *s) {
    const hn_row_loops_f32 *loops = hn_row_loops_pick_f32();
    bool is_interleaved = hn_attr_i(hn_eval_node(c), "interleaved", 0) != 0;
    s->rotate = is_interleaved ? rotate_neighbours : loops ? loops->rotate : NULL;
    return s->rotate != NULL;
}

static bool fill_rotary(const hn_eval *c, rotary_step *s) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0), *positions = hn_arg(c, 3);
    *s = (rotary_step){.i_cosines = 1, .i_sines = 2, .i_positions = 3};
    if (!view_vectors(x, HN_MAX(hn_attr_i(node, "num_heads", 1), 1), s))
        return false;
    int64_t turned = hn_attr_i(node, "rotary_embedding_dim", 0);
    uint64_t n = (uint64_t)(s->n_vectors / s->n_heads);
    if (!view_tables(c, s, (turned > 0 ? turned : s->size) / 2) || !choose_rotation(c, s))
        return false;
    s->positions = positions ? POSITIONS_EACH : POSITIONS_NONE;
    return positions ? is_int64(positions) && positions->n_elems == n
                     : (uint64_t)s->n_positions == n;
}

static bool fill_ms_rotary(const hn_eval *c, rotary_step *s) {
    const hn_array *x = hn_arg(c, 0), *positions = hn_arg(c, 1), *cosines = hn_arg(c, 2);
    *s = (rotary_step){.i_cosines = 2, .i_sines = 3, .i_positions = 1};
    int64_t n_heads = hn_attr_i(hn_eval_node(c), "num_heads", 0);
    if (cosines->rank != 2 || hn_arg(c, 3)->rank != 2 || !is_int64(positions))
        return false;
    if (n_heads < 1 && cosines->dims[1] > 0)
        n_heads = x->dims[x->rank - 1] / (2 * cosines->dims[1]);
    if (!view_vectors(x, n_heads, s) || !view_tables(c, s, cosines->dims[1]) ||
        !choose_rotation(c, s))
        return false;
    bool is_first = positions->n_elems == 1 && positions->rank == 1;
    s->positions = is_first ? POSITIONS_FIRST : POSITIONS_EACH;
    return is_first || positions->n_elems == (uint64_t)(s->n_vectors / s->n_heads);
}

static hone_status lower_rotary(hn_eval *c, bool (*fill)(const hn_eval *c, rotary_step *s),
                                uint32_t n_needed, hn_lowered *out) {
    rotary_step step;
    for (uint32_t i = 0; i < n_needed; i++)
        if (!hn_arg(c, i))
            return HONE_OK;
    if (!hn_ret(c, 0) || hn_arg(c, 0)->dtype != HN_F32 || hn_arg(c, 0)->n_elems == 0 ||
        !fill(c, &step))
        return HONE_OK;
    rotary_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = step;
    *out = (hn_lowered){.run = run_rotary, .record = s};
    return HONE_OK;
}

static hone_status lower_rotary_embedding(hn_eval *c, hn_lowered *out) {
    return lower_rotary(c, fill_rotary, 3, out);
}
const hn_lowering hn_lower_rotary_embedding[1] = {{.lower = lower_rotary_embedding}};

static hone_status lower_ms_rotary_embedding(hn_eval *c, hn_lowered *out) {
    return lower_rotary(c, fill_ms_rotary, 4, out);
}
const hn_lowering hn_lower_ms_rotary_embedding[1] = {{.lower = lower_ms_rotary_embedding}};
