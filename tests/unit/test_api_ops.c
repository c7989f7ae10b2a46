/* The public API: statistics, JSON, the tables of operators and kernels. */
#include "api_model.h"

#include <ctype.h>

/* ---- a reader that only says whether a text is one JSON value -------------------------------- */

static const char *skip_space(const char *s) {
    while (*s == ' ' || *s == '\n' || *s == '\t' || *s == '\r')
        s++;
    return s;
}

/* Each returns the place behind what it read, or NULL. */
static const char *read_json(const char *s, int depth);

/* What follows a backslash. */
static const char *read_escape(const char *s) {
    if (*s != 'u')
        return *s && strchr("\"\\/bfnrt", *s) ? s + 1 : NULL;
    for (int i = 0; i < 4; i++)
        if (!isxdigit((unsigned char)*++s))
            return NULL;
    return s + 1;
}

static const char *read_string(const char *s) {
    if (*s++ != '"')
        return NULL;
    while (s && *s != '"') {
        if ((unsigned char)*s < 0x20)
            return NULL;
        s = *s == '\\' ? read_escape(s + 1) : s + 1;
    }
    return s ? s + 1 : NULL;
}

static const char *read_number(const char *s) {
    const char *digits = *s == '-' ? s + 1 : s;
    char *end;
    if (!isdigit((unsigned char)*digits) || (*digits == '0' && isdigit((unsigned char)digits[1])))
        return NULL;
    strtod(s, &end);
    return end;
}

static const char *read_members(const char *s, char close, int depth) {
    s = skip_space(s + 1);
    if (*s == close)
        return s + 1;
    for (;;) {
        if (close == '}') {
            s = read_string(skip_space(s));
            s = s ? skip_space(s) : NULL;
            if (!s || *s++ != ':')
                return NULL;
        }
        s = read_json(s, depth + 1);
        s = s ? skip_space(s) : NULL;
        if (!s || *s == close)
            return s ? s + 1 : NULL;
        if (*s++ != ',')
            return NULL;
    }
}

