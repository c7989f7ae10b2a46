/* Fuses activations that are written as formulas into one operator: Gelu, Swish, HardSwish,
 * HardSigmoid and others.
 *
 * Most formulas are a polynomial in x and in one nonlinear function t of a polynomial in x, such as
 * x/2 + x*t/2 with t = Erf(x / sqrt 2). A rule starts at the nonlinear function, searches x among
 * its inputs, and follows the result until the formula is complete, so neither the order nor the
 * spelling of the arithmetic matters. */
#include "pass/engine/poly.h"
#include "pass/engine/weights.h"

#include <math.h>

/* nodes from x to the nonlinear function, and from there to the result */
#define MAX_FORMULA_DEPTH 8
#define MAX_X_CANDIDATES 16
#define MAX_SLOPE_ELEMS 65536 /* largest PRelu slope that is copied with the opposite sign */

/* 2/sqrt(pi) * 1/sqrt(2), the slope of the tanh form at 0, and its cubic term */
#define GELU_SLOPE 0.7978845608028654
#define GELU_CUBE (GELU_SLOPE * 0.044715)

static const hn_polynomial x_alone = {.c = {{0, 1}}};
static const hn_polynomial erf_inner = {.c = {{0, 0.7071067811865476}}};
static const hn_polynomial tanh_inner = {.c = {{0, GELU_SLOPE, 0, GELU_CUBE}}};
static const hn_polynomial sigmoid_inner = {.c = {{0, 2 * GELU_SLOPE, 0, 2 * GELU_CUBE}}};
static const hn_polynomial half_x_plus_half_xt = {.c = {{0, 0.5}, {0, 0.5}}};
static const hn_polynomial x_times_t = {.c = {{0}, {0, 1}}};

/* A formula that was found: `last` computes it from x. */
typedef struct formula {
    hn_id x, last;
    hn_polynomial inner; /* argument of the nonlinear function */
    hn_polynomial outer;
} formula;

/* ---- finding x ------------------------------------------------------------------------------- */

typedef struct x_candidates {
    uint32_t n;
    hn_id at[MAX_X_CANDIDATES];
} x_candidates;

/* Collects `value` and every value that the arithmetic above it reads, as candidates for x. */
static void collect_candidates(const hn_rule *r, hn_id value, int depth, x_candidates *c) {
    if (value == HN_NONE || depth == 0 || c->n == MAX_X_CANDIDATES || hn_const(r, value))
        return;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->at[i] == value)
            return;
    c->at[c->n++] = value;
    hn_id node = hn_maker(r, value, HN_POLY_OPS);
    for (uint32_t i = 0; node != HN_NONE && i < hn_at(r, node)->n_inputs; i++)
        collect_candidates(r, hn_in(r, node, i), depth - 1, c);
}

/* ---- following the result -------------------------------------------------------------------- */

static bool is_multiple(const hn_polynomial *p, const hn_polynomial *of, double factor) {
    hn_polynomial multiple;
    for (int j = 0; j < 2; j++)
        for (int i = 0; i <= HN_POLY_X; i++)
            multiple.c[j][i] = of->c[j][i] * factor;
    return hn_poly_is(p, &multiple);
}

/* A formula of the form factor * outer, with a nonlinear function whose argument `inner_fits`
 * accepts. */
typedef struct formula_form {
    bool (*inner_fits)(const hn_polynomial *inner);
    const hn_polynomial *outer;
    double factor;
    /* start of the near-miss message when only the argument fits; NULL: no message */
    const char *miss;
} formula_form;

/* The expected argument is rare in other places, so the near miss is worth a message. */
static void tell_miss(hn_rule *r, const formula_form *form, hn_id at) {
    const char *name = hn_s(hn_value_at(r->g, at)->name);
    uint32_t n = hn_n_readers(r, at);
    if (form->miss && n != 1)
        hn_miss(r, "%s, but '%s' has %u readers", form->miss, name, n);
    else if (form->miss)
        hn_miss(r, "%s, but what reads '%s' is not part of the formula", form->miss, name);
}

