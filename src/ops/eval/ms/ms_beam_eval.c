/* Evaluation of BeamSearch: several sequences grow for each prompt, the best are returned. */
#include "ops/eval/ms/ms_generation_eval.h"

#include <math.h>

enum { BEAM_N_BEAMS = 3, BEAM_N_RETURNED = 4, BEAM_LENGTH_PENALTY = 5 };

static const hn_generation_form beam_form = {.repetition_penalty = 6,
                                             .vocab_mask = 7,
                                             .prefix_vocab_mask = 8,
                                             .attention_mask = 9,
                                             .presence_mask = HN_NO_ARG,
                                             .takes_encoder = true};

#define OTHER_BEAM_SCORE \
  (-1e9f) /* of beams but the first: at the beginning they are all the same */

/* A sequence that has ended. */
typedef struct hypothesis {
    float score;
    int64_t length;
    int32_t *tokens;
} hypothesis;

/* A way to go on. */
typedef struct beam_candidate {
    float score;
    int32_t beam, word;
} beam_candidate;

typedef struct beam_loop {
    hn_generation g;
    int64_t n_returned;
    double length_penalty;
    bool stops_early;
    float *beam_scores;         /* by row */
    hypothesis *ended;          /* [batch, beams], the best first */
    int64_t *n_ended;           /* by batch */
    bool *is_done;              /* by batch */
    beam_candidate *candidates; /* [batch, 2 x beams], the best first */
    int32_t *tokens, *from;     /* by row: the next token, and the row that it follows */
    float *all_scores;          /* output 2; NULL: nobody wants it */
} beam_loop;

/* ---- ended sequences ------------------------------------------------------------------------- */

static float worst_score(const beam_loop *l, int64_t b) {
    return l->ended[b * l->g.n_beams + l->n_ended[b] - 1].score;
}

/* Keeps the best, as many as there are beams. */
static void end_sequence(beam_loop *l, int64_t b, int64_t row, float sum) {
    hn_generation *g = &l->g;
    hypothesis *list = l->ended + b * g->n_beams;
    float score = (float)((double)sum / pow((double)g->length, l->length_penalty));
    if (l->n_ended[b] == g->n_beams && !(score > worst_score(l, b)))
        return;
    int64_t at = l->n_ended[b] < g->n_beams ? l->n_ended[b]++ : g->n_beams - 1;
    int32_t *tokens = list[at].tokens;
    for (; at > 0 && list[at - 1].score < score; at--)
        list[at] = list[at - 1];
    list[at] = (hypothesis){score, g->length, tokens};
    memcpy(tokens, g->sequences + row * g->max_length, (size_t)g->length * sizeof *tokens);
}

/* No way to go on is better than what has ended. onnxruntime looks at 2 x beams candidates of the
 * whole batch from b x beams on, where those of prompt b would begin if there were as many as
 * beams; sequences are the same only when this is, too. */
static bool is_batch_done(const beam_loop *l, int64_t b) {
    int64_t n_beams = l->g.n_beams;
    float best = -INFINITY;
    if (l->n_ended[b] < n_beams)
        return false;
    for (int64_t i = b * n_beams; i < (b + 2) * n_beams; i++)
        best = HN_MAX(best, l->candidates[i].score);
    float score = (float)((double)best / pow((double)l->g.length, l->length_penalty));
    return l->stops_early || worst_score(l, b) >= score;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void log_softmax_row(int64_t n, float *row) {
    float largest = -INFINITY;
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        largest = HN_MAX(largest, row[k]);
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)(row[k] - largest));
    for (int64_t k = 0; k < n; k++)
        row[k] = row[k] - largest - (float)log(sum);
}

static hone_status score_words(hn_eval *c, beam_loop *l) {
    hn_generation *g = &l->g;
    HN_TRY(hn_generation_run(c, g));
    for (int64_t row = 0; row < g->n_rows; row++)
        log_softmax_row(g->n_words, g->scores + row * g->n_words);
    HN_TRY(hn_generation_adjust(c, g));
    for (int64_t i = 0; i < g->n_rows * g->n_words; i++)
        g->scores[i] += l->beam_scores[i / g->n_words];
    return HONE_OK;
}

