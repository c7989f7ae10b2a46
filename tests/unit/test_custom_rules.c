/* Rules that a program registers. */
#include "optimize_model.h"

#include "counting_allocator.h"

/* Optimizes with these rules; verify as the options say. */
static optimized with_rules(const char *text, hone_optimize_options *options, uint32_t n,
                            const hone_rule_def *defs) {
    hone_rule_set *rules;
    expect_ok(hone_rule_set_create(NULL, &rules, &error));
    for (uint32_t i = 0; i < n; i++)
        expect_ok(hone_rule_set_add(rules, &defs[i], &error));
    options->rules = rules;
    optimized o = optimize(text, options);
    hone_rule_set_free(rules); /* reports and models need it no more */
    options->rules = NULL;
    return o;
}

static hone_rule_def rule_of(const char *name, const char *pattern,
                             hone_status (*apply)(const hone_rule_api *, hone_rule_site *)) {
    return (hone_rule_def){.abi = HONE_RULE_ABI, .name = name, .pattern = pattern, .apply = apply};
}

static optimized with_rule(const char *text, const char *pattern,
                           hone_status (*apply)(const hone_rule_api *, hone_rule_site *)) {
    hone_optimize_options options = default_options();
    hone_rule_def def = rule_of("mine", pattern, apply);
    return with_rules(text, &options, 1, &def);
}

/* ---- looking --------------------------------------------------------------------------------- */

#define SEEN                                                                  \
  "<ir_version: 10, opset_import: [\"\" : 21]>\n"                             \
  "g (float[batch,4] x) => (float[batch,2] y, int64[2] z)"                    \
  " <float[4] w = {1, 2, 3, 4}, float half = {0.5}, int64[2] s = {0, 2}> {\n" \
  "  scaled = Mul (x, w)\n"                                                   \
  "  [soft] p = Softmax <axis: int = 1> (scaled)\n"                           \
  "  a, y = Split <axis: int = 1, num_outputs: int = 2> (p)\n"                \
  "  z = Shape (a)\n"                                                         \
  "}"

static hone_status look_around(const hone_rule_api *hone, hone_rule_site *site) {
    int *n_seen = hone->context(site);
    uint32_t x = hone->value(site, "x"), w = hone->value(site, "w"), root = hone->root(site);
    uint32_t product = hone->node(site, "scaled");
    const char *domain, *text;
    size_t n_bytes;
    int64_t axis;
    float unused;
    double number;
    hone_tensor_info t;
    ++*n_seen;
    assert_int_equal(hone->abi, HONE_RULE_ABI);
    assert_string_equal(hone->op(site, root, &domain), "Softmax");
    assert_string_equal(domain, "");
    assert_string_equal(hone->op(site, product, NULL), "Mul");
    assert_string_equal(hone->op(site, 1000000, &domain), "");
    assert_int_equal(hone->input(site, root, 0), hone->value(site, "scaled"));
    assert_int_equal(hone->input(site, root, 1), HONE_NONE);
    assert_int_equal(hone->output(site, product, 0), hone->value(site, "scaled"));
    assert_int_equal(hone->node(site, "x"), HONE_NONE);
    assert_int_equal(hone->value(site, "nobody"), HONE_NONE);
    assert_true(hone->attr_int(site, root, "axis", &axis));
    assert_int_equal(axis, 1);
    assert_false(hone->attr_float(site, root, "axis", &unused));
    assert_false(hone->attr_int(site, product, "axis", &axis));
    assert_false(hone->attr_string(site, root, "axis", &text, &n_bytes));
    assert_int_equal(hone->elem_type(site, x), ELEM_FLOAT);
    assert_int_equal(hone->elem_type(site, HONE_NONE), 0);
    assert_int_equal(hone->rank(site, x), 2);
    assert_int_equal(hone->rank(site, 1000000), -1);
    assert_int_equal(hone->dim(site, x, -1), 4);
    assert_true(hone->dim(site, x, 0) < HONE_DIM_UNKNOWN); /* has a name */
    assert_int_equal(hone->dim(site, x, 2), HONE_DIM_UNKNOWN);
    assert_true(hone->same_shape(site, x, hone->value(site, "scaled")));
    assert_false(hone->same_shape(site, x, w));
    assert_int_equal(hone->n_readers(site, x), 1);
    assert_int_equal(hone->n_readers(site, 1000000), 0);
    assert_false(hone->constant(site, x, &t));
    assert_true(hone->constant(site, w, &t));
    assert_int_equal(t.n_elements, 4);
    assert_string_equal(t.name, "w");
    assert_false(hone->number(site, w, &number));
    assert_int_equal(hone->opset(site, ""), 21);
    assert_int_equal(hone->opset(site, "my.ops"), -1);
    assert_int_equal(hone_graph_n_nodes(hone->graph(site)) > 0, 1);
    return HONE_OK;
}

