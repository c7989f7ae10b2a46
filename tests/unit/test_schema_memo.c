/* The schema cache agrees with the text of the rows, for every row and version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ops/schema/schema_int.h"

static void same_text(const char *a, uint32_t a_len, const char *b, uint32_t b_len) {
    assert_ptr_equal(a, b);
    assert_int_equal(a_len, b_len);
}

static void check_allowed(const hn_op *op, int version, const hn_param *kept, hn_param *walked) {
    assert_int_equal(walked->tensors, 0);
    for (int k = 0; k < HN_DTYPE_COUNT; k++) {
        hn_type t = {.kind = HN_TYPE_TENSOR, .elem = (hn_dtype)k};
        hn_type sequence = {.kind = HN_TYPE_SEQUENCE, .inner = &t};
        assert_int_equal(hn_op_type_allowed(op, version, kept, &t),
                         hn_op_type_allowed(op, version, walked, &t));
        assert_int_equal(hn_op_type_allowed(op, version, kept, &sequence),
                         hn_op_type_allowed(op, version, walked, &sequence));
    }
}

static void check_list(const hn_op *op, hn_op_column column, int version) {
    const char *list = hn_op_text(op, column);
    uint32_t min, max, kept_min, kept_max;
    hn_op_arity(list, version, &min, &max);
    hn_op_n_args(op, column, version, &kept_min, &kept_max);
    assert_int_equal(kept_min, min);
    assert_int_equal(kept_max, max);
    for (uint32_t i = 0; i < 40; i++) {
        hn_param walked = {0}, kept = {0};
        bool is_there = hn_op_param(list, version, i, &walked);
        assert_int_equal(hn_op_arg(op, column, version, i, &kept), is_there);
        if (!is_there)
            return;
        same_text(kept.name, kept.name_len, walked.name, walked.name_len);
        same_text(kept.type, kept.type_len, walked.type, walked.type_len);
        assert_int_equal(kept.optional, walked.optional);
        assert_int_equal(kept.variadic, walked.variadic);
        assert_int_equal(kept.heterogeneous, walked.heterogeneous);
        assert_int_equal(kept.min_arity, walked.min_arity);
        if (i < 4)
            check_allowed(op, version, &kept, &walked);
    }
}

static void check_attrs(const hn_op *op, int version) {
    hn_attr_spec walked, kept, found;
    uint32_t i = 0;
    for (; hn_walk_attr(op, version, i, &walked); i++) {
        assert_true(hn_op_attr(op, version, i, &kept));
        same_text(kept.name, kept.name_len, walked.name, walked.name_len);
        same_text(kept.def, kept.def_len, walked.def, walked.def_len);
        assert_int_equal(kept.kind, walked.kind);
        assert_int_equal(kept.required, walked.required);
        assert_true(hn_op_attr_find(op, version, kept.name, kept.name_len, &found));
        assert_ptr_equal(found.name, kept.name);
        assert_int_equal(hn_op_attr_find(op, version, kept.name, kept.name_len - 1, &found),
                         hn_walk_attr_find(op, version, kept.name, kept.name_len - 1, &walked));
    }
    assert_false(hn_op_attr(op, version, i, &kept));
}

static uint32_t count_params(const hn_op *op, hn_op_column column, int version) {
    hn_param p;
    uint32_t n = 0;
    while (hn_op_formal(hn_op_text(op, column), version, n, &p))
        n++;
    return n;
}

/* No row of a table is walked because it is too long. */
static void all_rows_fit(void **state) {
    (void)state;
    for (uint32_t r = 0; r < hn_op_count(NULL); r++) {
        const hn_op *op = hn_op_row(NULL, r);
        hn_attr_spec spec;
        bool deprecated;
        int version;
        for (uint32_t i = 0; (version = hn_op_version(op, i, &deprecated)) != 0; i++) {
            assert_true(count_params(op, HN_OP_INPUTS, version) +
                            count_params(op, HN_OP_OUTPUTS, version) <=
                        HN_MEMO_PARAMS);
            assert_false(hn_walk_attr(op, version, HN_MEMO_ATTRS, &spec));
        }
    }
}

/* More rows than are remembered: the last ones are walked. Twice: made, then found. */
static void rows_are_remembered_as_they_are(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++)
        for (uint32_t r = 0; r < hn_op_count(NULL); r++) {
            const hn_op *op = hn_op_row(NULL, r);
            bool deprecated;
            int version;
            for (uint32_t i = 0; (version = hn_op_version(op, i, &deprecated)) != 0; i++) {
                check_list(op, HN_OP_INPUTS, version);
                check_list(op, HN_OP_OUTPUTS, version);
                check_attrs(op, version);
            }
        }
}

static void rows_are_found_again(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++)
        for (uint32_t r = 0; r < hn_op_count(NULL); r++) {
            const hn_op *op = hn_op_row(NULL, r);
            for (int64_t opset = 0; opset <= HN_LATEST_OPSET + 1; opset++) {
                uint32_t row;
                int since = 0, kept_since = 0;
                bool deprecated = false, kept_deprecated = false;
                const hn_op *walked = hn_walk_find(NULL, op->domain, hn_op_name(op), opset, &row,
                                                   &since, &deprecated);
                assert_ptr_equal(hn_op_find(NULL, op->domain, hn_op_name(op), opset, &kept_since,
                                            &kept_deprecated),
                                 walked);
                assert_int_equal(kept_since, since);
                assert_int_equal(kept_deprecated, deprecated);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_fit),
        cmocka_unit_test(rows_are_remembered_as_they_are),
        cmocka_unit_test(rows_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