/* The best words of all beams of a prompt, twice as many as there are beams. */
static void rank_candidates(beam_loop *l, int64_t b) {
    const hn_generation *g = &l->g;
    int64_t n = 0, most = 2 * g->n_beams, first = b * g->n_beams * g->n_words;
    beam_candidate *list = l->candidates + b * most;
    for (int64_t i = 0; i < g->n_beams * g->n_words; i++) {
        float score = g->scores[first + i];
        if (n == most && !(score > list[n - 1].score))
            continue;
        int64_t at = n < most ? n++ : most - 1;
        for (; at > 0 && list[at - 1].score < score; at--)
            list[at] = list[at - 1];
        list[at] = (beam_candidate){score, (int32_t)(i / g->n_words), (int32_t)(i % g->n_words)};
    }
}

static hone_status advance_beams(hn_eval *c, beam_loop *l, int64_t b) {
    const hn_generation *g = &l->g;
    const beam_candidate *list = l->candidates + b * 2 * g->n_beams;
    int64_t first = b * g->n_beams, n = 0;
    for (int64_t i = 0; i < 2 * g->n_beams && n < g->n_beams; i++) {
        int64_t row = first + list[i].beam;
        if (g->eos >= 0 && list[i].word == g->eos) {
            if (i < g->n_beams)
                end_sequence(l, b, row, list[i].score);
            continue;
        }
        l->beam_scores[first + n] = list[i].score;
        l->tokens[first + n] = list[i].word;
        l->from[first + n++] = (int32_t)row;
    }
    return n == g->n_beams ? HONE_OK
                           : hn_eval_fail(c, HONE_E_INVALID, "there are not enough words to go on");
}

static void pad_beams(beam_loop *l, int64_t b) {
    for (int64_t i = b * l->g.n_beams; i < (b + 1) * l->g.n_beams; i++) {
        l->beam_scores[i] = 0;
        l->tokens[i] = l->g.pad;
        l->from[i] = 0; /* any: nobody looks at what comes of it */
    }
}

/* How many words there are is known after the first run of the decoder. */
static hone_status beam_open_scores(hn_eval *c, beam_loop *l) {
    const hn_generation *g = &l->g;
    hn_array *scores = NULL;
    if (hn_n_rets(c) > 2 && hn_wants_ret(c, 2))
        HN_TRY(hn_ret_alloc(
            c, 2, HN_F32, 4,
            (int64_t[]){g->max_length - g->prompt, g->batch, g->n_beams, g->n_words}, &scores));
    if (scores)
        memset(scores->data, 0, scores->n_elems * sizeof(float));
    l->all_scores = scores ? scores->data : NULL;
    return HONE_OK;
}