/* Follows values with a single reader from the nonlinear function until one equals the formula. */
static bool follow_formula(const hn_rule *r, formula *f, const formula_form *form, hn_id *at) {
    hn_id t = hn_out(r, r->root, 0);
    f->last = r->root;
    for (int step = 0; step < MAX_FORMULA_DEPTH; step++) {
        hn_id value = hn_out(r, f->last, 0);
        if (value == HN_NONE || !hn_poly_read(r, value, f->x, t, &f->outer))
            return false;
        if (is_multiple(&f->outer, form->outer, form->factor))
            return true;
        *at = value;
        f->last = hn_only_reader(r, value);
        if (f->last == HN_NONE || hn_at(r, f->last)->block != hn_at(r, r->root)->block)
            return false;
    }
    return false;
}

static bool find_formula(hn_rule *r, const formula_form *form, formula *f) {
    hn_id u = hn_in(r, r->root, 0), stopped_at = HN_NONE;
    x_candidates c = {0};
    collect_candidates(r, u, MAX_FORMULA_DEPTH, &c);
    while (c.n > 0) { /* the deepest first: it removes the most arithmetic */
        f->x = c.at[--c.n];
        if (!hn_poly_read(r, u, f->x, HN_NONE, &f->inner) || !form->inner_fits(&f->inner))
            continue;
        if (follow_formula(r, f, form, &stopped_at))
            return true;
    }
    if (stopped_at != HN_NONE)
        tell_miss(r, form, stopped_at);
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Types that the fused operators of every runtime support; our own runtime supports more. Double is
 * left out because attributes are floats and the constants of a formula are matched to a few digits
 * only. */
static bool is_fusable_type(const hn_rule *r, hn_id x) {
    hn_dtype elem = hn_elem_of(r, x);
    bool is_ours = r->pass->options->target == HN_TARGET_SESSION;
    return elem == HN_F32 || elem == HN_F16 || (is_ours && elem == HN_BF16);
}

static bool is_standard(const hn_rule *r, const char *op) {
    return hn_rule_opset(r) >= hn_op_introduced(NULL, HN_DOMAIN_ONNX, op);
}

/* Returns the standard operator where the opset has it, else the one of com.microsoft, else
 * requests a newer opset. NULL when neither may be written. */
static const char *pick_op(hn_rule *r, const char *standard, const char *ms) {
    if (is_standard(r, standard))
        return standard;
    if (hn_can_write(r, ms))
        return ms;
    return hn_can_write(r, standard) ? standard : NULL;
}

static hone_status write_formula(hn_rule *r, const formula *f, const char *op, uint32_t n_attrs,
                                 const hn_attr *attrs) {
    hn_rule_before(r, f->last);
    hn_id y = hn_make1(r, op, HN_VALUES(f->x), n_attrs, attrs);
    hn_rule_replace_value(r, hn_out(r, f->last, 0), y);
    return HONE_OK;
}

/* ---- Gelu ------------------------------------------------------------------------------------ */

static bool is_erf_inner(const hn_polynomial *p) {
    return hn_poly_is(p, &erf_inner);
}

static bool is_tanh_inner(const hn_polynomial *p) {
    return hn_poly_is(p, &tanh_inner);
}

static bool is_sigmoid_inner(const hn_polynomial *p) {
    return hn_poly_is(p, &sigmoid_inner);
}

static bool is_x_itself(const hn_polynomial *p) {
    return hn_poly_is(p, &x_alone);
}

static hone_status fuse_gelu_erf(hn_rule *r) {
    static const formula_form form = {is_erf_inner, &half_x_plus_half_xt, 1,
                                      "it computes Erf(x / sqrt(2))"};
    formula f;
    if (!find_formula(r, &form, &f) || !is_fusable_type(r, f.x))
        return HONE_OK;
    const char *op = pick_op(r, "Gelu", "ms.Gelu");
    return op ? write_formula(r, &f, op, HN_NO_ATTRS) : HONE_OK;
}

static hone_status write_tanh_gelu(hn_rule *r, const formula_form *form) {
    formula f;
    if (!find_formula(r, form, &f) || !is_fusable_type(r, f.x))
        return HONE_OK;
    const char *op = pick_op(r, "Gelu", "ms.FastGelu");
    if (!op)
        return HONE_OK;
    bool is_standard = strcmp(op, "Gelu") == 0;
    hn_attr tanh_form = hn_new_s(r, "approximate", "tanh");
    return write_formula(r, &f, op, is_standard, &tanh_form);
}

static hone_status fuse_gelu_tanh(hn_rule *r) {
    static const formula_form form = {is_tanh_inner, &half_x_plus_half_xt, 1,
                                      "it computes Tanh of Gelu's polynomial"};
    return write_tanh_gelu(r, &form);
}

/* (1 + tanh(u)) / 2 = sigmoid(2u) */
static hone_status fuse_gelu_sigmoid(hn_rule *r) {
    static const formula_form form = {is_sigmoid_inner, &x_times_t, 1, NULL};
    return write_tanh_gelu(r, &form);
}

/* ---- Swish ----------------------------------------------------------------------------------- */

static bool is_multiple_of_x(const hn_polynomial *p) {
    hn_polynomial multiple = {.c = {{0, p->c[0][1]}}};
    return p->c[0][1] != 0 && hn_poly_is(p, &multiple);
}

/* onnxruntime computes Swish as a function of two or three nodes, and QuickGelu as one kernel. */
static hone_status fuse_swish(hn_rule *r) {
    static const formula_form form = {is_multiple_of_x, &x_times_t, 1, NULL};
    formula f;
    if (!find_formula(r, &form, &f) || !is_fusable_type(r, f.x))
        return HONE_OK;
    bool is_onnxruntime = r->pass->options->target == HN_TARGET_ONNXRUNTIME;
    const char *op = is_onnxruntime ? "ms.QuickGelu" : pick_op(r, "Swish", "ms.QuickGelu");
    if (!op)
        return HONE_OK;
    hn_attr alpha = hn_new_f(r, "alpha", (float)f.inner.c[0][1]);
    bool is_default = strcmp(op, "Swish") == 0 && alpha.v.f == 1;
    return write_formula(r, &f, op, !is_default, &alpha);
}

/* ---- HardSigmoid, HardSwish ------------------------------------------------------------------ */

static bool is_rising_line(const hn_polynomial *p) {
    hn_polynomial line = {.c = {{p->c[0][0], p->c[0][1]}}};
    return p->c[0][1] > 0 && hn_poly_is(p, &line) && !is_x_itself(p);
}

/* Reads the bounds of a Clip in any version. */
static bool clip_limits(const hn_rule *r, hn_id clip, double *low, double *high) {
    if (hn_node_version(r, clip) < 11) {
        *low = hn_node_f(r, clip, "min", -INFINITY);
        *high = hn_node_f(r, clip, "max", INFINITY);
        return true;
    }
    return hn_const_f64(r, hn_in(r, clip, 1), low) && hn_const_f64(r, hn_in(r, clip, 2), high);
}

static bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-4 * fabs(b);
}

