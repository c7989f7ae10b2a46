/* Writing views: the fewest nodes that bring a source into another arrangement. */
#include "pass/rules/moves.h"
#include "pass/engine/view.h"

#define MAX_PARTS 8 /* of a Split that is written for one of them */

/* ---- what is wanted -------------------------------------------------------------------------- */

static const hn_view_atom *atom_at(const hn_view *v, const hn_atom_order *o, uint32_t i) {
    return &v->atoms[o->atom[i]];
}

/* The plain atoms of the value in the order of a layout, and the sizes of its axes. */
static bool wanted_order(const hn_view *v, const char *layout, hn_atom_order *out, uint32_t *rank,
                         hn_dim *dims) {
    *out = (hn_atom_order){0};
    *rank = 0;
    dims[0] = 1;
    for (const char *at = layout; *at; at++) {
        if (*at == ',') {
            dims[++*rank] = 1;
            continue;
        }
        for (uint32_t i = 0; i < v->of_value.n; i++) {
            const hn_view_atom *a = atom_at(v, &v->of_value, i);
            if (v->of_value.axis[i] != *at - '0' || a->kind != HN_ATOM_PLAIN)
                continue;
            out->atom[out->n] = v->of_value.atom[i];
            out->axis[out->n++] = (uint8_t)*rank;
            dims[*rank] = hn_dim_mul(v->r->pass->model->syms, dims[*rank], a->size);
            if (dims[*rank] == HN_DIM_UNKNOWN)
                return false;
        }
    }
    ++*rank;
    return true;
}

/* Fixed atoms travel in front of what follows them in the source. */
static void add_fixed(const hn_view *v, hn_atom_order *wanted) {
    const hn_atom_order *s = &v->of_source;
    for (uint32_t i = s->n; i-- > 0;) {
        uint32_t at = 0;
        if (atom_at(v, s, i)->kind != HN_ATOM_FIXED)
            continue;
        if (i + 1 < s->n && s->axis[i + 1] == s->axis[i])
            while (wanted->atom[at] != s->atom[i + 1])
                at++;
        for (uint32_t k = wanted->n++; k > at; k--)
            wanted->atom[k] = wanted->atom[k - 1];
        wanted->atom[at] = s->atom[i];
    }
}

/* ---- planning -------------------------------------------------------------------------------- */

/* Axes on the way: runs of atoms that stay together. */
typedef struct run_list {
    uint32_t n;
    struct run {
        uint32_t first, n; /* atoms of the source's order; n 0: an axis of size 1 */
        uint32_t place;    /* of its first atom in the wanted order */
    } at[HN_VIEW_ATOMS + HN_VIEW_RANK];
} run_list;

static uint32_t place_of(const hn_atom_order *o, uint32_t atom) {
    uint32_t i = 0;
    while (o->atom[i] != atom)
        i++;
    return i;
}

/* by_axis: runs end with the source's axes, and axes of size 1 are runs, too. Else they are as long
 * as can be. */
static void find_runs(const hn_view *v, const hn_atom_order *wanted, bool by_axis, run_list *out) {
    const hn_atom_order *s = &v->of_source;
    uint32_t next_axis = 0;
    out->n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t place = place_of(wanted, s->atom[i]);
        struct run *last = out->n > 0 ? &out->at[out->n - 1] : NULL;
        bool is_new_axis = i == 0 || s->axis[i] != s->axis[i - 1];
        bool continues = last && last->n > 0 && place == last->place + last->n &&
                         atom_at(v, s, i)->kind != HN_ATOM_FIXED && !(by_axis && is_new_axis);
        for (; by_axis && next_axis < s->axis[i]; next_axis++)
            out->at[out->n++] = (struct run){.first = i};
        next_axis = HN_MAX(next_axis, s->axis[i] + 1u);
        if (continues)
            last->n++;
        else
            out->at[out->n++] = (struct run){.first = i, .n = 1, .place = place};
    }
    for (; by_axis && next_axis < v->source_rank; next_axis++)
        out->at[out->n++] = (struct run){.first = s->n};
}

static hn_dim run_size(const hn_view *v, const struct run *run) {
    hn_dim size = 1;
    for (uint32_t i = 0; i < run->n; i++)
        size = hn_dim_mul(v->r->pass->model->syms, size,
                          atom_at(v, &v->of_source, run->first + i)->size);
    return size;
}

/* The runs in the wanted order; axes of size 1 come first. Says whether anything changed places. */
static bool sort_runs(run_list *runs, uint8_t *perm) {
    bool is_moved = false;
    for (uint32_t i = 0; i < runs->n; i++) {
        uint32_t at = i;
        struct run run = runs->at[i];
        uint8_t from = (uint8_t)i;
        while (at > 0 && (runs->at[at - 1].n > 0) &&
               (run.n == 0 || runs->at[at - 1].place > run.place)) {
            is_moved |= run.n > 0;
            runs->at[at] = runs->at[at - 1];
            perm[at] = perm[at - 1];
            at--;
        }
        runs->at[at] = run;
        perm[at] = from;
    }
    return is_moved;
}

