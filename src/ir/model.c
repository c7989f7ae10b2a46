/* Lifetime of a model; which operator sets and functions it knows. */
#include "ir/ir.h"

hn_model *hn_model_new(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    if (!arena)
        return NULL;
    hn_model *m = HN_NEW(arena, hn_model);
    if (m) {
        m->arena = arena;
        m->names = hn_strtab_new(arena);
        m->syms = m->names ? hn_syms_new(arena, m->names) : NULL;
        hn_map_init(&m->function_index, arena);
    }
    if (!m || !m->syms) {
        hn_arena_free(arena);
        return NULL;
    }
    return m;
}

void hn_model_free(hn_model *m) {
    if (!m)
        return;
    for (uint32_t i = 0; i < m->maps.n; i++)
        hn_filemap_close(&m->maps.at[i]);
    hn_shared_drop(m->custom_ops);
    hn_arena_free(m->arena); /* the model itself lives there */
}

bool hn_domain_is_onnx(hn_str domain) {
    return hn_str_empty(domain) || hn_str_is(domain, "ai.onnx");
}

static bool same_domain(hn_str a, hn_str b) {
    return a == b || (hn_domain_is_onnx(a) && hn_domain_is_onnx(b));
}

int64_t hn_opset_version(const hn_opsets *o, hn_str domain) {
    for (uint32_t i = 0; i < o->n; i++) {
        if (same_domain(o->at[i].domain, domain))
            return o->at[i].version;
    }
    return -1;
}

/* Before IR version 3 there were no imports: all nodes are of version 1. */
int64_t hn_node_opset(const hn_graph *g, const hn_node *n) {
    const hn_model *m = g->model;
    if (n->opset_version)
        return n->opset_version;
    bool is_implied = m->ir_version < 3 && m->opsets.n == 0 && hn_domain_is_onnx(n->domain);
    return is_implied ? 1 : hn_opset_version(g->opsets, n->domain);
}

/* Absent and empty are the same here, as in protobuf's string fields. */
static uint32_t function_key_part(hn_str s) {
    return hn_str_empty(s) ? 0 : s->id + 1;
}

/* Three ids do not fit into one key: a hit is compared in full, and a collision falls back to a
 * linear search. */
static uint64_t function_key(hn_str domain, hn_str name, hn_str overload) {
    const uint64_t odd_multiplier = UINT64_C(0x9E3779B97F4A7C15);
    uint32_t domain_part = hn_domain_is_onnx(domain) ? 0 : function_key_part(domain);
    return hn_key(function_key_part(name), domain_part) * odd_multiplier +
           function_key_part(overload);
}

static bool is_function(const hn_function *f, hn_str domain, hn_str name, hn_str overload) {
    return f->name == name && same_domain(f->domain, domain) &&
           function_key_part(f->overload) == function_key_part(overload);
}

bool hn_model_add_function(hn_model *m, hn_function *f) {
    uint64_t key = function_key(f->domain, f->name, f->overload);
    if (!HN_VEC_RESERVE(m->arena, &m->functions, 1))
        return false;
    if (hn_map_get(&m->function_index, key) == HN_MAP_NONE &&
        !hn_map_put(&m->function_index, key, m->functions.n))
        return false;
    m->functions.at[m->functions.n++] = f;
    return true;
}

const hn_function *hn_model_function(const hn_model *m, hn_str domain, hn_str name,
                                     hn_str overload) {
    if (m->functions.n == 0)
        return NULL;
    uint32_t first = hn_map_get(&m->function_index, function_key(domain, name, overload));
    for (uint32_t i = first; i < m->functions.n; i++) {
        if (is_function(m->functions.at[i], domain, name, overload))
            return m->functions.at[i];
    }
    return NULL;
}
