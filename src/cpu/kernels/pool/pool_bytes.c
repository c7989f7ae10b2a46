/* Pools of channels-last bytes, a block of channels of one output at a time. Loops over the
 * channels of a block are plain C that compilers turn into vectors: signed bytes are made unsigned
 * by their highest bit, sums are 16 bits wide as long as they fit. */
#include "cpu/kernels/pool/pool_bytes.h"

#include "cpu/kernels/simd/simd_bytes16.h"

enum {
    BLOCK_CHANNELS = 64,
    MOST_SHORT_SUMS = 256,
    POOL_BYTES_GRAIN = 1 << 15,
    MOST_POOL_TAPS = 32
};

typedef struct byte_window {
    const hn_pool_bytes_job *job;
    const uint8_t *image; /* channel 0 of the block, of the first pixel */
    const int64_t *at;    /* the output */
    int n_channels;
    uint8_t flip;
    int64_t x_step;
} byte_window;

/* Elements of a window that follow each other along the innermost axis. */
typedef struct pixel_line {
    const uint8_t *x;
    int64_t n, step;
} pixel_line;

/* Those inside the input for the elements `taps` of the outer axes; none in the padding. */
static pixel_line window_line_inside(const byte_window *w, const int64_t *taps) {
    const hn_window *s = w->job->window;
    int32_t last = s->n_axes - 1;
    int64_t pixel = 0;
    if (last < 0)
        return (pixel_line){w->image, 1, 0};
    for (int32_t a = 0; a < last; a++) {
        int64_t i = w->at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return (pixel_line){.n = 0};
        pixel = pixel * s->in[a] + i;
    }
    int64_t first = w->at[last] * s->stride[last] - s->pad[last], by = s->dilation[last];
    int64_t begin = first < 0 ? (by - 1 - first) / by : 0;
    int64_t end = first < s->in[last] ? (s->in[last] - first + by - 1) / by : 0;
    int64_t n = HN_MIN(end, s->kernel[last]) - begin;
    if (n <= 0)
        return (pixel_line){.n = 0};
    return (pixel_line){w->image + (pixel * s->in[last] + first + begin * by) * w->x_step, n,
                        by * w->x_step};
}

/* Lines of a window: all elements of the outer axes. Windows over empty maps have none. */
static int64_t n_window_lines(const hn_window *s) {
    if (s->kernel_elems == 0)
        return 0;
    return s->n_axes > 0 ? s->kernel_elems / s->kernel[s->n_axes - 1] : 1;
}

/* Those that a window does not have are not touched: this is done once for each output. */
static void begin_taps(const hn_window *s, int64_t *taps) {
    for (int32_t a = 0; a < s->n_axes; a++)
        taps[a] = 0;
}

static inline uint8_t larger_byte(uint8_t a, uint8_t b) {
    return a > b ? a : b;
}

/* Parameters by value, and loops of known length for whole blocks, so that vectors are used. */
static inline void max_pixels(pixel_line line, int n, uint8_t flip, uint8_t *restrict most) {
    for (; line.n > 0; line.n--, line.x += line.step)
        for (int i = 0; i < n; i++)
            most[i] = larger_byte(most[i], line.x[i] ^ flip);
}

static void max_line(const byte_window *w, pixel_line line, uint8_t *most) {
    if (w->n_channels == BLOCK_CHANNELS)
        max_pixels(line, BLOCK_CHANNELS, w->flip, most);
    else
        max_pixels(line, w->n_channels, w->flip, most);
}

/* ---- windows inside the input ---- */

/* Where the elements of a window lie, from the first one on; more than MOST_POOL_TAPS: not used. */
typedef struct window_taps {
    int64_t n, at[MOST_POOL_TAPS];
} window_taps;

