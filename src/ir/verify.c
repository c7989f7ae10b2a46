/* Structure of one graph, without operator knowledge: every name defined once and before its use.
 */
#include "ir/verify_int.h"

#include <stdio.h>

#define MAX_SUGGESTIONS 20 /* each looks at all values */

typedef struct verifier {
    const hn_graph *g;
    const hn_function *f; /* NULL: the main graph */
    hn_problems *p;
    bool *is_defined;  /* per value, at this point of the walk */
    hn_map attr_names; /* (node, name) of attributes seen, of nodes that have many */
    hn_map domains;    /* imported, or reported as missing */
    uint32_t n_suggestions;
    hn_arena *scratch;
} verifier;

#define NODE_TEXT_BYTES 200

#define STRUCTURE_ERROR(v, node, value, ...) \
  hn_problem_add((v)->p, HN_SEVERITY_ERROR, HONE_E_INVALID, (v)->g, (node), (value), __VA_ARGS__)

/* The same for a node: its label precedes the message, which begins with a blank or a colon. */
static void node_error(verifier *v, hn_id node, hn_id value, const char *fmt, ...) HN_PRINTF(4, 5);

static void node_error(verifier *v, hn_id node, hn_id value, const char *fmt, ...) {
    char message[sizeof((hone_error *)0)->message], who[NODE_TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    STRUCTURE_ERROR(v, node, value, "%s%s", hn_node_text(v->g, node, who, NODE_TEXT_BYTES),
                    message);
}

static bool has_definition(const hn_value *v) {
    return v->producer != HN_NONE || v->is_input || v->init || v->sparse_init;
}

static const char *block_name(const verifier *v, hn_id block) {
    hn_str name = v->f && block == 0 ? v->f->name : hn_block_at(v->g, block)->name;
    return hn_str_empty(name) ? "(no name)" : name->s;
}

/* ---- definitions ----------------------------------------------------------------------------- */

static const char *definer_text(const hn_graph *g, hn_id value, char *buf) {
    const hn_value *v = hn_value_at(g, value);
    if (v->producer != HN_NONE)
        return hn_node_text(g, v->producer, buf, NODE_TEXT_BYTES);
    snprintf(buf, NODE_TEXT_BYTES, "%s", v->is_input ? "an input" : "an initializer");
    return buf;
}

/* An output of a subgraph's node must not have the name of a visible outer value; inputs and
 * initializers of the subgraph may. */
static hn_id shadowed_value(const verifier *v, hn_id value) {
    const hn_value *inner = hn_value_at(v->g, value);
    hn_id parent = hn_block_at(v->g, inner->block)->parent;
    hn_id outer = parent == HN_NONE ? HN_NONE : hn_graph_find(v->g, parent, inner->name);
    return outer != HN_NONE && v->is_defined[outer] ? outer : HN_NONE;
}

static void define_value(verifier *v, hn_id node, hn_id value) {
    const hn_value *val = hn_value_at(v->g, value);
    char here[NODE_TEXT_BYTES], there[NODE_TEXT_BYTES];
    hn_id first = hn_graph_find_local(v->g, val->block, val->name);
    hn_id outer = node == HN_NONE ? HN_NONE : shadowed_value(v, value);
    v->is_defined[value] = true;
    if (first != value && first != HN_NONE && has_definition(hn_value_at(v->g, first)))
        STRUCTURE_ERROR(v, node, value,
                        "value '%s' is defined twice in graph '%s': by %s and by %s; names must be "
                        "unique",
                        hn_s(val->name), block_name(v, val->block),
                        definer_text(v->g, first, there), definer_text(v->g, value, here));
    else if (outer != HN_NONE)
        STRUCTURE_ERROR(
            v, node, value,
            "%s in subgraph '%s' defines '%s', which hides the outer value of that name "
            "(%s); rename one of them",
            hn_node_text(v->g, node, here, NODE_TEXT_BYTES), block_name(v, val->block),
            hn_s(val->name), definer_text(v->g, outer, there));
    else if (hn_str_empty(val->name) && node == HN_NONE)
        STRUCTURE_ERROR(v, node, value, "%s of graph '%s' has no name",
                        definer_text(v->g, value, here), block_name(v, val->block));
}

/* ---- types of inputs and outputs ------------------------------------------------------------- */

static const char *missing_in_type(const hn_type *t) {
    if (!t || t->kind == HN_TYPE_NONE)
        return "type";
    switch (t->kind) {
    case HN_TYPE_TENSOR:
    case HN_TYPE_SPARSE:
        if (t->elem <= HN_UNDEFINED || t->elem >= HN_DTYPE_COUNT)
            return "valid element type";
        return t->shape.rank < 0 ? "shape" : NULL;
    case HN_TYPE_SEQUENCE:
    case HN_TYPE_OPTIONAL:
        return t->inner ? NULL : "element type";
    case HN_TYPE_MAP:
        return t->elem == HN_UNDEFINED ? "key type" : t->inner ? NULL : "value type";
    default:
        return NULL;
    }
}

/* Bodies of functions and subgraphs may leave types open. */
static void verify_interface(verifier *v) {
    const hn_block *b = hn_block_at(v->g, 0);
    if (v->f)
        return;
    for (uint32_t i = 0; i < b->inputs.n + b->outputs.n; i++) {
        bool is_input = i < b->inputs.n;
        hn_id id = is_input ? b->inputs.at[i] : b->outputs.at[i - b->inputs.n];
        const char *missing = missing_in_type(hn_value_at(v->g, id)->type);
        bool is_runnable = missing && (strcmp(missing, "shape") == 0 ||
                                       (!is_input && strcmp(missing, "type") == 0));
        if (missing) /* invalid, but harmless in a run: what is missing is inferred */
            hn_problem_add(
                v->p, HN_SEVERITY_ERROR, is_runnable ? HONE_E_SHAPE : HONE_E_INVALID, v->g, HN_NONE,
                id, "graph %s '%s' has no %s; the main graph must declare it",
                is_input ? "input" : "output", hn_s(hn_value_at(v->g, id)->name), missing);
    }
}

/* ---- initializers ---------------------------------------------------------------------------- */

/* Before IR version 4 an initializer is the default value of an input. */
static void verify_init_declared(verifier *v, hn_id value) {
    const hn_value *val = hn_value_at(v->g, value);
    const hn_model *m = v->g->model;
    hn_id parent = hn_block_at(v->g, val->block)->parent;
    if (val->is_input || v->f || !m->has_ir_version || m->ir_version >= 4 ||
        (parent != HN_NONE && hn_graph_find(v->g, parent, val->name) != HN_NONE))
        return;
    hn_problem_add(/* invalid, but harmless in a run */
                   v->p, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, v->g, HN_NONE, value,
                   "initializer '%s' is not listed among the inputs, which IR version %lld "
                   "demands; "
                   "list it, or raise the IR version to 4",
                   hn_s(val->name), (long long)m->ir_version);
}

static hn_verify_location initializer_location(const verifier *v, hn_id value) {
    return (hn_verify_location){.p = v->p, .g = v->g, .node = HN_NONE, .value = value};
}

static void verify_block_start(verifier *v, hn_id block) {
    const hn_block *b = hn_block_at(v->g, block);
    if (hn_str_empty(b->name) && !(v->f && block == 0))
        hn_problem_add(v->p, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, v->g, b->owner, HN_NONE,
                       "%s has no name", block == 0 ? "the main graph" : "a subgraph");
    for (uint32_t i = 0; i < b->inputs.n; i++)
        define_value(v, HN_NONE, b->inputs.at[i]);
    for (uint32_t i = 0; i < b->inits.n; i++) {
        hn_id id = b->inits.at[i];
        hn_verify_location at = initializer_location(v, id);
        if (!hn_value_at(v->g, id)->is_input)
            define_value(v, HN_NONE, id);
        verify_init_declared(v, id);
        hn_verify_tensor(&at, hn_value_at(v->g, id)->init);
    }
    for (uint32_t i = 0; i < b->sparse_inits.n; i++) {
        hn_id id = b->sparse_inits.at[i];
        hn_verify_location at = initializer_location(v, id);
        if (!hn_value_at(v->g, id)->is_input)
            define_value(v, HN_NONE, id);
        hn_verify_sparse(&at, hn_value_at(v->g, id)->sparse_init);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void report_undefined(verifier *v, hn_id node, hn_id value) {
    const hn_value *val = hn_value_at(v->g, value);
    char producer[NODE_TEXT_BYTES];
    if (val->producer != HN_NONE) {
        node_error(v, node, value,
                   " reads '%s' before %s computes it; nodes must be in topological order",
                   hn_s(val->name), hn_node_text(v->g, val->producer, producer, NODE_TEXT_BYTES));
        return;
    }
    hn_str like = v->n_suggestions++ < MAX_SUGGESTIONS
                      ? hn_graph_similar_name(v->g, val->block, val->name)
                      : NULL;
    node_error(v, node, value,
               " reads '%s', which no node computes and no input or initializer defines%s%s%s",
               hn_s(val->name), like ? "; did you mean '" : "", hn_s(like), like ? "'?" : "");
}

static void verify_block_outputs(verifier *v, hn_id block) {
    const hn_block *b = hn_block_at(v->g, block);
    for (uint32_t i = 0; i < b->outputs.n; i++) {
        hn_id id = b->outputs.at[i];
        const hn_value *val = hn_value_at(v->g, id);
        if (hn_str_empty(val->name))
            STRUCTURE_ERROR(v, b->owner, HN_NONE, "output %u of graph '%s' has no name", i,
                            block_name(v, block));
        else if (!v->is_defined[id])
            STRUCTURE_ERROR(v, b->owner, id, "output '%s' of graph '%s' is computed by no node",
                            hn_s(val->name), block_name(v, block));
        else if (val->block != block)
            STRUCTURE_ERROR(
                v, b->owner, id,
                "output '%s' of subgraph '%s' is a value of an outer graph; pass it through "
                "an Identity node inside",
                hn_s(val->name), block_name(v, block));
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool function_declares(const hn_function *f, hn_str name) {
    for (uint32_t i = 0; i < f->attr_names.n; i++) {
        if (f->attr_names.at[i] == name)
            return true;
    }
    for (uint32_t i = 0; i < f->attr_defaults.n; i++) {
        if (f->attr_defaults.at[i].name == name)
            return true;
    }
    return false;
}

#define FEW_ATTRS 16 /* are compared with each other */

static bool is_repeated_attr(verifier *v, hn_id node, uint32_t i) {
    const hn_node *n = hn_node_at(v->g, node);
    uint64_t key = hn_key(node, n->attrs[i].name->id);
    for (uint32_t k = 0; n->n_attrs <= FEW_ATTRS && k < i; k++)
        if (n->attrs[k].name == n->attrs[i].name)
            return true;
    if (n->n_attrs <= FEW_ATTRS)
        return false;
    if (hn_map_get(&v->attr_names, key) != HN_MAP_NONE)
        return true;
    v->p->failed |= !hn_map_put(&v->attr_names, key, 1);
    return false;
}

static void verify_attr_head(verifier *v, hn_id node, uint32_t i) {
    const hn_attr *a = &hn_node_at(v->g, node)->attrs[i];
    char who[NODE_TEXT_BYTES];
    if (hn_str_empty(a->name)) {
        node_error(v, node, HN_NONE, " has an attribute without a name");
        return;
    }
    if (is_repeated_attr(v, node, i))
        node_error(v, node, HN_NONE, " has attribute '%s' more than once", a->name->s);
    if (a->kind == HN_ATTR_UNDEFINED || (a->is_kind_implied && v->g->model->ir_version > 1))
        node_error(v, node, HN_NONE, ": attribute '%s' has no type", a->name->s);
    else if (a->has_other_value)
        node_error(v, node, HN_NONE, ": attribute '%s' has a value that does not match its type",
                   a->name->s);
    if (a->ref && !v->f)
        node_error(v, node, HN_NONE,
                   ": attribute '%s' refers to attribute '%s' of a calling node, but only nodes "
                   "of functions have one",
                   a->name->s, a->ref->s);
    else if (a->ref && !function_declares(v->f, a->ref))
        hn_problem_add(v->p, HN_SEVERITY_WARNING, HONE_E_INVALID, v->g, node, HN_NONE,
                       "%s: attribute '%s' refers to '%s', which function '%s' does not declare",
                       hn_node_text(v->g, node, who, NODE_TEXT_BYTES), a->name->s, a->ref->s,
                       hn_s(v->f->name));
}

static void verify_attr_data(verifier *v, hn_id node, const hn_attr *a) {
    hn_verify_location at = {.p = v->p, .g = v->g, .node = node, .value = HN_NONE, .attr = a->name};
    if (a->ref)
        return;
    if (a->kind == HN_ATTR_TENSOR && a->v.tensor)
        hn_verify_tensor(&at, a->v.tensor);
    if (a->kind == HN_ATTR_SPARSE && a->v.sparse)
        hn_verify_sparse(&at, a->v.sparse);
    for (uint32_t i = 0; a->kind == HN_ATTR_TENSORS && i < a->n; i++)
        hn_verify_tensor(&at, a->v.tensors[i]);
    for (uint32_t i = 0; a->kind == HN_ATTR_SPARSES && i < a->n; i++)
        hn_verify_sparse(&at, a->v.sparses[i]);
}

static uint64_t domain_key(hn_str domain) {
    return hn_domain_is_onnx(domain) ? HN_MAP_NONE : domain->id;
}

/* Each missing domain is reported once, at its first node. */
static void verify_domain(verifier *v, hn_id node) {
    hn_str domain = hn_node_at(v->g, node)->domain;
    if (hn_map_get(&v->domains, domain_key(domain)) != HN_MAP_NONE)
        return;
    node_error(v, node, HN_NONE,
               " needs operator set '%s', which %s does not import; add it to opset_import",
               hn_domain_is_onnx(domain) ? "ai.onnx" : domain->s,
               v->f ? "the function" : "the model");
    if (!hn_map_put(&v->domains, domain_key(domain), 1))
        v->p->failed = true;
}

static void verify_block(verifier *v, hn_id block);

/* Subgraphs are checked before the node's outputs exist: they may use the same names inside.
 * Recursion is bounded by HN_MAX_BLOCK_DEPTH. */
static void verify_node(verifier *v, hn_id node) {
    const hn_node *n = hn_node_at(v->g, node);
    if (hn_str_empty(n->op))
        node_error(v, node, HN_NONE, " has no operator (op_type)");
    if (n->n_inputs == 0 && n->n_outputs == 0)
        node_error(v, node, HN_NONE, " has neither inputs nor outputs");
    verify_domain(v, node);
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (n->inputs[i] != HN_NONE && !v->is_defined[n->inputs[i]])
            report_undefined(v, node, n->inputs[i]);
    }
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        uint32_t n_blocks;
        const hn_id *blocks = hn_attr_blocks(&n->attrs[i], &n_blocks);
        verify_attr_head(v, node, i);
        verify_attr_data(v, node, &n->attrs[i]);
        for (uint32_t j = 0; j < n_blocks; j++)
            verify_block(v, blocks[j]);
    }
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] != HN_NONE)
            define_value(v, node, n->outputs[i]);
    }
}