static hone_status look_at_defaults(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t root = hone->root(site), n;
    const int64_t *list;
    const char *text;
    size_t n_bytes;
    int64_t group;
    *(int *)hone->context(site) += 1;
    assert_true(hone->attr_string(site, root, "auto_pad", &text, &n_bytes));
    assert_memory_equal(text, "NOTSET", 6);
    assert_true(hone->attr_int(site, root, "group", &group));
    assert_int_equal(group, 1);
    assert_true(hone->attr_ints(site, root, "pads", &n, &list));
    assert_int_equal(n, 4);
    assert_false(hone->attr_ints(site, root, "strides", &n, &list));
    return HONE_OK;
}

static void a_rule_sees_its_place(void **state) {
    (void)state;
    int n_seen = 0;
    hone_optimize_options options = default_options();
    hone_rule_def def = rule_of("look", "Softmax(Mul(x, #w):scaled)", look_around);
    def.context = &n_seen;
    optimized o = with_rules(SEEN, &options, 1, &def);
    assert_true(n_seen > 0);
    assert_int_equal(o.info.n_guilty, 0);
    optimized_free(&o);
    n_seen = 0;
    def = rule_of("look", "Conv", look_at_defaults);
    def.context = &n_seen;
    o = with_rules(RUN_HEAD "g (float[1,1,4,4] x) => (float[1,1,4,4] y) <float[1,1,3,3] w = "
                            "{0,1,2,3,4,5,6,7,8}> { y = Conv <pads: ints = [1,1,1,1]> (x, w) }",
                   &options, 1, &def);
    assert_true(n_seen > 0);
    optimized_free(&o);
}

/* ---- writing --------------------------------------------------------------------------------- */

#define CHAIN                                       \
  RUN_HEAD "g (float[2,3] x) => (float[2,3] y) {\n" \
           "  [first] a = Tanh (x)\n"               \
           "  [second] y = Sin (a)\n"               \
           "}"

static hone_status write_all_kinds(const hone_rule_api *hone, hone_rule_site *site) {
    static const int64_t ints[] = {4, 5};
    static const float floats[] = {0.5f, 0.25f};
    static const float row[] = {1, 2, 3};
    const hone_attribute_info attributes[] = {
        {.name = "i", .kind = HONE_ATTRIBUTE_INT, .i = -7},
        {.name = "f", .kind = HONE_ATTRIBUTE_FLOAT, .f = 1.5f},
        {.name = "s", .kind = HONE_ATTRIBUTE_STRING, .s = "text", .s_bytes = 4},
        {.name = "ints", .kind = HONE_ATTRIBUTE_INTS, .n = 2, .ints = ints},
        {.name = "floats", .kind = HONE_ATTRIBUTE_FLOATS, .n = 2, .floats = floats}};
    const hone_tensor_info tensor = {
        .elem_type = ELEM_FLOAT, .rank = 1, .dims = (const int64_t[]){3}, .data = row};
    uint32_t inputs[] = {hone->value(site, "x"), HONE_NONE, hone->make_constant(site, &tensor),
                         hone->make_number(site, ELEM_FLOAT, 0.75), HONE_NONE};
    uint32_t node = hone->make(site, "far.away.Mixed", 5, inputs, 1, 5, attributes);
    hone->detail(site, "%d inputs", 4);
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->output(site, node, 0));
    return HONE_OK;
}

