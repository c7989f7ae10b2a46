/* The loop that GreedySearch, Sampling and BeamSearch of com.microsoft share: feeding a decoder. */
#include "ops/eval/ms/ms_generation_eval.h"
#include "ops/eval/onnx/control_eval.h"
#include "ops/infer/body.h"

#include <float.h>
#include <math.h>

enum { IN_IDS, IN_POSITIONS, IN_MASK, FIRST_PAST_IN, FIRST_PRESENT_OUT = 1, PAST_RANK = 5 };

#define LEAST_SCORE (-FLT_MAX)

/* ---- reading the node ------------------------------------------------------------------------ */

hone_status hn_generation_scalar(hn_eval *c, uint32_t arg, double other, double *out) {
    const hn_array *a = arg == HN_NO_ARG ? NULL : hn_arg(c, arg);
    *out = other;
    if (a && a->n_elems != 1)
        return hn_eval_fail(c, HONE_E_SHAPE, "input %u must be one number", arg);
    if (a)
        hn_load_f64(a, 0, 1, out);
    return HONE_OK;
}

const int32_t *hn_generation_ints(const hn_eval *c, uint32_t arg) {
    const hn_array *a = arg == HN_NO_ARG ? NULL : hn_arg(c, arg);
    return a ? a->data : NULL;
}

static hone_status read_lengths(hn_eval *c, hn_generation *g) {
    double max_length, min_length;
    HN_TRY(hn_generation_scalar(c, 1, 0, &max_length));
    HN_TRY(hn_generation_scalar(c, 2, 0, &min_length));
    g->max_length = (int64_t)max_length;
    g->min_length = (int64_t)min_length;
    if (g->max_length <= g->prompt || g->max_length > INT32_MAX / HN_MAX(g->n_rows, 1))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "max_length is %lld; it must exceed the %lld tokens of the prompt, and "
                            "all sequences must fit",
                            (long long)g->max_length, (long long)g->prompt);
    return HONE_OK;
}

static hone_status read_generation(hn_eval *c, const hn_generation_form *form, hn_generation *g) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *ids = hn_arg(c, 0);
    double penalty;
    int64_t model_type = hn_attr_i(node, "model_type", 0);
    g->is_encoded = model_type == 1 && form->takes_encoder;
    if (model_type != 0 && !g->is_encoded)
        return hn_eval_fail(c, HONE_E_UNSUPPORTED,
                            "model_type %lld cannot be run; 0, a decoder without an encoder, can",
                            (long long)model_type);
    if (ids->rank != 2 || ids->dtype != HN_I32 || ids->n_elems == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "input_ids must be int32[batch, length], not empty");
    g->batch = ids->dims[0];
    g->prompt = g->length = g->is_encoded ? 1 : ids->dims[1];
    g->n_rows = g->batch * g->n_beams;
    g->form = *form;
    g->eos = (int32_t)hn_attr_i(node, "eos_token_id", -1);
    g->pad = (int32_t)hn_attr_i(node, "pad_token_id", 0);
    g->ngram_size = hn_attr_i(node, "no_repeat_ngram_size", 0);
    g->temperature = hn_attr_f(node, "temperature", 1);
    g->presence_penalty = hn_attr_f(node, "presence_penalty", 0);
    g->vocab_mask = hn_generation_ints(c, form->vocab_mask);
    g->prefix_vocab_mask = hn_generation_ints(c, form->prefix_vocab_mask);
    g->presence_mask = hn_generation_ints(c, form->presence_mask);
    HN_TRY(hn_generation_scalar(c, form->repetition_penalty, 1, &penalty));
    g->repetition_penalty = (float)penalty;
    if (!(penalty > 0) || !(g->temperature > 0))
        return hn_eval_fail(c, HONE_E_INVALID,
                            "repetition_penalty and temperature must be positive");
    if (form->attention_mask != HN_NO_ARG)
        HN_TRY(hn_want_dims(c, form->attention_mask, 2, ids->dims));
    return read_lengths(c, g);
}

