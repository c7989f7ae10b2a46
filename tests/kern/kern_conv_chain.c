/* Chains of channels-last convolutions have the same bytes as the convolutions one by one. */
#include "kern/kern.h"

#include "cpu/kernels/conv_chain/conv_chain.h"

/* A chain and what its convolutions are made of. */
typedef struct chain_case {
    int n;
    int64_t batch, in[2], channels;
    hn_window windows[HN_CONV_CHAIN_MOST];
    hn_conv_nhwc_job stages[HN_CONV_CHAIN_MOST];
} chain_case;

static void twice_and_shift(const float *xs, float *ys, uint64_t n, float a, float b) {
    for (uint64_t i = 0; i < n; i++)
        ys[i] = 2 * xs[i] * a + b;
}

/* Windows that need not fit the map, as long as there is an output. */
static void random_windows(chain_case *t, int i, bool is_dense) {
    hn_window *s = &t->windows[i];
    const hn_window *before = i > 0 ? &t->windows[i - 1] : NULL;
    const int64_t *in = before ? before->out + before->n_axes - 2 : t->in;
    *s = (hn_window){.n_axes = 2, .in_elems = 1, .out_elems = 1, .kernel_elems = 1};
    bool is_point = is_dense && kern_between(0, 2) > 0;
    for (int a = 0; a < 2; a++) {
        s->in[a] = in[a];
        s->kernel[a] = is_point ? 1 : kern_between(1, 5);
        s->stride[a] = is_point ? 1 : kern_between(1, 3);
        s->dilation[a] = kern_between(0, 3) ? 1 : 2;
        s->pad[a] = is_point ? 0 : kern_between(0, 3);
        int64_t extent = (s->kernel[a] - 1) * s->dilation[a] + 1;
        int64_t padded = in[a] + s->pad[a] + (is_point ? 0 : kern_between(0, 3));
        s->out[a] = padded < extent ? 1 : (padded - extent) / s->stride[a] + 1;
        s->in_elems *= s->in[a];
        s->out_elems *= s->out[a];
        s->kernel_elems *= s->kernel[a];
    }
}

/* Channels as planes behind each other, which windows cover from the first to the last. */
static void turn_into_planes(chain_case *t) {
    hn_window flat = t->windows[0], *s = &t->windows[0];
    s->n_axes = 3;
    s->in[0] = s->kernel[0] = t->channels;
    s->out[0] = s->stride[0] = s->dilation[0] = 1;
    s->pad[0] = 0;
    for (int a = 0; a < 2; a++) {
        s->in[a + 1] = flat.in[a];
        s->out[a + 1] = flat.out[a];
        s->kernel[a + 1] = flat.kernel[a];
        s->stride[a + 1] = flat.stride[a];
        s->dilation[a + 1] = flat.dilation[a];
        s->pad[a + 1] = flat.pad[a];
    }
    s->in_elems *= t->channels;
    s->kernel_elems *= t->channels;
    t->channels = 1;
}

static void random_stage(chain_case *t, int i, bool is_dense) {
    hn_conv_nhwc_job *job = &t->stages[i];
    random_windows(t, i, is_dense);
    if (i == 0 && is_dense && t->n > 1 && kern_between(0, 1))
        turn_into_planes(t);
    int64_t channels = i > 0 ? t->stages[i - 1].filters : t->channels;
    *job = (hn_conv_nhwc_job){.window = &t->windows[i], .batch = t->batch, .channels = channels};
    job->groups = is_dense ? 1 : channels;
    job->filters = is_dense ? kern_between(1, 70) : channels * (kern_between(0, 4) ? 1 : 2);
    int64_t n_out = t->batch * job->filters * job->window->out_elems;
    job->w = kern_floats(job->filters * channels / job->groups * job->window->kernel_elems);
    job->method = is_dense ? HN_CONV_NHWC_PRODUCT : HN_CONV_NHWC_DEPTHWISE;
    job->epilogue =
        (hn_epilogue_f32){.col_bias = kern_between(0, 1) ? kern_floats(job->filters) : NULL,
                          .residual = kern_between(0, 2) ? NULL : kern_floats(n_out),
                          .is_limited = kern_between(0, 1) != 0,
                          .least = -0.25f,
                          .most = 0.5f,
                          .unary = kern_between(0, 1) ? twice_and_shift : NULL,
                          .a = -0.25f,
                          .b = 0.5f};
    int64_t packed = hn_conv_nhwc_packed_elems(job);
    if (packed > 0) {
        float *room = kern_floats(packed);
        hn_conv_nhwc_pack(job, room);
        job->packed_w = room;
    }
}

/* Floats of so many pixels, `step` apart. */
static float *kern_pixels(int64_t n, int64_t step, int64_t channels) {
    return kern_floats(n > 0 ? (n - 1) * step + channels : 0);
}

static float *room_for_y(const hn_conv_nhwc_job *job) {
    return kern_pixels(job->batch * job->window->out_elems, hn_conv_nhwc_y_stride(job),
                       job->filters);
}

/* y of each stage is in memory of its own; that of the last is returned. */
static const float *stages_one_by_one(chain_case *t) {
    const float *x = t->stages[0].x;
    for (int i = 0; i < t->n; i++) {
        hn_conv_nhwc_job job = t->stages[i];
        job.x = x;
        job.y = room_for_y(&job);
        job.scratch = kern_floats(hn_conv_nhwc_scratch_elems(&job, KERN_POOLS));
        hn_conv_nhwc_f32(kern_pool(1), &job);
        x = job.y;
    }
    return x;
}