static void a_rule_writes_nodes_and_constants(void **state) {
    (void)state;
    optimized o = with_rule(CHAIN, "Sin(Tanh(x))", write_all_kinds);
    hone_rewrite w;
    hone_node_info n;
    hone_attribute_info a;
    hone_tensor_info t;
    int64_t version;
    const char *domain;
    assert_int_equal(o.info.n_guilty, 0);
    expect_operators(o.after, "far.away.Mixed");
    hone_optimization_get_rewrite(o.report, 0, &w);
    assert_string_equal(w.pass, "custom-rules");
    assert_string_equal(w.rule, "mine");
    assert_string_equal(w.node, "second");
    assert_string_equal(w.detail, "4 inputs");
    assert_int_equal(w.n_nodes_removed, 2);
    assert_int_equal(w.n_nodes_added, 1);
    const hone_graph *g = hone_model_graph(o.after);
    hone_subgraph_info top;
    hone_graph_get_subgraph(g, 0, &top);
    hone_graph_get_node(g, top.nodes[0], &n);
    assert_int_equal(n.n_inputs, 4); /* the last was none */
    assert_int_equal(n.inputs[1], HONE_NONE);
    assert_true(hone_value_get_tensor(g, n.inputs[2], &t));
    assert_int_equal(t.n_elements, 3);
    assert_true(hone_value_get_tensor(g, n.inputs[3], &t));
    assert_int_equal(t.rank, 0);
    assert_int_equal(n.n_attributes, 5);
    hone_node_get_attribute(g, top.nodes[0], 2, &a);
    assert_int_equal(a.s_bytes, 4);
    hone_node_get_attribute(g, top.nodes[0], 3, &a);
    assert_int_equal(a.ints[1], 5);
    hone_model_get_opset(o.after, 2, &domain, &version);
    assert_string_equal(domain, "far.away");
    assert_int_equal(version, 1);
    optimized_free(&o);
}

/* What Sin, Tanh or Abs computes is no Neg, nor x itself: only verification minds. */
static hone_status to_neg(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t x = hone->value(site, "x");
    uint32_t node = hone->make(site, "Neg", 1, &x, 1, 0, NULL);
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->output(site, node, 0));
    return HONE_OK;
}

static hone_status to_x(const hone_rule_api *hone, hone_rule_site *site) {
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->value(site, "x"));
    return HONE_OK;
}

static void subgraphs_are_searched_too(void **state) {
    (void)state;
    optimized o = with_rule(
        RUN_HEAD
        "g (float[2] x, bool c) => (float[2] y) {\n"
        "  y = If (c) <then_branch = t () => (float[2] p) { p = Abs (x) },\n"
        "    else_branch = e () => (float[2] q) { r = Neg (x)  s = Exp (r)  q = Neg (s) }>\n"
        "}",
        "Abs(x)", to_neg);
    assert_int_equal(count_rewrites(&o, "custom-rules", "mine"), 1);
    optimized_free(&o);
}

static void shared_values_need_leave(void **state) {
    (void)state;
    const char *text = RUN_HEAD "g (float[2] x) => (float[2] y, float[2] z) "
                                "{ a = Tanh (x)  y = Sin (a)  z = Cos (a) }";
    hone_optimize_options options = default_options();
    hone_rule_def def = rule_of("mine", "Sin(Tanh(x))", to_neg);
    optimized o = with_rules(text, &options, 1, &def);
    expect_operators(o.after, "Tanh Sin Cos");
    optimized_free(&o);
    def.allow_shared = true;
    o = with_rules(text, &options, 1, &def);
    expect_operators(o.after, "Tanh Neg Cos");
    optimized_free(&o);
}

static void a_rule_can_be_disabled(void **state) {
    (void)state;
    static const char *const names[] = {"custom-rules.mine", "custom-rules"};
    hone_rule_def defs[] = {rule_of("mine", "Sin(Tanh(x))", to_neg),
                            rule_of("other", "Sin(x)", to_neg)};
    hone_optimize_options options = default_options();
    options.disabled = &names[0];
    options.n_disabled = 1;
    optimized o = with_rules(CHAIN, &options, 2, defs);
    expect_operators(o.after, "Tanh Neg");
    optimized_free(&o);
    options.disabled = &names[1];
    o = with_rules(CHAIN, &options, 2, defs);
    expect_operators(o.after, "Tanh Sin");
    optimized_free(&o);
}

/* ---- telling --------------------------------------------------------------------------------- */

static hone_status tell_miss(const hone_rule_api *hone, hone_rule_site *site) {
    return hone->miss(site, "it is %s%%", "100");
}

static void a_rule_says_why_not(void **state) {
    (void)state;
    optimized o = with_rule(CHAIN, "Sin(Tanh(x))", tell_miss);
    assert_int_equal(o.info.n_rewrites, 0);
    expect_near_miss(&o, "mine", "it is 100%");
    optimized_free(&o);
}

/* ---- rules that are wrong -------------------------------------------------------------------- */

static hone_status fail_aloud(const hone_rule_api *hone, hone_rule_site *site) {
    return (hone->fail)(site, HONE_E_LIMIT, "no more than %d", 3);
}

static hone_status fail_silently(const hone_rule_api *hone, hone_rule_site *site) {
    (void)hone, (void)site;
    return HONE_E_NOMEM; /* its own, not ours */
}

