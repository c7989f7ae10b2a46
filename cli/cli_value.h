/* Values in the command: reading files and images, generating, summarizing, comparing, writing. */
#ifndef HONE_CLI_VALUE_H
#define HONE_CLI_VALUE_H

#include "cli.h"

#define CLI_MAX_RANK 64

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A growing buffer. A failed allocation is remembered and reported when the buffer is saved. */
typedef struct cli_buffer {
    unsigned char *at;
    size_t n, cap;
    bool failed;
} cli_buffer;
void cli_buffer_add(cli_buffer *b, const void *data, size_t n_bytes);
void cli_buffer_number(cli_buffer *b, uint64_t v, int n_bytes); /* little-endian */
void cli_buffer_printf(cli_buffer *b, const char *fmt, ...);
void cli_buffer_free(cli_buffer *b);
bool cli_file_read(const char *path, cli_buffer *out, hone_error *error);
bool cli_file_write(const char *path, const cli_buffer *b, hone_error *error);
/* Reads a little-endian number. */
uint64_t cli_number_at(const unsigned char *at, int n_bytes);
bool cli_has_suffix(const char *path, const char *suffix); /* ignores case */

/* Sets the message; always returns false, for `return cli_refuse(...)`. */
bool cli_refuse(hone_error *error, const char *fmt, ...);

/* ---- what a model declares ------------------------------------------------------------------- */

typedef struct cli_expect {
    const char *name;
    hone_type_kind kind;
    int32_t elem_type;          /* 0: any */
    int32_t rank;               /* -1: any */
    int64_t dims[CLI_MAX_RANK]; /* -1: any */
    char text[256];             /* "float[batch,3,224,224]" */
} cli_expect;
void cli_expect_init(const hone_graph *g, uint32_t value, cli_expect *e);

/* "float[2,3]" of a value at run time. */
const char *cli_value_text(const hone_value *v, char *text, size_t size);
bool cli_is_float(int32_t elem_type);
/* Element number i as the index of a tensor: "[0,2,5]". */
const char *cli_index_text(const hone_tensor_info *t, uint64_t i, char *text, size_t size);

/* ---- images ---------------------------------------------------------------------------------- */

typedef struct cli_image_options { /* texts of the command line; NULL: not given */
    const char *resize, *crop, *mean, *std, *layout, *scale;
} cli_image_options;

/* The rows of an option table whose struct has a cli_image_options `member`. */
#define CLI_IMAGE_ROW(type, name, member, value, help) \
  { name, 0, CLI_TEXT, offsetof(type, member), value, help }
/* clang-format off */
#define CLI_IMAGE_OPTIONS(type, member)                                                            \
    CLI_IMAGE_ROW(type, "resize", member.resize, "SIZE",                                           \
                  "images: HEIGHTxWIDTH, or the length of the shorter side"),                      \
    CLI_IMAGE_ROW(type, "crop", member.crop, "SIZE",                                               \
                  "images: the middle HEIGHTxWIDTH after resizing"),                               \
    CLI_IMAGE_ROW(type, "scale", member.scale, "NUMBER",                                           \
                  "images: factor of the pixels (default 1/255, for integers 1)"),                 \
    CLI_IMAGE_ROW(type, "mean", member.mean, "R,G,B",                                              \
                  "images: taken off after scaling"),                                              \
    CLI_IMAGE_ROW(type, "std", member.std, "R,G,B",                                                \
                  "images: divisor after that"),                                                   \
    CLI_IMAGE_ROW(type, "layout", member.layout, "nchw|nhwc",                                      \
                  "images: order of the dimensions (default: as the input's shape says)")
/* clang-format on */

typedef struct cli_image { /* 8-bit RGB, rows from top to bottom */
    int width, height;
    unsigned char *rgb;
} cli_image;
bool cli_image_decode(const cli_buffer *file, const char *path, cli_image *image,
                      hone_error *error);
void cli_image_free(cli_image *image);
/* True for a format that cli_image_decode supports. */
bool cli_is_image(const cli_buffer *file);
/* The decoder as a hone_decode_image_fn for sessions; it needs no context. */
hone_status cli_decode_image(void *ctx, const void *encoded, size_t n_bytes,
                             hone_image_alloc_fn alloc, void *image, hone_error *error);

