/* Fuses rotary embeddings into one operator, on (batch, position, heads and size) where x is a view
 * of that: the heads are then split after it, where attention merges them again. */
#include "pass/rules/rotary_site.h"

/* Axes of x: batch and size are the first and the last. */
typedef struct rope_axes {
    uint8_t heads, position;
    bool has_batch; /* true when the caches differ by batch */
} rope_axes;

static bool is_alike(const hn_view *v, uint32_t axis) {
    return hn_view_axis_size(v, axis, false) == 1;
}

static bool has_all_of(const hn_view *v, uint32_t axis) {
    return hn_view_axis_size(v, axis, false) == hn_view_axis_size(v, axis, true);
}

/* The view of a cache as broadcast to x, with the axes of x. */
static bool view_cache(const hn_rope *p, hn_id cache, hn_view *v) {
    const hn_shape *x = hn_shape_of(p->r, p->rotated);
    hn_dim dims[4] = {x->dims[0], x->dims[1], x->dims[2], p->n_rotated / (p->is_by_pair ? 2 : 1)};
    hn_shape met = {.rank = 4, .dims = dims};
    if (!hn_view_begin(v, p->r, cache) || !hn_view_broadcast(v, &met))
        return false;
    v->keeps_factor = true;
    return has_all_of(v, 3);
}

