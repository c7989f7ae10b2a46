/* Evaluation of linear and support vector models of ai.onnx.ml. */
#include "cpu/kernels/kernel.h"
#include "ops/eval/ml/ml_svm_kernels.h"

#include <math.h>

static float dot(uint64_t n, const float *a, const float *b) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return (float)sum;
}

static hone_status fail_lengths(hn_eval *c, const char *name, uint64_t n, uint64_t expected) {
    return hn_eval_fail(c, HONE_E_INVALID, "%s has %llu entries, but %llu are needed", name,
                        (unsigned long long)n, (unsigned long long)expected);
}

/* ---- linear models --------------------------------------------------------------------------- */

typedef struct linear_model {
    hn_ml_samples_in in;
    const float *coefficients, *intercepts;
    uint64_t n_scores, n_intercepts;
} linear_model;

/* Without n_scores there is one score for each intercept, or for each row of coefficients. More
 * coefficients than needed are left over, and as many intercepts as scores count, as in other
 * runtimes. */
static hone_status linear_open(hn_eval *c, uint64_t n_scores, linear_model *m) {
    uint64_t n;
    m->coefficients = hn_ml_floats(hn_eval_node(c), "coefficients", &n);
    m->intercepts = hn_ml_floats(hn_eval_node(c), "intercepts", &m->n_intercepts);
    HN_TRY(hn_ml_read_samples(c, &m->in));
    m->n_scores = n_scores          ? n_scores
                  : m->n_intercepts ? m->n_intercepts
                  : m->in.width     ? n / m->in.width
                                    : 0;
    uint64_t expected;
    if (!hn_mul_u64(m->n_scores, m->in.width, &expected) || n < expected)
        return fail_lengths(c, "coefficients", n, m->n_scores * m->in.width);
    if (m->n_intercepts != m->n_scores)
        m->n_intercepts = 0;
    return HONE_OK;
}

static void linear_scores(const linear_model *m, uint64_t sample, float *out) {
    for (uint64_t k = 0; k < m->n_scores; k++) {
        out[k] =
            dot(m->in.width, m->in.rows + sample * m->in.width, m->coefficients + k * m->in.width);
        out[k] += m->n_intercepts ? m->intercepts[k] : 0;
    }
}

static hone_status eval_linear_regressor(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_array *y = hn_ret(c, 0);
    linear_model m;
    if (!y)
        return HONE_OK;
    HN_TRY(linear_open(c, (uint64_t)HN_MAX(hn_attr_i(node, "targets", 1), 1), &m));
    for (uint64_t s = 0; s < m.in.n; s++) {
        float *row = (float *)y->data + s * m.n_scores;
        linear_scores(&m, s, row);
        hn_ml_transform(hn_ml_read_post(node), m.n_scores, row);
    }
    return HONE_OK;
}
const hn_impl hn_impl_linear_regressor[1] = {{.eval = eval_linear_regressor}};

static uint64_t best_of(uint64_t n, const float *scores) {
    uint64_t best = 0;
    for (uint64_t k = 1; k < n; k++)
        best = scores[k] > scores[best] ? k : best;
    return best;
}

static hone_status eval_linear_classifier(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_ml_labels labels = hn_ml_read_labels(node, "classlabels_strings", "classlabels_ints");
    hn_ml_post post = hn_ml_read_post(node);
    hn_array *y = hn_ret(c, 0), *z;
    linear_model m;
    HN_TRY(linear_open(c, 0, &m));
    bool is_binary = m.n_scores == 1 && labels.n == 2;
    uint64_t n = is_binary ? 2 : m.n_scores;
    HN_TRY(hn_ret_alloc(c, 1, HN_F32, 2, (int64_t[]){(int64_t)m.in.n, (int64_t)n}, &z));
    float *row = hn_eval_scratch(c, (n + 1) * sizeof *row);
    HN_TRY_PTR(row);
    for (uint64_t s = 0; s < m.in.n; s++) {
        linear_scores(&m, s, row);
        uint64_t best = m.n_scores == 1 ? row[0] > 0 : best_of(n, row);
        if (is_binary)
            hn_ml_two_scores(post, post != HN_POST_LOGISTIC, row[0], row);
        else
            hn_ml_transform(post, n, row);
        if (y)
            HN_TRY(hn_ml_put_label(c, y, s, &labels, best));
        if (z)
            hn_store_f32(z, s * n, n, row);
    }
    return HONE_OK;
}
const hn_impl hn_impl_linear_classifier[1] = {{.eval = eval_linear_classifier}};

/* ---- kernels --------------------------------------------------------------------------------- */

typedef enum svm_kernel { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID } svm_kernel;

