/* Sizes of convolutions and pools, and jobs of such sizes. */
#include "kern/kern.h"

#include <math.h>

const kern_conv_case kern_conv_cases[KERN_CONV_CASES] = {
    {1, {17}, {3}, {1}, {1}, {{1}, {1}}, 1, 5, 7, 1},
    {1, {40}, {5}, {3}, {2}, {{0}, {4}}, 2, 6, 4, 2},
    {1, {9}, {4}, {1}, {1}, {{3}, {0}}, 1, 6, 12, 6},
    {2, {7, 7}, {1, 1}, {1, 1}, {1, 1}, {{0}, {0}}, 1, 33, 15, 1},
    {2, {8, 9}, {1, 1}, {2, 2}, {1, 1}, {{0}, {0}}, 2, 20, 16, 1},
    {2, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 31, 29, 1},
    {2, {15, 13}, {3, 3}, {2, 2}, {1, 1}, {{1, 1}, {1, 1}}, 1, 16, 14, 1},
    {2, {15, 16}, {3, 3}, {2, 2}, {1, 1}, {{0, 0}, {1, 1}}, 1, 8, 6, 1},
    {2, {30, 31}, {7, 7}, {2, 2}, {1, 1}, {{3, 3}, {3, 3}}, 1, 3, 16, 1},
    {2, {11, 40}, {3, 5}, {1, 2}, {2, 3}, {{2, 1}, {0, 5}}, 1, 4, 9, 1},
    {2, {9, 9}, {3, 3}, {1, 1}, {3, 3}, {{3, 3}, {3, 3}}, 2, 6, 6, 3},
    {2, {5, 5}, {5, 5}, {1, 1}, {1, 1}, {{0}, {0}}, 1, 7, 40, 1},
    {2, {2, 3}, {3, 3}, {1, 1}, {1, 1}, {{2, 4}, {3, 4}}, 1, 5, 4, 1},
    {2, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 12, 12, 12},
    {2, {28, 27}, {3, 3}, {2, 2}, {1, 1}, {{1, 1}, {1, 1}}, 2, 5, 5, 5},
    {2, {29, 31}, {5, 5}, {2, 3}, {1, 2}, {{2, 4}, {2, 0}}, 1, 3, 6, 3},
    {2, {150, 150}, {3, 3}, {1, 1}, {1, 1}, {{1, 1}, {1, 1}}, 1, 2, 2, 2},
    {2, {6, 6}, {2, 2}, {17, 1}, {1, 1}, {{0}, {0}}, 1, 4, 4, 4},
    {2, {13, 13}, {13, 13}, {1, 1}, {1, 1}, {{6, 6}, {6, 6}}, 1, 2, 2, 2},
    {3, {5, 6, 7}, {3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {{1, 0, 1}, {1, 1, 0}}, 1, 4, 6, 1},
    {3, {4, 4, 4}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {{1, 1, 1}, {1, 1, 1}}, 2, 4, 8, 4},
    {3, {6, 5, 18}, {1, 1, 1}, {2, 1, 2}, {1, 1, 1}, {{0}, {0}}, 1, 9, 9, 1},
};

hn_window kern_window(const kern_conv_case *t) {
    hn_window s = {.n_axes = t->n_axes, .in_elems = 1, .out_elems = 1, .kernel_elems = 1};
    for (int32_t a = 0; a < t->n_axes; a++) {
        int64_t room =
            t->in[a] + t->pads[0][a] + t->pads[1][a] - (t->kernel[a] - 1) * t->dilation[a] - 1;
        s.in[a] = t->in[a];
        s.kernel[a] = t->kernel[a];
        s.stride[a] = t->stride[a];
        s.dilation[a] = t->dilation[a];
        s.pad[a] = t->pads[0][a];
        s.out[a] = room < 0 ? 0 : room / t->stride[a] + 1;
        s.in_elems *= s.in[a];
        s.kernel_elems *= s.kernel[a];
        s.out_elems *= s.out[a];
    }
    return s;
}

int64_t kern_window_at(const hn_window *s, int64_t out, int64_t tap) {
    int64_t at[KERN_AXES], taps[KERN_AXES], flat = 0;
    hn_window_split(s->n_axes, s->out, out, at);
    hn_window_split(s->n_axes, s->kernel, tap, taps);
    for (int32_t a = 0; a < s->n_axes; a++) {
        int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return -1;
        flat = flat * s->in[a] + i;
    }
    return flat;
}

kern_conv_case kern_random_case(void) {
    kern_conv_case t = {.n_axes = (int32_t)kern_between(1, KERN_AXES),
                        .batch = kern_between(1, 2),
                        .groups = kern_between(1, 3)};
    t.channels = t.groups * kern_between(1, 4);
    t.filters = t.groups * kern_between(1, 17);
    for (int32_t a = 0; a < t.n_axes; a++) {
        t.in[a] = kern_between(1, t.n_axes == 3 ? 7 : 20);
        t.kernel[a] = kern_between(1, 4);
        t.stride[a] = kern_between(1, 3);
        t.dilation[a] = kern_between(1, 3);
        t.pads[0][a] = kern_between(0, 3);
        t.pads[1][a] = kern_between(0, 3);
    }
    return t;
}

/* ---- jobs ---- */

void kern_line(const float *xs, float *ys, uint64_t n, float a, float b) {
    for (uint64_t i = 0; i < n; i++)
        ys[i] = a * xs[i] + b;
}

hn_epilogue_f32 kern_epilogue(int form, int64_t n_out) {
    return (hn_epilogue_f32){.residual = form & KERN_RESIDUAL ? kern_floats(n_out) : NULL,
                             .is_limited = form & KERN_LIMITS,
                             .least = -0.75f,
                             .most = 0.5f,
                             .unary = form & KERN_UNARY ? kern_line : NULL,
                             .a = -0.75f,
                             .b = 0.5f};
}

void kern_epilogue_exact(const hn_epilogue_f32 *e, int64_t at, double *sum, double *size) {
    if (!e)
        return;
    if (e->residual) {
        *sum += e->residual[at];
        *size += fabs((double)e->residual[at]);
    }
    if (e->is_limited)
        *sum = fmin(fmax(*sum, e->least), e->most);
    if (e->unary) {
        *sum = *sum * e->a + e->b;
        *size = *size * fabs((double)e->a) + fabs((double)e->b);
    }
}

hn_conv_nhwc_job kern_conv_nhwc_job(const kern_conv_case *t, const hn_window *s, int form,
                                    const hn_epilogue_f32 *epilogue) {
    int64_t depth = t->channels / t->groups * s->kernel_elems;
    hn_conv_nhwc_job job = {.window = s,
                            .batch = t->batch,
                            .channels = t->channels,
                            .filters = t->filters,
                            .groups = t->groups,
                            .x = kern_floats(t->batch * t->channels * s->in_elems),
                            .w = kern_floats(t->filters * depth),
                            .epilogue = *epilogue};
    job.epilogue.col_bias = form & KERN_BIAS ? kern_floats(t->filters) : NULL;
    return job;
}

/* Half of the bytes are the extremes of either sign, where sums grow fastest. */
uint8_t *kern_hostile_bytes(int64_t n) {
    static const uint8_t extremes[] = {0x00, 0xFF, 0x80, 0x7F};
    uint8_t *bytes = kern_bytes(n);
    int kind = (int)kern_between(0, 5); /* all the same, or mixed */
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = kern_random();
        bytes[i] = kind < 4 ? extremes[kind] : r & 1 ? extremes[r >> 1 & 3] : (uint8_t)(r >> 8);
    }
    return bytes;
}
