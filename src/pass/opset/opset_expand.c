/* Expands operators that the target opset lacks into older ones.
 *
 * Each operator has one row with one term. Terms use the pattern language (pass_int.h), but are
 * written instead of matched:
 *
 *   a, b, c            the inputs; where c? is absent, its operator becomes its first argument
 *   alpha, ...         a float attribute of the node, as a constant; numbers are constants, too
 *   Op(...):name       computed once; terms further right read it by name
 *   [epsilon=epsilon]  a float attribute of the node, copied
 *   [axes=axes]        the list that `prepare` of the row made; an input where the opset has one
 *   [to=wide]          float for 16-bit types, else the type of `a`; [to=type]: the type of `a` */
#include "pass/opset/opset.h"
#include "pass/engine/pattern.h"

typedef struct expansion expansion;
typedef struct expansion_row {
    const char *op;
    int version; /* that introduced it */
    const char *term;
    const char *only_if; /* "approximate=tanh": the first of several rows that fits; NULL: always */
    bool is_wide;        /* constants are of the wide type */
    hone_status (*prepare)(expansion *e);
} expansion_row;

struct expansion {
    hn_rule *r;
    const expansion_row *row;
    const hn_op *op; /* the operator to express */
    int since;
    const hn_pattern *pattern;
    hn_id values[HN_PATTERN_MAX_NAMES]; /* by the names of the pattern */
    hn_dtype type, wide;
    uint32_t n_axes;
    int64_t axes[64];
};

static bool word_equals(hn_word w, const char *text) {
    return w.n == strlen(text) && memcmp(w.at, text, w.n) == 0;
}

/* ---- names in terms -------------------------------------------------------------------------- */

static void bind_value(expansion *e, const char *name, hn_id value) {
    for (uint32_t i = 0; i < e->pattern->n_names; i++)
        if (word_equals(e->pattern->names[i], name))
            e->values[i] = value;
}

static float real_attr(const expansion *e, const char *name, size_t n, bool *is_known) {
    hn_attr_spec spec;
    float v = 0;
    const hn_node *node = hn_at(e->r, e->r->root);
    *is_known = hn_op_attr_find(e->op, e->since, name, n, &spec) && spec.kind == HN_ATTR_FLOAT &&
                hn_attr_spec_f32(&spec, 0, &v);
    for (uint32_t i = 0; i < node->n_attrs; i++)
        if (node->attrs[i].kind == HN_ATTR_FLOAT && node->attrs[i].name->n == n &&
            memcmp(hn_s(node->attrs[i].name), name, n) == 0) {
            *is_known = true;
            v = node->attrs[i].v.f;
        }
    return v;
}

static hn_id number_const(expansion *e, double v) {
    return hn_new_const_f(e->r, "number", e->row->is_wide ? e->wide : e->type, v);
}

/* Binds inputs by letter and float attributes by name. */
static void bind_names(expansion *e) {
    const hn_pattern *p = e->pattern;
    for (uint32_t i = 0; i < p->n_names; i++) {
        bool is_real;
        float v = real_attr(e, p->names[i].at, p->names[i].n, &is_real);
        bool is_letter = p->names[i].n == 1 && p->names[i].at[0] <= 'c';
        e->values[i] = is_letter ? hn_in(e->r, e->r->root, (uint32_t)(p->names[i].at[0] - 'a'))
                       : is_real ? number_const(e, (double)v)
                                 : HN_NONE;
    }
}

/* ---- writing terms --------------------------------------------------------------------------- */

static hn_attr attr_of_term(expansion *e, const hn_term_attr *a) {
    char name[32];
    size_t n = HN_MIN((size_t)a->name.n, sizeof name - 1);
    memcpy(name, a->name.at, n);
    name[n] = '\0';
    bool is_real;
    float real = real_attr(e, a->text.at, a->text.n, &is_real);
    if (a->n == 0) /* [to=wide], [to=type], [epsilon=epsilon] */
        return is_real ? hn_new_f(e->r, name, real)
                       : hn_new_i(e->r, name, word_equals(a->text, "wide") ? e->wide : e->type);
    return a->ints ? hn_new_i(e->r, name, a->ints[0]) : hn_new_f(e->r, name, (float)a->reals[0]);
}

