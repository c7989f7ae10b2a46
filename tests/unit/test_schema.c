/* The schema table of ops.def and the functions that read it. What the rows say is compared with
 * the onnx package by tests/conform/check_schemas.py; here: order, lookup, the small language, and
 * that every row is well formed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ops/ops.h"

static const hn_op *find_op(hn_domain d, const char *name, int64_t opset) {
    int since = 0;
    bool deprecated = false;
    return hn_op_find(NULL, d, name, opset, &since, &deprecated);
}

static int first_version(const hn_op *op) {
    bool deprecated;
    return hn_op_version(op, 0, &deprecated);
}

static int last_version(const hn_op *op) {
    int last = 0, version;
    bool deprecated;
    for (uint32_t i = 0; (version = hn_op_version(op, i, &deprecated)) != 0; i++)
        last = version;
    return last;
}

static void assert_text(const char *at, size_t n, const char *expected) {
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(at, expected, n);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void rows_are_sorted_and_do_not_overlap(void **state) {
    (void)state;
    for (uint32_t i = 1; i < hn_op_count(NULL); i++) {
        const hn_op *a = hn_op_row(NULL, i - 1), *b = hn_op_row(NULL, i);
        assert_true(a->domain <= b->domain);
        if (a->domain != b->domain)
            continue;
        int order = strcmp(hn_op_name(a), hn_op_name(b));
        assert_true(order < 0 || (order == 0 && last_version(a) < first_version(b)));
    }
    assert_null(hn_op_row(NULL, hn_op_count(NULL)));
}

static void every_version_of_every_row_is_found(void **state) {
    (void)state;
    for (uint32_t r = 0; r < hn_op_count(NULL); r++) {
        const hn_op *op = hn_op_row(NULL, r);
        int version, previous = 0;
        bool deprecated;
        for (uint32_t i = 0; (version = hn_op_version(op, i, &deprecated)) != 0; i++) {
            int since = 0;
            bool found_deprecated = !deprecated;
            assert_ptr_equal(
                hn_op_find(NULL, op->domain, hn_op_name(op), version, &since, &found_deprecated),
                op);
            assert_int_equal(since, version);
            assert_int_equal(found_deprecated, deprecated);
            assert_true(version > previous);
            previous = version;
        }
        assert_true(previous > 0);
    }
}

static void check_parameters(const hn_op *op, const char *list, int version) {
    hn_param p = {0};
    uint32_t n = 0, min, max;
    hn_strbuf text;
    for (; hn_op_formal(list, version, n, &p); n++) {
        assert_true(p.name_len > 0 && p.type_len > 0);
        hn_strbuf_init(&text, NULL);
        hn_op_type_text(op, version, &p, &text);
        assert_false(text.failed);
        assert_true(text.n > 0);
        assert_null(strchr(text.at, '$'));
        assert_null(strchr(text.at, '@'));
        hn_strbuf_free(&text);
        hn_param next;
        assert_true(!p.variadic || !hn_op_formal(list, version, n + 1, &next));
    }
    hn_op_arity(list, version, &min, &max);
    assert_true(min <= max);
    assert_true(max == n || (max == UINT32_MAX && p.variadic));
}

static void check_default(const hn_attr_spec *spec) {
    char copy[64];
    float value;
    if (spec->kind != HN_ATTR_FLOAT || !spec->def)
        return;
    assert_true(spec->def_len < sizeof(copy));
    memcpy(copy, spec->def, spec->def_len);
    copy[spec->def_len] = '\0';
    assert_true(hn_attr_spec_f32(spec, 0, &value));
    assert_true(value == strtof(copy, NULL));
}

static void every_row_is_well_formed(void **state) {
    (void)state;
    for (uint32_t r = 0; r < hn_op_count(NULL); r++) {
        const hn_op *op = hn_op_row(NULL, r);
        assert_non_null(op->infer);
        int version;
        bool deprecated;
        for (uint32_t i = 0; (version = hn_op_version(op, i, &deprecated)) != 0; i++) {
            check_parameters(op, hn_op_text(op, HN_OP_INPUTS), version);
            check_parameters(op, hn_op_text(op, HN_OP_OUTPUTS), version);
            hn_attr_spec spec, same;
            for (uint32_t k = 0; hn_op_attr(op, version, k, &spec); k++) {
                assert_true(spec.name_len > 0 && spec.kind != HN_ATTR_UNDEFINED);
                assert_false(spec.required && spec.def);
                assert_true(hn_op_attr_find(op, version, spec.name, spec.name_len, &same));
                assert_ptr_equal(same.name, spec.name);
                check_default(&spec);
            }
        }
    }
}

/* ---- domains and lookup ---------------------------------------------------------------------- */

