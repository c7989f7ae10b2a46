/* Converts an image to the input tensor of a model. */
#include "cli_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RESIZED_SIDE 65536

/* ---- resizing -------------------------------------------------------------------------------- */

/* One direction of a resize: the source pixels of each line that contribute to a new pixel. Lines
 * are `line_stride` bytes apart, their pixels `step` bytes. */
typedef struct resize_pass {
    int from, to, n_lines;
    size_t line_stride_in, line_stride_out, step_in, step_out;
} resize_pass;

/* Bilinear interpolation with antialiasing: the weights are a triangle as wide as the new pixel (or
 * the old one, when enlarging). */
static int triangle_weights(int from, int to, int at, float *weights, int *n_weights) {
    double ratio = (double)from / to, width = ratio > 1 ? ratio : 1, centre = (at + 0.5) * ratio,
           sum = 0;
    int first = (int)(centre - width + 0.5), last = (int)(centre + width + 0.5);
    first = first < 0 ? 0 : first;
    last = last > from ? from : last;
    *n_weights = last - first;
    for (int i = 0; i < *n_weights; i++) {
        double distance = fabs((first + i + 0.5 - centre) / width);
        weights[i] = distance < 1 ? (float)(1 - distance) : 0;
        sum += (double)weights[i];
    }
    for (int i = 0; i < *n_weights; i++)
        weights[i] = (float)((double)weights[i] / sum);
    return first;
}

static bool run_resize_pass(const resize_pass *p, const unsigned char *in, unsigned char *out) {
    float *weights = malloc((2 * ((size_t)p->from / (size_t)p->to + 1) + 3) * sizeof *weights);
    for (int at = 0; weights && at < p->to; at++) {
        int n;
        int first = triangle_weights(p->from, p->to, at, weights, &n);
        for (int line = 0; line < p->n_lines; line++)
            for (size_t c = 0; c < 3; c++) {
                const unsigned char *pixel =
                    in + (size_t)line * p->line_stride_in + (size_t)first * p->step_in + c;
                float sum = 0.5f;
                for (int i = 0; i < n; i++)
                    sum += weights[i] * (float)pixel[(size_t)i * p->step_in];
                out[(size_t)line * p->line_stride_out + (size_t)at * p->step_out + c] =
                    (unsigned char)(sum > 255 ? 255 : sum);
            }
    }
    free(weights);
    return weights != NULL;
}

static bool resize_image(cli_image *image, int width, int height) {
    size_t row_in = (size_t)image->width * 3, row_out = (size_t)width * 3;
    unsigned char *narrow = malloc(row_out * (size_t)image->height),
                  *out = malloc(row_out * (size_t)height);
    resize_pass rows = {image->width, width, image->height, row_in, row_out, 3, 3};
    resize_pass columns = {image->height, height, width, 3, 3, row_out, row_out};
    bool ok = narrow && out && run_resize_pass(&rows, image->rgb, narrow) &&
              run_resize_pass(&columns, narrow, out);
    free(narrow);
    if (!ok) {
        free(out);
        return false;
    }
    free(image->rgb);
    *image = (cli_image){.width = width, .height = height, .rgb = out};
    return true;
}

/* "HxW", or one number: *width is 0 then. */
static bool parse_image_size(const char *text, int *height, int *width) {
    char *end;
    long h = strtol(text, &end, 10), w = 0;
    if (*end == 'x')
        w = strtol(end + 1, &end, 10);
    *height = (int)h;
    *width = (int)w;
    return end != text && *end == '\0' && h > 0 && h < MAX_RESIZED_SIDE && w >= 0 &&
           w < MAX_RESIZED_SIDE;
}

static bool apply_resize(cli_image *image, const char *text, hone_error *error) {
    int height, width;
    if (!parse_image_size(text, &height, &width))
        return cli_refuse(
            error, "--resize %s: write HEIGHTxWIDTH or the length of the shorter side", text);
    if (width == 0) { /* keep the aspect ratio */
        int side = height, shorter = image->width < image->height ? image->width : image->height;
        int64_t w = (int64_t)image->width * side / shorter;
        int64_t h = (int64_t)image->height * side / shorter;
        if (w >= MAX_RESIZED_SIDE || h >= MAX_RESIZED_SIDE)
            return cli_refuse(error, "--resize %s makes the image too long", text);
        width = (int)w;
        height = (int)h;
    }
    return resize_image(image, width, height) ? true : cli_refuse(error, "out of memory");
}

static bool apply_crop(cli_image *image, const char *text, hone_error *error) {
    int height, width;
    if (!parse_image_size(text, &height, &width))
        return cli_refuse(error, "--crop %s: write HEIGHTxWIDTH or one number for a square", text);
    width = width ? width : height;
    if (width > image->width || height > image->height)
        return cli_refuse(error, "--crop %dx%d is larger than the image, which has %dx%d pixels",
                          height, width, image->height, image->width);
    size_t left = (size_t)lrint((image->width - width) / 2.0),
           top = (size_t)lrint((image->height - height) / 2.0);
    for (size_t row = 0; row < (size_t)height; row++)
        memmove(image->rgb + row * (size_t)width * 3,
                image->rgb + ((top + row) * (size_t)image->width + left) * 3, (size_t)width * 3);
    image->width = width;
    image->height = height;
    return true;
}

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct pixel_rule { /* element = (pixel * scale - mean) / std */
    double scale, mean[3], std[3];
    int n_channels, channel_axis;
} pixel_rule;

