/* Operators that have a twin in the domain `hone`, which works channels-last. */
#include "cpu/passes/layout.h"

#define MOST_PLANES 4 /* channels of an image that is read channels first */
#define MOST_LINE_FILTERS 8
#define MOST_LINE_RESULTS 4
#define LEAST_LINE_TAPS 8
#define MOST_LINE_STRIDE 16
#define MACS_PER_BYTE 16.0 /* by which a convolution is faster in the time that moves a byte */
#define NARROW_FILTERS 16  /* fewer of them do not fill the vectors of channels-last tiles */
#define SMALL_PLANE 64     /* outputs that the channels-first kernel of small maps takes */
#define SMALL_BYTES 512.0  /* moved in the time by which it is faster */

static void write_twin(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                       hn_id *outputs) {
    const hn_node *n = hn_at(r, node);
    (void)f;
    outputs[0] = hn_out(r, hn_make_own(r, node, n->op->s, n->n_inputs, inputs, HN_NO_ATTRS), 0);
}

/* Floats whose channels are to stand last, and a single result that is turned like them. */
static bool judge_seed(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->out = f->in;
    f->is_seed = true;
    return hn_layout_is_last(&f->in) && hn_elem_of(r, hn_in(r, node, 0)) == HN_F32;
}

/* Images of few channels are read channels first as fast as last. */
static bool reads_planes(const hn_rule *r, hn_id node, const hn_shape *filters) {
    return filters->dims[1] >= 1 && filters->dims[1] <= MOST_PLANES &&
           hn_node_i(r, node, "group", 1) == 1 && hn_in(r, node, 3) == HN_NONE;
}

static double plane_elems(const hn_shape *s) {
    return hn_layout_elems(s) / HN_MAX((double)s->dims[0] * (double)s->dims[1], 1);
}

/* Measured on maps of 2x2 to 7x7 with AVX-512, 3x3 windows: channels-first is 1.3 to 7 times faster
 * with 2 to 8 filters, 0.5 to 1.05 times as fast with 16 of them. */
static bool is_small_conv(const hn_shape *filters, const hn_shape *y) {
    return y && y->rank <= 4 && y->rank == filters->rank && hn_dim_is_known(y->dims[0]) &&
           hn_dim_is_known(y->dims[1]) && filters->dims[0] < NARROW_FILTERS &&
           filters->dims[1] > 1 && plane_elems(filters) > 1 && plane_elems(y) <= SMALL_PLANE;
}

/* One axis, or several of which only the last is longer than one. */
static bool is_along_lines(const hn_shape *x, const hn_shape *filters) {
    for (int32_t i = 2; i + 1 < filters->rank; i++)
        if (filters->dims[i] != 1 || !x || x->rank != filters->rank || x->dims[i] != 1)
            return false;
    return filters->rank >= 3;
}

/* Long windows of one channel along one axis, as filters of sounds are: with so few channels there
 * are no vectors of them, but there are some of neighbouring places. */
static bool is_line_filter(const hn_rule *r, hn_id node, const hn_shape *filters) {
    const int64_t *strides;
    uint32_t n;
    bool is_far = hn_node_ints(r, node, "strides", &n, &strides) && n > 0 &&
                  strides[n - 1] > MOST_LINE_STRIDE;
    return !is_far && is_along_lines(hn_shape_of(r, hn_in(r, node, 0)), filters) &&
           filters->dims[1] == 1 && filters->dims[0] <= MOST_LINE_FILTERS &&
           filters->dims[filters->rank - 1] >= LEAST_LINE_TAPS;
}

/* What is added to the sums (input 3 of FusedConv) is turned, too. */
static bool judge_conv(const hn_rule *r, hn_id node, hn_layout_form *f) {
    hn_id x = hn_in(r, node, 0), w = hn_in(r, node, 1), y = hn_out(r, node, 0);
    const hn_shape *filters = hn_shape_of(r, w);
    hn_id addend = hn_in(r, node, 3);
    if (addend != HN_NONE && hn_rank_of(r, addend) != f->in.rank)
        return false;
    if (!filters || filters->rank != f->in.rank || !judge_seed(r, node, f))
        return false;
    double macs = hn_layout_elems(hn_shape_of(r, y)) * hn_layout_elems(filters) /
                  HN_MAX((double)filters->dims[0], 1);
    f->saved_bytes = 2 * (hn_layout_bytes(r, x) + hn_layout_bytes(r, y)) + macs / MACS_PER_BYTE;
    if (is_small_conv(filters, hn_shape_of(r, y)))
        f->saved_bytes = -SMALL_BYTES;
    f->takes_both = reads_planes(r, node, filters);
    if (is_line_filter(r, node, filters)) {
        f->saved_bytes = -macs / MACS_PER_BYTE;
        f->takes_both = false;
    }
    return true;
}

static void write_conv(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                       hn_id *outputs) {
    const hn_node *n = hn_at(r, node);
    const char *op = f->in.rank > 0 ? "Conv" : "NchwConv";
    outputs[0] = hn_out(r, hn_make_own(r, node, op, n->n_inputs, inputs, HN_NO_ATTRS), 0);
}

