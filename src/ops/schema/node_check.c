/* Checks a node against its schema: first its form (operator, arity, attributes), then the types of
 * its inputs. */
#include "ops/infer/infer_engine.h"

#include <limits.h>
#include <stdio.h>

/* ---- form ------------------------------------------------------------------------------------ */

typedef struct form {
    const hn_graph *g;
    const hn_function *function; /* the function that contains the node; NULL in the main graph */
    hn_id id;
    const hn_node *node;
    hn_problems *problems; /* NULL: only the result counts */
    bool ok;
} form;

#define FORM_FAIL(f, code, ...)                                                         \
  do {                                                                                  \
    (f)->ok = false;                                                                    \
    if ((f)->problems)                                                                  \
      hn_node_problem((f)->problems, HN_SEVERITY_ERROR, code, (f)->g, (f)->id, HN_NONE, \
                      __VA_ARGS__);                                                     \
  } while (0)

static const char *shown_domain(hn_str domain) {
    return hn_domain_is_onnx(domain) ? "ai.onnx" : hn_s(domain);
}

/* A text that ran out of memory makes the list of problems incomplete. */
static void free_text(hn_problems *problems, hn_strbuf *text) {
    problems->failed |= text->failed;
    hn_strbuf_free(text);
}

/* True when the caller needs no message. */
static bool fails_silently(form *f) {
    f->ok = false;
    return !f->problems;
}

/* In an operator set that hone supports the operator must exist; in other sets it is not
 * checked. */
static void tell_unknown_op(form *f, bool is_error) {
    f->ok &= !is_error;
    if (!f->problems)
        return;
    hn_strbuf why;
    hn_strbuf_init(&why, hn_arena_allocator(f->g->model->arena));
    hn_op_tell_unknown(f->g, f->node, &why);
    hn_node_problem(f->problems, is_error ? HN_SEVERITY_ERROR : HN_SEVERITY_WARNING,
                    HONE_E_UNSUPPORTED, f->g, f->id, HN_NONE, "%s%s", why.at ? why.at : "?",
                    is_error ? "" : ": the node is taken as it is");
    free_text(f->problems, &why);
}

/* First version of an operator set that has the operator as a standard one; 0 when none has. */
static int standard_since(const hn_op *extension) {
    int since = 0;
    for (uint32_t i = 0; i < hn_op_count(NULL); i++) {
        const hn_op *row = hn_op_row(NULL, i);
        bool deprecated;
        if (row->domain == extension->domain &&
            strcmp(hn_op_name(row), hn_op_name(extension)) == 0 && !hn_op_is_extension(row))
            since = since ? HN_MIN(since, hn_op_version(row, 0, &deprecated))
                          : hn_op_version(row, 0, &deprecated);
    }
    return since;
}

/* An operator that only ONNX Runtime supports is not valid ONNX, but its rule can be applied. */
static void report_extension(form *f, const hn_op *op, int64_t opset) {
    char standard[64] = "";
    if (standard_since(op))
        snprintf(standard, sizeof standard, "; it is standard from version %d on",
                 standard_since(op));
    if (f->problems)
        hn_node_problem(f->problems, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, f->g, f->id, HN_NONE,
                        "version %lld of operator set %s has no %s: only ONNX Runtime takes it%s",
                        (long long)opset, shown_domain(f->node->domain), hn_op_name(op), standard);
}

/* NULL with ok == true: the operator is of an unknown set and cannot be checked. */
static const hn_op *find_schema(form *f, int *version) {
    hn_str domain = f->node->domain;
    int64_t opset = hn_node_opset(f->g, f->node);
    if (opset < 0) { /* the structure check reports it once per operator set */
        f->ok = false;
        return NULL;
    }
    bool deprecated = false;
    const hn_op *op = hn_node_op(f->g, f->node, version, &deprecated);
    if (!op)
        tell_unknown_op(f, hn_domain_find(hn_model_ops(f->g->model), hn_s(domain),
                                          domain ? domain->n : 0) != HN_DOMAIN_COUNT);
    else if (hn_op_is_extension(op))
        report_extension(f, op, opset);
    else if (deprecated && f->problems) /* not valid, but its rules can be applied */
        hn_node_problem(
            f->problems, HN_SEVERITY_ERROR, HONE_E_UNSUPPORTED, f->g, f->id, HN_NONE,
            "%s is deprecated since version %d of operator set %s, which the model imports",
            hn_op_name(op), *version, shown_domain(domain));
    return op;
}

