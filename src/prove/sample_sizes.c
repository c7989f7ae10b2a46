/* Sizes for the free dimensions of inputs that are made up: a search for some that the model takes.
 * Names are documentation, so the search ends with sizes that contradict them where the model runs
 * with those: a rewrite that relies on a name shows then. */
#include "prove/sample_sizes.h"

#include <strings.h>

#define NO_SLOT UINT32_MAX
#define MOST_COMBINED 4 /* free dimensions that are combined */

typedef struct free_dim {
    hn_dim dim;      /* as declared: HN_DIM_UNKNOWN, a symbol or an expression */
    uint32_t number; /* 0, 1, ... among those with this name */
    bool is_batch;
    bool is_given; /* an input of the caller has this size */
    int64_t size;
} free_dim;

typedef struct size_search {
    hn_size_trial *trial;
    const hn_model *m;
    hn_arena *arena;
    HN_VEC(free_dim) dims;
    uint32_t **slots; /* by input and axis: which of them; NO_SLOT: a number, or an expression */
} size_search;

/* ---- free dimensions ------------------------------------------------------------------------- */

static const hn_shape *input_shape(const hn_model *m, uint32_t i) {
    const hn_value *v = hn_value_at(m->graph, hn_block_at(m->graph, 0)->inputs.at[i]);
    bool is_tensor = v->type && v->type->kind == HN_TYPE_TENSOR && !v->init;
    return is_tensor && v->type->shape.rank > 0 ? &v->type->shape : NULL;
}

static bool names_batch(const hn_model *m, hn_dim d) {
    hn_str name;
    return hn_dim_is_symbol(m->syms, d, &name) && strncasecmp(hn_s(name), "batch", 5) == 0;
}

static bool size_of_name(void *ctx, hn_str symbol, int64_t *size) {
    const size_search *s = ctx;
    for (uint32_t i = 0; i < s->dims.n; i++) {
        hn_str name;
        if (!hn_dim_is_symbol(s->m->syms, s->dims.at[i].dim, &name) || name != symbol)
            continue;
        *size = s->dims.at[i].size;
        return true;
    }
    return false;
}

static hone_status add_dim(size_search *s, hn_dim d, bool is_batch, uint32_t *slot) {
    free_dim added = {.dim = d, .is_batch = is_batch};
    for (uint32_t i = 0; i < s->dims.n; i++)
        added.number += d != HN_DIM_UNKNOWN && s->dims.at[i].dim == d;
    *slot = s->dims.n;
    return HN_VEC_PUSH(s->arena, &s->dims, added) ? HONE_OK : HONE_E_NOMEM;
}

/* Symbols first, so that expressions over them need no size of their own. Every place of a name has
 * one: they are set to the same size, or to different ones. */
static hone_status find_dims(size_search *s, bool symbols) {
    for (uint32_t i = 0; i < hn_block_at(s->m->graph, 0)->inputs.n; i++) {
        const hn_shape *shape = input_shape(s->m, i);
        for (int32_t k = 0; shape && k < shape->rank; k++) {
            hn_str name;
            int64_t value;
            hn_dim d = shape->dims[k];
            bool is_symbol = hn_dim_is_symbol(s->m->syms, d, &name);
            if (hn_dim_is_known(d) || is_symbol != symbols ||
                (!symbols && hn_dim_value(s->m->syms, d, size_of_name, s, &value)))
                continue;
            bool is_batch = names_batch(s->m, d) || (k == 0 && shape->rank > 1);
            HN_TRY(add_dim(s, d, is_batch, &s->slots[i][k]));
        }
    }
    return HONE_OK;
}

static hone_status find_free_dims(size_search *s) {
    uint32_t n = hn_block_at(s->m->graph, 0)->inputs.n;
    s->slots = HN_NEW_N(s->arena, uint32_t *, (size_t)n + 1);
    HN_TRY_PTR(s->slots);
    for (uint32_t i = 0; i < n; i++) {
        const hn_shape *shape = input_shape(s->m, i);
        int32_t rank = shape ? shape->rank : 0;
        s->slots[i] = HN_NEW_N(s->arena, uint32_t, (size_t)rank + 1);
        HN_TRY_PTR(s->slots[i]);
        for (int32_t k = 0; k < rank; k++)
            s->slots[i][k] = NO_SLOT;
    }
    HN_TRY(find_dims(s, true));
    return find_dims(s, false);
}

