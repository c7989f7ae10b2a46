/* The public API: loading, inspecting, checking, shapes, threads. */
#include "api_model.h"

#include <pthread.h>

/* ---- loading --------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *n) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

static const void *first_weight(const hone_model *model) {
    hone_tensor_info tensor;
    assert_true(hone_value_get_tensor(hone_model_graph(model),
                                      value_named(model, "stem.conv.weight"), &tensor));
    return tensor.data;
}

static void buffers_are_copied_or_borrowed(void **state) {
    (void)state;
    size_t n;
    char *bytes = read_file(DIGITS, &n);
    hone_model *from_file = model_at(DIGITS), *copied, *borrowed;
    hone_load_options options;
    hone_load_options_init(&options);
    expect_ok(hone_model_load_buffer(bytes, n, &options, &copied, &error));
    options.borrow_buffer = true;
    expect_ok(hone_model_load_buffer(bytes, n, &options, &borrowed, &error));
    expect_same_model(from_file, copied);
    expect_same_model(from_file, borrowed);

    const char *inside = first_weight(borrowed), *outside = first_weight(copied);
    assert_true(inside >= bytes && inside < bytes + n);
    assert_true(outside < bytes || outside >= bytes + n);
    hone_model_free(borrowed);
    memset(bytes, 0xFF, n); /* the copy does not mind */
    free(bytes);
    expect_same_model(from_file, copied);
    hone_model_free(copied);
    hone_model_free(from_file);
}

static void old_programs_know_fewer_options(void **state) {
    (void)state;
    hone_load_options options;
    hone_load_options_init(&options);
    memset((char *)&options + offsetof(hone_load_options, borrow_buffer), 0xFF,
           sizeof(options) - offsetof(hone_load_options, borrow_buffer));
    options.size = offsetof(hone_load_options, borrow_buffer); /* what follows is not theirs */
    hone_model *model;
    expect_ok(hone_model_load(DIGITS, &options, &model, &error));
    hone_model_free(model);
}

static void options_must_be_set_up(void **state) {
    (void)state;
    hone_load_options load = {0};
    hone_save_options save = {0};
    hone_model *model;
    expect_failure(hone_model_load(DIGITS, &load, &model, &error), HONE_E_ARGUMENT,
                   "hone_load_options_init");
    assert_null(model);
    expect_failure(hone_model_load_buffer("", 0, &load, &model, &error), HONE_E_ARGUMENT,
                   "hone_load_options_init");
    model = model_at(DIGITS);
    expect_failure(hone_model_save(model, scratch_path("x.onnx"), &save, &error), HONE_E_ARGUMENT,
                   "hone_save_options_init");
    assert_false(scratch_has("x.onnx"));
    hone_model_free(model);
}

