/* Whole hostile models. */
#include "hostile/wild.h"

#include "hone/hone.h"

#include <stdlib.h>

#define MAX_NODES 6
#define MAX_WILD_OUTPUTS 4

/* Those that onnxruntime has, mostly: it refuses others, and then nothing can be compared. */
static int64_t some_version(grower *w, int domain) {
    if (domain == HN_DOMAIN_ONNX || domain == HN_DOMAIN_NHWC)
        return w->opset;
    return domain == HN_DOMAIN_ML || grow_chance(w, 5) ? grow_between(w, 1, 5) : 1;
}

static bool is_used(const grower *w, hn_str domain) {
    if (hn_domain_is_onnx(domain))
        return true;
    for (hn_id id = 0; id < w->g->nodes.n; id++) {
        const hn_node *n = hn_node_at(w->g, id);
        if (n->block != HN_NONE && n->domain == domain)
            return true;
    }
    return false;
}

static void drop_unused_imports(grower *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->model->opsets.n; i++)
        if (is_used(w, w->model->opsets.at[i].domain))
            w->model->opsets.at[n++] = w->model->opsets.at[i];
    w->model->opsets.n = n;
}

static void import_domains(grower *w) {
    for (int d = 0; d < HN_DOMAIN_HONE; d++) {
        int64_t version = some_version(w, d);
        hn_opset import = {.domain =
                               hn_intern_z(w->model->names, hn_domain_text(NULL, (hn_domain)d)),
                           .version = version};
        if (!HN_VEC_PUSH(w->model->arena, &w->model->opsets, import))
            grow_fail("no memory");
    }
}

static void infer_wild(grower *w) {
    hone_error err = {0};
    hn_infer_options o = {.problems = NULL};
    hn_infer_model(w->model, &o, &err);
}

/* The last nodes are read by nobody: their values and some others are outputs. */
static void wild_outputs(grower *w) {
    uint32_t n = 0;
    for (uint32_t i = w->pool.n; i-- > 0 && n < MAX_WILD_OUTPUTS;) {
        hn_value *v = hn_value_at(w->g, w->pool.at[i]);
        if (v->producer == HN_NONE || v->block != 0 || (v->uses.n && grow_chance(w, 70)))
            continue;
        if (!v->type)
            v->type = hn_type_tensor(w->model->arena, HN_F32, -1, NULL);
        v->is_declared = true;
        if (!v->type || !hn_graph_add_output(w->g, 0, w->pool.at[i]))
            grow_fail("no memory");
        n++;
    }
}

static void make_wild_graph(grower *w, uint64_t seed) {
    grow_open(w, seed);
    w->opset =
        grow_chance(w, 70) ? grow_between(w, 13, HN_LATEST_OPSET - 2) : grow_between(w, 1, 12);
    w->model->opsets.n = 0;
    w->model->ir_version = 10;
    import_domains(w);
    for (uint32_t n = 1 + grow_below(w, 3); n > 0; n--)
        wild_value(w, wild_elem(w), NULL);
    bool is_alone = grow_chance(w, 40); /* gets further than one behind a node that fails */
    for (uint32_t n = is_alone ? 1 : 1 + grow_below(w, MAX_NODES); n > 0; n--) {
        wild_node(w);
        infer_wild(w);
    }
    wild_outputs(w);
    drop_unused_imports(w);
}

/* A model that was grown to run, in the hands of a grower once more. */
static bool make_grown_graph(grower *w, uint64_t seed) {
    grown g;
    if (!grow_model(seed, &g))
        return false;
    grow_open(w, ~seed);
    hn_model_free(w->model);
    w->model = g.model;
    w->g = g.model->graph;
    g.model = NULL;
    grown_free(&g);
    infer_wild(w);
    return true;
}

bool wild_model(uint64_t seed, void **data, size_t *n_bytes) {
    grower w;
    hone_error err = {0};
    if (seed & 1)
        make_wild_graph(&w, seed);
    else if (!make_grown_graph(&w, seed))
        return false;
    if (!(seed & 1) && grow_chance(&w, 60))
        wild_extremes(&w);
    if (grow_chance(&w, 60))
        wild_claims(&w);
    void *saved;
    size_t n;
    const hone_model *m = (const hone_model *)w.model;
    bool ok = hone_model_save_buffer(m, &saved, &n, &err) == HONE_OK;
    if (ok) {
        *data = malloc(n + 1);
        if (!*data)
            grow_fail("no memory");
        memcpy(*data, saved, n);
        *n_bytes = n;
        hone_buffer_free(m, saved, n);
    }
    grow_close(&w);
    return ok;
}