/* ---- one trial ------------------------------------------------------------------------------- */

/* Inputs of the caller fix the names that they have. */
static void take_given(size_search *s) {
    for (uint32_t i = 0; i < hn_block_at(s->m->graph, 0)->inputs.n; i++) {
        const hn_shape *shape = input_shape(s->m, i), *given = hn_trial_given(s->trial, i);
        for (int32_t k = 0; shape && given && k < shape->rank && shape->rank == given->rank; k++)
            for (uint32_t j = 0; j < s->dims.n; j++)
                if (hn_dim_is_symbolic(shape->dims[k]) && s->dims.at[j].dim == shape->dims[k]) {
                    s->dims.at[j].size = given->dims[k];
                    s->dims.at[j].is_given = true;
                }
    }
}

static hone_status try_sizes(size_search *s, hone_error *err) {
    take_given(s);
    for (uint32_t i = 0; i < hn_block_at(s->m->graph, 0)->inputs.n; i++) {
        const hn_shape *shape = input_shape(s->m, i);
        int64_t *dims = hn_trial_dims(s->trial, i);
        for (int32_t k = 0; shape && dims && k < shape->rank; k++) {
            uint32_t slot = s->slots[i][k];
            if (slot != NO_SLOT)
                dims[k] = s->dims.at[slot].size;
            else if (!hn_dim_value(s->m->syms, shape->dims[k], size_of_name, s, &dims[k]) ||
                     dims[k] < 0)
                return hn_fail(err, HONE_E_SHAPE, "an input would have a negative size");
        }
    }
    return hn_trial_run(s->trial, err);
}

/* ---- sizes to try ---------------------------------------------------------------------------- */

/* The place among dimensions of different names. */
static uint32_t rank_of_name(const size_search *s, uint32_t slot) {
    uint32_t n = 0, first = slot;
    for (uint32_t i = 0; s->dims.at[slot].number > 0 && first == slot; i++)
        first = s->dims.at[i].dim == s->dims.at[slot].dim ? i : slot;
    for (uint32_t i = 0; i < first; i++)
        n += s->dims.at[i].number == 0 && !s->dims.at[i].is_batch;
    return n;
}

static void set_small(size_search *s) {
    static const int64_t small[] = {2, 3, 4, 6};
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->dims.n; i++) {
        free_dim *d = &s->dims.at[i];
        if (d->number == 0 && d->dim != HN_DIM_UNKNOWN)
            d->size = small[n++ % HN_COUNT(small)];
        if (d->dim == HN_DIM_UNKNOWN)
            d->size = 2;
        for (uint32_t k = 0; d->number > 0 && k < i; k++)
            if (s->dims.at[k].dim == d->dim)
                d->size = s->dims.at[k].size;
    }
}

static void set_round(size_search *s, int64_t size, int64_t batch) {
    for (uint32_t i = 0; i < s->dims.n; i++)
        s->dims.at[i].size = s->dims.at[i].is_batch ? batch : size;
}

/* Bit i of `which` multiplies the i-th dimension that is no batch, of each name or of each place.
 */
static void set_combined(size_search *s, int64_t size, uint32_t which, bool doubles,
                         bool by_place) {
    uint32_t n = 0;
    set_round(s, size, 1);
    for (uint32_t i = 0; i < s->dims.n; i++) {
        free_dim *d = &s->dims.at[i];
        if (d->is_batch)
            continue;
        uint32_t bit = by_place ? n++ : rank_of_name(s, i);
        if (bit < MOST_COMBINED && (which >> bit & 1u))
            d->size = doubles ? 2 * size : 1;
    }
}

/* Larger and rounder ones first: windows, strides and squeezed axes want them. */
static hone_status search_round(size_search *s, hone_error *err) {
    static const int64_t rounds[] = {256, 64, 640, 224, 32, 16, 8, 1024, 4096, 16000};
    hone_status status = HONE_E_SHAPE;
    for (size_t i = 0; i < HN_COUNT(rounds) && hn_trial_may_go_on(s->trial, status); i++)
        for (int64_t batch = 2; batch > 0 && hn_trial_may_go_on(s->trial, status); batch--) {
            set_round(s, rounds[i], batch);
            status = try_sizes(s, err);
        }
    return status;
}