/* Plans the part that one index of fixed atoms selects, and gives dims the size that is left. */
static bool plan_pick(const hn_view *v, const run_list *runs, hn_dim *dims, hn_view_plan *plan) {
    plan->pick_of = 1;
    for (uint32_t i = 0; i < runs->n; i++) {
        for (uint32_t k = 0; k < runs->at[i].n; k++) {
            const hn_view_atom *a = atom_at(v, &v->of_source, runs->at[i].first + k);
            if (a->kind != HN_ATOM_FIXED)
                continue;
            if (k > 0 || plan->pick_of > 1 || !hn_dim_is_known(dims[i]) || a->size > MAX_PARTS)
                return false;
            plan->pick_axis = i;
            plan->pick_of = (uint32_t)a->size;
            plan->pick = (uint32_t)a->index;
            dims[i] /= a->size;
        }
    }
    return true;
}

static bool same_dims(const hn_shape *s, uint32_t n, const hn_dim *dims) {
    return (uint32_t)s->rank == n && memcmp(s->dims, dims, n * sizeof *dims) == 0;
}

/* From the axes that stand after picking to the result. */
static bool plan_end(const hn_view *v, uint32_t n, const hn_dim *dims, hn_view_plan *plan) {
    hn_shape now = {.rank = (int32_t)n, .dims = dims};
    plan->is_reshaped = !same_dims(&now, plan->rank, plan->dims);
    plan->n_nodes += plan->is_reshaped;
    return !plan->is_reshaped ||
           hn_reshape_target(v->r->pass->model->syms, &now, plan->rank, plan->dims, plan->target);
}

/* Moves runs about: by the source's own axes when that is enough, else after a Reshape. */
static void plan_moves(const hn_view *v, const hn_atom_order *wanted, run_list *runs, hn_dim *sizes,
                       hn_view_plan *plan) {
    find_runs(v, wanted, true, runs);
    if (runs->n != v->source_rank) {
        find_runs(v, wanted, false, runs);
        plan->n_split = runs->n;
        for (uint32_t i = 0; i < runs->n; i++)
            sizes[i] = run_size(v, &runs->at[i]);
    }
    plan->n_perm = sort_runs(runs, plan->perm) ? runs->n : 0;
    plan->n_nodes = (plan->n_split > 0 ? 1u : 0u) + (plan->n_perm > 0 ? 1u : 0u);
}

static bool is_in_order(const hn_atom_order *a, const hn_atom_order *b) {
    return a->n == b->n && memcmp(a->atom, b->atom, a->n) == 0;
}

/* The source's own axes as runs, for a source that is in the wanted order already. */
static void own_axes(const hn_view *v, run_list *runs) {
    const hn_atom_order *s = &v->of_source;
    uint32_t at = 0;
    runs->n = v->source_rank;
    for (uint32_t axis = 0; axis < v->source_rank; axis++) {
        runs->at[axis] = (struct run){.first = at};
        for (; at < s->n && s->axis[at] == axis; at++)
            runs->at[axis].n++;
    }
}

bool hn_view_plan_write(const hn_view *v, const char *layout, hn_view_plan *plan) {
    hn_atom_order wanted;
    run_list runs;
    hn_dim dims[HN_VIEW_ATOMS + HN_VIEW_RANK], sizes[HN_VIEW_ATOMS];
    *plan = (hn_view_plan){.source = v->source, .factor = v->factor};
    if (!wanted_order(v, layout, &wanted, &plan->rank, plan->dims))
        return false;
    add_fixed(v, &wanted);
    if (is_in_order(&wanted, &v->of_source))
        own_axes(v, &runs);
    else
        plan_moves(v, &wanted, &runs, sizes, plan);
    for (uint32_t i = 0; i < runs.n; i++)
        dims[i] = run_size(v, &runs.at[i]);
    hn_shape from = {.rank = (int32_t)v->source_rank, .dims = v->source_dims};
    if (plan->n_split > 0 &&
        !hn_reshape_target(v->r->pass->model->syms, &from, plan->n_split, sizes, plan->split))
        return false;
    return plan_pick(v, &runs, dims, plan) && plan_end(v, runs.n, dims, plan);
}

/* ---- choosing the source --------------------------------------------------------------------- */

#define WHOLE_NODE 3 /* what a node costs; the parts of a whole share it, and what is above */

static bool has_fixed_atom(const hn_view *v) {
    for (uint32_t i = 0; i < v->n_atoms; i++)
        if (v->atoms[i].kind == HN_ATOM_FIXED)
            return true;
    return false;
}

