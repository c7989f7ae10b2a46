/* Evaluation of tree ensembles: what all trees say, added up. */
#include "ops/ml_forest.h"

typedef enum forest_sum { FOREST_AVERAGE, FOREST_SUM, FOREST_MIN, FOREST_MAX } forest_sum;

typedef struct forest_job {
    hn_forest forest;
    forest_sum how;
    uint64_t n_samples, width, n_base;
    const double *samples, *base;
    double *scores; /* of one sample, by target */
    bool *is_voted;
} forest_job;

static hone_status forest_open(hn_eval *c, forest_job *j) {
    const hn_array *x = hn_arg(c, 0);
    j->n_samples = x->rank < 2 ? 1 : (uint64_t)x->dims[0];
    j->width = x->rank == 0 ? 1 : (uint64_t)x->dims[x->rank - 1];
    double *samples = hn_eval_scratch(c, x->n_elems * sizeof *samples);
    j->scores = hn_eval_scratch(c, j->forest.n_targets * sizeof *j->scores);
    j->is_voted = hn_eval_scratch(c, j->forest.n_targets * sizeof *j->is_voted);
    if (!samples || !j->scores || !j->is_voted)
        return HONE_E_NOMEM;
    hn_load_f64(x, 0, x->n_elems, samples);
    j->samples = samples;
    return HONE_OK;
}

static void forest_vote(forest_job *j, const hn_tree_vote *v) {
    double *score = &j->scores[v->target];
    bool is_first = !j->is_voted[v->target];
    if (j->how == FOREST_MIN)
        *score = is_first || v->weight < *score ? v->weight : *score;
    else if (j->how == FOREST_MAX)
        *score = is_first || v->weight > *score ? v->weight : *score;
    else
        *score += v->weight;
    j->is_voted[v->target] = true;
}

/* Asks all trees about one sample; base values are added by the caller. */
static hone_status forest_ask(hn_eval *c, forest_job *j, uint64_t sample) {
    const hn_forest *f = &j->forest;
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    memset(j->scores, 0, (size_t)f->n_targets * sizeof *j->scores);
    memset(j->is_voted, 0, (size_t)f->n_targets * sizeof *j->is_voted);
    for (uint32_t t = 0; t < f->n_roots; t++) {
        const hn_tree_node *leaf = hn_forest_leaf(f, f->roots[t], j->width, j->samples + sample * j->width);
        if (!leaf)
            return hn_eval_fail(c, HONE_E_INVALID, "tree %u runs in a circle, or asks for a feature that the input does not have", t);
        for (uint32_t v = leaf->first_vote; v != HN_NO_VOTE; v = f->votes[v].next)
            forest_vote(j, &f->votes[v]);
    }
    for (uint64_t k = 0; j->how == FOREST_AVERAGE && f->n_roots > 0 && k < f->n_targets; k++)
        j->scores[k] /= f->n_roots;
    return HONE_OK;
}

/* ---- regression ------------------------------------------------------------------------------ */

static hone_status forest_regress(hn_eval *c, forest_job *j, hn_ml_post post) {
    hn_array *y = hn_ret(c, 0);
    uint64_t n = j->forest.n_targets;
    if (!y)
        return HONE_OK;
    HN_TRY(forest_open(c, j));
    if (y->n_elems != j->n_samples * n)
        return hn_eval_fail(c, HONE_E_SHAPE, "the output does not have one column for each of %llu targets", (unsigned long long)n);
    float *row = hn_eval_scratch(c, n * sizeof *row);
    HN_TRY_PTR(row);
    for (uint64_t s = 0; s < j->n_samples; s++) {
        HN_TRY(forest_ask(c, j, s));
        for (uint64_t k = 0; k < n; k++) {
            j->scores[k] += j->n_base == n ? j->base[k] : j->n_base == 1 ? j->base[0] : 0;
            row[k] = (float)j->scores[k];
        }
        hn_ml_transform(post, n, row);
        if (post == HN_POST_NONE)
            hn_store_f64(y, s * n, n, j->scores); /* doubles keep their precision */
        else
            hn_store_f32(y, s * n, n, row);
    }
    return HONE_OK;
}

