/* Half precision in sessions: nodes compute in float, Casts round, weights keep their 16 bits. */
#include "run_model.h"

#include <math.h>

#include "onnx/onnx.h"
#include "plan/plan.h"
#include "run/cache_graph.h"
#include "run/session.h"

static hone_error err;

enum { WIDE = 96, ELEM_FLOAT16 = 10, ELEM_BFLOAT16 = 16 };

/* A text with one matrix w of WIDE x WIDE elements. */
static char *with_matrix(const char *head, const char *type, const char *nodes) {
    char *text = malloc(WIDE * WIDE * 10 + 2000), *at = text;
    at += sprintf(at, "%sg %s <%s[96,96] w = {", RUN_HEAD, head, type);
    for (int i = 0; i < WIDE * WIDE; i++)
        at += sprintf(at, "%s%.4f", i ? "," : "", sin(i) / 8);
    sprintf(at, "}> { %s }", nodes);
    return text;
}

static hn_model *model_from_text(const char *text) {
    hn_model *m = NULL;
    if (hn_model_parse(text, strlen(text), NULL, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

/* The graph that a session runs. */
static hn_model *graph_of_session(const hn_model *source) {
    hn_optimize_options o;
    hn_model *m = hn_model_clone(source);
    hn_opt_log *log = hn_opt_log_new(NULL);
    hn_optimize_options_init(&o);
    o.level = HN_LEVEL_ALL;
    o.target = HN_TARGET_SESSION;
    o.defer_weights = true;
    assert_int_equal(hn_optimize_for_session(m, NULL, &o, log, &err), HONE_OK);
    hn_opt_log_free(log);
    return m;
}

/* Operators whose first result has this type, in order. */
static void expect_ops_of_type(const hn_model *m, hn_dtype elem, const char *wanted) {
    char found[400] = "";
    const hn_block *b = hn_block_at(m->graph, 0);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        const hn_node *n = hn_node_at(m->graph, b->nodes.at[i]);
        if (hn_value_at(m->graph, n->outputs[0])->type->elem == elem)
            strcat(strcat(found, *found ? " " : ""), hn_s(n->op));
    }
    assert_string_equal(found, wanted);
}

static void expect_graph(const char *text, const char *half, const char *full) {
    hn_model *source = model_from_text(text), *m = graph_of_session(source);
    expect_ops_of_type(m, HN_F16, half);
    if (full)
        expect_ops_of_type(m, HN_F32, full);
    hn_model_free(m);
    hn_model_free(source);
}

static void nodes_compute_in_float(void **state) {
    (void)state;
    expect_graph(RUN_HEAD "g (float16[1,2,9,9] x) => (float16[1,2,1,1] y) <float16[2,2,3,3] w = "
                          "{1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,"
                          "9}> { a = Conv (x, w) b = Relu (a) y = GlobalAveragePool (b) }",
                 "Cast", NULL);
    expect_graph(RUN_HEAD "g (float16[4,8] x, float16[4,8] z) => (float16[4,8] y) {"
                          " a = Add (x, z) b = Softmax (a) y = Mul (b, z) }",
                 "Cast", "Cast Cast Add Softmax Mul");
}

/* What only moves elements stays as it is until they are floats. */
static void moved_elements_stay_in_half_precision(void **state) {
    (void)state;
    char *text = with_matrix("(int64[3] i) => (float16[6,96] y)", "float16",
                             "a = Gather (w, i) b = Sigmoid (a) c = Neg (b) "
                             "y = Concat <axis = 0> (b, c)");
    expect_graph(text, "Gather Cast", "Cast Sigmoid Neg Concat");
    free(text);
    expect_graph(RUN_HEAD "g (float16[2,3] x, float16[2,3] p) => (float16[4,3] y) {"
                          " a = Neg (x) y = Concat <axis = 0> (p, a) }",
                 "Cast Concat", "Cast Neg");
    expect_graph(RUN_HEAD "g (float16[2,3] x) => (float16[3,2] y) { y = Transpose (x) }",
                 "Transpose", "");
}

static hn_program *program_of_text(const char *text) {
    hn_model *m = model_from_text(text);
    hn_program *p = NULL;
    assert_int_equal(hn_program_optimized(m, HN_LEVEL_ALL, NULL, &p, &err), HONE_OK);
    hn_model_free(m);
    return p;
}

static uint64_t packed_bytes(const char *type) {
    char head[100], *text;
    sprintf(head, "(%s[2,96] x) => (%s[2,96] y)", type, type);
    text = with_matrix(head, type, "y = MatMul (x, w)");
    hn_program *p = program_of_text(text);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < p->blocks[0].n_steps; i++)
        if (p->blocks[0].steps[i].state)
            bytes += hn_blob_key_of(p->blocks[0].steps[i].state)->n_bytes;
    hn_program_free(p);
    free(text);
    return bytes;
}

static void weights_keep_their_bits(void **state) {
    (void)state;
    uint64_t bytes = packed_bytes("float");
    assert_int_equal(packed_bytes("float16") * 2, bytes);
    assert_int_equal(packed_bytes("bfloat16") * 2, bytes);
}

/* Both inputs change, though the node has no float output. */
static void comparisons_change_as_a_whole(void **state) {
    (void)state;
    expect_graph(RUN_HEAD "g (float16[4] x) => (bool[4] y) <float16 c = {1}> {"
                          " y = Greater (x, c) }",
                 "", "Cast");
    expect_graph(RUN_HEAD "g (float16[4] x) => (bool[4] y) { y = IsNaN (x) }", "", "");
}

/* ---- numbers ---------------------------------------------------------------------------------- */

static float float_at(const hone_value *v, uint64_t i) {
    hone_tensor_info info;
    assert_true(hone_value_tensor(v, &info));
    uint16_t bits = ((const uint16_t *)info.data)[i];
    return info.elem_type == ELEM_FLOAT     ? ((const float *)info.data)[i]
           : info.elem_type == ELEM_FLOAT16 ? hn_f16_to_f32(bits)
                                            : hn_bf16_to_f32(bits);
}

static hone_value *half_waves(int32_t elem, int64_t rows) {
    uint16_t bits[4 * WIDE];
    for (int i = 0; i < rows * WIDE; i++) {
        float v = (float)cos(i) * 2;
        bits[i] = elem == ELEM_FLOAT16 ? hn_f32_to_f16(v) : hn_f32_to_bf16(v);
    }
    return tensor_of(elem, bits, DIMS(rows, WIDE));
}

/* Optimized and as written, which rounds after every node. */
static void levels_agree(const char *type, int32_t elem, double bound) {
    char head[100];
    sprintf(head, "(%s[4,96] x) => (%s[4,96] y)", type, type);
    char *text = with_matrix(head, type,
                             "a = MatMul (x, w) b = Add (a, x) c = Sigmoid (b) d = Mul (b, c) "
                             "e = Gemm <transB = 1> (d, w) f = Softmax (e) y = Sub (f, a)");
    runner written = runner_as_written(text), fast = runner_of(text);
    hone_value *x = half_waves(elem, 4);
    hone_value *a = result_of(&written, "x", x, "y"), *b = result_of(&fast, "x", x, "y");
    for (uint64_t i = 0; i < 4 * WIDE; i++) {
        double wanted = (double)float_at(a, i);
        assert_true(fabs((double)float_at(b, i) - wanted) <= bound * (1 + fabs(wanted)));
    }
    hone_value_free(a);
    hone_value_free(b);
    hone_value_free(x);
    runner_free(&fast);
    runner_free(&written);
    free(text);
}

static void results_are_those_of_half_precision(void **state) {
    (void)state;
    levels_agree("float16", ELEM_FLOAT16, 0x1p-9);
    levels_agree("bfloat16", ELEM_BFLOAT16, 0x1p-6);
}

/* Those of the model, not the rounding between its nodes. */
static void casts_round(void **state) {
    (void)state;
    runner r = runner_of(RUN_HEAD "g (float[2] x) => (float[2] y) { a = Cast <to = 10> (x) "
                                  "b = Neg (a) c = Cast <to = 1> (b) y = Abs (c) }");
    hone_value *x = tensor_of(ELEM_FLOAT, (const float[]){1.0001f, -2049}, DIMS(2));
    hone_value *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 1, 2048);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* Each number of the type is widened exactly: normal, subnormal, infinite and NaN. */
static void all_numbers_are_widened(void **state) {
    (void)state;
    uint16_t bits[1 << 16];
    float floats[1 << 16];
    for (uint32_t i = 0; i < 1 << 16; i++)
        bits[i] = (uint16_t)i;
    hn_arena *a = hn_arena_new(NULL);
    for (int k = 0; k < 2; k++) {
        const hn_tensor *t =
            hn_tensor_new(a, k ? HN_BF16 : HN_F16, 1, (int64_t[]){1 << 16}, bits, true);
        hn_tensor *wide = hn_tensor_widened(a, t);
        assert_true(hn_tensor_is_widened(wide));
        hn_tensor_compute(wide, floats);
        for (uint32_t i = 0; i < 1 << 16; i++) {
            float wanted = k ? hn_bf16_to_f32(bits[i]) : hn_f16_to_f32(bits[i]);
            if (isnan(wanted))
                assert_true(isnan(floats[i]));
            else
                assert_memory_equal(&floats[i], &wanted, sizeof wanted);
        }
    }
    hn_arena_free(a);
}

/* ---- caches ----------------------------------------------------------------------------------- */

static uint32_t count_widened(const hn_model *m) {
    uint32_t n = 0;
    for (hn_id id = 0; id < m->graph->values.n; id++) {
        const hn_value *v = hn_value_at(m->graph, id);
        n += v->init && v->uses.n > 0 && hn_tensor_is_widened(v->init);
    }
    return n;
}

static void cached_graphs_refer_to_weights(void **state) {
    (void)state;
    char *text = with_matrix("(float16[2,96] x) => (float16[2,96] y)", "float16",
                             "a = MatMul (x, w) y = Relu (a)");
    hone_model *m = model_from(text);
    const char *path = scratch_path("half.onnx");
    expect_ok(hone_model_save(m, path, NULL, &error));
    hone_model_free(m);
    free(text);
    hn_model *source, *read;
    void *bytes;
    size_t n;
    assert_int_equal(hn_load_file(path, NULL, &source, &err), HONE_OK);
    hn_model *optimized = graph_of_session(source);
    assert_int_equal(count_widened(optimized), 1);
    assert_int_equal(hn_cached_graph_write(source, optimized, NULL, &bytes, &n), HONE_OK);
    assert_true(n > 0 && n < WIDE * WIDE);
    assert_int_equal(hn_cached_graph_read(source, (hn_bytes){bytes, n}, &read), HONE_OK);
    assert_non_null(read);
    assert_int_equal(count_widened(read), 1);
    hn_model_free(read);
    hn_free(NULL, bytes, n);
    hn_model_free(optimized);
    hn_model_free(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_compute_in_float),
        cmocka_unit_test(moved_elements_stay_in_half_precision),
        cmocka_unit_test(comparisons_change_as_a_whole),
        cmocka_unit_test(weights_keep_their_bits),
        cmocka_unit_test(results_are_those_of_half_precision),
        cmocka_unit_test(casts_round),
        cmocka_unit_test(all_numbers_are_widened),
        cmocka_unit_test(cached_graphs_refer_to_weights),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
