/* An operator of the table, with whatever inputs and attributes its schema admits. Many do not fit:
 * those are taken out, and another one is tried. */
#include "random/grow.h"

#define MAX_TRIES 12
#define MAX_ARGS 8
#define MAX_ATTRS 8

/* Type variables that have a type already. */
typedef struct bindings {
    hn_param params[MAX_ARGS];
    hn_dtype types[MAX_ARGS];
    uint32_t n;
} bindings;

static hn_dtype bound_type(const bindings *b, const hn_param *p) {
    for (uint32_t i = 0; i < b->n; i++)
        if (b->params[i].type_len == p->type_len &&
            memcmp(b->params[i].type, p->type, p->type_len) == 0)
            return b->types[i];
    return HN_UNDEFINED;
}

static bool admits(grower *w, const hn_op *op, int version, const hn_param *p, hn_dtype elem) {
    const hn_type *t = hn_type_tensor(w->host.scratch, elem, -1, NULL);
    return elem != HN_UNDEFINED && t && hn_op_type_allowed(op, version, p, t);
}

/* Lists of axes, sizes, pads. */
static hn_id some_ints(grower *w, hn_id first) {
    int64_t v[GROWN_MAX_RANK * 2];
    int32_t rank = HN_MAX(grow_rank(w, first), 1);
    uint32_t n = grow_chance(w, 50) ? 1 : (uint32_t)grow_between(w, 1, 2 * rank);
    for (uint32_t i = 0; i < n; i++)
        v[i] = grow_between(w, -1, 3);
    if (n == 1 && grow_chance(w, 30))
        return grow_numbers(w, HN_I64, 0, NULL, (const double[]){(double)v[0]});
    return grow_ints(w, n, v);
}

static hn_id some_argument(grower *w, const hn_op *op, int version, const hn_param *p, bindings *b,
                           hn_id first) {
    hn_dtype elem = bound_type(b, p);
    bool is_list =
        first != HN_NONE && admits(w, op, version, p, HN_I64) && !admits(w, op, version, p, HN_F32);
    if (is_list && grow_chance(w, 70))
        return some_ints(w, first);
    for (int i = 0; i < 6; i++) {
        hn_id value = grow_pick(w, elem, 0, GROWN_MAX_RANK);
        if (value == HN_NONE)
            return HN_NONE;
        if (!admits(w, op, version, p, grow_elem(w, value)))
            continue;
        if (elem == HN_UNDEFINED && b->n < MAX_ARGS) {
            b->params[b->n] = *p;
            b->types[b->n++] = grow_elem(w, value);
        }
        return value;
    }
    return HN_NONE;
}

