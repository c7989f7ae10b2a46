/* Resizes images: bilinear with antialiasing, with the weights and the rounding of Pillow's
 * Image.resize, which torchvision's transforms call. */
#include "cli_value.h"

#include <math.h>
#include <stdlib.h>

enum { WEIGHT_BITS = 22 }; /* a weighted sum of bytes fits into 32 bits */

/* The source pixels of each new pixel in one direction, with their weights. */
typedef struct resize_weights {
    int n_new, most; /* new pixels; the most source pixels that one has */
    int *firsts, *counts;
    int32_t *weights; /* `most` for each new pixel */
} resize_weights;

static void free_weights(resize_weights *w) {
    free(w->firsts);
    free(w->counts);
    free(w->weights);
}

/* A triangle as wide as the new pixel, or the old one when enlarging. */
static void triangle_weights(int from, int to, int at, resize_weights *w, double *sums) {
    double ratio = (double)from / to, width = ratio < 1 ? 1 : ratio, centre = (at + 0.5) * ratio,
           sum = 0;
    int first = (int)(centre - width + 0.5), last = (int)(centre + width + 0.5);
    first = first < 0 ? 0 : first;
    last = last > from ? from : last;
    for (int i = 0; i < last - first; i++) {
        double distance = fabs((first + i - centre + 0.5) * (1 / width));
        sums[i] = distance < 1 ? 1 - distance : 0;
        sum += sums[i];
    }
    for (int i = 0; i < last - first; i++)
        w->weights[(size_t)at * (size_t)w->most + (size_t)i] =
            (int32_t)(0.5 + sums[i] / sum * (1 << WEIGHT_BITS));
    w->firsts[at] = first;
    w->counts[at] = last - first;
}

static bool make_weights(int from, int to, resize_weights *w) {
    double ratio = (double)from / to;
    int most = (int)ceil(ratio < 1 ? 1 : ratio) * 2 + 1;
    size_t n = (size_t)to;
    double *sums = malloc((size_t)most * sizeof *sums);
    *w = (resize_weights){.n_new = to,
                          .most = most,
                          .firsts = malloc(n * sizeof *w->firsts),
                          .counts = malloc(n * sizeof *w->counts),
                          .weights = calloc(n * (size_t)most, sizeof *w->weights)};
    bool ok = sums && w->firsts && w->counts && w->weights;
    for (int at = 0; ok && at < to; at++)
        triangle_weights(from, to, at, w, sums);
    free(sums);
    if (!ok)
        free_weights(w);
    return ok;
}

static unsigned char rounded_pixel(int32_t sum) {
    int32_t pixel = sum >> WEIGHT_BITS;
    return (unsigned char)(pixel < 0 ? 0 : pixel > 255 ? 255 : pixel);
}

static void resize_row(const resize_weights *w, const unsigned char *in, unsigned char *out) {
    for (int at = 0; at < w->n_new; at++) {
        const int32_t *weights = w->weights + (size_t)at * (size_t)w->most;
        const unsigned char *pixel = in + (size_t)w->firsts[at] * 3;
        int32_t sums[3] = {1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1), 1 << (WEIGHT_BITS - 1)};
        for (int i = 0; i < w->counts[at]; i++)
            for (size_t c = 0; c < 3; c++)
                sums[c] += weights[i] * pixel[3 * (size_t)i + c];
        for (size_t c = 0; c < 3; c++)
            *out++ = rounded_pixel(sums[c]);
    }
}

/* Row `at` of the result from the rows of an image that has its width. */
static void join_rows(const resize_weights *w, int at, const unsigned char *in, size_t row_bytes,
                      unsigned char *out) {
    const int32_t *weights = w->weights + (size_t)at * (size_t)w->most;
    const unsigned char *first = in + (size_t)w->firsts[at] * row_bytes;
    for (size_t x = 0; x < row_bytes; x++) {
        int32_t sum = 1 << (WEIGHT_BITS - 1);
        for (int i = 0; i < w->counts[at]; i++)
            sum += weights[i] * first[(size_t)i * row_bytes + x];
        out[x] = rounded_pixel(sum);
    }
}

static bool resize_width(cli_image *image, int width, hone_error *error) {
    resize_weights w;
    cli_image out;
    if (!cli_image_reserve(&out, (uint64_t)width, (uint64_t)image->height, "--resize", error))
        return false;
    if (!make_weights(image->width, width, &w)) {
        cli_image_free(&out);
        return cli_refuse(error, "out of memory");
    }
    for (size_t y = 0; y < (size_t)image->height; y++)
        resize_row(&w, image->rgb + y * (size_t)image->width * 3, out.rgb + y * (size_t)width * 3);
    free_weights(&w);
    cli_image_free(image);
    *image = out;
    return true;
}

static bool resize_height(cli_image *image, int height, hone_error *error) {
    resize_weights w;
    cli_image out;
    size_t row_bytes = (size_t)image->width * 3;
    if (!cli_image_reserve(&out, (uint64_t)image->width, (uint64_t)height, "--resize", error))
        return false;
    if (!make_weights(image->height, height, &w)) {
        cli_image_free(&out);
        return cli_refuse(error, "out of memory");
    }
    for (int y = 0; y < height; y++)
        join_rows(&w, y, image->rgb, row_bytes, out.rgb + (size_t)y * row_bytes);
    free_weights(&w);
    cli_image_free(image);
    *image = out;
    return true;
}

bool cli_image_resize(cli_image *image, int width, int height, hone_error *error) {
    return (width == image->width || resize_width(image, width, error)) &&
           (height == image->height || resize_height(image, height, error));
}