typedef struct svm_model {
    hn_ml_samples_in in;
    svm_kernel kernel;
    float gamma, coef0, degree;
    const float *vectors, *coefficients, *rho, *prob_a, *prob_b;
    const int64_t *per_class;
    uint64_t n_vectors, n_coefficients, n_rho, n_prob, n_classes;
    const hn_svm_tiles *tiles; /* NULL: vectors are taken one by one */
    float *kernels;            /* of one sample with every vector */
} svm_model;

/* From the products, or squared distances, of one sample and every vector. */
static void svm_finish_kernels(const svm_model *m) {
    hn_unary_fn_f32 exp_of = m->kernel == KERNEL_RBF ? hn_unary_find_f32("Exp") : NULL;
    float *k = m->kernels;
    for (uint64_t v = 0; v < m->n_vectors; v++) {
        if (m->kernel == KERNEL_RBF)
            k[v] = exp_of ? -m->gamma * k[v] : expf(-m->gamma * k[v]);
        else if (m->kernel == KERNEL_POLY)
            k[v] = powf(m->gamma * k[v] + m->coef0, m->degree);
        else if (m->kernel == KERNEL_SIGMOID)
            k[v] = tanhf(m->gamma * k[v] + m->coef0);
    }
    if (exp_of)
        exp_of(k, k, m->n_vectors, 0, 0);
}

static float svm_distance(uint64_t n, const float *a, const float *b) {
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
    return (float)sum;
}

static hone_status svm_open(hn_eval *c, svm_model *m) {
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const hn_infer *node = hn_eval_node(c);
    uint64_t n_params;
    *m = (svm_model){.kernel = KERNEL_LINEAR};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(node, "kernel_type", names[i]))
            m->kernel = (svm_kernel)i;
    const float *params = hn_ml_floats(node, "kernel_params", &n_params);
    if (n_params >= 3) {
        m->gamma = params[0];
        m->coef0 = params[1];
        m->degree = params[2];
    }
    m->coefficients = hn_ml_floats(node, "coefficients", &m->n_coefficients);
    m->rho = hn_ml_floats(node, "rho", &m->n_rho);
    if (m->n_rho == 0)
        return hn_eval_fail(c, HONE_E_INVALID, "rho is empty");
    return hn_ml_read_samples(c, &m->in);
}

static hone_status svm_read_vectors(hn_eval *c, svm_model *m, uint64_t n_vectors) {
    uint64_t n, expected;
    m->vectors = hn_ml_floats(hn_eval_node(c), "support_vectors", &n);
    m->n_vectors = n_vectors;
    if (!hn_mul_u64(n_vectors, m->in.width, &expected) || n != expected)
        return fail_lengths(c, "support_vectors", n, n_vectors * m->in.width);
    m->tiles = hn_svm_tiles_of(c, n_vectors, m->in.width);
    m->kernels = hn_eval_scratch(c, n_vectors * sizeof *m->kernels);
    return m->kernels ? HONE_OK : HONE_E_NOMEM;
}

static void svm_run_kernels(const svm_model *m, uint64_t sample) {
    const float *row = m->in.rows + sample * m->in.width;
    bool is_rbf = m->kernel == KERNEL_RBF;
    if (m->tiles && is_rbf)
        hn_svm_distances(m->tiles, row, m->kernels);
    else if (m->tiles)
        hn_svm_products(m->tiles, row, m->kernels);
    for (uint64_t v = 0; v < m->n_vectors && !m->tiles; v++) {
        const float *vector = m->vectors + v * m->in.width;
        m->kernels[v] =
            is_rbf ? svm_distance(m->in.width, row, vector) : dot(m->in.width, row, vector);
    }
    svm_finish_kernels(m);
}

/* ---- SVMRegressor ---------------------------------------------------------------------------- */

static hone_status eval_svm_regressor(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_array *y = hn_ret(c, 0);
    int64_t n_supports = hn_attr_i(node, "n_supports", 0);
    bool is_one_class = hn_attr_i(node, "one_class", 0) != 0;
    svm_model m;
    if (!y)
        return HONE_OK;
    HN_TRY(svm_open(c, &m));
    if (n_supports > 0)
        HN_TRY(svm_read_vectors(c, &m, (uint64_t)n_supports));
    uint64_t expected = n_supports > 0 ? m.n_vectors : m.in.width;
    if (m.n_coefficients < expected)
        return fail_lengths(c, "coefficients", m.n_coefficients, expected);
    for (uint64_t s = 0; s < m.in.n && !hn_spent(m.in.width * (m.n_vectors + 1)); s++) {
        float score;
        if (n_supports > 0) {
            svm_run_kernels(&m, s);
            score = dot(m.n_vectors, m.kernels, m.coefficients);
        } else {
            score = dot(m.in.width, m.in.rows + s * m.in.width, m.coefficients);
        }
        score += m.rho[0];
        if (is_one_class)
            score = score > 0 ? 1.0f : -1.0f;
        else
            hn_ml_transform(hn_ml_read_post(node), 1, &score);
        ((float *)y->data)[s] = score;
    }
    return HONE_OK;
}
const hn_impl hn_impl_svm_regressor[1] = {
    {.eval = eval_svm_regressor, .prepare = hn_svm_prepare, .release = hn_svm_release}};

