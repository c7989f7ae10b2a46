/* Fuses LayerNormalization, InstanceNormalization and RMSNormalization from means, squares and
 * square roots. A rule starts where x is divided by its deviation, and absorbs the scale, the bias
 * and a Cast that follow. */
#include "pass/engine/poly.h"
#include "pass/engine/weights.h"

#define MAX_SPREAD_ELEMS 65536 /* of a scale that is expanded to the shape it must have */

#define MAX_NORM_AXES 32

/* A normalization that was found. */
typedef struct found_norm {
    const char *op;
    hn_id x;
    int32_t n_axes; /* the last ones */
    double epsilon;
    hn_id scale, bias; /* HN_NONE: none */
    hn_id y;           /* the last value of the formula */
} found_norm;

/* ---- reductions ------------------------------------------------------------------------------ */

/* True for a reduction over the last axes; *n_axes is their number. */
static bool reduces_last_axes(const hn_rule *r, hn_id node, int32_t rank, int32_t *n_axes) {
    uint32_t n;
    const int64_t *axes;
    uint64_t seen = 0;
    if (!hn_node_list(r, node, "axes", 1, &n, &axes))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        int64_t from_end = axes[i] < 0 ? -1 - axes[i] : rank - 1 - axes[i];
        if (from_end < 0 || from_end >= rank || from_end >= MAX_NORM_AXES)
            return false;
        seen |= UINT64_C(1) << from_end;
    }
    *n_axes = (int32_t)n;
    return n > 0 && n < MAX_NORM_AXES && seen == (UINT64_C(1) << n) - 1;
}

/* True when the reduced axes stay as axes of size 1, by keepdims or because `back` restores
 * them. */
static bool keeps_axes(const hn_rule *r, hn_id reduction, hn_id back, hn_id x, int32_t n_axes) {
    int32_t rank = hn_rank_of(r, x);
    if (hn_node_i(r, reduction, "keepdims", 1) == 1)
        return back == HN_NONE;
    for (int32_t i = 0; i < rank && back != HN_NONE; i++) {
        hn_dim d = hn_dim_of(r, back, i), want = i < rank - n_axes ? hn_dim_of(r, x, i) : 1;
        if (d != want || d == HN_DIM_UNKNOWN)
            return false;
    }
    return hn_rank_of(r, back) == rank;
}

/* Constants of the pattern can be tensors, which must not have enlarged the result. */
static bool keeps_dims(const hn_rule *r, hn_id y, hn_id x) {
    int32_t rank = hn_rank_of(r, x);
    for (int32_t i = 0; i < rank; i++)
        if (hn_dim_of(r, x, i) != hn_dim_of(r, y, i))
            return false;
    return rank >= 1 && hn_rank_of(r, y) == rank;
}

/* True when x is divided by the square root, in any spelling. */
static bool divides_by_root(const hn_rule *r) {
    double power = 0.5;
    bool is_product = !hn_is_op(r, r->root, "Div");
    bool has_power = hn_cap(r, "power") != HN_NONE;
    if (has_power && !hn_const_f64(r, hn_cap(r, "power"), &power))
        return false;
    bool is_inverse = hn_cap(r, "inverse") != HN_NONE;
    return (is_inverse ? -power : power) == (is_product ? -0.5 : 0.5);
}

static bool reduces_alike(const hn_rule *r, const char *reduction, const char *back, hn_id x,
                          int32_t *n_axes) {
    hn_id node = hn_cap_node(r, reduction);
    return reduces_last_axes(r, node, hn_rank_of(r, x), n_axes) &&
           keeps_axes(r, node, hn_cap(r, back), x, *n_axes);
}

static bool read_norm(hn_rule *r, const char *op, found_norm *f) {
    int32_t n_mean_axes;
    *f = (found_norm){.op = op, .x = hn_cap(r, "x"), .scale = HN_NONE, .bias = HN_NONE};
    hn_dtype elem = hn_elem_of(r, f->x);
    f->y = hn_out(r, r->root, 0);
    if (!divides_by_root(r) || !keeps_dims(r, f->y, f->x) ||
        (elem != HN_F32 && elem != HN_F16 && elem != HN_BF16) ||
        !hn_scalar_beside(r, hn_cap(r, "eps"), f->x, &f->epsilon))
        return false;
    if (!reduces_alike(r, "var", "var_back", f->x, &f->n_axes))
        return false;
    return hn_cap(r, "mean") == HN_NONE ||
           (reduces_alike(r, "mean", "mean_back", f->x, &n_mean_axes) && n_mean_axes == f->n_axes);
}

