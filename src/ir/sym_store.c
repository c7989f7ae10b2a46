#include "ir/sym_int.h"

/* ---- interning ---- */

typedef bool (*same_content_fn)(const hn_syms *s, uint32_t id, const void *content);

/* Finds content whose hash is *key. On a collision the search goes on with the next key; when
 * nothing is found, *key is free. Nothing is ever removed, so the chain has no holes. */
static uint32_t find_interned(const hn_syms *s, const hn_map *ids, uint64_t *key,
                              same_content_fn same, const void *content) {
    for (;; (*key)++) {
        uint32_t id = hn_map_get(ids, *key);
        if (id == HN_MAP_NONE || same(s, id, content))
            return id;
    }
}

static bool syms_out_of_memory(hn_syms *s) {
    s->failed = true;
    return false;
}

static bool same_atom(const hn_syms *s, uint32_t id, const void *content) {
    const hn_atom *a = &s->atoms.at[id], *b = content;
    return a->kind == b->kind && a->name == b->name && a->n_args == b->n_args &&
           memcmp(a->args, b->args, a->n_args * sizeof(a->args[0])) == 0;
}

static bool same_mono(const hn_syms *s, uint32_t id, const void *content) {
    const hn_mono *a = &s->monos.at[id], *b = content;
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->atoms, b->atoms, a->n * sizeof(a->atoms[0])) == 0);
}

static bool same_expr(const hn_syms *s, uint32_t id, const void *content) {
    const hn_expr *a = &s->exprs.at[id], *b = content;
    return a->n == b->n &&
           (a->n == 0 || memcmp(a->terms, b->terms, a->n * sizeof(a->terms[0])) == 0);
}

static bool measure_atom(const hn_syms *s, hn_atom *atom) {
    atom->nodes = 1;
    atom->depth = 0;
    for (uint32_t i = 0; i < atom->n_args; i++) {
        const hn_expr *arg = &s->exprs.at[atom->args[i]];
        atom->nodes += arg->nodes;
        atom->depth = HN_MAX(atom->depth, arg->depth + 1);
    }
    return atom->nodes <= HN_SYM_MAX_NODES && atom->depth <= HN_SYM_MAX_DEPTH;
}

bool hn_atom_intern(hn_syms *s, const hn_atom *atom, uint32_t *id) {
    uint64_t key =
        hn_hash64(atom->args, atom->n_args * sizeof(atom->args[0]), (uint64_t)atom->kind);
    if (atom->name)
        key = hn_hash64(&atom->name->id, sizeof(atom->name->id), key);
    *id = find_interned(s, &s->atom_ids, &key, same_atom, atom);
    if (*id != HN_MAP_NONE || s->is_frozen)
        return *id != HN_MAP_NONE;
    hn_atom stored = *atom;
    if (!measure_atom(s, &stored))
        return false;
    *id = s->atoms.n;
    if (!HN_VEC_RESERVE(s->arena, &s->atoms, 1) || !hn_map_put(&s->atom_ids, key, *id))
        return syms_out_of_memory(s);
    s->atoms.at[s->atoms.n++] = stored;
    return true;
}

bool hn_mono_intern(hn_syms *s, const uint32_t *sorted_atoms, uint32_t n, uint32_t *id) {
    hn_mono stored = {.atoms = sorted_atoms, .n = n};
    uint64_t key = hn_hash64(sorted_atoms, n * sizeof(sorted_atoms[0]), n);
    *id = find_interned(s, &s->mono_ids, &key, same_mono, &stored);
    if (*id != HN_MAP_NONE || s->is_frozen)
        return *id != HN_MAP_NONE;
    for (uint32_t i = 0; i < n; i++) {
        stored.nodes += s->atoms.at[sorted_atoms[i]].nodes;
        stored.depth = HN_MAX(stored.depth, s->atoms.at[sorted_atoms[i]].depth);
    }
    if (n > 0)
        stored.atoms = hn_arena_copy(s->arena, sorted_atoms, n * sizeof(sorted_atoms[0]));
    *id = s->monos.n;
    if (!stored.atoms || !HN_VEC_RESERVE(s->arena, &s->monos, 1) ||
        !hn_map_put(&s->mono_ids, key, *id))
        return syms_out_of_memory(s);
    s->monos.at[s->monos.n++] = stored;
    return true;
}

bool hn_expr_intern(hn_syms *s, const hn_poly *p, uint32_t *id) {
    hn_expr stored = {.terms = p->terms, .n = p->n, .nodes = 1};
    uint64_t key = hn_hash64(p->terms, p->n * sizeof(p->terms[0]), p->n);
    *id = find_interned(s, &s->expr_ids, &key, same_expr, &stored);
    if (*id != HN_MAP_NONE || s->is_frozen)
        return *id != HN_MAP_NONE;
    for (uint32_t i = 0; i < p->n; i++) {
        stored.nodes += 1 + s->monos.at[p->terms[i].mono].nodes;
        stored.depth = HN_MAX(stored.depth, s->monos.at[p->terms[i].mono].depth);
    }
    if (stored.nodes > HN_SYM_MAX_NODES)
        return false;
    if (p->n > 0)
        stored.terms = hn_arena_copy(s->arena, p->terms, p->n * sizeof(p->terms[0]));
    *id = s->exprs.n;
    if (!stored.terms || !HN_VEC_RESERVE(s->arena, &s->exprs, 1) ||
        !hn_map_put(&s->expr_ids, key, *id))
        return syms_out_of_memory(s);
    s->exprs.at[s->exprs.n++] = stored;
    return true;
}

