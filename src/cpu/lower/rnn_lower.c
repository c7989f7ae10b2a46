/* Recurrent layers of floats with the usual activations. The inputs of all steps and directions
 * meet their weights in one product; a step is one product with packed weights (two in a GRU that
 * resets late) and one pass over the gates by vectors. Directions run side by side. */
#include "cpu/lower/lower.h"
#include "ops/eval/onnx/rnn_eval.h"

#include <math.h>

#include "cpu/kernels/rnn/rnn_cells.h"
#include "cpu/lower/rnn_bytes.h"
#include "cpu/lower/rnn_weights.h"
#include "cpu/pack/node_state.h"

/* ---- steps ------------------------------------------------------------------------------------ */

/* A layer at work. */
typedef struct rnn_layer {
    const hn_rnn_form *f;
    const hn_rnn_cells_f32 *cells;
    hn_pool *pool, *inner;     /* inner: for what one direction does */
    const float *r;            /* packed */
    const hn_rnn_bytes *bytes; /* instead of it; NULL: none */
    uint8_t *byte_rooms;       /* of directions, for their products */
    size_t byte_room;
    const float *bias;                /* [dirs, 2 * width], of inputs, then of states; NULL: none */
    const float *peepholes, *h0, *c0; /* NULL: none */
    float *x_part;                    /* [rows of x, dirs * width]: what the inputs give */
    float *rooms;                     /* of directions, see rnn_room */
    float *y, *yh, *yc;               /* NULL when nobody asked */
} rnn_layer;

/* What one direction remembers; all of the batch. */
typedef struct rnn_room {
    float *h_part;          /* [batch, width]: what the state gives */
    float *h, *cell, *late; /* [batch, hidden]; late: the state behind the reset gate */
} rnn_room;

static int64_t room_elems(const hn_rnn_form *f) {
    return f->batch * (hn_rnn_width(f) + 3 * f->hidden);
}

static rnn_room room_of(const rnn_layer *l, int64_t d) {
    const hn_rnn_form *f = l->f;
    int64_t state = f->batch * f->hidden;
    rnn_room room = {.h_part = l->rooms + d * room_elems(f)};
    room.h = room.h_part + f->batch * hn_rnn_width(f);
    room.cell = room.h + state;
    room.late = room.cell + state;
    return room;
}

static void load_states(const rnn_layer *l, int64_t d, const float *from, float *to) {
    size_t bytes = (size_t)l->f->hidden * sizeof *to;
    for (int64_t b = 0; b < l->f->batch; b++)
        if (from)
            memcpy(to + b * l->f->hidden, from + hn_rnn_state_at(l->f, d, b), bytes);
        else
            memset(to + b * l->f->hidden, 0, bytes);
}

static void store_last_states(const rnn_layer *l, int64_t d, const float *from, float *to) {
    for (int64_t b = 0; to && b < l->f->batch; b++)
        memcpy(to + hn_rnn_state_at(l->f, d, b), from + b * l->f->hidden,
               (size_t)l->f->hidden * sizeof *to);
}

/* Gates [from, to) of the recurrent product. */
static void meet_weights(const rnn_layer *l, const float *state, const float *packed, int64_t from,
                         int64_t to, float *h_part) {
    int64_t n = l->f->hidden;
    hn_gemm_f32(l->inner, &(hn_gemm_job_f32){.m = l->f->batch,
                                             .n = (to - from) * n,
                                             .k = n,
                                             .a = state,
                                             .a_row = n,
                                             .a_col = 1,
                                             .packed_b = packed,
                                             .c = h_part + from * n,
                                             .c_row = hn_rnn_width(l->f)});
}

/* What the input of a step gives to sequence b; NULL behind its end. */
static const float *input_part(const rnn_layer *l, int64_t d, int64_t b, int64_t step) {
    int64_t width = hn_rnn_width(l->f);
    int64_t row = hn_rnn_row(l->f, b, hn_rnn_time(l->f, b, step, hn_rnn_is_reverse(l->f, d)));
    return row < 0 ? NULL : l->x_part + (row * l->f->dirs + d) * width;
}

