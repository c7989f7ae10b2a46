/* Decodes image formats with a short header and plain pixels: uncompressed BMP, and PNM. */
#include "cli_value.h"

#include <string.h>

/* ---- BMP ------------------------------------------------------------------------------------- */

enum { BMP_HEADER_BYTES = 54, BMP_MASKS_BYTES = 12, BMP_PLAIN = 0, BMP_MASKS = 3 };

typedef struct bmp_layout {
    uint64_t width, height;
    bool is_top_down;
    size_t pixels_at, pixel_bytes;
    uint64_t row_bytes; /* a multiple of 4 */
} bmp_layout;

/* Blue, green, red and an optional fourth byte, or masks with that meaning. */
static bool has_plain_pixels(const cli_buffer *file) {
    static const unsigned char masks[BMP_MASKS_BYTES] = {0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0};
    uint64_t n_bits = cli_number_at(file->at + 28, 2), method = cli_number_at(file->at + 30, 4);
    if (method == BMP_MASKS && n_bits == 32)
        return file->n >= BMP_HEADER_BYTES + BMP_MASKS_BYTES &&
               memcmp(file->at + BMP_HEADER_BYTES, masks, sizeof masks) == 0;
    return method == BMP_PLAIN && (n_bits == 24 || n_bits == 32);
}

static bool read_bmp_layout(const cli_buffer *file, const char *path, bmp_layout *l,
                            hone_error *error) {
    if (file->n < BMP_HEADER_BYTES || cli_number_at(file->at + 14, 4) < 40)
        return cli_refuse(error, "'%s' is not a valid BMP file: its header is incomplete", path);
    if (!has_plain_pixels(file))
        return cli_refuse(
            error, "'%s' is a BMP file of an unsupported kind: save it with 24 bits per pixel",
            path);
    int32_t height = (int32_t)cli_number_at(file->at + 22, 4);
    l->width = cli_number_at(file->at + 18, 4);
    l->height = (uint64_t)(height < 0 ? -(int64_t)height : height);
    l->is_top_down = height < 0;
    l->pixels_at = (size_t)cli_number_at(file->at + 10, 4);
    l->pixel_bytes = (size_t)cli_number_at(file->at + 28, 2) / 8;
    l->row_bytes = (l->width * l->pixel_bytes + 3) / 4 * 4;
    if (l->pixels_at > file->n ||
        (l->row_bytes && l->height > (file->n - l->pixels_at) / l->row_bytes))
        return cli_refuse(error, "'%s' is not a valid BMP file: it is truncated", path);
    return true;
}

bool cli_bmp_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error) {
    bmp_layout l = {0};
    if (!read_bmp_layout(file, path, &l, error) ||
        !cli_image_reserve(image, l.width, l.height, path, error))
        return false;
    unsigned char *to = image->rgb;
    for (size_t row = 0; row < l.height; row++) {
        size_t stored_row = l.is_top_down ? row : (size_t)l.height - 1 - row;
        const unsigned char *from = file->at + l.pixels_at + stored_row * (size_t)l.row_bytes;
        for (size_t x = 0; x < l.width; x++, to += 3, from += l.pixel_bytes) {
            to[0] = from[2];
            to[1] = from[1];
            to[2] = from[0];
        }
    }
    return true;
}

/* ---- PNM ------------------------------------------------------------------------------------- */

enum { PNM_LARGEST_NUMBER = 1 << 28 };

typedef struct pnm_reader {
    const unsigned char *at, *end;
    bool is_text;   /* P2, P3 */
    bool is_gray;   /* P2, P5 */
    bool has_ended; /* or something other than a number follows */
    uint32_t largest_sample;
} pnm_reader;

static bool is_pnm_space(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_pnm_space(pnm_reader *r) {
    bool in_comment = false;
    for (; r->at < r->end && (in_comment || *r->at == '#' || is_pnm_space(*r->at)); r->at++) {
        if (*r->at == '\n' || *r->at == '\r')
            in_comment = false;
        else if (*r->at == '#')
            in_comment = true;
    }
}

static uint32_t read_pnm_number(pnm_reader *r) {
    uint32_t v = 0;
    skip_pnm_space(r);
    const unsigned char *begin = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9' && v < PNM_LARGEST_NUMBER; r->at++)
        v = v * 10 + (uint32_t)(*r->at - '0');
    r->has_ended |= r->at == begin;
    return v;
}

/* Binary samples of more than 8 bits have two bytes, big-endian. */
static size_t pnm_sample_bytes(const pnm_reader *r) {
    return !r->is_text && r->largest_sample > 255 ? 2 : 1;
}

static unsigned char read_pnm_sample(pnm_reader *r) {
    uint32_t v = 0;
    if (r->is_text) {
        v = read_pnm_number(r);
    } else {
        for (size_t i = 0; i < pnm_sample_bytes(r); i++)
            v = v << 8 | *r->at++;
    }
    if (v > r->largest_sample)
        v = r->largest_sample;
    return (unsigned char)((v * 255 + r->largest_sample / 2) / r->largest_sample);
}

static void read_pnm_pixels(pnm_reader *r, cli_image *image) {
    size_t n_pixels = (size_t)image->width * (size_t)image->height;
    for (size_t i = 0; i < n_pixels && !r->has_ended; i++) {
        unsigned char *to = image->rgb + 3 * i;
        to[0] = read_pnm_sample(r);
        to[1] = r->is_gray ? to[0] : read_pnm_sample(r);
        to[2] = r->is_gray ? to[0] : read_pnm_sample(r);
    }
}

bool cli_pnm_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error) {
    pnm_reader r = {.at = file->at + 2, .end = file->at + file->n};
    r.is_text = file->at[1] < '4';
    r.is_gray = file->at[1] == '2' || file->at[1] == '5';
    uint64_t width = read_pnm_number(&r), height = read_pnm_number(&r);
    r.largest_sample = read_pnm_number(&r);
    if (r.has_ended || r.largest_sample < 1 || r.largest_sample > 65535 || r.at == r.end ||
        !is_pnm_space(*r.at++))
        return cli_refuse(error, "'%s' is not a valid PNM file: its header is incomplete", path);
    uint64_t pixel_bytes = (r.is_gray ? 1 : 3) * pnm_sample_bytes(&r);
    if (width && height > (uint64_t)(r.end - r.at) / pixel_bytes / width)
        return cli_refuse(error, "'%s' is not a valid PNM file: it is truncated", path);
    if (!cli_image_reserve(image, width, height, path, error))
        return false;
    read_pnm_pixels(&r, image);
    if (!r.has_ended)
        return true;
    cli_image_free(image);
    return cli_refuse(error, "'%s' is not a valid PNM file: samples are missing", path);
}
