/* ImageDecoder with a decoder of the program: its arguments, and how its results are used. */
#include "run_model.h"

enum { ELEM_UINT8 = 2 };
static const unsigned char two_pixels[] = {255, 0, 0, 10, 20, 30};

typedef struct fake_decoder {
    hone_status status;
    const char *message;
    uint64_t height, width;
    size_t seen_bytes;
    bool had_room;
} fake_decoder;

static hone_status fake_decode(void *ctx, const void *encoded, size_t n_bytes,
                               hone_image_alloc_fn alloc, void *image, hone_error *err) {
    fake_decoder *d = ctx;
    d->seen_bytes = n_bytes;
    assert_int_equal(((const unsigned char *)encoded)[0], 7);
    if (d->message)
        snprintf(err->message, sizeof err->message, "%s", d->message);
    if (d->status != HONE_OK)
        return d->status;
    unsigned char *pixels = alloc(image, d->height, d->width);
    d->had_room = pixels != NULL;
    if (pixels)
        memcpy(pixels, two_pixels, sizeof two_pixels);
    return HONE_OK;
}

/* Runs the model with this decoder, or without any, on three bytes. */
static hone_status decode_bytes(fake_decoder *d, const char *format, hone_value **y,
                                hone_error *err) {
    char text[256];
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 1;
    if (d) {
        options.decode_image = fake_decode;
        options.decode_image_ctx = d;
    }
    snprintf(text, sizeof text,
             RUN_HEAD
             "g (uint8[n] x) => (uint8[h,w,c] y) { y = ImageDecoder <pixel_format = \"%s\"> (x) }",
             format);
    runner r = runner_with(text, NULL, &options);
    hone_value *x = tensor_of(ELEM_UINT8, "\x07\x08\x09", DIMS(3));
    *y = NULL;
    hone_status status = run_one(&r, "x", x, "y", y, err);
    hone_value_free(x);
    runner_free(&r);
    return status;
}

static void expect_pixels(const char *format, int64_t n_channels, const unsigned char *wanted) {
    fake_decoder d = {.height = 1, .width = 2};
    hone_value *y;
    hone_tensor_info info;
    expect_ok(decode_bytes(&d, format, &y, &error));
    assert_int_equal(d.seen_bytes, 3);
    expect_dims(y, DIMS(1, 2, n_channels));
    assert_true(hone_value_tensor(y, &info));
    assert_memory_equal(info.data, wanted, 2 * (size_t)n_channels);
    hone_value_free(y);
}

static void pixels_come_in_the_wanted_format(void **state) {
    (void)state;
    expect_pixels("RGB", 3, two_pixels);
    expect_pixels("BGR", 3, (const unsigned char[]){0, 0, 255, 30, 20, 10});
    expect_pixels("Grayscale", 1, (const unsigned char[]){76, 18});
}

static void without_decoder_the_node_fails(void **state) {
    (void)state;
    hone_value *y;
    expect_failure(decode_bytes(NULL, "RGB", &y, &error), HONE_E_UNSUPPORTED,
                   "the program gives no image decoder");
    assert_null(y);
}

static void refusals_of_the_decoder_are_told(void **state) {
    (void)state;
    fake_decoder broken = {.status = HONE_E_INVALID, .message = "no pixels, just noise"},
                 silent = {.status = HONE_E_NOMEM};
    hone_value *y;
    expect_failure(decode_bytes(&broken, "RGB", &y, &error), HONE_E_INVALID,
                   "no pixels, just noise");
    expect_failure(decode_bytes(&silent, "RGB", &y, &error), HONE_E_NOMEM, "memory");
    assert_null(y);
}

static void impossible_sizes_get_no_room(void **state) {
    (void)state;
    static const uint64_t sizes[][2] = {
        {0, 2}, {2, 0}, {UINT64_MAX, 2}, {UINT64_MAX, UINT64_MAX}, {INT64_MAX, 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fake_decoder d = {.height = sizes[i][0], .width = sizes[i][1]};
        hone_value *y;
        expect_failure(decode_bytes(&d, "Grayscale", &y, &error), HONE_E_INVALID, "gave no image");
        assert_false(d.had_room);
        assert_null(y);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_come_in_the_wanted_format),
        cmocka_unit_test(without_decoder_the_node_fails),
        cmocka_unit_test(refusals_of_the_decoder_are_told),
        cmocka_unit_test(impossible_sizes_get_no_room),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
