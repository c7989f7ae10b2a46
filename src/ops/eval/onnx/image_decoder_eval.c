/* ImageDecoder: the program decodes, the library puts the pixels into the wanted format. */
#include "ops/eval/eval_int.h"

typedef struct decoded_image {
    hn_eval *c;
    bool is_gray;
    hn_array *y;
    uint8_t *rgb; /* the output itself, or scratch for gray images */
} decoded_image;

/* A hone_image_alloc_fn. */
static unsigned char *reserve_pixels(void *image, uint64_t height, uint64_t width) {
    decoded_image *d = image;
    uint64_t n_pixels, n_bytes;
    if (d->rgb || !height || !width || !hn_mul_u64(height, width, &n_pixels) ||
        !hn_mul_u64(n_pixels, 3, &n_bytes) || n_bytes > INT64_MAX)
        return NULL;
    int64_t dims[] = {(int64_t)height, (int64_t)width, d->is_gray ? 1 : 3};
    if (hn_ret_alloc(d->c, 0, HN_U8, 3, dims, &d->y) != HONE_OK)
        return NULL;
    d->rgb = d->is_gray ? hn_eval_scratch(d->c, n_bytes) : d->y->data;
    return d->rgb;
}

static hone_status decode_with_hook(decoded_image *d, const hn_array *encoded) {
    const hn_image_hook hook = hn_eval_image_hook(d->c);
    if (!hook.decode)
        return hn_eval_fail(d->c, HONE_E_UNSUPPORTED,
                            "the program gives no image decoder: set decode_image in the options "
                            "of the session");
    hone_error why;
    hn_error_clear(&why);
    hone_status status =
        hook.decode(hook.ctx, encoded->data, (size_t)encoded->n_elems, reserve_pixels, d, &why);
    if (status != HONE_OK)
        return why.message[0] ? hn_eval_fail(d->c, status, "%s", why.message) : status;
    return d->rgb ? HONE_OK
                  : hn_eval_fail(d->c, HONE_E_INVALID, "the program's image decoder gave no image");
}

static void swap_red_and_blue(uint8_t *pixels, uint64_t n_pixels) {
    for (uint64_t i = 0; i < n_pixels; i++) {
        uint8_t red = pixels[3 * i];
        pixels[3 * i] = pixels[3 * i + 2];
        pixels[3 * i + 2] = red;
    }
}

/* Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, in units of 1/65536 and rounded. */
static void luma_of_pixels(const uint8_t *rgb, uint64_t n_pixels, uint8_t *luma) {
    for (uint64_t i = 0; i < n_pixels; i++) {
        const uint8_t *p = rgb + 3 * i;
        luma[i] = (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
    }
}

static hone_status eval_image_decoder(hn_eval *c) {
    const hn_infer *node = hn_eval_node(c);
    decoded_image d = {.c = c, .is_gray = hn_attr_is(node, "pixel_format", "Grayscale")};
    if (!hn_wants_ret(c, 0))
        return HONE_OK;
    HN_TRY(decode_with_hook(&d, hn_arg(c, 0)));
    uint64_t n_pixels = hn_count(2, d.y->dims);
    if (d.is_gray)
        luma_of_pixels(d.rgb, n_pixels, d.y->data);
    else if (hn_attr_is(node, "pixel_format", "BGR"))
        swap_red_and_blue(d.rgb, n_pixels);
    return HONE_OK;
}
const hn_impl hn_impl_image_decoder[1] = {{.eval = eval_image_decoder, .runs_alone = true}};
