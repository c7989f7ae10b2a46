/* Types: text, equality, nesting, element types. */
#include "syms_fixture.h"

static void expect_text(fixture *f, const hn_type *t, const char *text) {
    f->text.n = 0;
    hn_type_text(f->syms, t, &f->text);
    assert_string_equal(f->text.at, text);
}

static void test_text(void **state) {
    fixture *f = *state;
    hn_arena *a = f->arena;
    hn_dim batch = hn_dim_symbol(f->syms, hn_intern_z(f->names, "batch"));
    hn_dim image[] = {batch, 3, HN_DIM_UNKNOWN, hn_dim_add_i(f->syms, batch, 1)};
    const hn_type *tensor = hn_type_tensor(a, HN_F32, 4, image);
    image[1] = 99; /* was copied */
    expect_text(f, tensor, "float[batch,3,?,batch + 1]");
    const hn_type *scalar = hn_type_tensor(a, HN_I64, 0, NULL);
    const hn_type *unranked = hn_type_tensor(a, HN_BF16, -1, NULL);
    expect_text(f, scalar, "int64");
    expect_text(f, unranked, "bfloat16[]");
    const hn_type *sequence = hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, unranked);
    expect_text(f, sequence, "seq(bfloat16[])");
    expect_text(f, hn_type_wrap(a, HN_TYPE_OPTIONAL, HN_UNDEFINED, sequence),
                "optional(seq(bfloat16[]))");
    expect_text(f, hn_type_wrap(a, HN_TYPE_MAP, HN_STRING, scalar), "map(string, int64)");
    expect_text(f, hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, NULL), "seq(?)");
    hn_type sparse = *tensor;
    sparse.kind = HN_TYPE_SPARSE;
    expect_text(f, &sparse, "sparse_tensor(float[batch,3,?,batch + 1])");
    hn_type opaque = {.kind = HN_TYPE_OPAQUE,
                      .opaque_domain = hn_intern_z(f->names, "ai.x"),
                      .opaque_name = hn_intern_z(f->names, "Thing")};
    expect_text(f, &opaque, "opaque(ai.x,Thing)");
    expect_text(f, NULL, "?");
}

static void test_equality(void **state) {
    fixture *f = *state;
    hn_arena *a = f->arena;
    hn_dim dims[] = {2, HN_DIM_UNKNOWN}, other[] = {2, 3};
    const hn_type *types[] = {
        NULL,
        hn_type_tensor(a, HN_F32, 2, dims),
        hn_type_tensor(a, HN_F16, 2, dims),
        hn_type_tensor(a, HN_F32, 2, other),
        hn_type_tensor(a, HN_F32, 1, dims),
        hn_type_tensor(a, HN_F32, 0, NULL),
        hn_type_tensor(a, HN_F32, -1, NULL),
        hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, hn_type_tensor(a, HN_F32, 2, dims)),
        hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, hn_type_tensor(a, HN_F32, 2, other)),
        hn_type_wrap(a, HN_TYPE_OPTIONAL, HN_UNDEFINED, hn_type_tensor(a, HN_F32, 2, dims)),
        hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, NULL),
        hn_type_wrap(a, HN_TYPE_MAP, HN_I64, NULL),
        hn_type_wrap(a, HN_TYPE_MAP, HN_STRING, NULL),
    };
    for (size_t i = 0; i < HN_COUNT(types); i++) {
        for (size_t k = 0; k < HN_COUNT(types); k++)
            assert_int_equal(hn_type_equal(types[i], types[k]), i == k);
    }
    const hn_type *twin =
        hn_type_wrap(a, HN_TYPE_SEQUENCE, HN_UNDEFINED, hn_type_tensor(a, HN_F32, 2, dims));
    assert_true(hn_type_equal(twin, types[7]));
}

/* Nesting is the file's choice; neither text nor comparison may use stack for it. */
static void test_deep_nesting(void **state) {
    fixture *f = *state;
    const hn_type *a = hn_type_tensor(f->arena, HN_F32, 0, NULL),
                  *b = hn_type_tensor(f->arena, HN_F32, 0, NULL);
    for (int i = 0; i < 200000; i++) {
        a = hn_type_wrap(f->arena, HN_TYPE_SEQUENCE, HN_UNDEFINED, a);
        b = hn_type_wrap(f->arena, HN_TYPE_SEQUENCE, HN_UNDEFINED, b);
    }
    assert_true(hn_type_equal(a, b));
    hn_type_text(f->syms, a, &f->text);
    assert_int_equal(f->text.n, 200000 * 5 + 5);
}

static void test_elements(void **state) {
    fixture *f = *state;
    hn_dim h = hn_dim_symbol(f->syms, hn_intern_z(f->names, "h"));
    const hn_dim known[] = {2, 3, 4}, symbolic[] = {h, 3, h}, unknown[] = {HN_DIM_UNKNOWN, 3};
    const hn_dim empty[] = {HN_DIM_UNKNOWN, 0, h}, huge[] = {INT64_MAX, 2};
    assert_true(hn_shape_elems(f->syms, &(hn_shape){3, known}) == 24);
    assert_true(hn_shape_elems(f->syms, &(hn_shape){3, symbolic}) ==
                hn_dim_mul_i(f->syms, hn_dim_mul(f->syms, h, h), 3));
    assert_true(hn_shape_elems(f->syms, &(hn_shape){2, unknown}) == HN_DIM_UNKNOWN);
    assert_true(hn_shape_elems(f->syms, &(hn_shape){3, empty}) == 0);
    assert_true(hn_shape_elems(f->syms, &(hn_shape){2, huge}) == HN_DIM_UNKNOWN);
    assert_true(hn_shape_elems(f->syms, &(hn_shape){0, NULL}) == 1);
    assert_true(hn_shape_elems(f->syms, &(hn_shape){-1, NULL}) == HN_DIM_UNKNOWN);
}

static void test_out_of_memory(void **state) {
    (void)state;
    counting_allocator memory;
    counting_init(&memory, 0);
    hn_arena *arena = hn_arena_new(&memory.hook);
    static const hn_dim dims[100];
    const hn_type *t;
    size_t n_failures = 0;
    for (int i = 0; i < 4000; i++) {
        memory.fail_at = memory.n_requests + 1;
        t = i % 2 ? hn_type_tensor(arena, HN_F32, 100, dims)
                  : hn_type_wrap(arena, HN_TYPE_MAP, HN_I64, NULL);
        n_failures += !t;
        memory.fail_at = 0;
        if (!t)
            assert_non_null(hn_arena_alloc(arena, 48)); /* the next chunk */
    }
    assert_true(n_failures > 2);
    hn_arena_free(arena);
    assert_true(counting_is_clean(&memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equality, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep_nesting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_elements, setup, teardown),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
