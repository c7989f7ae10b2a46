/* Shapes that files declare: where the real ones contradict them, the nodes count. */
#include "run_model.h"

#include <pthread.h>

static hone_session *session_at(const hone_model *m, hone_level level) {
    hone_session_options options;
    hone_session *s;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.level = level;
    expect_ok(hone_session_create(m, &options, &s, &error));
    return s;
}

static hone_status run_named(hone_session *s, uint32_t n, const char *const *names,
                             const hone_value *const *values, hone_value **y, hone_error *err) {
    const char *out = "y";
    *y = NULL;
    return hone_session_run(s, NULL, n, names, values, 1, &out, y, err);
}

static void expect_same_tensor(const hone_value *a, const hone_value *b) {
    hone_tensor_info x, y;
    assert_true(hone_value_tensor(a, &x) && hone_value_tensor(b, &y));
    assert_int_equal(x.elem_type, y.elem_type);
    assert_int_equal(x.rank, y.rank);
    for (int32_t i = 0; i < x.rank; i++)
        assert_int_equal(x.dims[i], y.dims[i]);
    assert_memory_equal(x.data, y.data, x.data_bytes);
}

/* ---- declared shapes that lie ------------------------------------------------------------------ */

#define DECLARED(opset, io, nodes) "<ir_version: 10, opset_import: [\"\" : " #opset "]>\n" io nodes

/* One input x, all float; outputs and inner values are declared wrongly. */
static const struct declared_case {
    const char *text;
    int32_t rank;
    int64_t dims[4];
    bool is_refused; /* the node has arguments that do not fit */
} declared_cases[] = {
    {DECLARED(17, "g (float[2,6] x) => (float[2,6] y) <int64[2] s = {3, 4}>",
              "{ y = Reshape (x, s) }"),
     2,
     {2, 6},
     false},
    {DECLARED(17, "g (float[a,b] x) => (float[a,b] y) <int64[1] s = {-1}>",
              "{ y = Reshape (x, s) }"),
     2,
     {2, 6},
     false},
    {DECLARED(17, "g (float[a,b] x) => (float[a,b] y) <int64[2] s = {-1, 2}>",
              "{ y = Reshape (x, s) }"),
     2,
     {2, 6},
     false},
    {DECLARED(17, "g (float[1,3] x) => (float[1,3] y) <int64[2] s = {2, 3}>",
              "{ y = Expand (x, s) }"),
     2,
     {1, 3},
     false},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 1}>",
              "{ y = Tile (x, s) }"),
     2,
     {2, 3},
     false},
    {DECLARED(17, "g (float[4,3] x) => (float[4,3] y) <int64[1] s = {1}, int64[1] e = {3}>",
              "{ y = Slice (x, s, e) }"),
     2,
     {4, 3},
     false},
    {DECLARED(17, "g (float[1,3] x) => (float[1,3] y) <int64[1] s = {0}>",
              "{ y = Squeeze (x, s) }"),
     2,
     {1, 3},
     false},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[1] s = {0}>",
              "{ y = Unsqueeze (x, s) }"),
     2,
     {2, 3},
     false},
    {DECLARED(17, "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <int64[4] s = {1, 1, 4, 4}>",
              "{ y = Resize <mode = \"nearest\"> (x, , , s) }"),
     4,
     {1, 1, 2, 2},
     false},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y)", "{ y = Flatten <axis = 0> (x) }"),
     2,
     {2, 3},
     false},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y)", "{ y = ReduceSum <keepdims = 1> (x) }"),
     2,
     {2, 3},
     false},
    /* An inner value, and what follows from it. */
    {DECLARED(17,
              "g (float[2,6] x) => (float[n] y) <int64[2] s = {3, 4}, int64[1] all = {-1},"
              " float[2,6] r>",
              "{ r = Reshape (x, s) h = Shape (r) f = Cast <to = 1> (h) y = Reshape (f, all) }"),
     2,
     {2, 6},
     false},
    /* The body of a branch. */
    {DECLARED(17, "g (float[2,6] x) => (float[2,6] y) <bool c = {1}, int64[2] s = {3, 4}>",
              "{ y = If (c) <then_branch = t () => (float[2,6] r) { r = Reshape (x, s) },"
              " else_branch = e () => (float[2,6] q) { q = Neg (x) }> }"),
     2,
     {2, 6},
     false},
    /* Arguments that do not fit: the declaration must not hide it. */
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y)", "{ y = Transpose <perm = [0]> (x) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y)", "{ y = Transpose <perm = [0, 0]> (x) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[2] p = {0, 0}>", "{ y = Pad (x, p) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y)", "{ y = Concat <axis = 5> (x) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[1] s = {5}>",
              "{ y = Split <axis = 0> (x, s) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[a,b] x) => (float[a,b] y) <int64[1] s = {5}>",
              "{ y = Split <axis = 0> (x, s) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 4}>",
              "{ y = Reshape (x, s) }"),
     2,
     {2, 3},
     true},
    {DECLARED(17, "g (float[2,3] x) => (float[2,3] y) <int64[1] s = {1}>", "{ y = Tile (x, s) }"),
     2,
     {2, 3},
     true},
};