static void find_window_taps(const hn_window *s, int64_t x_step, window_taps *out) {
    int64_t taps[HN_MAX_SPATIAL];
    out->n = s->kernel_elems > 0 && s->kernel_elems <= MOST_POOL_TAPS ? s->kernel_elems : 0;
    begin_taps(s, taps);
    for (int64_t t = 0; t < out->n; t++, hn_window_step(s->n_axes, s->kernel, taps)) {
        int64_t pixel = 0;
        for (int32_t a = 0; a < s->n_axes; a++)
            pixel = pixel * s->in[a] + taps[a] * s->dilation[a];
        out->at[t] = pixel * x_step;
    }
}

/* The first pixel of a window that lies inside the input; NULL: it does not. */
static const uint8_t *window_inside(const byte_window *w) {
    const hn_window *s = w->job->window;
    int64_t pixel = 0;
    for (int32_t a = 0; a < s->n_axes; a++) {
        int64_t i = w->at[a] * s->stride[a] - s->pad[a];
        if (i < 0 || i + (s->kernel[a] - 1) * s->dilation[a] >= s->in[a])
            return NULL;
        pixel = pixel * s->in[a] + i;
    }
    return w->image + pixel * w->x_step;
}

/* The largest of n bytes at each of the taps, in registers where vectors fit. */
static void max_taps(const uint8_t *x, const window_taps *taps, int n, uint8_t flip, uint8_t *y) {
    int i = 0;
#if B16_ELEMS
    const B16 flips = B16_SET1(flip);
    for (; i < n && n >= B16_ELEMS; i += B16_ELEMS) {
        int at = HN_MIN(i, n - B16_ELEMS); /* the last ones overlap those before */
        B16 most = B16_XOR(B16_LOAD(x + at), flips);
        for (int64_t t = 1; t < taps->n; t++)
            most = B16_MAX(most, B16_XOR(B16_LOAD(x + taps->at[t] + at), flips));
        B16_STORE(y + at, B16_XOR(most, flips));
    }
#endif
    for (; i < n; i++) {
        uint8_t most = x[i] ^ flip;
        for (int64_t t = 1; t < taps->n; t++)
            most = larger_byte(most, x[taps->at[t] + i] ^ flip);
        y[i] = most ^ flip;
    }
}

static bool max_window_inside(const byte_window *w, const window_taps *taps, uint8_t *y) {
    const uint8_t *x = taps->n > 0 ? window_inside(w) : NULL;
    if (x)
        max_taps(x, taps, w->n_channels, w->flip, y);
    return x != NULL;
}

/* ---- all windows ---- */

static void max_window(const byte_window *w, uint8_t *y) {
    const hn_window *s = w->job->window;
    uint8_t most[BLOCK_CHANNELS] = {0};
    int64_t taps[HN_MAX_SPATIAL];
    begin_taps(s, taps);
    for (int64_t t = n_window_lines(s); t > 0; t--, hn_window_step(s->n_axes - 1, s->kernel, taps))
        max_line(w, window_line_inside(w, taps), most);
    for (int i = 0; i < w->n_channels; i++)
        y[i] = most[i] ^ w->flip;
}

/* ---- averages -------------------------------------------------------------------------------- */

static void flush_short_sums(uint16_t *part, int64_t *sums) {
    for (int i = 0; i < BLOCK_CHANNELS; i++) {
        sums[i] += part[i];
        part[i] = 0;
    }
}

static inline void sum_pixels(pixel_line line, int n, uint8_t flip, uint16_t *restrict part) {
    for (; line.n > 0; line.n--, line.x += line.step)
        for (int i = 0; i < n; i++)
            part[i] = (uint16_t)(part[i] + (line.x[i] ^ flip));
}

/* At most MOST_SHORT_SUMS pixels. */
static void sum_line(const byte_window *w, pixel_line line, uint16_t *part) {
    if (w->n_channels == BLOCK_CHANNELS)
        sum_pixels(line, BLOCK_CHANNELS, w->flip, part);
    else
        sum_pixels(line, w->n_channels, w->flip, part);
}