/* Prints the parameters of an operator as "X, W, [B]"; brackets mark optional ones. */
static void print_params(const char *list, int version, hn_strbuf *out) {
    hn_param p;
    for (uint32_t i = 0; hn_op_formal(list, version, i, &p); i++) {
        bool may_miss = p.optional || (p.variadic && p.min_arity == 0);
        hn_strbuf_printf(out, "%s%s%.*s%s%s", i ? ", " : "", may_miss ? "[" : "", (int)p.name_len,
                         p.name, p.variadic ? "..." : "", may_miss ? "]" : "");
    }
}

static void fail_arity(form *f, const hn_op *op, int version, bool is_input, uint32_t n) {
    if (fails_silently(f))
        return;
    hn_strbuf params;
    hn_strbuf_init(&params, hn_arena_allocator(f->g->model->arena));
    print_params(is_input ? hn_op_text(op, HN_OP_INPUTS) : hn_op_text(op, HN_OP_OUTPUTS), version,
                 &params);
    FORM_FAIL(f, HONE_E_INVALID, "has %u %s%s, but %s-%d %s %s", n, is_input ? "input" : "output",
              n == 1 ? "" : "s", hn_op_name(op), version, is_input ? "takes" : "gives",
              params.n ? params.at : "none");
    free_text(f->problems, &params);
}

/* Checks that the number of arguments matches the schema, and that only optional ones are
 * omitted. */
static void check_arity(form *f, const hn_op *op, int version, bool is_input) {
    hn_op_column column = is_input ? HN_OP_INPUTS : HN_OP_OUTPUTS;
    uint32_t n = is_input ? f->node->n_inputs : f->node->n_outputs;
    const hn_id *args = is_input ? f->node->inputs : f->node->outputs;
    uint32_t min, max;
    hn_op_n_args(op, column, version, &min, &max);
    if (n < min || n > max) {
        fail_arity(f, op, version, is_input, n);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        hn_param p;
        if (args[i] == HN_NONE && hn_op_arg(op, column, version, i, &p) && !p.optional &&
            (!p.variadic || is_input))
            FORM_FAIL(f, HONE_E_INVALID, "%s %u (%.*s) is missing, but is not optional",
                      is_input ? "input" : "output", i, (int)p.name_len, p.name);
    }
}

static const char *kind_name(hn_attr_kind k) {
    static const char *const names[] = {"undefined",      "float",   "int",    "string",
                                        "tensor",         "graph",   "floats", "ints",
                                        "strings",        "tensors", "graphs", "sparse tensor",
                                        "sparse tensors", "type",    "types"};
    return (size_t)k < HN_COUNT(names) ? names[k] : "unknown";
}

static void fail_unknown_attribute(form *f, const hn_op *op, int version, const hn_attr *a) {
    if (fails_silently(f))
        return;
    hn_strbuf known;
    hn_strbuf_init(&known, hn_arena_allocator(f->g->model->arena));
    hn_attr_spec spec;
    for (uint32_t i = 0; hn_op_attr(op, version, i, &spec); i++)
        hn_strbuf_printf(&known, "%s%.*s", i ? ", " : "; it has ", (int)spec.name_len, spec.name);
    FORM_FAIL(f, HONE_E_INVALID, "%s-%d has no attribute '%s'%s", hn_op_name(op), version,
              hn_s(a->name), known.n ? known.at : "");
    free_text(f->problems, &known);
}

static void check_attribute(form *f, const hn_op *op, int version, const hn_attr *a) {
    hn_attr_spec spec;
    if (!hn_op_attr_find(op, version, hn_s(a->name), a->name ? a->name->n : 0, &spec))
        fail_unknown_attribute(f, op, version, a);
    else if (a->kind != spec.kind)
        FORM_FAIL(f, HONE_E_TYPE, "attribute '%s' is of kind %s, but must be %s", hn_s(a->name),
                  kind_name(a->kind), kind_name(spec.kind));
}

