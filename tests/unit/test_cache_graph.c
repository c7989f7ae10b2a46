/* Optimized graphs in a cache: reading returns what was written, and arbitrary bytes are
 * harmless. */
#include "run_model.h"

#include <math.h>

#include "base/base.h"
#include "onnx/onnx.h"
#include "run/session.h"
#include "plan/plan.h"
#include "run/cache_graph.h"

static hone_error err;

enum { CHANNELS = 192, N_DAMAGED = 1500 };

/* A convolution with weights that wait to be scaled, and a size that is free. */
static void write_model(const char *path) {
    char *text = malloc(CHANNELS * CHANNELS * 12 + 20000), *at = text;
    hone_model *m;
    at += sprintf(at, RUN_HEAD
                  "g (float[n,192,5,5] x) => (float[n,192,5,5] y) <float[192,192,1,1] w = {");
    for (int i = 0; i < CHANNELS * CHANNELS; i++)
        at += sprintf(at, "%s%.3f", i ? "," : "", sin(i));
    for (const char *name = "stmv"; *name; name++) {
        at += sprintf(at, "}, float[192] %c = {", *name);
        for (int i = 0; i < CHANNELS; i++)
            at += sprintf(at, "%s%.3f", i ? "," : "", 1.5 + sin(i + *name));
    }
    sprintf(at, "}> { a = Conv (x, w) b = BatchNormalization (a, s, t, m, v) c = Relu (b) "
                "d = Sigmoid (c) y = Add (d, c) }");
    m = model_from(text);
    expect_ok(hone_model_save(m, path, NULL, &error));
    hone_model_free(m);
    free(text);
}

typedef struct kept {
    hn_model *source, *optimized;
    void *bytes;
    size_t n;
} kept;

static kept keep_optimized(void) {
    kept k;
    hn_optimize_options o;
    const char *path = scratch_path("kept.onnx");
    hn_opt_log *log = hn_opt_log_new(NULL);
    write_model(path);
    assert_int_equal(hn_load_file(path, NULL, &k.source, &err), HONE_OK);
    k.optimized = hn_model_clone(k.source);
    hn_optimize_options_init(&o);
    o.level = HN_LEVEL_ALL;
    o.target = HN_TARGET_SESSION;
    o.defer_weights = true;
    assert_int_equal(hn_optimize_for_session(k.optimized, NULL, &o, log, &err), HONE_OK);
    hn_opt_log_free(log);
    assert_int_equal(hn_cached_graph_write(k.source, k.optimized, NULL, &k.bytes, &k.n), HONE_OK);
    assert_non_null(k.bytes);
    assert_true(k.n < CHANNELS * CHANNELS * sizeof(float) / 4);
    return k;
}

static void free_kept(kept *k) {
    hn_free(NULL, k->bytes, k->n);
    hn_model_free(k->optimized);
    hn_model_free(k->source);
}

static uint32_t count_scaled(const hn_model *m, const hn_model *of) {
    uint32_t n = 0;
    for (hn_id id = 0; id < m->graph->values.n; id++) {
        const hn_tensor *t = hn_value_at(m->graph, id)->init;
        if (!t || !hn_tensor_is_deferred(t) || hn_value_at(m->graph, id)->uses.n == 0)
            continue;
        assert_true((uintptr_t)hn_tensor_stored(t)->data >= (uintptr_t)of->maps.at[0].bytes.at);
        n++;
    }
    return n;
}

static void what_is_read_is_what_was_written(void **state) {
    (void)state;
    kept k = keep_optimized();
    hn_model *read;
    assert_int_equal(hn_cached_graph_read(k.source, (hn_bytes){k.bytes, k.n}, &read), HONE_OK);
    assert_non_null(read);
    const hn_block *a = hn_block_at(k.optimized->graph, 0), *b = hn_block_at(read->graph, 0);
    assert_int_equal(b->nodes.n, a->nodes.n);
    for (uint32_t i = 0; i < a->nodes.n; i++) {
        const hn_node *x = hn_node_at(k.optimized->graph, a->nodes.at[i]);
        const hn_node *y = hn_node_at(read->graph, b->nodes.at[i]);
        assert_string_equal(hn_s(y->op), hn_s(x->op));
        assert_string_equal(hn_s(y->name), hn_s(x->name));
        const hn_type *s = hn_value_at(k.optimized->graph, x->outputs[0])->type;
        const hn_type *t = hn_value_at(read->graph, y->outputs[0])->type;
        assert_non_null(t);
        assert_int_equal(t->shape.rank, s->shape.rank);
        assert_int_equal(t->elem, s->elem);
    }
    assert_int_equal(count_scaled(k.optimized, k.source), 1);
    assert_int_equal(count_scaled(read, k.source), 1);
    hn_program *program;
    assert_int_equal(hn_providers_add_ops(read, NULL, &err), HONE_OK);
    assert_int_equal(hn_program_adopt(read, k.source, NULL, &program, &err), HONE_OK);
    hn_program_free(program);
    free_kept(&k);
}

/* Whatever the bytes say: nothing is read beside the files, and what cannot be run is refused. */
static void damaged_graphs_make_no_harm(void **state) {
    (void)state;
    kept k = keep_optimized();
    uint8_t *bytes = malloc(k.n);
    hn_rng rng;
    hn_rng_seed(&rng, 5);
    for (int i = 0; i < N_DAMAGED; i++) {
        hn_model *read;
        hn_program *program = NULL;
        memcpy(bytes, k.bytes, k.n);
        for (uint64_t n = 1 + hn_rng_below(&rng, 3); n > 0; n--)
            bytes[hn_rng_below(&rng, k.n)] = (uint8_t)hn_rng_below(&rng, 256);
        size_t length = i % 4 ? k.n : (size_t)hn_rng_below(&rng, k.n);
        assert_int_equal(hn_cached_graph_read(k.source, (hn_bytes){bytes, length}, &read), HONE_OK);
        if (read && hn_providers_add_ops(read, NULL, NULL) == HONE_OK)
            hn_program_adopt(read, k.source, NULL, &program, NULL);
        hn_program_free(program);
    }
    free(bytes);
    free_kept(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_what_was_written),
        cmocka_unit_test(damaged_graphs_make_no_harm),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
