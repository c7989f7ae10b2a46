/* Decodes further image formats with the libraries that the build found: WebP, GIF and TIFF. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

#ifdef HONE_HAVE_WEBP
#  include <webp/decode.h>
#endif
#ifdef HONE_HAVE_GIF
#  include <gif_lib.h>
#endif
#ifdef HONE_HAVE_TIFF
#  include <pthread.h>

#  include <tiffio.h>
#endif

#if !defined(HONE_HAVE_WEBP) || !defined(HONE_HAVE_GIF) || !defined(HONE_HAVE_TIFF)
static bool refuse_format(const char *path, const char *format, const char *library,
                          hone_error *error) {
    return cli_refuse(error,
                      "'%s' is a %s file, and this hone was built without %s; convert it to PNG or "
                      "JPEG",
                      path, format, library);
}
#endif

/* ---- WebP ------------------------------------------------------------------------------------ */

#ifdef HONE_HAVE_WEBP
/* Transparent pixels are drawn on black, as those of PNG files. */
bool cli_webp_decode(const cli_buffer *file, const char *path, cli_image *image,
                     hone_error *error) {
    int width, height;
    if (!WebPGetInfo(file->at, file->n, &width, &height))
        return cli_refuse(error, "'%s' is not a valid WebP file: its header is damaged", path);
    if (!cli_image_reserve(image, (uint64_t)width, (uint64_t)height, path, error))
        return false;
    uint8_t *rgba = WebPDecodeRGBA(file->at, file->n, &width, &height);
    for (size_t i = 0; rgba && i < (size_t)width * (size_t)height; i++)
        for (size_t c = 0; c < 3; c++)
            image->rgb[3 * i + c] =
                (unsigned char)((rgba[4 * i + c] * rgba[4 * i + 3] + 127) / 255);
    WebPFree(rgba);
    if (rgba)
        return true;
    cli_image_free(image);
    return cli_refuse(error, "'%s' is not a valid WebP file, or an animation", path);
}
#else
bool cli_webp_decode(const cli_buffer *file, const char *path, cli_image *image,
                     hone_error *error) {
    (void)file;
    (void)image;
    return refuse_format(path, "WebP", "libwebp", error);
}
#endif

/* ---- GIF ------------------------------------------------------------------------------------- */

#ifdef HONE_HAVE_GIF
typedef struct gif_source {
    const cli_buffer *file;
    size_t at;
} gif_source;

static int read_gif_bytes(GifFileType *gif, GifByteType *out, int n) {
    gif_source *s = gif->UserData;
    size_t left = s->file->n - s->at, wanted = (size_t)n < left ? (size_t)n : left;
    memcpy(out, s->file->at + s->at, wanted);
    s->at += wanted;
    return (int)wanted;
}

/* Moves to the first image; the index of the transparent color is -1 when there is none. */
static bool find_gif_image(GifFileType *gif, int *transparent) {
    GifRecordType type;
    while (DGifGetRecordType(gif, &type) == GIF_OK && type != TERMINATE_RECORD_TYPE) {
        GifByteType *block;
        int code;
        if (type == IMAGE_DESC_RECORD_TYPE)
            return DGifGetImageDesc(gif) == GIF_OK;
        if (type != EXTENSION_RECORD_TYPE || DGifGetExtension(gif, &code, &block) != GIF_OK)
            return false;
        if (code == GRAPHICS_EXT_FUNC_CODE && block && block[0] == 4)
            *transparent = block[1] & 1 ? block[4] : -1;
        while (block)
            if (DGifGetExtensionNext(gif, &block) != GIF_OK)
                return false;
    }
    return false;
}

/* A row of the first image on the canvas, which may be smaller. */
static void draw_gif_row(const GifFileType *gif, const GifPixelType *row, int y, int transparent,
                         cli_image *image) {
    const ColorMapObject *colors = gif->Image.ColorMap ? gif->Image.ColorMap : gif->SColorMap;
    int top = gif->Image.Top + y;
    for (int i = 0; colors && top < image->height && i < gif->Image.Width; i++) {
        int x = gif->Image.Left + i;
        if (x >= image->width || row[i] >= colors->ColorCount || row[i] == transparent)
            continue;
        unsigned char *to = image->rgb + 3 * ((size_t)top * (size_t)image->width + (size_t)x);
        to[0] = colors->Colors[row[i]].Red;
        to[1] = colors->Colors[row[i]].Green;
        to[2] = colors->Colors[row[i]].Blue;
    }
}

