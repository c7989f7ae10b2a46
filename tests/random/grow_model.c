/* Whole random models: inputs, steps, outputs, and free dimensions in place of some sizes. */
#include "random/grow.h"

#include <stdlib.h>

#define MAX_STEPS 10
#define MAX_OUTPUTS 8
#define MAX_SYMBOL_SIZE 8

/* ---- steps ----------------------------------------------------------------------------------- */

void grow_step(grower *w) {
    uint32_t way = grow_below(w, 100);
    if (way < 20)
        grow_arithmetic(w);
    else if (way < 25)
        grow_image(w);
    else if (way < 40)
        grow_move(w);
    else if (way < 50)
        grow_size(w);
    else if (way < 60)
        grow_linear(w);
    else if (way < 80)
        grow_formula(w);
    else if (way < 90)
        grow_any_operator(w);
    else if (way < 94)
        grow_twin(w);
    else
        grow_body(w);
}

static void grow_inputs(grower *w) {
    int32_t rank;
    int64_t dims[GROWN_MAX_RANK];
    grow_some_shape(w, &rank, dims);
    for (uint32_t n = 1 + grow_below(w, 3); n > 0; n--) {
        if (grow_chance(w, 50))
            grow_some_shape(w, &rank, dims);
        grow_input(w, grow_chance(w, 50) ? HN_F32 : grow_some_type(w), rank, dims);
    }
}