/* ---- scale and bias -------------------------------------------------------------------------- */

/* Reads the sizes of the normalized axes. */
static bool normalized_dims(const hn_rule *r, const found_norm *f, int64_t *dims) {
    for (int32_t i = 0; i < f->n_axes; i++) {
        dims[i] = hn_dim_of(r, f->x, i - f->n_axes);
        if (!hn_dim_is_known(dims[i]))
            return false;
    }
    return true;
}

static bool has_normalized_shape(const hn_rule *r, const found_norm *f, hn_id value) {
    if (hn_rank_of(r, value) != f->n_axes)
        return false;
    for (int32_t i = -f->n_axes; i < 0; i++) {
        hn_dim d = hn_dim_of(r, value, i);
        if (d == HN_DIM_UNKNOWN || d != hn_dim_of(r, f->x, i))
            return false;
    }
    return true;
}

/* True when a constant of this shape keeps the shape of the result and is constant along other
 * axes. */
static bool spreads_over(const hn_tensor *t, const found_norm *f, int32_t x_rank,
                         const int64_t *dims) {
    for (int32_t i = 1; i <= t->rank; i++) {
        int64_t d = t->dims[t->rank - i];
        if (d != 1 && (i > f->n_axes || d != dims[f->n_axes - i]))
            return false;
    }
    return t->rank <= x_rank;
}

/* The index of the constant's element for a position in the normalized axes. */
static uint64_t spread_index(const hn_tensor *t, int32_t n_axes, const int64_t *dims,
                             uint64_t place) {
    uint64_t index = 0, stride = 1;
    for (int32_t i = 1; i <= HN_MIN(n_axes, t->rank); i++) {
        uint64_t size = (uint64_t)dims[n_axes - i], own = (uint64_t)t->dims[t->rank - i];
        index += own == 1 ? 0 : place % size * stride;
        place /= size;
        stride *= own;
    }
    return index;
}

static bool count_elems(const found_norm *f, const int64_t *dims, uint64_t *n) {
    *n = 1;
    for (int32_t i = 0; i < f->n_axes; i++)
        if (!hn_mul_u64(*n, (uint64_t)dims[i], n))
            return false;
    return true;
}

/* Expands the constant t, or 1 when it is NULL, to the normalized shape. */
static hn_id spread_const(hn_rule *r, const found_norm *f, const hn_tensor *t,
                          const int64_t *dims) {
    uint64_t n;
    if (!count_elems(f, dims, &n))
        return HN_NONE;
    if (t && n == t->n_elems) { /* only axes of size 1 are removed */
        hn_arena *arena = r->pass->model->arena;
        return hn_new_const(r, "param",
                            hn_tensor_new(arena, t->dtype, f->n_axes, dims, t->data, true));
    }
    double *from = t && t->n_elems <= n ? hn_const_f64s(r, t) : NULL;
    double *to = n <= MAX_SPREAD_ELEMS ? HN_NEW_N(r->pass->rule_scratch, double, n + 1) : NULL;
    if (!to || (t && !from))
        return HN_NONE;
    for (uint64_t i = 0; i < n; i++)
        to[i] = from ? from[spread_index(t, f->n_axes, dims, i)] : 1;
    return hn_new_const_f64s(r, "param", hn_elem_of(r, f->x), f->n_axes, dims, to);
}

/* Returns a value that can be the scale or bias: one of the normalized shape, or a constant that
 * can be expanded to it. HN_NONE otherwise. */
static hn_id fit_param(hn_rule *r, const found_norm *f, hn_id value) {
    int64_t dims[MAX_NORM_AXES];
    if (hn_elem_of(r, value) != hn_elem_of(r, f->x))
        return HN_NONE;
    if (has_normalized_shape(r, f, value))
        return value;
    const hn_tensor *t = hn_const(r, value);
    if (!t || !t->data || !normalized_dims(r, f, dims) ||
        !spreads_over(t, f, hn_rank_of(r, f->x), dims))
        return HN_NONE;
    return spread_const(r, f, t, dims);
}

/* ---- what follows ---------------------------------------------------------------------------- */