static hn_id write_op(expansion *e, const hn_pattern_term *t, uint32_t n, const hn_id *args) {
    char op[64];
    hn_attr attrs[4];
    uint32_t n_attrs = 0;
    size_t n_op = HN_MIN((size_t)t->ops.at[0].name.n, sizeof op - 1);
    memcpy(op, t->ops.at[0].name.at, n_op);
    op[n_op] = '\0';
    if (strcmp(op, "Cast") == 0 && e->wide == e->type)
        return args[0];
    if (t->attrs.n == 1 && word_equals(t->attrs.at[0].text, "axes"))
        return hn_make_with_list(e->r, op, args[0], "axes", e->n_axes, e->axes);
    for (; n_attrs < t->attrs.n && n_attrs < HN_COUNT(attrs); n_attrs++)
        attrs[n_attrs] = attr_of_term(e, &t->attrs.at[n_attrs]);
    return hn_make1(e->r, op, n, args, n_attrs, attrs);
}

/* The recursion is shallow, because all terms are in this file. */
static hn_id write_term(expansion *e, const hn_pattern_term *t) {
    hn_id args[HN_PATTERN_MAX_ARGS], value;
    bool is_whole = true;
    if (t->kind == HN_TERM_NUMBER)
        return number_const(e, t->number);
    if (t->kind == HN_TERM_NAME)
        return e->values[t->name];
    for (uint32_t i = 0; i < t->args.n; i++) {
        args[i] = write_term(e, t->args.at[i]);
        is_whole = is_whole && (args[i] != HN_NONE || !t->args.at[i]->is_optional);
    }
    value = is_whole ? write_op(e, t, t->args.n, args) : args[0];
    if (t->name != HN_NONE)
        e->values[t->name] = value;
    return value;
}

/* ---- the rows -------------------------------------------------------------------------------- */

/* The last axes, from the attribute on. */
static hone_status prepare_tail(expansion *e) {
    int64_t axis = hn_raw_i(e->r, "axis", -1), rank = hn_rank_of(e->r, hn_in(e->r, e->r->root, 0));
    if (axis >= 0 && rank < 0)
        return hn_fail(e->r->pass->err, HONE_E_UNSUPPORTED, "the rank of its input is unknown");
    axis -= axis >= 0 ? rank : 0;
    for (; axis < 0 && e->n_axes < HN_COUNT(e->axes); axis++)
        e->axes[e->n_axes++] = axis;
    return HONE_OK;
}

static hone_status prepare_mean_variance(expansion *e) {
    static const int64_t usual[] = {0, 2, 3};
    const hn_attr *a = hn_node_attr(hn_at(e->r, e->r->root), "axes");
    e->n_axes = a ? HN_MIN(a->n, (uint32_t)HN_COUNT(e->axes)) : HN_COUNT(usual);
    for (uint32_t i = 0; i < e->n_axes; i++)
        e->axes[i] = a ? a->v.ints[i] : usual[i];
    return HONE_OK;
}

static hn_id filled(expansion *e, const char *stem, int64_t n, float v) {
    void *data;
    hn_tensor *t = hn_new_tensor(e->r, HN_F32, 1, &n, &data);
    for (int64_t i = 0; t && i < n; i++)
        ((float *)data)[i] = v;
    return hn_new_const(e->r, stem, t);
}

/* Each group becomes one channel; scale and bias get axes of size 1 for the spatial axes. */
static hone_status prepare_groups(expansion *e) {
    int64_t groups = hn_raw_i(e->r, "num_groups", 1),
            rank = hn_rank_of(e->r, hn_in(e->r, e->r->root, 0));
    bool is_float = e->wide == HN_F32;
    if (rank < 2 || groups < 1 || groups > 1 << 20 || !is_float)
        return hn_fail(e->r->pass->err, HONE_E_UNSUPPORTED,
                       "the rank of its input is unknown, or it computes in double");
    for (int64_t i = 2; i < rank && e->n_axes < HN_COUNT(e->axes); i++)
        e->axes[e->n_axes++] = i - 1;
    bind_value(e, "rows", hn_new_const_i64s(e->r, "rows", 3, (int64_t[]){0, groups, -1}));
    bind_value(e, "ones", filled(e, "ones", groups, 1));
    bind_value(e, "zeros", filled(e, "zeros", groups, 0));
    return HONE_OK;
}

#define NORMALIZED(x) "Div(" x ", Sqrt(Add(ReduceMean[axes=axes](Mul(x, x)), epsilon)))"

