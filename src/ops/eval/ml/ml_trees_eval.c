/* Evaluation of tree ensembles: what all trees say, added up. Trees are read once, before all runs.
 */
#include "ops/eval/widen.h"
#include "ops/eval/ml/ml_forest.h"
#include "cpu/pack/node_state.h"

#define SAMPLES_AT_ONCE 64

typedef enum forest_sum { FOREST_AVERAGE, FOREST_SUM, FOREST_MIN, FOREST_MAX } forest_sum;

typedef struct forest_job {
    const hn_forest *forest;
    forest_sum how;
    uint64_t n_samples, width, n_base;
    const double *samples, *base;
    double *scores;  /* by sample and target */
    bool asks_voted; /* whether a leaf voted for a target, besides minima and maxima */
    bool *is_voted;  /* like scores; NULL when nobody asks */
    hn_pool *pool;
} forest_job;

/* ---- trees of a node ------------------------------------------------------------------------- */

static hone_status forest_make(hn_eval *c, hn_arena *room, hn_forest *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_impl *impl = c->node.op->impl;
    if (impl == hn_impl_tree_ensemble) {
        HN_TRY(hn_forest_read(c, room, f));
    } else if (impl == hn_impl_tree_regressor) {
        int64_t n_targets = hn_attr_i(node, "n_targets", 1);
        HN_TRY(hn_forest_read_old(c, room, "target", (uint64_t)HN_MAX(n_targets, 0), f));
    } else {
        hn_ml_labels labels = hn_ml_read_labels(node, "classlabels_strings", "classlabels_int64s");
        HN_TRY(hn_forest_read_old(c, room, "class", labels.n, f));
    }
    return hn_forest_finish(c, room, f);
}

typedef struct forest_state {
    hn_arena *room;
    hn_forest forest;
} forest_state;

/* Trees that are wrong are left to the run, which says so when it comes to them. */
static hone_status prepare_forest(hn_eval *c, void **state) {
    hn_arena *room = hn_arena_new(hn_arena_allocator(c->node.scope->job->model->arena));
    forest_state *s = room ? HN_NEW_N(room, forest_state, 1) : NULL;
    hone_status status = s ? forest_make(c, room, &s->forest) : HONE_E_NOMEM;
    if (status != HONE_OK) {
        hn_arena_free(room);
        return status == HONE_E_NOMEM ? status : HONE_OK;
    }
    s->room = room;
    *state = s;
    return HONE_OK;
}

static void release_forest(const hn_op *op, void *state) {
    (void)op;
    hn_arena_free(((forest_state *)state)->room);
}

static hone_status forest_of(hn_eval *c, const hn_forest **out) {
    if (c->is_prepared && c->state) {
        *out = &((const forest_state *)c->state)->forest;
        return HONE_OK;
    }
    hn_forest *f = hn_eval_scratch(c, sizeof *f);
    HN_TRY_PTR(f);
    *f = (hn_forest){0};
    *out = f;
    return forest_make(c, hn_infer_arena(hn_eval_node(c)), f);
}

/* ---- what they say --------------------------------------------------------------------------- */

static hone_status forest_open(hn_eval *c, forest_job *j) {
    const hn_array *x = hn_arg(c, 0);
    j->n_samples = x->rank < 2 ? 1 : (uint64_t)x->dims[0];
    j->width = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1];
    double *samples = hn_eval_scratch(c, x->n_elems * sizeof *samples);
    uint64_t n_scores;
    if (!samples || !hn_mul_u64(j->n_samples, j->forest->n_targets, &n_scores))
        return HONE_E_NOMEM;
    if (j->forest->n_features > j->width)
        return hn_eval_fail(c, HONE_E_INVALID, "trees ask for %llu features, but samples have %llu",
                            (unsigned long long)j->forest->n_features,
                            (unsigned long long)j->width);
    j->scores = hn_eval_scratch_n(c, n_scores, sizeof *j->scores);
    bool has_votes = j->asks_voted || j->how == FOREST_MIN || j->how == FOREST_MAX;
    j->is_voted = has_votes ? hn_eval_scratch(c, n_scores) : NULL;
    if (!j->scores || (!j->is_voted && has_votes))
        return HONE_E_NOMEM;
    hn_load_f64(x, 0, x->n_elems, samples);
    j->samples = samples;
    j->pool = hn_eval_pool(c);
    return HONE_OK;
}

static void forest_vote(const forest_job *j, uint64_t sample, const hn_tree_vote *v) {
    uint64_t at = sample * j->forest->n_targets + v->target;
    if (j->how == FOREST_MIN || j->how == FOREST_MAX) {
        bool is_better =
            j->how == FOREST_MIN ? v->weight < j->scores[at] : v->weight > j->scores[at];
        j->scores[at] = is_better || !j->is_voted[at] ? v->weight : j->scores[at];
    } else {
        j->scores[at] += v->weight;
    }
    if (j->is_voted)
        j->is_voted[at] = true;
}

