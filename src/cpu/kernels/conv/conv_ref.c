/* Convolution in plain C, over any number of spatial axes. */
#include "cpu/kernels/conv/conv_int.h"

enum {
    CONV_UNROLL = 8, /* a constant number of steps at a time: compilers turn them into vectors */
    CONV_UNWATCHED = 1 << 16 /* products between looks at the deadline */
};

void hn_window_inside(const hn_window *s, int32_t axis, int64_t tap, int64_t *begin, int64_t *end) {
    int64_t shift = s->pad[axis] - tap * s->dilation[axis]; /* output o reads o * stride - shift */
    int64_t first = shift > 0 ? (shift + s->stride[axis] - 1) / s->stride[axis] : 0;
    int64_t room = s->in[axis] + shift;
    int64_t past = room > 0 ? (room + s->stride[axis] - 1) / s->stride[axis] : 0;
    *end = HN_MIN(past, s->out[axis]);
    *begin = HN_MIN(first, *end);
}

void hn_window_split(int32_t n, const int64_t *sizes, int64_t flat, int64_t *at) {
    for (int32_t a = n - 1; a >= 0; a--) {
        at[a] = flat % sizes[a];
        flat /= sizes[a];
    }
}

int64_t hn_window_line(const hn_window *s, const int64_t *taps, const int64_t *at) {
    int64_t line = 0;
    for (int32_t a = 0; a + 1 < s->n_axes; a++) {
        int64_t i = at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return -1;
        line = line * s->in[a] + i;
    }
    return line * s->in[s->n_axes - 1];
}

void hn_window_step(int32_t n, const int64_t *sizes, int64_t *at) {
    for (int32_t a = n - 1; a >= 0; a--) {
        if (++at[a] < sizes[a])
            return;
        at[a] = 0;
    }
}

#define HN_TEMPLATE "cpu/kernels/conv/conv_tmpl.h"
#define HN_TEMPLATE_INTS
#include "base/each_type_tmpl.h"

/* Types that have nothing faster. */
#define CONV_IS_PLAIN(name, T)                                        \
  void hn_conv_##name(hn_pool *pool, const hn_conv_job_##name *job) { \
    hn_conv_plain_##name(pool, job);                                  \
  }
CONV_IS_PLAIN(f64, double)
CONV_IS_PLAIN(u32, uint32_t)
CONV_IS_PLAIN(u64, uint64_t)
#undef CONV_IS_PLAIN
