/* Nodes of wild graphs: any operator of any domain, arguments and attributes as its schema says, or
 * nearly. */
#include "hostile/wild.h"

#define MAX_WILD_TRIES 8
#define MAX_WILD_ARGS 12
#define MAX_WILD_ATTRS 16
#define MAX_WILD_LIST 12

typedef struct wild_schema {
    const hn_op *op;
    int version;
    hn_param bound[MAX_WILD_ARGS]; /* type variables that have a type */
    hn_dtype types[MAX_WILD_ARGS];
    uint32_t n_bound;
    const hn_type *first; /* of the first argument */
} wild_schema;

/* ---- arguments ------------------------------------------------------------------------------- */

static bool is_same_variable(const hn_param *a, const hn_param *b) {
    return a->type_len == b->type_len && memcmp(a->type, b->type, a->type_len) == 0;
}

static hn_dtype wild_bound(const wild_schema *s, const hn_param *p) {
    for (uint32_t i = 0; i < s->n_bound; i++)
        if (is_same_variable(&s->bound[i], p))
            return s->types[i];
    return HN_UNDEFINED;
}

static void wild_bind(wild_schema *s, const hn_param *p, hn_dtype elem) {
    if (s->n_bound == MAX_WILD_ARGS || p->heterogeneous || wild_bound(s, p) != HN_UNDEFINED)
        return;
    s->bound[s->n_bound] = *p;
    s->types[s->n_bound++] = elem;
}

static bool allows_elem(grower *w, const wild_schema *s, const hn_param *p, hn_dtype elem) {
    const hn_type *t = hn_type_tensor(w->arena, elem, -1, NULL);
    return t && hn_op_type_allowed(s->op, s->version, p, t);
}

/* HN_UNDEFINED: no tensor is allowed. float is the likeliest. */
static hn_dtype some_allowed(grower *w, const wild_schema *s, const hn_param *p) {
    hn_dtype found = HN_UNDEFINED;
    uint32_t n = 0;
    if (grow_chance(w, 60) && allows_elem(w, s, p, HN_F32))
        return HN_F32;
    for (int t = 1; t < HN_DTYPE_COUNT; t++)
        if (allows_elem(w, s, p, (hn_dtype)t) && grow_below(w, ++n) == 0)
            found = (hn_dtype)t;
    return found;
}

static hn_id pooled_value(grower *w, const wild_schema *s, const hn_param *p, hn_dtype elem) {
    for (int tries = 0; tries < 6 && w->pool.n; tries++) {
        hn_id id = w->pool.at[grow_below(w, w->pool.n)];
        const hn_type *t = wild_type(w, id);
        bool is_any = grow_chance(w, 3);
        if (is_any || (t && hn_op_type_allowed(s->op, s->version, p, t) &&
                       (elem == HN_UNDEFINED || t->elem == elem)))
            return id;
    }
    return HN_NONE;
}

/* A sequence, an optional or a map: whichever is allowed. */
static const hn_type *wrapped_type(grower *w, const wild_schema *s, const hn_param *p) {
    static const hn_type_kind kinds[] = {HN_TYPE_SEQUENCE, HN_TYPE_OPTIONAL};
    hn_arena *a = w->model->arena;
    for (int tries = 0; tries < 4; tries++) {
        const hn_type *t = hn_type_wrap(a, GROW_ONE_OF(w, kinds), HN_UNDEFINED,
                                        hn_type_tensor(a, grow_some_type(w), -1, NULL));
        if (t && hn_op_type_allowed(s->op, s->version, p, t))
            return t;
    }
    return NULL;
}

static hn_id wild_argument(grower *w, wild_schema *s, const hn_param *p) {
    if (grow_chance(w, p->optional ? 50 : 2))
        return HN_NONE;
    hn_dtype elem = wild_bound(s, p);
    hn_id id = grow_chance(w, 60) ? pooled_value(w, s, p, elem) : HN_NONE;
    if (id == HN_NONE) {
        if (elem == HN_UNDEFINED)
            elem = some_allowed(w, s, p);
        const hn_type *wrapped = elem == HN_UNDEFINED ? wrapped_type(w, s, p) : NULL;
        if (elem == HN_UNDEFINED && !wrapped)
            return HN_NONE;
        id = wrapped ? wild_input(w, 0, wrapped) : wild_value(w, elem, s->first);
    }
    const hn_type *t = wild_type(w, id);
    if (t && t->kind == HN_TYPE_TENSOR)
        wild_bind(s, p, t->elem);
    if (!s->first)
        s->first = t;
    return id;
}