static void forest_hear(const forest_job *j, uint64_t sample, uint32_t leaf) {
    const hn_forest *f = j->forest;
    for (uint32_t v = f->nodes[leaf].first_vote; v != HN_NO_VOTE; v = f->votes[v].next)
        forest_vote(j, sample, &f->votes[v]);
}

/* One tree about n samples, or n trees about one sample: n is at most HN_FOREST_LANES. */
static void forest_ask(const forest_job *j, uint32_t tree, uint32_t tree_step, uint64_t sample,
                       uint32_t sample_step, uint32_t n) {
    uint32_t at[HN_FOREST_LANES];
    const double *samples[HN_FOREST_LANES] = {NULL};
    for (uint32_t i = 0; i < n; i++) {
        at[i] = j->forest->roots[tree + i * tree_step];
        samples[i] = j->samples + (sample + i * sample_step) * j->width;
    }
    hn_forest_walk(j->forest, n, at, samples);
    for (uint32_t i = 0; i < n; i++)
        forest_hear(j, sample + i * sample_step, at[i]);
}

/* Each sample hears the trees in their order, however they are grouped. */
static void forest_ask_range(void *ctx, int64_t begin, int64_t end) {
    const forest_job *j = ctx;
    const hn_forest *f = j->forest;
    uint64_t first = (uint64_t)begin * f->n_targets,
             n_scores = (uint64_t)(end - begin) * f->n_targets;
    if (hn_pool_is_stopped(j->pool))
        return;
    memset(j->scores + first, 0, (size_t)n_scores * sizeof *j->scores);
    if (j->is_voted)
        memset(j->is_voted + first, 0, (size_t)n_scores * sizeof *j->is_voted);
    if (end - begin < HN_FOREST_LANES) {
        for (int64_t s = begin; s < end; s++)
            for (uint32_t t = 0; t < f->n_roots; t += HN_FOREST_LANES)
                forest_ask(j, t, 1, (uint64_t)s, 0, HN_MIN(f->n_roots - t, HN_FOREST_LANES));
        return;
    }
    for (uint32_t t = 0; t < f->n_roots; t++)
        for (int64_t s = begin; s < end; s += HN_FOREST_LANES)
            forest_ask(j, t, 0, (uint64_t)s, 1, (uint32_t)HN_MIN(end - s, HN_FOREST_LANES));
}

/* Asks all trees about all samples; base values are added by the caller. */
static hone_status forest_ask_all(hn_eval *c, forest_job *j) {
    const hn_forest *f = j->forest;
    HN_TRY(forest_open(c, j));
    hn_pool_for(j->pool, (int64_t)j->n_samples, SAMPLES_AT_ONCE, forest_ask_range, j);
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    for (uint64_t k = 0;
         j->how == FOREST_AVERAGE && f->n_roots > 0 && k < j->n_samples * f->n_targets; k++)
        j->scores[k] /= f->n_roots;
    return HONE_OK;
}

/* ---- regression ------------------------------------------------------------------------------ */

static hone_status forest_regress(hn_eval *c, forest_job *j, hn_ml_post post) {
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    HN_TRY(forest_of(c, &j->forest));
    uint64_t n = j->forest->n_targets;
    HN_TRY(forest_ask_all(c, j));
    if (y->n_elems != j->n_samples * n)
        return hn_eval_fail(c, HONE_E_SHAPE,
                            "the output does not have one column for each of %llu targets",
                            (unsigned long long)n);
    float *row = hn_eval_scratch(c, n * sizeof *row);
    HN_TRY_PTR(row);
    for (uint64_t s = 0; s < j->n_samples; s++) {
        double *scores = j->scores + s * n;
        for (uint64_t k = 0; k < n; k++) {
            scores[k] += j->n_base == n ? j->base[k] : j->n_base == 1 ? j->base[0] : 0;
            row[k] = (float)scores[k];
        }
        hn_ml_transform(post, n, row);
        if (post == HN_POST_NONE)
            hn_store_f64(y, s * n, n, scores); /* doubles keep their precision */
        else
            hn_store_f32(y, s * n, n, row);
    }
    return HONE_OK;
}

