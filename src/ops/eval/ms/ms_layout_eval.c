/* Operators for other memory layouts, computed: data is brought into the plain layout and back. */
#include "ops/eval/ms/ms_eval.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"

/* ---- channels last --------------------------------------------------------------------------- */

static hone_status add_plain(hn_eval *c, hn_array *y, const hn_array *more) {
    return more ? hn_binary_eval(c, hn_binary_find("Add"), y, more, y) : HONE_OK;
}

static hone_status eval_nhwc_conv(hn_eval *c) {
    hn_array *y = hn_ret(c, 0), x, plain, sum;
    const hn_array *more = hn_arg(c, 3);
    int64_t x_dims[HN_MAX_RANK], y_dims[HN_MAX_RANK], sum_dims[HN_MAX_RANK];
    if (!y)
        return HONE_OK;
    HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    HN_TRY(hn_channels_first(c, hn_arg(c, 0), x_dims, &x));
    HN_TRY(hn_channels_first_like(c, y, y->dtype, y_dims, &plain));
    HN_TRY(hn_eval_as(c, hn_eval_conv, 3, (const hn_array *const[]){&x, hn_arg(c, 1), hn_arg(c, 2)},
                      &plain));
    if (more)
        HN_TRY(hn_channels_first(c, more, sum_dims, &sum));
    HN_TRY(add_plain(c, &plain, more ? &sum : NULL));
    HN_TRY(hn_fused_activation(c, &plain));
    return hn_channels_last(c, &plain, y);
}
const hn_impl hn_impl_nhwc_conv[1] = {{.eval = eval_nhwc_conv}};

/* Runs an evaluation whose first argument and result have channels last. */
static hone_status run_channels_last(hn_eval *c, hn_eval_fn fn) {
    hn_array *y = hn_ret(c, 0), x, plain;
    int64_t x_dims[HN_MAX_RANK], y_dims[HN_MAX_RANK];
    const hn_array *args[HN_MAX_INNER_ARGS] = {&x};
    if (!y)
        return HONE_OK;
    for (uint32_t i = 1; i < HN_MAX_INNER_ARGS; i++)
        args[i] = hn_arg(c, i);
    HN_TRY(hn_channels_first(c, hn_arg(c, 0), x_dims, &x));
    HN_TRY(hn_channels_first_like(c, y, y->dtype, y_dims, &plain));
    HN_TRY(hn_eval_as(c, fn, HN_MAX_INNER_ARGS, args, &plain));
    return hn_channels_last(c, &plain, y);
}

static hone_status eval_nhwc_max_pool(hn_eval *c) {
    return run_channels_last(c, hn_eval_max_pool);
}
const hn_impl hn_impl_nhwc_max_pool[1] = {{.eval = eval_nhwc_max_pool}};

static hone_status eval_ms_qlinear_conv(hn_eval *c) {
    bool is_last = hn_attr_i(hn_eval_node(c), "channels_last", 0) != 0;
    return is_last ? run_channels_last(c, hn_eval_qlinear_conv) : hn_eval_qlinear_conv(c);
}
const hn_impl hn_impl_ms_qlinear_conv[1] = {{.eval = eval_ms_qlinear_conv}};

/* ---- blocks of channels ---------------------------------------------------------------------- */

/* onnxruntime lays such models out for the machine that it writes them on; they run on machines of
 * the same kind alone. */
static int64_t block_channels(void) {
#if defined(__aarch64__)
    return 16;
#else
    return hn_cpu_has(HN_CPU_AVX512F) ? 16 : 8;
#endif
}

static int64_t whole_blocks(int64_t channels) {
    int64_t block = block_channels();
    return (channels + block - 1) / block * block;
}

/* Where channel k of place p of an image of blocks stands. */
static int64_t blocked_at(int64_t block, int64_t places, int64_t k, int64_t p) {
    return (k / block * places + p) * block + k % block;
}

/* Blocks [N, C / block, spatial..., block] as [N, channels, spatial...], which may have fewer
 * channels. */
static void unblock(const float *from, int64_t from_channels, int64_t n, int64_t channels,
                    int64_t places, float *to) {
    int64_t block = block_channels();
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < channels; k++)
            for (int64_t p = 0; p < places; p++)
                to[(i * channels + k) * places + p] =
                    from[i * from_channels * places + blocked_at(block, places, k, p)];
}

/* The way back; channels beyond those there are become 0. */
static void block_up(const float *from, int64_t n, int64_t channels, int64_t places,
                     int64_t to_channels, float *to) {
    int64_t block = block_channels();
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < to_channels; k++)
            for (int64_t p = 0; p < places; p++)
                to[i * to_channels * places + blocked_at(block, places, k, p)] =
                    k < channels ? from[(i * channels + k) * places + p] : 0;
}

static int64_t n_places(const hn_array *x) {
    return (int64_t)hn_count(x->rank - 2, x->dims + 2);
}