static void null_arguments_are_errors(void **state) {
    (void)state;
    hone_model *model;
    hone_problems *problems;
    hone_stats *stats;
    expect_failure(hone_model_load(NULL, NULL, &model, &error), HONE_E_ARGUMENT, "'path' is NULL");
    expect_failure(hone_model_load(DIGITS, NULL, NULL, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_load_buffer(NULL, 5, NULL, &model, &error), HONE_E_ARGUMENT,
                   "'data'");
    expect_failure(hone_model_check(NULL, &problems, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_get_stats(NULL, &stats, &error), HONE_E_ARGUMENT, "'model'");
    expect_failure(hone_model_infer(NULL, &error), HONE_E_ARGUMENT, "'model'");
    assert_null(model);
    assert_null(problems);
    assert_null(stats);
    hone_model_free(NULL);
    hone_problems_free(NULL);
    hone_stats_free(NULL);
}

/* Nobody must ask for the story. */
static void errors_may_go_unrecorded(void **state) {
    (void)state;
    hone_model *model;
    hone_problems *problems;
    hone_stats *stats;
    int64_t dims[] = {1, 2};
    const char *name = "nowhere";
    assert_int_equal(hone_model_load("no such file", NULL, &model, NULL), HONE_E_IO);
    assert_int_not_equal(hone_model_load_buffer("junk", 4, NULL, &model, NULL), HONE_OK);
    assert_null(model);
    assert_int_equal(hone_model_load(DIGITS, NULL, &model, NULL), HONE_OK);
    assert_int_equal(hone_model_check(model, &problems, NULL), HONE_OK);
    assert_int_equal(hone_model_get_stats(model, &stats, NULL), HONE_OK);
    assert_int_equal(hone_model_infer(model, NULL), HONE_OK);
    assert_int_equal(hone_model_fix_dim(model, name, 1, NULL), HONE_E_NOT_FOUND);
    assert_int_equal(hone_model_fix_shape(model, "image", 2, dims, NULL), HONE_E_SHAPE);
    assert_int_equal(hone_model_extract(model, 1, &name, 1, &name, NULL), HONE_E_NOT_FOUND);
    assert_int_equal(hone_model_rename(model, name, "x", NULL), HONE_E_NOT_FOUND);
    assert_int_equal(hone_model_save(model, "no/such/folder/x.onnx", NULL, NULL), HONE_E_IO);
    assert_int_equal(hone_model_print(model, 0, refuse_text, NULL, NULL), HONE_E_IO);
    assert_int_equal(hone_model_write_json(model, "m", 0, refuse_text, NULL, NULL), HONE_E_IO);
    hone_stats_free(stats);
    hone_problems_free(problems);
    hone_model_free(model);
}

/* ---- looking at a model ---------------------------------------------------------------------- */

static void a_model_tells_about_itself(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    hone_model_info info;
    const char *domain, *key, *value;
    int64_t version;
    hone_model_get_info(model, &info);
    assert_int_equal(info.ir_version, 10);
    assert_string_equal(info.producer_name, "tests");
    assert_string_equal(info.producer_version, "");
    assert_string_equal(info.doc, "about");
    assert_int_equal(info.file_bytes, strlen(BRANCHES));
    assert_int_equal(info.n_opsets, 2);
    assert_int_equal(info.n_metadata, 2);
    assert_int_equal(info.n_functions, 1);
    hone_model_get_opset(model, 0, &domain, &version);
    assert_string_equal(domain, "");
    assert_int_equal(version, 21);
    hone_model_get_opset(model, 1, &domain, &version);
    assert_string_equal(domain, "my");
    hone_model_get_metadata(model, 0, &key, &value);
    assert_string_equal(key, "author");
    assert_string_equal(value, "me");
    hone_model_get_metadata(model, 1, &key, &value);
    assert_string_equal(value, "");
    hone_model_free(model);
}

static void functions_have_graphs_of_their_own(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    hone_function_info info;
    const hone_graph *body = hone_model_function(model, 0, &info);
    assert_string_equal(info.domain, "my");
    assert_string_equal(info.name, "twice");
    assert_string_equal(info.overload, "");
    assert_string_equal(info.doc, "doubles");
    assert_int_equal(info.n_attributes, 1);
    assert_int_equal(info.n_opsets, 1);
    assert_int_equal(hone_graph_n_nodes(body), 2);
    assert_ptr_equal(hone_model_function(model, 0, NULL), body);

    hone_attribute_info gain; /* the caller's attribute gives the value */
    hone_node_get_attribute(body, 0, 0, &gain);
    assert_string_equal(gain.name, "value_float");
    assert_string_equal(gain.reference, "gain");
    assert_int_equal(gain.kind, HONE_ATTRIBUTE_FLOAT);
    hone_model_free(model);
}

static void subgraphs_hang_on_their_nodes(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    hone_subgraph_info top, yes;
    hone_attribute_info branch;
    hone_node_info inner;
    assert_int_equal(hone_graph_n_subgraphs(graph), 4);
    hone_graph_get_subgraph(graph, 0, &top);
    assert_string_equal(top.name, "main");
    assert_int_equal(top.parent, HONE_NONE);
    assert_int_equal(top.owner, HONE_NONE);
    assert_int_equal(top.n_nodes, 3);
    assert_int_equal(top.n_inputs, 3);
    assert_int_equal(top.n_outputs, 2);
    assert_int_equal(top.n_initializers, 1);
    assert_int_equal(top.initializers[0], value_named(model, "w"));

    hone_node_get_attribute(graph, top.nodes[0], 0, &branch);
    assert_int_equal(branch.kind, HONE_ATTRIBUTE_GRAPH);
    assert_int_equal(branch.n, 1);
    hone_graph_get_subgraph(graph, branch.subgraphs[0], &yes);
    assert_string_equal(yes.name, "yes");
    assert_int_equal(yes.owner, top.nodes[0]);
    assert_int_equal(yes.parent, 0);
    hone_graph_get_node(graph, yes.nodes[0], &inner);
    assert_string_equal(inner.op, "Add");
    assert_int_equal(inner.subgraph, branch.subgraphs[0]);
    assert_int_equal(inner.inputs[0], value_named(model, "x")); /* an outer value, by its number */
    hone_model_free(model);
}

static void values_know_their_place(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    hone_value_info x, w, c, y;
    hone_graph_get_value(graph, value_named(model, "x"), &x);
    hone_graph_get_value(graph, value_named(model, "w"), &w);
    hone_graph_get_value(graph, value_named(model, "c"), &c);
    hone_graph_get_value(graph, value_named(model, "y"), &y);
    assert_true(x.is_input && x.is_declared && !x.is_output && !x.is_initializer);
    assert_int_equal(x.producer, HONE_NONE);
    assert_int_equal(x.n_uses, 2);
    assert_int_equal(x.kind, HONE_TYPE_TENSOR);
    assert_int_equal(x.elem_type, 1);
    assert_int_equal(x.rank, 2);
    assert_true(w.is_initializer && !w.is_input);
    assert_true(!c.is_declared && c.kind == HONE_TYPE_UNKNOWN && c.rank == -1);
    assert_true(y.is_output && y.producer != HONE_NONE);
    assert_int_equal(hone_graph_find_value(graph, "nowhere"), HONE_NONE);
    assert_int_equal(hone_graph_find_value(graph, NULL), HONE_NONE);
    hone_model_free(model);
}

static void attributes_of_every_kind(void **state) {
    (void)state;
    hone_model *model = model_from(
        "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]> g () => (float y) {\n"
        "y = my.A <f: float = -0.5, i: int = -7, s: string = \"ab\", t: tensor = float[2] {1, 2},\n"
        "  fs: floats = [1, 0.5], is: ints = [3, 4, 5], ss: strings = [\"p\", \"\"],\n"
        "  ts: tensors = [float[1] {1}, int8[3] {1, 2, 3}],\n"
        "  sp: sparse_tensor = sparse_tensor(float[9]) {float[1] {5}, int64[1] {3}},\n"
        "  tp: type_proto = seq(float[N]), none: ints = []> ()\n}\n");
    const hone_graph *graph = hone_model_graph(model);
    enum { F, I, S, T, FS, IS, SS, TS, SP, TP, NONE, N_KINDS };
    hone_attribute_info a[N_KINDS];
    hone_tensor_info tensor;
    const char *text;
    size_t n;
    for (uint32_t i = 0; i < N_KINDS; i++)
        hone_node_get_attribute(graph, 0, i, &a[i]);
    assert_true(a[F].kind == HONE_ATTRIBUTE_FLOAT && a[F].f == -0.5f && a[F].n == 1);
    assert_true(a[I].kind == HONE_ATTRIBUTE_INT && a[I].i == -7);
    assert_true(a[S].kind == HONE_ATTRIBUTE_STRING && a[S].s_bytes == 2 &&
                !memcmp(a[S].s, "ab", 2));
    assert_true(a[FS].kind == HONE_ATTRIBUTE_FLOATS && a[FS].n == 2 && a[FS].floats[1] == 0.5f);
    assert_true(a[IS].kind == HONE_ATTRIBUTE_INTS && a[IS].n == 3 && a[IS].ints[2] == 5);
    assert_true(a[SS].kind == HONE_ATTRIBUTE_STRINGS && a[SS].n == 2);
    assert_true(a[TP].kind == HONE_ATTRIBUTE_TYPE);
    assert_true(a[NONE].kind == HONE_ATTRIBUTE_INTS && a[NONE].n == 0);
    assert_string_equal(a[NONE].name, "none");

    hone_node_get_attribute_string(graph, 0, SS, 0, &text, &n);
    assert_true(n == 1 && text[0] == 'p');
    hone_node_get_attribute_string(graph, 0, SS, 1, &text, &n);
    assert_int_equal(n, 0);
    hone_node_get_attribute_string(graph, 0, SS, 2, &text, &n); /* past the end */
    assert_true(!text && n == 0);
    hone_node_get_attribute_string(graph, 0, IS, 0, &text, &n); /* another kind */
    assert_true(!text && n == 0);

    assert_true(hone_attribute_get_tensor(graph, 0, T, 0, &tensor));
    assert_true(tensor.elem_type == 1 && tensor.rank == 1 && tensor.dims[0] == 2);
    assert_true(tensor.n_elements == 2 && tensor.data_bytes == 8 && !tensor.external_location);
    assert_true(hone_attribute_get_tensor(graph, 0, TS, 1, &tensor) && tensor.n_elements == 3);
    assert_false(hone_attribute_get_tensor(graph, 0, TS, 2, &tensor));
    assert_false(hone_attribute_get_tensor(graph, 0, F, 0, &tensor));
    assert_true(hone_attribute_get_tensor(graph, 0, SP, 0, &tensor) && tensor.is_sparse);
    assert_true(tensor.rank == 1 && tensor.dims[0] == 9 && tensor.n_elements == 1);
    hone_model_free(model);
}

static void initializers_show_their_data(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    hone_tensor_info tensor;
    float w[3];
    assert_true(hone_value_get_tensor(graph, value_named(model, "w"), &tensor));
    assert_int_equal(tensor.data_bytes, sizeof(w));
    memcpy(w, tensor.data, sizeof(w));
    assert_true(w[0] == 1 && w[1] == 2 && w[2] == 3);
    assert_false(tensor.is_sparse);
    assert_false(hone_value_get_tensor(graph, value_named(model, "x"), &tensor));
    assert_string_equal(hone_elem_type_name(tensor.elem_type), "float");
    assert_int_equal(hone_elem_type_bits(22), 4);
    assert_string_equal(hone_elem_type_name(-1), "?");
    assert_string_equal(hone_elem_type_name(1000), "?");
    assert_int_equal(hone_elem_type_bits(1000), 0);
    hone_model_free(model);
}

static void texts_are_cut_like_snprintf(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    uint32_t x = value_named(model, "x");
    const char whole[] = "float[batch,3]";
    char text[32];
    int64_t size;
    for (size_t room = 1; room <= sizeof(text); room++) {
        memset(text, '#', sizeof(text));
        assert_int_equal(hone_value_type_text(graph, x, text, room), strlen(whole));
        assert_true(strlen(text) == (room <= strlen(whole) ? room - 1 : strlen(whole)));
        assert_memory_equal(text, whole, strlen(text));
        assert_true(room == sizeof(text) || text[room] == '#');
    }
    assert_int_equal(hone_value_type_text(graph, x, NULL, 0), strlen(whole));
    assert_int_equal(hone_value_dim(graph, x, 0, &size, text, 3), strlen("batch"));
    assert_int_equal(size, -1);
    assert_string_equal(text, "ba");
    assert_int_equal(hone_value_dim(graph, x, 1, &size, text, sizeof(text)), 1);
    assert_int_equal(size, 3);
    assert_string_equal(text, "3");
    assert_int_equal(hone_value_dim(graph, x, 2, &size, text, sizeof(text)), 0); /* no such axis */
    assert_int_equal(size, -1);
    assert_int_equal(hone_value_dim(graph, x, -1, &size, text, sizeof(text)), 0);
    hone_model_free(model);
}

/* One past the end, and far past it: empty, never a crash. */
static void indexes_past_the_end_are_empty(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const hone_graph *graph = hone_model_graph(model);
    const uint32_t past[] = {hone_graph_n_values(graph), HONE_NONE};
    for (size_t k = 0; k < 2; k++) {
        hone_subgraph_info subgraph;
        hone_value_info value;
        hone_node_info node;
        hone_attribute_info attribute;
        hone_tensor_info tensor;
        hone_function_info function;
        const char *text, *other;
        char type[8];
        int64_t number;
        uint64_t count;
        size_t n;
        hone_graph_get_subgraph(graph, past[k], &subgraph);
        assert_true(subgraph.n_nodes == 0 && *subgraph.name == '\0' && subgraph.owner == HONE_NONE);
        hone_graph_get_value(graph, past[k], &value);
        assert_true(*value.name == '\0' && value.kind == HONE_TYPE_UNKNOWN && value.rank == -1);
        hone_graph_get_node(graph, past[k], &node);
        assert_true(*node.op == '\0' && node.subgraph == HONE_NONE && node.n_outputs == 0);
        hone_node_get_attribute(graph, past[k], 0, &attribute);
        assert_true(*attribute.name == '\0' && attribute.n == 0);
        hone_node_get_attribute(graph, 0, past[k], &attribute);
        assert_true(attribute.kind == HONE_ATTRIBUTE_UNDEFINED);
        hone_node_get_attribute_string(graph, 0, past[k], 0, &text, &n);
        assert_true(!text && n == 0);
        assert_false(hone_value_get_tensor(graph, past[k], &tensor));
        assert_false(hone_attribute_get_tensor(graph, past[k], 0, 0, &tensor));
        assert_false(hone_attribute_get_tensor(graph, 0, past[k], 0, &tensor));
        assert_false(hone_node_macs(graph, past[k], &count));
        assert_false(hone_node_output_bytes(graph, past[k], &count));
        assert_string_equal(hone_node_origin(graph, past[k], 0), "");
        assert_string_equal(hone_node_origin(graph, 0, past[k]), "");
        assert_int_equal(hone_value_type_text(graph, past[k], type, sizeof(type)), 1);
        assert_int_equal(hone_value_dim(graph, past[k], 0, &number, type, sizeof(type)), 0);
        assert_null(hone_model_function(model, past[k], &function));
        assert_string_equal(function.name, "");
        hone_model_get_opset(model, past[k], &text, &number);
        assert_true(*text == '\0' && number == 0);
        hone_model_get_metadata(model, past[k], &text, &other);
        assert_true(*text == '\0' && *other == '\0');
    }
    hone_model_free(model);
}

/* ---- checking, shapes ------------------------------------------------------------------------ */

static void a_check_lists_all_problems(void **state) {
    (void)state;
    hone_model *model = model_from("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                                   "g (float[N,3] x) => (float[N,3] y) {\n"
                                   "  [act] a = Reluu (x)\n"
                                   "  [soft] y = Softmax <beta = 1> (nothing)\n}\n");
    hone_problems *problems;
    hone_problem p;
    expect_ok(hone_model_check(model, &problems, &error));
    assert_int_equal(hone_problems_count(problems, HONE_ERROR), 3);
    assert_int_equal(hone_problems_listed(problems),
                     3 + hone_problems_count(problems, HONE_WARNING));
    bool found = false;
    for (uint32_t i = 0; i < hone_problems_listed(problems); i++) {
        hone_problems_get(problems, i, &p);
        assert_int_not_equal(p.code, HONE_OK);
        assert_true(strlen(p.message) > 10);
        found |= !strcmp(p.node, "act") && !strcmp(p.op, "Reluu");
    }
    assert_true(found);
    hone_problems_get(problems, hone_problems_listed(problems), &p);
    assert_true(*p.message == '\0' && p.code == HONE_OK);
    hone_problems_free(problems);
    hone_model_free(model);
}

static void inference_gives_types(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    assert_int_equal(count_problems(model), 0);
    expect_ok(hone_model_infer(model, &error));
    expect_type(model, "c", "float[batch,3]");
    expect_type(model, "seen", "float[batch,3]");
    expect_ok(hone_model_fix_dim(model, "batch", 4, &error));
    expect_ok(hone_model_infer(model, &error));
    expect_type(model, "c", "float[4,3]");
    assert_int_equal(count_problems(model), 0);
    hone_model_free(model);
}

static void dimensions_are_fixed_with_care(void **state) {
    (void)state;
    hone_model *model = model_from(BRANCHES);
    const int64_t good[] = {5, 3}, bad[] = {5, 4}, negative[] = {-1, 3};
    expect_failure(hone_model_fix_dim(model, "btach", 4, &error), HONE_E_NOT_FOUND, "batch");
    expect_failure(hone_model_fix_dim(model, "batch", -4, &error), HONE_E_ARGUMENT, "-4");
    expect_failure(hone_model_fix_dim(model, NULL, 4, &error), HONE_E_ARGUMENT, "'name'");
    expect_failure(hone_model_fix_shape(model, "z", 2, good, &error), HONE_E_NOT_FOUND, "flag");
    expect_failure(hone_model_fix_shape(model, "x", 2, bad, &error), HONE_E_SHAPE, "5x4");
    expect_failure(hone_model_fix_shape(model, "x", 1, good, &error), HONE_E_SHAPE, "'x'");
    expect_failure(hone_model_fix_shape(model, "x", 2, negative, &error), HONE_E_SHAPE, "'x'");
    expect_failure(hone_model_fix_shape(model, "x", 2, NULL, &error), HONE_E_ARGUMENT, "'dims'");
    expect_type(model, "x", "float[batch,3]");
    expect_ok(hone_model_fix_shape(model, "x", 2, good, &error));
    expect_type(model, "x", "float[5,3]");
    expect_type(model, "y", "float[5,3]");
    hone_model_free(model);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *look_at_everything(void *ctx) {
    const hone_model *model = ctx;
    const hone_graph *graph = hone_model_graph(model);
    char text[64];
    uint64_t sum = 0, n;
    for (int round = 0; round < 20; round++) {
        for (uint32_t i = 0; i < hone_graph_n_nodes(graph); i++) {
            hone_node_info node;
            hone_graph_get_node(graph, i, &node);
            sum += hone_node_macs(graph, i, &n) ? n : 1;
            sum += hone_node_output_bytes(graph, i, &n) ? n : 1;
        }
        for (uint32_t i = 0; i < hone_graph_n_values(graph); i++)
            sum += hone_value_type_text(graph, i, text, sizeof(text));
        hone_stats *stats;
        if (hone_model_get_stats(model, &stats, NULL) == HONE_OK)
            hone_stats_free(stats);
        sum += hone_graph_find_value(graph, "logits");
    }
    return (void *)(uintptr_t)sum;
}

static void expect_same_for_two_threads(hone_model *model) {
    pthread_t threads[2];
    void *sums[2];
    expect_ok(hone_model_infer(model, &error));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_at_everything, model), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], &sums[i]), 0);
    assert_ptr_equal(sums[0], sums[1]);
    hone_model_free(model);
}