static hone_status beam_step(hn_eval *c, beam_loop *l, int64_t step, bool *all_done) {
    hn_generation *g = &l->g;
    HN_TRY(score_words(c, l));
    if (2 * g->n_beams > g->n_beams * g->n_words)
        return hn_eval_fail(c, HONE_E_INVALID, "there must be two words or more");
    if (step == 0)
        HN_TRY(beam_open_scores(c, l));
    if (l->all_scores)
        memcpy(l->all_scores + step * g->n_rows * g->n_words, g->scores,
               (size_t)(g->n_rows * g->n_words) * sizeof *g->scores);
    *all_done = true;
    for (int64_t b = 0; b < g->batch; b++)
        rank_candidates(l, b);
    for (int64_t b = 0; b < g->batch; b++) {
        if (l->is_done[b])
            pad_beams(l, b);
        else
            HN_TRY(advance_beams(c, l, b));
        l->is_done[b] = l->is_done[b] || is_batch_done(l, b);
        *all_done &= l->is_done[b];
    }
    return HONE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static hone_status beam_alloc(hn_eval *c, beam_loop *l) {
    hn_generation *g = &l->g;
    uint64_t rows = (uint64_t)g->n_rows, batch = (uint64_t)g->batch;
    l->beam_scores = hn_eval_scratch_n(c, rows, sizeof *l->beam_scores);
    l->ended = hn_eval_scratch_n(c, rows, sizeof *l->ended);
    l->n_ended = hn_eval_scratch_n(c, batch, sizeof *l->n_ended);
    l->is_done = hn_eval_scratch_n(c, batch, sizeof *l->is_done);
    l->candidates = hn_eval_scratch_n(c, 2 * rows, sizeof *l->candidates);
    l->tokens = hn_eval_scratch_n(c, rows, sizeof *l->tokens);
    l->from = hn_eval_scratch_n(c, rows, sizeof *l->from);
    int32_t *tokens = hn_eval_scratch_n(c, rows * (uint64_t)g->max_length, sizeof *tokens);
    if (!l->beam_scores || !l->ended || !l->n_ended || !l->is_done || !l->candidates ||
        !l->tokens || !l->from || !tokens)
        return HONE_E_NOMEM;
    for (uint64_t i = 0; i < rows; i++) {
        l->beam_scores[i] = i % (uint64_t)g->n_beams ? OTHER_BEAM_SCORE : 0;
        l->ended[i] = (hypothesis){.tokens = tokens + i * (uint64_t)g->max_length};
    }
    for (uint64_t b = 0; b < batch; b++) {
        l->n_ended[b] = 0;
        l->is_done[b] = false;
    }
    return HONE_OK;
}

static hone_status give_best(hn_eval *c, beam_loop *l) {
    hn_generation *g = &l->g;
    const int64_t dims[3] = {g->batch, l->n_returned, g->max_length};
    hn_array *y, *scores = NULL;
    for (int64_t row = 0; row < g->n_rows; row++)
        if (!l->is_done[row / g->n_beams])
            end_sequence(l, row / g->n_beams, row, l->beam_scores[row]);
    HN_TRY(hn_ret_alloc(c, 0, HN_I32, 3, dims, &y));
    if (hn_n_rets(c) > 1)
        HN_TRY(hn_ret_alloc(c, 1, HN_F32, 2, dims, &scores));
    for (int64_t i = 0; i < g->batch * l->n_returned; i++) {
        const hypothesis *h = l->ended + i / l->n_returned * g->n_beams + i % l->n_returned;
        for (int64_t k = 0; y && k < g->max_length; k++)
            ((int32_t *)y->data)[i * g->max_length + k] = k < h->length ? h->tokens[k] : g->pad;
        if (scores)
            ((float *)scores->data)[i] = h->score;
    }
    return HONE_OK;
}

static hone_status run_beam_search(hn_eval *c, beam_loop *l) {
    double n_beams, n_returned;
    HN_TRY(hn_generation_scalar(c, BEAM_N_BEAMS, 1, &n_beams));
    HN_TRY(hn_generation_scalar(c, BEAM_N_RETURNED, 1, &n_returned));
    HN_TRY(hn_generation_scalar(c, BEAM_LENGTH_PENALTY, 1, &l->length_penalty));
    l->n_returned = (int64_t)n_returned;
    if (n_beams < 1 || n_beams > 1024 || n_returned < 1 || n_returned > n_beams)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "num_beams must be 1 to 1024, num_return_sequences 1 to num_beams");
    HN_TRY(hn_generation_open(c, &beam_form, (int64_t)n_beams, &l->g));
    HN_TRY(beam_alloc(c, l));
    l->stops_early = hn_attr_i(hn_eval_node(c), "early_stopping", 0) != 0;
    bool all_done = false;
    for (int64_t step = 0; l->g.length < l->g.max_length && !all_done; step++) {
        HN_TRY(beam_step(c, l, step, &all_done));
        if (!all_done)
            HN_TRY(hn_generation_append(c, &l->g, l->tokens, l->g.n_beams > 1 ? l->from : NULL));
    }
    return give_best(c, l);
}

static hone_status eval_beam_search(hn_eval *c) {
    beam_loop l = {.length_penalty = 1};
    hone_status status = run_beam_search(c, &l);
    hn_generation_close(c, &l.g);
    return status;
}
const hn_impl hn_impl_beam_search[1] = {{.eval = eval_beam_search}};
