/* Channels-last: the order of axes in which convolutions are fastest.
 *
 * Every node that can work in both orders is given one of them, so that the fewest bytes are moved:
 * a value that its maker and a reader want in different orders costs a Transpose, a convolution
 * that stays channels first costs what it is slower. That is a minimum cut. Then all nodes beside
 * the source are written anew in one patch, with Transposes where values cross the border. */
#include "cpu/passes/layout.h"
#include "cpu/passes/layout_cut.h"

#define EITHER_BYTES                                                           \
  1 /* for a reader that takes both orders: the one that others want is better \
     */
#define MOST_LAYOUT_NODES 20000u /* of a block: what a patch can insert in good time */

typedef struct layout_value {
    hn_perm order;       /* channels-last; rank 0: there is none */
    bool is_known;       /* order was set */
    bool is_likely;      /* made by what is best channels-last, or from such */
    bool is_netted;      /* its arcs are in the network */
    hn_id turned, plain; /* while writing: the value in either order; HN_NONE until it is made */
} layout_value;

typedef struct layout_node {
    bool is_turnable, is_last; /* can it be, is it channels-last? */
    uint32_t vertex;
    hn_layout_form form;
} layout_node;

typedef struct layout_job {
    hn_rule *r;
    hn_id block;
    layout_value *values; /* by id */
    layout_node *nodes;
    hn_cut cut;
    uint32_t n_seeds, n_last, n_moved;
} layout_job;

/* ---- what nodes could do --------------------------------------------------------------------- */

static layout_value *value_of(layout_job *l, hn_id value) {
    layout_value *v = &l->values[value];
    if (!v->is_known) {
        v->order = hn_layout_last(hn_rank_of(l->r, value));
        v->is_known = true;
    }
    return v;
}

/* The order that the node's data has channels-last: that of the first which is not free. */
static void read_order(layout_job *l, const hn_node *n, hn_layout_form *f) {
    f->in.rank = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        if (!hn_layout_is_data(f, i) || n->inputs[i] == HN_NONE)
            continue;
        const layout_value *v = value_of(l, n->inputs[i]);
        f->is_likely |= v->is_likely;
        if (f->in.rank == 0 && !hn_const(l->r, n->inputs[i]))
            f->in = v->order;
    }
}

/* Data of lower rank that is repeated along the first axes, as broadcasting does it. */
static bool is_repeated(const layout_job *l, const hn_layout_form *f, hn_id value) {
    return hn_rank_of(l->r, value) < f->in.rank;
}

/* Does the rest of the data have that order, or none of its own; and fit the results theirs? Where
 * nothing asks for another order, values keep the one that convolutions would ask for. */
static bool fits_order(layout_job *l, const hn_node *n, const hn_layout_form *f) {
    hn_perm last = hn_layout_last(f->out.rank);
    if (!f->is_likely && !hn_perm_is_identity(&f->out) && !hn_perm_same(&f->out, &last))
        return false;
    for (uint32_t i = 0; f->in.rank > 0 && i < n->n_inputs; i++)
        if (hn_layout_is_data(f, i) && n->inputs[i] != HN_NONE &&
            !hn_is_turned_for_free(l->r, n->inputs[i], &f->in) &&
            !is_repeated(l, f, n->inputs[i]) &&
            !hn_perm_same(&value_of(l, n->inputs[i])->order, &f->in))
            return false;
    for (uint32_t i = 0; f->out.rank > 0 && i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE && hn_rank_of(l->r, n->outputs[i]) != f->out.rank)
            return false;
    return true;
}