/* ---- SVMClassifier --------------------------------------------------------------------------- */

static hone_status svm_open_classes(hn_eval *c, svm_model *m, uint64_t n_labels) {
    const hn_infer *node = hn_eval_node(c);
    uint64_t n_vectors = 0, n_classes, n_prob_b;
    m->per_class = hn_ml_ints(node, "vectors_per_class", &n_classes);
    m->prob_a = hn_ml_floats(node, "prob_a", &m->n_prob);
    m->prob_b = hn_ml_floats(node, "prob_b", &n_prob_b);
    m->n_classes = n_labels;
    if (n_classes == 0) { /* linear: one row of coefficients for each class */
        uint64_t expected;
        if (!hn_mul_u64(m->n_classes, m->in.width, &expected) || m->n_coefficients != expected)
            return fail_lengths(c, "coefficients", m->n_coefficients, m->n_classes * m->in.width);
        return HONE_OK;
    }
    uint64_t n_pairs = n_classes * (n_classes - 1) / 2;
    for (uint64_t k = 0; k < n_classes; k++)
        if (m->per_class[k] < 0 || !hn_add_u64(n_vectors, (uint64_t)m->per_class[k], &n_vectors))
            return hn_eval_fail(c, HONE_E_INVALID,
                                "vectors_per_class has an entry that is negative or too large");
    if (n_classes != n_labels)
        return fail_lengths(c, "vectors_per_class", n_classes, n_labels);
    HN_TRY(svm_read_vectors(c, m, n_vectors));
    if (m->n_coefficients < (n_classes - 1) * n_vectors)
        return fail_lengths(c, "coefficients", m->n_coefficients, (n_classes - 1) * n_vectors);
    if (m->n_rho < n_pairs)
        return fail_lengths(c, "rho", m->n_rho, n_pairs);
    if (m->n_prob > 0 && (m->n_prob < n_pairs || n_prob_b < n_pairs))
        return fail_lengths(c, "prob_a or prob_b", HN_MIN(m->n_prob, n_prob_b), n_pairs);
    return HONE_OK;
}

/* What the vectors of one class say in the duel with another, whose row of coefficients is `row`.
 */
static double svm_side(const svm_model *m, uint64_t row, uint64_t first, int64_t n) {
    double sum = 0;
    for (uint64_t v = first; v < first + (uint64_t)n; v++)
        sum += (double)m->coefficients[row * m->n_vectors + v] * (double)m->kernels[v];
    return sum;
}

/* Every pair of classes fights a duel: its score goes to `duels`, and the winner gets a vote. */
static void svm_duels(const svm_model *m, float *duels, uint64_t *votes) {
    uint64_t first_i = 0, pair = 0;
    for (uint64_t i = 0; i < m->n_classes; i++) {
        uint64_t first_j = first_i + (uint64_t)m->per_class[i];
        for (uint64_t j = i + 1; j < m->n_classes; j++, pair++) {
            double sum = svm_side(m, j - 1, first_i, m->per_class[i]) +
                         svm_side(m, i, first_j, m->per_class[j]);
            duels[pair] = (float)(sum + (double)m->rho[pair]);
            votes[duels[pair] > 0 ? i : j]++;
            first_j += (uint64_t)m->per_class[j];
        }
        first_i += (uint64_t)m->per_class[i];
    }
}

/* Probabilities of classes from those of pairs: the fixed point of Wu, Lin and Weng (2004), second
 * method. `pairs` and `q` are [classes, classes]. */