/* ---- the first inputs of the body ------------------------------------------------------------ */

static hone_status new_int_input(hn_eval *c, hn_generation *g, uint32_t i, int64_t width) {
    hn_object_unref(c, g->in[i]);
    g->in[i] = hn_object_tensor(c, HN_I32, 2, (int64_t[]){g->n_rows, width});
    return g->in[i] ? HONE_OK : HONE_E_NOMEM;
}

static int32_t *input_row(const hn_generation *g, uint32_t i, int64_t row) {
    const hn_array *a = &g->in[i]->array;
    return (int32_t *)a->data + row * a->dims[1];
}

/* Padding is masked; positions count the other tokens. */
static void fill_prompt(hn_eval *c, hn_generation *g, int64_t row) {
    int64_t b = row / g->n_beams;
    const int32_t *given = (const int32_t *)hn_arg(c, 0)->data + b * g->prompt,
                  *given_mask = hn_generation_ints(c, g->form.attention_mask);
    int32_t *ids = input_row(g, IN_IDS, row), *positions = input_row(g, IN_POSITIONS, row),
            *mask = input_row(g, IN_MASK, row), position = 0;
    for (int64_t i = 0; i < g->prompt; i++) {
        ids[i] = g->sequences[row * g->max_length + i] = given[i];
        mask[i] = given_mask ? given_mask[b * g->prompt + i] : given[i] != g->pad;
        positions[i] = mask[i] ? position++ : 0;
    }
    g->positions[row] = position;
}

static bool is_past_type(const hn_type *t) {
    return t && t->kind == HN_TYPE_TENSOR && t->shape.rank == PAST_RANK &&
           hn_dtype_is_float(t->elem) && hn_dim_is_known(t->shape.dims[2]) &&
           hn_dim_is_known(t->shape.dims[4]);
}

/* A body gets what it declares: tokens, positions and the mask, then states of the past. */
static hone_status check_body(hn_eval *c, const char *attr, uint32_t n_in) {
    const hn_infer *node = hn_eval_node(c);
    uint32_t n;
    bool is_valid = hn_body_n_inputs(node, attr, &n) && n == n_in && n > FIRST_PAST_IN;
    for (uint32_t i = 0; is_valid && i < n_in; i++) {
        const hn_type *t = hn_body_in_declared(node, attr, i);
        is_valid = i < FIRST_PAST_IN ? t && t->kind == HN_TYPE_TENSOR && t->elem == HN_I32
                                     : is_past_type(t);
    }
    return is_valid ? HONE_OK
                    : hn_eval_fail(c, HONE_E_UNSUPPORTED,
                                   "%s must take input_ids, position_ids and attention_mask of "
                                   "int32, and past states of floats [2, batch, heads, length, "
                                   "size] with heads and size declared",
                                   attr);
}

static hone_status check_bodies(hn_eval *c, hn_generation *g) {
    const hn_infer *node = hn_eval_node(c);
    uint32_t n_in = 0, n_other;
    hn_body_n_inputs(node, "decoder", &n_in);
    HN_TRY(check_body(c, "decoder", n_in));
    g->n_in = n_in;
    g->first_past = FIRST_PAST_IN;
    g->n_past = n_in - FIRST_PAST_IN;
    if (hn_body_n_inputs(node, "encoder", &n_other))
        return hn_eval_fail(c, HONE_E_INVALID, "an encoder has no place in model_type 0");
    g->has_first_body = hn_body_n_inputs(node, "init_decoder", &n_other);
    return g->has_first_body ? check_body(c, "init_decoder", n_in) : HONE_OK;
}