static bool draw_gif(GifFileType *gif, int transparent, cli_image *image) {
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    int width = gif->Image.Width, height = gif->Image.Height;
    GifPixelType *row = malloc((size_t)width + 1);
    bool ok = row && width > 0;
    for (int pass = 0; ok && pass < (gif->Image.Interlace ? 4 : 1); pass++)
        for (int y = gif->Image.Interlace ? first[pass] : 0; ok && y < height;
             y += gif->Image.Interlace ? step[pass] : 1) {
            ok = DGifGetLine(gif, row, width) == GIF_OK;
            if (ok)
                draw_gif_row(gif, row, y, transparent, image);
        }
    free(row);
    return ok;
}

/* The first image of an animation. */
bool cli_gif_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error) {
    gif_source source = {.file = file};
    int code = 0, transparent = -1;
    GifFileType *gif = DGifOpen(&source, read_gif_bytes, &code);
    if (!gif)
        return cli_refuse(error, "'%s' is not a valid GIF file: its header is damaged", path);
    bool ok = cli_image_reserve(image, (uint64_t)gif->SWidth, (uint64_t)gif->SHeight, path, error);
    if (ok) {
        memset(image->rgb, 0, (size_t)gif->SWidth * (size_t)gif->SHeight * 3);
        ok = find_gif_image(gif, &transparent) && draw_gif(gif, transparent, image);
        if (!ok) {
            cli_image_free(image);
            cli_refuse(error, "'%s' is not a valid GIF file: it is damaged or truncated", path);
        }
    }
    DGifCloseFile(gif, &code);
    return ok;
}
#else
bool cli_gif_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error) {
    (void)file;
    (void)image;
    return refuse_format(path, "GIF", "giflib", error);
}
#endif

/* ---- TIFF ------------------------------------------------------------------------------------ */

#ifdef HONE_HAVE_TIFF
typedef struct tiff_source {
    const cli_buffer *file;
    toff_t at;
} tiff_source;

static tmsize_t read_tiff_bytes(thandle_t source, void *out, tmsize_t n) {
    tiff_source *s = source;
    toff_t left = s->at < s->file->n ? s->file->n - s->at : 0;
    size_t wanted = (size_t)((toff_t)n < left ? (toff_t)n : left);
    if (wanted)
        memcpy(out, s->file->at + s->at, wanted);
    s->at += wanted;
    return (tmsize_t)wanted;
}

static tmsize_t refuse_tiff_write(thandle_t source, void *data, tmsize_t n) {
    (void)source;
    (void)data;
    (void)n;
    return 0;
}

static toff_t seek_tiff(thandle_t source, toff_t to, int whence) {
    tiff_source *s = source;
    s->at = whence == SEEK_CUR ? s->at + to : whence == SEEK_END ? s->file->n + to : to;
    return s->at;
}

static int close_tiff(thandle_t source) {
    (void)source;
    return 0;
}

static toff_t tiff_bytes(thandle_t source) {
    return ((const tiff_source *)source)->file->n;
}

static void silence_tiff(void) { /* it would print */
    TIFFSetErrorHandler(NULL);
    TIFFSetWarningHandler(NULL);
}

/* The first page. */
bool cli_tiff_decode(const cli_buffer *file, const char *path, cli_image *image,
                     hone_error *error) {
    tiff_source source = {.file = file};
    uint32_t width = 0, height = 0, *pixels = NULL;
    static pthread_once_t silenced = PTHREAD_ONCE_INIT;
    pthread_once(&silenced, silence_tiff);
    TIFF *tiff = TIFFClientOpen(path, "rm", &source, read_tiff_bytes, refuse_tiff_write, seek_tiff,
                                close_tiff, tiff_bytes, NULL, NULL);
    bool ok = tiff && TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width) &&
              TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    if (!ok)
        cli_refuse(error, "'%s' is not a valid TIFF file: its header is damaged", path);
    ok = ok && cli_image_reserve(image, width, height, path, error);
    if (ok) {
        size_t n_pixels = (size_t)width * height;
        pixels = malloc(n_pixels * sizeof *pixels);
        ok = pixels &&
             TIFFReadRGBAImageOriented(tiff, width, height, pixels, ORIENTATION_TOPLEFT, 1);
        for (size_t i = 0; ok && i < n_pixels; i++) {
            image->rgb[3 * i] = (unsigned char)TIFFGetR(pixels[i]);
            image->rgb[3 * i + 1] = (unsigned char)TIFFGetG(pixels[i]);
            image->rgb[3 * i + 2] = (unsigned char)TIFFGetB(pixels[i]);
        }
        if (!ok) {
            cli_image_free(image);
            cli_refuse(error, "'%s' is not a valid TIFF file, or one that libtiff cannot read",
                       path);
        }
    }
    free(pixels);
    if (tiff)
        TIFFClose(tiff);
    return ok;
}
#else
bool cli_tiff_decode(const cli_buffer *file, const char *path, cli_image *image,
                     hone_error *error) {
    (void)file;
    (void)image;
    return refuse_format(path, "TIFF", "libtiff", error);
}
#endif
