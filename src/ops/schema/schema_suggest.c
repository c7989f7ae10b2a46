/* Suggests operator names that are similar to a misspelled one. */
#include "ops/ops.h"

#define LONGEST_NAME 48
#define MOST_SUGGESTIONS 3

typedef struct suggestion {
    const hn_op *op;
    /* twice the edit distance; odd: in another domain, which ranks after the same distance in its
     * own */
    int distance;
} suggestion;

static char fold_case(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The number of insertions, deletions and substitutions that turn a into b, ignoring case; `limit`
 * + 1 when it is more. */
static int edit_distance(const char *a, size_t n_a, const char *b, size_t n_b, int limit) {
    int row[LONGEST_NAME + 1];
    if (n_a > LONGEST_NAME || n_b > LONGEST_NAME || n_a > n_b + (size_t)limit ||
        n_b > n_a + (size_t)limit)
        return limit + 1;
    for (size_t j = 0; j <= n_b; j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= n_a; i++) {
        int diagonal = row[0];
        int best = row[0] = (int)i;
        for (size_t j = 1; j <= n_b; j++) {
            int substituted = diagonal + (fold_case(a[i - 1]) != fold_case(b[j - 1]));
            int shifted = 1 + HN_MIN(row[j], row[j - 1]);
            diagonal = row[j];
            row[j] = HN_MIN(substituted, shifted);
            best = HN_MIN(best, row[j]);
        }
        if (best > limit)
            return limit + 1;
    }
    return row[n_b];
}

/* Keeps the few closest suggestions in order, and only the closest of operators with one name. */
static void offer_suggestion(suggestion *list, int *n, suggestion s) {
    int at = 0;
    while (at < *n && strcmp(hn_op_name(list[at].op), hn_op_name(s.op)) != 0)
        at++;
    if (at == MOST_SUGGESTIONS)
        at--;
    if (at < *n && list[at].distance <= s.distance)
        return;
    if (at == *n)
        (*n)++;
    for (; at > 0 && list[at - 1].distance > s.distance; at--)
        list[at] = list[at - 1];
    list[at] = s;
}

static const char *domain_name(const hn_op_registry *r, hn_domain d) {
    return d == HN_DOMAIN_ONNX ? "ai.onnx" : hn_domain_text(r, d);
}

void hn_op_suggest(const hn_op_registry *r, hn_domain d, const char *name, hn_strbuf *out) {
    suggestion list[MOST_SUGGESTIONS];
    int n = 0;
    size_t name_len = strlen(name);
    int limit = name_len < 6 ? 1 : name_len < 10 ? 2 : 3;
    for (uint32_t i = 0; i < hn_op_count(r); i++) {
        const hn_op *op = hn_op_row(r, i);
        int distance = edit_distance(name, name_len, hn_op_name(op), strlen(hn_op_name(op)), limit);
        if (distance <= limit)
            offer_suggestion(list, &n, (suggestion){op, 2 * distance + (op->domain != d)});
    }
    for (int i = 0; i < n; i++) {
        bool is_home = list[i].op->domain == d;
        hn_strbuf_printf(out, "%s%s%s%s", i > 0 ? ", " : "",
                         is_home ? "" : domain_name(r, list[i].op->domain), is_home ? "" : ".",
                         hn_op_name(list[i].op));
    }
}

void hn_op_tell_unknown(const hn_graph *g, const hn_node *n, hn_strbuf *out) {
    const hn_op_registry *r = hn_model_ops(g->model);
    const char *name = hn_s(n->op);
    hn_domain d = hn_domain_find(r, hn_s(n->domain), n->domain ? n->domain->n : 0);
    int64_t opset = hn_node_opset(g, n);
    int since = hn_op_introduced(r, d, name);
    if (since > opset) {
        hn_strbuf_printf(
            out,
            "%s was introduced in version %d of operator set %s, but the model imports "
            "version %lld: raise the import to %d or more",
            name, since, domain_name(r, d), (long long)opset, since);
        return;
    }
    if (d == HN_DOMAIN_COUNT)
        hn_strbuf_printf(out, "hone knows no operator set '%s' with an operator '%s'",
                         hn_s(n->domain), name);
    else
        hn_strbuf_printf(out, "operator set %s version %lld has no operator '%s'",
                         domain_name(r, d), (long long)opset, name);
    size_t before = out->n;
    hn_strbuf_puts(out, "; near: ");
    size_t after = out->n;
    hn_op_suggest(r, d, name, out);
    if (out->n == after && !out->failed)
        out->at[out->n = before] = '\0';
}