/* Past states are empty. */
static hone_status start_prompt(hn_eval *c, hn_generation *g) {
    for (uint32_t i = 0; i < FIRST_PAST_IN; i++)
        HN_TRY(new_int_input(c, g, i, g->prompt));
    for (int64_t row = 0; row < g->n_rows; row++)
        fill_prompt(c, g, row);
    for (uint32_t i = FIRST_PAST_IN; i < FIRST_PAST_IN + g->n_past; i++) {
        const hn_type *t = hn_body_in_declared(hn_eval_node(c), "decoder", i);
        g->in[i] =
            hn_object_tensor(c, t->elem, PAST_RANK,
                             (int64_t[]){2, g->n_rows, t->shape.dims[2], 0, t->shape.dims[4]});
        HN_TRY_PTR(g->in[i]);
    }
    return HONE_OK;
}

hone_status hn_generation_open(hn_eval *c, const hn_generation_form *form, int64_t n_beams,
                               hn_generation *g) {
    *g = (hn_generation){.n_beams = n_beams};
    HN_TRY(read_generation(c, form, g));
    HN_TRY(g->is_encoded ? hn_encoder_check(c, g) : check_bodies(c, g));
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    g->in = HN_NEW_N(arena, hn_object *, g->n_in);
    g->out = HN_NEW_N(arena, hn_object *, (size_t)g->n_past + FIRST_PRESENT_OUT);
    uint64_t n_tokens = (uint64_t)(g->n_rows * g->max_length);
    g->sequences = hn_eval_scratch_n(c, n_tokens, sizeof *g->sequences);
    g->spare_sequences = hn_eval_scratch_n(c, n_tokens, sizeof *g->sequences);
    g->positions = hn_eval_scratch_n(c, (uint64_t)g->n_rows, sizeof *g->positions);
    if (!g->in || !g->out || !g->sequences || !g->spare_sequences || !g->positions)
        return HONE_E_NOMEM;
    return g->is_encoded ? hn_encoder_start(c, g) : start_prompt(c, g);
}