static void check_attributes(form *f, const hn_op *op, int version) {
    for (uint32_t i = 0; i < f->node->n_attrs; i++)
        check_attribute(f, op, version, &f->node->attrs[i]);
    hn_attr_spec spec;
    for (uint32_t i = 0; hn_op_attr(op, version, i, &spec); i++) {
        bool found = !spec.required;
        for (uint32_t k = 0; k < f->node->n_attrs && !found; k++) {
            hn_str name = f->node->attrs[k].name;
            found =
                name && name->n == spec.name_len && memcmp(name->s, spec.name, spec.name_len) == 0;
        }
        if (!found)
            FORM_FAIL(f, HONE_E_INVALID, "attribute '%.*s' (%s) is missing, but %s-%d needs it",
                      (int)spec.name_len, spec.name, kind_name(spec.kind), hn_op_name(op), version);
    }
}

static void check_function_call(form *f, const hn_function *callee) {
    const hn_block *body = hn_block_at(callee->graph, 0);
    if (f->node->n_inputs > body->inputs.n)
        FORM_FAIL(f, HONE_E_INVALID, "has %u inputs, but function '%s' takes %u", f->node->n_inputs,
                  hn_s(callee->name), body->inputs.n);
    if (f->node->n_outputs > body->outputs.n)
        FORM_FAIL(f, HONE_E_INVALID, "has %u outputs, but function '%s' gives %u",
                  f->node->n_outputs, hn_s(callee->name), body->outputs.n);
}

bool hn_node_form_ok(const hn_graph *g, const hn_function *function, hn_id node, hn_problems *p,
                     const hn_op **op, int *version) {
    form f = {.g = g,
              .function = function,
              .id = node,
              .node = hn_node_at(g, node),
              .problems = p,
              .ok = true};
    hn_str overload = f.node->extra ? f.node->extra->overload : NULL;
    const hn_function *callee = hn_model_function(g->model, f.node->domain, f.node->op, overload);
    *op = NULL;
    if (callee) {
        check_function_call(&f, callee);
        return f.ok;
    }
    *op = find_schema(&f, version);
    if (!*op || !f.ok)
        return f.ok;
    check_arity(&f, *op, *version, true);
    check_arity(&f, *op, *version, false);
    check_attributes(&f, *op, *version);
    return f.ok;
}

/* ---- types ----------------------------------------------------------------------------------- */

#define MAX_TYPE_VARS 16

/* Type variables (T, T1, ...) and the types that the first input of each gives them. */
typedef struct bindings {
    struct {
        const char *name;
        uint32_t len;
        const hn_type *type;
        uint32_t input;
    } var[MAX_TYPE_VARS];
    uint32_t n;
} bindings;

static const hn_type *bound_type(const bindings *b, const hn_param *p, uint32_t *input) {
    for (uint32_t i = 0; i < b->n; i++)
        if (b->var[i].len == p->type_len && memcmp(b->var[i].name, p->type, p->type_len) == 0) {
            *input = b->var[i].input;
            return b->var[i].type;
        }
    return NULL;
}

/* True for equal types apart from shapes; unknown parts match anything. */
static bool same_kind_of_type(const hn_type *a, const hn_type *b) {
    while (a && b) {
        if (a->kind != b->kind || (a->elem && b->elem && a->elem != b->elem))
            return false;
        a = a->inner;
        b = b->inner;
    }
    return true;
}

/* A type without an element type cannot be checked yet. */
static bool is_complete(const hn_type *t) {
    while (t->inner)
        t = t->inner;
    return (t->kind == HN_TYPE_TENSOR || t->kind == HN_TYPE_SPARSE) && t->elem != HN_UNDEFINED;
}