static bool is_hard_swish_line(double alpha, double beta) {
    return is_near(alpha, 1.0 / 6) && is_near(beta, 0.5);
}

/* Clip(a*x + b, 0, 1/k) inside k * outer: k*a and k*b are alpha and beta of a HardSigmoid. */
static bool find_hard_line(hn_rule *r, const hn_polynomial *outer, formula *f, double *alpha,
                           double *beta) {
    double low, high;
    if (!clip_limits(r, r->root, &low, &high) || low != 0 || !(high > 0) || isinf(high))
        return false;
    const formula_form form = {is_rising_line, outer, 1 / high, NULL};
    if (!find_formula(r, &form, f) || !is_fusable_type(r, f->x))
        return false;
    *alpha = f->inner.c[0][1] / high;
    *beta = f->inner.c[0][0] / high;
    return true;
}

static hone_status fuse_hard_sigmoid(hn_rule *r) {
    static const hn_polynomial t_alone = {.c = {{0}, {1}}};
    formula f;
    double alpha, beta;
    if (!find_hard_line(r, &t_alone, &f, &alpha, &beta))
        return HONE_OK;
    return write_formula(
        r, &f, "HardSigmoid",
        HN_ATTRS(hn_new_f(r, "alpha", (float)alpha), hn_new_f(r, "beta", (float)beta)));
}