void hn_generation_close(hn_eval *c, hn_generation *g) {
    if (g->in)
        hn_unref_all(c, g->n_in, g->in);
    if (g->out)
        hn_unref_all(c, g->n_past + FIRST_PRESENT_OUT, g->out);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static hone_status check_masks(hn_eval *c, const hn_generation *g) {
    uint64_t n = (uint64_t)g->n_words;
    if (g->vocab_mask)
        HN_TRY(hn_want_elems(c, g->form.vocab_mask, n));
    if (g->prefix_vocab_mask)
        HN_TRY(hn_want_elems(c, g->form.prefix_vocab_mask, (uint64_t)g->batch * n));
    if (g->presence_mask)
        HN_TRY(hn_want_elems(c, g->form.presence_mask, (uint64_t)g->batch * n));
    return HONE_OK;
}

/* The first logits say how many words there are; an attribute may say that the last ones are
 * padding. */
static hone_status take_logits(hn_eval *c, hn_generation *g) {
    const hn_object *o = g->out[0];
    const hn_array *logits = &o->array;
    int64_t asked = hn_attr_i(hn_eval_node(c), "vocab_size", -1);
    bool is_valid = o->kind == HN_OBJECT_TENSOR && logits->rank == 3 &&
                    hn_dtype_is_float(logits->dtype) && logits->dims[0] == g->n_rows &&
                    logits->dims[1] > 0 && logits->dims[2] > 0;
    int64_t n_words = is_valid && asked > 0 ? HN_MIN(asked, logits->dims[2])
                      : is_valid            ? logits->dims[2]
                                            : 0;
    if (!is_valid || (g->n_words && g->n_words != n_words))
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the decoder must return logits [batch, length, words] of floats");
    if (!g->n_words) {
        g->n_words = n_words;
        HN_TRY(check_masks(c, g));
        g->scores = hn_eval_scratch_n(c, (uint64_t)(g->n_rows * n_words), sizeof *g->scores);
        HN_TRY_PTR(g->scores);
    }
    for (int64_t row = 0; row < g->n_rows; row++) {
        int64_t from = ((row + 1) * logits->dims[1] - 1) * logits->dims[2];
        hn_load_f32(logits, (uint64_t)from, (uint64_t)n_words, g->scores + row * n_words);
    }
    return HONE_OK;
}

hone_status hn_generation_run(hn_eval *c, hn_generation *g) {
    bool is_first = g->length == g->prompt && g->has_first_body;
    if (!g->out[0]) /* encoders may give the first logits */
        HN_TRY(hn_run_body(c, is_first ? HN_BODY_SECOND : HN_BODY_MAIN, g->n_in, g->in,
                           g->n_past + FIRST_PRESENT_OUT, g->out));
    return take_logits(c, g);
}

/* ---- penalties ------------------------------------------------------------------------------- */

static hone_status check_tokens(hn_eval *c, const hn_generation *g, const int32_t *tokens) {
    for (int64_t i = 0; i < g->length; i++)
        if (tokens[i] < 0 || tokens[i] >= g->n_words)
            return hn_eval_fail(c, HONE_E_INVALID, "token %d is none of the %lld words", tokens[i],
                                (long long)g->n_words);
    return HONE_OK;
}

static bool occurred_before(const int32_t *tokens, int64_t i) {
    for (int64_t k = 0; k < i; k++)
        if (tokens[k] == tokens[i])
            return true;
    return false;
}

static void penalize_repetitions(const hn_generation *g, const int32_t *tokens, float *scores) {
    for (int64_t i = 0; i < g->length; i++) {
        float *s = &scores[tokens[i]];
        if (!occurred_before(tokens, i))
            *s = *s < 0 ? *s * g->repetition_penalty : *s / g->repetition_penalty;
    }
}

/* Words that would end a row of ngram_size tokens that is there already. */
static void forbid_ngrams(const hn_generation *g, const int32_t *tokens, float *scores) {
    int64_t before = g->ngram_size - 1;
    const int32_t *tail = tokens + g->length - before;
    for (int64_t i = 0; i + g->ngram_size <= g->length; i++)
        if (memcmp(tokens + i, tail, (size_t)before * sizeof *tokens) == 0)
            scores[tokens[i + before]] = LEAST_SCORE;
}

static void forbid_masked(const hn_generation *g, const int32_t *mask, float *scores) {
    for (int64_t k = 0; mask && k < g->n_words; k++)
        if (mask[k] == 0)
            scores[k] = LEAST_SCORE;
}

hone_status hn_generation_adjust(hn_eval *c, hn_generation *g) {
    bool is_first = g->length == g->prompt;
    for (int64_t row = 0; row < g->n_rows; row++) {
        const int32_t *tokens = g->sequences + row * g->max_length;
        int64_t of_batch = row / g->n_beams * g->n_words;
        float *scores = g->scores + row * g->n_words;
        if (g->repetition_penalty != 1 || g->ngram_size > 0)
            HN_TRY(check_tokens(c, g, tokens));
        if (g->repetition_penalty != 1)
            penalize_repetitions(g, tokens, scores);
        if (g->ngram_size > 0 && g->ngram_size <= g->length)
            forbid_ngrams(g, tokens, scores);
        forbid_masked(g, g->vocab_mask, scores);
        if (is_first && g->prefix_vocab_mask)
            forbid_masked(g, g->prefix_vocab_mask + of_batch, scores);
        if (g->length < g->min_length && g->eos >= 0 && g->eos < g->n_words)
            scores[g->eos] = LEAST_SCORE;
        for (int64_t k = 0; k < g->n_words; k++) {
            scores[k] /= g->temperature;
            if (g->presence_mask)
                scores[k] -= (float)g->presence_mask[of_batch + k] * g->presence_penalty;
        }
    }
    return HONE_OK;
}

/* ---- the next step --------------------------------------------------------------------------- */

/* The sequences that go on, each from the row that it comes from. */
static void reorder_sequences(hn_generation *g, const int32_t *from) {
    int32_t *old = g->sequences;
    if (!from)
        return;
    g->sequences = g->spare_sequences;
    g->spare_sequences = old;
    for (int64_t row = 0; row < g->n_rows; row++)
        memcpy(g->sequences + row * g->max_length, old + from[row] * g->max_length,
               (size_t)g->length * sizeof *old);
}

/* A present state becomes the past state of rows `from`: [2, rows, heads, length, size], with an
 * encoder [rows, heads, length, size]. */
static hone_status take_past(hn_eval *c, hn_generation *g, uint32_t i, const int32_t *from) {
    hn_object *present = g->out[FIRST_PRESENT_OUT + i], *past = present,
              **input = &g->in[g->first_past + i];
    const hn_array *a = &present->array;
    int32_t rank = g->is_encoded ? PAST_RANK - 1 : PAST_RANK, row_axis = rank - 4;
    int64_t n_parts = g->is_encoded ? 1 : 2;
    if (present->kind != HN_OBJECT_TENSOR || a->rank != rank || a->dtype != (*input)->array.dtype ||
        a->dims[row_axis] != g->n_rows || (row_axis == 1 && a->dims[0] != n_parts))
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "output %u of the decoder must be a present state, like the past one",
                            FIRST_PRESENT_OUT + i);
    if (from) {
        past = hn_object_tensor(c, a->dtype, a->rank, a->dims);
        HN_TRY_PTR(past);
        size_t bytes = (size_t)hn_count(3, a->dims + row_axis + 1) * hn_elem_bytes(a->dtype);
        for (int64_t k = 0; k < n_parts * g->n_rows; k++) {
            int64_t source = k / g->n_rows * g->n_rows + from[k % g->n_rows];
            memcpy((char *)past->array.data + (size_t)k * bytes,
                   (const char *)a->data + (size_t)source * bytes, bytes);
        }
    } else {
        g->out[FIRST_PRESENT_OUT + i] = NULL;
    }
    hn_object_unref(c, *input);
    *input = past;
    return HONE_OK;
}