static hone_status eval_tree_ensemble(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    int64_t how = hn_attr_i(node, "aggregate_function", FOREST_SUM),
            post = hn_attr_i(node, "post_transform", HN_POST_NONE);
    forest_job j = {0};
    if (how < FOREST_AVERAGE || how > FOREST_MAX || post < HN_POST_NONE || post > HN_POST_PROBIT)
        return hn_eval_fail(
            c, HONE_E_INVALID,
            "aggregate_function is %lld and post_transform %lld; the largest are %d and %d",
            (long long)how, (long long)post, FOREST_MAX, HN_POST_PROBIT);
    j.how = (forest_sum)how;
    return forest_regress(c, &j, (hn_ml_post)post);
}
const hn_impl hn_impl_tree_ensemble[1] = {
    {.eval = eval_tree_ensemble, .prepare = prepare_forest, .release = release_forest}};

static hone_status eval_tree_regressor(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    forest_job j = {.how = FOREST_SUM};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(node, "aggregate_function", names[i]))
            j.how = (forest_sum)i;
    HN_TRY(hn_ml_doubles(c, "base_values", "base_values_as_tensor", &j.n_base, &j.base));
    return forest_regress(c, &j, hn_ml_read_post(node));
}
const hn_impl hn_impl_tree_regressor[1] = {
    {.eval = eval_tree_regressor, .prepare = prepare_forest, .release = release_forest}};

/* ---- classification -------------------------------------------------------------------------- */

/* Two classes of which all leaves vote for one: its score decides. That of the first class is taken
 * for the second's when there is no base value for each, and the other's is derived from it. */
typedef struct binary_rule {
    bool is_binary;
    uint64_t voted;      /* the class that all leaves vote for */
    bool is_probability; /* no weight is negative: 0.5 decides, else 0 */
} binary_rule;

static binary_rule find_binary_rule(const hn_forest *f) {
    return (binary_rule){.is_binary = f->n_targets == 2 && f->votes_for_one,
                         .voted = f->n_votes ? f->votes[0].target : 0,
                         .is_probability = !f->has_negative_votes};
}

/* One base value for two classes belongs to the first. A class that no leaf voted for is not the
 * best one, however small the scores of the others are. */
static uint64_t score_classes(const forest_job *j, uint64_t sample, hn_ml_post post, float *row) {
    uint64_t n = j->forest->n_targets, best = UINT64_MAX;
    const double *scores = j->scores + sample * n;
    for (uint64_t k = 0; k < n; k++) {
        bool has_base = j->n_base == n || (j->n_base == 1 && k == 0 && n == 2);
        row[k] = (float)(scores[k] + (has_base ? j->base[k] : 0));
        bool is_candidate = !j->is_voted || j->is_voted[sample * n + k];
        if (is_candidate && (best == UINT64_MAX || row[k] > row[best]))
            best = k;
    }
    hn_ml_transform(post, n, row);
    return best == UINT64_MAX ? 0 : best;
}

static uint64_t score_binary(const forest_job *j, uint64_t sample, const binary_rule *r,
                             hn_ml_post post, float *row) {
    double base = j->n_base > r->voted ? j->base[r->voted] : 0;
    float score = (float)(j->scores[2 * sample + r->voted] + base);
    if (r->voted == 0 && j->n_base < 2)
        hn_ml_two_scores(post, r->is_probability, score, row);
    else
        score_classes(j, sample, post, row);
    return score > (r->is_probability ? 0.5f : 0.0f);
}

static hone_status eval_tree_classifier(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_ml_labels labels = hn_ml_read_labels(node, "classlabels_strings", "classlabels_int64s");
    hn_ml_post post = hn_ml_read_post(node);
    hn_array *y = hn_ret(c, 0), *z = hn_ret(c, 1);
    forest_job j = {.how = FOREST_SUM};
    HN_TRY(forest_of(c, &j.forest));
    HN_TRY(hn_ml_doubles(c, "base_values", "base_values_as_tensor", &j.n_base, &j.base));
    j.asks_voted = j.forest->n_targets > 2 && j.n_base != j.forest->n_targets;
    HN_TRY(forest_ask_all(c, &j));
    binary_rule rule = find_binary_rule(j.forest);
    float *row = hn_eval_scratch(c, (labels.n + 2) * sizeof *row);
    HN_TRY_PTR(row);
    if (z && z->n_elems != j.n_samples * labels.n)
        return hn_eval_fail(c, HONE_E_SHAPE, "the scores need one column for each of %llu labels",
                            (unsigned long long)labels.n);
    for (uint64_t s = 0; s < j.n_samples; s++) {
        uint64_t best = rule.is_binary ? score_binary(&j, s, &rule, post, row)
                                       : score_classes(&j, s, post, row);
        if (y)
            HN_TRY(hn_ml_put_label(c, y, s, &labels, best));
        if (z)
            hn_store_f32(z, s * labels.n, labels.n, row);
    }
    return HONE_OK;
}
const hn_impl hn_impl_tree_classifier[1] = {
    {.eval = eval_tree_classifier, .prepare = prepare_forest, .release = release_forest}};
