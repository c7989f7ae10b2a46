/* The protobuf wire format: every type, damaged messages, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "onnx/wire.h"
#include "proto_builder.h"

static hone_status read_all(const void *data, size_t n, uint32_t *n_fields, hone_error *err) {
    hn_error_clear(err);
    const uint8_t *at = data;
    hn_wire w = {.at = at, .end = at + n, .file = at, .message = "GraphProto", .err = err};
    hn_field f;
    hone_status status;
    *n_fields = 0;
    while (hn_wire_next(&w, &f, &status)) {
        ++*n_fields;
        assert_true((const uint8_t *)f.whole.at + f.whole.n == w.at);
    }
    return status;
}

static void test_every_wire_type(void **state) {
    (void)state;
    proto p = {.n = 0};
    put_int(&p, 1, -1);
    put_double(&p, 2, 1.5);
    put_text(&p, 3, "abc");
    put_float(&p, 4, 2.5f);
    hone_error err;
    hn_error_clear(&err);
    hn_wire w = {.at = p.at, .end = p.at + p.n, .file = p.at, .message = "M", .err = &err};
    hn_field f;
    hone_status status;
    assert_true(hn_wire_next(&w, &f, &status));
    assert_true(f.tag == (1 << 3 | HN_WIRE_VARINT) && f.number == UINT64_MAX && f.whole.n == 11);
    assert_true(hn_wire_next(&w, &f, &status));
    assert_true(f.tag == (2 << 3 | HN_WIRE_FIXED64) && f.number == UINT64_C(0x3FF8000000000000));
    assert_true(hn_wire_next(&w, &f, &status));
    assert_true(f.bytes.n == 3 && memcmp(f.bytes.at, "abc", 3) == 0);
    assert_true(hn_wire_next(&w, &f, &status));
    assert_true(f.tag == (4 << 3 | HN_WIRE_FIXED32) && f.number == 0x40200000);
    assert_false(hn_wire_next(&w, &f, &status));
    assert_int_equal(status, HONE_OK);
}

static void test_groups_are_skipped(void **state) {
    (void)state;
    /* group 1 { 2: 7, group 3 { } } 4: 5 */
    const uint8_t good[] = {0x0b, 0x10, 7, 0x1b, 0x1c, 0x0c, 0x20, 5};
    uint32_t n;
    hone_error err;
    assert_int_equal(read_all(good, sizeof(good), &n, &err), HONE_OK);
    assert_int_equal(n, 2);
    const uint8_t crossed[] = {0x0b, 0x1b, 0x0c, 0x1c};
    assert_int_equal(read_all(crossed, sizeof(crossed), &n, &err), HONE_E_FORMAT);
    uint8_t deep[200];
    memset(deep, 0x0b, sizeof(deep));
    assert_int_equal(read_all(deep, sizeof(deep), &n, &err), HONE_E_FORMAT);
}

static void test_damage_is_named(void **state) {
    (void)state;
    static const struct {
        uint8_t bytes[16];
        size_t n;
        int64_t offset;
        const char *says;
    } cases[] = {
        {{0x08, 0x00, 0x3a, 0x20, 1, 2}, 6, 3, "field 7 of GraphProto claims 32 bytes, 2 remain"},
        {{0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, 11, 1, "claims"},
        {{0x08, 0x80, 0x80}, 3, 1, "ends inside a number"},
        {{0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01},
         12,
         1,
         "longer than 10"},
        {{0x00, 0x01}, 2, 0, "invalid number"},
        {{0x0e, 0x01}, 2, 1, "wire type 6"},
        {{0x0c}, 1, 1, "wire type 4"},
        {{0x0d, 1, 2}, 3, 1, "claims 4 bytes, 2 remain"},
        {{0x09, 1, 2}, 3, 1, "claims 8 bytes, 2 remain"},
        {{0x0b, 0x10, 1}, 3, 3, "ends inside a number"},
    };
    for (size_t i = 0; i < HN_COUNT(cases); i++) {
        uint32_t n;
        hone_error err;
        assert_int_equal(read_all(cases[i].bytes, cases[i].n, &n, &err), HONE_E_FORMAT);
        assert_non_null(strstr(err.message, cases[i].says));
        assert_non_null(strstr(err.message, "at byte"));
        assert_int_equal(err.offset, cases[i].offset);
    }
}

/* Every cut of a message either ends at a field or is an error: never a read beyond the end. */
static void test_every_cut(void **state) {
    (void)state;
    proto p = {.n = 0};
    put_int(&p, 1, 300);
    put_text(&p, 20, "hello");
    put_double(&p, 3, 1);
    put_float(&p, 4, 1);
    for (size_t n = 0; n < p.n; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        uint32_t n_fields;
        hone_error err;
        memcpy(exact, p.at, n);
        hone_status status = read_all(exact, n, &n_fields, &err);
        assert_true(status == HONE_E_FORMAT || n_fields < 4);
        free(exact);
    }
}

static void write_nested(hn_wire_out *w, int depth) {
    hn_wire_scope scope = hn_out_begin(w, 5 << 3 | HN_WIRE_LEN);
    hn_out_varint(w, 1 << 3, (uint64_t)depth);
    if (depth > 0)
        write_nested(w, depth - 1);
    hn_out_end(w, scope);
}

static void test_measure_and_write_agree(void **state) {
    (void)state;
    hn_arena *arena = hn_arena_new(NULL);
    hn_wire_out w = {.mode = HN_OUT_MEASURE, .arena = arena};
    write_nested(&w, 100);
    uint8_t bytes[1024];
    uint64_t measured = w.n_bytes;
    assert_true(measured < sizeof(bytes));
    w.mode = HN_OUT_MEMORY;
    w.memory = bytes;
    w.memory_bytes = measured;
    w.n_bytes = 0;
    write_nested(&w, 100);
    assert_int_equal(w.status, HONE_OK);
    assert_true(w.n_bytes == measured);
    hn_bytes inner = {bytes, measured};
    for (int depth = 100; depth >= 0; depth--) {
        hn_wire r = {.at = inner.at,
                     .end = (const uint8_t *)inner.at + inner.n,
                     .file = bytes,
                     .message = "M"};
        hn_field f;
        hone_status status;
        assert_true(hn_wire_next(&r, &f, &status));
        assert_true(r.at == r.end); /* nothing stands behind it */
        r.at = f.bytes.at;
        r.end = r.at + f.bytes.n;
        assert_true(hn_wire_next(&r, &f, &status) && f.number == (uint64_t)depth);
        inner = (hn_bytes){r.at, (uint64_t)(r.end - r.at)};
    }
    hn_arena_free(arena);
}

static void test_number_sizes(void **state) {
    (void)state;
    for (int bits = 0; bits < 64; bits++) {
        proto p = {.n = 0};
        uint64_t v = UINT64_C(1) << bits;
        put_varint(&p, v);
        assert_int_equal(hn_out_varint_bytes(v), p.n);
        const uint8_t *at = p.at;
        uint64_t back = 0;
        assert_true(hn_wire_varint(&at, p.at + p.n, &back) && back == v && at == p.at + p.n);
    }
    assert_int_equal(hn_out_varint_bytes(UINT64_MAX), 10);
    assert_int_equal(hn_out_varint_bytes(0), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_wire_type),         cmocka_unit_test(test_groups_are_skipped),
        cmocka_unit_test(test_damage_is_named),         cmocka_unit_test(test_every_cut),
        cmocka_unit_test(test_measure_and_write_agree), cmocka_unit_test(test_number_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