static void couple_probabilities(uint64_t n, const double *pairs, double *q, double *qp,
                                 double *p) {
    uint64_t max_rounds = HN_MAX(100, n);
    for (uint64_t t = 0; t < n; t++) {
        p[t] = 1.0 / (double)n;
        q[t * n + t] = 0;
        for (uint64_t j = 0; j < n; j++)
            if (j != t) {
                q[t * n + t] += pairs[j * n + t] * pairs[j * n + t];
                q[t * n + j] = -pairs[j * n + t] * pairs[t * n + j];
            }
    }
    for (uint64_t round = 0; round < max_rounds; round++) {
        double pqp = 0, error = 0;
        for (uint64_t t = 0; t < n; t++) {
            qp[t] = 0;
            for (uint64_t j = 0; j < n; j++)
                qp[t] += q[t * n + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (uint64_t t = 0; t < n; t++)
            error = HN_MAX(error, fabs(qp[t] - pqp));
        if (error < 0.005 / (double)n)
            return;
        for (uint64_t t = 0; t < n; t++) {
            double diff = (pqp - qp[t]) / q[t * n + t];
            p[t] += diff;
            pqp = (pqp + diff * (diff * q[t * n + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
            for (uint64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff);
                p[j] /= 1 + diff;
            }
        }
    }
}

static hone_status svm_probabilities(hn_eval *c, const svm_model *m, const float *duels,
                                     float *scores) {
    uint64_t n = m->n_classes, pair = 0;
    double *pairs = hn_eval_scratch(c, (2 * n * n + 2 * n) * sizeof *pairs);
    HN_TRY_PTR(pairs);
    double *q = pairs + n * n, *qp = q + n * n, *p = qp + n;
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = i + 1; j < n; j++, pair++) {
            double v = (double)hn_ml_logistic(-(duels[pair] * m->prob_a[pair] + m->prob_b[pair]));
            v = HN_MIN(HN_MAX(v, 1e-7), 1 - 1e-7);
            pairs[i * n + j] = v;
            pairs[j * n + i] = 1 - v;
        }
    couple_probabilities(n, pairs, q, qp, p);
    for (uint64_t k = 0; k < n; k++)
        scores[k] = (float)p[k];
    return HONE_OK;
}

/* Scores and the best class of one sample; `scores` has room for all pairs. */
static hone_status svm_score(hn_eval *c, const svm_model *m, uint64_t sample, float *duels,
                             uint64_t *votes, float *scores, uint64_t *n_scores, uint64_t *best) {
    uint64_t n = m->n_classes;
    if (!m->vectors) {
        for (uint64_t k = 0; k < n; k++)
            scores[k] = dot(m->in.width, m->in.rows + sample * m->in.width,
                            m->coefficients + k * m->in.width) +
                        m->rho[0];
        *n_scores = n;
        *best = best_of(n, scores);
        return HONE_OK;
    }
    memset(votes, 0, (size_t)n * sizeof *votes);
    svm_run_kernels(m, sample);
    svm_duels(m, duels, votes);
    *best = 0;
    for (uint64_t k = 1; k < n; k++)
        *best = votes[k] > votes[*best] ? k : *best;
    *n_scores = m->n_prob ? n : n * (n - 1) / 2;
    if (m->n_prob)
        return svm_probabilities(c, m, duels, scores);
    memcpy(scores, duels, (size_t)*n_scores * sizeof *scores);
    return HONE_OK;
}

static hone_status eval_svm_classifier(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    hn_ml_labels labels = hn_ml_read_labels(node, "classlabels_strings", "classlabels_ints");
    hn_ml_post post = hn_ml_read_post(node);
    hn_array *y = hn_ret(c, 0), *z;
    svm_model m;
    HN_TRY(svm_open(c, &m));
    HN_TRY(svm_open_classes(c, &m, labels.n));
    uint64_t n_room = labels.n * labels.n + 2, n_scores = 0, best;
    float *duels = hn_eval_scratch(c, n_room * sizeof *duels),
          *scores = hn_eval_scratch(c, n_room * sizeof *scores);
    uint64_t *votes = hn_eval_scratch(c, n_room * sizeof *votes);
    if (!duels || !scores || !votes)
        return HONE_E_NOMEM;
    for (uint64_t s = 0; s < m.in.n; s++) {
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        HN_TRY(svm_score(c, &m, s, duels, votes, scores, &n_scores, &best));
        if (n_scores == 1) { /* one duel of two classes */
            hn_ml_two_scores(post, post != HN_POST_NONE, scores[0], scores);
            n_scores = 2;
        } else {
            hn_ml_transform(post, n_scores, scores);
        }
        if (y)
            HN_TRY(hn_ml_put_label(c, y, s, &labels, best));
        HN_TRY(hn_ret_alloc(c, 1, HN_F32, 2, (int64_t[]){(int64_t)m.in.n, (int64_t)n_scores}, &z));
        if (z)
            hn_store_f32(z, s * n_scores, n_scores, scores);
    }
    return HONE_OK;
}
const hn_impl hn_impl_svm_classifier[1] = {
    {.eval = eval_svm_classifier, .prepare = hn_svm_prepare, .release = hn_svm_release}};