/* One number for all channels, or one per channel. */
static bool parse_per_channel(const char *option, const char *text, double *out,
                              hone_error *error) {
    int n = text ? cli_parse_numbers(text, 3, out) : 3;
    if (n == 1)
        out[1] = out[2] = out[0];
    return n == 1 || n == 3
               ? true
               : cli_refuse(error, "--%s %s: write one number, or three with commas", option, text);
}

static bool check_divisors(const char *text, const double std[3], hone_error *error) {
    if (std[0] != 0 && std[1] != 0 && std[2] != 0)
        return true;
    return cli_refuse(error, "--std %s: pixels are divided by it, so it cannot be 0", text);
}

static bool is_channel_count(int64_t dim) {
    return dim == 1 || dim == 3;
}

static bool find_channels(const cli_image_options *o, const cli_expect *e, pixel_rule *rule,
                          hone_error *error) {
    if (e->kind != HONE_TYPE_TENSOR || (e->rank != 3 && e->rank != 4))
        return cli_refuse(error, "'%s' is %s: an image needs a tensor of 3 or 4 dimensions",
                          e->name, e->text);
    bool has_first = is_channel_count(e->dims[e->rank - 3]),
         has_last = is_channel_count(e->dims[e->rank - 1]);
    if (o->layout && strcmp(o->layout, "nchw") != 0 && strcmp(o->layout, "nhwc") != 0)
        return cli_refuse(error, "--layout %s: write nchw or nhwc", o->layout);
    if (!o->layout && has_first == has_last)
        return cli_refuse(error, "'%s' is %s: give --layout nchw or --layout nhwc", e->name,
                          e->text);
    bool is_first = o->layout ? strcmp(o->layout, "nchw") == 0 : has_first;
    rule->channel_axis = is_first ? e->rank - 3 : e->rank - 1;
    int64_t n = e->dims[rule->channel_axis];
    rule->n_channels = n < 0 ? 3 : (int)n;
    return n < 0 || is_channel_count(n)
               ? true
               : cli_refuse(error, "'%s' is %s: images have 1 or 3 channels, not %lld", e->name,
                            e->text, (long long)n);
}

static bool read_pixel_rule(const cli_image_options *o, const cli_expect *e, pixel_rule *rule,
                            hone_error *error) {
    *rule = (pixel_rule){.scale = cli_is_float(e->elem_type) ? 1.0 / 255 : 1, .std = {1, 1, 1}};
    if (o->scale && !cli_parse_number(o->scale, &rule->scale))
        return cli_refuse(error, "--scale %s: write a number, for example 1/255", o->scale);
    return parse_per_channel("mean", o->mean, rule->mean, error) &&
           parse_per_channel("std", o->std, rule->std, error) &&
           check_divisors(o->std, rule->std, error) && find_channels(o, e, rule, error);
}

static double pixel_channel(const unsigned char *rgb, int n_channels, int channel) {
    if (n_channels == 3)
        return rgb[channel];
    return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >>
           16; /* luma of ITU-R BT.601 */
}

static void store_pixels(const cli_image *image, const pixel_rule *rule, bool is_last,
                         hone_value *v) {
    size_t n_pixels = (size_t)image->width * (size_t)image->height;
    for (size_t i = 0; i < n_pixels; i++)
        for (int c = 0; c < rule->n_channels; c++) {
            double pixel = pixel_channel(image->rgb + 3 * i, rule->n_channels, c);
            double number = (pixel * rule->scale - rule->mean[c]) / rule->std[c];
            uint64_t at =
                is_last ? i * (size_t)rule->n_channels + (size_t)c : (size_t)c * n_pixels + i;
            hone_value_set_f64(v, at, 1, &number);
        }
}

static bool check_image_size(const cli_image *image, const cli_expect *e, int64_t height,
                             int64_t width, hone_error *error) {
    if ((height < 0 || height == image->height) && (width < 0 || width == image->width))
        return true;
    return cli_refuse(error,
                      "the image has %dx%d pixels, but '%s' is %s: add --resize %lldx%lld, or "
                      "--resize and --crop",
                      image->height, image->width, e->name, e->text, (long long)height,
                      (long long)width);
}

hone_value *cli_image_to_value(cli_image *image, const cli_image_options *o, const cli_expect *e,
                               hone_error *error) {
    pixel_rule rule;
    if (!read_pixel_rule(o, e, &rule, error) ||
        (o->resize && !apply_resize(image, o->resize, error)) ||
        (o->crop && !apply_crop(image, o->crop, error)))
        return NULL;
    bool is_last = rule.channel_axis == e->rank - 1;
    int32_t row_axis = is_last ? e->rank - 3 : e->rank - 2;
    if (!check_image_size(image, e, e->dims[row_axis], e->dims[row_axis + 1], error))
        return NULL;
    int64_t dims[4] = {1, 1, 1, 1};
    dims[row_axis] = image->height;
    dims[row_axis + 1] = image->width;
    dims[rule.channel_axis] = rule.n_channels;
    hone_value *v;
    if (hone_value_create(e->elem_type, e->rank, dims, NULL, &v, error) != HONE_OK)
        return NULL;
    store_pixels(image, &rule, is_last, v);
    return v;
}