/* The pixels of x, y and the last residual need not lie side by side. */
static void take_steps(chain_case *t) {
    hn_conv_nhwc_job *first = &t->stages[0], *last = &t->stages[t->n - 1];
    int64_t n_out = t->batch * last->window->out_elems;
    first->x_step = kern_between(0, 1) ? t->channels + kern_between(0, 20) : 0;
    last->y_step = kern_between(0, 1) ? last->filters + kern_between(0, 20) : 0;
    if (last->epilogue.residual && kern_between(0, 1)) {
        last->epilogue.residual_stride = last->filters + kern_between(0, 20);
        last->epilogue.residual = kern_pixels(n_out, last->epilogue.residual_stride, last->filters);
    }
    first->x =
        kern_pixels(t->batch * first->window->in_elems, hn_conv_nhwc_x_stride(first), t->channels);
}

static bool has_same_pixels(const hn_conv_nhwc_job *last, const float *want) {
    for (int64_t p = 0; p < last->batch * last->window->out_elems; p++) {
        int64_t at = p * hn_conv_nhwc_y_stride(last);
        if (memcmp(last->y + at, want + at, (size_t)last->filters * sizeof *want) != 0)
            return false;
    }
    return true;
}

static void check_chain(chain_case *t, int index) {
    hn_conv_nhwc_job *last = &t->stages[t->n - 1];
    take_steps(t);
    const float *want = stages_one_by_one(t);
    hn_conv_chain chain = {.n_stages = t->n, .stages = t->stages};
    if (hn_conv_chain_can(&chain))
        for (int i = 0; i < KERN_POOLS; i++) {
            last->y = room_for_y(last);
            chain.scratch =
                kern_floats(hn_conv_chain_scratch_elems(&chain, hn_pool_threads(kern_pool(i))));
            hn_conv_chain_f32(kern_pool(i), &chain);
            KERN_CHECK(has_same_pixels(last, want),
                       "chain %d of %d convolutions over %d x %d differs with %d threads", index,
                       t->n, (int)t->in[0], (int)t->in[1], i + 1);
        }
    kern_release();
}

static void check_random_chain(int index) {
    bool is_dense = kern_between(0, 1);
    if (kern_leaves_out())
        return;
    chain_case t = {.n = (int)kern_between(1, HN_CONV_CHAIN_MOST),
                    .batch = kern_between(1, 3),
                    .in = {kern_between(1, 60), kern_between(1, 20)},
                    .channels = kern_between(1, 40)};
    for (int i = 0; i < t.n; i++, is_dense = !is_dense)
        random_stage(&t, i, is_dense);
    check_chain(&t, index);
}

/* Rows that are so large that steps have few of them; many images; none. */
static void check_chain_sizes(void) {
    static const int64_t sizes[][4] = {{1, 30, 61, 16}, {7, 9, 8, 3}, {0, 8, 8, 4}, {1, 33, 1, 33}};
    for (size_t i = 0; i < HN_COUNT(sizes); i++) {
        chain_case t = {.n = 3,
                        .batch = sizes[i][0],
                        .in = {sizes[i][1], sizes[i][2]},
                        .channels = sizes[i][3]};
        for (int k = 0; k < t.n; k++)
            random_stage(&t, k, k != 1);
        check_chain(&t, 1000 + (int)i);
    }
}

static void check_chain_choice(void) {
    hn_window point = {.n_axes = 2,
                       .in = {56, 56},
                       .out = {56, 56},
                       .kernel = {1, 1},
                       .stride = {1, 1},
                       .dilation = {1, 1},
                       .in_elems = 56 * 56,
                       .kernel_elems = 1};
    hn_window window = point;
    window.kernel[0] = window.kernel[1] = 3;
    hn_conv_nhwc_job stages[2] = {
        {.window = &point, .batch = 1, .channels = 24, .filters = 144, .groups = 1},
        {.window = &window, .batch = 1, .channels = 144, .filters = 144, .groups = 144}};
    hn_conv_chain chain = {.n_stages = 2, .stages = stages};
    KERN_CHECK(!hn_conv_chain_can(&chain), "a chain without packed filters");
    KERN_CHECK(hn_conv_chain_pays(&chain, 1) && hn_conv_chain_pays(&chain, 8), "a large map");
    KERN_CHECK(!hn_conv_chain_pays(&chain, 9), "bands would be too low");
    stages[0].channels = 2048;
    KERN_CHECK(hn_conv_chain_pays(&chain, 1) && !hn_conv_chain_pays(&chain, 2), "rows made twice");
    stages[0].channels = 24;
    stages[0].filters = stages[1].channels = stages[1].groups = 16;
    KERN_CHECK(!hn_conv_chain_pays(&chain, 1), "a small map");
    KERN_CHECK(hn_conv_chain_pays(&chain, 2), "a small map, two threads");
    stages[0].batch = stages[1].batch = 9;
    KERN_CHECK(hn_conv_chain_pays(&chain, 1), "many small maps");
}

void kern_test_conv_chain(void) {
    for (int i = 0; i < 300; i++)
        check_random_chain(i);
    check_chain_sizes();
    check_chain_choice();
}
