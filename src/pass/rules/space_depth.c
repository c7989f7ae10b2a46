/* Fuses DepthToSpace and SpaceToDepth from Reshape, Transpose, Reshape, and from strided Slices
 * that are concatenated. */
#include "pass/engine/pass_int.h"

#define MAX_BLOCK 8
#define MAX_SLICES 4 /* in a chain */

/* Types for which runtimes have both operators. */
static bool is_block_type(const hn_rule *r, hn_id value) {
    hn_dtype t = hn_elem_of(r, value);
    return t == HN_F32 || t == HN_F64;
}

/* ---- Reshape, Transpose, Reshape ------------------------------------------------------------- */

/* An operator described as a Transpose of six axes, two of which are the block. */
typedef struct block_form {
    const char *op, *mode; /* mode NULL: the operator has no such attribute */
    int64_t perm[6];
    int32_t block[2]; /* the block axes before the Transpose */
    int32_t rest[3];  /* the channel, height and width axes before the Transpose */
    bool is_to_space;
} block_form;

static const block_form block_forms[] = {
    {"DepthToSpace", "DCR", {0, 3, 4, 1, 5, 2}, {1, 2}, {3, 4, 5}, true},
    {"DepthToSpace", "CRD", {0, 1, 4, 2, 5, 3}, {2, 3}, {1, 4, 5}, true},
    {"SpaceToDepth", NULL, {0, 3, 5, 1, 2, 4}, {3, 5}, {1, 2, 4}, false},
};

static const block_form *find_form(const int64_t *perm) {
    for (uint32_t i = 0; i < HN_COUNT(block_forms); i++)
        if (memcmp(block_forms[i].perm, perm, sizeof block_forms[i].perm) == 0)
            return &block_forms[i];
    return NULL;
}

/* True when the four dimensions are [n, c * c_by, h * hw_by, w * hw_by]. */
static bool has_block_dims(const hn_rule *r, hn_id value, hn_dim n, const hn_dim chw[3],
                           int64_t c_by, int64_t hw_by) {
    hn_syms *s = r->pass->model->syms;
    hn_dim wanted[4] = {n, hn_dim_mul_i(s, chw[0], c_by), hn_dim_mul_i(s, chw[1], hw_by),
                        hn_dim_mul_i(s, chw[2], hw_by)};
    for (int32_t i = 0; i < 4; i++)
        if (wanted[i] == HN_DIM_UNKNOWN || hn_dim_of(r, value, i) != wanted[i])
            return false;
    return hn_rank_of(r, value) == 4;
}

static hone_status reshape_transpose(hn_rule *r) {
    hn_id transpose = hn_cap_node(r, "moved"), split = hn_cap(r, "split"), x = hn_cap(r, "x");
    uint32_t n;
    const int64_t *perm;
    if (!hn_node_ints(r, transpose, "perm", &n, &perm) || n != 6 || hn_rank_of(r, split) != 6)
        return HONE_OK;
    const block_form *f = find_form(perm);
    if (!f || !is_block_type(r, x))
        return HONE_OK;
    int64_t block = hn_dim_of(r, split, f->block[0]);
    if (block < 2 || block > INT32_MAX / 2 || hn_dim_of(r, split, f->block[1]) != block)
        return HONE_OK;
    hn_dim chw[3], batch = hn_dim_of(r, split, 0);
    for (int32_t i = 0; i < 3; i++)
        chw[i] = hn_dim_of(r, split, f->rest[i]);
    hn_id deep = f->is_to_space ? x : hn_out(r, r->root, 0);
    hn_id wide = f->is_to_space ? hn_out(r, r->root, 0) : x;
    if (!has_block_dims(r, deep, batch, chw, block * block, 1) ||
        !has_block_dims(r, wide, batch, chw, 1, block))
        return hn_miss(r, "the shapes are not those of %s with blocks of %lld", f->op,
                       (long long)block);
    if (f->mode && hn_rule_opset(r) < 11 && strcmp(f->mode, "DCR") != 0)
        return HONE_OK;
    hn_attr attrs[2] = {hn_new_i(r, "blocksize", block)};
    uint32_t n_attrs = 1;
    if (f->mode && hn_rule_opset(r) >= 11)
        attrs[n_attrs++] = hn_new_s(r, "mode", f->mode);
    hn_rule_replace(r, hn_make1(r, f->op, HN_VALUES(x), n_attrs, attrs));
    return HONE_OK;
}

/* ---- strided Slices -------------------------------------------------------------------------- */

/* The elements begin, begin + step, ... of height and width. */
typedef struct grid_offset {
    int64_t begin[2], step[2];
} grid_offset;

/* Adds one axis of one Slice, which must extend to the end. */
static bool add_stride(const hn_rule *r, hn_id x, int64_t axis, int64_t start, int64_t end,
                       int64_t step, grid_offset *g) {
    axis += axis < 0 ? 4 : 0;
    if (axis < 2 || axis > 3)
        return false;
    hn_dim size = hn_dim_of(r, x, (int32_t)axis);
    bool to_end = end >= INT32_MAX || (hn_dim_is_known(size) && end >= size);
    if (!to_end || step < 1 || step > MAX_BLOCK || start < 0 || start >= step)
        return false;
    if (g->step[axis - 2] != 1)
        return false; /* the same axis twice */
    g->begin[axis - 2] = start;
    g->step[axis - 2] = step;
    return true;
}

