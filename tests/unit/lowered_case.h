/* Small models run twice, lowered and evaluated: the results must be the same. Shapes are those
 * that the model declares for its inputs. */
#ifndef TEST_LOWERED_CASE_H
#define TEST_LOWERED_CASE_H

#include <math.h>

#include "cpu/ops_cpu.h"
#include "model_text.h"
#include "run/run.h"

typedef struct lowered_case {
    const char *text;
    /* Values, with a space between two, whose nodes must be lowered; NULL: the results of all nodes
     * but views; "": none has to. */
    const char *lowered;
    int64_t most;     /* integer inputs lie in [-most, most); 0: 100 */
    double tolerance; /* relative to 1 + |x|; 0: the same bytes */
    bool is_tame;     /* floats are finite and small */
    bool fails;       /* both runs fail, with one message */
} lowered_case;

/* One program of the case, planned for its inputs. */
typedef struct lowered_side {
    hn_program *program;
    hn_plan *plan;
    hn_state *state;
} lowered_side;

enum { LOWERED_MOST_INPUTS = 14, LOWERED_MOST_RUNS = 2 };

typedef struct lowered_inputs {
    hn_heap *heap;
    uint32_t n;
    hn_object *at[LOWERED_MOST_INPUTS];
} lowered_inputs;

static inline uint32_t lowered_draw(uint32_t *seed, uint32_t n) {
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

static inline double lowered_float(const lowered_case *c, uint32_t *seed) {
    static const double hostile[] = {0,     -0.0, (double)NAN, (double)INFINITY, -(double)INFINITY,
                                     1e-40, 3e38, -3e38};
    double small = (double)lowered_draw(seed, 4001) / 500 - 4;
    bool is_hostile = lowered_draw(seed, 8) == 0;
    return is_hostile && !c->is_tame ? hostile[lowered_draw(seed, HN_COUNT(hostile))] : small;
}

static inline void lowered_fill(const lowered_case *c, hn_array *a, uint32_t *seed) {
    int64_t most = c->most ? c->most : 100;
    for (uint64_t i = 0; i < a->n_elems; i++) {
        if (a->dtype == HN_BOOL) {
            ((uint8_t *)a->data)[i] = lowered_draw(seed, 2) != 0;
        } else if (hn_dtype_is_int(a->dtype)) {
            int64_t v = (int64_t)lowered_draw(seed, (uint32_t)(2 * most)) - most;
            hn_store_i64(a, i, 1, &v);
        } else {
            double v = lowered_float(c, seed);
            hn_store_f64(a, i, 1, &v);
        }
    }
}

static inline lowered_inputs lowered_inputs_of(const lowered_case *c, const hn_model *m,
                                               uint32_t seed) {
    const hn_block *b = hn_block_at(m->graph, 0);
    lowered_inputs in = {.heap = hn_heap_new(NULL), .n = b->inputs.n};
    assert_true(in.heap && in.n <= LOWERED_MOST_INPUTS);
    for (uint32_t i = 0; i < in.n; i++) {
        const hn_type *t = hn_value_at(m->graph, b->inputs.at[i])->type;
        in.at[i] = hn_heap_tensor(in.heap, t->elem, t->shape.rank, t->shape.dims);
        assert_non_null(in.at[i]);
        lowered_fill(c, &in.at[i]->array, &seed);
    }
    return in;
}

static inline void lowered_inputs_free(lowered_inputs *in) {
    for (uint32_t i = 0; i < in->n; i++)
        hn_heap_unref(in->heap, in->at[i]);
    hn_heap_free(in->heap);
}

static inline lowered_side lowered_side_of(const hn_model *m, bool evaluates_all,
                                           const lowered_inputs *in, hn_pool *pool) {
    lowered_side s = {0};
    hone_error err = {0};
    hn_program_options options = {.evaluates_all = evaluates_all};
    if (hn_program_new(m, &options, &s.program, &err) != HONE_OK ||
        hn_plan_new(s.program, hn_pool_threads(pool), in->n, (const hn_object *const *)in->at,
                    &s.plan, &err) != HONE_OK)
        fail_msg("%s", err.message);
    s.plan->serial = 1; /* as a session would: 0 is no plan */
    s.state = hn_state_new(s.program, &(hn_state_options){.pool = pool});
    assert_non_null(s.state);
    return s;
}

static inline void lowered_side_free(lowered_side *s) {
    hn_state_free(s->state);
    hn_plan_free(s->plan);
    hn_program_free(s->program);
}

/* Outputs belong to the heap of the inputs, and are left in the call. */
static inline hone_status lowered_run(const lowered_side *s, const lowered_inputs *in,
                                      hone_error *err) {
    hn_call *call = hn_state_call(s->state);
    hn_state_clear_call(s->state);
    for (uint32_t i = 0; i < in->n; i++)
        call->inputs[i] = in->at[i];
    for (uint32_t i = 0; i < call->n_outputs; i++) {
        call->wanted[i] = true;
        call->heaps[i] = in->heap;
    }
    return hn_state_run(s->state, s->plan, NULL, err);
}

static inline bool lowered_is_near(double a, double b, double tolerance) {
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * (1 + fabs(b));
}

static inline void lowered_compare(const lowered_case *c, const hn_object *got,
                                   const hn_object *wanted) {
    const hn_array *a = &got->array, *b = &wanted->array;
    uint64_t bytes;
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->n_elems, b->n_elems);
    assert_true(hn_dtype_bytes(a->dtype, a->n_elems, &bytes));
    if (bytes == 0 || memcmp(a->data, b->data, (size_t)bytes) == 0)
        return;
    for (uint64_t i = 0; i < a->n_elems; i++) {
        double x, y;
        hn_load_f64(a, i, 1, &x);
        hn_load_f64(b, i, 1, &y);
        if (!lowered_is_near(x, y, c->tolerance))
            fail_msg("%s: element %u is %.9g, not %.9g", c->text, (unsigned)i, x, y);
    }
    if (c->tolerance == 0)
        fail_msg("%s: other bytes", c->text);
}