static void reset_late(const rnn_layer *l, const rnn_room *room, int64_t d, int64_t step) {
    const hn_rnn_form *f = l->f;
    int64_t n = f->hidden;
    for (int64_t b = 0; b < f->batch; b++) {
        const float *x = input_part(l, d, b, step);
        if (x)
            l->cells->gru_reset(n, x, room->h_part + b * hn_rnn_width(f), room->h + b * n,
                                room->late + b * n);
    }
    meet_weights(l, room->late, l->r + d * hn_rnn_state_elems(f) + hn_rnn_first_elems(f),
                 HN_GRU_HIDDEN, HN_GRU_HIDDEN + 1, room->h_part);
}

static void step_sequence(const rnn_layer *l, const rnn_room *room, int64_t d, int64_t b,
                          const float *x) {
    const hn_rnn_form *f = l->f;
    int64_t n = f->hidden, width = hn_rnn_width(f);
    const float *h = room->h_part + b * width;
    float *state = room->h + b * n;
    if (f->kind == HN_RNN_LSTM)
        l->cells->lstm(n, x, h, l->peepholes ? l->peepholes + d * 3 * n : NULL, room->cell + b * n,
                       state);
    else if (f->kind == HN_RNN_PLAIN)
        l->cells->plain(n, x, h, state);
    else if (hn_rnn_resets_late(f))
        l->cells->gru(n, x, h, state);
    else
        l->cells->gru_linear(
            n, x, h, l->bias ? l->bias + (2 * d + 1) * width + HN_GRU_HIDDEN * n : NULL, state);
}

static void run_time_step(const rnn_layer *l, const rnn_room *room, int64_t d, int64_t step) {
    const hn_rnn_form *f = l->f;
    if (l->bytes)
        hn_rnn_meet_bytes(
            l->inner, &(hn_rnn_byte_product){.side = &l->bytes->states[d],
                                             .m = f->batch,
                                             .a = room->h,
                                             .c = room->h_part,
                                             .c_row = hn_rnn_width(f),
                                             .scratch = l->byte_rooms + (size_t)d * l->byte_room});
    else
        meet_weights(l, room->h, l->r + d * hn_rnn_state_elems(f), 0, hn_rnn_first_gates(f),
                     room->h_part);
    if (hn_rnn_resets_late(f))
        reset_late(l, room, d, step);
    for (int64_t b = 0; b < f->batch; b++) {
        const float *x = input_part(l, d, b, step);
        if (!x)
            continue;
        step_sequence(l, room, d, b, x);
        int64_t t = hn_rnn_time(f, b, step, hn_rnn_is_reverse(f, d));
        if (l->y)
            memcpy(l->y + hn_rnn_output_at(f, d, b, t), room->h + b * f->hidden,
                   (size_t)f->hidden * sizeof *l->y);
    }
}

static void run_directions(void *ctx, int64_t begin, int64_t end) {
    const rnn_layer *l = ctx;
    for (int64_t d = begin; d < end; d++) {
        rnn_room room = room_of(l, d);
        load_states(l, d, l->h0, room.h);
        load_states(l, d, l->c0, room.cell);
        load_states(l, d, NULL, room.late);
        for (int64_t step = 0; step < l->f->seq && !hn_pool_is_stopped(l->pool); step++)
            run_time_step(l, &room, d, step);
        store_last_states(l, d, room.h, l->yh);
        store_last_states(l, d, room.cell, l->yc);
    }
}

/* ---- the layer -------------------------------------------------------------------------------- */

/* What biases add to the parts of inputs: all, but for that of a hidden gate whose reset comes
 * between. */
