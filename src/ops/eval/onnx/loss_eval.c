/* Losses and optimizers, computed. */
#include "ops/eval/widen.h"

#include <math.h>

/* ---- losses ---------------------------------------------------------------------------------- */

/* Scores [N, C, D] with D all positions of one sample. */
typedef struct loss_form {
    int64_t samples, classes, positions;
    const double *scores;  /* logarithms of probabilities */
    const double *weights; /* per class; may be NULL */
    bool has_ignored;
    int64_t ignored;
} loss_form;

static hone_status read_loss_form(hn_eval *c, loss_form *f) {
    const hn_array *x = hn_arg(c, 0), *weights = hn_arg(c, 2);
    const hn_infer *node = hn_eval_node(c);
    *f = (loss_form){.samples = x->dims[0], .classes = x->dims[1]};
    f->positions = (int64_t)hn_count(x->rank - 2, x->dims + 2);
    f->scores = hn_wide_f64(c, x);
    f->weights = weights ? hn_wide_f64(c, weights) : NULL;
    f->has_ignored = hn_has_attr(node, "ignore_index");
    f->ignored = hn_attr_i(node, "ignore_index", 0);
    HN_TRY_PTR(f->scores && (!weights || f->weights));
    return HONE_OK;
}

/* The loss at one position and the weight that it has in a mean. */
static hone_status loss_at(hn_eval *c, const loss_form *f, int64_t i, double *loss,
                           double *weight) {
    int64_t label;
    hn_load_i64(hn_arg(c, 1), (uint64_t)i, 1, &label);
    *loss = *weight = 0;
    if (f->has_ignored && label == f->ignored)
        return HONE_OK;
    if (label < 0 || label >= f->classes)
        return hn_eval_fail(c, HONE_E_INVALID,
                            "label %lld at position %lld, but there are %lld classes",
                            (long long)label, (long long)i, (long long)f->classes);
    *weight = f->weights ? f->weights[label] : 1;
    *loss = -*weight *
            f->scores[(i / f->positions * f->classes + label) * f->positions + i % f->positions];
    return HONE_OK;
}

static hone_status run_loss(hn_eval *c, const loss_form *f, hn_array *y) {
    const hn_infer *node = hn_eval_node(c);
    bool keeps_all = hn_attr_is(node, "reduction", "none");
    double sum = 0, all_weights = 0;
    for (int64_t i = 0; y && i < f->samples * f->positions && !hn_spent(16); i++) {
        double loss, weight;
        HN_TRY(loss_at(c, f, i, &loss, &weight));
        sum += loss;
        all_weights += weight;
        if (keeps_all)
            hn_store_f64(y, (uint64_t)i, 1, &loss);
    }
    if (hn_attr_is(node, "reduction", "mean"))
        sum /= all_weights;
    if (y && !keeps_all)
        hn_store_f64(y, 0, 1, &sum);
    return HONE_OK;
}

static hone_status eval_nll_loss(hn_eval *c) {
    loss_form f;
    HN_TRY(read_loss_form(c, &f));
    return run_loss(c, &f, hn_ret(c, 0));
}
const hn_impl hn_impl_nll_loss[1] = {{.eval = eval_nll_loss}};

/* The logarithm of the softmax over the classes of one position. */
static void log_softmax_at(const loss_form *f, int64_t i, double *out) {
    int64_t begin = i / f->positions * f->classes * f->positions + i % f->positions;
    double top = -HUGE_VAL, sum = 0;
    for (int64_t k = 0; k < f->classes; k++)
        top = fmax(top, f->scores[begin + k * f->positions]);
    for (int64_t k = 0; k < f->classes; k++)
        sum += exp(f->scores[begin + k * f->positions] - top);
    for (int64_t k = 0; k < f->classes; k++)
        out[begin + k * f->positions] = f->scores[begin + k * f->positions] - top - log(sum);
}

static hone_status eval_softmax_ce_loss(hn_eval *c) {
    hn_array *log_prob = hn_ret(c, 1);
    uint64_t n = hn_arg(c, 0)->n_elems;
    loss_form f;
    HN_TRY(read_loss_form(c, &f));
    double *logs = hn_eval_scratch_n(c, n, sizeof *logs);
    HN_TRY_PTR(logs);
    for (int64_t i = 0; i < f.samples * f.positions && !hn_spent(16 * (uint64_t)f.classes); i++)
        log_softmax_at(&f, i, logs);
    if (log_prob)
        hn_store_f64(log_prob, 0, n, logs);
    f.scores = logs;
    return run_loss(c, &f, hn_ret(c, 0));
}
const hn_impl hn_impl_softmax_ce_loss[1] = {{.eval = eval_softmax_ce_loss}};

/* ---- optimizers ------------------------------------------------------------------------------ */

enum { STATE_MOST = 2 };

