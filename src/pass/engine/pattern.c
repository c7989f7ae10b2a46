/* Matches patterns: a search over goals ("this term stands for that value") that goes back when a
 * choice (order of two inputs, presence of an optional operator) turns out wrong. Everything lives
 * on the stack; its depth is bounded by the number of terms. */
#include "pass/engine/pattern.h"

#include <math.h>

/* Choices multiply: what takes longer than this is no pattern that anybody means. */
#define MAX_SEARCH_STEPS 4096
/* A near miss has at least so many nodes, and lacks one in six. */
#define MIN_NEAR_MISS_NODES 3
#define MAX_MISSING(n) HN_MAX((n) / 6, 1)

typedef struct term_goal {
    const hn_pattern_term *term;
    hn_id value;
    const struct term_goal *next;
} term_goal;

/* The one thing that does not fit. */
typedef struct term_misfit {
    const hn_pattern_term *term; /* NULL: a reader outside the match */
    const hn_term_attr *attr;    /* when it was this */
    hn_id value, node;
    hn_id wanted; /* value that a name stood for already */
} term_misfit;

typedef struct pattern_search {
    const hn_pattern *pattern;
    const hn_rule *r;
    hn_id values[HN_PATTERN_MAX_NAMES];
    hn_id nodes[HN_PATTERN_MAX_TERMS]; /* of the match so far, the root first */
    uint32_t n_nodes, n_steps;
    /* While looking for a near miss: one misfit is let pass, and the best one is kept. */
    bool is_lenient, has_misfit;
    term_misfit now, best;
    uint32_t best_nodes;
} pattern_search;

static bool solve_goals(pattern_search *s, const term_goal *g);