hone_status hn_eval_tree_ensemble(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    int64_t how = hn_attr_i(node, "aggregate_function", FOREST_SUM), post = hn_attr_i(node, "post_transform", HN_POST_NONE);
    forest_job j = {0};
    if (how < FOREST_AVERAGE || how > FOREST_MAX || post < HN_POST_NONE || post > HN_POST_PROBIT)
        return hn_eval_fail(c, HONE_E_INVALID, "aggregate_function is %lld and post_transform %lld; the largest are %d and %d",
                            (long long)how, (long long)post, FOREST_MAX, HN_POST_PROBIT);
    j.how = (forest_sum)how;
    HN_TRY(hn_forest_read(c, &j.forest));
    return forest_regress(c, &j, (hn_ml_post)post);
}

hone_status hn_eval_tree_regressor(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    static const char *const names[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    int64_t n_targets = hn_attr_i(node, "n_targets", 1);
    forest_job j = {.how = FOREST_SUM};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(node, "aggregate_function", names[i]))
            j.how = (forest_sum)i;
    HN_TRY(hn_forest_read_old(c, "target", (uint64_t)HN_MAX(n_targets, 0), &j.forest));
    HN_TRY(hn_ml_doubles(c, "base_values", "base_values_as_tensor", &j.n_base, &j.base));
    return forest_regress(c, &j, hn_ml_read_post(node));
}

/* ---- classification -------------------------------------------------------------------------- */

/* Two classes of which all leaves vote for one: its score decides. That of the first class is taken for the second's when there is no
 * base value for each, and the other's is derived from it. */
typedef struct binary_rule {
    bool is_binary;
    uint64_t voted;         /* the class that all leaves vote for */
    bool is_probability;    /* no weight is negative: 0.5 decides, else 0 */
} binary_rule;

static binary_rule find_binary_rule(const hn_forest *f) {
    binary_rule r = {.is_binary = f->n_targets == 2 && f->n_votes > 0, .is_probability = true};
    r.voted = f->n_votes ? f->votes[0].target : 0;
    for (uint32_t i = 0; i < f->n_votes; i++) {
        r.is_binary &= f->votes[i].target == r.voted;
        r.is_probability &= f->votes[i].weight >= 0;
    }
    return r;
}

/* One base value for two classes belongs to the first. */
static uint64_t score_classes(const forest_job *j, hn_ml_post post, float *row) {
    uint64_t n = j->forest.n_targets, best = 0;
    for (uint64_t k = 0; k < n; k++) {
        bool has_base = j->n_base == n || (j->n_base == 1 && k == 0 && n == 2);
        row[k] = (float)(j->scores[k] + (has_base ? j->base[k] : 0));
        best = row[k] > row[best] ? k : best;
    }
    hn_ml_transform(post, n, row);
    return best;
}

static uint64_t score_binary(const forest_job *j, const binary_rule *r, hn_ml_post post, float *row) {
    double base = j->n_base > r->voted ? j->base[r->voted] : 0;
    float score = (float)(j->scores[r->voted] + base);
    if (r->voted == 0 && j->n_base < 2)
        hn_ml_two_scores(post, r->is_probability, score, row);
    else
        score_classes(j, post, row);
    return score > (r->is_probability ? 0.5f : 0.0f);
}

hone_status hn_eval_tree_classifier(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_ml_labels labels = hn_ml_read_labels(node, "classlabels_strings", "classlabels_int64s");
    hn_ml_post post = hn_ml_read_post(node);
    hn_array *y = hn_ret(c, 0), *z = hn_ret(c, 1);
    forest_job j = {.how = FOREST_SUM};
    HN_TRY(hn_forest_read_old(c, "class", labels.n, &j.forest));
    HN_TRY(hn_ml_doubles(c, "base_values", "base_values_as_tensor", &j.n_base, &j.base));
    HN_TRY(forest_open(c, &j));
    binary_rule rule = find_binary_rule(&j.forest);
    float *row = hn_eval_scratch(c, (labels.n + 2) * sizeof *row);
    HN_TRY_PTR(row);
    if (z && z->n_elems != j.n_samples * labels.n)
        return hn_eval_fail(c, HONE_E_SHAPE, "the scores need one column for each of %llu labels", (unsigned long long)labels.n);
    for (uint64_t s = 0; s < j.n_samples; s++) {
        HN_TRY(forest_ask(c, &j, s));
        uint64_t best = rule.is_binary ? score_binary(&j, &rule, post, row) : score_classes(&j, post, row);
        if (y)
            HN_TRY(hn_ml_put_label(c, y, s, &labels, best));
        if (z)
            hn_store_f32(z, s * labels.n, labels.n, row);
    }
    return HONE_OK;
}
