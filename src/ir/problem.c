/* The list of problems that checks report, and labels of nodes in messages. */
#include "ir/ir.h"

#include <stdio.h>

#define DEFAULT_PROBLEM_CAP 1000

const char *hn_node_op_label(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes) {
    const hn_node *n = hn_node_at(g, node);
    if (hn_domain_is_onnx(n->domain))
        snprintf(buf, buf_bytes, "%s", hn_s(n->op));
    else
        snprintf(buf, buf_bytes, "%s.%s", hn_s(n->domain), hn_s(n->op));
    return buf;
}

const char *hn_node_label(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes) {
    const hn_node *n = hn_node_at(g, node);
    if (hn_str_empty(n->name))
        snprintf(buf, buf_bytes, "#%u (%s)", node, hn_s(n->op));
    else
        snprintf(buf, buf_bytes, "%s", n->name->s);
    return buf;
}

static const char *keep_text(hn_problems *p, const char *text) {
    const char *copy = *text ? hn_arena_copy(p->arena, text, strlen(text) + 1) : "";
    p->failed |= !copy;
    return copy;
}

const char *hn_node_text(const hn_graph *g, hn_id node, char *buf, size_t buf_bytes) {
    char label[128], op[64];
    hn_node_label(g, node, label, sizeof(label));
    if (hn_str_empty(hn_node_at(g, node)->name))
        snprintf(buf, buf_bytes, "node %s", label);
    else if (hn_str_empty(hn_node_at(g, node)->op))
        snprintf(buf, buf_bytes, "node '%s'", label);
    else
        snprintf(buf, buf_bytes, "node '%s' (%s)", label,
                 hn_node_op_label(g, node, op, sizeof(op)));
    return buf;
}

void hn_error_at_node(hone_error *err, const hn_graph *g, hn_id node) {
    char text[200];
    if (!err || err->code == HONE_OK)
        return;
    hn_error_prefix(err, "%s", hn_node_text(g, node, text, sizeof(text)));
    if (!*err->node) {
        hn_node_label(g, node, err->node, sizeof(err->node));
        hn_node_op_label(g, node, err->op, sizeof(err->op));
    }
}

static void add_problem(hn_problems *p, hn_severity sev, hone_status code, const hn_graph *g,
                        hn_id node, hn_id value, const char *message) {
    ++*(sev == HN_SEVERITY_ERROR ? &p->n_errors : &p->n_warnings);
    if (p->list.n >= (p->cap ? p->cap : DEFAULT_PROBLEM_CAP))
        return;
    char label[sizeof((hone_error *)0)->node] = "", op[sizeof((hone_error *)0)->op] = "";
    if (g && node != HN_NONE) {
        hn_node_label(g, node, label, sizeof(label));
        hn_node_op_label(g, node, op, sizeof(op));
    }
    hn_problem problem = {
        .severity = sev,
        .code = code,
        .message = keep_text(p, message),
        .node = keep_text(p, label),
        .op = keep_text(p, op),
        .value = g && value != HN_NONE ? hn_s(hn_value_at(g, value)->name) : "",
    };
    if (!problem.message || !problem.node || !problem.op ||
        !HN_VEC_PUSH(p->arena, &p->list, problem))
        p->failed = true;
}

void hn_problem_add(hn_problems *p, hn_severity sev, hone_status code, const hn_graph *g,
                    hn_id node, hn_id value, const char *fmt, ...) {
    char message[sizeof((hone_error *)0)->message];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    add_problem(p, sev, code, g, node, value, message);
}

void hn_node_problem(hn_problems *p, hn_severity sev, hone_status code, const hn_graph *g,
                     hn_id node, hn_id value, const char *fmt, ...) {
    char message[sizeof((hone_error *)0)->message];
    hn_node_text(g, node, message, sizeof(message) / 2);
    size_t used = strlen(message);
    used += (size_t)snprintf(message + used, sizeof(message) - used, ": ");
    va_list args;
    va_start(args, fmt);
    vsnprintf(message + used, sizeof(message) - used, fmt, args);
    va_end(args);
    add_problem(p, sev, code, g, node, value, message);
}

static bool is_listed(const hn_problems *p, const hn_problem *problem) {
    for (uint32_t i = 0; i < p->list.n; i++) {
        const hn_problem *other = &p->list.at[i];
        if (other->message_hash == problem->message_hash &&
            strcmp(other->node, problem->node) == 0 &&
            strcmp(other->message, problem->message) == 0)
            return true;
    }
    return false;
}

void hn_problems_in_function(hn_problems *p, uint32_t first, const hn_function *f) {
    uint32_t n = p->list.n;
    p->list.n = HN_MIN(first, n);
    for (uint32_t i = first; i < n; i++) {
        hn_problem problem = p->list.at[i];
        problem.message =
            hn_arena_printf(p->arena, "in function '%s': %s", hn_s(f->name), problem.message);
        if (!problem.message) {
            p->failed = true;
            continue;
        }
        problem.message_hash = hn_hash32(problem.message, strlen(problem.message));
        if (is_listed(p, &problem))
            --*(problem.severity == HN_SEVERITY_ERROR ? &p->n_errors : &p->n_warnings);
        else
            p->list.at[p->list.n++] = problem;
    }
}