/* Are the sizes of the value's axes, repeats left out, still those at the beginning? Axis 1 is
 * looked at elsewhere. */
static bool keeps_elements(const hn_view *now, const hn_view *start) {
    for (uint32_t axis = 0; axis < HN_VIEW_RANK; axis++)
        if (axis != 1 &&
            hn_view_axis_size(now, axis, false) != hn_view_axis_size(start, axis, false))
            return false;
    return true;
}

bool hn_view_plan_best(const hn_view *v, const char *layout, hn_dim own_1, hn_view_plan *plan) {
    hn_view at = *v;
    hn_view_plan here;
    int32_t best = INT32_MAX, saved = 0;
    do {
        if (!keeps_elements(&at, v))
            break;
        if (hn_view_axis_size(&at, 1, false) == own_1 && hn_view_plan_write(&at, layout, &here)) {
            int32_t cost = WHOLE_NODE * (int32_t)here.n_nodes + (here.pick_of > 1) - saved;
            if (cost <= best) {
                best = here.cost = cost;
                *plan = here;
            }
        }
        bool is_own = hn_n_readers(at.r, at.source) == 1 && !has_fixed_atom(&at);
        saved += is_own ? WHOLE_NODE : 1;
    } while (hn_view_up(&at));
    return best != INT32_MAX;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Was this written already? Steps are told apart by what they read and their numbers, of which the
 * first names the operator. */
static struct hn_view_step *find_step(hn_view_writer *w, const struct hn_view_step *wanted) {
    for (uint32_t i = 0; i < w->n_done; i++)
        if (w->done[i].from == wanted->from && w->done[i].n == wanted->n &&
            memcmp(w->done[i].numbers, wanted->numbers, wanted->n * sizeof *wanted->numbers) == 0)
            return &w->done[i];
    return NULL;
}

static hn_id make_move(hn_rule *r, const struct hn_view_step *s) {
    const int64_t *numbers = s->numbers + 1;
    if (s->numbers[0] == 'R')
        return hn_make_reshape_to(r, s->from, s->n - 1, numbers);
    if (s->numbers[0] == 'T')
        return hn_make1(r, "Transpose", HN_VALUES(s->from),
                        HN_ATTRS(hn_new_ints(r, "perm", s->n - 1, numbers)));
    bool is_counted = hn_rule_opset(r) >= 18; /* older versions count the outputs */
    return hn_make(
        r, "Split", HN_VALUES(s->from), (uint32_t)numbers[1], is_counted ? 2 : 1,
        (hn_attr[]){hn_new_i(r, "axis", numbers[0]), hn_new_i(r, "num_outputs", numbers[1])});
}

static hn_id step_to(hn_view_writer *w, char op, hn_id from, uint32_t n, const int64_t *numbers) {
    struct hn_view_step step = {.from = from, .n = n + 1};
    step.numbers[0] = op;
    memcpy(step.numbers + 1, numbers, n * sizeof *numbers);
    struct hn_view_step *done = find_step(w, &step);
    if (done)
        return done->to;
    step.to = make_move(w->r, &step);
    if (w->n_done < HN_COUNT(w->done))
        w->done[w->n_done++] = step;
    return step.to;
}

hn_id hn_view_write(hn_view_writer *w, const hn_view_plan *plan) {
    int64_t numbers[HN_VIEW_ATOMS];
    hn_id x = plan->source;
    if (plan->n_split > 0)
        x = step_to(w, 'R', x, plan->n_split, plan->split);
    for (uint32_t i = 0; i < plan->n_perm; i++)
        numbers[i] = plan->perm[i];
    if (plan->n_perm > 0)
        x = step_to(w, 'T', x, plan->n_perm, numbers);
    if (plan->pick_of > 1) {
        int64_t part[2] = {plan->pick_axis, plan->pick_of};
        x = hn_out(w->r, step_to(w, 'S', x, 2, part), plan->pick);
    }
    return plan->is_reshaped ? step_to(w, 'R', x, plan->rank, plan->target) : x;
}

hn_id hn_make_axis_size(hn_rule *r, hn_id x, uint32_t axis) {
    int64_t at = axis;
    if (hn_rule_opset(r) >= 15)
        return hn_make1(r, "Shape", HN_VALUES(x),
                        HN_ATTRS(hn_new_i(r, "start", at), hn_new_i(r, "end", at + 1)));
    hn_id shape = hn_make1(r, "Shape", HN_VALUES(x), HN_NO_ATTRS);
    return hn_make1(r, "Gather", HN_VALUES(shape, hn_new_const_i64s(r, "axis", 1, &at)),
                    HN_ATTRS(hn_new_i(r, "axis", 0)));
}