/* Allocates the pixels for a decoder; rejects an image that is too large before allocating. */
bool cli_image_reserve(cli_image *image, uint64_t width, uint64_t height, const char *path,
                       hone_error *error);
/* Decodes formats that need no library; `image` is empty before, and stays empty after an error. */
bool cli_bmp_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error);
bool cli_webp_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error);
bool cli_gif_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error);
bool cli_tiff_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error);
bool cli_pnm_decode(const cli_buffer *file, const char *path, cli_image *image, hone_error *error);
/* The dimension of an input of images that is their width; -1 with the error: it takes none. */
int32_t cli_image_width_axis(const cli_image_options *o, const cli_expect *e, hone_error *error);
/* The options can be understood, and serve this input. False with the error. */
bool cli_image_check(const cli_image_options *o, const cli_expect *e, hone_error *error);
bool cli_image_resize(cli_image *image, int width, int height, hone_error *error);
/* Resizes, crops, scales and normalizes into the tensor that `e` describes. NULL with the error. */
hone_value *cli_image_to_value(cli_image *image, const cli_image_options *o, const cli_expect *e,
                               hone_error *error);

/* ---- files ----------------------------------------------------------------------------------- */

/* Detects the format by content, .pb and raw files by name. is_image may be NULL. */
hone_value *cli_value_read(const char *path, const cli_expect *e, const cli_image_options *o,
                           bool *is_image, hone_error *error);
/* A tensor of numbers as another type. NULL with the error. */
hone_value *cli_value_cast(const hone_value *v, int32_t elem_type, hone_error *error);
/* Joins samples of an input along their first dimension. NULL with the error. */
hone_value *cli_batch(hone_value *const *samples, size_t n, const cli_expect *e, hone_error *error);
/* Writes .npy, .pb or .json, depending on the file name. */
bool cli_value_write(const char *path, const hone_value *v, hone_error *error);

hone_value *cli_npy_parse(const unsigned char *at, size_t n, const char *path, const cli_expect *e,
                          hone_error *error);
/* A .npy file whose rows are read one by one, on any thread; free() closes it. `rows` is NULL when
 * they do not lie behind each other: columns first, text, no elements. The path must outlive it. */
typedef struct cli_npy_rows cli_npy_rows;
bool cli_npy_rows_open(const char *path, cli_npy_rows **rows, hone_error *error);
const int64_t *cli_npy_rows_dims(const cli_npy_rows *r, int32_t *rank);
/* has_first_dim: the row keeps the first dimension, which is 1. NULL with the error. */
hone_value *cli_npy_rows_read(const cli_npy_rows *r, uint64_t i, bool has_first_dim,
                              const cli_expect *e, hone_error *error);
bool cli_npy_print(const hone_value *v, cli_buffer *out, hone_error *error);

/* Reads an archive of .npy files. `each` gets every member without its ".npy"; false stops. */
typedef bool (*cli_npz_fn)(void *ctx, const char *name, const unsigned char *at, size_t n,
                           hone_error *error);
bool cli_npz_read(const char *path, cli_npz_fn each, void *ctx, hone_error *error);
bool cli_npz_is_unnamed(const char *member); /* numpy.savez(file, array) calls it arr_0 */
bool cli_npz_write(const char *path, uint32_t n, const char *const *names,
                   hone_value *const *values, hone_error *error);

hone_value *cli_pb_parse(const cli_buffer *file, const char *path, hone_type_kind kind,
                         hone_error *error);
bool cli_pb_print(const hone_value *v, cli_buffer *out, hone_error *error);
/* Fields of a message: a number, and bytes, a text or another message. */
void cli_pb_int(cli_buffer *out, unsigned field, uint64_t v);
void cli_pb_bytes(cli_buffer *out, unsigned field, const void *data, size_t n);

hone_value *cli_json_parse(const cli_buffer *file, const char *path, const cli_expect *e,
                           hone_error *error);
void cli_json_print(const hone_value *v, cli_buffer *out);

/* ---- JSON text ------------------------------------------------------------------------------- */

void cli_json_string(cli_buffer *out, const char *text, size_t n);
void cli_json_member(cli_buffer *out, const char *key, const char *text); /* "key": "text" */
/* The shortest text that reads back as the same double, or the same float; "nan", "inf", "-inf" as
 * strings. */