static void verify_block(verifier *v, hn_id block) {
    const hn_block *b = hn_block_at(v->g, block);
    verify_block_start(v, block);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        verify_node(v, b->nodes.at[i]);
    verify_block_outputs(v, block);
}

/* ---- our own bookkeeping --------------------------------------------------------------------- */

static void verify_uses(verifier *v) {
    const hn_graph *g = v->g;
    uint64_t n_uses = 0, n_reads = 0;
    for (hn_id id = 0; id < g->values.n; id++)
        n_uses += hn_value_at(g, id)->uses.n;
    for (hn_id id = 0; id < g->blocks.n; id++)
        n_reads += hn_block_at(g, id)->outputs.n;
    for (hn_id id = 0; id < g->nodes.n; id++) {
        const hn_node *n = hn_node_at(g, id);
        for (uint32_t i = 0; i < n->n_inputs; i++) {
            if (n->inputs[i] == HN_NONE)
                continue;
            const hn_value *read = hn_value_at(g, n->inputs[i]);
            uint32_t at = n->use_at[i];
            n_reads++;
            if (at >= read->uses.n || read->uses.at[at].node != id || read->uses.at[at].slot != i)
                hn_problem_add(v->p, HN_SEVERITY_ERROR, HONE_E_INTERNAL, g, id, n->inputs[i],
                               "the use list of value '%s' lacks a reader", hn_s(read->name));
        }
    }
    if (n_uses != n_reads)
        hn_problem_add(v->p, HN_SEVERITY_ERROR, HONE_E_INTERNAL, g, HN_NONE, HN_NONE,
                       "use lists hold %llu entries for %llu reads", (unsigned long long)n_uses,
                       (unsigned long long)n_reads);
}