static void judge_layout(layout_job *l, hn_id id) {
    const hn_node *n = hn_at(l->r, id);
    layout_node *at = &l->nodes[id];
    hn_layout_rows rows;
    hn_layout_find_rows(l->r, id, &rows);
    for (uint32_t i = 0; i < rows.n && !at->is_turnable; i++) {
        at->form = (hn_layout_form){.row = rows.at[i], .how = rows.how};
        read_order(l, n, &at->form);
        at->is_turnable = at->form.row->judge(l->r, id, &at->form) && fits_order(l, n, &at->form);
    }
    if (!at->is_turnable)
        return;
    hn_layout_form *f = &at->form;
    f->out.rank = hn_perm_is_identity(&f->out) ? 0 : f->out.rank;
    l->n_seeds += f->is_seed;
    for (uint32_t i = 0; f->out.rank > 0 && i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE) {
            layout_value *v = &l->values[n->outputs[i]];
            v->order = f->out;
            v->is_known = true;
            v->is_likely = f->is_seed || f->is_likely;
        }
}

/* ---- the network ----------------------------------------------------------------------------- */

static int64_t whole_cost(double bytes) {
    const double most = 1099511627776.0; /* sums of so many of them still fit */
    return (int64_t)HN_MIN(bytes, most);
}

/* Who decides in which order the value is made: the vertex of its maker, or the sink. */
static uint32_t maker_vertex(const layout_job *l, const hn_value *v) {
    const layout_node *at = v->producer == HN_NONE ? NULL : &l->nodes[v->producer];
    bool decides = at && at->is_turnable && at->form.out.rank > 0;
    return decides ? at->vertex : HN_CUT_SINK;
}

/* Does a reader take the value in the order of its own side? Else it wants it as it was. */
static bool takes_turned(const layout_job *l, hn_id value, const hn_use *use) {
    const layout_node *at = use->node == HN_NONE ? NULL : &l->nodes[use->node];
    return at && at->is_turnable && at->form.in.rank > 0 &&
           hn_layout_is_data(&at->form, use->slot) &&
           hn_perm_same(&l->values[value].order, &at->form.in);
}

static bool takes_both(const layout_job *l, const hn_use *use) {
    return use->slot == 0 && l->nodes[use->node].form.takes_both;
}

/* One Transpose serves all readers on one side, so they share a vertex: it costs once when any of
 * them differs from the maker. */
static void net_value(layout_job *l, hn_id id) {
    const hn_value *v = hn_value_at(l->r->g, id);
    layout_value *at = value_of(l, id);
    uint32_t maker = maker_vertex(l, v), to_last = HN_NONE, to_first = HN_NONE;
    if (at->is_netted || at->order.rank == 0 || hn_is_turned_for_free(l->r, id, &at->order))
        return;
    at->is_netted = true;
    int64_t cost = whole_cost(hn_layout_cost(l->r, id, &at->order));
    for (uint32_t i = 0; i < v->uses.n; i++) {
        bool is_vertex = takes_turned(l, id, &v->uses.at[i]);
        uint32_t reader = is_vertex ? l->nodes[v->uses.at[i].node].vertex : HN_CUT_SINK;
        if (is_vertex && takes_both(l, &v->uses.at[i])) {
            hn_cut_add(&l->cut, reader, maker, EITHER_BYTES);
        } else if (is_vertex) {
            to_last = to_last == HN_NONE ? hn_cut_vertex(&l->cut) : to_last;
            hn_cut_add(&l->cut, reader, to_last, HN_CUT_MOST);
        }
        if (maker != HN_CUT_SINK) {
            to_first = to_first == HN_NONE ? hn_cut_vertex(&l->cut) : to_first;
            hn_cut_add(&l->cut, to_first, reader, HN_CUT_MOST);
        }
    }
    if (to_last != HN_NONE)
        hn_cut_add(&l->cut, to_last, maker, cost);
    if (to_first != HN_NONE)
        hn_cut_add(&l->cut, maker, to_first, cost);
}