static void two_threads_read_one_model(void **state) {
    (void)state;
    expect_same_for_two_threads(model_at(DIGITS));
    expect_same_for_two_threads(model_from(BRANCHES));
    expect_same_for_two_threads(/* sizes that are sums of symbols */
                                model_from(
                                    "<ir_version: 10, opset_import: [\"\" : 24]>\n"
                                    "g (float[b,h,s,16] q, float[b,h,t,16] k, float[b,h,p,16] past)"
                                    " => (float[b,h,s,16] y, float[b,h,u,16] kk, float[b,h,u,16] "
                                    "vv) {\n"
                                    "y, kk, vv = Attention (q, k, k, \"\", past, past)}"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_are_copied_or_borrowed),
        cmocka_unit_test(old_programs_know_fewer_options),
        cmocka_unit_test(options_must_be_set_up),
        cmocka_unit_test(null_arguments_are_errors),
        cmocka_unit_test(errors_may_go_unrecorded),
        cmocka_unit_test(a_model_tells_about_itself),
        cmocka_unit_test(functions_have_graphs_of_their_own),
        cmocka_unit_test(subgraphs_hang_on_their_nodes),
        cmocka_unit_test(values_know_their_place),
        cmocka_unit_test(attributes_of_every_kind),
        cmocka_unit_test(initializers_show_their_data),
        cmocka_unit_test(texts_are_cut_like_snprintf),
        cmocka_unit_test(indexes_past_the_end_are_empty),
        cmocka_unit_test(a_check_lists_all_problems),
        cmocka_unit_test(inference_gives_types),
        cmocka_unit_test(dimensions_are_fixed_with_care),
        cmocka_unit_test(two_threads_read_one_model),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
