/* Evaluation of GreedySearch and Sampling: one sequence for each prompt. */
#include "ops/eval/ms/ms_generation_eval.h"

#include <math.h>
#include <stdlib.h>

static const hn_generation_form search_form = {.repetition_penalty = 3,
                                               .vocab_mask = 4,
                                               .prefix_vocab_mask = 5,
                                               .attention_mask = 6,
                                               .presence_mask = HN_NO_ARG};
static const hn_generation_form sampling_form = {.repetition_penalty = 3,
                                                 .vocab_mask = 4,
                                                 .prefix_vocab_mask = 5,
                                                 .attention_mask = 6,
                                                 .presence_mask = 7};

/* ---- choosing a token ------------------------------------------------------------------------ */

typedef struct ranked_word {
    float score;
    int32_t word;
} ranked_word;

/* How tokens are drawn; the same numbers as in onnxruntime for the same seed: those of the minimal
 * standard generator of Lewis, Goodman and Miller, two for each draw. */
typedef struct word_sampler {
    uint64_t state;
    hn_rng *rng; /* NULL: a seed is given */
    float top_p, filter_value;
    int64_t n_kept;
    bool is_custom; /* the most likely words are counted, not the least likely ones */
    ranked_word *ranked;
} word_sampler;

#define MINIMAL_STANDARD_MULTIPLIER 16807u
#define MINIMAL_STANDARD_MODULUS 2147483647u

static double next_minimal_standard(word_sampler *s) {
    s->state = s->state * MINIMAL_STANDARD_MULTIPLIER % MINIMAL_STANDARD_MODULUS;
    return (double)(s->state - 1);
}

static double draw_uniform(word_sampler *s) {
    const double range = (double)(MINIMAL_STANDARD_MODULUS - 1);
    if (s->rng)
        return hn_rng_f64(s->rng);
    double low = next_minimal_standard(s);
    double drawn = (low + next_minimal_standard(s) * range) / (range * range);
    return drawn < 1 ? drawn : nextafter(1, 0);
}

