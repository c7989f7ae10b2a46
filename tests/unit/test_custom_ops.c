/* Operators that a program registers: what they can read, and which of their results are
 * rejected. */
#include "custom_op_model.h"

static runner runner_with_op(const char *text, const hone_op_def *op) {
    runner r = {.model = model_with(text, op)};
    expect_ok(hone_session_create(r.model, NULL, &r.session, &error));
    return r;
}

static void expect_inferred(hone_model *m, const char *value, const char *wanted) {
    char text[128];
    const hone_graph *g = hone_model_graph(m);
    expect_ok(hone_model_infer(m, &error));
    hone_value_type_text(g, hone_graph_find_value(g, value), text, sizeof text);
    assert_string_equal(text, wanted);
}

/* ---- computing ------------------------------------------------------------------------------- */

static hone_status same_shape(const hone_op_api *hone, hone_op_node *node) {
    return hone->output_like(node, 0, 0);
}

static void expect_negated(const char *text, const hone_op_def *op) {
    runner r = runner_with_op(text, op);
    hone_value *x = counting_floats(DIMS(3)), *y = result_of(&r, "x", x, "y");
    EXPECT_FLOATS(y, 0, -1, -2);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

static void operators_run_everywhere(void **state) {
    (void)state;
    hone_op_def op = plain_op("Negate");
    op.compute = negate;
    const char *texts[] = {
        HEAD "g (float[n] x) => (float[n] y) { y = t.Negate (x) }",
        HEAD "g (float[n] x) => (float[n] y) { a = Relu (x) b = t.Negate (a) y = Identity (b) }",
        HEAD "g (float[n] x) => (float[n] y) { c = Constant <value = bool {1}> () y = If (c) "
             "<then_branch = a () => (float[n] p) { p = t.Negate (x) },"
             " else_branch = b () => (float[n] q) { q = Identity (x) }> }",
        HEAD
        "g (float[n] x) => (float[n] y) { y = t.F (x) }\n"
        "<domain: \"t\", opset_import: [\"\" : 21, \"t\" : 2]> F (a) => (b) { b = t.Negate (a) }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        op.infer = NULL;
        expect_negated(texts[i], &op);
        op.infer = same_shape;
        expect_negated(texts[i], &op);
    }
}

static hone_status read_everything(const hone_op_api *hone, hone_op_node *node, void *state) {
    int64_t i = 0;
    float f = 0;
    uint32_t n;
    const int64_t *ints;
    const float *floats;
    const char *text;
    size_t n_bytes;
    hone_tensor_info tensor;
    (void)state;
    assert_int_equal(hone->abi, HONE_OP_ABI);
    assert_ptr_equal(hone->context(node), HEAD);
    assert_int_equal(hone->version(node), 1);
    assert_int_equal(hone->n_inputs(node), 3);
    assert_int_equal(hone->n_outputs(node), 1);
    assert_true(hone->has_input(node, 0) && !hone->has_input(node, 1) && hone->has_input(node, 2));
    assert_true(hone->has_output(node, 0) && !hone->has_output(node, 1));
    assert_true(hone->attr_int(node, "i", &i) && i == 7);
    assert_true(hone->attr_int(node, "j", &i) && i == -3);
    assert_true(hone->attr_float(node, "f", &f) && f == -1.5e-2f);
    assert_true(hone->attr_ints(node, "ints", &n, &ints) && n == 2 && ints[1] == 5);
    assert_true(hone->attr_ints(node, "more", &n, &ints) && n == 3 && ints[2] == -1);
    assert_true(hone->attr_floats(node, "floats", &n, &floats) && n == 2 && floats[1] == 0.5f);
    assert_true(hone->attr_string(node, "s", 0, &text, &n_bytes) && n_bytes == 4);
    assert_memory_equal(text, "near", 4);
    assert_true(hone->attr_string(node, "list", 1, &text, &n_bytes) && n_bytes == 1 &&
                *text == 'b');
    assert_true(hone->attr_string(node, "names", 1, &text, &n_bytes) && n_bytes == 3);
    assert_memory_equal(text, "two", 3);
    assert_true(hone->attr_tensor(node, "t", &tensor) && tensor.n_elements == 2);
    assert_false(hone->attr_string(node, "list", 2, &text, &n_bytes));
    assert_false(hone->attr_string(node, "s", 1, &text, &n_bytes));
    assert_false(hone->attr_int(node, "none", &i) || hone->attr_int(node, "f", &i));
    assert_false(hone->input(node, 1, &tensor) || hone->input(node, 9, &tensor));
    return negate(hone, node, state);
}

static void attributes_have_defaults(void **state) {
    (void)state;
    hone_op_def op = plain_op("Probe");
    op.inputs = "X:T A:T? B:T?";
    op.attributes =
        "i:i! j:i=-3 f:f=-1.5e-2 ints:ints more:ints=1,2,-1 floats:floats=1,.5 s:s=near "
        "list:strings names:strings=one,two t:t none:i";
    op.compute = read_everything;
    op.context = (void *)(uintptr_t)HEAD;
    expect_negated(HEAD "g (float[n] x) => (float[n] y) { y = t.Probe <i = 7, ints = [4, 5], "
                        "list = [\"a\", \"b\"], t = float[2] {1, 2}> (x, , x) }",
                   &op);
    hone_model *m = model_with(HEAD "g (float[n] x) => (float[n] y) { y = t.Probe (x) }", &op);
    expect_problem(m, HONE_ERROR, "attribute 'i' (int) is missing, but Probe-1 needs it");
    hone_model_free(m);
}

static hone_status shout(const hone_op_api *hone, hone_op_node *node, void *state) {
    hone_tensor_info x;
    const char *text;
    size_t n;
    void *none;
    (void)state;
    hone->input(node, 0, &x);
    hone_status status = hone->output(node, 0, ELEM_STRING, x.rank, x.dims, &none);
    assert_null(none);
    for (uint64_t i = 0; status == HONE_OK && hone->input_string(node, 0, i, &text, &n); i++) {
        char loud[16] = "";
        snprintf(loud, sizeof loud, "%.*s!", (int)n, text);
        status = hone->output_string(node, 0, i, loud, strlen(loud));
    }
    return status;
}

static void strings_flow(void **state) {
    (void)state;
    hone_op_def op = plain_op("Shout");
    op.types = "T=string";
    op.compute = shout;
    runner r = runner_with_op(HEAD "g (string[n] x) => (string[n] y) { y = t.Shout (x) }", &op);
    hone_value *x, *y;
    const char *texts[] = {"hey", ""}, *text;
    size_t n;
    expect_ok(hone_value_create_strings(DIMS(2), texts, NULL, &x, &error));
    y = result_of(&r, "x", x, "y");
    assert_true(hone_value_string(y, 0, &text, &n) && n == 4);
    assert_memory_equal(text, "hey!", 4);
    assert_true(hone_value_string(y, 1, &text, &n) && n == 1);
    hone_value_free(x);
    hone_value_free(y);
    runner_free(&r);
}

/* ---- inference ------------------------------------------------------------------------------- */

static hone_status shapes_from_all(const hone_op_api *hone, hone_op_node *node) {
    uint32_t n;
    const hone_dim *sizes;
    hone_dim first = hone->input_dim(node, 0, 0), last = hone->input_dim(node, 0, -1);
    assert_int_equal(hone->input_elem_type(node, 0), ELEM_FLOAT);
    assert_true(hone->input_dims(node, 1, &n, &sizes) && n == 2);
    hone_dim dims[] = {hone->dim_apply(node, HONE_DIM_ADD, first, last),
                       hone->dim_apply(node, HONE_DIM_DIVIDE_UP, sizes[0], 2),
                       hone->dim_apply(node, HONE_DIM_MULTIPLY, sizes[1], -77)};
    return hone->output_shape(node, 0, 3, dims);
}

static void dimensions_stay_symbolic(void **state) {
    (void)state;
    hone_op_def op = plain_op("Shapes");
    op.inputs = "X:T sizes:int64";
    op.infer = shapes_from_all;
    op.compute = negate;
    hone_model *m =
        model_with(HEAD "g (float[b,4] x) => (y) { s = Shape (x) y = t.Shapes (x, s) }", &op);
    expect_inferred(m, "y", "float[b + 4,floor((b + 1)/2),?]");
    hone_model_free(m);
}

static int infer_fault; /* which of the things below the operator does */

static hone_status infer_nonsense(const hone_op_api *hone, hone_op_node *node) {
    const hone_dim bad[] = {-12345};
    switch (infer_fault) {
    case 0:
        hone->output_shape(node, 0, 1, bad); /* whatever it returns itself */
        return HONE_OK;
    case 1:
        return hone->output_shape(node, 0, 65, NULL);
    case 2:
        return hone->output_shape(node, 5, 0, NULL);
    case 3:
        return hone->output_type(node, 0, 11, -1, NULL); /* double */
    case 4:
        return hone->output_type(node, 0, ELEM_INT64, -1, NULL); /* T is float here */
    case 5:
        return (hone_status)1000;
    case 6:
        return (hone->fail)(node, HONE_E_SHAPE, "needs %d more", 3);
    default: {
        void *data;
        return hone->output(node, 0, ELEM_FLOAT, 0, NULL, &data);
    }
    }
}

static void nonsense_is_refused(void **state) {
    (void)state;
    static const char *const phrases[] = {
        "node 'n' (t.Wild): the operator's infer gives dimension 0 of output 0 the size -12345",
        "gives output 0 rank 65",
        "sets output 5, but the node has 1 outputs",
        "the element type double, which its own notation does not allow",
        "the element type int64, which its own notation does not allow",
        "the operator's own infer failed: internal error",
        "node 'n' (t.Wild): needs 3 more",
        "asks for an output outside of its compute",
    };
    hone_op_def op = plain_op("Wild");
    op.infer = infer_nonsense;
    op.compute = negate;
    hone_model *m = model_with(HEAD "g (float[n] x) => (float[n] y) { [n] y = t.Wild (x) }", &op);
    for (infer_fault = 0; infer_fault < 8; infer_fault++)
        expect_problem(m, HONE_ERROR, phrases[infer_fault]);
    hone_model_free(m);
}

static int compute_fault;

static hone_status compute_nonsense(const hone_op_api *hone, hone_op_node *node, void *state) {
    const int64_t negative[] = {-1}, wrong[] = {17};
    void *data;
    (void)state;
    switch (compute_fault) {
    case 0:
        return HONE_OK;
    case 1:
        return hone->output(node, 0, ELEM_FLOAT, 1, negative, &data);
    case 2:
        return hone->output(node, 0, ELEM_INT64, 0, NULL, &data);
    case 3:
        return hone->output(node, 1, ELEM_FLOAT, 0, NULL, &data);
    case 4:
        return hone->output(node, 0, ELEM_FLOAT, 1, wrong, &data);
    case 5:
        return hone->output_like(node, 0, 0);
    case 6:
        return HONE_E_CANCELLED;
    default:
        return (hone->fail)(node, HONE_E_LIMIT, "too %s", "hot");
    }
}

static void failed_computations_name_the_node(void **state) {
    (void)state;
    static const struct {
        hone_status status;
        const char *phrase;
    } wanted[] = {
        {HONE_E_INVALID, "node 'n' (t.Wild): the operator did not make its output 0"},
        {HONE_E_INVALID, "with a dimension of -1"},
        {HONE_E_INVALID, "with element type int64, which its own notation does not allow"},
        {HONE_E_INVALID, "makes output 1, but there are 1"},
        {HONE_E_SHAPE, "another shape than the model's own shapes promise"},
        {HONE_E_INVALID, "sets an output type in compute"},
        {HONE_E_INTERNAL, "the operator's own compute failed: internal error"},
        {HONE_E_LIMIT, "node 'n' (t.Wild): too hot"},
    };
    for (int has_infer = 0; has_infer < 2; has_infer++) {
        hone_op_def op = plain_op("Wild");
        op.infer = has_infer ? same_shape : NULL;
        op.compute = compute_nonsense;
        runner r = runner_with_op(
            HEAD "g (float[n] x) => (float[m] y) { [n] a = t.Wild (x) y = Relu (a) }", &op);
        hone_value *x = counting_floats(DIMS(3)), *y = NULL;
        for (compute_fault = 0; compute_fault < 8; compute_fault++) {
            bool is_ready = has_infer && compute_fault == 0; /* its memory is, if not its data */
            bool is_free = !has_infer && compute_fault == 4; /* any shape will do */
            if (!is_ready && !is_free)
                expect_failure(run_one(&r, "x", x, "y", &y, &error), wanted[compute_fault].status,
                               wanted[compute_fault].phrase);
        }
        hone_value_free(x);
        runner_free(&r);
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

static int n_created, n_destroyed, create_fails;

static hone_status sum_constant(const hone_op_api *hone, hone_op_node *node, void **state) {
    hone_tensor_info x, w;
    if (create_fails)
        return (hone->fail)(node, HONE_E_INVALID, "cannot begin");
    assert_false(hone->input(node, 0, &x));
    assert_true(hone->input(node, 1, &w));
    assert_null(hone->scratch(node, 16));
    float *sum = malloc(sizeof *sum);
    *sum = ((const float *)w.data)[0] + ((const float *)w.data)[1];
    n_created++;
    *state = sum;
    return HONE_OK;
}

static void count_end(void *context, void *state) {
    assert_null(context);
    free(state);
    n_destroyed++;
}

static void add_range(void *state, int64_t begin, int64_t end) {
    struct {
        float *y, sum;
    } *work = state;
    for (int64_t i = begin; i < end; i++)
        work->y[i] += work->sum;
}

static hone_status add_sum(const hone_op_api *hone, hone_op_node *node, void *state) {
    hone_tensor_info x;
    void *y;
    hone->input(node, 0, &x);
    hone_status status = hone->output(node, 0, ELEM_FLOAT, x.rank, x.dims, &y);
    if (status != HONE_OK)
        return status;
    float *copy = hone->scratch(node, x.data_bytes);
    memcpy(copy, x.data, x.data_bytes);
    memcpy(y, copy, x.data_bytes);
    struct {
        float *y, sum;
    } work = {y, *(float *)state};
    hone->parallel_for(node, (int64_t)x.n_elements, 2, add_range, &work);
    return hone->is_stopped(node) ? HONE_E_CANCELLED : HONE_OK;
}

static void work_is_done_once(void **state) {
    (void)state;
    hone_op_def op = plain_op("AddSum");
    op.inputs = "X:T W:T";
    op.infer = same_shape;
    op.compute = add_sum;
    op.create = sum_constant;
    op.destroy = count_end;
    runner r = runner_with_op(HEAD "g (float[n] x) => (float[n] y) <float[2] w = {10, 20}> "
                                   "{ a = t.AddSum (x, w) y = t.AddSum (a, w) }",
                              &op);
    hone_value *x = counting_floats(DIMS(5));
    for (int i = 0; i < 3; i++) {
        hone_value *y = result_of(&r, "x", x, "y");
        EXPECT_FLOATS(y, 60, 61, 62, 63, 64);
        hone_value_free(y);
    }
    assert_int_equal(n_created, 2);
    assert_int_equal(n_destroyed, 0);
    hone_session_free(r.session);
    assert_int_equal(n_destroyed, 2);
    create_fails = 1;
    expect_failure(hone_session_create(r.model, NULL, &r.session, &error), HONE_E_INVALID,
                   "node #0 (AddSum): cannot begin");
    assert_null(r.session);
    hone_value_free(x);
    hone_model_free(r.model);
}

/* ---- optimizing ------------------------------------------------------------------------------ */

static void expect_nodes_left(hone_op_def *op, bool is_random, uint32_t wanted) {
    op->is_random = is_random;
    hone_model *optimized,
        *m = model_with(HEAD "g (float[n] x) => (float[n] y, float[2] z) "
                             "<float[2] w = {1, 2}> { z = t.Negate (w) "
                             "a = t.Negate (x) b = t.Negate (x) y = Add (a, b) }",
                        op);
    expect_ok(hone_model_optimize(m, NULL, &optimized, NULL, &error));
    hone_subgraph_info main_graph;
    hone_graph_get_subgraph(hone_model_graph(optimized), 0, &main_graph);
    assert_int_equal(main_graph.n_nodes, wanted);
    hone_session *session; /* what was made of it still knows the operator */
    expect_ok(hone_session_create(optimized, NULL, &session, &error));
    hone_session_free(session);
    hone_model_free(optimized);
    hone_model_free(m);
}

static void equal_results_are_computed_once(void **state) {
    (void)state;
    hone_op_def op = plain_op("Negate");
    op.infer = same_shape;
    op.compute = negate;
    expect_nodes_left(&op, false, 2);
    expect_nodes_left(&op, true, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_run_everywhere),
        cmocka_unit_test(attributes_have_defaults),
        cmocka_unit_test(strings_flow),
        cmocka_unit_test(dimensions_stay_symbolic),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(failed_computations_name_the_node),
        cmocka_unit_test(work_is_done_once),
        cmocka_unit_test(equal_results_are_computed_once),
    };
    return cmocka_run_group_tests_name("custom operators", tests, enter_scratch, leave_scratch);
}