static void add_biases(const hn_rnn_form *f, const float *biases, float *sums) {
    int64_t width = hn_rnn_width(f);
    int64_t both =
        f->kind == HN_RNN_GRU && f->linear_before_reset ? HN_GRU_HIDDEN * f->hidden : width;
    for (int64_t d = 0; d < f->dirs; d++)
        for (int64_t i = 0; i < width; i++) {
            const float *bias = biases + 2 * d * width + i;
            sums[d * width + i] = bias[0] + (i < both ? bias[width] : 0);
        }
}

static void meet_inputs(const rnn_layer *l, const float *x, const float *w, const float *packed_w,
                        const float *biases) {
    const hn_rnn_form *f = l->f;
    int64_t n = f->dirs * hn_rnn_width(f);
    hn_epilogue_f32 epilogue = {.col_bias = biases};
    hn_gemm_f32(l->pool, &(hn_gemm_job_f32){.m = f->seq * f->batch,
                                            .n = n,
                                            .k = f->input,
                                            .a = x,
                                            .a_row = f->input,
                                            .a_col = 1,
                                            .b = w,
                                            .b_row = 1,
                                            .b_col = f->input,
                                            .packed_b = packed_w,
                                            .c = l->x_part,
                                            .c_row = n,
                                            .epilogue = biases ? &epilogue : NULL});
}

static int64_t longest_sequence(const hn_rnn_form *f) {
    int64_t longest = f->lengths ? 0 : f->seq;
    for (int64_t b = 0; f->lengths && b < f->batch; b++)
        longest = HN_MAX(longest, f->lengths[b]);
    return longest;
}

/* The same of bytes: what stands behind the longest sequence has no part in the scale. */
static void meet_byte_inputs(const rnn_layer *l, const float *x, const float *biases) {
    const hn_rnn_form *f = l->f;
    int64_t width = hn_rnn_width(f), m = longest_sequence(f) * f->batch;
    for (int64_t d = 0; d < f->dirs && m > 0; d++)
        hn_rnn_meet_bytes(l->pool,
                          &(hn_rnn_byte_product){.side = &l->bytes->inputs[d],
                                                 .m = m,
                                                 .a = x,
                                                 .bias = biases ? biases + d * width : NULL,
                                                 .c = l->x_part + d * width,
                                                 .c_row = f->dirs * width,
                                                 .scratch = l->byte_rooms});
}

/* Arguments of a node, also of DynamicQuantizeLSTM. */
enum { RNN_X, RNN_W, RNN_R, RNN_B, RNN_LENGTHS, RNN_H0, RNN_C0, RNN_P, RNN_ARGS };
enum { RNN_Y, RNN_YH, RNN_YC, RNN_RETS };

typedef struct rnn_step {
    hn_rnn_form form;    /* lengths are filled in when it runs */
    const float *packed; /* NULL: weights are packed in each run */
    const float *biases; /* as add_biases makes them; NULL: in each run, if there are some */
    bool has_bias, has_lengths;
    int64_t n_lengths;
    uint32_t n_args, n_rets;
    /* Of scratch, in floats: what the inputs give, rooms of directions, packed weights, biases. */
    int64_t x_elems, room_elems, r_elems, bias_elems;
    /* Products of bytes, with bytes of scratch before all else: of a direction, of all. */
    const hn_rnn_bytes *bytes; /* NULL: of floats */
    size_t byte_room, byte_rooms;
} rnn_step;

static int64_t whole_lines(int64_t n_floats) {
    return (n_floats + 15) / 16 * 16;
}

static uint64_t layer_scratch_bytes(const rnn_step *s) {
    return (uint64_t)(s->x_elems + s->room_elems + s->r_elems + s->bias_elems) * sizeof(float) +
           s->byte_rooms;
}