static const char *read_json(const char *s, int depth) {
    static const char *const words[] = {"true", "false", "null"};
    s = skip_space(s);
    if (depth > 50)
        return NULL;
    if (*s == '{' || *s == '[')
        return read_members(s, *s == '{' ? '}' : ']', depth);
    if (*s == '"')
        return read_string(s);
    for (size_t i = 0; i < 3; i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    return read_number(s);
}

static void expect_json(const char *text) {
    const char *end = read_json(text, 0);
    if (!end || *skip_space(end))
        fail_msg("no JSON: %s", text);
}

static void the_reader_knows_json(void **state) {
    (void)state;
    expect_json(" {\"a\": [1, -2.5e3, true, null, \"\\u00e4\\n\", {}], \"b\": []}\n");
    static const char *const bad[] = {"{",  "[1,]", "{\"a\" 1}", "{a: 1}",  "nan",
                                      "01", "\"a",  "[1] x",     "\"\\a\"", "\"\\u12g4\""};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const char *end = read_json(bad[i], 0);
        assert_true(!end || *skip_space(end));
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

#define ALL_PARTS (HONE_JSON_NODES | HONE_JSON_WEIGHTS | HONE_JSON_VALUES)

static void models_are_json(void **state) {
    (void)state;
    hone_model *models[] = {
        model_at(DIGITS), model_from(BRANCHES),
        model_from(
            "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n"
            "\"odd \\\" name\" (seq(float[a]) s, map(int64, float) m) => (float y) {\n"
            "y = my.A <f: float = nan, g: floats = [inf], t: string = \"\\n\\\"\"> (s, m)}")};
    for (size_t i = 0; i < 3; i++) {
        text_sink text = {NULL, 0};
        hone_model_infer(models[i], NULL);
        expect_ok(hone_model_write_json(models[i], "a \"label\"", ALL_PARTS, collect_text, &text,
                                        &error));
        expect_json(text.at);
        assert_non_null(strstr(text.at, "a \\\"label\\\""));
        free(text.at);
        hone_model_free(models[i]);
    }
}

static void values_of_removed_nodes_are_not_listed(void **state) {
    (void)state;
    hone_model *model = model_at(DIGITS);
    const char *from = "pool.out", *to = "logits";
    text_sink text = {NULL, 0};
    expect_ok(hone_model_extract(model, 1, &from, 1, &to, &error));
    expect_ok(hone_model_write_json(model, NULL, ALL_PARTS, collect_text, &text, &error));
    expect_json(text.at);
    assert_null(strstr(text.at, "stem.relu.out"));
    free(text.at);
    hone_model_free(model);
}

static void verdicts_are_json(void **state) {
    (void)state;
    hone_model *model = model_from("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                   "g (float[3] x) => (float[3] y) { y = Nonesuch (x) }");
    hone_problems *problems;
    text_sink text = {NULL, 0};
    hone_error unreadable;
    expect_ok(hone_model_check(model, &problems, &error));
    expect_ok(hone_problems_write_json(problems, "m", collect_text, &text, &error));
    expect_json(text.at);
    assert_non_null(strstr(text.at, "\"valid\": false"));
    free(text.at);
    hone_problems_free(problems);
    hone_model_free(model);

    text = (text_sink){NULL, 0};
    assert_int_equal(hone_model_load("no such file", NULL, &model, &unreadable), HONE_E_IO);
    assert_int_equal(hone_error_write_json(&unreadable, "m", collect_text, &text), HONE_OK);
    expect_json(text.at);
    assert_non_null(strstr(text.at, "no such file"));
    free(text.at);
    assert_int_equal(hone_error_write_json(&unreadable, "m", refuse_text, NULL), HONE_E_IO);
    assert_int_equal(hone_error_write_json(NULL, "m", refuse_text, NULL), HONE_E_ARGUMENT);
}

static void the_operator_table_is_json(void **state) {
    (void)state;
    text_sink text = {NULL, 0};
    expect_ok(hone_ops_write_json(collect_text, &text, &error));
    expect_json(text.at);
    free(text.at);
    expect_failure(hone_ops_write_json(refuse_text, NULL, &error), HONE_E_IO, "written");
    expect_failure(hone_ops_write_json(NULL, NULL, &error), HONE_E_ARGUMENT, "'write'");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void work_is_counted(void **state) {
    (void)state;
    hone_model *model = model_from("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                   "g (float[batch,8] x) => (float[batch,4] y) {\n"
                                   "  s = Constant <value = int64[2] {8, 4}> ()\n"
                                   "  w = ConstantOfShape <value = float[1] {2}> (s)\n"
                                   "  m = MatMul (x, w)\n"
                                   "  y = Relu (m)\n}");
    hone_stats *stats;
    hone_stats_totals totals;
    hone_stats_op op;
    hone_stats_type type;
    expect_ok(hone_model_infer(model, &error));
    expect_ok(hone_model_get_stats(model, &stats, &error));
    hone_stats_get_totals(stats, &totals);
    assert_true(totals.n_nodes == 4 && totals.n_unknown_nodes == 2 && totals.macs == 0);
    hone_stats_free(stats);

    expect_ok(hone_model_fix_dim(model, "batch", 3, &error));
    expect_ok(hone_model_infer(model, &error));
    expect_ok(hone_model_get_stats(model, &stats, &error));
    hone_stats_get_totals(stats, &totals);
    assert_true(totals.n_unknown_nodes == 0 && totals.macs == 3 * 8 * 4);
    assert_int_equal(totals.activation_bytes, 2 * (3 * 4 * 4) + 8 * 4 * 4 + 16);
    assert_true(totals.n_tensors == 1 && totals.n_parameters == 2 && totals.parameter_bytes == 16);
    hone_stats_get_type(stats, 0, &type);
    assert_true(type.elem_type == 7 && type.bytes == 16);
    hone_stats_get_op(stats, 2, &op);
    assert_string_equal(op.op, "MatMul");
    assert_int_equal(op.macs, totals.macs);
    hone_stats_get_op(stats, totals.n_ops, &op);
    assert_true(*op.op == '\0' && op.count == 0);
    hone_stats_get_type(stats, HONE_NONE, &type);
    assert_int_equal(type.n_tensors, 0);
    hone_stats_free(stats);
    hone_model_free(model);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void the_schema_in_force_is_found(void **state) {
    (void)state;
    hone_op_info op;
    uint32_t conv = hone_op_find("", "Conv", 17);
    assert_true(hone_op_get(conv, &op));
    assert_string_equal(op.domain, "ai.onnx");
    assert_string_equal(op.name, "Conv");
    assert_int_equal(op.since_version, 11);
    assert_true(op.min_inputs == 2 && op.max_inputs == 3 && op.n_inputs == 3);
    assert_true(op.min_outputs == 1 && op.max_outputs == 1);
    assert_false(op.is_deprecated);
    assert_int_equal(hone_op_find("ai.onnx", "Conv", 17), conv);
    assert_int_equal(hone_op_find(NULL, "Conv", 17), conv);
    assert_int_equal(hone_op_find("", "Gelu", 19), HONE_NONE); /* came with 20 */
    assert_int_equal(hone_op_find("", "Nonesuch", 17), HONE_NONE);
    assert_int_equal(hone_op_find("nowhere", "Conv", 17), HONE_NONE);
    assert_int_equal(hone_op_find("", NULL, 17), HONE_NONE);
    assert_true(hone_op_get(hone_op_find("", "Concat", 17), &op));
    assert_int_equal(op.max_inputs, UINT32_MAX);
}

static void parameters_and_attributes_are_described(void **state) {
    (void)state;
    uint32_t conv = hone_op_find("", "Conv", 17);
    hone_op_parameter parameter;
    hone_op_attribute attribute;
    char types[256], cut[8];
    assert_true(hone_op_get_parameter(conv, false, 2, &parameter));
    assert_string_equal(parameter.name, "B");
    assert_true(parameter.is_optional && !parameter.is_variadic);
    assert_false(hone_op_get_parameter(conv, false, 3, &parameter));
    assert_false(hone_op_get_parameter(conv, true, 1, &parameter));
    size_t n = hone_op_parameter_types(conv, false, 0, types, sizeof(types));
    assert_int_equal(n, strlen(types));
    assert_non_null(strstr(types, "tensor(float)"));
    assert_int_equal(hone_op_parameter_types(conv, false, 0, cut, sizeof(cut)), n);
    assert_memory_equal(cut, types, sizeof(cut) - 1);
    assert_int_equal(hone_op_parameter_types(conv, false, 9, types, sizeof(types)), 0);
    bool found = false;
    for (uint32_t i = 0; hone_op_get_attribute(conv, i, &attribute); i++)
        found |= !strcmp(attribute.name, "group") && attribute.kind == HONE_ATTRIBUTE_INT &&
                 attribute.has_default && !strcmp(attribute.default_text, "1");
    assert_true(found);
}

static void every_schema_can_be_read(void **state) {
    (void)state;
    hone_op_info op;
    uint32_t n = hone_op_count();
    for (uint32_t i = 0; i < n; i += 7) {
        hone_op_parameter parameter;
        hone_op_attribute attribute;
        assert_true(hone_op_get(i, &op));
        assert_true(op.since_version > 0 && op.min_inputs <= op.max_inputs);
        assert_int_equal(hone_op_find(op.domain, op.name, op.since_version), i);
        assert_int_equal(hone_op_get_parameter(i, false, op.n_inputs, &parameter), false);
        assert_true(op.n_attributes == 0 ||
                    hone_op_get_attribute(i, op.n_attributes - 1, &attribute));
        assert_false(hone_op_get_attribute(i, op.n_attributes, &attribute));
    }
    assert_false(hone_op_get(n, &op));
    assert_false(hone_op_get(HONE_NONE, &op));
}

static void the_table_of_kernels_is_sound(void **state) {
    (void)state;
    hone_kernel_info k;
    const char *family = "";
    bool has_picked = false;
    assert_true(hone_kernel_count() > 10);
    for (uint32_t i = 0; i < hone_kernel_count(); i++) {
        assert_true(hone_kernel_get(i, &k));
        assert_true(*k.name && *k.summary && *k.types && *k.tile);
        has_picked = has_picked && strcmp(k.family, family) == 0;
        assert_false(has_picked && k.is_picked); /* one of a family runs */
        has_picked = has_picked || k.is_picked;
        family = k.family;
    }
    assert_false(hone_kernel_get(hone_kernel_count(), &k));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reader_knows_json),
        cmocka_unit_test(models_are_json),
        cmocka_unit_test(values_of_removed_nodes_are_not_listed),
        cmocka_unit_test(verdicts_are_json),
        cmocka_unit_test(the_operator_table_is_json),
        cmocka_unit_test(work_is_counted),
        cmocka_unit_test(the_schema_in_force_is_found),
        cmocka_unit_test(parameters_and_attributes_are_described),
        cmocka_unit_test(every_schema_can_be_read),
        cmocka_unit_test(the_table_of_kernels_is_sound),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