typedef struct optimizer_form {
    double rate, alpha, beta, epsilon, norm, norm_post;
    bool is_first, is_nesterov;
} optimizer_form;

/* x: a parameter, g: its gradient, s: its states; x and s become the new ones. */
typedef void (*optimizer_step)(const optimizer_form *f, double *x, double g, double s[STATE_MOST]);

static void adam_step(const optimizer_form *f, double *x, double g, double s[STATE_MOST]) {
    g += f->norm * *x;
    s[0] = f->alpha * s[0] + (1 - f->alpha) * g;
    s[1] = f->beta * s[1] + (1 - f->beta) * g * g;
    *x = (1 - f->norm_post) * (*x - f->rate * s[0] / (sqrt(s[1]) + f->epsilon));
}

static void adagrad_step(const optimizer_form *f, double *x, double g, double s[STATE_MOST]) {
    g += f->norm * *x;
    s[0] += g * g;
    *x -= f->rate * g / (sqrt(s[0]) + f->epsilon);
}

static void momentum_step(const optimizer_form *f, double *x, double g, double s[STATE_MOST]) {
    g += f->norm * *x;
    s[0] = f->alpha * s[0] + (f->is_first ? 1 : f->beta) * g;
    *x -= f->rate * (f->is_nesterov ? g + f->alpha * s[0] : s[0]);
}

static void store_if_wanted(hn_eval *c, uint32_t i, uint64_t at, double v) {
    if (hn_ret(c, i))
        hn_store_f64(hn_ret(c, i), at, 1, &v);
}

/* Inputs after rate and step: n parameters, n gradients, n of each state. Outputs: the same without
 * the gradients. */
static hone_status run_optimizer(hn_eval *c, const optimizer_form *f, uint32_t n_states,
                                 optimizer_step step) {
    uint32_t n = (hn_n_args(c) - 2) / (2 + n_states);
    for (uint32_t p = 0; p < n; p++) {
        const hn_array *params = hn_arg(c, 2 + p), *gradients = hn_arg(c, 2 + n + p);
        bool fits = params && gradients && gradients->n_elems == params->n_elems;
        for (uint32_t k = 0; k < n_states && fits; k++)
            fits = hn_arg(c, 2 + (2 + k) * n + p) &&
                   hn_arg(c, 2 + (2 + k) * n + p)->n_elems == params->n_elems;
        if (!fits)
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "parameter %u, its gradient and its state differ in size", p);
        for (uint64_t i = 0; i < params->n_elems && !hn_spent(64); i++) {
            double x, g, s[STATE_MOST] = {0};
            hn_load_f64(params, i, 1, &x);
            hn_load_f64(gradients, i, 1, &g);
            for (uint32_t k = 0; k < n_states; k++)
                hn_load_f64(hn_arg(c, 2 + (2 + k) * n + p), i, 1, &s[k]);
            step(f, &x, g, s);
            store_if_wanted(c, p, i, x);
            for (uint32_t k = 0; k < n_states; k++)
                store_if_wanted(c, (1 + k) * n + p, i, s[k]);
        }
    }
    return HONE_OK;
}

static optimizer_form read_optimizer(const hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    return (optimizer_form){.rate = hn_arg_f64_or(c, 0, 0),
                            .alpha = (double)hn_attr_f(node, "alpha", 0.9f),
                            .beta = (double)hn_attr_f(node, "beta", 0.999f),
                            .epsilon = (double)hn_attr_f(node, "epsilon", 1e-6f),
                            .norm = (double)hn_attr_f(node, "norm_coefficient", 0),
                            .norm_post = (double)hn_attr_f(node, "norm_coefficient_post", 0),
                            .is_first = hn_arg_i64_or(c, 1, 0) <= 0,
                            .is_nesterov = hn_attr_is(node, "mode", "nesterov")};
}

static hone_status eval_adam(hn_eval *c) {
    optimizer_form f = read_optimizer(c);
    double t = (double)hn_arg_i64_or(c, 1, 0);
    if (t > 0)
        f.rate *= sqrt(1 - pow(f.beta, t)) / (1 - pow(f.alpha, t));
    return run_optimizer(c, &f, 2, adam_step);
}
const hn_impl hn_impl_adam[1] = {{.eval = eval_adam}};

static hone_status eval_adagrad(hn_eval *c) {
    optimizer_form f = read_optimizer(c);
    f.rate /=
        1 + (double)hn_arg_i64_or(c, 1, 0) * (double)hn_attr_f(hn_eval_node(c), "decay_factor", 0);
    return run_optimizer(c, &f, 1, adagrad_step);
}
const hn_impl hn_impl_adagrad[1] = {{.eval = eval_adagrad}};

static hone_status eval_momentum(hn_eval *c) {
    optimizer_form f = read_optimizer(c);
    return run_optimizer(c, &f, 1, momentum_step);
}
const hn_impl hn_impl_momentum[1] = {{.eval = eval_momentum}};