/* Lengths that are the sum of two others, and batches at other places than the first axis. */
static hone_status search_combined(size_search *s, hone_error *err) {
    static const struct {
        int64_t size;
        bool doubles;
    } ways[] = {{8, true}, {256, false}, {64, false}, {512, false}};
    hone_status status = HONE_E_SHAPE;
    for (uint32_t i = 0; i < 2 * HN_COUNT(ways); i++)
        for (uint32_t which = 1; which < 1u << MOST_COMBINED; which++) {
            if (!hn_trial_may_go_on(s->trial, status) || which >> HN_MIN(s->dims.n, 31u))
                break;
            set_combined(s, ways[i / 2].size, which, ways[i / 2].doubles, i % 2);
            status = try_sizes(s, err);
        }
    return status;
}

/* ---- names that lie -------------------------------------------------------------------------- */

/* Gives every place of a name (HN_DIM_UNKNOWN: of all names) another multiple of its size, or 1. */
static bool contradict(size_search *s, const int64_t *found, hn_dim name, bool by_one) {
    bool differs = false;
    for (uint32_t i = 0; i < s->dims.n; i++) {
        free_dim *d = &s->dims.at[i];
        bool is_meant = d->number > 0 && (name == HN_DIM_UNKNOWN || d->dim == name);
        d->size = !is_meant ? found[i] : by_one ? 1 : found[i] * (d->number + 1);
        differs |= d->size != found[i] && !d->is_given;
    }
    return differs;
}

static hone_status try_contradiction(size_search *s, const int64_t *found, hn_dim name,
                                     bool by_one) {
    hone_error ignored = {.offset = -1};
    return contradict(s, found, name, by_one) ? try_sizes(s, &ignored) : HONE_E_SHAPE;
}

/* Leaves the inputs of the last sizes with which the model ran. */
static hone_status search_contradiction(size_search *s, hone_error *err) {
    hone_status status = HONE_E_SHAPE;
    int64_t *found = HN_NEW_N(s->arena, int64_t, (size_t)s->dims.n + 1);
    HN_TRY_PTR(found);
    for (uint32_t i = 0; i < s->dims.n; i++)
        found[i] = s->dims.at[i].size;
    for (int by_one = 0; by_one < 2; by_one++) {
        if (hn_trial_may_go_on(s->trial, status))
            status = try_contradiction(s, found, HN_DIM_UNKNOWN, by_one);
        for (uint32_t i = 0; i < s->dims.n && hn_trial_may_go_on(s->trial, status); i++)
            if (s->dims.at[i].number == 1)
                status = try_contradiction(s, found, s->dims.at[i].dim, by_one);
    }
    if (status == HONE_OK || status == HONE_E_NOMEM)
        return status;
    for (uint32_t i = 0; i < s->dims.n; i++)
        s->dims.at[i].size = found[i];
    return try_sizes(s, err);
}

static bool repeats_names(const size_search *s) {
    for (uint32_t i = 0; i < s->dims.n; i++)
        if (s->dims.at[i].number > 0)
            return true;
    return false;
}

/* The first error, of the smallest sizes, is the clearest. */
static hone_status search_sizes(size_search *s, bool obeys_names, hone_error *err) {
    hone_error ignored = {.offset = -1};
    HN_TRY(find_free_dims(s));
    set_small(s);
    hone_status status = try_sizes(s, err);
    if (s->dims.n > 0 && hn_trial_may_go_on(s->trial, status))
        status = search_round(s, &ignored);
    if (s->dims.n > 0 && hn_trial_may_go_on(s->trial, status))
        status = search_combined(s, &ignored);
    if (status != HONE_OK && status != HONE_E_NOMEM && hn_trial_take_empty(s->trial)) {
        set_small(s);
        status = try_sizes(s, &ignored);
        if (hn_trial_may_go_on(s->trial, status))
            status = search_round(s, &ignored);
    }
    if (status != HONE_OK || obeys_names || !repeats_names(s))
        return status;
    return search_contradiction(s, err);
}

hone_status hn_sample_sizes_search(hn_size_trial *trial, const hn_model *m, bool obeys_names,
                                   hn_arena *arena, hone_error *err) {
    size_search s = {.trial = trial, .m = m, .arena = arena};
    return search_sizes(&s, obeys_names, err);
}
