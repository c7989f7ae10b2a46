/* Converts an image to the input tensor of a model. */
#include "cli_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RESIZED_SIDE 65536

/* ---- resizing -------------------------------------------------------------------------------- */

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

static bool parse_resize(const char *text, int *height, int *width, hone_error *error) {
    return parse_image_size(text, height, width)
               ? true
               : cli_refuse(error,
                            "--resize %s: write HEIGHTxWIDTH or the length of the shorter side",
                            text);
}

static bool parse_crop(const char *text, int *height, int *width, hone_error *error) {
    return parse_image_size(text, height, width)
               ? true
               : cli_refuse(error, "--crop %s: write HEIGHTxWIDTH or one number for a square",
                            text);
}

static bool apply_resize(cli_image *image, const char *text, hone_error *error) {
    int height, width;
    if (!parse_resize(text, &height, &width, error))
        return false;
    if (width == 0) { /* keep the aspect ratio */
        int side = height, shorter = image->width < image->height ? image->width : image->height;
        int64_t w = (int64_t)image->width * side / shorter;
        int64_t h = (int64_t)image->height * side / shorter;
        if (w >= MAX_RESIZED_SIDE || h >= MAX_RESIZED_SIDE)
            return cli_refuse(error, "--resize %s makes the image too long", text);
        width = (int)w;
        height = (int)h;
    }
    return cli_image_resize(image, width, height, error);
}

static bool apply_crop(cli_image *image, const char *text, hone_error *error) {
    int height, width;
    if (!parse_crop(text, &height, &width, error))
        return false;
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

int32_t cli_image_width_axis(const cli_image_options *o, const cli_expect *e, hone_error *error) {
    pixel_rule rule;
    if (!find_channels(o, e, &rule, error))
        return -1;
    return rule.channel_axis == e->rank - 1 ? e->rank - 2 : e->rank - 1;
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

bool cli_image_check(const cli_image_options *o, const cli_expect *e, hone_error *error) {
    pixel_rule rule;
    int height, width;
    return read_pixel_rule(o, e, &rule, error) &&
           (!o->resize || parse_resize(o->resize, &height, &width, error)) &&
           (!o->crop || parse_crop(o->crop, &height, &width, error));
}

static double pixel_channel(const unsigned char *rgb, int n_channels, int channel) {
    if (n_channels == 3)
        return rgb[channel];
    return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >>
           16; /* luma of ITU-R BT.601 */
}

/* Stores row by row: a call for every element would take longer than decoding. */
static bool store_pixels(const cli_image *image, const pixel_rule *rule, bool is_last,
                         hone_value *v) {
    size_t width = (size_t)image->width, height = (size_t)image->height;
    size_t n_channels = (size_t)rule->n_channels, row = is_last ? width * n_channels : width;
    double *numbers = malloc(row * sizeof *numbers);
    for (size_t c = 0; numbers && c < n_channels; c++)
        for (size_t y = 0; y < height && (!is_last || c == 0); y++) {
            for (size_t i = 0; i < row; i++) {
                size_t channel = is_last ? i % n_channels : c, x = is_last ? i / n_channels : i;
                double pixel =
                    pixel_channel(image->rgb + 3 * (y * width + x), rule->n_channels, (int)channel);
                numbers[i] = (pixel * rule->scale - rule->mean[channel]) / rule->std[channel];
            }
            hone_value_set_f64(v, (c * height + y) * row, row, numbers);
        }
    free(numbers);
    return numbers != NULL;
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
    if (store_pixels(image, &rule, is_last, v))
        return v;
    hone_value_free(v);
    cli_refuse(error, "out of memory");
    return NULL;
}
