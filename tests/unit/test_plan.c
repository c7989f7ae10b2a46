/* Memory plans: which values share memory, and which must not. */
#include "model_text.h"
#include "plan/plan.h"

typedef struct planned {
    hn_model *model;
    hn_program *program;
    hn_plan *plan;
} planned;

/* All inputs are float tensors of these dims. */
static planned plan_of(const char *text, int32_t rank, const int64_t *dims) {
    planned p = {.model = model_from(text)};
    hone_error err = {0};
    hn_object inputs[4];
    const hn_object *given[4];
    if (hn_program_new(p.model, NULL, &p.program, &err) != HONE_OK)
        fail_msg("%s", err.message);
    uint32_t n = hn_block_at(p.program->model->graph, 0)->inputs.n;
    for (uint32_t i = 0; i < n; i++) {
        hn_object_init_borrowed(&inputs[i], HN_F32, rank, dims, NULL);
        given[i] = &inputs[i];
    }
    if (hn_plan_new(p.program, 1, n, given, &p.plan, &err) != HONE_OK)
        fail_msg("%s", err.message);
    assert_true(hn_plan_fits(p.plan, n, given));
    return p;
}

static void free_planned(planned *p) {
    hn_plan_free(p->plan);
    hn_program_free(p->program);
    hn_model_free(p->model);
}

static uint64_t offset_of(const planned *p, const char *name) {
    return p->plan->places[value_named(p->program->model->graph, name)].offset;
}

static hn_step_mode mode_of(const planned *p, const char *output) {
    hn_id producer = producer_of(p->program->model->graph, output);
    const hn_step_list *list = &p->program->blocks[0];
    for (uint32_t i = 0; i < list->n_steps; i++)
        if (list->steps[i].node == producer)
            return (hn_step_mode)p->plan->modes[i];
    fail();
    return HN_STEP_DYNAMIC;
}

/* No two values overlap in time and memory. */
static void expect_disjoint(const hn_plan *plan) {
    for (uint32_t i = 0; i < plan->n_ranges; i++)
        for (uint32_t k = 0; k < i; k++) {
            const hn_live_range *a = &plan->ranges[i], *b = &plan->ranges[k];
            bool at_once = a->first <= b->last && b->first <= a->last;
            bool overlap = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
            assert_false(at_once && overlap);
            assert_true(a->offset + a->bytes <= plan->block_bytes);
            assert_int_equal(a->offset % 64, 0);
        }
}

#define D16              \
  1, (const int64_t[]) { \
    16                   \
  }

static void views_share_the_memory_of_their_source(void **state) {
    (void)state;
    planned p = plan_of(
        TEXT_HEAD
        "g (float[n] x) => (float[n] y, float[n] z) <int64[2] s = {4, -1}, int64[1] f = {-1}> {\n"
        "  a = Neg (x) b = Reshape (a, s) c = Unsqueeze (b, f) d = LpNormalization (c)\n"
        "  e = Reshape (x, s) h = Identity (e) i = LpNormalization (h) j = Flatten (i) y = Reshape "
        "(d, f) z = Reshape (j, f) }",
        D16);
    assert_int_equal(offset_of(&p, "a"), offset_of(&p, "b"));
    assert_int_equal(offset_of(&p, "a"), offset_of(&p, "c"));
    assert_int_not_equal(offset_of(&p, "a"), offset_of(&p, "d")); /* a lives in c until d is made */
    assert_int_equal(mode_of(&p, "b"), HN_STEP_VIEW);
    assert_int_equal(mode_of(&p, "c"), HN_STEP_VIEW);
    assert_int_equal(mode_of(&p, "h"), HN_STEP_VIEW); /* of an input: not in the block */
    assert_int_equal(offset_of(&p, "h"), HN_NO_OFFSET);
    assert_int_equal(mode_of(&p, "y"), HN_STEP_PLANNED); /* outputs have memory of their own */
    assert_int_equal(offset_of(&p, "y"), HN_NO_OFFSET);
    expect_disjoint(p.plan);
    free_planned(&p);
}