/* Returns how many elements of the window lie inside. */
static int64_t sum_window(const byte_window *w, int64_t *sums) {
    const hn_window *s = w->job->window;
    uint16_t part[BLOCK_CHANNELS] = {0};
    int64_t taps[HN_MAX_SPATIAL], n_all = 0, n_short = 0;
    begin_taps(s, taps);
    for (int64_t t = n_window_lines(s); t > 0;
         t--, hn_window_step(s->n_axes - 1, s->kernel, taps)) {
        pixel_line line = window_line_inside(w, taps), piece = line;
        for (int64_t left = line.n; left > 0; left -= piece.n, piece.x += piece.n * line.step) {
            if (n_short == MOST_SHORT_SUMS) {
                flush_short_sums(part, sums);
                n_short = 0;
            }
            piece.n = HN_MIN(left, MOST_SHORT_SUMS - n_short);
            sum_line(w, piece, part);
            n_short += piece.n;
        }
        n_all += line.n;
    }
    flush_short_sums(part, sums);
    return n_all;
}

/* Elements of the window that count, padding included. */
static int64_t padded_elems(const byte_window *w) {
    const hn_window *s = w->job->window;
    int64_t n = 1;
    for (int32_t a = 0; a < s->n_axes; a++) {
        int64_t first = w->at[a] * s->stride[a] - s->pad[a];
        n *= HN_MAX(HN_MIN(first + s->kernel[a], s->in[a] + w->job->pad_end[a]) - first, 0);
    }
    return n;
}

static void average_window(const byte_window *w, uint8_t *y) {
    const hn_pool_bytes_job *job = w->job;
    int64_t sums[BLOCK_CHANNELS] = {0};
    int64_t n = sum_window(w, sums), counted = job->pad_end ? padded_elems(w) : n;
    int64_t from = n * (job->x_zero + w->flip);
    float by = job->scale / (float)HN_MAX(counted, 1);
    float least = job->is_signed ? -128.0f : 0.0f;
    for (int i = 0; i < w->n_channels; i++) {
        float v = hn_round_even((float)(sums[i] - from) * by) + (float)job->y_zero;
        v = v > least ? v : least;
        y[i] = (uint8_t)(int32_t)(v < least + 255 ? v : least + 255);
    }
}

/* ---- all outputs ----------------------------------------------------------------------------- */

static void pool_byte_blocks(void *ctx, int64_t begin, int64_t end) {
    const hn_pool_bytes_job *job = ctx;
    const hn_window *s = job->window;
    int64_t n_blocks = (job->channels + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    int64_t x_step = job->x_step ? job->x_step : job->channels,
            y_step = job->y_step ? job->y_step : job->channels;
    int64_t at[HN_MAX_SPATIAL], out = begin / n_blocks, block = begin % n_blocks;
    int64_t image = out / s->out_elems, next_image = (image + 1) * s->out_elems;
    window_taps taps;
    find_window_taps(s, x_step, &taps);
    hn_window_split(s->n_axes, s->out, out % s->out_elems, at);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = block * BLOCK_CHANNELS;
        byte_window w = {.job = job,
                         .at = at,
                         .image = job->x + image * s->in_elems * x_step + first,
                         .x_step = x_step,
                         .n_channels = (int)HN_MIN(job->channels - first, BLOCK_CHANNELS),
                         .flip = job->is_signed ? 0x80 : 0};
        uint8_t *y = job->y + out * y_step + first;
        if (job->is_average)
            average_window(&w, y);
        else if (!max_window_inside(&w, &taps, y))
            max_window(&w, y);
        if (++block < n_blocks)
            continue;
        block = 0;
        hn_window_step(s->n_axes, s->out, at);
        if (++out == next_image) {
            image++;
            next_image += s->out_elems;
        }
    }
}

void hn_pool_bytes(hn_pool *pool, const hn_pool_bytes_job *job) {
    const hn_window *s = job->window;
    int64_t n_blocks = (job->channels + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    int64_t grain = HN_MAX(POOL_BYTES_GRAIN / (BLOCK_CHANNELS * HN_MAX(s->kernel_elems, 1)), 1);
    hn_pool_for(pool, job->batch * s->out_elems * n_blocks, grain, pool_byte_blocks,
                (void *)(uintptr_t)job);
}