static hone_status return_nonsense(const hone_rule_api *hone, hone_rule_site *site) {
    (void)hone, (void)site;
    return (hone_status)4711;
}

static hone_status make_nothing(const hone_rule_api *hone, hone_rule_site *site) {
    assert_int_equal(hone->make(site, NULL, 0, NULL, 1, 0, NULL), HONE_NONE);
    return HONE_OK;
}

static hone_status make_without_inputs(const hone_rule_api *hone, hone_rule_site *site) {
    assert_int_equal(hone->make(site, "Neg", 1, NULL, 1, 0, NULL), HONE_NONE);
    return HONE_OK;
}

static hone_status make_graph_attribute(const hone_rule_api *hone, hone_rule_site *site) {
    const hone_attribute_info a = {.name = "body", .kind = HONE_ATTRIBUTE_GRAPH};
    assert_int_equal(hone->make(site, "Neg", 0, NULL, 1, 1, &a), HONE_NONE);
    return HONE_OK;
}

static hone_status make_strange_constant(const hone_rule_api *hone, hone_rule_site *site) {
    const hone_tensor_info t = {
        .elem_type = ELEM_FLOAT, .rank = 2, .dims = (const int64_t[]){INT64_MAX, 3}, .data = &t};
    assert_int_equal(hone->make_constant(site, &t), HONE_NONE);
    return HONE_OK;
}

static hone_status make_strange_number(const hone_rule_api *hone, hone_rule_site *site) {
    assert_int_equal(hone->make_number(site, ELEM_STRING, 1), HONE_NONE);
    return HONE_OK;
}

static hone_status replace_by_nobody(const hone_rule_api *hone, hone_rule_site *site) {
    hone->replace(site, hone->output(site, hone->root(site), 0), 123456);
    return HONE_OK;
}

static hone_status replace_nobody(const hone_rule_api *hone, hone_rule_site *site) {
    hone->replace(site, 123456, hone->value(site, "x"));
    return HONE_OK;
}

static hone_status write_other_type(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t x = hone->value(site, "x");
    uint32_t node = hone->make(site, "Shape", 1, &x, 1, 0, NULL);
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->output(site, node, 0));
    return HONE_OK;
}

static hone_status write_unknown_attribute(const hone_rule_api *hone, hone_rule_site *site) {
    const hone_attribute_info a = {.name = "colour", .kind = HONE_ATTRIBUTE_INT};
    uint32_t x = hone->value(site, "x");
    uint32_t node = hone->make(site, "Neg", 1, &x, 1, 1, &a);
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->output(site, node, 0));
    return HONE_OK;
}

