/* Two profiles of one model, or of two forms of it: what became faster, what slower. Nodes are
 * matched by the nodes of the model that they compute, so that a fused node stands beside all that
 * it replaced. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* Nodes of both sides that share a node of the model, directly or through others. */
typedef struct diff_group {
    const char *label, *op_before, *op_after;
    double before_us, after_us;
    uint32_t n_before, n_after, n_parts;
} diff_group;

typedef struct diff_part { /* a node of the model, and which entry computes it */
    const char *name;
    uint32_t entry; /* of the left profile, then of the right one */
} diff_part;

typedef struct profile_match {
    const profile *before, *after;
    uint32_t *parent; /* union-find over the entries of both */
    diff_group *groups;
    uint32_t n_groups;
} profile_match;

static uint32_t root_of(uint32_t *parent, uint32_t i) {
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static int by_part_name(const void *a, const void *b) {
    const diff_part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->entry > y->entry) - (x->entry < y->entry);
}

/* onnxruntime names fused nodes after one of their values: what it appends is not part of it. */
static const char *plain_part(profile *keeper, const char *name) {
    static const char *const suffixes[] = {"_nchwc", "_nhwc", "_output_0", "_quant", "_token"};
    size_t n = strlen(name);
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
            size_t m = strlen(suffixes[i]);
            if (n > m && strncmp(name + n - m, suffixes[i], m) == 0) {
                n -= m;
                again = true;
            }
        }
    }
    return name[n] ? profile_printf(keeper, "%.*s", (int)n, name) : name;
}

static uint32_t add_parts(profile *keeper, const profile *p, uint32_t first, diff_part *parts) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        for (uint32_t k = 0; k < p->nodes[i].n_parts; k++)
            parts[n++] = (diff_part){plain_part(keeper, p->nodes[i].parts[k]), first + i};
    return n;
}

static uint32_t n_diff_parts(const profile *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        n += p->nodes[i].n_parts;
    return n;
}

static bool join_entries(profile_match *m) {
    uint32_t n_all = m->before->n_nodes + m->after->n_nodes;
    size_t n_parts = (size_t)n_diff_parts(m->before) + n_diff_parts(m->after);
    profile keeper = {0};
    diff_part *parts = malloc((n_parts + 1) * sizeof *parts);
    m->parent = malloc(((size_t)n_all + 1) * sizeof *m->parent);
    bool ok = parts && m->parent;
    for (uint32_t i = 0; ok && i < n_all; i++)
        m->parent[i] = i;
    uint32_t n = ok ? add_parts(&keeper, m->before, 0, parts) : 0;
    n += ok ? add_parts(&keeper, m->after, m->before->n_nodes, parts + n) : 0;
    if (n)
        qsort(parts, n, sizeof *parts, by_part_name);
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(parts[i].name, parts[i - 1].name) == 0)
            m->parent[root_of(m->parent, parts[i].entry)] = root_of(m->parent, parts[i - 1].entry);
    ok = ok && !keeper.failed;
    free(parts);
    profile_free(&keeper);
    return ok;
}

static void add_to_group(diff_group *g, const profile *p, const profile_node *n, bool is_after) {
    *(is_after ? &g->after_us : &g->before_us) += profile_node_us(p, n);
    ++*(is_after ? &g->n_after : &g->n_before);
    const char **op = is_after ? &g->op_after : &g->op_before;
    *op = *op && strcmp(*op, n->op) != 0 ? "" : n->op; /* several */
    if (!g->label || n->n_parts > g->n_parts) {
        g->n_parts = n->n_parts;
        g->label = n->label;
    }
}

static int larger_change_first(const void *a, const void *b) {
    const diff_group *x = a, *y = b;
    double p = x->after_us - x->before_us, q = y->after_us - y->before_us;
    p = p < 0 ? -p : p;
    q = q < 0 ? -q : q;
    return p != q ? (p < q ? 1 : -1) : strcmp(x->label, y->label);
}

