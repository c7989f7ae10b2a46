/* Channels last against blocks of 16 channels, on the shapes of convolutions that real networks
 * have.
 *
 * The arithmetic is the same code for both orders, a tile of 12 pixels by 32 filters in registers;
 * only strides differ. What differs in time is therefore the order itself: how many pages, cache
 * lines and banks a tile touches, and what the prefetchers see. Both work on one thread, in turns;
 * the lower quintile of each counts. Build with `cc -O3 -march=native`; see bench/run. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LANES 16
#define PIXELS 12
#define ROUNDS 40

typedef float lanes __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* Where element (pixel, channel) lies: pixel * `pixel` + channel / 16 * `block` + channel % 16. */
typedef struct order {
    int64_t pixel, block;
} order;

/* A map of width x height pixels and the convolution over it; `filters` is 0 for depthwise ones. */
typedef struct shape {
    const char *where;
    int64_t side, channels, filters, kernel;
} shape;

static const shape shapes[] = {
    {"mobilenet_v3, expand", 112, 16, 64, 1},      {"mobilenet_v2, expand", 56, 32, 160, 1},
    {"resnet50, layer1 reduce", 56, 256, 64, 1},   {"resnet50, layer1 widen", 56, 64, 256, 1},
    {"resnet50, layer2 widen", 28, 128, 512, 1},   {"resnet50, layer3 reduce", 14, 1024, 256, 1},
    {"resnet50, layer3 widen", 14, 256, 1024, 1},  {"mobilenet_v3, project", 14, 480, 96, 1},
    {"resnet50, layer4 reduce", 7, 2048, 512, 1},  {"mobilenet_v3, late expand", 7, 160, 960, 1},
    {"resnet18, layer1", 56, 64, 64, 3},           {"resnet18, layer2", 28, 128, 128, 3},
    {"resnet18, layer3", 14, 256, 256, 3},         {"resnet18, layer4", 7, 512, 512, 3},
    {"mobilenet_v3, depthwise", 112, 64, 0, 3},    {"efficientnet_b0, depthwise", 56, 144, 0, 3},
    {"efficientnet_b0, depthwise", 28, 240, 0, 5}, {"mobilenet_v3, depthwise", 14, 480, 0, 3},
};

typedef struct problem {
    const shape *of;
    int64_t in_side; /* with the border that the kernel reads */
    order in, out;
    const float *x, *w; /* w: [filters / 32][tap][channels][32], or [channels / 16][tap][16] */
    float *y;
} problem;

static lanes splat(float value) {
    return value - (lanes){0};
}

/* `pixels` neighbours by 32 filters: y = sum over taps and channels. */
static inline __attribute__((always_inline)) void tile(const problem *p, int pixels, const float *x,
                                                       const float *w, float *y) {
    const shape *of = p->of;
    lanes sum[PIXELS][2] = {0};
    for (int64_t tap = 0; tap < of->kernel * of->kernel; tap++) {
        const float *at = x + (tap / of->kernel * p->in_side + tap % of->kernel) * p->in.pixel;
        for (int64_t c = 0; c < of->channels; c += LANES, at += p->in.block) {
            for (int lane = 0; lane < LANES; lane++, w += 2 * LANES) {
                lanes left = *(const lanes *)w, right = *(const lanes *)(w + LANES);
#pragma GCC unroll 12
                for (int i = 0; i < pixels; i++) {
                    lanes value = splat(at[i * p->in.pixel + lane]);
                    sum[i][0] += value * left;
                    sum[i][1] += value * right;
                }
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < pixels; i++) {
        *(lanes *)(y + i * p->out.pixel) = sum[i][0];
        *(lanes *)(y + i * p->out.pixel + p->out.block) = sum[i][1];
    }
}

static void tile_of(const problem *p, int64_t pixels, const float *x, const float *w, float *y) {
    switch (pixels) {
    case 12:
        tile(p, 12, x, w, y);
        break;
    case 11:
        tile(p, 11, x, w, y);
        break;
    case 10:
        tile(p, 10, x, w, y);
        break;
    case 9:
        tile(p, 9, x, w, y);
        break;
    case 8:
        tile(p, 8, x, w, y);
        break;
    case 7:
        tile(p, 7, x, w, y);
        break;
    case 6:
        tile(p, 6, x, w, y);
        break;
    case 5:
        tile(p, 5, x, w, y);
        break;
    case 4:
        tile(p, 4, x, w, y);
        break;
    case 3:
        tile(p, 3, x, w, y);
        break;
    case 2:
        tile(p, 2, x, w, y);
        break;
    default:
        tile(p, 1, x, w, y);
        break;
    }
}

/* Runs of pixels go by the filters of one panel after the other: weights come from the second
 * cache, pixels stay in the first. Maps without a border are one long row. */
static void convolve(const problem *p) {
    const shape *of = p->of;
    int64_t rows = of->kernel == 1 ? 1 : of->side,
            row = of->kernel == 1 ? of->side * of->side : of->side;
    int64_t n_tiles = (row + PIXELS - 1) / PIXELS, run = of->kernel == 1 ? 8 : n_tiles;
    int64_t panel = of->kernel * of->kernel * of->channels * 2 * LANES;
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t t0 = 0; t0 < n_tiles; t0 += run) {
            for (int64_t f = 0; f < of->filters; f += 2 * LANES) {
                for (int64_t t = t0; t < n_tiles && t < t0 + run; t++) {
                    int64_t from = row * t / n_tiles, to = row * (t + 1) / n_tiles;
                    tile_of(p, to - from, p->x + (r * p->in_side + from) * p->in.pixel,
                            p->w + f / (2 * LANES) * panel,
                            p->y + (r * row + from) * p->out.pixel + f / LANES * p->out.block);
                }
            }
        }
    }
}