static inline void lowered_drop_outputs(const lowered_side *s, const lowered_inputs *in) {
    hn_call *call = hn_state_call(s->state);
    for (uint32_t i = 0; i < call->n_outputs; i++)
        hn_heap_unref(in->heap, call->outputs[i]);
    hn_state_clear_call(s->state);
}

static inline void lowered_run_both(const lowered_case *c, const lowered_side *lowered,
                                    const lowered_side *plain, const lowered_inputs *in) {
    hone_error why_lowered = {0}, why_plain = {0};
    hone_status got = lowered_run(lowered, in, &why_lowered);
    hone_status wanted = lowered_run(plain, in, &why_plain);
    if (got != wanted || (wanted != HONE_OK) != c->fails)
        fail_msg("%s: '%s' instead of '%s'", c->text, why_lowered.message, why_plain.message);
    assert_string_equal(why_lowered.message, why_plain.message);
    for (uint32_t i = 0; wanted == HONE_OK && i < hn_state_call(plain->state)->n_outputs; i++)
        lowered_compare(c, hn_state_call(lowered->state)->outputs[i],
                        hn_state_call(plain->state)->outputs[i]);
    lowered_drop_outputs(lowered, in);
    lowered_drop_outputs(plain, in);
}

static inline bool lowered_has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* Nodes are named by their first output. */
static inline void expect_lowered_steps(const lowered_case *c, const lowered_side *s) {
    const hn_graph *g = s->program->model->graph;
    const hn_step_list *list = &s->program->blocks[0];
    for (uint32_t i = 0; i < list->n_steps; i++) {
        const hn_node *n = hn_node_at(g, list->steps[i].node);
        const char *name = hn_s(hn_value_at(g, n->outputs[0])->name);
        bool must =
            c->lowered ? lowered_has_word(c->lowered, name) : s->plan->modes[i] != HN_STEP_VIEW;
        if (must && !s->plan->lowered[i].run)
            fail_msg("%s: %s, which makes %s, was not lowered", c->text, hn_s(n->op), name);
    }
}

/* By one thread and by several, each plan used for several runs. */
static inline void expect_lowered_case(const lowered_case *c) {
    hn_model *m = model_from(c->text);
    assert_int_equal(hn_model_add_ops(m, &hn_cpu_ops), HONE_OK);
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        hn_pool *pool = hn_pool_new(n_threads, NULL);
        assert_non_null(pool);
        lowered_inputs first = lowered_inputs_of(c, m, 1);
        lowered_side lowered = lowered_side_of(m, false, &first, pool);
        lowered_side plain = lowered_side_of(m, true, &first, pool);
        expect_lowered_steps(c, &lowered);
        for (uint32_t run = 0; run < LOWERED_MOST_RUNS; run++) {
            lowered_inputs in = lowered_inputs_of(c, m, run + 1);
            lowered_run_both(c, &lowered, &plain, &in);
            lowered_inputs_free(&in);
        }
        lowered_side_free(&lowered);
        lowered_side_free(&plain);
        lowered_inputs_free(&first);
        hn_pool_free(pool);
    }
    hn_model_free(m);
}

static inline void expect_lowered_cases(const lowered_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        expect_lowered_case(&cases[i]);
}
#define EXPECT_LOWERED_CASES(cases) expect_lowered_cases(cases, HN_COUNT(cases))

#endif