static void size_layer(const hn_eval *c, rnn_step *s) {
    const hn_rnn_form *f = &s->form;
    const hn_array *lengths = hn_arg(c, RNN_LENGTHS);
    int64_t width = f->dirs * hn_rnn_width(f);
    s->n_args = hn_n_args(c);
    s->n_rets = hn_n_rets(c);
    s->packed = hn_packed_weights(c);
    s->has_bias = hn_arg(c, RNN_B) != NULL;
    s->has_lengths = lengths != NULL;
    s->n_lengths = lengths ? (int64_t)lengths->n_elems : 0;
    s->x_elems = whole_lines(f->seq * f->batch * width);
    s->room_elems = whole_lines(f->dirs * room_elems(f));
    s->r_elems = s->packed ? 0 : whole_lines(f->dirs * hn_rnn_state_elems(f));
    s->bias_elems = s->has_bias ? whole_lines(width) : 0;
}

/* in and out have an entry for each argument and result there may be; NULL: left out, or not
 * wanted. */
static void run_recurrent_layer(const rnn_step *s, const hn_rnn_form *f, const float *const *in,
                                float *const *out, hn_pool *pool, void *memory) {
    float *scratch = (float *)(void *)((uint8_t *)memory + s->byte_rooms);
    rnn_layer l = {.f = f,
                   .bytes = s->bytes,
                   .byte_rooms = memory,
                   .byte_room = s->byte_room,
                   .cells = hn_rnn_cells_pick_f32(),
                   .pool = pool,
                   .inner = f->dirs > 1 ? NULL : pool,
                   .bias = in[RNN_B],
                   .peepholes = in[RNN_P],
                   .h0 = in[RNN_H0],
                   .c0 = in[RNN_C0],
                   .x_part = scratch,
                   .rooms = scratch + s->x_elems,
                   .y = out[RNN_Y],
                   .yh = out[RNN_YH],
                   .yc = out[RNN_YC]};
    float *r = l.rooms + s->room_elems, *sums = r + s->r_elems;
    l.r = s->packed ? s->packed + hn_rnn_input_elems(f) : r;
    if (!s->packed && !s->bytes)
        hn_rnn_pack_states(f, in[RNN_R], r);
    if (s->has_bias && !s->biases)
        add_biases(f, l.bias, sums);
    if (l.y && f->lengths) /* behind the end of a short sequence there are zeros */
        memset(l.y, 0, (size_t)(f->seq * f->batch * f->dirs * f->hidden) * sizeof *l.y);
    const float *biases = s->biases ? s->biases : s->has_bias ? sums : NULL;
    if (s->bytes)
        meet_byte_inputs(&l, in[RNN_X], biases);
    else
        meet_inputs(&l, in[RNN_X], in[RNN_W], s->packed, biases);
    hn_pool_for(pool, f->dirs, 1, run_directions, &l);
}

hone_status hn_rnn_eval_packed(hn_eval *c, const hn_rnn_form *f) {
    const float *in[RNN_ARGS];
    float *out[RNN_RETS];
    rnn_step s = {.form = *f};
    size_layer(c, &s);
    for (uint32_t i = 0; i < RNN_ARGS; i++)
        in[i] = hn_arg(c, i) ? hn_arg(c, i)->data : NULL;
    for (uint32_t i = 0; i < RNN_RETS; i++)
        out[i] = hn_ret(c, i) ? hn_ret(c, i)->data : NULL;
    float *scratch = hn_eval_scratch(c, layer_scratch_bytes(&s));
    HN_TRY_PTR(scratch);
    run_recurrent_layer(&s, f, in, out, hn_eval_pool(c), scratch);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}

/* ---- lowering --------------------------------------------------------------------------------- */

static hone_status run_recurrent(const void *record, const hn_step_io *io) {
    const rnn_step *s = record;
    const float *in[RNN_ARGS] = {NULL};
    float *out[RNN_RETS] = {NULL};
    memcpy(in, io->in, HN_MIN(s->n_args, RNN_ARGS) * sizeof *in);
    memcpy(out, io->out, HN_MIN(s->n_rets, RNN_RETS) * sizeof *out);
    if (!s->has_lengths) {
        run_recurrent_layer(s, &s->form, in, out, io->pool, io->scratch);
        return HONE_OK;
    }
    hn_rnn_form f = s->form;
    f.lengths = io->in[RNN_LENGTHS];
    HN_TRY(hn_rnn_check_lengths(io->err, &f, s->n_lengths));
    run_recurrent_layer(s, &f, in, out, io->pool, io->scratch);
    return HONE_OK;
}