/* Goes on as if the goal had been reached, once. */
static bool excuse_misfit(pattern_search *s, const term_goal *g, term_misfit m) {
    if (!s->is_lenient || s->has_misfit || m.term->n_nodes > MAX_MISSING(s->pattern->root->n_nodes))
        return false;
    s->has_misfit = true;
    s->now = m;
    bool found = solve_goals(s, g->next);
    s->has_misfit = false;
    return found;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* True when the name stands for this value now; *is_new when it did not before. */
static bool bind_name(pattern_search *s, uint32_t name, hn_id value, bool *is_new) {
    *is_new = false;
    if (name == HN_NONE || s->values[name] == value)
        return true;
    if (s->values[name] != HN_NONE)
        return false;
    s->values[name] = value;
    *is_new = true;
    return true;
}

static bool solve_named(pattern_search *s, const term_goal *g) {
    bool is_new;
    if (!bind_name(s, g->term->name, g->value, &is_new))
        return excuse_misfit(
            s, g, (term_misfit){g->term, NULL, g->value, HN_NONE, s->values[g->term->name]});
    bool found = solve_goals(s, g->next);
    if (is_new && !found)
        s->values[g->term->name] = HN_NONE;
    return found;
}

/* ---- one operator ---------------------------------------------------------------------------- */

static bool word_is_str(hn_word w, hn_str s) {
    return s && s->n == w.n && memcmp(s->s, w.at, w.n) == 0;
}

/* The one of the term's operators that this node is. What is written for another version than the
 * graph's may mean something else. */
static const hn_term_op *find_op(const hn_pattern_term *t, const hn_node *n) {
    for (uint32_t i = 0; i < t->ops.n && !n->opset_version; i++) {
        const hn_term_op *op = &t->ops.at[i];
        bool is_domain =
            op->domain.n == 0 ? hn_domain_is_onnx(n->domain) : word_is_str(op->domain, n->domain);
        if (word_is_str(op->name, n->op) && is_domain)
            return op;
    }
    return NULL;
}

static bool is_order_free(const hn_pattern_term *t, const hn_node *n) {
    return t->args.n == 2 && !t->is_open && find_op(t, n)->is_commutative;
}

static bool attr_word(hn_word w, char *out, size_t out_bytes) {
    if (w.n >= out_bytes)
        return false;
    memcpy(out, w.at, w.n);
    out[w.n] = '\0';
    return true;
}

static bool list_is(const hn_rule *r, hn_id node, const char *name, const hn_term_attr *a) {
    uint32_t n;
    const int64_t *ints;
    return a->ints && hn_node_ints(r, node, name, &n, &ints) && n == a->n &&
           memcmp(ints, a->ints, n * sizeof(*ints)) == 0;
}

/* The kind is the node's: 1 is an integer, a float or a list of one. */
static bool attr_fits(const hn_rule *r, hn_id node, const hn_term_attr *a) {
    char name[64], text[64];
    if (!attr_word(a->name, name, sizeof(name)))
        return false;
    if (a->n == 0)
        return attr_word(a->text, text, sizeof(text)) && hn_node_s_is(r, node, name, text);
    if (a->n == 1 && a->ints && hn_node_i(r, node, name, ~a->ints[0]) == a->ints[0])
        return true;
    if (a->n == 1 && fabs(hn_node_f(r, node, name, NAN) - a->reals[0]) <= 1e-6 * fabs(a->reals[0]))
        return true;
    return list_is(r, node, name, a);
}

static const hn_term_attr *find_bad_attr(const pattern_search *s, const hn_pattern_term *t,
                                         hn_id node) {
    for (uint32_t i = 0; i < t->attrs.n; i++)
        if (!attr_fits(s->r, node, &t->attrs.at[i]))
            return &t->attrs.at[i];
    return NULL;
}

/* Inputs that the term does not mention are absent. */
static bool has_only_args(const hn_pattern_term *t, const hn_node *n) {
    for (uint32_t i = t->args.n; t->has_args && !t->is_open && i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE)
            return false;
    return true;
}

/* The arguments become goals, in the order written or with the first two swapped. */
static bool solve_args(pattern_search *s, const term_goal *g, const hn_node *n, bool is_swapped) {
    term_goal args[HN_PATTERN_MAX_ARGS];
    const hn_pattern_term *t = g->term;
    for (uint32_t i = 0; i < t->args.n; i++) {
        uint32_t slot = is_swapped ? 1 - i : i;
        hn_id value = slot < n->n_inputs ? n->inputs[slot] : HN_NONE;
        const term_goal *next = i + 1 < t->args.n ? &args[i + 1] : g->next;
        args[i] = (term_goal){t->args.at[i], value, next};
    }
    return solve_goals(s, t->args.n > 0 ? args : g->next);
}

static bool solve_node(pattern_search *s, const term_goal *g, hn_id node) {
    const hn_pattern_term *t = g->term;
    const hn_node *n = hn_node_at(s->r->g, node);
    const hn_term_attr *bad = find_bad_attr(s, t, node);
    bool is_new = false;
    if (bad || !has_only_args(t, n) || !bind_name(s, t->name, g->value, &is_new))
        return !t->is_optional &&
               excuse_misfit(s, g, (term_misfit){t, bad, g->value, node, HN_NONE});
    s->nodes[s->n_nodes++] = node;
    bool found = solve_args(s, g, n, false) || (is_order_free(t, n) && solve_args(s, g, n, true));
    if (found)
        return true;
    s->n_nodes--;
    if (is_new)
        s->values[t->name] = HN_NONE;
    return false;
}

static hn_id maker_for(const pattern_search *s, const hn_pattern_term *t, hn_id value) {
    if (value == HN_NONE)
        return HN_NONE;
    const hn_value *v = hn_value_at(s->r->g, value);
    bool fits = v->producer != HN_NONE && v->slot == 0 &&
                find_op(t, hn_node_at(s->r->g, v->producer)) &&
                !hn_facts_is_invalid(s->r->pass->facts, v->producer);
    return fits ? v->producer : HN_NONE;
}

static bool solve_op(pattern_search *s, const term_goal *g) {
    hn_id node = maker_for(s, g->term, g->value);
    if (!g->term->is_optional)
        return node != HN_NONE
                   ? solve_node(s, g, node)
                   : excuse_misfit(s, g, (term_misfit){g->term, NULL, g->value, HN_NONE, HN_NONE});
    if (node != HN_NONE && solve_node(s, g, node))
        return true;
    term_goal without = {g->term->args.at[0], g->value, g->next};
    return solve_goals(s, &without);
}

/* ---- the whole match ------------------------------------------------------------------------- */

/* What does not fit counts as a part when it is the node where another one was expected. */
static bool is_matched(const pattern_search *s, hn_id node) {
    for (uint32_t i = 0; i < s->n_nodes; i++)
        if (s->nodes[i] == node)
            return true;
    return s->has_misfit && s->now.value != HN_NONE &&
           hn_value_at(s->r->g, s->now.value)->producer == node;
}

/* A reader that is no part of the match; a block output counts. */
static bool find_outside_reader(const pattern_search *s, hn_id value, hn_id *reader) {
    const hn_value *v = hn_value_at(s->r->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++) {
        *reader = v->uses.at[i].node;
        if (*reader == HN_NONE || !is_matched(s, *reader))
            return true;
    }
    return false;
}

/* Nodes of other blocks do not vanish with the match either: the blocks run at other times. */
static bool find_shared(const pattern_search *s, term_misfit *m) {
    *m = (term_misfit){NULL, NULL, HN_NONE, HN_NONE, HN_NONE};
    hn_id block = hn_node_at(s->r->g, s->r->root)->block;
    for (uint32_t i = 1; i < s->n_nodes && !s->r->row->allow_shared; i++) {
        const hn_node *n = hn_node_at(s->r->g, s->nodes[i]);
        for (uint32_t k = 0; k < n->n_outputs; k++) {
            m->value = n->outputs[k];
            if (m->value == HN_NONE)
                continue;
            if (n->block != block || find_outside_reader(s, m->value, &m->node))
                return true;
        }
    }
    return false;
}

static bool finish_search(pattern_search *s) {
    term_misfit shared;
    bool is_shared = find_shared(s, &shared);
    if (!s->is_lenient)
        return !is_shared;
    if (s->has_misfit != is_shared && s->n_nodes > s->best_nodes) {
        s->best_nodes = s->n_nodes;
        s->best = is_shared ? shared : s->now;
    }
    return false; /* there may be a better one */
}

static bool plain_term_fits(const pattern_search *s, const term_goal *g) {
    if (g->value == HN_NONE)
        return g->term->is_optional || g->term->kind == HN_TERM_ANY;
    switch (g->term->kind) {
    case HN_TERM_NUMBER:
        return hn_const_is(s->r, g->value, g->term->number);
    case HN_TERM_CONST:
        return hn_const(s->r, g->value) != NULL;
    default:
        return true;
    }
}

static bool solve_either(pattern_search *s, const term_goal *g) {
    for (uint32_t i = 0; i < g->term->args.n; i++) {
        term_goal one = {g->term->args.at[i], g->value, g->next};
        if (solve_goals(s, &one))
            return true;
    }
    return false;
}

static bool solve_goals(pattern_search *s, const term_goal *g) {
    if (!g)
        return finish_search(s);
    if (++s->n_steps > MAX_SEARCH_STEPS)
        return false;
    if (g->term->kind == HN_TERM_OP)
        return solve_op(s, g);
    if (g->term->kind == HN_TERM_EITHER)
        return solve_either(s, g);
    if (!plain_term_fits(s, g))
        return excuse_misfit(s, g, (term_misfit){g->term, NULL, g->value, HN_NONE, HN_NONE});
    return solve_named(s, g);
}

/* ---- near misses ----------------------------------------------------------------------------- */

static const char *value_name(const pattern_search *s, hn_id value) {
    return hn_s(hn_value_at(s->r->g, value)->name);
}

static void tell_shared(const pattern_search *s, hn_strbuf *why) {
    char label[128];
    const term_misfit *m = &s->best;
    if (m->node != HN_NONE)
        hn_strbuf_printf(why, "'%s' is also read by %s", value_name(s, m->value),
                         hn_node_text(s->r->g, m->node, label, sizeof(label)));
    else if (hn_is_graph_output(s->r, m->value))
        hn_strbuf_printf(why, "'%s' is an output of the graph", value_name(s, m->value));
    else
        hn_strbuf_printf(why, "'%s' is computed in another block", value_name(s, m->value));
}

static void tell_term(const pattern_search *s, hn_strbuf *why) {
    char label[128], found[32], wanted[32];
    const term_misfit *m = &s->best;
    const hn_word *text = &m->term->text;
    int shown = (int)HN_MIN(text->n, 60);
    const char *more = text->n > 60 ? "..." : "";
    if (m->value == HN_NONE) {
        hn_strbuf_printf(why, "an input is absent where %.*s%s was expected", shown, text->at,
                         more);
        return;
    }
    hn_id maker = hn_value_at(s->r->g, m->value)->producer;
    double number;
    if (m->attr)
        hn_strbuf_printf(why, "%s has another %.*s than %.*s",
                         hn_node_text(s->r->g, m->node, label, sizeof(label)), (int)m->attr->name.n,
                         m->attr->name.at, (int)m->attr->text.n, m->attr->text.at);
    else if (m->term->kind == HN_TERM_CONST)
        hn_strbuf_printf(why, "'%s' is not constant", value_name(s, m->value));
    else if (m->term->kind == HN_TERM_NUMBER && hn_const_f64(s->r, m->value, &number)) {
        hn_format_f64(found, number);
        hn_format_f64(wanted, m->term->number);
        hn_strbuf_printf(why, "'%s' is %s, not %s", value_name(s, m->value), found, wanted);
    } else if (m->wanted != HN_NONE)
        hn_strbuf_printf(why, "'%s' stands where '%s' was expected", value_name(s, m->value),
                         value_name(s, m->wanted));
    else if (maker != HN_NONE)
        hn_strbuf_printf(why, "'%s' comes from %s where %.*s%s was expected",
                         value_name(s, m->value),
                         hn_node_text(s->r->g, maker, label, sizeof(label)), shown, text->at, more);
    else
        hn_strbuf_printf(why, "'%s' stands where %.*s%s was expected", value_name(s, m->value),
                         shown, text->at, more);
}

static bool search_from_root(pattern_search *s) {
    hn_id root = s->r->root;
    for (uint32_t i = 0; i < s->pattern->n_names; i++)
        s->values[i] = HN_NONE;
    s->n_nodes = s->n_steps = 0;
    const term_goal g = {s->pattern->root, hn_out(s->r, root, 0), NULL};
    return solve_node(s, &g, root);
}

static void look_for_near_miss(pattern_search *s, hn_strbuf *why) {
    if (s->pattern->root->n_nodes < MIN_NEAR_MISS_NODES)
        return;
    s->is_lenient = true;
    s->best_nodes = MIN_NEAR_MISS_NODES - 1;
    search_from_root(s);
    if (s->best_nodes < MIN_NEAR_MISS_NODES)
        return;
    if (s->best.term)
        tell_term(s, why);
    else
        tell_shared(s, why);
}

bool hn_pattern_fits_root(const hn_pattern *p, const hn_node *n) {
    return find_op(p->root, n) != NULL;
}

bool hn_pattern_match(const hn_pattern *p, const hn_rule *r, hn_match *out, hn_strbuf *why) {
    pattern_search s;
    s.pattern = p;
    s.r = r;
    s.is_lenient = s.has_misfit = false;
    if (!hn_pattern_fits_root(p, hn_node_at(r->g, r->root)))
        return false;
    if (!search_from_root(&s)) {
        if (why)
            look_for_near_miss(&s, why);
        return false;
    }
    out->pattern = p;
    memcpy(out->values, s.values, p->n_names * sizeof(*s.values));
    return true;
}

/* ---- captures -------------------------------------------------------------------------------- */

hn_id hn_cap(const hn_rule *r, const char *name) {
    const hn_pattern *p = r->match->pattern;
    size_t n = strlen(name);
    for (uint32_t i = 0; i < p->n_names; i++)
        if (p->names[i].n == n && memcmp(p->names[i].at, name, n) == 0)
            return r->match->values[i];
    return HN_NONE;
}

hn_id hn_cap_node(const hn_rule *r, const char *name) {
    hn_id value = hn_cap(r, name);
    return value == HN_NONE ? HN_NONE : hn_value_at(r->g, value)->producer;
}