static void report_type(const hn_infer *c, hn_problems *problems, bool is_input, uint32_t i,
                        const hn_param *p) {
    hn_strbuf type, allowed;
    hn_strbuf_init(&type, hn_arena_allocator(hn_infer_arena(c)));
    hn_strbuf_init(&allowed, hn_arena_allocator(hn_infer_arena(c)));
    hn_type_text(hn_infer_syms(c), is_input ? hn_in_type(c, i) : c->out[i], &type);
    hn_op_type_text(c->op, c->version, p, &allowed);
    hn_node_problem(
        problems, HN_SEVERITY_ERROR, HONE_E_TYPE, c->scope->g, c->id,
        is_input ? c->node->inputs[i] : c->node->outputs[i],
        "%s %u (%.*s) is %s, which %s-%d does not %s; it %s %s", is_input ? "input" : "output", i,
        (int)p->name_len, p->name, type.at ? type.at : "?", hn_op_name(c->op), c->version,
        is_input ? "take" : "give", is_input ? "takes" : "gives", allowed.at ? allowed.at : "?");
    free_text(problems, &type);
    free_text(problems, &allowed);
}

static bool check_input_type(hn_infer *c, hn_problems *problems, bindings *b, uint32_t i) {
    const hn_type *t = hn_in_type(c, i);
    hn_param p;
    if (!t || !is_complete(t) || !hn_op_arg(c->op, HN_OP_INPUTS, c->version, i, &p))
        return true;
    if (!hn_op_type_allowed(c->op, c->version, &p, t)) {
        if (problems)
            report_type(c, problems, true, i, &p);
        return false;
    }
    if (p.heterogeneous)
        return true;
    uint32_t first = 0;
    const hn_type *bound = bound_type(b, &p, &first);
    if (!bound) {
        if (b->n < MAX_TYPE_VARS) {
            b->var[b->n].name = p.type;
            b->var[b->n].len = p.type_len;
            b->var[b->n].type = t;
            b->var[b->n++].input = i;
        }
        return true;
    }
    if (same_kind_of_type(bound, t))
        return true;
    if (problems)
        hn_node_problem(problems, HN_SEVERITY_ERROR, HONE_E_TYPE, c->scope->g, c->id,
                        c->node->inputs[i],
                        "input %u (%.*s) is %s, but input %u is %s, and both must have one type", i,
                        (int)p.name_len, p.name, hn_in_text(c, i), first, hn_in_text(c, first));
    return false;
}

/* The element type that a parameter implies when exactly one is allowed. */
static hn_dtype only_allowed(const hn_infer *c, const hn_param *p) {
    hn_dtype found = HN_UNDEFINED;
    for (int k = 1; k < HN_DTYPE_COUNT; k++) {
        hn_type t = {.kind = HN_TYPE_TENSOR, .elem = (hn_dtype)k};
        if (!hn_op_type_allowed(c->op, c->version, p, &t))
            continue;
        if (found != HN_UNDEFINED)
            return HN_UNDEFINED;
        found = t.elem;
    }
    return found;
}

static hone_status imply_output(hn_infer *c, const bindings *b, uint32_t i) {
    hn_param p;
    uint32_t input;
    if (!hn_has_output(c, i) || !hn_op_arg(c->op, HN_OP_OUTPUTS, c->version, i, &p) ||
        p.heterogeneous)
        return HONE_OK;
    const hn_type *bound = bound_type(b, &p, &input);
    if (bound)
        return bound->kind == HN_TYPE_TENSOR ? hn_out_elem(c, i, bound->elem) : HONE_OK;
    return hn_out_elem(c, i, only_allowed(c, &p));
}

bool hn_node_types_ok(hn_infer *c, hn_problems *problems) {
    bindings b = {.n = 0};
    bool ok = true;
    for (uint32_t i = 0; i < c->node->n_inputs; i++)
        ok &= check_input_type(c, problems, &b, i);
    for (uint32_t i = 0; ok && i < c->node->n_outputs; i++)
        ok = imply_output(c, &b, i) == HONE_OK;
    return ok;
}

bool hn_node_outputs_ok(const hn_infer *c, hn_problems *problems) {
    bool ok = true;
    for (uint32_t i = 0; i < c->node->n_outputs; i++) {
        hn_param p;
        bool fits = !hn_has_output(c, i) || !c->out[i] || !is_complete(c->out[i]) ||
                    !hn_op_arg(c->op, HN_OP_OUTPUTS, c->version, i, &p) ||
                    hn_op_type_allowed(c->op, c->version, &p, c->out[i]);
        if (!fits && problems)
            report_type(c, problems, false, i, &p);
        ok &= fits;
    }
    return ok;
}
