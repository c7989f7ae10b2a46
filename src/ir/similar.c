/* "Did you mean ...?": the defined name that is closest to an undefined one. */
#include "ir/graph_int.h"

#define SIMILAR_MAX_NAME 64
#define SIMILAR_MAX_VALUES 20000

/* Edit distance (insert, delete, change), or anything above `limit` once it is certain to exceed
 * it. */
static uint32_t name_distance(hn_str a, hn_str b, uint32_t limit) {
    uint32_t row[SIMILAR_MAX_NAME + 1];
    for (uint32_t j = 0; j <= b->n; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a->n; i++) {
        uint32_t diagonal = row[0], least = i;
        row[0] = i;
        for (uint32_t j = 1; j <= b->n; j++) {
            uint32_t change = diagonal + (a->s[i - 1] != b->s[j - 1]);
            diagonal = row[j];
            row[j] = HN_MIN(change, 1 + HN_MIN(row[j], row[j - 1]));
            least = HN_MIN(least, row[j]);
        }
        if (least > limit)
            return limit + 1;
    }
    return row[b->n];
}

static bool is_defined_value(const hn_value *v) {
    return v->producer != HN_NONE || v->is_input || v->init || v->sparse_init;
}

hn_str hn_graph_similar_name(const hn_graph *g, hn_id block, hn_str name) {
    if (hn_str_empty(name) || name->n > SIMILAR_MAX_NAME || g->values.n > SIMILAR_MAX_VALUES)
        return NULL;
    uint32_t limit =
        HN_MIN(1 + name->n / 4, 3); /* short names have a small distance to everything */
    hn_str best = NULL;
    for (hn_id id = 0; id < g->values.n && limit > 0; id++) {
        const hn_value *v = hn_value_at(g, id);
        uint32_t n = v->name->n, difference = n > name->n ? n - name->n : name->n - n;
        if (v->name == name || n > SIMILAR_MAX_NAME || difference > limit || !is_defined_value(v) ||
            !hn_block_is_inside(g, block, v->block))
            continue;
        uint32_t distance = name_distance(name, v->name, limit);
        if (distance <= limit) {
            best = v->name;
            limit = distance - 1; /* only a closer one is better */
        }
    }
    return best;
}