static void levels_agree_on(const struct declared_case *c) {
    static const hone_level levels[] = {HONE_LEVEL_NONE, HONE_LEVEL_BASIC, HONE_LEVEL_EXTENDED,
                                        HONE_LEVEL_ALL};
    const char *name = "x";
    hone_model *m;
    hone_value *first = NULL;
    hone_value *x = counting_floats(c->rank, c->dims);
    expect_ok(load_text(c->text, NULL, &m, &error));
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hone_session *s = session_at(m, levels[i]);
        hone_error why;
        hone_value *y;
        hone_status status = run_named(s, 1, &name, (const hone_value *const *)&x, &y, &why);
        if ((status != HONE_OK) != c->is_refused)
            fail_msg("level %d: %s\nin\n%s", (int)levels[i], why.message, c->text);
        if (status == HONE_OK && first)
            expect_same_tensor(first, y);
        if (first)
            hone_value_free(y);
        else
            first = y;
        hone_session_free(s);
    }
    hone_value_free(first);
    hone_value_free(x);
    hone_model_free(m);
}

static void nodes_count_not_declarations(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof declared_cases / sizeof *declared_cases; i++)
        levels_agree_on(&declared_cases[i]);
}

/* ---- names that lie ---------------------------------------------------------------------------- */

/* The sizes of x, as a tensor of floats over which z is expanded: with equal names all of it would
 * be the sizes of another input. */
static const char two_inputs[] =
    "<ir_version: 10, opset_import: [\"\" : 17]>\n"
    "g (float[batch,seq] x, float[batch,seq] z, float[1,1] o) => (float[batch,seq] y) {"
    " e = Exp (x) s = Shape (e) p = Expand (o, s) f = Exp (z) t = Shape (f) q = Expand (o, t)"
    " a = ReduceSum <keepdims = 1> (p) b = ReduceSum <keepdims = 1> (q)"
    " y = Concat <axis = 1> (a, b) }";

static const char one_input[] =
    "<ir_version: 10, opset_import: [\"\" : 17]>\n"
    "g (float[batch,batch] x, float[1] o) => (float[n] y) <int64 i = {0}, int64 j = {1},"
    " int64[1] i1 = {0}> {"
    " s = Shape (x) n0 = Gather (s, i) n1 = Gather (s, j) u = Unsqueeze (n0, i1)"
    " r = Expand (o, u)"
    " v = Unsqueeze (n1, i1) p = Expand (o, v) y = Concat <axis = 0> (p, r) }";

static const char expression[] =
    "<ir_version: 10, opset_import: [\"\" : 17]>\n"
    "g (float[past] x, float[seq] z, float[\"past + seq\"] w, float[1] o) => (float[n] y) {"
    " c = Concat <axis = 0> (x, z) s = Shape (c) p = Expand (o, s) t = Shape (w)"
    " q = Expand (o, t) a = ReduceSum <keepdims = 1> (p) b = ReduceSum <keepdims = 1> (q)"
    " y = Concat <axis = 0> (a, b) }";

static void expect_note(const hone_session *s, const char *dimension) {
    const char *note = hone_session_dims_note(s);
    if (dimension ? !strstr(note, dimension) : *note)
        fail_msg("the note is '%s', but should name %s", note, dimension ? dimension : "nothing");
}

typedef struct two_shapes {
    int64_t x[2], z[2];
} two_shapes;

static void expect_sizes(hone_session *s, const two_shapes *w) {
    static const char *const names[] = {"x", "z", "o"};
    const float one = 1;
    hone_value *y, *in[] = {counting_floats(2, w->x), counting_floats(2, w->z),
                            tensor_of(ELEM_FLOAT, &one, DIMS(1, 1))};
    expect_ok(run_named(s, 3, names, (const hone_value *const *)in, &y, &error));
    EXPECT_FLOATS(y, (float)(w->x[0] * w->x[1]), (float)(w->z[0] * w->z[1]));
    for (int i = 0; i < 3; i++)
        hone_value_free(in[i]);
    hone_value_free(y);
}

