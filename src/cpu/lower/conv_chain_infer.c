/* Chains of channels-last convolutions: attributes, shapes, work. */
#include "cpu/lower/conv_chain_form.h"
#include "cpu/ops_cpu.h"
#include "ops/infer/spatial.h"

/* Rows and elements between stages are counted without looking for overflow, within these limits.
 */
#define CHAIN_MOST_STEP (1 << 20)
#define CHAIN_MOST_ELEMS (UINT64_C(1) << 40)

int hn_chain_n_stages(const hn_infer *c) {
    int n = HN_CONV_CHAIN_MOST;
    while (n > 0 && !hn_has_input(c, hn_chain_filters(n - 1)))
        n--;
    return n;
}

bool hn_chain_reads_nchw(const hn_infer *c) {
    return strcmp(hn_infer_op(c), "NchwConvChain") == 0;
}

/* Dimension i of [N, H, W, C]. */
static hn_dim chain_in_dim(const hn_infer *c, int32_t i) {
    static const int32_t nchw_axes[] = {0, 2, 3, 1};
    return hn_in_dim(c, 0, hn_chain_reads_nchw(c) ? nchw_axes[i] : i);
}

/* Numbers stage * n ... of a list; none may be smaller than `least`, or very large. */
static bool stage_ints(const hn_infer *c, const char *name, int stage, uint32_t n, int64_t least,
                       int64_t *out) {
    const int64_t *list;
    uint32_t n_list, first = (uint32_t)stage * n;
    if (!hn_attr_ints(c, name, &n_list, &list) || n_list < first + n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = list[first + i];
        if (out[i] < least || out[i] > CHAIN_MOST_STEP)
            return false;
    }
    return true;
}

static bool stage_activation(const hn_infer *c, int stage, hn_chain_stage *out) {
    const hn_attr *names = hn_attr_raw(c, "activations"),
                  *params = hn_attr_raw(c, "activation_params");
    int64_t n = 0, first = 0;
    for (int i = 0; i <= stage; i++) {
        if (!stage_ints(c, "n_activation_params", i, 1, 0, &n))
            return false;
        first += i < stage ? n : 0;
    }
    if (!names || names->kind != HN_ATTR_STRINGS || (uint32_t)stage >= names->n ||
        (n > 0 && (!params || params->kind != HN_ATTR_FLOATS || first + n > (int64_t)params->n)))
        return false;
    out->activation = names->v.strings[stage];
    out->n_params = (uint32_t)n;
    out->params = n > 0 ? params->v.floats + first : NULL;
    return true;
}

/* All pads are explicit. */
static bool stage_window(const hn_infer *c, int stage, hn_window_attrs *out) {
    int64_t strides[HN_CHAIN_AXES], dilations[HN_CHAIN_AXES], pads[2 * HN_CHAIN_AXES];
    if (!stage_ints(c, "strides", stage, HN_CHAIN_AXES, 1, strides) ||
        !stage_ints(c, "dilations", stage, HN_CHAIN_AXES, 1, dilations) ||
        !stage_ints(c, "pads", stage, 2 * HN_CHAIN_AXES, 0, pads))
        return false;
    *out = (hn_window_attrs){.n_axes = HN_CHAIN_AXES, .auto_pad = HN_PAD_EXPLICIT};
    for (int32_t a = 0; a < HN_CHAIN_AXES; a++)
        out->axes[a] =
            (hn_window_attrs_axis){.kernel = hn_in_dim(c, hn_chain_filters(stage), a + 2),
                                   .stride = strides[a],
                                   .dilation = dilations[a],
                                   .pad_begin = pads[a],
                                   .pad_end = pads[HN_CHAIN_AXES + a]};
    return true;
}

