/* Windows over spatial axes: reads their attributes and computes output sizes. */
#include "ops/infer/spatial.h"

/* ---- attributes ------------------------------------------------------------------------------ */

hone_status hn_window_attrs_list(hn_infer *c, const char *name, uint32_t want, int64_t least,
                                 const int64_t **out) {
    uint32_t n;
    *out = NULL;
    if (!hn_attr_ints(c, name, &n, out))
        return HONE_OK;
    if (n != want)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "attribute %s has %u values, but the input %s needs %u", name, n,
                             hn_in_text(c, 0), want);
    for (uint32_t i = 0; i < n; i++)
        if ((*out)[i] > INT32_MAX) /* so that sums of products do not overflow */
            return hn_infer_fail(
                c, HONE_E_LIMIT,
                "attribute %s holds %lld, which is too large: hone supports up to %lld", name,
                (long long)(*out)[i], (long long)INT32_MAX);
    for (uint32_t i = 0; i < n; i++)
        if ((*out)[i] < least)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "attribute %s holds %lld, but its values must be at least %lld",
                                 name, (long long)(*out)[i], (long long)least);
    return HONE_OK;
}

bool hn_auto_pad_read(const hn_infer *c, hn_auto_pad *out) {
    static const struct {
        const char *text;
        hn_auto_pad mode;
    } modes[] = {{"NOTSET", HN_PAD_EXPLICIT},
                 {"", HN_PAD_EXPLICIT},
                 {"VALID", HN_PAD_VALID},
                 {"SAME_UPPER", HN_PAD_SAME_UPPER},
                 {"SAME_LOWER", HN_PAD_SAME_LOWER}};
    for (size_t i = 0; i < HN_COUNT(modes); i++) {
        *out = modes[i].mode;
        if (hn_attr_is(c, "auto_pad", modes[i].text))
            return true;
    }
    *out = HN_PAD_EXPLICIT;
    return false;
}

/* Values of a list attribute; NULL when it is absent. False: it has another length. */
static bool window_list(const hn_infer *c, const char *name, uint32_t want, const int64_t **out) {
    uint32_t n;
    *out = NULL;
    if (!hn_attr_ints(c, name, &n, out) || n == want)
        return true;
    *out = NULL;
    return n == 0;
}

bool hn_window_attrs_get(const hn_infer *c, int32_t n_axes, hn_window_attrs *w) {
    const int64_t *kernel, *strides, *dilations, *pads;
    uint32_t n = (uint32_t)n_axes;
    bool is_valid = window_list(c, "kernel_shape", n, &kernel);
    is_valid = window_list(c, "strides", n, &strides) && is_valid;
    is_valid = window_list(c, "dilations", n, &dilations) && is_valid;
    is_valid = window_list(c, "pads", 2 * n, &pads) && is_valid;
    is_valid = hn_auto_pad_read(c, &w->auto_pad) && is_valid;
    w->n_axes = n_axes;
    w->ceil_mode = hn_attr_i(c, "ceil_mode", 0) != 0;
    bool explicit_pads = pads && w->auto_pad == HN_PAD_EXPLICIT;
    for (uint32_t i = 0; i < n; i++)
        w->axes[i] = (hn_window_attrs_axis){
            .kernel = kernel ? kernel[i] : HN_DIM_UNKNOWN,
            .stride = strides ? strides[i] : 1,
            .dilation = dilations ? dilations[i] : 1,
            .pad_begin = explicit_pads ? pads[i] : 0,
            .pad_end = explicit_pads ? pads[n + i] : 0,
        };
    return is_valid;
}

