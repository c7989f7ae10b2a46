/* Decodes images to 8-bit RGB: JPEG and PNG with the libraries that the build found. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

#ifdef HONE_HAVE_JPEG
#  include <jpeglib.h>

#  include <jerror.h>
#  include <setjmp.h>
#endif
#ifdef HONE_HAVE_PNG
#  include <png.h>
#endif

#define MAX_IMAGE_PIXELS (UINT64_C(1) << 28)

void cli_image_free(cli_image *image) {
    free(image->rgb);
    *image = (cli_image){0};
}

bool cli_image_reserve(cli_image *image, uint64_t width, uint64_t height, const char *path,
                       hone_error *error) {
    if (width == 0 || height == 0 || width > MAX_IMAGE_PIXELS / height)
        return cli_refuse(error, "'%s': an image of %llux%llu pixels cannot be read", path,
                          (unsigned long long)width, (unsigned long long)height);
    *image = (cli_image){.width = (int)width,
                         .height = (int)height,
                         .rgb = malloc((size_t)width * (size_t)height * 3)};
    return image->rgb ? true : cli_refuse(error, "'%s': out of memory", path);
}

#if defined(HONE_HAVE_JPEG) || defined(HONE_HAVE_PNG)
/* Memory follows the size of the file, not what its header says: deflate expands bytes to 1032,
 * each of up to 8 pixels, and JPEG has no more pixels per byte. */
static bool reserve_compressed(cli_image *image, const cli_buffer *file, uint64_t width,
                               uint64_t height, const char *path, hone_error *error) {
    if (width * height > file->n * 8 * 1032)
        return cli_refuse(error, "'%s' is damaged: %zu bytes do not have %llux%llu pixels", path,
                          file->n, (unsigned long long)width, (unsigned long long)height);
    return cli_image_reserve(image, width, height, path, error);
}
#endif

#ifdef HONE_HAVE_JPEG
typedef struct jpeg_failure {
    struct jpeg_error_mgr base;
    jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
} jpeg_failure;

static void on_jpeg_error(j_common_ptr decoder) {
    jpeg_failure *f = (jpeg_failure *)(void *)decoder->err;
    f->base.format_message(decoder, f->message);
    longjmp(f->escape, 1);
}

/* Extraneous bytes are harmless; a truncated file would be filled with gray. */
static void on_jpeg_warning(j_common_ptr decoder, int level) {
    if (level < 0 && decoder->err->msg_code == JWRN_JPEG_EOF)
        on_jpeg_error(decoder);
}

/* Colors of cyan, magenta, yellow and black without a profile. Files of Adobe have them inverted.
 */
static void mix_inks(const JSAMPLE *inks, size_t n, bool are_inverted, unsigned char *rgb) {
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) {
            unsigned ink = inks[4 * i + c], black = inks[4 * i + 3];
            unsigned light = are_inverted ? ink * black : (255 - ink) * (255 - black);
            rgb[3 * i + c] = (unsigned char)((light + 127) / 255);
        }
}

/* All data that is live across longjmp is behind pointers. */
static bool decode_jpeg(const cli_buffer *file, const char *path, cli_image *image,
                        hone_error *error) {
    struct jpeg_decompress_struct decoder;
    jpeg_failure failure;
    decoder.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = on_jpeg_error;
    failure.base.emit_message = on_jpeg_warning;
    if (setjmp(failure.escape)) {
        jpeg_destroy_decompress(&decoder);
        cli_image_free(image);
        return cli_refuse(error, "'%s' is not a valid JPEG file: %s", path, failure.message);
    }
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, file->at, (unsigned long)file->n);
    jpeg_read_header(&decoder, TRUE);
    bool is_cmyk = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
    decoder.out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
    bool ok =
        reserve_compressed(image, file, decoder.image_width, decoder.image_height, path, error);
    if (ok) {
        jpeg_start_decompress(&decoder);
        JSAMPARRAY inks = !is_cmyk ? NULL
                                   : decoder.mem->alloc_sarray((j_common_ptr)&decoder, JPOOL_IMAGE,
                                                               4 * decoder.output_width, 1);
        while (decoder.output_scanline < decoder.output_height) {
            JSAMPROW row = image->rgb + (size_t)decoder.output_scanline * (size_t)image->width * 3;
            jpeg_read_scanlines(&decoder, is_cmyk ? inks : &row, 1);
            if (is_cmyk)
                mix_inks(inks[0], decoder.output_width, decoder.saw_Adobe_marker, row);
        }
        jpeg_finish_decompress(&decoder);
    }
    jpeg_destroy_decompress(&decoder);
    return ok;
}
#else
static bool decode_jpeg(const cli_buffer *file, const char *path, cli_image *image,
                        hone_error *error) {
    (void)file;
    (void)image;
    return cli_refuse(error, "'%s' is a JPEG file, and this hone was built without libjpeg", path);
}
#endif