/* Initializers that a caller may replace: they are no constants. */
static void make_some_replaceable(grower *w) {
    const hn_block *b = hn_block_at(w->g, 0);
    for (uint32_t i = 0; i < b->inits.n; i++) {
        hn_value *v = hn_value_at(w->g, b->inits.at[i]);
        if (!grow_chance(w, 4))
            continue;
        v->type = hn_type_tensor(w->model->arena, v->init->dtype, v->init->rank, v->init->dims);
        v->is_declared = true;
        if (!v->type || !hn_graph_add_input(w->g, 0, b->inits.at[i]))
            grow_fail("no memory");
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool is_output(const grower *w, hn_id value) {
    const hn_block *b = hn_block_at(w->g, 0);
    for (uint32_t i = 0; i < b->outputs.n; i++)
        if (b->outputs.at[i] == value)
            return true;
    return false;
}

/* With all sizes, or with some: the rank must be there. */
static void add_output(grower *w, hn_id value, uint32_t percent_known) {
    const hn_array *a = grow_array(w, value);
    hn_dim dims[GROWN_MAX_RANK];
    if (!a || is_output(w, value) || hn_block_at(w->g, 0)->outputs.n == MAX_OUTPUTS)
        return;
    for (int32_t i = 0; i < a->rank; i++)
        dims[i] = grow_chance(w, percent_known) ? a->dims[i] : HN_DIM_UNKNOWN;
    hn_value *v = hn_value_at(w->g, value);
    if (!v->is_input)
        v->type = hn_type_tensor(w->model->arena, a->dtype, a->rank, dims);
    v->is_declared = true;
    if (!v->type || !hn_graph_add_output(w->g, 0, value))
        grow_fail("no memory");
}

/* Most of what nobody reads, and some of what somebody reads. */
static void choose_outputs(grower *w, uint32_t percent_known) {
    for (uint32_t i = 0; i < w->shown.n; i++)
        if (hn_value_at(w->g, w->shown.at[i])->producer != HN_NONE)
            add_output(w, w->shown.at[i], percent_known);
    for (hn_id id = w->g->values.n; id-- > 0;) {
        const hn_value *v = hn_value_at(w->g, id);
        bool is_made = v->block == 0 && v->producer != HN_NONE;
        if (is_made && grow_chance(w, v->uses.n == 0 ? 92 : 4))
            add_output(w, id, percent_known);
    }
}

/* ---- free dimensions ------------------------------------------------------------------------- */

/* Some sizes get a name: all of the same size the same, here and there a number stays. */
static void free_dimensions(grower *w) {
    hn_dim symbols[MAX_SYMBOL_SIZE + 1];
    const hn_block *b = hn_block_at(w->g, 0);
    for (int64_t i = 0; i <= MAX_SYMBOL_SIZE; i++)
        symbols[i] = grow_chance(w, i < 2 ? 25 : 50)
                         ? hn_dim_symbol(w->model->syms, hn_internf(w->model->names, "d%d", (int)i))
                         : i;
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_value *v = hn_value_at(w->g, b->inputs.at[i]);
        hn_dim dims[GROWN_MAX_RANK];
        for (int32_t k = 0; k < v->type->shape.rank; k++) {
            int64_t d = v->type->shape.dims[k];
            dims[k] = d <= MAX_SYMBOL_SIZE && grow_chance(w, 80) ? symbols[d] : d;
        }
        v->type = hn_type_tensor(w->model->arena, v->type->elem, v->type->shape.rank, dims);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void grow_open(grower *w, uint64_t seed) {
    *w = (grower){.arena = hn_arena_new(NULL), .model = hn_model_new(NULL)};
    hn_rng_seed(&w->rng, seed);
    w->opset = grow_between(w, 9, 23);
    w->host = (hn_eval_host){.heap = hn_heap_new(NULL),
                             .scratch = hn_arena_new(NULL),
                             .run = w,
                             .run_body = grow_run_block};
    hn_opset import = {.domain = hn_intern_z(w->model->names, ""), .version = w->opset};
    w->model->ir_version = 8;
    w->model->has_ir_version = true;
    if (!HN_VEC_PUSH(w->model->arena, &w->model->opsets, import))
        grow_fail("no memory");
    w->g = w->model->graph = hn_graph_new(w->model, &w->model->opsets);
    if (!w->g)
        grow_fail("no memory");
    hn_block_at(w->g, 0)->name = hn_intern_z(w->model->names, "g");
}

void grow_close(grower *w) {
    for (hn_id id = 0; id < w->data.n; id++)
        grow_set_data(w, id, NULL);
    hn_heap_free(w->host.heap);
    hn_arena_free(w->host.scratch);
    hn_model_free(w->model);
    hn_arena_free(w->arena);
}

hn_model *grow_read_again(const hn_model *m) {
    hn_print_options all = {.max_elems = UINT64_MAX};
    hn_strbuf text;
    hn_model *again = NULL;
    hone_error err = {0};
    hn_strbuf_init(&text, NULL);
    hn_model_print(m, &all, &text);
    if (text.failed || hn_model_parse(text.at, text.n, NULL, &again, &err) != HONE_OK)
        grow_fail(text.failed ? "no memory" : err.message);
    hn_strbuf_free(&text);
    return again;
}

/* Inputs as they were when the nodes were evaluated; initializers that can be replaced are half the
 * time, by the same. */
static void keep_inputs(grower *w, grown *out) {
    const hn_block *b = hn_block_at(w->g, 0);
    out->heap = hn_heap_new(NULL);
    out->n_inputs = b->inputs.n;
    out->inputs = calloc((size_t)out->n_inputs + 1, sizeof *out->inputs);
    if (!out->heap || !out->inputs)
        grow_fail("no memory");
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_id id = b->inputs.at[i];
        if (!hn_value_at(w->g, id)->init || grow_chance(w, 50))
            out->inputs[i] = hn_heap_copy(out->heap, w->data.at[id]);
    }
}

bool grow_model(uint64_t seed, grown *out) {
    grower w;
    *out = (grown){.model = NULL};
    grow_open(&w, seed);
    grow_inputs(&w);
    for (uint32_t n = 1 + grow_below(&w, MAX_STEPS); n > 0; n--)
        grow_step(&w);
    bool is_free = grow_chance(&w, 60);
    choose_outputs(&w, is_free ? 0 : 50);
    make_some_replaceable(&w);
    bool ok = hn_block_at(w.g, 0)->outputs.n > 0;
    if (ok) {
        keep_inputs(&w, out);
        if (is_free)
            free_dimensions(&w);
        out->model = grow_read_again(w.model);
        out->n_refused = w.n_refused;
    }
    grow_close(&w);
    return ok;
}

void grown_free(grown *g) {
    for (uint32_t i = 0; i < g->n_inputs; i++)
        if (g->inputs[i])
            hn_heap_unref(g->heap, g->inputs[i]);
    free(g->inputs);
    hn_heap_free(g->heap);
    hn_model_free(g->model);
}