static bool match_profiles(const profile *before, const profile *after, profile_match *m) {
    *m = (profile_match){.before = before, .after = after};
    uint32_t n_all = before->n_nodes + after->n_nodes;
    uint32_t *group_of = calloc((size_t)n_all + 1, sizeof *group_of);
    m->groups = calloc((size_t)n_all + 1, sizeof *m->groups);
    bool ok = join_entries(m) && group_of && m->groups;
    for (uint32_t i = 0; ok && i < n_all; i++) {
        bool is_after = i >= before->n_nodes;
        const profile *p = is_after ? after : before;
        uint32_t root = root_of(m->parent, i);
        if (!group_of[root])
            group_of[root] = ++m->n_groups;
        add_to_group(&m->groups[group_of[root] - 1], p,
                     &p->nodes[is_after ? i - before->n_nodes : i], is_after);
    }
    if (ok && m->n_groups)
        qsort(m->groups, m->n_groups, sizeof *m->groups, larger_change_first);
    free(group_of);
    free(m->parent);
    if (!ok)
        free(m->groups);
    return ok;
}

static const char *op_text(const char *op, uint32_t n, char text[160]) {
    if (!op)
        return "-";
    if (!*op)
        snprintf(text, 160, "%u nodes", n);
    else if (n > 1)
        snprintf(text, 160, "%u x %.120s", n, op);
    else
        snprintf(text, 160, "%.150s", op);
    return text;
}

void profile_diff_print(const profile *before, const profile *after, uint64_t n_shown) {
    static const char *const heads[] = {"node",      "before",   "after",
                                        "ms before", "ms after", "change"};
    profile_match m;
    cli_table table;
    char a[160], b[160];
    if (!match_profiles(before, after, &m)) {
        cli_fail("out of memory");
        return;
    }
    double x = before->median_run_us, y = after->median_run_us;
    cli_line("%s: %.3f ms per run, %s", before->source, 1e-3 * x, before->writer);
    cli_line("%s: %.3f ms per run, %s: %.2f x", after->source, 1e-3 * y, after->writer,
             y > 0 ? x / y : 0);
    cli_heading("Nodes, the largest change first");
    cli_table_begin(&table, 6, heads, "LLLrrr");
    for (uint32_t i = 0; i < m.n_groups && (!n_shown || i < n_shown); i++) {
        const diff_group *g = &m.groups[i];
        cli_table_add(&table, "%s", g->label);
        cli_table_add(&table, "%s", op_text(g->op_before, g->n_before, a));
        cli_table_add(&table, "%s", op_text(g->op_after, g->n_after, b));
        cli_table_add(&table, "%.3f", 1e-3 * g->before_us);
        cli_table_add(&table, "%.3f", 1e-3 * g->after_us);
        cli_table_add(&table, "%+.3f", 1e-3 * (g->after_us - g->before_us));
    }
    cli_table_print(&table);
    if (n_shown && m.n_groups > n_shown)
        printf("  … and %llu more; --top 0 shows all\n",
               (unsigned long long)(m.n_groups - n_shown));
    free(m.groups);
}

void profile_diff_json(const profile *before, const profile *after, cli_buffer *out) {
    profile_match m;
    if (!match_profiles(before, after, &m)) {
        out->failed = true;
        return;
    }
    cli_buffer_printf(out, "{");
    cli_json_member(out, "before", before->source);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "after", after->source);
    cli_buffer_printf(out, ", \"before_us\": %.3f, \"after_us\": %.3f, \"nodes\": [",
                      before->median_run_us, after->median_run_us);
    for (uint32_t i = 0; i < m.n_groups; i++) {
        const diff_group *g = &m.groups[i];
        cli_buffer_printf(out, "%s{", i ? ",\n  " : "\n  ");
        cli_json_member(out, "node", g->label);
        cli_buffer_printf(out, ", \"nodes_before\": %u, \"nodes_after\": %u, ", g->n_before,
                          g->n_after);
        cli_buffer_printf(out, "\"before_us\": %.3f, \"after_us\": %.3f}", g->before_us,
                          g->after_us);
    }
    cli_buffer_printf(out, "\n]}\n");
    free(m.groups);
}