static void domains_are_found_by_text(void **state) {
    (void)state;
    assert_int_equal(hn_domain_find(NULL, "", 0), HN_DOMAIN_ONNX);
    assert_int_equal(hn_domain_find(NULL, "ai.onnx", 7), HN_DOMAIN_ONNX);
    assert_int_equal(hn_domain_find(NULL, "ai.onnx.ml", 10), HN_DOMAIN_ML);
    assert_int_equal(hn_domain_find(NULL, "com.microsoft", 13), HN_DOMAIN_MS);
    assert_int_equal(hn_domain_find(NULL, "com.microsoft.nchwc", 19), HN_DOMAIN_NCHWC);
    assert_int_equal(hn_domain_find(NULL, "com.microsof", 12), HN_DOMAIN_COUNT);
    assert_int_equal(hn_domain_find(NULL, "com.microsoft\0x", 15), HN_DOMAIN_COUNT);
    assert_string_equal(hn_domain_text(NULL, HN_DOMAIN_ONNX), "");
    assert_string_equal(hn_domain_text(NULL, HN_DOMAIN_TRAINING), "ai.onnx.preview.training");
    assert_string_equal(hn_domain_text(NULL, HN_DOMAIN_COUNT), "?");
}

static void lookup_takes_the_version_in_force(void **state) {
    (void)state;
    int since = 0;
    bool deprecated = true;
    const hn_op *add6 = hn_op_find(NULL, HN_DOMAIN_ONNX, "Add", 6, &since, &deprecated);
    assert_int_equal(since, 6);
    const hn_op *add12 = hn_op_find(NULL, HN_DOMAIN_ONNX, "Add", 12, &since, &deprecated);
    assert_int_equal(since, 7);
    assert_false(deprecated);
    assert_ptr_not_equal(add6, add12);
    assert_ptr_equal(hn_op_find(NULL, HN_DOMAIN_ONNX, "Add", INT64_MAX, &since, &deprecated),
                     add12);
    assert_int_equal(since, 14);
    assert_ptr_not_equal(find_op(HN_DOMAIN_MS, "Attention", 1),
                         find_op(HN_DOMAIN_ONNX, "Attention", 23));
}

static void lookup_says_when_there_is_none(void **state) {
    (void)state;
    assert_null(find_op(HN_DOMAIN_ONNX, "Gelu", 19));
    assert_int_equal(hn_op_introduced(NULL, HN_DOMAIN_ONNX, "Gelu"), 20);
    assert_null(find_op(HN_DOMAIN_ONNX, "FusedConv", 22));
    assert_int_equal(hn_op_introduced(NULL, HN_DOMAIN_ONNX, "FusedConv"), 0);
    assert_int_equal(hn_op_introduced(NULL, HN_DOMAIN_MS, "FusedConv"), 1);
    assert_null(find_op(HN_DOMAIN_COUNT, "Conv", 22));
    assert_null(find_op(HN_DOMAIN_ONNX, "", 22));
    assert_null(find_op(HN_DOMAIN_ONNX, "Conv", 0));
    assert_null(find_op(HN_DOMAIN_ONNX, "Conv", INT64_MIN));
}