hone_status hn_window_attrs_read(hn_infer *c, int32_t n_axes, hn_window_attrs *w) {
    static const struct {
        const char *name;
        uint32_t per_axis;
        int64_t least;
    } lists[] = {{"kernel_shape", 1, 1}, {"strides", 1, 1}, {"dilations", 1, 1}, {"pads", 2, 0}};
    const int64_t *list;
    if (n_axes < 0 || n_axes > HN_MAX_RANK)
        return hn_infer_fail(c, HONE_E_LIMIT, "%d spatial axes; hone allows %d", n_axes,
                             HN_MAX_RANK);
    for (size_t i = 0; i < HN_COUNT(lists); i++)
        HN_TRY(hn_window_attrs_list(c, lists[i].name, lists[i].per_axis * (uint32_t)n_axes,
                                    lists[i].least, &list));
    int64_t ceil_mode = hn_attr_i(c, "ceil_mode", 0);
    hn_bytes auto_pad = hn_attr_s(c, "auto_pad");
    if (!hn_window_attrs_get(c, n_axes, w))
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "auto_pad is '%.*s', but must be NOTSET, SAME_UPPER, SAME_LOWER or VALID",
            (int)HN_MIN(auto_pad.n, 100), (const char *)auto_pad.at);
    if (ceil_mode != 0 && ceil_mode != 1)
        return hn_infer_fail(c, HONE_E_INVALID, "ceil_mode is %lld, but must be 0 or 1",
                             (long long)ceil_mode);
    return HONE_OK;
}

hone_status hn_window_attrs_merge_kernel(hn_infer *c, hn_window_attrs *w, const hn_dim *sizes) {
    for (int32_t i = 0; i < w->n_axes; i++) {
        if (sizes[i] == 0)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "the filter has no elements along spatial axis %d", i);
        if (hn_dim_is_known(sizes[i]) && hn_dim_is_known(w->axes[i].kernel) &&
            sizes[i] != w->axes[i].kernel)
            return hn_infer_fail(c, HONE_E_SHAPE,
                                 "kernel_shape says %lld along spatial axis %d, but the filter has "
                                 "%lld elements there",
                                 (long long)w->axes[i].kernel, i, (long long)sizes[i]);
        if (!hn_dim_is_known(w->axes[i].kernel))
            w->axes[i].kernel = sizes[i];
    }
    return HONE_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* The distance from the first to the last element of a dilated window, in elements. */
static hn_dim window_extent(hn_syms *s, const hn_window_attrs_axis *a) {
    return hn_dim_add_i(s, hn_dim_mul_i(s, hn_dim_add_i(s, a->kernel, -1), a->dilation), 1);
}

/* floor((padded - extent) / stride) + 1, or ceil; negative where the window is larger than the
 * padded input. With ceil_mode a last window that would start in the end padding is dropped: opset
 * 22 says so, and runtimes always did. False: a number does not fit. */
static bool count_positions(const hn_window_attrs *w, const hn_window_attrs_axis *a, int64_t in,
                            int64_t extent, int64_t *out) {
    int64_t reach, free_elems;
    if (!hn_add_i64(in, a->pad_begin, &reach) || !hn_add_i64(reach, a->pad_end, &free_elems) ||
        !hn_sub_i64(free_elems, extent, &free_elems))
        return false;
    int64_t moves = hn_floor_div(free_elems, a->stride);
    if (w->ceil_mode && hn_floor_mod(free_elems, a->stride) != 0)
        moves++;
    if (w->ceil_mode && moves > hn_floor_div(reach - 1, a->stride))
        moves--;
    return hn_add_i64(moves, 1, out);
}

int64_t hn_window_attrs_positions(const hn_window_attrs *w, int32_t axis, int64_t in) {
    const hn_window_attrs_axis *a = &w->axes[axis];
    int64_t n;
    if (!count_positions(w, a, in, (a->kernel - 1) * a->dilation + 1, &n))
        return 0;
    return HN_MAX(n, 0);
}

int64_t hn_auto_pad_begin(hn_auto_pad mode, int64_t total) {
    total = HN_MAX(total, 0);
    return mode == HN_PAD_SAME_UPPER ? total / 2 : total - total / 2;
}

/* The same over symbols, with one more stride added first so that no constant goes negative. A
 * window can start in the end padding only when that and the stride together exceed its extent;
 * then what counts is where windows start. */