static bool reads_output(const hn_rule *r, hn_id node, uint32_t i) {
    hn_id value = hn_out(r, node, i);
    return value != HN_NONE && hn_n_readers(r, value) > 0;
}

/* Of bytes the maximum alone: their averages have operators of their own. */
static bool judge_pool(const hn_rule *r, hn_id node, hn_layout_form *f) {
    hn_dtype elem = hn_elem_of(r, hn_in(r, node, 0));
    bool is_byte_max = hn_dtype_is_byte(elem) && hn_is_op(r, node, "MaxPool");
    f->saved_bytes = hn_layout_bytes(r, hn_in(r, node, 0)) / 2;
    return !reads_output(r, node, 1) &&
           (judge_seed(r, node, f) || (is_byte_max && hn_layout_is_last(&f->in)));
}

/* Results of training have other uses than to be read here. */
static bool judge_batch_norm(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = hn_layout_bytes(r, hn_in(r, node, 0)) / 2;
    for (uint32_t i = 1; i < 5; i++)
        if (reads_output(r, node, i) || hn_elem_of(r, hn_in(r, node, i)) != HN_F32)
            return false;
    return hn_node_version(r, node) >= 7 && hn_at(r, node)->n_outputs == 1 &&
           hn_node_i(r, node, "training_mode", 0) == 0 && hn_node_i(r, node, "spatial", 1) == 1 &&
           judge_seed(r, node, f);
}

/* Statistics of each image; in version 1 InstanceNormalization had an attribute more. */
static bool judge_image_norm(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = hn_layout_bytes(r, hn_in(r, node, 0)) / 2;
    return hn_elem_of(r, hn_in(r, node, 1)) == HN_F32 && judge_seed(r, node, f);
}

/* The filters of groups would have to be multiplied one group after the other. */
static bool judge_conv_transpose(const hn_rule *r, hn_id node, hn_layout_form *f) {
    const hn_shape *filters = hn_shape_of(r, hn_in(r, node, 1));
    bool is_one = hn_node_i(r, node, "group", 1) == 1 && judge_conv(r, node, f);
    f->takes_both = false;
    if (is_one && filters->rank == 3 && filters->dims[1] <= MOST_LINE_RESULTS)
        f->saved_bytes = -f->saved_bytes; /* a sound: one product, and sums along the line */
    return is_one;
}

static bool judge_response_norm(const hn_rule *r, hn_id node, hn_layout_form *f) {
    f->saved_bytes = hn_layout_bytes(r, hn_in(r, node, 0)) / 2;
    return judge_seed(r, node, f);
}

static bool judge_blocks(const hn_rule *r, hn_id node, hn_layout_form *f) {
    return f->in.rank == 4 && judge_seed(r, node, f);
}

/* ---- means over all places ------------------------------------------------------------------- */

static bool judge_reduce(const hn_rule *r, hn_id node, hn_layout_form *f) {
    const int64_t *axes;
    uint32_t n, spatial = 0;
    if (!judge_pool(r, node, f) || !hn_axes_read(r, node, 1, f->in.rank, &n, &axes) ||
        n != (uint32_t)f->in.rank - 2)
        return false;
    for (uint32_t i = 0; i < n; i++)
        spatial += axes[i] >= 2;
    if (hn_node_i(r, node, "keepdims", 1) == 0)
        f->out.rank = 0;
    return spatial == n;
}

static void write_reduce(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs,
                         hn_id *outputs) {
    bool is_mean = hn_is_op(r, node, "ReduceMean");
    hn_id twin = hn_make_own(r, node, is_mean ? "GlobalAveragePool" : "GlobalMaxPool", 1, inputs,
                             HN_NO_ATTRS);
    outputs[0] = hn_out(r, twin, 0);
    if (f->out.rank == 0)
        outputs[0] = hn_make1(r, "Flatten", HN_VALUES(outputs[0]), HN_NO_ATTRS);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hn_layout_row twin_rows[] = {
    {"Conv", 1, 0, 0, judge_conv, write_conv},
    {"ms.FusedConv", 1, 3, 0, judge_conv, write_conv},
    {"ConvTranspose", 1, 0, 0, judge_conv_transpose, write_twin},
    {"MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool", 1, 0, 0, judge_pool, write_twin},
    {"BatchNormalization", 1, 0, 0, judge_batch_norm, write_twin},
    {"InstanceNormalization|GroupNormalization", 1, 0, 0, judge_image_norm, write_twin},
    {"LRN", 1, 0, 0, judge_response_norm, write_twin},
    {"DepthToSpace|SpaceToDepth", 1, 0, 0, judge_blocks, write_twin},
    {"ReduceMean|ReduceMax", 1, 0, 0, judge_reduce, write_reduce},
};

const hn_layout_row *hn_layout_twin(const hn_rule *r, hn_id node) {
    for (size_t i = 0; i < HN_COUNT(twin_rows); i++)
        if (hn_is_op(r, node, twin_rows[i].ops))
            return &twin_rows[i];
    return NULL;
}