void cli_json_number(cli_buffer *out, double v, bool is_single);

/* ---- inputs of a run ------------------------------------------------------------------------- */

typedef struct cli_input_options {
    cli_list files;     /* NAME=FILE */
    cli_list provided;  /* names of inputs that come from elsewhere; not owned */
    const char *random; /* seed */
    const char *fill;   /* zeros, ones */
    cli_image_options image;
} cli_input_options;
/* The rows of an option table whose struct has the member `input`. */
#define CLI_INPUT_ROW(type, name, letter, kind, member, value, help) \
  { name, letter, kind, offsetof(type, input.member), value, help }
/* clang-format off */
#define CLI_INPUT_OPTIONS(type)                                                                    \
    CLI_INPUT_ROW(type, "input", 'i', CLI_TEXTS, files, "NAME=FILE",                               \
                  "an input from .npy, .npz, .pb, .json, an image (.jpg, .png, .webp, .gif, "      \
                  ".tif, .bmp, .pnm) or a raw file (repeatable; several images: a batch)"),        \
    CLI_INPUT_ROW(type, "random", 0, CLI_TEXT, random, "SEED",                                     \
                  "random numbers for the other inputs"),                                          \
    CLI_INPUT_ROW(type, "fill", 0, CLI_TEXT, fill, "zeros|ones",                                   \
                  "the same number for the other inputs"),                                         \
    CLI_IMAGE_OPTIONS(type, input.image)
/* clang-format on */
void cli_input_options_free(cli_input_options *o);

typedef struct cli_feed {
    uint32_t n;
    const char **names; /* the model's */
    hone_value **values;
} cli_feed;
/* Provides a value for every input without a default. Reports errors and returns false. */
bool cli_feed_make(const hone_model *m, const cli_input_options *o, cli_feed *feed);
void cli_feed_free(cli_feed *feed);
/* The same inputs for another model, converted where it takes another float type; the others are
 * shared. Reports errors and returns false. */
bool cli_feed_convert(const hone_model *m, const cli_feed *from, cli_feed *to);
void cli_feed_free_converted(cli_feed *to, const cli_feed *from);
/* Parses the seed of an option. */
bool cli_parse_seed(const char *option, const char *text, uint64_t *seed, hone_error *error);
uint64_t cli_random(uint64_t *state);
/* Parses "1e-3", "1/255"; false when it is not a number. */
bool cli_parse_number(const char *text, double *out);
/* Parses up to `max` numbers separated by commas; returns their count, 0 on an error. */
int cli_parse_numbers(const char *text, int max, double *out);
/* Names of the graph's inputs without a default, or its outputs, as "a, b, c". */
const char *cli_list_names(const hone_graph *g, bool outputs, char *text, size_t size);

/* ---- summaries ------------------------------------------------------------------------------- */

typedef struct cli_summary {
    double min, max, mean; /* of the finite elements; NaN when there are none */
    uint64_t n_nan, n_inf;
} cli_summary;
bool cli_summarize(const hone_value *v, cli_summary *s); /* false: no numbers */

/* Finds the largest elements of a row in descending order. Returns how many there are: k, or fewer.
 * NaN is last. */
typedef struct cli_rank {
    uint64_t index; /* in the row */
    double value;
} cli_rank;
uint64_t cli_top(const hone_value *v, uint64_t begin, uint64_t n, uint64_t k, cli_rank *out);

/* ---- comparing ------------------------------------------------------------------------------- */

/* A number is close to its reference r when |v - r| <= absolute + relative * |r| + of_largest *
 * largest magnitude in the tensor. */
typedef struct cli_tolerance {
    double absolute, relative, of_largest;
    bool any_float; /* float types need not be the same */
} cli_tolerance;
typedef struct cli_comparison {
    bool equal;        /* same kind, type, shape, and all elements close */
    char problem[512]; /* "" when equal: the first difference */
    bool has_numbers;  /* the measures below are valid */
    uint64_t n, n_different;
    double max_abs, max_rel, cosine;
    double sqnr_db; /* infinite when there is no difference */
} cli_comparison;
void cli_compare(const hone_value *reference, const hone_value *v, const cli_tolerance *t,
                 cli_comparison *c);

#endif /* HONE_CLI_VALUE_H */
