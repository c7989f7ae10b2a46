/* Observation of intermediate values. */
#include "prove/prove.h"

#include <math.h>

static bool is_observable(const hn_value *v) {
    return v->block == 0 && v->producer != HN_NONE && v->type && v->type->kind == HN_TYPE_TENSOR &&
           v->type->elem == HN_F32;
}

static bool is_beyond(const hn_array *a, double limit) {
    float x[HN_TILE];
    for (uint64_t i = 0; i < a->n_elems; i += HN_TILE) {
        uint64_t n = HN_MIN(a->n_elems - i, (uint64_t)HN_TILE);
        hn_load_f32(a, i, n, x);
        for (uint64_t k = 0; k < n; k++)
            if (isfinite(x[k]) && fabs((double)x[k]) > limit)
                return true;
    }
    return false;
}

static bool is_output_already(const hn_value *v) {
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE && v->uses.at[i].slot == 0)
            return true;
    return false;
}

/* The values become outputs after the existing ones. */
static bool add_outputs(hn_graph *g) {
    for (hn_id id = 0; id < g->values.n; id++)
        if (is_observable(hn_value_at(g, id)) && !is_output_already(hn_value_at(g, id)) &&
            !hn_graph_add_output(g, 0, id))
            return false;
    return true;
}

static hone_status run_observed(const hn_samples *s, const hn_model *all, double limit,
                                bool *is_large, hone_error *err) {
    hn_samples *run;
    HN_TRY(hn_samples_empty(all, &run, err));
    for (uint32_t i = 0; i < run->n_inputs && i < s->n_inputs; i++)
        run->inputs[i] = s->inputs[i]; /* borrowed */
    run->deadline_ns = s->deadline_ns;
    run->memory_limit = s->memory_limit;
    hone_status status = hn_samples_run(run, all, err);
    const hn_block *b = hn_block_at(all->graph, 0);
    for (uint32_t i = 0; status == HONE_OK && i < run->n_outputs; i++) {
        const hn_object *o = run->outputs[i];
        if (o && o->kind == HN_OBJECT_TENSOR && o->array.dtype == HN_F32)
            is_large[b->outputs.at[i]] |= is_beyond(&o->array, limit);
    }
    memset(run->inputs, 0, run->n_inputs * sizeof *run->inputs);
    hn_samples_free(run);
    return status;
}

hone_status hn_samples_find_large(const hn_samples *s, const hn_model *m, double limit,
                                  bool *is_large, hone_error *err) {
    hn_model *all = hn_model_clone(m);
    hone_status status =
        all && add_outputs(all->graph) ? run_observed(s, all, limit, is_large, err) : HONE_E_NOMEM;
    hn_model_free(all);
    return hn_error_complete(err, status);
}
