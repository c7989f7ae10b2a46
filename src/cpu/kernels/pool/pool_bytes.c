/* Pools of channels-last bytes, a block of channels of one output at a time. Loops over the
 * channels of a block are plain C that compilers turn into vectors: signed bytes are made unsigned
 * by their highest bit, sums are 16 bits wide as long as they fit. */
#include "cpu/kernels/pool/pool_bytes.h"

enum { BLOCK_CHANNELS = 64, MOST_SHORT_SUMS = 256, POOL_BYTES_GRAIN = 1 << 13 };

typedef struct byte_window {
    const hn_pool_bytes_job *job;
    const uint8_t *image; /* channel 0 of the block, of the first pixel */
    int64_t at[HN_MAX_SPATIAL];
    int n_channels;
    uint8_t flip;
    int64_t x_step;
} byte_window;

/* The pixel that a window element reads; NULL: it lies in the padding. */
static const uint8_t *window_pixel(const byte_window *w, const int64_t *taps) {
    const hn_window *s = w->job->window;
    int64_t pixel = 0;
    for (int32_t a = 0; a < s->n_axes; a++) {
        int64_t i = w->at[a] * s->stride[a] - s->pad[a] + taps[a] * s->dilation[a];
        if (i < 0 || i >= s->in[a])
            return NULL;
        pixel = pixel * s->in[a] + i;
    }
    return w->image + pixel * w->x_step;
}

static void max_window(const byte_window *w, uint8_t *y) {
    const hn_window *s = w->job->window;
    uint8_t most[BLOCK_CHANNELS] = {0};
    int64_t taps[HN_MAX_SPATIAL] = {0};
    for (int64_t t = 0; t < s->kernel_elems; t++, hn_window_step(s->n_axes, s->kernel, taps)) {
        const uint8_t *x = window_pixel(w, taps);
        for (int i = 0; x && i < w->n_channels; i++) {
            uint8_t v = x[i] ^ w->flip;
            most[i] = v > most[i] ? v : most[i];
        }
    }
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

/* Returns how many elements of the window lie inside. */
static int64_t sum_window(const byte_window *w, int64_t *sums) {
    const hn_window *s = w->job->window;
    uint16_t part[BLOCK_CHANNELS] = {0};
    int64_t taps[HN_MAX_SPATIAL] = {0}, n = 0;
    for (int64_t t = 0; t < s->kernel_elems; t++, hn_window_step(s->n_axes, s->kernel, taps)) {
        const uint8_t *x = window_pixel(w, taps);
        if (!x)
            continue;
        for (int i = 0; i < w->n_channels; i++)
            part[i] = (uint16_t)(part[i] + (x[i] ^ w->flip));
        if (++n % MOST_SHORT_SUMS == 0)
            flush_short_sums(part, sums);
    }
    flush_short_sums(part, sums);
    return n;
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
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i % n_blocks * BLOCK_CHANNELS, out = i / n_blocks;
        byte_window w = {.job = job,
                         .image = job->x + out / s->out_elems * s->in_elems * x_step + first,
                         .x_step = x_step,
                         .n_channels = (int)HN_MIN(job->channels - first, BLOCK_CHANNELS),
                         .flip = job->is_signed ? 0x80 : 0};
        hn_window_split(s->n_axes, s->out, out % s->out_elems, w.at);
        uint8_t *y = job->y + out * y_step + first;
        if (job->is_average)
            average_window(&w, y);
        else
            max_window(&w, y);
    }
}

void hn_pool_bytes(hn_pool *pool, const hn_pool_bytes_job *job) {
    const hn_window *s = job->window;
    int64_t n_blocks = (job->channels + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
    int64_t grain = HN_MAX(POOL_BYTES_GRAIN / (BLOCK_CHANNELS * HN_MAX(s->kernel_elems, 1)), 1);
    hn_pool_for(pool, job->batch * s->out_elems * n_blocks, grain, pool_byte_blocks,
                (void *)(uintptr_t)job);
}