#ifdef HONE_HAVE_PNG
static bool decode_png(const cli_buffer *file, const char *path, cli_image *image,
                       hone_error *error) {
    png_image png = {.version = PNG_IMAGE_VERSION};
    bool ok = png_image_begin_read_from_memory(&png, file->at, file->n) != 0;
    if (ok) {
        png.format = PNG_FORMAT_RGB;
        ok = reserve_compressed(image, file, png.width, png.height, path, error);
        png_color black = {0, 0, 0}; /* the background of transparent pixels */
        if (ok && !png_image_finish_read(&png, &black, image->rgb, 0, NULL)) {
            cli_image_free(image);
            ok = cli_refuse(error, "'%s' is not a valid PNG file: %s", path, png.message);
        }
    } else {
        cli_refuse(error, "'%s' is not a valid PNG file: %s", path, png.message);
    }
    png_image_free(&png);
    return ok;
}
#else
static bool decode_png(const cli_buffer *file, const char *path, cli_image *image,
                       hone_error *error) {
    (void)file;
    (void)image;
    return cli_refuse(error, "'%s' is a PNG file, and this hone was built without libpng", path);
}
#endif

/* ---- by format ------------------------------------------------------------------------------- */

typedef bool (*image_decoder_fn)(const cli_buffer *file, const char *path, cli_image *image,
                                 hone_error *error);

static image_decoder_fn find_image_decoder(const cli_buffer *file) {
    static const struct {
        const char *magic;
        size_t n;
        image_decoder_fn decode;
    } formats[] = {
        {"\x89PNG", 4, decode_png},    {"\xff\xd8\xff", 3, decode_jpeg},
        {"BM", 2, cli_bmp_decode},     {"P2", 2, cli_pnm_decode},
        {"P3", 2, cli_pnm_decode},     {"P5", 2, cli_pnm_decode},
        {"P6", 2, cli_pnm_decode},     {"GIF8", 4, cli_gif_decode},
        {"II*\0", 4, cli_tiff_decode}, {"MM\0*", 4, cli_tiff_decode},
    };
    if (file->n >= 12 && memcmp(file->at, "RIFF", 4) == 0 && memcmp(file->at + 8, "WEBP", 4) == 0)
        return cli_webp_decode;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t n = formats[i].n;
        if (file->n >= n && memcmp(file->at, formats[i].magic, n) == 0)
            return formats[i].decode;
    }
    return NULL;
}

bool cli_is_image(const cli_buffer *file) {
    return find_image_decoder(file) != NULL;
}

bool cli_image_decode(const cli_buffer *file, const char *path, cli_image *image,
                      hone_error *error) {
    *image = (cli_image){0};
    image_decoder_fn decode = find_image_decoder(file);
    return decode ? decode(file, path, image, error)
                  : cli_refuse(error, "'%s' is not a JPEG, PNG, WebP, GIF, TIFF, BMP or PNM image",
                               path);
}

hone_status cli_decode_image(void *ctx, const void *encoded, size_t n_bytes,
                             hone_image_alloc_fn alloc, void *image, hone_error *error) {
    const cli_buffer file = {.at = (unsigned char *)(uintptr_t)encoded, .n = n_bytes};
    cli_image decoded;
    (void)ctx;
    if (!cli_image_decode(&file, "encoded_stream", &decoded, error))
        return HONE_E_INVALID;
    unsigned char *pixels = alloc(image, (uint64_t)decoded.height, (uint64_t)decoded.width);
    if (pixels)
        memcpy(pixels, decoded.rgb, (size_t)decoded.height * (size_t)decoded.width * 3);
    cli_image_free(&decoded);
    return pixels ? HONE_OK : HONE_E_NOMEM;
}