static void two_inputs_share_a_name(void **state) {
    (void)state;
    hone_model *m;
    expect_ok(load_text(two_inputs, NULL, &m, &error));
    hone_session *s = session_at(m, HONE_LEVEL_ALL);
    expect_sizes(s, &(two_shapes){{2, 3}, {2, 3}});
    expect_note(s, NULL);
    expect_sizes(s, &(two_shapes){{2, 3}, {2, 5}});
    expect_note(s, "'seq' is 3 and 5");
    const char *first = hone_session_dims_note(s);
    expect_sizes(s, &(two_shapes){{2, 4}, {2, 7}}); /* found before: nothing new is noted */
    assert_ptr_equal(hone_session_dims_note(s), first);
    expect_sizes(s, &(two_shapes){{4, 4}, {2, 7}});
    expect_note(s, "'batch' is 4 and 2");
    expect_sizes(s, &(two_shapes){{2, 3}, {2, 3}});
    hone_session_free(s);
    hone_model_free(m);
}

static void one_input_repeats_a_name(void **state) {
    (void)state;
    static const char *const names[] = {"x", "o"};
    const float one = 1;
    hone_model *m;
    hone_value *y, *in[] = {counting_floats(DIMS(1, 5)), tensor_of(ELEM_FLOAT, &one, DIMS(1))};
    expect_ok(load_text(one_input, NULL, &m, &error));
    for (int level = 0; level < 2; level++) {
        hone_session *s = session_at(m, level ? HONE_LEVEL_ALL : HONE_LEVEL_NONE);
        expect_ok(run_named(s, 2, names, (const hone_value *const *)in, &y, &error));
        EXPECT_FLOATS(y, 1, 1, 1, 1, 1, 1);
        hone_value_free(y);
        hone_session_free(s);
    }
    hone_value_free(in[0]);
    hone_value_free(in[1]);
    hone_model_free(m);
}

static void an_expression_is_a_claim(void **state) {
    (void)state;
    static const char *const names[] = {"x", "z", "w", "o"};
    const float one = 1;
    hone_model *m;
    expect_ok(load_text(expression, NULL, &m, &error));
    hone_session *s = session_at(m, HONE_LEVEL_ALL);
    for (int64_t n = 5; n < 7; n++) {
        hone_value *y, *in[] = {counting_floats(DIMS(2)), counting_floats(DIMS(3)),
                                counting_floats(DIMS(n)), tensor_of(ELEM_FLOAT, &one, DIMS(1))};
        expect_ok(run_named(s, 4, names, (const hone_value *const *)in, &y, &error));
        EXPECT_FLOATS(y, 5, (float)n);
        expect_note(s, n == 5 ? NULL : "'past + seq' is 5 and 6");
        for (int i = 0; i < 4; i++)
            hone_value_free(in[i]);
        hone_value_free(y);
    }
    hone_session_free(s);
    hone_model_free(m);
}

static void an_edited_model_is_not_taken(void **state) {
    (void)state;
    static const char *const names[] = {"x", "z", "o"};
    const float one = 1;
    hone_model *m;
    hone_value *y, *in[] = {counting_floats(DIMS(2, 3)), counting_floats(DIMS(2, 5)),
                            tensor_of(ELEM_FLOAT, &one, DIMS(1, 1))};
    expect_ok(load_text(two_inputs, NULL, &m, &error));
    hone_session *s = session_at(m, HONE_LEVEL_ALL);
    expect_ok(hone_model_rename(m, "e", "other", &error));
    expect_failure(run_named(s, 3, names, (const hone_value *const *)in, &y, &error),
                   HONE_E_ARGUMENT, "it was edited since");
    for (int i = 0; i < 3; i++)
        hone_value_free(in[i]);
    hone_session_free(s);
    hone_model_free(m);
}

/* ---- saved models ------------------------------------------------------------------------------ */

static uint32_t nodes_left(const hone_model *m, bool trusts_names) {
    hone_optimize_options options;
    hone_model *after;
    hone_subgraph_info top;
    hone_optimize_options_init(&options);
    options.trust_dim_names = trusts_names;
    expect_ok(hone_model_optimize(m, &options, &after, NULL, &error));
    hone_graph_get_subgraph(hone_model_graph(after), 0, &top);
    uint32_t n = top.n_nodes;
    if (!trusts_names) {
        hone_session *s = session_at(after, HONE_LEVEL_NONE);
        expect_sizes(s, &(two_shapes){{2, 3}, {4, 5}});
        hone_session_free(s);
    }
    hone_model_free(after);
    return n;
}