static void results_lie_over_dying_arguments(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n] x, float[n] q) => (float[n] y) {\n"
                                  "  a = Add (x, q) b = Relu (a) c = Mul (b, x) d = Sub (c, b) e = "
                                  "Exp (d) y = LpNormalization (e) }",
                        D16);
    assert_int_equal(offset_of(&p, "a"), offset_of(&p, "b"));
    assert_int_not_equal(offset_of(&p, "b"), offset_of(&p, "c")); /* b is read once more */
    assert_int_equal(offset_of(&p, "d"), offset_of(&p, "c"));
    assert_int_equal(offset_of(&p, "e"), offset_of(&p, "d"));
    assert_int_equal(p.plan->block_bytes, 128);
    expect_disjoint(p.plan);
    free_planned(&p);
}

/* A view keeps its source from being written over. */
static void views_keep_their_source_alive(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n] x) => (float[n] y) <int64[1] f = {-1}> {\n"
                                  "  a = Neg (x) v = Reshape (a, f) b = Relu (a) y = Add (v, b) }",
                        D16);
    assert_int_equal(offset_of(&p, "v"), offset_of(&p, "a"));
    assert_int_not_equal(offset_of(&p, "b"), offset_of(&p, "a"));
    free_planned(&p);
}

static void other_forms_are_not_written_over(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n] x) => (bool[n,n] y) <int64[2] s = {-1, 1}> {\n"
                                  "  a = Neg (x) c = Reshape (a, s) d = Add (c, x) e = Abs (x) b = "
                                  "Greater (d, e) y = Not (b) }",
                        D16);
    assert_int_not_equal(offset_of(&p, "d"), offset_of(&p, "c"));
    assert_int_not_equal(offset_of(&p, "b"), offset_of(&p, "d"));
    expect_disjoint(p.plan);
    free_planned(&p);
}

#define D1X16            \
  2, (const int64_t[]) { \
    1, 16                \
  }

/* Inputs of a Concat are computed in place, also in nested Concats. */
static void pieces_are_made_where_they_are_joined(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD
                        "g (float[n,m] x) => (float[n,k] y) {\n"
                        "  a = Neg (x) b = Abs (x) r = Relu (b) c = Concat <axis: int = 1> (x, a, "
                        "r, a) d = Exp (x) h = Concat <axis: int = -1> (d, c) y = "
                        "LpNormalization (h) }",
                        D1X16);
    uint64_t line = 64, c = offset_of(&p, "c");
    assert_int_equal(offset_of(&p, "h") + line, c);
    assert_int_equal(offset_of(&p, "a"), c + line); /* once: its second place is a copy */
    assert_int_equal(offset_of(&p, "r"), c + 2 * line);
    assert_int_equal(offset_of(&p, "b"), c + 2 * line);
    assert_int_equal(offset_of(&p, "d"), offset_of(&p, "h"));
    assert_int_equal(p.plan->block_bytes, 5 * line);
    expect_disjoint(p.plan);
    free_planned(&p);
}

static void pieces_whose_rows_cannot_part_are_copied(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,k] y) { a = Softmax (x) c = "
                                  "Concat <axis: int = 1> (a, x) y = LpNormalization (c) }",
                        2, (const int64_t[]){2, 16});
    assert_int_not_equal(offset_of(&p, "a"), offset_of(&p, "c"));
    free_planned(&p);
}

static int64_t row_step_of(const planned *p, const char *name) {
    return p->plan->places[value_named(p->program->model->graph, name)].row_stride;
}

/* Along the last axis the inputs of a Concat are columns of the result, where their producers and
 * readers support strides; so are nested Concats. */