/* The operators normalize a smaller type in float anyway, so Casts around them are absorbed. */
static void take_casts(const hn_rule *r, found_norm *f) {
    hn_id before = hn_maker(r, f->x, "Cast"), after = hn_lone_reader(r, f->y, "Cast");
    if (before == HN_NONE || after == HN_NONE || hn_elem_of(r, f->x) != HN_F32)
        return;
    hn_id x = hn_in(r, before, 0), y = hn_out(r, after, 0);
    hn_dtype elem = hn_elem_of(r, x);
    if ((elem == HN_F16 || elem == HN_BF16) && hn_elem_of(r, y) == elem) {
        f->x = x;
        f->y = y;
    }
}

static void take_param(hn_rule *r, found_norm *f, const char *op, hn_id *param) {
    hn_id node = hn_lone_reader(r, f->y, op);
    if (node == HN_NONE)
        return;
    hn_id value = hn_in(r, node, hn_in(r, node, 0) == f->y ? 1 : 0);
    *param = fit_param(r, f, value);
    if (*param != HN_NONE)
        f->y = hn_out(r, node, 0);
}

static hone_status write_norm(hn_rule *r, found_norm *f) {
    int64_t dims[MAX_NORM_AXES];
    if (f->scale == HN_NONE && normalized_dims(r, f, dims))
        f->scale = spread_const(r, f, NULL, dims);
    if (f->scale == HN_NONE)
        return hn_miss(
            r,
            "there is no scale of the normalized shape, and its sizes are not known to create one");
    hn_rule_before(r, hn_value_at(r->g, f->y)->producer);
    hn_id y = hn_make1(
        r, f->op, HN_VALUES(f->x, f->scale, f->bias),
        HN_ATTRS(hn_new_i(r, "axis", -f->n_axes), hn_new_f(r, "epsilon", (float)f->epsilon)));
    hn_rule_replace_value(r, f->y, y);
    return HONE_OK;
}

/* A normalization of every plane of every channel is InstanceNormalization, unless parameters
 * differ within a plane. A scale per channel in three dimensions can look the same. */
static bool is_per_channel(hn_rule *r, const found_norm *f) {
    int32_t rank = hn_rank_of(r, f->x);
    hn_dim n_channels = hn_dim_of(r, f->x, 1);
    double *unused;
    if (rank < 3 || f->n_axes != rank - 2 || f->scale != HN_NONE || f->bias != HN_NONE ||
        n_channels <= 0 || (hn_elem_of(r, f->x) == HN_BF16 && hn_rule_opset(r) < 22))
        return false;
    hn_id mul = hn_lone_reader(r, f->y, "Mul");
    return rank > 3 || (mul != HN_NONE &&
                        hn_channel_const(r, mul, hn_in(r, mul, hn_in(r, mul, 0) == f->y ? 1 : 0),
                                         rank, 1, (uint64_t)n_channels, &unused));
}

