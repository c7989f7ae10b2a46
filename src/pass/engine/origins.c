/* Origins: the nodes of the user's model that a node of a session computes, for profiles. They
 * stand in its metadata, so that copies and caches of the graph keep them. */
#include "pass/engine/pass_int.h"

#define MOST_ORIGINS 32 /* of one node; more would tell a reader nothing */

/* What a profile calls a node: its name, or that of its first output. What has replaced an output
 * of the graph has that name now. */
static hn_str label_of_node(const hn_rule *r, const hn_node *n) {
    if ((n->name && n->name->n) || n->n_outputs == 0 || n->outputs[0] == HN_NONE)
        return n->name;
    hn_id value = n->outputs[0];
    for (uint32_t i = 0; i + 1 < r->replaced.n; i += 2)
        if (r->replaced.at[i] == value && hn_is_graph_output(r, r->replaced.at[i + 1]))
            value = r->replaced.at[i + 1];
    return hn_value_at(r->g, value)->name;
}

static bool push_origin(hn_rule *r, hn_str origin, hn_id twin) {
    hn_origin o = {.origin = origin, .twin = twin};
    return !origin || HN_VEC_PUSH(r->pass->rule_scratch, &r->origins, o);
}

/* Readers are removed before what they read, so all is noted backwards. */
static bool collect_origins(hn_rule *r, hn_id node, hn_id twin) {
    const hn_node *n = hn_node_at(r->pass->g, node);
    bool has_any = false, ok = true;
    if (!r->pass->options->keep_origins)
        return true;
    for (uint32_t i = n->extra ? n->extra->props.n : 0; i-- > 0;) {
        const hn_prop *p = &n->extra->props.at[i];
        if (p->key && strcmp(p->key->s, HN_ORIGIN_KEY) == 0) {
            ok = ok && push_origin(r, p->value, twin);
            has_any = true;
        }
    }
    return ok && (has_any || push_origin(r, label_of_node(r, n), twin));
}

bool hn_origins_collect(hn_rule *r, hn_id node) {
    return r->has_twins || collect_origins(r, node, HN_NONE);
}

void hn_origins_twin(hn_rule *r, hn_id node, hn_id new_value) {
    r->has_twins = true;
    if (new_value != HN_NONE && !collect_origins(r, node, new_value))
        hn_patch_fail(r->patch, HONE_E_NOMEM);
}

static bool has_origin(const hn_props *props, hn_str origin) {
    for (uint32_t i = 0; i < props->n; i++)
        if (props->at[i].value == origin) /* names are interned */
            return true;
    return false;
}

static hone_status give_origins(hn_rule *r, hn_node *n, const hn_origin *from, uint32_t n_from) {
    hn_arena *arena = r->pass->model->arena;
    hn_prop prop = {.key = hn_intern_z(r->pass->model->names, HN_ORIGIN_KEY)};
    hn_props props = {0};
    HN_TRY_PTR(prop.key);
    for (uint32_t i = n_from; i-- > 0 && props.n < MOST_ORIGINS;) {
        prop.value = from[i].origin;
        if (!has_origin(&props, prop.value) && !HN_VEC_PUSH(arena, &props, prop))
            return HONE_E_NOMEM;
    }
    if (props.n == 1 && props.at[0].value == n->name)
        return HONE_OK;
    hn_extra *extra = HN_NEW(arena, hn_extra);
    HN_TRY_PTR(extra);
    extra->props = props;
    n->extra = extra;
    return HONE_OK;
}

/* The entries of one twin follow each other. */
static hone_status give_to_twins(hn_rule *r, hn_id first_new) {
    hn_graph *g = r->pass->g;
    const hn_origin *at = r->origins.at;
    for (uint32_t i = 0, n; i < r->origins.n; i += n) {
        for (n = 1; i + n < r->origins.n && at[i + n].twin == at[i].twin;)
            n++;
        hn_id node = hn_value_at(g, at[i].twin)->producer;
        if (node != HN_NONE && node >= first_new)
            HN_TRY(give_origins(r, hn_node_at(g, node), at + i, n));
    }
    return HONE_OK;
}

hone_status hn_origins_give(hn_rule *r, hn_id first_new) {
    if (r->has_twins)
        return give_to_twins(r, first_new);
    for (hn_id id = first_new; r->origins.n && id < r->pass->g->nodes.n; id++)
        HN_TRY(give_origins(r, hn_node_at(r->pass->g, id), r->origins.at, r->origins.n));
    return HONE_OK;
}