static void columns_are_made_in_the_result(void **state) {
    (void)state;
    planned p =
        plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,k] y) { a = Exp (x) n = Softmax (x) "
                          "c = Concat <axis: int = 1> (a, n) s = Exp (c) "
                          "d = Concat <axis: int = -1> (c, s) y = LpNormalization (d) }",
                2, (const int64_t[]){4, 16});
    uint64_t d = offset_of(&p, "d"), bytes = 16 * sizeof(float);
    assert_int_equal(offset_of(&p, "a"), d);
    assert_int_equal(offset_of(&p, "c"), d);
    assert_int_equal(offset_of(&p, "s"), d + 2 * bytes);
    assert_int_equal(row_step_of(&p, "a"), 64);
    assert_int_equal(row_step_of(&p, "c"), 64);
    assert_int_equal(row_step_of(&p, "s"), 64);
    assert_int_equal(row_step_of(&p, "d"), 0);
    assert_int_equal(row_step_of(&p, "n"), 0); /* Softmax writes rows side by side */
    expect_disjoint(p.plan);
    free_planned(&p);
}

/* Outputs of a Split are columns of its input, which may be columns of a Concat. */
static void splits_are_read_in_the_argument(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,k] y) { a = Exp (x) p, q = Split "
                                  "<axis: int = 1, num_outputs: int = 2> (a) r = Exp (q) c = "
                                  "Concat <axis: int = 1> (p, q, r) y = LpNormalization (c) }",
                        2, (const int64_t[]){4, 32});
    uint64_t c = offset_of(&p, "c"), bytes = 16 * sizeof(float);
    assert_int_equal(offset_of(&p, "a"), c);
    assert_int_equal(offset_of(&p, "p"), c);
    assert_int_equal(offset_of(&p, "q"), c + bytes);
    assert_int_equal(offset_of(&p, "r"), c + 2 * bytes);
    assert_int_equal(row_step_of(&p, "q"), 48);
    expect_disjoint(p.plan);
    free_planned(&p);
    p = plan_of(TEXT_HEAD "g (float[n,m] x) => (float[k] y) { a = Exp (x) p, q = Split <axis: int "
                          "= 0, num_outputs: int = 2> (a) s = Sub (p, q) y = ReduceSum (s) }",
                2, (const int64_t[]){4, 16});
    assert_int_equal(offset_of(&p, "q"), offset_of(&p, "a") + 2 * 64);
    assert_int_equal(row_step_of(&p, "q"), 0);
    expect_disjoint(p.plan);
    free_planned(&p);
}

/* A loop over each row of a few numbers would take longer than to copy them. */
static void short_rows_are_copied(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,k] y) { a = Exp (x) p, q = Split "
                                  "<axis: int = 1, num_outputs: int = 2> (a) r = Exp (q) c = "
                                  "Concat <axis: int = 1> (p, q, r) y = LpNormalization (c) }",
                        2, (const int64_t[]){4, 30});
    assert_int_equal(row_step_of(&p, "p"), 0);
    assert_int_equal(row_step_of(&p, "q"), 0);
    assert_int_equal(row_step_of(&p, "r"), 0);
    expect_disjoint(p.plan);
    free_planned(&p);
}

/* A result written in place over an input of the Concat, or over the whole while an input is still
 * read, would destroy data. (The large inputs make concat in place worthwhile.) */
static void joined_values_are_not_written_over(void **state) {
    (void)state;
    planned p =
        plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,k] y, float[n,m] z, float[n,o] l) {\n"
                          "  u = Concat <axis: int = 0> (x, x, x, x, x, x, x, x) v = Exp (u) "
                          "w = Concat <axis: int = 0> (u, v) l = LpNormalization (w)\n"
                          "  a = Neg (x) c = Concat <axis: int = 0> (a, x) s = Relu (a) d = "
                          "Add (c, a) z = LpNormalization (s) y = LpNormalization (d) }",
                D1X16);
    assert_int_equal(offset_of(&p, "a"), offset_of(&p, "c"));
    assert_int_not_equal(offset_of(&p, "s"), offset_of(&p, "a"));
    assert_int_not_equal(offset_of(&p, "d"), offset_of(&p, "c"));
    expect_disjoint(p.plan);
    free_planned(&p);
}

/* An input that is computed long before the others would keep the memory of the whole result
 * live. */
