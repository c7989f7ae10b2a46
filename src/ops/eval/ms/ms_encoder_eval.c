/* The encoder of a BeamSearch (model_type 1, as of T5). Its body takes encoder_input_ids and
 * encoder_attention_mask and returns the states that the decoder's cross attention reads. An older
 * form also takes decoder_input_ids, and returns the first logits, hidden states and the decoder's
 * first states before them. */
#include "ops/eval/ms/ms_generation_eval.h"
#include "ops/eval/onnx/control_eval.h"
#include "ops/infer/body.h"

enum { STATE_RANK = 4, HIDDEN_RANK = 3, DECODER_MASK = 1, DECODER_HIDDEN = 2 };

/* Outputs of the older form: logits, hidden states, then states. */
enum { OLD_INPUTS = 3, NEW_INPUTS = 2, OLD_FIRST_STATE = 2 };

static int32_t declared_rank(const hn_eval *c, const char *attr, uint32_t i, bool is_int) {
    const hn_type *t = hn_body_in_declared(hn_eval_node(c), attr, i);
    bool fits =
        t && t->kind == HN_TYPE_TENSOR && (is_int ? t->elem == HN_I32 : hn_dtype_is_float(t->elem));
    return fits ? t->shape.rank : -1;
}

/* Heads and size must be declared: the first states may be empty. */
static bool is_state(const hn_eval *c, uint32_t i) {
    const hn_type *t = hn_body_in_declared(hn_eval_node(c), "decoder", i);
    return declared_rank(c, "decoder", i, false) == STATE_RANK &&
           hn_dim_is_known(t->shape.dims[1]) && hn_dim_is_known(t->shape.dims[3]);
}

hone_status hn_encoder_check(hn_eval *c, hn_generation *g) {
    const hn_infer *node = hn_eval_node(c);
    uint32_t n_encoder = 0, n_other;
    bool is_valid = hn_body_n_inputs(node, "decoder", &g->n_in) &&
                    hn_body_n_inputs(node, "encoder", &n_encoder) &&
                    (n_encoder == NEW_INPUTS || n_encoder == OLD_INPUTS) &&
                    !hn_body_n_inputs(node, "init_decoder", &n_other) &&
                    declared_rank(c, "decoder", 0, true) == 2 &&
                    declared_rank(c, "decoder", DECODER_MASK, true) == 2;
    for (uint32_t i = 0; is_valid && i < n_encoder; i++)
        is_valid = declared_rank(c, "encoder", i, true) == 2;
    bool has_hidden = is_valid && declared_rank(c, "decoder", DECODER_HIDDEN, false) == HIDDEN_RANK;
    g->first_past = has_hidden ? DECODER_HIDDEN + 1 : DECODER_HIDDEN;
    uint32_t n_states = is_valid && g->n_in > g->first_past ? g->n_in - g->first_past : 0;
    for (uint32_t i = 0; is_valid && i < n_states; i++)
        is_valid = is_state(c, g->first_past + i);
    if (!is_valid || n_states == 0 || n_states % 4 != 0 || (has_hidden && n_encoder == NEW_INPUTS))
        return hn_eval_fail(
            c, HONE_E_UNSUPPORTED,
            "encoder and decoder must take int32 tokens and masks, and the decoder "
            "past states of floats [batch, heads, length, size], keys and values of "
            "its own and of the encoder's, with heads and size declared");
    g->n_past = n_states / 2;
    g->has_first_body = false;
    const hn_type *ids = hn_body_in_declared(node, "decoder", 0);
    g->takes_sequences = ids->shape.dims[1] != 1;
    return HONE_OK;
}

/* ---- inputs of the encoder ------------------------------------------------------------------- */

static hone_status encoder_inputs(hn_eval *c, hn_generation *g, hn_object **in) {
    const hn_array *ids = hn_arg(c, 0);
    const int32_t *tokens = ids->data, *given = hn_generation_ints(c, g->form.attention_mask);
    int64_t length = ids->dims[1];
    for (uint32_t i = 0; i < OLD_INPUTS; i++) {
        const int64_t dims[2] = {g->batch, i < NEW_INPUTS ? length : 1};
        in[i] = hn_object_tensor(c, HN_I32, 2, dims);
        HN_TRY_PTR(in[i]);
    }
    memcpy(in[0]->array.data, tokens, ids->n_elems * sizeof *tokens);
    int32_t *mask = in[1]->array.data;
    for (int64_t i = 0; i < g->batch * length; i++) {
        bool is_left = i % length == 0 || mask[i - 1] == 0; /* padding on the left is masked */
        mask[i] = given ? given[i] : !(is_left && tokens[i] == g->pad);
    }
    int32_t start = (int32_t)hn_attr_i(hn_eval_node(c), "decoder_start_token_id", -1);
    for (int64_t b = 0; b < g->batch; b++)
        ((int32_t *)in[2]->array.data)[b] = start;
    for (int64_t row = 0; row < g->n_rows; row++)
        g->sequences[row * g->max_length] = start;
    return HONE_OK;
}