/* Biases that are known are added once. */
static hone_status keep_biases(hn_eval *c, rnn_step *s) {
    const hn_array *bias = hn_arg(c, RNN_B);
    if (!bias || !bias->data)
        return HONE_OK;
    float *sums = hn_lower_alloc(c, (size_t)(s->form.dirs * hn_rnn_width(&s->form)) * sizeof *sums);
    HN_TRY_PTR(sums);
    add_biases(&s->form, bias->data, sums);
    s->biases = sums;
    s->bias_elems = 0;
    return HONE_OK;
}

static hone_status lower_recurrent(hn_eval *c, hn_lowered *out) {
    const hn_array *x = hn_arg(c, RNN_X);
    hn_rnn_form f;
    if (!x || !hn_arg(c, RNN_W) || !hn_arg(c, RNN_R) || x->n_elems == 0)
        return HONE_OK;
    HN_TRY(hn_rnn_read_form(c, hn_rnn_kind_of(c), &f));
    if (!hn_rnn_is_usual(&f, x->dtype) || f.hidden == 0)
        return HONE_OK;
    rnn_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->form = f;
    size_layer(c, s);
    HN_TRY(keep_biases(c, s));
    *out = (hn_lowered){
        .run = run_recurrent, .record = s, .scratch_bytes = (size_t)layer_scratch_bytes(s)};
    return HONE_OK;
}

static size_t most_scratch(const hn_gemm_int8_job *sides, int64_t dirs, int64_t m) {
    size_t most = hn_rnn_byte_scratch(&sides[0], m);
    return dirs > 1 ? HN_MAX(most, hn_rnn_byte_scratch(&sides[1], m)) : most;
}

static hone_status lower_dynamic_quantize_lstm(hn_eval *c, hn_lowered *out) {
    hn_rnn_bytes *bytes = hn_lower_alloc(c, sizeof *bytes);
    rnn_step *s = hn_lower_alloc(c, sizeof *s);
    bool is_usual;
    HN_TRY_PTR(bytes);
    HN_TRY_PTR(s);
    HN_TRY(hn_rnn_read_bytes(c, &is_usual, &s->form, bytes));
    if (!is_usual)
        return HONE_OK;
    const hn_rnn_form *f = &s->form;
    size_layer(c, s);
    s->packed = NULL;
    s->r_elems = 0;
    s->bytes = bytes;
    s->byte_room = most_scratch(bytes->states, f->dirs, f->batch);
    s->byte_rooms = HN_MAX((size_t)f->dirs * s->byte_room,
                           most_scratch(bytes->inputs, f->dirs, f->seq * f->batch));
    HN_TRY(keep_biases(c, s));
    *out = (hn_lowered){
        .run = run_recurrent, .record = s, .scratch_bytes = (size_t)layer_scratch_bytes(s)};
    return HONE_OK;
}
const hn_lowering hn_lower_dynamic_quantize_lstm[1] = {{.lower = lower_dynamic_quantize_lstm,
                                                        .prepare = hn_prepare_gates,
                                                        .release = hn_release_weights}};

const hn_lowering hn_lower_gru[1] = {
    {.lower = lower_recurrent, .prepare = hn_prepare_recurrent, .release = hn_release_weights}};
const hn_lowering hn_lower_lstm[1] = {
    {.lower = lower_recurrent, .prepare = hn_prepare_recurrent, .release = hn_release_weights}};
const hn_lowering hn_lower_rnn[1] = {
    {.lower = lower_recurrent, .prepare = hn_prepare_recurrent, .release = hn_release_weights}};