/* What comes before it and after it is delivered. */
static void a_rule_that_fails_is_switched_off(void **state) {
    (void)state;
    static const struct {
        hone_status (*apply)(const hone_rule_api *, hone_rule_site *);
        const char *phrase;
    } cases[] = {{fail_aloud, "custom-rules.mine at node 'second' (Sin): no more than 3"},
                 {fail_silently, "the rule's own function failed: internal error"},
                 {return_nonsense, "the rule's own function failed: internal error"},
                 {make_nothing, "an operator without a name"},
                 {make_without_inputs, "writes Neg with 1 inputs"},
                 {make_graph_attribute, "attribute 0 of Neg has no name"},
                 {make_strange_constant, "a constant of no known type or shape"},
                 {make_strange_number, "a number of type 8"},
                 {replace_by_nobody, "custom-rules.mine at node 'second' (Sin)"},
                 {replace_nobody, "a value that is not in the graph"},
                 {write_other_type, "int64"},
                 {write_unknown_attribute, "colour"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hone_optimize_options options = default_options();
        hone_rule_def defs[] = {rule_of("mine", "Sin(x)", cases[i].apply),
                                rule_of("other", "Tanh(x)", to_neg)};
        optimized o = with_rules(CHAIN, &options, 2, defs);
        expect_guilty(&o, "mine", cases[i].phrase);
        expect_operators(o.after, "Neg Sin");
        optimized_free(&o);
    }
}

/* A chain in which one of many rewrites changes results. */
static void verification_finds_a_wrong_rule(void **state) {
    (void)state;
    hone_optimize_options options = default_options();
    hone_rule_def defs[] = {rule_of("right", "Neg(Neg(x))", to_x),
                            rule_of("wrong", "Sin(Tanh(x))", to_x)};
    const char *text = RUN_HEAD "g (float[2,3] x) => (float[2,3] y) {\n"
                                "  a = Identity (x)\n  b = Exp (a)\n  [guilty] c = Tanh (b)\n"
                                "  [end] d = Sin (c)\n  y = Cos (d)\n}";
    options.verify = true;
    optimized o = with_rules(text, &options, 2, defs);
    hone_near_miss g;
    expect_guilty(&o, "wrong", "output 0 differs by");
    hone_optimization_get_guilty(o.report, 0, &g);
    assert_string_equal(g.pass, "custom-rules");
    assert_string_equal(g.node, "end");
    expect_operators(o.after, "Exp Tanh Sin Cos");
    assert_true(o.info.is_verified && o.info.max_difference == 0);
    optimized_free(&o);
    options.verify = false;
    o = with_rules(text, &options, 2, defs);
    assert_int_equal(o.info.n_guilty, 0);
    expect_operators(o.after, "Exp Cos");
    optimized_free(&o);
}

/* A rule that finds what it writes comes to an end, too. */
static hone_status swap_operands(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t inputs[] = {hone->value(site, "b"), hone->value(site, "a")};
    uint32_t node = hone->make(site, "Add", 2, inputs, 1, 0, NULL);
    hone->replace(site, hone->output(site, hone->root(site), 0), hone->output(site, node, 0));
    return HONE_OK;
}

static void a_rule_without_end_is_stopped(void **state) {
    (void)state;
    optimized o =
        with_rule(RUN_HEAD "g (float[2] x, float[2] z) => (float[2] y) { y = Add (x, z) }",
                  "Add(a, b)", swap_operands);
    expect_operators(o.after, "Add");
    optimized_free(&o);
}

static void what_is_no_rule_is_refused(void **state) {
    (void)state;
    hone_rule_set *rules;
    hone_rule_def def = rule_of("mine", "Sin(x)", to_x);
    expect_ok(hone_rule_set_create(NULL, &rules, &error));
    def.abi = 99;
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_UNSUPPORTED,
                   "compiled for version 99 of the interface");
    def = rule_of("", "Sin(x)", to_x);
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_ARGUMENT,
                   "name, pattern and apply");
    def = rule_of("mine", NULL, to_x);
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_ARGUMENT, "rule 'mine'");
    def = rule_of("mine", "Sin(x)", NULL);
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_ARGUMENT, "rule 'mine'");
    def = rule_of("mine", "Sin(x", to_x);
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_ARGUMENT,
                   "rule 'mine' cannot be registered");
    def = rule_of("mine", "x", to_x);
    expect_failure(hone_rule_set_add(rules, &def, &error), HONE_E_ARGUMENT, "rule 'mine'");
    expect_failure(hone_rule_set_add(rules, NULL, &error), HONE_E_ARGUMENT, "'rule' is NULL");
    expect_failure(hone_rule_set_add(NULL, &def, &error), HONE_E_ARGUMENT, "'rules' is NULL");
    expect_failure(hone_rule_set_create(NULL, NULL, &error), HONE_E_ARGUMENT, "'rules' is NULL");
    hone_rule_set_free(rules);
    hone_rule_set_free(NULL);
}

static void sets_survive_a_lack_of_memory(void **state) {
    (void)state;
    hone_rule_def def = rule_of("mine", "Add(Tanh(x), {Mul(y, 2) | Add(y, #c)})", to_x);
    for (size_t n = 1;; n++) {
        counting_allocator memory;
        hone_rule_set *rules;
        hone_error error;
        counting_init(&memory, n);
        hone_status status = hone_rule_set_create(&memory.hook, &rules, &error);
        if (status == HONE_OK)
            status = hone_rule_set_add(rules, &def, &error);
        hone_rule_set_free(rules);
        assert_true(counting_is_clean(&memory));
        assert_int_equal(status, memory.n_refused ? HONE_E_NOMEM : HONE_OK);
        if (!memory.n_refused)
            break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_rule_sees_its_place),
                                       cmocka_unit_test(a_rule_writes_nodes_and_constants),
                                       cmocka_unit_test(subgraphs_are_searched_too),
                                       cmocka_unit_test(shared_values_need_leave),
                                       cmocka_unit_test(a_rule_can_be_disabled),
                                       cmocka_unit_test(a_rule_says_why_not),
                                       cmocka_unit_test(a_rule_that_fails_is_switched_off),
                                       cmocka_unit_test(verification_finds_a_wrong_rule),
                                       cmocka_unit_test(a_rule_without_end_is_stopped),
                                       cmocka_unit_test(what_is_no_rule_is_refused),
                                       cmocka_unit_test(sets_survive_a_lack_of_memory)};
    return cmocka_run_group_tests_name("rules of one's own", tests, enter_scratch, leave_scratch);
}