static void deprecation_may_begin_and_end(void **state) {
    (void)state;
    int since = 0;
    bool deprecated = false;
    assert_non_null(hn_op_find(NULL, HN_DOMAIN_ONNX, "Upsample", 9, &since, &deprecated));
    assert_false(deprecated);
    assert_non_null(hn_op_find(NULL, HN_DOMAIN_ONNX, "Upsample", 22, &since, &deprecated));
    assert_true(deprecated);
    assert_int_equal(since, 10);
    assert_non_null(
        hn_op_find(NULL, HN_DOMAIN_ONNX, "GroupNormalization", 20, &since, &deprecated));
    assert_true(deprecated);
    assert_non_null(
        hn_op_find(NULL, HN_DOMAIN_ONNX, "GroupNormalization", 21, &since, &deprecated));
    assert_false(deprecated);
}

static void operators_outside_the_standard_are_marked(void **state) {
    (void)state;
    assert_true(hn_op_is_extension(find_op(HN_DOMAIN_ONNX, "SimplifiedLayerNormalization", 17)));
    assert_true(hn_op_is_extension(find_op(HN_DOMAIN_ONNX, "LayerNormalization", 16)));
    assert_false(hn_op_is_extension(find_op(HN_DOMAIN_ONNX, "LayerNormalization", 17)));
    assert_false(hn_op_is_extension(find_op(HN_DOMAIN_MS, "FusedConv", 1)));
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void parameters_of_arguments(void **state) {
    (void)state;
    const hn_op *conv = find_op(HN_DOMAIN_ONNX, "Conv", 22);
    hn_param p;
    assert_true(hn_op_param(hn_op_text(conv, HN_OP_INPUTS), 22, 2, &p));
    assert_text(p.name, p.name_len, "B");
    assert_text(p.type, p.type_len, "T");
    assert_true(p.optional && !p.variadic);
    assert_false(hn_op_param(hn_op_text(conv, HN_OP_INPUTS), 22, 3, &p));

    const hn_op *loop = find_op(HN_DOMAIN_ONNX, "Loop", 22);
    assert_true(hn_op_param(hn_op_text(loop, HN_OP_INPUTS), 21, 1000, &p));
    assert_text(p.name, p.name_len, "v_initial");
    assert_true(p.variadic && p.heterogeneous && !p.optional);
    assert_int_equal(p.min_arity, 0);
    assert_false(hn_op_formal(hn_op_text(loop, HN_OP_INPUTS), 21, 3, &p));

    const hn_op *concat = find_op(HN_DOMAIN_ONNX, "Concat", 13);
    assert_true(hn_op_param(hn_op_text(concat, HN_OP_INPUTS), 13, 7, &p));
    assert_true(p.variadic && !p.heterogeneous);
    assert_int_equal(p.min_arity, 1);
}

static void a_later_version_adds_a_parameter(void **state) {
    (void)state;
    const hn_op *attention = find_op(HN_DOMAIN_ONNX, "Attention", 24);
    assert_ptr_equal(attention, find_op(HN_DOMAIN_ONNX, "Attention", 23));
    hn_param p;
    assert_false(hn_op_param(hn_op_text(attention, HN_OP_INPUTS), 23, 6, &p));
    assert_true(hn_op_param(hn_op_text(attention, HN_OP_INPUTS), 24, 6, &p));
    assert_text(p.name, p.name_len, "nonpad_kv_seqlen");
    assert_text(p.type, p.type_len, "int64");
}

static void check_arity(const char *name, int version, uint32_t min, uint32_t max) {
    uint32_t lo, hi;
    hn_op_arity(hn_op_text(find_op(HN_DOMAIN_ONNX, name, version), HN_OP_INPUTS), version, &lo,
                &hi);
    assert_int_equal(lo, min);
    assert_int_equal(hi, max);
}

static void arity_counts_optional_and_variadic(void **state) {
    (void)state;
    check_arity("Relu", 14, 1, 1);
    check_arity("Conv", 11, 2, 3);
    check_arity("Constant", 13, 0, 0);
    check_arity("Sum", 13, 1, UINT32_MAX);
    check_arity("Loop", 21, 2, UINT32_MAX);
    check_arity("Resize", 11, 3, 4);
    check_arity("Attention", 23, 3, 6);
    check_arity("Attention", 24, 3, 7);
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool input_allows(hn_domain d, const char *name, int version, uint32_t i, const hn_type *t) {
    const hn_op *op = find_op(d, name, version);
    hn_param p;
    assert_true(hn_op_param(hn_op_text(op, HN_OP_INPUTS), version, i, &p));
    return hn_op_type_allowed(op, version, &p, t);
}

static void element_types_are_tested_by_version(void **state) {
    (void)state;
    hn_type f32 = {.kind = HN_TYPE_TENSOR, .elem = HN_F32};
    hn_type bf16 = {.kind = HN_TYPE_TENSOR, .elem = HN_BF16};
    hn_type i32 = {.kind = HN_TYPE_TENSOR, .elem = HN_I32};
    hn_type i64 = {.kind = HN_TYPE_TENSOR, .elem = HN_I64};
    hn_type unknown = {.kind = HN_TYPE_TENSOR, .elem = HN_UNDEFINED};
    assert_true(input_allows(HN_DOMAIN_ONNX, "Conv", 11, 0, &f32));
    assert_false(input_allows(HN_DOMAIN_ONNX, "Conv", 11, 0, &bf16));
    assert_true(input_allows(HN_DOMAIN_ONNX, "Conv", 22, 0, &bf16));
    assert_false(input_allows(HN_DOMAIN_ONNX, "Conv", 22, 0, &i32));
    assert_true(input_allows(HN_DOMAIN_ONNX, "Conv", 22, 0, &unknown));
    assert_true(input_allows(HN_DOMAIN_ONNX, "Conv", 22, 0, NULL));
    assert_true(input_allows(HN_DOMAIN_ONNX, "Reshape", 13, 1, &i64));
    assert_false(input_allows(HN_DOMAIN_ONNX, "Reshape", 13, 1, &i32));
    assert_true(input_allows(HN_DOMAIN_ONNX, "BatchNormalization", 15, 1, &f32));
}

static void nested_types_are_tested(void **state) {
    (void)state;
    hn_type f32 = {.kind = HN_TYPE_TENSOR, .elem = HN_F32};
    hn_type string = {.kind = HN_TYPE_TENSOR, .elem = HN_STRING};
    hn_type f8 = {.kind = HN_TYPE_TENSOR, .elem = HN_F8E5M2};
    hn_type seq = {.kind = HN_TYPE_SEQUENCE, .inner = &f32};
    hn_type seq_f8 = {.kind = HN_TYPE_SEQUENCE, .inner = &f8};
    hn_type optional_seq = {.kind = HN_TYPE_OPTIONAL, .inner = &seq};
    hn_type map = {.kind = HN_TYPE_MAP, .elem = HN_I64, .inner = &f32};
    hn_type bad_map = {.kind = HN_TYPE_MAP, .elem = HN_I64, .inner = &f8};
    hn_type text_map = {.kind = HN_TYPE_MAP, .elem = HN_I64, .inner = &string};
    hn_type sparse = {.kind = HN_TYPE_SPARSE, .elem = HN_F32};
    hn_type open_seq = {.kind = HN_TYPE_SEQUENCE};
    assert_true(input_allows(HN_DOMAIN_ONNX, "SequenceLength", 11, 0, &seq));
    assert_true(input_allows(HN_DOMAIN_ONNX, "SequenceLength", 11, 0, &open_seq));
    assert_false(input_allows(HN_DOMAIN_ONNX, "SequenceLength", 11, 0, &f32));
    assert_false(input_allows(HN_DOMAIN_ONNX, "SequenceLength", 11, 0, &seq_f8));
    assert_true(input_allows(HN_DOMAIN_ONNX, "OptionalHasElement", 18, 0, &optional_seq));
    assert_false(input_allows(HN_DOMAIN_ONNX, "SequenceLength", 11, 0, &optional_seq));
    assert_true(input_allows(HN_DOMAIN_ML, "CastMap", 1, 0, &map));
    assert_true(input_allows(HN_DOMAIN_ML, "CastMap", 1, 0, &text_map));
    assert_false(input_allows(HN_DOMAIN_ML, "CastMap", 1, 0, &bad_map));
    assert_false(input_allows(HN_DOMAIN_ML, "CastMap", 1, 0, &seq));
    assert_true(input_allows(HN_DOMAIN_MS, "SparseToDenseMatMul", 1, 0, &sparse));
    assert_false(input_allows(HN_DOMAIN_MS, "SparseToDenseMatMul", 1, 0, &f32));
}

static void check_type_text(hn_domain d, const char *name, int version, const char *list,
                            const char *expected) {
    hn_param p;
    hn_strbuf text;
    assert_true(hn_op_param(list, version, 0, &p));
    hn_strbuf_init(&text, NULL);
    hn_op_type_text(find_op(d, name, version), version, &p, &text);
    assert_string_equal(text.at, expected);
    hn_strbuf_free(&text);
}

static void accepted_types_are_listed(void **state) {
    (void)state;
    const hn_op *conv = find_op(HN_DOMAIN_ONNX, "Conv", 22);
    check_type_text(HN_DOMAIN_ONNX, "Conv", 11, hn_op_text(conv, HN_OP_INPUTS),
                    "tensor(float16), tensor(float), tensor(double)");
    check_type_text(HN_DOMAIN_ONNX, "Conv", 22, hn_op_text(conv, HN_OP_INPUTS),
                    "tensor(float16), tensor(float), tensor(double), tensor(bfloat16)");
    const hn_op *cast_map = find_op(HN_DOMAIN_ML, "CastMap", 1);
    check_type_text(HN_DOMAIN_ML, "CastMap", 1, hn_op_text(cast_map, HN_OP_INPUTS),
                    "map(int64,float), map(int64,string)");
    const hn_op *zip_map = find_op(HN_DOMAIN_ML, "ZipMap", 1);
    check_type_text(HN_DOMAIN_ML, "ZipMap", 1, hn_op_text(zip_map, HN_OP_OUTPUTS),
                    "seq(map(int64,float)), seq(map(string,float))");
    const hn_op *length = find_op(HN_DOMAIN_ONNX, "SequenceLength", 11);
    check_type_text(HN_DOMAIN_ONNX, "SequenceLength", 11, hn_op_text(length, HN_OP_OUTPUTS),
                    "tensor(int64)");
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool find_attr(const char *name, int version, const char *attr, hn_attr_spec *spec) {
    return hn_op_attr_find(find_op(HN_DOMAIN_ONNX, name, version), version, attr, strlen(attr),
                           spec);
}

static void attributes_are_found_by_version(void **state) {
    (void)state;
    hn_attr_spec spec;
    assert_false(find_attr("AveragePool", 7, "ceil_mode", &spec));
    assert_true(find_attr("AveragePool", 10, "ceil_mode", &spec));
    assert_int_equal(spec.kind, HN_ATTR_INT);
    assert_text(spec.def, spec.def_len, "0");
    assert_true(find_attr("AveragePool", 10, "kernel_shape", &spec));
    assert_true(spec.required && !spec.def && spec.kind == HN_ATTR_INTS);
    assert_false(find_attr("AveragePool", 10, "kernel", &spec));
    assert_false(find_attr("AveragePool", 10, "", &spec));
    assert_false(hn_op_attr(find_op(HN_DOMAIN_ONNX, "Relu", 14), 14, 0, &spec));
    assert_true(find_attr("If", 25, "then_branch", &spec));
    assert_true(spec.required && spec.kind == HN_ATTR_GRAPH);
}

static void defaults_are_read_as_numbers(void **state) {
    (void)state;
    hn_attr_spec spec;
    float f = 0;
    int64_t i = 0;
    assert_true(find_attr("LeakyRelu", 16, "alpha", &spec) && hn_attr_spec_f32(&spec, 0, &f));
    assert_true(f == 0.01f);
    assert_true(find_attr("Clip", 6, "min", &spec) && hn_attr_spec_f32(&spec, 0, &f));
    assert_true(f == -3.402823466e+38f);
    assert_true(find_attr("Softmax", 13, "axis", &spec) && hn_attr_spec_i64(&spec, 0, &i));
    assert_int_equal(i, -1);
    assert_true(find_attr("MeanVarianceNormalization", 13, "axes", &spec));
    assert_true(hn_attr_spec_i64(&spec, 2, &i));
    assert_int_equal(i, 3);
    assert_false(hn_attr_spec_i64(&spec, 3, &i));
    assert_true(find_attr("AveragePool", 22, "strides", &spec));
    assert_false(hn_attr_spec_i64(&spec, 0, &i));
}

/* ---- suggestions ----------------------------------------------------------------------------- */

static void check_suggestion(hn_domain d, const char *name, const char *expected) {
    hn_strbuf text;
    hn_strbuf_init(&text, NULL);
    hn_op_suggest(NULL, d, name, &text);
    assert_string_equal(text.at ? text.at : "", expected);
    hn_strbuf_free(&text);
}

static void near_names_are_suggested(void **state) {
    (void)state;
    check_suggestion(HN_DOMAIN_ONNX, "Convv", "Conv");
    check_suggestion(HN_DOMAIN_ONNX, "softmax", "Softmax");
    check_suggestion(HN_DOMAIN_MS, "Atention", "Attention, QAttention");
    check_suggestion(HN_DOMAIN_ONNX, "Sinn", "Sign, Sin, Sinh");
    check_suggestion(HN_DOMAIN_ONNX, "FusedConv", "com.microsoft.FusedConv");
    check_suggestion(HN_DOMAIN_COUNT, "LayerNormalisation", "ai.onnx.LayerNormalization");
    check_suggestion(HN_DOMAIN_ONNX, "ThisIsNothingLikeAnOperator", "");
    check_suggestion(HN_DOMAIN_ONNX, "", "");
    char huge[4096];
    memset(huge, 'A', sizeof(huge));
    huge[sizeof(huge) - 1] = '\0';
    check_suggestion(HN_DOMAIN_ONNX, huge, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_do_not_overlap),
        cmocka_unit_test(every_version_of_every_row_is_found),
        cmocka_unit_test(every_row_is_well_formed),
        cmocka_unit_test(domains_are_found_by_text),
        cmocka_unit_test(lookup_takes_the_version_in_force),
        cmocka_unit_test(lookup_says_when_there_is_none),
        cmocka_unit_test(deprecation_may_begin_and_end),
        cmocka_unit_test(operators_outside_the_standard_are_marked),
        cmocka_unit_test(parameters_of_arguments),
        cmocka_unit_test(a_later_version_adds_a_parameter),
        cmocka_unit_test(arity_counts_optional_and_variadic),
        cmocka_unit_test(element_types_are_tested_by_version),
        cmocka_unit_test(nested_types_are_tested),
        cmocka_unit_test(accepted_types_are_listed),
        cmocka_unit_test(attributes_are_found_by_version),
        cmocka_unit_test(defaults_are_read_as_numbers),
        cmocka_unit_test(near_names_are_suggested),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