static bool add_slice(const hn_rule *r, hn_id slice, grid_offset *g) {
    uint32_t n, n_ends, n_axes, n_steps;
    const int64_t *starts, *ends, *axes, *steps;
    if (hn_node_version(r, slice) < 10 || !hn_const_i64s(r, hn_in(r, slice, 1), &n, &starts) ||
        !hn_const_i64s(r, hn_in(r, slice, 2), &n_ends, &ends) ||
        !hn_const_i64s(r, hn_in(r, slice, 3), &n_axes, &axes) ||
        !hn_const_i64s(r, hn_in(r, slice, 4), &n_steps, &steps))
        return false;
    if (n_ends != n || n_axes != n || n_steps != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!add_stride(r, hn_in(r, slice, 0), axes[i], starts[i], ends[i], steps[i], g))
            return false;
    return true;
}

/* Follows a chain of Slices to the tensor they read. */
static hn_id trace_slices(const hn_rule *r, hn_id value, grid_offset *g) {
    *g = (grid_offset){{0, 0}, {1, 1}};
    for (uint32_t i = 0; i < MAX_SLICES; i++) {
        hn_id slice = hn_maker(r, value, "Slice");
        if (slice == HN_NONE)
            break;
        if (!add_slice(r, slice, g))
            return HN_NONE;
        value = hn_in(r, slice, 0);
    }
    return value;
}

/* Finds which channel block of the SpaceToDepth each input of the Concat is. */
static hn_id grid_of_concat(const hn_rule *r, int64_t *block, int64_t *order) {
    const hn_node *concat = hn_at(r, r->root);
    hn_id x = HN_NONE;
    uint64_t seen = 0;
    for (uint32_t i = 0; i < concat->n_inputs; i++) {
        grid_offset g;
        hn_id from = trace_slices(r, concat->inputs[i], &g);
        if (from == HN_NONE || g.step[0] != g.step[1] || g.step[0] < 2)
            return HN_NONE;
        if (i > 0 && (from != x || g.step[0] != *block))
            return HN_NONE;
        x = from;
        *block = g.step[0];
        if ((int64_t)concat->n_inputs != *block * *block)
            return HN_NONE;
        order[i] = g.begin[0] * *block + g.begin[1];
        seen |= (uint64_t)1 << order[i];
    }
    bool is_all =
        concat->n_inputs == 64 ? seen == UINT64_MAX : seen == ((uint64_t)1 << concat->n_inputs) - 1;
    return is_all ? x : HN_NONE;
}

/* Writes the channels in the order of the Concat. */
static hone_status write_grid(hn_rule *r, hn_id x, int64_t block, const int64_t *order) {
    uint32_t n_blocks = (uint32_t)(block * block);
    int64_t n_channels = hn_dim_of(r, x, 1);
    bool is_sorted = true;
    hn_id deep =
        hn_make1(r, "SpaceToDepth", HN_VALUES(x), HN_ATTRS(hn_new_i(r, "blocksize", block)));
    for (uint32_t i = 0; i < n_blocks; i++)
        is_sorted = is_sorted && order[i] == (int64_t)i;
    if (!is_sorted) {
        int64_t *indices = HN_NEW_N(r->pass->rule_scratch, int64_t, n_blocks * (size_t)n_channels);
        HN_TRY_PTR(indices);
        for (int64_t i = 0; i < (int64_t)n_blocks * n_channels; i++)
            indices[i] = order[i / n_channels] * n_channels + i % n_channels;
        hn_id list = hn_new_const_i64s(r, "channels", n_blocks * (uint32_t)n_channels, indices);
        deep = hn_make1(r, "Gather", HN_VALUES(deep, list), HN_ATTRS(hn_new_i(r, "axis", 1)));
    }
    hn_detail(r, "blocks of %lld", (long long)block);
    hn_rule_replace(r, deep);
    return HONE_OK;
}

static hone_status strided_slices(hn_rule *r) {
    int64_t block = 0, order[MAX_BLOCK * MAX_BLOCK];
    if (hn_node_i(r, r->root, "axis", 1) != 1 || hn_at(r, r->root)->n_inputs < 4 ||
        hn_at(r, r->root)->n_inputs > HN_COUNT(order))
        return HONE_OK;
    hn_id x = grid_of_concat(r, &block, order);
    if (x == HN_NONE || hn_rank_of(r, x) != 4 || !is_block_type(r, x))
        return HONE_OK;
    hn_dim n_channels = hn_dim_of(r, x, 1);
    if (!hn_dim_is_known(n_channels) || n_channels < 1 || n_channels > INT16_MAX)
        return hn_miss(r, "the number of channels is not known");
    return write_grid(r, x, block, order);
}

hone_status hn_pass_space_depth(hn_pass *p) {
    static const hn_rule_row rules[] = {
        {"reshape-transpose", "Reshape(Transpose(Reshape(x, _):split):moved, _)", reshape_transpose,
         false, NULL},
        {"strided-slices", "Concat", strided_slices, true, NULL},
    };
    return hn_pass_rules(p, rules, HN_COUNT(rules));
}