/* Row by row; in a row, blocks of 16 channels one after the other, four pixels at a time. */
static void convolve_depthwise(const problem *p) {
    const shape *of = p->of;
    int64_t k = of->kernel;
    for (int64_t r = 0; r < of->side; r++) {
        for (int64_t c = 0; c < of->channels; c += LANES) {
            const float *x = p->x + r * p->in_side * p->in.pixel + c / LANES * p->in.block;
            const float *w = p->w + c * k * k;
            float *y = p->y + r * of->side * p->out.pixel + c / LANES * p->out.block;
            for (int64_t i = 0; i < of->side; i += 4) {
                lanes sum[4] = {0};
                for (int64_t tap = 0; tap < k * k; tap++) {
                    const float *at = x + (tap / k * p->in_side + tap % k + i) * p->in.pixel;
                    lanes weight = *(const lanes *)(w + tap * LANES);
#pragma GCC unroll 4
                    for (int j = 0; j < 4; j++) {
                        sum[j] += weight * *(const lanes *)(at + j * p->in.pixel);
                    }
                }
                for (int64_t j = 0; j < 4 && i + j < of->side; j++) {
                    *(lanes *)(y + (i + j) * p->out.pixel) = sum[j];
                }
            }
        }
    }
}

static double seconds_of(const problem *p) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (p->of->filters) {
        convolve(p);
    } else {
        convolve_depthwise(p);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

static float *floats(int64_t n) {
    /* Slack: the last four pixels of a row of depthwise ones are read whole. */
    size_t bytes = (size_t)(n + 64 * LANES) * sizeof(float);
    float *made = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!made) {
        fprintf(stderr, "layouts: out of memory\n");
        exit(1);
    }
    for (int64_t i = 0; i < n + 64 * LANES; i++) {
        made[i] = (float)(i * 7919 % 97) / 97 - 0.5f;
    }
    return made;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Results of both orders must agree, or their times say nothing. */
static void must_agree(const problem *p, const problem *q, int64_t pixels, int64_t filters) {
    for (int64_t i = 0; i < pixels * filters; i++) {
        int64_t pixel = i / filters, c = i % filters, block = c / LANES, lane = c % LANES;
        if (p->y[pixel * p->out.pixel + block * p->out.block + lane] !=
            q->y[pixel * q->out.pixel + block * q->out.block + lane]) {
            fprintf(stderr, "layouts: %s: the two orders disagree\n", p->of->where);
            exit(1);
        }
    }
}

static float *in_order(const float *last, order to, int64_t pixels, int64_t channels) {
    float *made = floats(pixels * channels);
    for (int64_t i = 0; i < pixels * channels; i++) {
        int64_t pixel = i / channels, c = i % channels;
        made[pixel * to.pixel + c / LANES * to.block + c % LANES] = last[i];
    }
    return made;
}

static void compare(const shape *of, double *last_seconds, double *blocked_seconds) {
    int64_t in_side = of->side + of->kernel - 1, in_pixels = in_side * in_side;
    int64_t pixels = of->side * of->side, filters = of->filters ? of->filters : of->channels;
    problem last = {
        .of = of, .in_side = in_side, .in = {of->channels, LANES}, .out = {filters, LANES}};
    problem blocked = last;
    blocked.in = (order){LANES, in_pixels * LANES};
    blocked.out = (order){LANES, pixels * LANES};
    int64_t taps = of->kernel * of->kernel;
    last.w = blocked.w = floats(taps * of->channels * (of->filters ? of->filters : 1));
    last.x = floats(in_pixels * of->channels);
    blocked.x = in_order(last.x, blocked.in, in_pixels, of->channels);
    last.y = floats(pixels * filters);
    blocked.y = floats(pixels * filters);
    double a[ROUNDS], b[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        a[i] = seconds_of(&last);
        b[i] = seconds_of(&blocked);
    }
    must_agree(&last, &blocked, pixels, filters);
    qsort(a, ROUNDS, sizeof(a[0]), ascending);
    qsort(b, ROUNDS, sizeof(b[0]), ascending);
    *last_seconds = a[ROUNDS / 5];
    *blocked_seconds = b[ROUNDS / 5];
    free((void *)(uintptr_t)last.x);
    free((void *)(uintptr_t)blocked.x);
    free((void *)(uintptr_t)last.w);
    free(last.y);
    free(blocked.y);
}

int main(void) {
    double sum_last = 0, sum_blocked = 0;
    puts("| convolution | map | channels | filters | kernel | channels last, GFLOP/s | blocks of "
         "16 | channels last is |\n"
         "|---|---:|---:|---:|---:|---:|---:|---:|");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        const shape *of = &shapes[i];
        double last, blocked;
        compare(of, &last, &blocked);
        double flop = 2e-9 *
                      (double)(of->side * of->side * of->channels * of->kernel * of->kernel) *
                      (double)(of->filters ? of->filters : 1);
        printf("| %s | %d x %d | %d | %d | %d x %d | %.0f | %.0f | %.2f x |\n", of->where,
               (int)of->side, (int)of->side, (int)of->channels, (int)of->filters, (int)of->kernel,
               (int)of->kernel, flop / last, flop / blocked, blocked / last);
        sum_last += last;
        sum_blocked += blocked;
    }
    printf("\nall of them: channels last is %.2f x as fast\n", sum_blocked / sum_last);
    return 0;
}