bool hn_chain_stage_read(const hn_infer *c, int stage, hn_chain_stage *out) {
    return stage_ints(c, "groups", stage, 1, 1, &out->group) &&
           stage_window(c, stage, &out->window) && stage_activation(c, stage, out);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* From the spatial sizes and channels of a map to those of the next. */
static hone_status stage_shape(hn_infer *c, int i, hn_dim *dims) {
    hn_chain_stage stage;
    uint32_t w = hn_chain_filters(i);
    hn_dim channels = hn_in_dim(c, w, 1), filters = hn_in_dim(c, w, 0);
    if (!hn_chain_stage_read(c, i, &stage))
        return hn_infer_fail(c, HONE_E_INVALID,
                             "stage %d of the chain lacks attributes, or they are too large", i);
    HN_TRY(hn_expect_rank(c, w, HN_CHAIN_AXES + 2, HN_CHAIN_AXES + 2));
    for (int32_t d = 0; d < HN_CHAIN_AXES + 2; d++)
        if (hn_in_dim(c, w, d) == 0)
            return hn_infer_fail(c, HONE_E_SHAPE, "stage %d of the chain has no filters", i);
    if (hn_dim_is_known(channels))
        channels = hn_dim_mul_i(hn_infer_syms(c), channels, stage.group);
    HN_TRY(hn_merge_dim(c, "channels of a map and its filters", dims[HN_CHAIN_AXES], channels,
                        &dims[HN_CHAIN_AXES]));
    HN_TRY(hn_expect_rank(c, hn_chain_bias(i), 1, 1));
    HN_TRY(hn_merge_dim(c, "the number of filters, by the weights and by the bias,", filters,
                        hn_in_dim(c, hn_chain_bias(i), 0), &filters));
    if (hn_dim_is_known(filters) && filters % stage.group != 0)
        return hn_infer_fail(c, HONE_E_SHAPE, "filters of stage %d do not fill its groups", i);
    dims[HN_CHAIN_AXES] = filters;
    for (int32_t a = 0; a < HN_CHAIN_AXES; a++)
        HN_TRY(hn_window_attrs_out(c, &stage.window, a, dims[a], &dims[a]));
    return HONE_OK;
}

hone_status hn_infer_conv_chain(hn_infer *c) {
    const int32_t rank = HN_CHAIN_AXES + 2;
    hn_dim *dims = hn_infer_dims(c, rank);
    HN_TRY_PTR(dims);
    HN_TRY(hn_expect_rank(c, 0, rank, rank));
    for (int32_t i = 0; i < rank; i++)
        dims[i] = chain_in_dim(c, i);
    for (int i = 0, n = hn_chain_n_stages(c); i < n; i++) {
        uint64_t n_elems = 1;
        HN_TRY(stage_shape(c, i, dims + 1));
        if (!hn_macs_times(&n_elems, HN_CHAIN_AXES + 1, dims + 1) || n_elems > CHAIN_MOST_ELEMS)
            return hn_infer_fail(c, HONE_E_LIMIT,
                                 "what stage %d of the chain makes is too large, or not known", i);
    }
    return hn_out_shape(c, 0, rank, dims);
}

/* Outputs along an axis; false where that is not a number. */
static bool stage_positions(const hn_chain_stage *stage, int32_t a, hn_dim *size) {
    if (!hn_dim_is_known(*size) || !hn_dim_is_known(stage->window.axes[a].kernel))
        return false;
    *size = hn_window_attrs_positions(&stage->window, a, *size);
    return true;
}

bool hn_macs_conv_chain(const hn_infer *c, uint64_t *macs) {
    hn_chain_stage stage;
    *macs = 0;
    if (hn_in_rank(c, 0) != HN_CHAIN_AXES + 2)
        return false;
    hn_dim map[] = {chain_in_dim(c, 0), chain_in_dim(c, 1), chain_in_dim(c, 2)};
    for (int i = 0, n = hn_chain_n_stages(c); i < n; i++) {
        const hn_shape *w = hn_in_shape(c, hn_chain_filters(i));
        uint64_t here = 1;
        if (!w || !hn_chain_stage_read(c, i, &stage) || w->rank != HN_CHAIN_AXES + 2)
            return false;
        for (int32_t a = 0; a < HN_CHAIN_AXES; a++)
            if (!stage_positions(&stage, a, &map[1 + a]))
                return false;
        if (!hn_macs_times(&here, HN_CHAIN_AXES + 1, map) ||
            !hn_macs_times(&here, w->rank, w->dims) || !hn_add_u64(*macs, here, macs))
            return false;
    }
    return true;
}