static hone_status fuse_hard_swish(hn_rule *r) {
    formula f;
    double alpha, beta;
    if (!find_hard_line(r, &x_times_t, &f, &alpha, &beta) || !is_hard_swish_line(alpha, beta) ||
        !hn_can_write(r, "HardSwish"))
        return HONE_OK;
    return write_formula(r, &f, "HardSwish", HN_NO_ATTRS);
}

static hone_status fuse_hard_swish_short(hn_rule *r) {
    static const formula_form form = {is_x_itself, &x_times_t, 1, NULL};
    formula f;
    if (!is_hard_swish_line(hn_node_f(r, r->root, "alpha", 0), hn_node_f(r, r->root, "beta", 0)) ||
        !find_formula(r, &form, &f) || !is_fusable_type(r, f.x) || !hn_can_write(r, "HardSwish"))
        return HONE_OK;
    return write_formula(r, &f, "HardSwish", HN_NO_ATTRS);
}

/* ---- formulas of one shape ------------------------------------------------------------------- */

static bool cap_is_number(const hn_rule *r, const char *name, double number) {
    double v;
    return hn_scalar_beside(r, hn_cap(r, name), hn_cap(r, "x"), &v) && v == number;
}

static hone_status replace_by(hn_rule *r, const char *op, uint32_t n_attrs, const hn_attr *attrs) {
    hn_rule_replace(r, hn_make1(r, op, HN_VALUES(hn_cap(r, "x")), n_attrs, attrs));
    return HONE_OK;
}

static hone_status fuse_softplus(hn_rule *r) {
    bool fits = cap_is_number(r, "one", 1) && is_fusable_type(r, hn_cap(r, "x"));
    return fits ? replace_by(r, "Softplus", HN_NO_ATTRS) : HONE_OK;
}

/* max(x, 0) + log(1 + exp(-|x|)); the second term is already a Softplus here. */
static hone_status fuse_softplus_terms(hn_rule *r) {
    return replace_by(r, "Softplus", HN_NO_ATTRS);
}

static hone_status fuse_mish(hn_rule *r) {
    bool fits = is_fusable_type(r, hn_cap(r, "x")) && hn_can_write(r, "Mish");
    return fits ? replace_by(r, "Mish", HN_NO_ATTRS) : HONE_OK;
}

/* top / (1 + exp(-x)), also with a Reciprocal in place of the division. */
static hone_status fuse_sigmoid(hn_rule *r) {
    hn_id x = hn_cap(r, "x"), top = hn_cap(r, "top");
    if (!cap_is_number(r, "one", 1) || !is_fusable_type(r, x) || hn_rule_opset(r) < 7)
        return HONE_OK; /* before version 7, Div has broadcast attributes */
    hn_id y = hn_make1(r, "Sigmoid", HN_VALUES(x), HN_NO_ATTRS);
    if (top != HN_NONE && !cap_is_number(r, "top", 1))
        y = hn_make1(r, "Mul", HN_VALUES(top, y), HN_NO_ATTRS);
    hn_rule_replace(r, y);
    return HONE_OK;
}