/* Scale and bias follow as constants that another rule folds. */
static hone_status write_instance_norm(hn_rule *r, const found_norm *f) {
    int64_t dims[1] = {hn_dim_of(r, f->x, 1)};
    double *numbers = HN_NEW_N(r->pass->rule_scratch, double, (size_t)dims[0]);
    HN_TRY_PTR(numbers);
    hn_dtype elem = hn_elem_of(r, f->x);
    hn_id bias = hn_new_const_f64s(r, "bias", elem, 1, dims, numbers);
    for (int64_t i = 0; i < dims[0]; i++)
        numbers[i] = 1;
    hn_id scale = hn_new_const_f64s(r, "scale", elem, 1, dims, numbers);
    hn_rule_before(r, hn_value_at(r->g, f->y)->producer);
    hn_id y = hn_make1(r, "InstanceNormalization", HN_VALUES(f->x, scale, bias),
                       HN_ATTRS(hn_new_f(r, "epsilon", (float)f->epsilon)));
    hn_rule_replace_value(r, f->y, y);
    return HONE_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static hone_status fuse_layer_norm(hn_rule *r) {
    found_norm f;
    if (!read_norm(r, "LayerNormalization", &f))
        return HONE_OK;
    take_casts(r, &f);
    take_param(r, &f, "Mul", &f.scale);
    take_param(r, &f, "Add", &f.bias);
    if (is_per_channel(r, &f))
        return write_instance_norm(r, &f);
    return hn_can_write(r, f.op) ? write_norm(r, &f) : HONE_OK;
}

/* The scale is part of the factor: (x - mean) * (scale / deviation). */
static hone_status fuse_layer_norm_scaled(hn_rule *r) {
    found_norm f;
    if (!read_norm(r, "LayerNormalization", &f) || !hn_can_write(r, f.op))
        return HONE_OK;
    f.scale = fit_param(r, &f, hn_cap(r, "scale"));
    if (f.scale == HN_NONE)
        return HONE_OK;
    take_param(r, &f, "Add", &f.bias);
    return write_norm(r, &f);
}

/* x * (scale / deviation) + (bias - mean * (scale / deviation)) */
static hone_status fuse_layer_norm_folded(hn_rule *r) {
    found_norm f;
    if (!read_norm(r, "LayerNormalization", &f) || !hn_can_write(r, f.op))
        return HONE_OK;
    f.scale = fit_param(r, &f, hn_cap(r, "scale"));
    f.bias = fit_param(r, &f, hn_cap(r, "bias"));
    return f.scale != HN_NONE && f.bias != HN_NONE ? write_norm(r, &f) : HONE_OK;
}

static hone_status fuse_rms_norm(hn_rule *r) {
    found_norm f;
    if (!read_norm(r, "RMSNormalization", &f) || !hn_can_write(r, f.op))
        return HONE_OK;
    take_casts(r, &f);
    take_param(r, &f, "Mul", &f.scale);
    return write_norm(r, &f);
}

static hone_status fuse_rms_norm_scaled(hn_rule *r) {
    found_norm f;
    if (!read_norm(r, "RMSNormalization", &f) || !hn_can_write(r, f.op))
        return HONE_OK;
    f.scale = fit_param(r, &f, hn_cap(r, "scale"));
    return f.scale != HN_NONE ? write_norm(r, &f) : HONE_OK;
}

#define SQUARE(d) "{Pow(" d ", 2) | Mul(" d ", " d ")}"
#define ROOT(v) "Sqrt|Pow(" v ", #power?)"
#define ONE_BY_ROOT(v) "{Reciprocal?(" ROOT(v) "):inverse | Div(1, Sqrt(" v ")):inverse}"
/* A node that restores axes which a reduction drops. */
#define BACK(v, name) "Reshape|Unsqueeze?(" v ", ...):" name
#define CENTERED "Sub(x, " BACK("ReduceMean(x, ...):mean", "mean_back") "):d"
/* The mean of squared differences, or the mean of squares minus the squared mean. */
/* clang-format off */
#define VARIANCE                                                                                   \
  "Add(" BACK("{ReduceMean(" SQUARE("d") ", ...):var | "                                           \
  "Relu?(Sub(ReduceMean(" SQUARE("x") ", ...):var, " SQUARE("mean") "))}", "var_back") ", #eps)"
/* clang-format on */
#define DISTANCE "{Sub(x, mean):d | Sub(mean, x):d}"
#define DISTANCES "Add(ReduceMean({Pow(" DISTANCE ", 2) | Mul(" DISTANCE ", d)}, ...):var, #eps)"
#define FOLDED_NORM                                              \
  "Add(Mul(x, Mul(" ONE_BY_ROOT(DISTANCES) ", #scale):factor), " \
                                           "Sub(#bias, Mul(ReduceMean(x, ...):mean, factor)))"
#define MEAN_SQUARE "Add(" BACK("ReduceMean(" SQUARE("x") ", ...):var", "var_back") ", #eps)"

static const hn_rule_row layer_norm_rules[] = {
    {"layer-norm", "Div(" CENTERED ", " ROOT(VARIANCE) ")", fuse_layer_norm, false, NULL},
    {"layer-norm", "Mul(" CENTERED ", " ONE_BY_ROOT(VARIANCE) ")", fuse_layer_norm, false, NULL},
    {"layer-norm", "Mul(" CENTERED ", Mul(" ONE_BY_ROOT(VARIANCE) ", scale))",
     fuse_layer_norm_scaled, false, NULL},
    {"layer-norm", FOLDED_NORM, fuse_layer_norm_folded, false, NULL},
    {"rms-norm", "Div(x, " ROOT(MEAN_SQUARE) ")", fuse_rms_norm, false, NULL},
    {"rms-norm", "Mul(x, " ONE_BY_ROOT(MEAN_SQUARE) ")", fuse_rms_norm, false, NULL},
    {"rms-norm", "Mul(x, Mul(" ONE_BY_ROOT(MEAN_SQUARE) ", scale))", fuse_rms_norm_scaled, false,
     NULL},
};

hone_status hn_pass_layer_norm(hn_pass *p) {
    return hn_pass_rules(p, layer_norm_rules, HN_COUNT(layer_norm_rules));
}