static bool find_axes(const hn_rope *p, const hn_view *cos, rope_axes *out) {
    bool heads_first = is_alike(cos, 1) && has_all_of(cos, 2);
    bool heads_second = is_alike(cos, 2) && has_all_of(cos, 1);
    if (!heads_first && !heads_second)
        return false;
    out->heads = heads_first ? 1 : 2;
    out->position = heads_first ? 2 : 1;
    out->has_batch = !is_alike(cos, 0);
    return hn_dim_is_known(hn_dim_of(p->r, p->rotated, out->heads));
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* Takes one number per pair: the first half of the last axis, or every second element. */
static hn_id first_of_pairs(const hn_rope *p, hn_id cache) {
    const int64_t start = 0, axis = -1, end = p->is_interleaved ? p->n_rotated : p->n_rotated / 2;
    const int64_t step = p->is_interleaved ? 2 : 1;
    hn_rule *r = p->r;
    return hn_make1(r, "Slice",
                    HN_VALUES(cache, hn_new_const_i64s(r, "start", 1, &start),
                              hn_new_const_i64s(r, "end", 1, &end),
                              hn_new_const_i64s(r, "axis", 1, &axis),
                              hn_new_const_i64s(r, "step", 1, &step)),
                    HN_NO_ATTRS);
}

static hn_id write_cache(const hn_rope *p, hn_view_writer *w, const hn_view *v,
                         const char *layout) {
    hn_view_plan plan;
    if (!hn_view_plan_best(v, layout, hn_view_axis_size(v, 1, false), &plan))
        return HN_NONE;
    hn_id cache = hn_view_write(w, &plan);
    return p->is_by_pair ? cache : first_of_pairs(p, cache);
}

/* The standard operator needs caches for every batch element. */
static hn_id for_all_batches(const hn_rope *p, hn_id cache, hn_id x) {
    hn_rule *r = p->r;
    hn_dim batch = hn_dim_of(r, p->rotated, 0);
    const int64_t sizes[] = {batch, 1, 1};
    if (batch == 1)
        return cache;
    hn_id shape = hn_dim_is_known(batch)
                      ? hn_new_const_i64s(r, "batch", 3, sizes)
                      : hn_make1(r, "Concat",
                                 HN_VALUES(hn_make_axis_size(r, x, 0),
                                           hn_new_const_i64s(r, "ones", 2, sizes + 1)),
                                 HN_ATTRS(hn_new_i(r, "axis", 0)));
    return hn_make1(r, "Expand", HN_VALUES(cache, shape), HN_NO_ATTRS);
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct rope_form {
    hn_view_plan x, out;
    int32_t cost;
} rope_form;

/* Plans x and the result, which have the axes batch, heads, position, size, in this layout. */
static bool plan_rope(const hn_rope *p, const rope_axes *axes, const char *layout, rope_form *f) {
    const uint8_t perm[] = {0, axes->heads, axes->position, 3};
    hn_view x = p->x, out;
    if (!hn_view_begin(&out, p->r, p->rotated))
        return false;
    hn_dim dims[4];
    for (uint32_t i = 0; i < 4; i++)
        dims[i] = out.source_dims[perm[i]];
    x.keeps_factor = true;
    hn_view_permute(&x, 4, perm);
    hn_view_permute(&out, 4, perm); /* so that the same names apply to the axes of the source */
    out.of_source = out.of_value;
    if (!hn_view_plan_best(&x, layout, dims[1], &f->x) ||
        !hn_view_rebase(&out, HN_NONE, 4, dims, layout) ||
        !hn_view_plan_write(&out, axes->heads == 1 ? "0,1,2,3" : "0,2,1,3", &f->out))
        return false;
    f->cost = f->x.cost + 3 * (int32_t)f->out.n_nodes;
    return true;
}

static hone_status write_rope(const hn_rope *p, const rope_axes *axes, const hn_view *cos,
                              const hn_view *sin, bool is_standard) {
    hn_rule *r = p->r;
    rope_form three, four;
    hn_view_writer w = {.r = r};
    hn_attr attrs[3];
    uint32_t n = 0;
    bool has_three = plan_rope(p, axes, "0,2,13", &three);
    bool has_four = plan_rope(p, axes, "0,1,2,3", &four);
    if (!has_three && !has_four)
        return hn_miss(r, "x cannot be rearranged with constant shapes");
    bool is_three = has_three && (!has_four || three.cost <= four.cost);
    const char *layout = is_standard ? "0,2,3" : "2,3";
    hn_id x = hn_view_write(&w, is_three ? &three.x : &four.x);
    hn_id c = write_cache(p, &w, cos, layout), s = write_cache(p, &w, sin, layout);
    if (c == HN_NONE || s == HN_NONE)
        return hn_miss(r, "cosines or sines cannot be rearranged with constant shapes");
    if (p->is_interleaved)
        attrs[n++] = hn_new_i(r, "interleaved", 1);
    hn_dim size = hn_dim_of(r, p->rotated, -1);
    bool is_partial = p->n_rotated != size;
    if (is_three || is_partial)
        attrs[n++] = hn_new_i(r, "num_heads", hn_dim_of(r, p->rotated, axes->heads));
    if (is_partial)
        attrs[n++] = hn_new_i(r, "rotary_embedding_dim", p->n_rotated);
    hn_view_plan out = is_three ? three.out : four.out;
    if (is_standard) {
        if (!axes->has_batch) {
            c = for_all_batches(p, c, x);
            s = for_all_batches(p, s, x);
        }
        out.source = hn_make1(r, "RotaryEmbedding", HN_VALUES(x, c, s), n, attrs);
    } else {
        const int64_t first = 0;
        hn_id position = hn_new_const_i64s(r, "first_position", 1, &first);
        out.source = hn_make1(r, "ms.RotaryEmbedding", HN_VALUES(x, position, c, s), n, attrs);
    }
    hn_rule_replace_value(r, p->rotated, hn_view_write(&w, &out));
    hn_detail(r, "%lld of %lld elements%s", (long long)p->n_rotated, (long long)size,
              p->is_interleaved ? ", interleaved" : "");
    return HONE_OK;
}

static hone_status fuse_rope(hn_rule *r) {
    hn_rope p = {.r = r};
    hn_view cos, sin;
    rope_axes axes, sin_axes;
    if (!hn_rope_find(&p))
        return HONE_OK;
    hn_dtype elem = hn_elem_of(r, p.rotated);
    if (hn_rank_of(r, p.rotated) != 4 || (elem != HN_F32 && elem != HN_F16 && elem != HN_BF16))
        return hn_miss(r, "a rotary embedding needs a floating-point tensor of rank 4");
    if (hn_elem_of(r, p.cos) != elem || hn_elem_of(r, p.sin) != elem ||
        !view_cache(&p, p.cos, &cos) || !view_cache(&p, p.sin, &sin) ||
        !find_axes(&p, &cos, &axes) || !find_axes(&p, &sin, &sin_axes) ||
        axes.heads != sin_axes.heads || axes.has_batch != sin_axes.has_batch)
        return hn_miss(r, "cosines and sines do not have one row for each position");
    if (!p.is_by_pair && !(hn_rope_is_paired(&p, p.cos) && hn_rope_is_paired(&p, p.sin)))
        return hn_miss(r, "cosines or sines are not provably the same for both elements of a pair");
    if (hn_rule_opset(r) < 11)
        return HONE_OK; /* no pattern matches positions on an axis after the heads */
    hn_view_permute(&cos, 4, (uint8_t[]){0, axes.heads, axes.position, 3});
    hn_view_permute(&sin, 4, (uint8_t[]){0, axes.heads, axes.position, 3});
    if (!axes.has_batch && r->pass->options->target != HN_TARGET_ONNX)
        return write_rope(&p, &axes, &cos, &sin, false);
    return hn_can_write(r, "RotaryEmbedding") ? write_rope(&p, &axes, &cos, &sin, true) : HONE_OK;
}

static const hn_rule_row rotary_rules[] = {
    {.name = "whole", .pattern = "Add", .fn = fuse_rope, .allow_shared = true},
    {.name = "pairs", .pattern = "Concat|Reshape", .fn = fuse_rope, .allow_shared = true},
};

hone_status hn_pass_fuse_rotary(hn_pass *p) {
    return hn_pass_rules(p, rotary_rules, HN_COUNT(rotary_rules));
}