/* The mask grows by a one in every row. */
static hone_status grow_mask(hn_eval *c, hn_generation *g) {
    hn_object *old = g->in[IN_MASK];
    g->in[IN_MASK] = NULL;
    hone_status status = new_int_input(c, g, IN_MASK, g->length);
    for (int64_t row = 0; status == HONE_OK && row < g->n_rows; row++) {
        int32_t *mask = input_row(g, IN_MASK, row);
        memcpy(mask, (const int32_t *)old->array.data + row * (g->length - 1),
               (size_t)(g->length - 1) * sizeof *mask);
        mask[g->length - 1] = 1;
    }
    hn_object_unref(c, old);
    return status;
}

static hone_status feed_tokens(hn_eval *c, hn_generation *g) {
    int64_t width = g->takes_sequences ? g->length : 1;
    HN_TRY(new_int_input(c, g, IN_IDS, width));
    for (int64_t row = 0; row < g->n_rows; row++)
        memcpy(input_row(g, IN_IDS, row), g->sequences + row * g->max_length + g->length - width,
               (size_t)width * sizeof *g->sequences);
    if (g->is_encoded)
        return HONE_OK;
    HN_TRY(new_int_input(c, g, IN_POSITIONS, 1));
    for (int64_t row = 0; row < g->n_rows; row++)
        *input_row(g, IN_POSITIONS, row) = g->positions[row]++;
    return grow_mask(c, g);
}

/* Where the encoder gave the first logits, it gave the past states of the second step, too. */
hone_status hn_generation_append(hn_eval *c, hn_generation *g, const int32_t *tokens,
                                 const int32_t *from) {
    reorder_sequences(g, from);
    for (int64_t row = 0; row < g->n_rows; row++)
        g->sequences[row * g->max_length + g->length] = tokens[row];
    if (++g->length == g->max_length)
        return HONE_OK;
    bool has_presents = g->out[FIRST_PRESENT_OUT] != NULL;
    for (uint32_t i = 0; has_presents && i < g->n_past; i++)
        HN_TRY(take_past(c, g, i, from));
    hn_unref_all(c, g->n_past + FIRST_PRESENT_OUT, g->out);
    return feed_tokens(c, g);
}