static bool fill_arguments(grower *w, const hn_op *op, int version, uint32_t *n, hn_id *args) {
    const char *list = hn_op_text(op, HN_OP_INPUTS);
    bindings b = {.n = 0};
    uint32_t min, max;
    hn_op_arity(list, version, &min, &max);
    *n = min + grow_below(w, HN_MIN(max - min, 3u) + 1);
    if (*n > MAX_ARGS)
        return false;
    for (uint32_t i = 0; i < *n; i++) {
        hn_param p;
        if (!hn_op_param(list, version, i, &p))
            return false;
        args[i] = p.optional && grow_chance(w, 30)
                      ? HN_NONE
                      : some_argument(w, op, version, &p, &b, i ? args[0] : HN_NONE);
        if (args[i] == HN_NONE && !p.optional)
            return false;
    }
    return true;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const words[] = {
    "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID",  "constant", "edge",    "reflect", "wrap",
    "linear", "nearest",    "cubic",      "none",   "tanh",     "add",     "mul",     "max",
    "min",    "bilinear",   "zeros",      "border", "DCR",      "CRD",     "LEFT",    "RIGHT",
    "floor",  "asymmetric", "half_pixel", "avg",    "forward",  "reverse", "sum",     "mean"};

/* False: nothing can be made up. */
static bool some_attribute(grower *w, const hn_attr_spec *spec, hn_id first, hn_attr *out) {
    static const float reals[] = {0, 1, 0.5f, 2, -1, 0.01f, 1e-5f};
    int64_t ints[GROWN_MAX_RANK * 2];
    float floats[4];
    char name[64];
    if (spec->name_len >= sizeof name)
        return false;
    memcpy(name, spec->name, spec->name_len);
    name[spec->name_len] = '\0';
    int32_t rank = HN_MAX(grow_rank(w, first), 1);
    uint32_t n = grow_chance(w, 40) ? (uint32_t)rank : (uint32_t)grow_between(w, 1, rank + 1);
    switch (spec->kind) {
    case HN_ATTR_INT:
        *out = grow_attr_i(w, name, grow_between(w, -2, 3));
        return true;
    case HN_ATTR_FLOAT:
        *out = grow_attr_f(w, name, GROW_ONE_OF(w, reals));
        return true;
    case HN_ATTR_STRING:
        *out = grow_attr_s(w, name, GROW_ONE_OF(w, words));
        return true;
    case HN_ATTR_INTS:
        for (uint32_t i = 0; i < n; i++)
            ints[i] = grow_between(w, grow_chance(w, 70) ? 0 : -1, 3);
        *out = grow_attr_ints(w, name, n, ints);
        return true;
    case HN_ATTR_FLOATS:
        for (uint32_t i = 0; i < 4; i++)
            floats[i] = GROW_ONE_OF(w, reals);
        *out = grow_attr_floats(w, name, 1 + grow_below(w, 4), floats);
        return true;
    default:
        return false;
    }
}

static bool fill_attributes(grower *w, const hn_op *op, int version, hn_id first, uint32_t *n,
                            hn_attr *attrs) {
    hn_attr_spec spec;
    *n = 0;
    for (uint32_t i = 0; hn_op_attr(op, version, i, &spec); i++) {
        if (!spec.required && grow_chance(w, 75))
            continue;
        if (*n < MAX_ATTRS && some_attribute(w, &spec, first, &attrs[*n]))
            ++*n;
        else if (spec.required)
            return false;
    }
    return true;
}

/* ---- the node -------------------------------------------------------------------------------- */

static const hn_op *some_operator(grower *w, int *version) {
    bool is_deprecated;
    const hn_op *op = hn_op_row(NULL, grow_below(w, hn_op_count(NULL)));
    if (op->domain != HN_DOMAIN_ONNX)
        return NULL;
    op = hn_op_find(NULL, HN_DOMAIN_ONNX, hn_op_name(op), w->opset, version, &is_deprecated);
    return op && !is_deprecated && !hn_op_is_extension(op) && op->impl ? op : NULL;
}

static bool try_operator(grower *w) {
    int version;
    uint32_t n_args, n_attrs, min, max;
    hn_id args[MAX_ARGS];
    hn_attr attrs[MAX_ATTRS];
    const hn_op *op = some_operator(w, &version);
    bool ok = op && fill_arguments(w, op, version, &n_args, args) &&
              fill_attributes(w, op, version, n_args ? args[0] : HN_NONE, &n_attrs, attrs);
    hn_arena_clear(w->host.scratch);
    if (!ok)
        return false;
    hn_op_arity(hn_op_text(op, HN_OP_OUTPUTS), version, &min, &max);
    uint32_t n_out = HN_MAX(min, 1u) + grow_below(w, HN_MIN(max - min, 2u) + 1);
    return grow_node(w, hn_op_name(op), n_args, args, n_out, n_attrs, attrs) != HN_NONE;
}

void grow_any_operator(grower *w) {
    for (int i = 0; i < MAX_TRIES; i++)
        if (try_operator(w))
            return;
}

void grow_twin(grower *w) {
    const hn_block *b = hn_block_at(w->g, w->block);
    if (b->nodes.n == 0)
        return;
    hn_id twin = b->nodes.at[grow_below(w, b->nodes.n)];
    const hn_node *n = hn_node_at(w->g, twin);
    hn_id inputs[32];
    hn_attr attrs[32];
    uint32_t n_blocks;
    if (n->n_inputs > HN_COUNT(inputs) || n->n_attrs > HN_COUNT(attrs))
        return;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (hn_attr_blocks(&n->attrs[i], &n_blocks))
            return;
    memcpy(inputs, n->inputs, n->n_inputs * sizeof *inputs);
    if (n->n_attrs)
        memcpy(attrs, n->attrs, n->n_attrs * sizeof *attrs);
    grow_node(w, hn_s(n->op), n->n_inputs, inputs, n->n_outputs, n->n_attrs, attrs);
}