/* Nobody prepares a file again: it must compute the same for any sizes. */
static void files_do_not_rely_on_names(void **state) {
    (void)state;
    hone_model *m;
    expect_ok(load_text(two_inputs, NULL, &m, &error));
    assert_true(nodes_left(m, true) < nodes_left(m, false));
    hone_model_free(m);
}

/* ---- unknown ranks ----------------------------------------------------------------------------- */

/* What a convolution adds is turned with it only where its rank is known: not that of z, whose
 * shape data decide. */
static void an_addend_of_unknown_rank_runs(void **state) {
    (void)state;
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
        "g (float[a,b,c] x, int64[n] s) => (float[d,e,f] y) <float[2,1,1] w = {2, 3}> {"
        " z = Expand (x, s)"
        " y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, , z) }";
    static const char *const names[] = {"x", "s"};
    const int64_t sizes[] = {1, 2, 3};
    hone_model *m;
    hone_value *y, *in[] = {counting_floats(DIMS(1, 1, 3)), tensor_of(ELEM_INT64, sizes, DIMS(3))};
    expect_ok(load_text(text, NULL, &m, &error));
    for (int level = 0; level < 2; level++) {
        hone_session *s = session_at(m, level ? HONE_LEVEL_ALL : HONE_LEVEL_NONE);
        expect_ok(run_named(s, 2, names, (const hone_value *const *)in, &y, &error));
        EXPECT_FLOATS(y, 0, 3, 6, 0, 4, 8);
        hone_value_free(y);
        hone_session_free(s);
    }
    hone_value_free(in[0]);
    hone_value_free(in[1]);
    hone_model_free(m);
}

/* ---- several threads --------------------------------------------------------------------------- */

enum { N_THREADS = 4, N_RUNS = 20 };

typedef struct sizes_thread {
    pthread_t thread;
    hone_session *session;
    int64_t number;
} sizes_thread;

static bool gives_sizes(hone_session *s, const two_shapes *w) {
    static const char *const names[] = {"x", "z", "o"};
    static const int64_t one[] = {1, 1};
    const int64_t *dims[] = {w->x, w->z, one};
    hone_error err; /* the one of the other tests is shared */
    hone_value *y = NULL, *in[3] = {NULL};
    hone_tensor_info info;
    bool ok = true;
    for (int i = 0; i < 3; i++)
        ok &= hone_value_create(ELEM_FLOAT, 2, dims[i], NULL, &in[i], &err) == HONE_OK;
    if (ok && hone_value_tensor(in[2], &info))
        *(float *)(uintptr_t)info.data = 1;
    ok = ok && run_named(s, 3, names, (const hone_value *const *)in, &y, &err) == HONE_OK &&
         hone_value_tensor(y, &info);
    const float *sizes = ok ? info.data : NULL;
    ok = ok && sizes[0] == (float)(w->x[0] * w->x[1]) && sizes[1] == (float)(w->z[0] * w->z[1]);
    for (int i = 0; i < 3; i++)
        hone_value_free(in[i]);
    hone_value_free(y);
    return ok;
}

static void *run_many_sizes(void *ctx) {
    const sizes_thread *t = ctx;
    for (int64_t i = 0; i < N_RUNS; i++) {
        two_shapes w = {{2, 3 + i % 3}, {2 + t->number % 2, 3 + i % 3 * t->number}};
        if (!gives_sizes(t->session, &w))
            return ctx;
    }
    return NULL;
}

/* Some runs go on in the session that another one takes over from. */
static void threads_contradict_a_name(void **state) {
    (void)state;
    hone_model *m;
    sizes_thread threads[N_THREADS];
    expect_ok(load_text(two_inputs, NULL, &m, &error));
    hone_session *s = session_at(m, HONE_LEVEL_ALL);
    for (int i = 0; i < N_THREADS; i++) {
        threads[i] = (sizes_thread){.session = s, .number = i};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, run_many_sizes, &threads[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        void *failed;
        pthread_join(threads[i].thread, &failed);
        assert_null(failed);
    }
    expect_note(s, "'seq'");
    expect_note(s, "'batch'");
    hone_session_free(s);
    hone_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_count_not_declarations),
        cmocka_unit_test(two_inputs_share_a_name),
        cmocka_unit_test(one_input_repeats_a_name),
        cmocka_unit_test(an_expression_is_a_claim),
        cmocka_unit_test(an_edited_model_is_not_taken),
        cmocka_unit_test(files_do_not_rely_on_names),
        cmocka_unit_test(an_addend_of_unknown_rank_runs),
        cmocka_unit_test(threads_contradict_a_name),
    };
    return cmocka_run_group_tests_name("claims of files", tests, enter_scratch, leave_scratch);
}