static void joining_must_not_cost_memory(void **state) {
    (void)state;
    planned p = plan_of(
        TEXT_HEAD "g (float[n,m] x) => (float[n,k] y) {\n"
                  "  a = Neg (x) w = Concat <axis: int = 0> (x, x, x, x, x, x) v = LpNormalization "
                  "(w) t = ReduceSum (v) b = Add (t, x) c = Concat <axis: int = 0> (a, b, x, x, x, "
                  "x, x, x) y = LpNormalization (c) }",
        D1X16);
    assert_int_not_equal(offset_of(&p, "a"), offset_of(&p, "c"));
    expect_disjoint(p.plan);
    free_planned(&p);
}

static void captured_values_live_as_long_as_the_body(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n] x) => (float[n] y) {\n"
                                  "  a = Neg (x) t = ReduceSum <keepdims: int = 0> (x) flag = Cast "
                                  "<to: int = 9> (t) b = Abs (x)\n"
                                  "  c = If (flag) <then_branch = t () => (float[n] u) { u = Neg "
                                  "(a) }, else_branch = e () => "
                                  "(float[n] v) { v = Neg (x) }>\n"
                                  "  d = Add (b, c) y = LpNormalization (d) }",
                        D16);
    assert_int_not_equal(offset_of(&p, "a"), offset_of(&p, "b"));
    assert_int_equal(offset_of(&p, "c"), HN_NO_OFFSET); /* bodies hand over what they made */
    assert_int_equal(mode_of(&p, "c"), HN_STEP_DYNAMIC);
    assert_int_equal(mode_of(&p, "d"), HN_STEP_PLANNED);
    expect_disjoint(p.plan);
    free_planned(&p);
}

static void shapes_by_data_are_not_planned(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n] x) => (int64[1,m] y) { i = NonZero (x) s = Shape "
                                  "(i) y = Neg (i) z = Neg (s) }",
                        D16);
    assert_int_equal(mode_of(&p, "i"), HN_STEP_DYNAMIC);
    assert_int_equal(offset_of(&p, "i"), HN_NO_OFFSET);
    assert_int_equal(mode_of(&p, "y"), HN_STEP_DYNAMIC);
    free_planned(&p);
}

static void plans_fit_their_shapes_only(void **state) {
    (void)state;
    planned p = plan_of(TEXT_HEAD "g (float[n,m] x) => (float[n,m] y) { y = Neg (x) }", 2,
                        (const int64_t[]){2, 3});
    hn_object o;
    const hn_object *given = &o, *nothing = NULL;
    hn_object_init_borrowed(&o, HN_F32, 2, (const int64_t[]){3, 2}, NULL);
    assert_false(hn_plan_fits(p.plan, 1, &given));
    hn_object_init_borrowed(&o, HN_F64, 2, (const int64_t[]){2, 3}, NULL);
    assert_false(hn_plan_fits(p.plan, 1, &given));
    hn_object_init_borrowed(&o, HN_F32, 1, (const int64_t[]){2}, NULL);
    assert_false(hn_plan_fits(p.plan, 1, &given));
    assert_false(hn_plan_fits(p.plan, 1, &nothing));
    assert_false(hn_plan_fits(p.plan, 0, NULL));
    free_planned(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_share_the_memory_of_their_source),
        cmocka_unit_test(results_lie_over_dying_arguments),
        cmocka_unit_test(views_keep_their_source_alive),
        cmocka_unit_test(other_forms_are_not_written_over),
        cmocka_unit_test(pieces_are_made_where_they_are_joined),
        cmocka_unit_test(pieces_whose_rows_cannot_part_are_copied),
        cmocka_unit_test(columns_are_made_in_the_result),
        cmocka_unit_test(splits_are_read_in_the_argument),
        cmocka_unit_test(short_rows_are_copied),
        cmocka_unit_test(joined_values_are_not_written_over),
        cmocka_unit_test(joining_must_not_cost_memory),
        cmocka_unit_test(captured_values_live_as_long_as_the_body),
        cmocka_unit_test(shapes_by_data_are_not_planned),
        cmocka_unit_test(plans_fit_their_shapes_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
