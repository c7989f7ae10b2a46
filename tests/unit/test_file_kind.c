/* Detection of file formats by content. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/file_kind.h"
#include "proto_builder.h"

#define CASE(bytes, says) \
  { bytes, sizeof(bytes) - 1, says }
static const struct {
    const char *bytes;
    size_t n;
    const char *says;
} cases[] = {
    CASE("", "is empty"),
    CASE("version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
    CASE("\x1c\0\0\0TFL3\0\0\0\0", "TensorFlow Lite"),
    CASE("\x1c\0\0\0ORTM\0\0\0\0", "ONNX Runtime .ort"),
    CASE("PK\3\4......archive/data.pkl....",
         "model.x is a PyTorch archive (zip), not an ONNX model: "
         "export it with torch.onnx.export"),
    CASE("PK\3\4......code/constants.pkl..archive/data.pkl", "TorchScript"),
    CASE("PK\3\4......readme.md", "an archive (zip)"),
    CASE("\x80\x02}q\0X", "pickle"),
    CASE("\x80\x04\x95", "pickle"),
    CASE("\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}       "
         "   ......",
         "safetensors"),
    CASE("GGUF\3\0\0\0", "GGUF"),
    CASE("\x89HDF\r\n\x1a\n", "HDF5"),
    CASE("<?xml version=\"1.0\"?>\n<net name=\"a\" version=\"11\">", "OpenVINO"),
    CASE("<?xml version=\"1.0\"?>\n<other>", "XML"),
    CASE("  {\"a\": 1}", "JSON"),
    CASE("<!DOCTYPE html><html>", "web page"),
    CASE("just some words\n", "plain text"),
    CASE("\x1f\x8b\x08\0", "gzip"),
    CASE("\xfd"
         "7zXZ\0",
         "xz"),
    CASE("\x93NUMPY\1\0", "NumPy"),
    CASE("\x08\x01\x12\xd0\x8c\x03\x0a\x10\x12", "SavedModel"),
    CASE("\x0a\x1e\x0a\x05input\x12\x0bPlaceholder", "TensorFlow graph"),
    CASE("\x7f"
         "ELF\2\1\1",
         "program"),
};

static void test_kinds_are_named(void **state) {
    (void)state;
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        hone_error err;
        hn_error_clear(&err);
        hn_bytes bytes = {cases[i].bytes, cases[i].n};
        assert_int_equal(hn_file_kind_check(bytes, "model.x", &err), HONE_E_FORMAT);
        if (!strstr(err.message, cases[i].says))
            fail_msg("case %zu: %s", i, err.message);
    }
}

static void test_models_pass(void **state) {
    (void)state;
    proto small = proto_small_model(3);
    assert_int_equal(hn_file_kind_check((hn_bytes){small.at, small.n}, "m", NULL), HONE_OK);
    proto named = {.n =
                       0}; /* the name of the producer stands where other formats have their mark */
    put_int(&named, 1, 8);
    put_text(&named, 2, "TFL3");
    assert_int_equal(hn_file_kind_check((hn_bytes){named.at, named.n}, "m", NULL), HONE_OK);
    proto oldest = {.n = 0};
    put_int(&oldest, 1, 1);
    put_text(&oldest, 2, "producer");
    assert_int_equal(hn_file_kind_check((hn_bytes){oldest.at, oldest.n}, "m", NULL), HONE_OK);
    assert_false(hn_file_is_text((hn_bytes){small.at, small.n}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_are_named),
        cmocka_unit_test(test_models_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