static int by_score_up(const void *a, const void *b) {
    const ranked_word *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

static int by_score_down(const void *a, const void *b) {
    const ranked_word *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

/* Leaves the words that together have the probability top_p. */
static void filter_unlikely(const word_sampler *s, int64_t n, float *scores) {
    float largest = -INFINITY, share = 0;
    double sum = 0;
    for (int64_t k = 0; k < n; k++) {
        s->ranked[k] = (ranked_word){scores[k], (int32_t)k};
        largest = HN_MAX(largest, scores[k]);
    }
    qsort(s->ranked, (size_t)n, sizeof *s->ranked, s->is_custom ? by_score_down : by_score_up);
    for (int64_t k = 0; k < n; k++)
        sum += exp((double)(s->ranked[k].score - largest));
    int64_t n_looked = s->is_custom ? n - 1 : HN_MAX(n - s->n_kept, 1);
    for (int64_t k = 0; k < n_looked; k++) {
        share += (float)(exp((double)(s->ranked[k].score - largest)) / sum);
        if (s->is_custom && share > s->top_p)
            scores[s->ranked[k + 1].word] = s->filter_value;
        else if (!s->is_custom && share <= 1 - s->top_p)
            scores[s->ranked[k].word] = s->filter_value;
    }
}

static int32_t draw_word(word_sampler *s, int64_t n, const float *scores) {
    float largest = -INFINITY;
    double total = 0, sum = 0;
    for (int64_t k = 0; k < n; k++)
        largest = HN_MAX(largest, scores[k]);
    for (int64_t k = 0; k < n; k++)
        total += exp((double)(scores[k] - largest));
    double wanted = draw_uniform(s) * total;
    for (int64_t k = 0; k < n; k++) {
        sum += exp((double)(scores[k] - largest));
        if (sum > wanted)
            return (int32_t)k;
    }
    return (int32_t)n - 1;
}

static int32_t best_word(int64_t n, const float *scores) {
    int64_t best = 0;
    for (int64_t k = 1; k < n; k++)
        best = scores[k] > scores[best] ? k : best;
    return (int32_t)best;
}

/* ---- the loop -------------------------------------------------------------------------------- */

typedef struct search_loop {
    hn_generation g;
    word_sampler *sampler; /* NULL: the best word is taken */
    int32_t *tokens;
    bool *is_done;
} search_loop;

static hone_status search_step(hn_eval *c, search_loop *l, bool *all_done) {
    hn_generation *g = &l->g;
    HN_TRY(hn_generation_run(c, g));
    HN_TRY(hn_generation_adjust(c, g));
    if (l->sampler && !l->sampler->ranked) {
        l->sampler->ranked = hn_eval_scratch_n(c, (uint64_t)g->n_words, sizeof(ranked_word));
        HN_TRY_PTR(l->sampler->ranked);
    }
    *all_done = true;
    for (int64_t b = 0; b < g->batch; b++) {
        float *scores = g->scores + b * g->n_words;
        if (l->sampler)
            filter_unlikely(l->sampler, g->n_words, scores);
        int32_t word =
            l->sampler ? draw_word(l->sampler, g->n_words, scores) : best_word(g->n_words, scores);
        l->is_done[b] |= word == g->eos;
        l->tokens[b] = l->is_done[b] ? g->pad : word;
        *all_done &= l->is_done[b];
    }
    return HONE_OK;
}

static hone_status give_sequences(hn_eval *c, const search_loop *l) {
    const hn_generation *g = &l->g;
    hn_array *y, *filtered;
    HN_TRY(hn_ret_alloc(c, 0, HN_I32, 2, (int64_t[]){g->batch, g->max_length}, &y));
    for (int64_t b = 0; y && b < g->batch; b++)
        for (int64_t i = 0; i < g->max_length; i++)
            ((int32_t *)y->data)[b * g->max_length + i] =
                i < g->length ? g->sequences[b * g->max_length + i] : g->pad;
    if (hn_n_rets(c) < 2)
        return HONE_OK;
    HN_TRY(hn_ret_alloc(c, 1, HN_F32, 2, (int64_t[]){g->batch, g->n_words}, &filtered));
    if (filtered)
        memcpy(filtered->data, g->scores, filtered->n_elems * sizeof(float));
    return HONE_OK;
}

static hone_status run_search(hn_eval *c, const hn_generation_form *form, search_loop *l) {
    bool all_done = false;
    HN_TRY(hn_generation_open(c, form, 1, &l->g));
    l->tokens = hn_eval_scratch_n(c, (uint64_t)l->g.batch, sizeof *l->tokens);
    l->is_done = hn_eval_scratch_n(c, (uint64_t)l->g.batch, sizeof *l->is_done);
    if (!l->tokens || !l->is_done)
        return HONE_E_NOMEM;
    memset(l->is_done, 0, (size_t)l->g.batch);
    while (l->g.length < l->g.max_length && !all_done) {
        HN_TRY(search_step(c, l, &all_done));
        HN_TRY(hn_generation_append(c, &l->g, l->tokens, NULL));
    }
    return give_sequences(c, l);
}

static hone_status eval_greedy_search(hn_eval *c) {
    search_loop l = {.sampler = NULL};
    hone_status status = run_search(c, &search_form, &l);
    hn_generation_close(c, &l.g);
    return status;
}
const hn_impl hn_impl_greedy_search[1] = {{.eval = eval_greedy_search}};

static hone_status eval_sampling(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    double seed;
    HN_TRY(hn_generation_scalar(c, 8, 0, &seed));
    word_sampler s = {.rng = hn_arg(c, 8) ? NULL : hn_eval_rng(c),
                      .top_p = hn_attr_f(node, "top_p", 0),
                      .filter_value = hn_attr_f(node, "filter_value", -1e20f),
                      .n_kept = hn_attr_i(node, "min_tokens_to_keep", 0),
                      .is_custom = hn_attr_i(node, "custom", 0) != 0};
    s.state = (uint64_t)(uint32_t)(int64_t)seed % MINIMAL_STANDARD_MODULUS;
    s.state = s.state ? s.state : 1;
    search_loop l = {.sampler = &s};
    hone_status status = run_search(c, &sampling_form, &l);
    hn_generation_close(c, &l.g);
    return status;
}
const hn_impl hn_impl_sampling[1] = {{.eval = eval_sampling}};