static void net_node(layout_job *l, hn_id id) {
    const hn_node *n = hn_at(l->r, id);
    const layout_node *at = &l->nodes[id];
    if (at->is_turnable && at->form.saved_bytes > 0)
        hn_cut_add(&l->cut, HN_CUT_SOURCE, at->vertex, whole_cost(at->form.saved_bytes));
    if (at->is_turnable && at->form.saved_bytes < 0)
        hn_cut_add(&l->cut, at->vertex, HN_CUT_SINK, whole_cost(-at->form.saved_bytes));
    for (uint32_t i = 0; i < n->n_inputs; i++)
        if (n->inputs[i] != HN_NONE)
            net_value(l, n->inputs[i]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            net_value(l, n->outputs[i]);
}

/* False: there is nothing to gain, or it cannot be told in good time. */
static bool choose_sides(layout_job *l) {
    const hn_block *b = hn_block_at(l->r->g, l->block);
    if (l->n_seeds == 0)
        return false;
    hn_cut_init(&l->cut, l->r->pass->scratch);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        if (l->nodes[b->nodes.at[i]].is_turnable)
            l->nodes[b->nodes.at[i]].vertex = hn_cut_vertex(&l->cut);
    for (uint32_t i = 0; i < b->nodes.n; i++)
        net_node(l, b->nodes.at[i]);
    if (!hn_cut_solve(&l->cut))
        return false;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        layout_node *at = &l->nodes[b->nodes.at[i]];
        at->is_last = at->is_turnable && hn_cut_is_with_source(&l->cut, at->vertex);
        l->n_last += at->is_last;
    }
    return l->n_last > 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static hn_id plain_value(const layout_job *l, hn_id value) {
    return l->values[value].plain != HN_NONE ? l->values[value].plain : value;
}

static hn_id value_turned(layout_job *l, hn_id value) {
    layout_value *v = value_of(l, value);
    if (v->turned == HN_NONE) {
        v->turned = hn_layout_turn(l->r, plain_value(l, value), value, &v->order, false);
        l->n_moved++;
    }
    return v->turned;
}

/* With all the axes that broadcasting gives it, turned. */
static hn_id repeated_value(layout_job *l, const hn_layout_form *f, hn_id value) {
    int64_t axes[HN_MAX_RANK];
    int32_t n = f->in.rank - hn_rank_of(l->r, value);
    hn_perm inverse = hn_perm_inverse(&f->in);
    for (int32_t i = 0; i < n; i++)
        axes[i] = i;
    hn_id whole =
        hn_make_with_list(l->r, "Unsqueeze", plain_value(l, value), "axes", (uint32_t)n, axes);
    return hn_make_transpose(l->r, whole, &inverse);
}

static hn_id written_input(layout_job *l, hn_id node, uint32_t i) {
    const hn_layout_form *f = &l->nodes[node].form;
    hn_id value = hn_in(l->r, node, i);
    if (value == HN_NONE)
        return HN_NONE;
    bool is_data = f->in.rank > 0 && hn_layout_is_data(f, i);
    if (!is_data)
        return plain_value(l, value);
    if (!hn_is_turned_for_free(l->r, value, &f->in))
        return is_repeated(l, f, value) ? repeated_value(l, f, value) : value_turned(l, value);
    if (hn_const(l->r, value))
        return hn_turn_for_free(l->r, value, &f->in);
    bool is_turned = l->values[value].turned != HN_NONE; /* single elements are as good */
    return is_turned ? l->values[value].turned : plain_value(l, value);
}

static bool is_read_plain(const layout_job *l, hn_id value) {
    const hn_value *v = hn_value_at(l->r->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (!takes_turned(l, value, &v->uses.at[i]) || !l->nodes[v->uses.at[i].node].is_last)
            return true;
    return false;
}

static void take_output(layout_job *l, hn_id value, const hn_layout_form *f, hn_id written) {
    layout_value *v = &l->values[value];
    if (f->out.rank == 0) {
        v->plain = written;
    } else {
        v->turned = written;
        if (!is_read_plain(l, value))
            return;
        v->plain = hn_layout_turn(l->r, written, value, &f->out, true);
        l->n_moved++;
    }
    hn_rule_replace_value(l->r, value, v->plain);
}

static hone_status write_last(layout_job *l, hn_id node) {
    const hn_node *n = hn_at(l->r, node);
    const hn_layout_form *f = &l->nodes[node].form;
    hn_arena *a = l->r->pass->rule_scratch;
    hn_id *inputs = HN_NEW_N(a, hn_id, (size_t)n->n_inputs + 1),
          *outputs = HN_NEW_N(a, hn_id, (size_t)n->n_outputs + 1);
    HN_TRY_PTR(inputs && outputs);
    hn_rule_before(l->r, node);
    if (f->takes_both && l->values[n->inputs[0]].turned == HN_NONE)
        l->nodes[node].form.in.rank = 0;
    for (uint32_t i = 0; i < n->n_inputs; i++)
        inputs[i] = written_input(l, node, i);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        outputs[i] = HN_NONE;
    l->r->name = n->name;
    f->row->write(l->r, node, f, inputs, outputs);
    l->r->name = NULL;
    hn_origins_twin(l->r, node, outputs[0]);
    for (uint32_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] != HN_NONE)
            take_output(l, n->outputs[i], f, outputs[i]);
    return HONE_OK;
}

static hone_status write_block(layout_job *l) {
    const hn_block *b = hn_block_at(l->r->g, l->block);
    bool is_first = true;
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        if (!l->nodes[b->nodes.at[i]].is_last)
            continue;
        l->r->root = is_first ? b->nodes.at[i] : l->r->root;
        is_first = false;
        HN_TRY(write_last(l, b->nodes.at[i]));
    }
    hn_detail(l->r, "%u nodes, %u transpositions", l->n_last, l->n_moved);
    return HONE_OK;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static hone_status tell_left_out(layout_job *l) {
    const hn_block *b = hn_block_at(l->r->g, l->block);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        hn_id id = b->nodes.at[i];
        const layout_node *at = &l->nodes[id];
        if (at->is_last || !(hn_is_op(l->r, id, "Conv") || hn_is_op(l->r, id, "ms.FusedConv")))
            continue;
        l->r->root = id;
        HN_TRY(hn_miss(l->r, at->is_turnable
                                 ? "bringing its data into the other order costs more than it saves"
                                 : "it is no convolution of floats whose rank is known"));
    }
    return HONE_OK;
}