static const expansion_row expansions[] = {
    {.op = "MeanVarianceNormalization",
     .version = 9,
     .prepare = prepare_mean_variance,
     .term = "Div(Sub(a, ReduceMean[axes=axes](a)):x, "
             "Add(Sqrt(ReduceMean[axes=axes](Mul(x, x))), 1e-9))"},
    {.op = "ThresholdedRelu", .version = 10, .term = "Where(Greater(a, alpha), a, 0)"},
    {.op = "Celu", .version = 12, .term = "Mul(Elu(Div(a, alpha)), alpha)"},
    {.op = "GreaterOrEqual", .version = 12, .term = "Or(Greater(a, b), Equal(a, b))"},
    {.op = "LessOrEqual", .version = 12, .term = "Or(Less(a, b), Equal(a, b))"},
    {.op = "HardSwish", .version = 14, .term = "Mul(a, HardSigmoid[alpha=0.16666667,beta=0.5](a))"},
    {.op = "LayerNormalization",
     .version = 17,
     .is_wide = true,
     .prepare = prepare_tail,
     .term = "Add(Mul(Cast[to=type](" NORMALIZED(
         "Sub(Cast[to=wide](a):w, ReduceMean[axes=axes](w)):x") "), b), c?)"},
    {.op = "Mish", .version = 18, .term = "Mul(a, Tanh(Softplus(a)))"},
    {.op = "Gelu",
     .version = 20,
     .only_if = "approximate=tanh",
     .term = "Mul(Mul(a, 0.5), Add(Tanh(Mul(Add(a, Mul(Mul(Mul(a, a), a), 0.044715)), "
             "0.7978845608028654)), 1))"},
    {.op = "Gelu",
     .version = 20,
     .term = "Mul(Mul(a, 0.5), Add(Erf(Div(a, 1.4142135623730951)), 1))"},
    {.op = "GroupNormalization",
     .version = 21,
     .is_wide = true,
     .prepare = prepare_groups,
     .term = "Add(Mul(Cast[to=type](Reshape(InstanceNormalization[epsilon=epsilon]("
             "Reshape(Cast[to=wide](a):w, rows), ones, zeros), Shape(a))), "
             "Unsqueeze[axes=axes](b)), Unsqueeze[axes=axes](c))"},
    {.op = "RMSNormalization",
     .version = 23,
     .is_wide = true,
     .prepare = prepare_tail,
     .term = "Mul(Cast[to=type](" NORMALIZED("Cast[to=wide](a):x") "), b)"},
    {.op = "Swish", .version = 24, .term = "Mul(a, Sigmoid(Mul(a, alpha)))"},
    {.op = "SwiGLU", .version = 28, .term = "Mul(Mul(a, Sigmoid(Mul(a, alpha))), b)"},
};

/* Compares "name=text" with a string attribute as written. */
static bool condition_holds(const hn_node *n, const char *condition) {
    char name[32];
    size_t len = condition ? strcspn(condition, "=") : 0;
    if (!condition || len >= sizeof name)
        return !condition;
    memcpy(name, condition, len);
    name[len] = '\0';
    const hn_attr *a = hn_node_attr(n, name);
    const char *text = condition + len + 1;
    return a && a->kind == HN_ATTR_STRING && a->v.s.n == strlen(text) &&
           memcmp(a->v.s.at, text, a->v.s.n) == 0;
}

static const expansion_row *find_row(const hn_node *n, int version) {
    for (size_t i = 0; i < HN_COUNT(expansions); i++)
        if (expansions[i].version == version && strcmp(hn_s(n->op), expansions[i].op) == 0 &&
            condition_holds(n, expansions[i].only_if))
            return &expansions[i];
    return NULL;
}

static bool has_more_outputs(const hn_rule *r) {
    const hn_node *n = hn_at(r, r->root);
    for (uint32_t i = 1; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_n_readers(r, n->outputs[i]))
            return true;
    return false;
}

hone_status hn_expand(hn_rule *r, int version, bool *is_known) {
    const hn_node *n = hn_at(r, r->root);
    expansion e = {
        .r = r, .row = find_row(n, version), .type = hn_elem_of(r, hn_in(r, r->root, 0))};
    bool deprecated;
    hn_pattern *pattern;
    *is_known = e.row != NULL;
    if (!e.row)
        return HONE_OK;
    if (e.type == HN_UNDEFINED || has_more_outputs(r))
        return hn_fail(r->pass->err, HONE_E_UNSUPPORTED,
                       e.type == HN_UNDEFINED ? "the type of its input is unknown"
                                              : "its additional outputs have readers");
    e.op = hn_op_find(NULL, HN_DOMAIN_ONNX, e.row->op, version, &e.since, &deprecated);
    e.wide = e.type == HN_F16 || e.type == HN_BF16 ? HN_F32 : e.type;
    HN_TRY(hn_pattern_parse(r->pass->rule_scratch, e.row->term, &pattern, r->pass->err));
    e.pattern = pattern;
    bind_names(&e);
    if (e.row->prepare)
        HN_TRY(e.row->prepare(&e));
    hn_rule_replace(r, write_term(&e, pattern->root));
    return HONE_OK;
}