static uint32_t wild_arguments(grower *w, wild_schema *s, hn_id *args) {
    const char *list = hn_op_text(s->op, HN_OP_INPUTS);
    uint32_t min, max, n;
    hn_param p;
    hn_op_arity(list, s->version, &min, &max);
    n = min + grow_below(w, HN_MIN(max - min, 8u) + 1);
    if (grow_chance(w, 2))
        n = grow_below(w, n + 2);
    n = HN_MIN(n, (uint32_t)MAX_WILD_ARGS);
    for (uint32_t i = 0; i < n; i++)
        args[i] = hn_op_param(list, s->version, i, &p) ? wild_argument(w, s, &p) : HN_NONE;
    return n;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static const char *const wild_words[] = {
    "NOTSET",  "SAME_UPPER", "SAME_LOWER", "VALID",         "constant", "edge",
    "reflect", "wrap",       "linear",     "nearest",       "cubic",    "none",
    "tanh",    "add",        "mul",        "max",           "min",      "bilinear",
    "zeros",   "border",     "DCR",        "CRD",           "LEFT",     "RIGHT",
    "floor",   "ceil",       "asymmetric", "half_pixel",    "avg",      "forward",
    "reverse", "sum",        "mean",       "bidirectional", "SOFTMAX",  "LOGISTIC",
    "PROBIT",  "NONE",       "SUM",        "SOFTMAX_ZERO",  "MAX",      "MIN",
    "AVERAGE", "BRANCH_LEQ", "LEAF",       "BRANCH_EQ",     "RBF",      "POLY",
    "LINEAR",  "TF",         "TFIDF",      "IDF",           "LOWER",    "UPPER",
    "en_US",   "ij,jk->ik",  "ii->i",      "...ij->...ji",  "a,b->",    "[a-z]+",
    "gelu",    "relu",       "swiglu",     "HardSigmoid",   "Affine",   "",
    "\xff",    "BINARY",     "Relu"};

static void put_strings(grower *w, const char *name, uint32_t n, hn_attr *out) {
    hn_bytes *list = hn_arena_alloc(w->model->arena, (n + 1) * sizeof *list);
    if (!list)
        grow_fail("no memory");
    for (uint32_t i = 0; i < n; i++) {
        const char *text = GROW_ONE_OF(w, wild_words);
        list[i] = (hn_bytes){(const uint8_t *)text, strlen(text)};
    }
    *out = grow_attr_i(w, name, 0);
    out->kind = HN_ATTR_STRINGS;
    out->n = n;
    out->v.strings = list;
}

/* As many as the first argument has axes, or spatial axes, or twice that; or any number. */
static uint32_t list_length(grower *w, const hn_type *first) {
    int32_t rank = first && first->kind == HN_TYPE_TENSOR ? first->shape.rank : 2;
    int64_t lengths[] = {rank,     rank - 2, 2 * (rank - 2),
                         2 * rank, 1,        grow_between(w, 0, MAX_WILD_LIST)};
    int64_t n = GROW_ONE_OF(w, lengths);
    return (uint32_t)HN_MAX(0, HN_MIN(n, MAX_WILD_LIST));
}

static void wild_list(grower *w, hn_attr_kind kind, const char *name, const hn_type *first,
                      hn_attr *out) {
    int64_t ints[MAX_WILD_LIST];
    float floats[MAX_WILD_LIST];
    uint32_t n = list_length(w, first);
    bool is_tame = grow_chance(w, 60);
    for (uint32_t i = 0; i < n; i++) {
        ints[i] = is_tame ? grow_between(w, 0, 3) : wild_integer(w);
        floats[i] = is_tame ? (float)grow_between(w, 0, 2) : wild_real(w);
    }
    if (kind == HN_ATTR_INTS)
        *out = grow_attr_ints(w, name, n, ints);
    else if (kind == HN_ATTR_FLOATS)
        *out = grow_attr_floats(w, name, n, floats);
    else
        put_strings(w, name, n, out);
}

static bool wild_attribute(grower *w, const wild_schema *s, const hn_attr_spec *spec,
                           hn_attr *out) {
    char name[64];
    if (spec->name_len >= sizeof name)
        return false;
    memcpy(name, spec->name, spec->name_len);
    name[spec->name_len] = '\0';
    switch (spec->kind) {
    case HN_ATTR_INT:
        *out = grow_attr_i(w, name, grow_chance(w, 50) ? grow_between(w, 0, 2) : wild_integer(w));
        return true;
    case HN_ATTR_FLOAT:
        *out = grow_attr_f(w, name, wild_real(w));
        return true;
    case HN_ATTR_STRING:
        *out = grow_attr_s(w, name, GROW_ONE_OF(w, wild_words));
        return true;
    case HN_ATTR_INTS:
    case HN_ATTR_FLOATS:
    case HN_ATTR_STRINGS:
        wild_list(w, spec->kind, name, s->first, out);
        return true;
    case HN_ATTR_TENSOR:
        *out = grow_attr_i(w, name, 0);
        out->kind = HN_ATTR_TENSOR;
        out->v.tensor = wild_tensor(w, wild_elem(w), s->first);
        return true;
    case HN_ATTR_GRAPH:
        *out = grow_attr_block(w, name, HN_NONE);
        return wild_may_have_body(w);
    case HN_ATTR_TYPE:
        *out = grow_attr_i(w, name, 0);
        out->kind = HN_ATTR_TYPE;
        out->v.type = hn_type_tensor(w->model->arena, wild_elem(w), -1, NULL);
        return true;
    default:
        return false;
    }
}

static uint32_t wild_attributes(grower *w, const wild_schema *s, hn_attr *attrs) {
    hn_attr_spec spec;
    uint32_t n = 0;
    uint32_t percent = grow_chance(w, 50) ? 20 : 60;
    for (uint32_t i = 0; hn_op_attr(s->op, s->version, i, &spec) && n < MAX_WILD_ATTRS; i++)
        if (grow_chance(w, spec.required ? 98 : percent) && wild_attribute(w, s, &spec, &attrs[n]))
            n++;
    return n;
}

/* ---- the node -------------------------------------------------------------------------------- */

static bool some_schema(grower *w, wild_schema *s) {
    bool is_deprecated;
    const hn_op *row = hn_op_row(NULL, grow_below(w, hn_op_count(NULL)));
    hn_str domain = hn_intern_z(w->model->names, hn_domain_text(NULL, row->domain));
    *s = (wild_schema){.op = NULL};
    if (row->domain == HN_DOMAIN_HONE)
        return false;
    int64_t opset = hn_opset_version(&w->model->opsets, domain);
    s->op = hn_op_find(NULL, row->domain, hn_op_name(row), opset, &s->version, &is_deprecated);
    return s->op && (!is_deprecated || grow_chance(w, 5));
}

static hn_id add_wild(grower *w, const wild_schema *s, uint32_t n_args, const hn_id *args,
                      uint32_t n_attrs, const hn_attr *attrs) {
    uint32_t min, max;
    hn_op_arity(hn_op_text(s->op, HN_OP_OUTPUTS), s->version, &min, &max);
    uint32_t n_out = grow_chance(w, 2) ? grow_below(w, 4)
                                       : HN_MAX(min, 1u) + grow_below(w, HN_MIN(max - min, 3u) + 1);
    hn_str domain = s->op->domain == HN_DOMAIN_ONNX
                        ? NULL
                        : hn_intern_z(w->model->names, hn_domain_text(NULL, s->op->domain));
    hn_id node = grow_add_of(w, domain, hn_op_name(s->op), n_args, args, n_out, n_attrs, attrs);
    return node;
}

void wild_node(grower *w) {
    wild_schema s;
    hn_id args[MAX_WILD_ARGS];
    hn_attr attrs[MAX_WILD_ATTRS];
    int tries = 0;
    while (!some_schema(w, &s))
        if (++tries == MAX_WILD_TRIES)
            return;
    uint32_t n_args = wild_arguments(w, &s, args);
    uint32_t n_attrs = wild_attributes(w, &s, attrs);
    hn_id node = add_wild(w, &s, n_args, args, n_attrs, attrs);
    for (uint32_t i = 0; i < n_attrs; i++)
        if (attrs[i].kind == HN_ATTR_GRAPH)
            wild_body(w, node, i);
    const hn_node *n = hn_node_at(w->g, node);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        grow_let_read(w, n->outputs[i]);
}
