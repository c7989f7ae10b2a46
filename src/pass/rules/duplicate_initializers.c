/* Merges initializers with the same content. A fingerprint of type, shape and a few bytes selects
 * candidates; only those are compared in full. */
#include "pass/engine/pass_int.h"

typedef struct known_init {
    hn_id value;
    uint32_t older; /* entry with the same fingerprint; HN_MAP_NONE */
} known_init;

typedef struct known_inits {
    hn_pass *pass;
    hn_map newest; /* fingerprint -> entry */
    HN_VEC(known_init) list;
} known_inits;

/* Graph inputs and outputs must keep their names. */
static bool is_mergeable(const hn_value *v) {
    return v->init && !v->is_input && v->uses.n > 0 && !hn_value_is_output(v, HN_NONE);
}

/* Finds an equal initializer that is visible wherever `value` is. */
static hn_id find_equal_initializer(const known_inits *k, hn_id value, uint64_t fingerprint) {
    const hn_graph *g = k->pass->g;
    const hn_value *v = hn_value_at(g, value);
    uint32_t i = hn_map_get(&k->newest, fingerprint);
    for (; i != HN_MAP_NONE; i = k->list.at[i].older) {
        const hn_value *other = hn_value_at(g, k->list.at[i].value);
        if (hn_block_is_inside(g, v->block, other->block) && hn_tensor_equal(v->init, other->init))
            return k->list.at[i].value;
    }
    return HN_NONE;
}

static hone_status add_init(known_inits *k, hn_id value, uint64_t fingerprint) {
    known_init entry = {.value = value, .older = hn_map_get(&k->newest, fingerprint)};
    if (!hn_map_put(&k->newest, fingerprint, k->list.n) ||
        !HN_VEC_PUSH(k->pass->scratch, &k->list, entry))
        return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status merge_init(hn_pass *p, hn_id value, hn_id twin) {
    hn_rule *r = hn_rewrite_begin(p, "same-data", hn_value_at(p->g, value)->uses.at[0].node);
    HN_TRY_PTR(r);
    hn_detail(r, "'%s' is '%s'", hn_s(hn_value_at(p->g, value)->name),
              hn_s(hn_value_at(p->g, twin)->name));
    hn_rule_replace_value(r, value, twin);
    return hn_rewrite_end(r);
}

/* Visits outer blocks first, because inner ones can read their initializers. */
hone_status hn_pass_duplicate_initializers(hn_pass *p) {
    known_inits k = {.pass = p};
    hn_map_init(&k.newest, p->scratch);
    for (hn_id block = 0; block < p->g->blocks.n; block++) {
        const hn_block *b = hn_block_at(p->g, block);
        for (uint32_t i = 0; i < b->inits.n; i++) {
            hn_id value = b->inits.at[i];
            if (!is_mergeable(hn_value_at(p->g, value)) || !hn_pass_may(p, "same-data"))
                continue;
            uint64_t fingerprint = hn_tensor_fingerprint(hn_value_at(p->g, value)->init);
            hn_id twin = find_equal_initializer(&k, value, fingerprint);
            HN_TRY(twin == HN_NONE ? add_init(&k, value, fingerprint) : merge_init(p, value, twin));
        }
    }
    return HONE_OK;
}