static hone_status need_whole_blocks(hn_eval *c, const hn_array *x) {
    if (x->rank < 3 || x->dims[1] % block_channels() != 0)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "channels must come in blocks of %lld on this machine; optimize the model on it",
            (long long)block_channels());
    return HONE_OK;
}

/* An argument or a result of blocks, as a plain array. */
static hone_status unblocked_array(hn_eval *c, const hn_array *x, hn_array *out) {
    HN_TRY(need_whole_blocks(c, x));
    HN_TRY(hn_scratch_array(c, HN_F32, x->rank, x->dims, out));
    unblock(x->data, x->dims[1], x->dims[0], x->dims[1], n_places(x), out->data);
    return HONE_OK;
}

/* Filters [O, I, spatial...]: blocks of O stand innermost, and around them blocks of I when the
 * input has such. */
static hone_status unblocked_filter(hn_eval *c, const hn_array *w, bool is_deep, hn_array *out) {
    HN_TRY(hn_scratch_array(c, HN_F32, w->rank, w->dims, out));
    int64_t block = block_channels(), n = w->dims[0], depth = w->dims[1], places = n_places(w),
            inner = is_deep ? block : 1;
    float *to = out->data;
    for (int64_t o = 0; o < n; o++)
        for (int64_t i = 0; i < depth; i++)
            for (int64_t p = 0; p < places; p++) {
                int64_t at = (o / block * (depth / inner) + i / inner) * places + p;
                *to++ = ((const float *)w->data)[(at * inner + i % inner) * block + o % block];
            }
    return HONE_OK;
}

static hone_status eval_nchwc_conv(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0), *w = hn_arg(c, 1), *more = hn_arg(c, 3);
    hn_array *y = hn_ret(c, 0), plain_x, plain_w, plain_y, sum;
    int64_t groups = hn_attr_i(hn_eval_node(c), "group", 1), block = block_channels();
    if (!y)
        return HONE_OK;
    bool is_deep = w->dims[1] >= block, is_plain = !is_deep && groups == 1;
    if (w->dims[0] % block != 0 || (is_deep && w->dims[1] % block != 0) ||
        x->dims[1] != w->dims[1] * groups)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "filters do not fit blocks of %lld channels; optimize the model on this machine",
            (long long)block);
    HN_TRY(hn_want_elems(c, 2, (uint64_t)w->dims[0]));
    HN_TRY(hn_want_dims(c, 3, y->rank, y->dims));
    plain_x = *x;
    if (!is_plain)
        HN_TRY(unblocked_array(c, x, &plain_x));
    HN_TRY(unblocked_filter(c, w, is_deep, &plain_w));
    HN_TRY(hn_scratch_array(c, HN_F32, y->rank, y->dims, &plain_y));
    HN_TRY(hn_eval_as(c, hn_eval_conv, 3,
                      (const hn_array *const[]){&plain_x, &plain_w, hn_arg(c, 2)}, &plain_y));
    if (more)
        HN_TRY(unblocked_array(c, more, &sum));
    HN_TRY(add_plain(c, &plain_y, more ? &sum : NULL));
    HN_TRY(hn_fused_activation(c, &plain_y));
    block_up(plain_y.data, y->dims[0], y->dims[1], n_places(y), y->dims[1], y->data);
    return HONE_OK;
}
const hn_impl hn_impl_nchwc_conv[1] = {{.eval = eval_nchwc_conv}};

static hone_status run_blocked_pool(hn_eval *c, hn_eval_fn pool) {
    hn_array *y = hn_ret(c, 0), x, plain;
    if (!y)
        return HONE_OK;
    HN_TRY(unblocked_array(c, hn_arg(c, 0), &x));
    HN_TRY(hn_scratch_array(c, HN_F32, y->rank, y->dims, &plain));
    HN_TRY(hn_eval_as(c, pool, 1, (const hn_array *const[]){&x}, &plain));
    block_up(plain.data, y->dims[0], y->dims[1], n_places(y), y->dims[1], y->data);
    return HONE_OK;
}

static hone_status eval_nchwc_max_pool(hn_eval *c) {
    return run_blocked_pool(c, hn_eval_max_pool);
}
const hn_impl hn_impl_nchwc_max_pool[1] = {{.eval = eval_nchwc_max_pool}};

static hone_status eval_nchwc_average_pool(hn_eval *c) {
    return run_blocked_pool(c, hn_eval_average_pool);
}
const hn_impl hn_impl_nchwc_average_pool[1] = {{.eval = eval_nchwc_average_pool}};

static hone_status eval_nchwc_global_max_pool(hn_eval *c) {
    return run_blocked_pool(c, hn_eval_global_max_pool);
}
const hn_impl hn_impl_nchwc_global_max_pool[1] = {{.eval = eval_nchwc_global_max_pool}};