static hone_status lay_out_block(hn_pass *p, hn_id block) {
    const hn_block *b = hn_block_at(p->g, block);
    if (b->nodes.n == 0 || b->nodes.n > MOST_LAYOUT_NODES)
        return HONE_OK;
    layout_job l = {.r = hn_rewrite_begin(p, "layout", b->nodes.at[0]),
                    .block = block,
                    .values = HN_NEW_N(p->scratch, layout_value, p->g->values.n),
                    .nodes = HN_NEW_N(p->scratch, layout_node, p->g->nodes.n)};
    HN_TRY_PTR(l.r && l.values && l.nodes);
    for (hn_id id = 0; id < p->g->values.n; id++)
        l.values[id].turned = l.values[id].plain = HN_NONE;
    for (uint32_t i = 0; i < b->nodes.n; i++)
        judge_layout(&l, b->nodes.at[i]);
    bool is_last = choose_sides(&l);
    HN_TRY(tell_left_out(&l));
    if (is_last)
        HN_TRY(write_block(&l));
    return hn_rewrite_end(l.r);
}

hone_status hn_pass_layout(hn_pass *p) {
    uint32_t n_blocks = p->g->blocks.n;
    if (!hn_pass_may(p, "layout"))
        return HONE_OK;
    p->is_done = true;
    for (hn_id block = 0; block < n_blocks; block++)
        HN_TRY(lay_out_block(p, block));
    return HONE_OK;
}