/* ---- first inputs of the decoder ------------------------------------------------------------- */

/* The rows of a batch, each once for every beam. */
static hone_status expand_rows(hn_eval *c, const hn_generation *g, const hn_object *o, int32_t rank,
                               hn_object **out) {
    const hn_array *a = &o->array;
    int64_t dims[STATE_RANK];
    if (o->kind != HN_OBJECT_TENSOR || a->rank != rank || a->dims[0] != g->batch ||
        hn_elem_bytes(a->dtype) == 0 || a->dtype == HN_STRING)
        return hn_eval_fail(c, HONE_E_SHAPE, "an output of the encoder has no row for each prompt");
    memcpy(dims, a->dims, (size_t)rank * sizeof *dims);
    dims[0] = g->n_rows;
    *out = hn_object_tensor(c, a->dtype, rank, dims);
    HN_TRY_PTR(*out);
    size_t bytes = (size_t)hn_count(rank - 1, a->dims + 1) * hn_elem_bytes(a->dtype);
    for (int64_t row = 0; row < g->n_rows; row++)
        memcpy((char *)(*out)->array.data + (size_t)row * bytes,
               (const char *)a->data + (size_t)(row / g->n_beams) * bytes, bytes);
    return HONE_OK;
}

static hone_status expand_state(hn_eval *c, hn_generation *g, const hn_object *o, uint32_t input) {
    const hn_type *t = hn_body_in_declared(hn_eval_node(c), "decoder", input);
    HN_TRY(expand_rows(c, g, o, STATE_RANK, &g->in[input]));
    return g->in[input]->array.dtype == t->elem
               ? HONE_OK
               : hn_eval_fail(c, HONE_E_TYPE,
                              "a state of the encoder has another type than that "
                              "of the decoder");
}

static hone_status decoder_tokens(hn_eval *c, hn_generation *g) {
    g->in[0] = hn_object_tensor(c, HN_I32, 2, (int64_t[]){g->n_rows, 1});
    HN_TRY_PTR(g->in[0]);
    for (int64_t row = 0; row < g->n_rows; row++)
        ((int32_t *)g->in[0]->array.data)[row] = g->sequences[row * g->max_length];
    return HONE_OK;
}

static hone_status take_new_form(hn_eval *c, hn_generation *g, hn_object **out) {
    for (uint32_t i = 0; i < g->n_past; i++) {
        uint32_t own = g->first_past + i;
        const hn_type *t = hn_body_in_declared(hn_eval_node(c), "decoder", own);
        g->in[own] = hn_object_tensor(
            c, t->elem, STATE_RANK, (int64_t[]){g->n_rows, t->shape.dims[1], 0, t->shape.dims[3]});
        HN_TRY_PTR(g->in[own]);
        HN_TRY(expand_state(c, g, out[i], own + g->n_past));
    }
    return HONE_OK;
}

static hone_status take_old_form(hn_eval *c, hn_generation *g, hn_object **out) {
    HN_TRY(expand_rows(c, g, out[0], HIDDEN_RANK, &g->out[0]));
    if (g->first_past > DECODER_HIDDEN)
        HN_TRY(expand_rows(c, g, out[1], HIDDEN_RANK, &g->in[DECODER_HIDDEN]));
    for (uint32_t i = 0; i < 2 * g->n_past; i++)
        HN_TRY(expand_state(c, g, out[OLD_FIRST_STATE + i], g->first_past + i));
    return HONE_OK;
}

hone_status hn_encoder_start(hn_eval *c, hn_generation *g) {
    hn_object *in[OLD_INPUTS] = {NULL};
    uint32_t n_in = 0, n_out;
    hn_body_n_inputs(hn_eval_node(c), "encoder", &n_in);
    n_out = n_in == NEW_INPUTS ? g->n_past : OLD_FIRST_STATE + 2 * g->n_past;
    hn_object **out = HN_NEW_N(hn_infer_arena(hn_eval_node(c)), hn_object *, n_out);
    HN_TRY_PTR(out);
    hone_status status = encoder_inputs(c, g, in);
    if (status == HONE_OK)
        status = hn_run_body(c, HN_BODY_SECOND, n_in, in, n_out, out);
    if (status == HONE_OK)
        status = expand_rows(c, g, in[1], 2, &g->in[DECODER_MASK]);
    if (status == HONE_OK)
        status = decoder_tokens(c, g);
    if (status == HONE_OK)
        status = n_in == NEW_INPUTS ? take_new_form(c, g, out) : take_old_form(c, g, out);
    hn_unref_all(c, OLD_INPUTS, in);
    hn_unref_all(c, n_out, out);
    return status;
}