/* With a factor of 0, infinities become NaN in one form and 0 in the other. */
static hone_status fuse_leaky_relu(hn_rule *r) {
    double alpha;
    if (!hn_scalar_beside(r, hn_cap(r, "alpha"), hn_cap(r, "x"), &alpha) || alpha <= 0 ||
        !is_fusable_type(r, hn_cap(r, "x")))
        return HONE_OK;
    bool is_max = hn_is_op(r, r->root, "Max");
    if (is_max ? alpha > 1 : !cap_is_number(r, "zero", 0))
        return HONE_OK;
    return replace_by(r, "LeakyRelu", HN_ATTRS(hn_new_f(r, "alpha", (float)alpha)));
}

/* Relu(x) - slope * Relu(-x), where the constant is the slope or its negative. */
static hone_status write_prelu(hn_rule *r, double sign) {
    hn_id x = hn_cap(r, "x"), slope = hn_cap(r, "slope");
    const hn_tensor *t = hn_const(r, slope);
    if (!is_fusable_type(r, x) || hn_rule_opset(r) < 7 || !t->data ||
        t->n_elems > MAX_SLOPE_ELEMS || !hn_same_shape(r, x, hn_out(r, r->root, 0)))
        return HONE_OK;
    double *numbers = hn_const_f64s(r, t);
    HN_TRY_PTR(numbers);
    for (uint64_t i = 0; i < t->n_elems; i++)
        numbers[i] *= sign;
    if (sign < 0)
        slope = hn_new_const_f64s(r, "slope", t->dtype, t->rank, t->dims, numbers);
    if (slope != HN_NONE)
        hn_rule_replace(r, hn_make1(r, "PRelu", HN_VALUES(x, slope), HN_NO_ATTRS));
    return HONE_OK;
}

static hone_status fuse_prelu(hn_rule *r) {
    return write_prelu(r, 1);
}

static hone_status fuse_prelu_negated(hn_rule *r) {
    return write_prelu(r, -1);
}

static const hn_rule_row activation_rules[] = {
    {"gelu-erf", "Erf", fuse_gelu_erf, false, NULL},
    {"gelu-tanh", "Tanh", fuse_gelu_tanh, false, NULL},
    {"gelu-sigmoid", "Sigmoid", fuse_gelu_sigmoid, false, NULL},
    {"swish", "Sigmoid", fuse_swish, false, NULL},
    {"hard-swish", "Clip", fuse_hard_swish, false, NULL},
    {"hard-sigmoid", "Clip", fuse_hard_sigmoid, false, NULL},
    {"hard-swish", "HardSigmoid", fuse_hard_swish_short, false, NULL},
    {"softplus", "Log(Add(Exp(x), #one))", fuse_softplus, false, NULL},
    {"softplus", "Add(Relu(x), Softplus(Neg(Abs(x))))", fuse_softplus_terms, false, NULL},
    {"mish", "Mul(x, Tanh(Softplus(x)))", fuse_mish, false, NULL},
    {"sigmoid", "Div(top, Add(Exp(Neg(x)), #one))", fuse_sigmoid, false, NULL},
    {"sigmoid", "Reciprocal(Add(Exp(Neg(x)), #one))", fuse_sigmoid, false, NULL},
    {"leaky-relu", "Max(x, Mul(x, #alpha))", fuse_leaky_relu, false, NULL},
    {"leaky-relu", "Where(Greater|GreaterOrEqual(x, #zero), x, Mul(x, #alpha))", fuse_leaky_relu,
     false, NULL},
    {"leaky-relu", "Where(Less|LessOrEqual(x, #zero), Mul(x, #alpha), x)", fuse_leaky_relu, false,
     NULL},
    {"prelu", "Sub(Relu(x), Mul(Relu(Neg(x)), #slope))", fuse_prelu, false, NULL},
    {"prelu", "Add(Relu(x), Mul(Neg(Relu(Neg(x))), #slope))", fuse_prelu, false, NULL},
    {"prelu", "Add(Relu(x), Mul(Relu(Neg(x)), #slope))", fuse_prelu_negated, false, NULL},
};

hone_status hn_pass_activations(hn_pass *p) {
    return hn_pass_rules(p, activation_rules, HN_COUNT(activation_rules));
}