static hn_dim symbolic_positions(hn_syms *s, const hn_window_attrs *w,
                                 const hn_window_attrs_axis *a, hn_dim in, hn_dim extent) {
    hn_dim reach = hn_dim_add_i(s, in, a->pad_begin);
    hn_dim free_elems = hn_dim_add_i(s, hn_dim_add_i(s, reach, a->pad_end), a->stride);
    free_elems = hn_dim_sub(s, free_elems, extent);
    if (!w->ceil_mode)
        return hn_dim_floor_div(s, free_elems, a->stride);
    if (!hn_dim_is_known(extent) || a->pad_end >= extent)
        return HN_DIM_UNKNOWN;
    bool fits = a->pad_end <= extent - a->stride;
    return hn_dim_ceil_div(s, fits ? free_elems : reach, a->stride);
}

hone_status hn_window_attrs_out(hn_infer *c, const hn_window_attrs *w, int32_t axis, hn_dim in,
                                hn_dim *out) {
    hn_syms *s = hn_infer_syms(c);
    const hn_window_attrs_axis *a = &w->axes[axis];
    if (hn_pads_same(w)) {
        *out = hn_dim_ceil_div(s, in, a->stride);
        return HONE_OK;
    }
    hn_dim extent = window_extent(s, a);
    if (!hn_dim_is_known(in) || !hn_dim_is_known(extent)) {
        *out = symbolic_positions(s, w, a, in, extent);
        return HONE_OK;
    }
    int64_t n;
    if (!count_positions(w, a, in, extent, &n))
        return hn_infer_fail(c, HONE_E_SHAPE, "pads along spatial axis %d are too large", axis);
    if (n < 0 && in > 0)
        return hn_infer_fail(
            c, HONE_E_SHAPE,
            "the window spans %lld elements along spatial axis %d, but the input %s "
            "has only %lld there with its padding of %lld and %lld",
            (long long)extent, axis, hn_in_text(c, 0), (long long)in, (long long)a->pad_begin,
            (long long)a->pad_end);
    *out = HN_MAX(n, 0);
    return HONE_OK;
}

/* SAME removes the overlap of the windows. */
static hn_dim same_overlap(hn_syms *s, const hn_window_attrs_axis *a, hn_dim extent) {
    if (!hn_dim_is_known(extent))
        return hn_dim_max(s, hn_dim_sub(s, extent, a->stride), 0);
    return HN_MAX(extent - a->stride, 0);
}

hone_status hn_window_attrs_cover(hn_infer *c, const hn_window_attrs *w, int32_t axis, hn_dim in,
                                  int64_t extra, hn_dim *out) {
    hn_syms *s = hn_infer_syms(c);
    const hn_window_attrs_axis *a = &w->axes[axis];
    hn_dim extent = window_extent(s, a);
    hn_dim taken = hn_dim_add_i(s, hn_dim_add_i(s, a->pad_begin, a->pad_end), a->stride);
    if (hn_pads_same(w))
        taken = hn_dim_add_i(s, same_overlap(s, a, extent), a->stride);
    hn_dim full = hn_dim_add_i(s, hn_dim_add(s, hn_dim_mul_i(s, in, a->stride), extent), extra);
    *out = hn_dim_sub(s, full, taken);
    if (hn_dim_is_known(full) && hn_dim_is_known(taken) && full < taken)
        return hn_infer_fail(c, HONE_E_SHAPE,
                             "padding removes more elements than spatial axis %d has: input "
                             "%s lacks %lld elements",
                             axis, hn_in_text(c, 0), (long long)(taken - full));
    return HONE_OK;
}

/* ---- operation counts ------------------------------------------------------------------------ */

bool hn_macs_times(uint64_t *macs, int32_t n, const hn_dim *dims) {
    for (int32_t i = 0; i < n; i++)
        if (!hn_dim_is_known(dims[i]) || !hn_mul_u64(*macs, (uint64_t)dims[i], macs))
            return false;
    return true;
}