static hone_status eval_nchwc_global_average_pool(hn_eval *c) {
    return run_blocked_pool(c, hn_eval_global_average_pool);
}
const hn_impl hn_impl_nchwc_global_average_pool[1] = {{.eval = eval_nchwc_global_average_pool}};

/* ---- in and out of blocks -------------------------------------------------------------------- */

static hone_status eval_nchwc_reorder_input(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array plain = *x, *y;
    int64_t dims[HN_MAX_RANK], plain_dims[HN_MAX_RANK];
    if (hn_attr_i(hn_eval_node(c), "channels_last", 0))
        HN_TRY(hn_channels_first(c, x, plain_dims, &plain));
    memcpy(dims, plain.dims, (size_t)plain.rank * sizeof *dims);
    dims[1] = whole_blocks(plain.dims[1]);
    HN_TRY(hn_ret_alloc(c, 0, HN_F32, plain.rank, dims, &y));
    if (y)
        block_up(plain.data, plain.dims[0], plain.dims[1], n_places(&plain), dims[1], y->data);
    return HONE_OK;
}
const hn_impl hn_impl_nchwc_reorder_input[1] = {{.eval = eval_nchwc_reorder_input}};

static hone_status eval_nchwc_reorder_output(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0), plain;
    int64_t dims[HN_MAX_RANK], channels = hn_attr_i(hn_eval_node(c), "channels", 0);
    if (!y)
        return HONE_OK;
    HN_TRY(need_whole_blocks(c, x));
    if (channels > x->dims[1])
        return hn_eval_fail(c, HONE_E_SHAPE, "channels is %lld, but the input has %lld",
                            (long long)channels, (long long)x->dims[1]);
    bool is_last = hn_attr_i(hn_eval_node(c), "channels_last", 0) != 0;
    plain = *y;
    if (is_last)
        HN_TRY(hn_channels_first_like(c, y, HN_F32, dims, &plain));
    unblock(x->data, x->dims[1], x->dims[0], channels, n_places(x), plain.data);
    return is_last ? hn_channels_last(c, &plain, y) : HONE_OK;
}
const hn_impl hn_impl_nchwc_reorder_output[1] = {{.eval = eval_nchwc_reorder_output}};

/* ---- upsampling ------------------------------------------------------------------------------ */

/* The place between two inputs that output o of n looks at, when the input has `in`. */
static float upsample_place(const hn_infer *node, int64_t o, int64_t in, int64_t n) {
    float scale = (float)n / (float)in;
    if (hn_attr_is(node, "coordinate_transformation_mode", "align_corners"))
        return n > 1 ? (float)o * (float)(in - 1) / (float)(n - 1) : 0;
    if (hn_attr_is(node, "coordinate_transformation_mode", "half_pixel"))
        return fmaxf(((float)o + 0.5f) / scale - 0.5f, 0);
    return (float)o / scale;
}

typedef struct upsample_tap {
    int64_t near, far;
    float share; /* of the far one */
} upsample_tap;

static upsample_tap find_tap(const hn_infer *node, bool is_linear, int64_t o, int64_t in,
                             int64_t n) {
    if (!is_linear)
        return (upsample_tap){o * in / n, o * in / n, 0};
    float place = upsample_place(node, o, in, n);
    int64_t near = HN_MIN((int64_t)place, in - 1);
    return (upsample_tap){near, HN_MIN(near + 1, in - 1), place - (float)near};
}

static hone_status eval_nchwc_upsample(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    bool is_linear = hn_attr_is(node, "mode", "linear");
    int64_t block = block_channels();
    if (!y || y->n_elems == 0)
        return HONE_OK;
    HN_TRY(need_whole_blocks(c, x));
    if (x->rank != 4 || y->dims[0] != x->dims[0] || y->dims[1] != x->dims[1])
        return hn_eval_fail(c, HONE_E_UNSUPPORTED, "only the last two of four axes can be scaled");
    int64_t in_h = x->dims[2], in_w = x->dims[3];
    float *to = y->data;
    for (int64_t i = 0; i < y->dims[0] * y->dims[1] / block * y->dims[2]; i++) {
        const float *image = (const float *)x->data + i / y->dims[2] * in_h * in_w * block;
        upsample_tap row = find_tap(node, is_linear, i % y->dims[2], in_h, y->dims[2]);
        for (int64_t o = 0; o < y->dims[3]; o++) {
            upsample_tap col = find_tap(node, is_linear, o, in_w, y->dims[3]);
            for (int64_t k = 0; k < block; k++) {
                float top = image[(row.near * in_w + col.near) * block + k] * (1 - col.share) +
                            image[(row.near * in_w + col.far) * block + k] * col.share;
                float bottom = image[(row.far * in_w + col.near) * block + k] * (1 - col.share) +
                               image[(row.far * in_w + col.far) * block + k] * col.share;
                *to++ = top * (1 - row.share) + bottom * row.share;
            }
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_nchwc_upsample[1] = {{.eval = eval_nchwc_upsample}};