static bool start_verifier(verifier *v) {
    const hn_opsets *opsets = v->g->opsets;
    const hn_model *m = v->g->model;
    hn_map_init(&v->attr_names, v->scratch);
    hn_map_init(&v->domains, v->scratch);
    v->is_defined = HN_NEW_N(v->scratch, bool, v->g->values.n);
    bool ok = v->is_defined != NULL;
    for (uint32_t i = 0; i < opsets->n; i++)
        ok = ok && hn_map_put(&v->domains, domain_key(opsets->at[i].domain), 1);
    /* Before IR version 3 there were no imports: all nodes are of version 1. */
    if (!v->f && opsets->n == 0 && m->ir_version < 3)
        ok = ok && hn_map_put(&v->domains, domain_key(NULL), 1);
    return ok;
}

void hn_verify_body(const hn_graph *g, const hn_function *f, hn_problems *p) {
    verifier v = {.g = g, .f = f, .p = p};
    v.scratch = hn_arena_new(hn_arena_allocator(p->arena));
    if (v.scratch && start_verifier(&v)) {
        verify_uses(&v);
        verify_interface(&v);
        verify_block(&v, 0);
    } else {
        p->failed = true;
    }
    hn_arena_free(v.scratch);
}

void hn_graph_verify(const hn_graph *g, hn_problems *p) {
    const hn_function *f = NULL;
    for (uint32_t i = 0; g != g->model->graph && i < g->model->functions.n; i++) {
        if (g->model->functions.at[i]->graph == g)
            f = g->model->functions.at[i];
    }
    hn_verify_body(g, f, p);
}