hn_syms *hn_syms_new(hn_arena *arena, hn_strtab *names) {
    hn_syms *s = HN_NEW(arena, hn_syms);
    if (!s)
        return NULL;
    s->arena = arena;
    s->names = names;
    hn_map_init(&s->atom_ids, arena);
    hn_map_init(&s->mono_ids, arena);
    hn_map_init(&s->expr_ids, arena);
    static const uint32_t no_atoms[1];
    uint32_t one;
    return hn_mono_intern(s, no_atoms, 0, &one) ? s : NULL; /* the first id: HN_MONO_ONE */
}

void hn_syms_freeze(hn_syms *s) {
    s->is_frozen = true;
}

bool hn_syms_failed(const hn_syms *s) {
    return s->failed;
}

/* ---- order ---- */

/* Different ids mean different content, so equal parts are skipped and the first difference
 * decides. */

static int compare_names(hn_str a, hn_str b) {
    int order = memcmp(a->s, b->s, HN_MIN(a->n, b->n));
    return order != 0 ? order : (a->n > b->n) - (a->n < b->n);
}

static int compare_atoms(const hn_syms *s, uint32_t a, uint32_t b) {
    if (a == b)
        return 0;
    const hn_atom *x = &s->atoms.at[a], *y = &s->atoms.at[b];
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind == HN_ATOM_SYMBOL)
        return compare_names(x->name, y->name);
    for (uint32_t i = 0; i < x->n_args && i < y->n_args; i++) {
        if (x->args[i] != y->args[i])
            return hn_expr_compare(s, x->args[i], y->args[i]);
    }
    return (x->n_args > y->n_args) - (x->n_args < y->n_args);
}

/* Lexicographic with the longer product first: an order that multiplication keeps, as division of
 * polynomials needs. */
int hn_mono_compare(const hn_syms *s, uint32_t a, uint32_t b) {
    if (a == b)
        return 0;
    const hn_mono *x = &s->monos.at[a], *y = &s->monos.at[b];
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int order = compare_atoms(s, x->atoms[i], y->atoms[i]);
        if (order != 0)
            return order;
    }
    return (x->n < y->n) - (x->n > y->n);
}

int hn_expr_compare(const hn_syms *s, uint32_t a, uint32_t b) {
    const hn_expr *x = &s->exprs.at[a], *y = &s->exprs.at[b];
    for (uint32_t i = 0; i < x->n && i < y->n; i++) {
        int order = hn_mono_compare(s, (uint32_t)x->terms[i].mono, (uint32_t)y->terms[i].mono);
        if (order != 0)
            return order;
        if (x->terms[i].coef != y->terms[i].coef)
            return x->terms[i].coef < y->terms[i].coef ? -1 : 1;
    }
    return (x->n < y->n) - (x->n > y->n);
}

/* ---- monomials ---- */

/* Factors of two products, walked together in their order. */
typedef struct mono_merge {
    uint32_t atoms[2 * HN_SYM_MAX_DEGREE];
    uint32_t n;
    uint32_t n_missing; /* factors of the second that the first lacks */
} mono_merge;

typedef enum mono_pick { PICK_ALL, PICK_COMMON, PICK_ONLY_FIRST } mono_pick;

static void merge_monos(const hn_syms *s, uint32_t a, uint32_t b, mono_pick pick, mono_merge *out) {
    const hn_mono *x = &s->monos.at[a], *y = &s->monos.at[b];
    uint32_t i = 0, k = 0;
    out->n = out->n_missing = 0;
    while (i < x->n || k < y->n) {
        int order = i == x->n ? 1 : k == y->n ? -1 : compare_atoms(s, x->atoms[i], y->atoms[k]);
        uint32_t n_copies = pick == PICK_ALL      ? 1u + (order == 0)
                            : pick == PICK_COMMON ? order == 0
                                                  : order < 0;
        for (; n_copies > 0; n_copies--)
            out->atoms[out->n++] = order <= 0 ? x->atoms[i] : y->atoms[k];
        out->n_missing += order > 0;
        i += order <= 0;
        k += order >= 0;
    }
}

bool hn_mono_multiply(hn_syms *s, uint32_t a, uint32_t b, uint32_t *product) {
    mono_merge merge;
    merge_monos(s, a, b, PICK_ALL, &merge);
    return merge.n <= HN_SYM_MAX_DEGREE && hn_mono_intern(s, merge.atoms, merge.n, product);
}

bool hn_mono_divide(hn_syms *s, uint32_t a, uint32_t b, uint32_t *quotient) {
    mono_merge merge;
    merge_monos(s, a, b, PICK_ONLY_FIRST, &merge);
    return merge.n_missing == 0 && hn_mono_intern(s, merge.atoms, merge.n, quotient);
}

bool hn_mono_common(hn_syms *s, uint32_t a, uint32_t b, uint32_t *common) {
    mono_merge merge;
    merge_monos(s, a, b, PICK_COMMON, &merge);
    return hn_mono_intern(s, merge.atoms, merge.n, common);
}

const hn_atom *hn_mono_single_atom(const hn_syms *s, uint64_t mono) {
    const hn_mono *m = &s->monos.at[mono];
    return m->n == 1 ? &s->atoms.at[m->atoms[0]] : NULL;
}
