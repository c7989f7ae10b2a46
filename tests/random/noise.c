#include "random/noise.h"

#include "ops/eval_engine.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#define FIRST_RUNS 6
#define MANY_RUNS 20       /* from then on noise is everywhere: 3 - x is nothing else when x is 3 */
#define ALL_RUNS 40        /* before it is said that noise does not explain it */
#define MOVED_ULPS 6       /* by which numbers are moved */
#define SPREADS 8          /* that results may lie beyond what was seen */
#define FEW_ULPS 64        /* of the largest element, always allowed */
#define DOUBLE_FLOOR 1e-11 /* the same for double, in which nothing is wider to compute with */

/* ---- the same -------------------------------------------------------------------------------- */

static bool is_same_number(double x, double y) {
    return x == y || (isnan(x) && isnan(y));
}

static double apart(double x, double y) {
    double d = fabs(x - y);
    return is_same_number(x, y) ? 0 : isnan(d) ? INFINITY : d;
}

static bool has_same_form(const hn_object *a, const hn_object *b) {
    if (a->kind != b->kind || a->n_items != b->n_items)
        return false;
    if (a->kind != HN_OBJECT_TENSOR)
        return true;
    return a->array.dtype == b->array.dtype && a->array.rank == b->array.rank &&
           memcmp(a->array.dims, b->array.dims, (size_t)a->array.rank * sizeof *a->array.dims) == 0;
}

static bool has_same_elements(const hn_array *a, const hn_array *b) {
    uint64_t bytes;
    if (a->dtype == HN_STRING || a->n_elems == 0)
        return true;
    if (!hn_dtype_is_float(a->dtype))
        return hn_dtype_bytes(a->dtype, a->n_elems, &bytes) &&
               memcmp(a->data, b->data, (size_t)bytes) == 0;
    for (uint64_t i = 0; i < a->n_elems; i++) {
        double x, y;
        hn_load_f64(a, i, 1, &x);
        hn_load_f64(b, i, 1, &y);
        if (!is_same_number(x, y))
            return false;
    }
    return true;
}

bool noise_is_same(const hn_object *a, const hn_object *b) {
    if (!a || !b)
        return a == b;
    if (!has_same_form(a, b))
        return false;
    if (a->kind == HN_OBJECT_TENSOR)
        return has_same_elements(&a->array, &b->array);
    for (uint32_t i = 0; i < a->n_items; i++)
        if (!noise_is_same(a->items[i], b->items[i]))
            return false;
    return true;
}

double noise_distance(const hn_object *a, const hn_object *b) {
    double worst = 0;
    if (!has_same_form(a, b) || a->kind != HN_OBJECT_TENSOR)
        return INFINITY;
    for (uint64_t i = 0; i < a->array.n_elems; i++) {
        double x, y;
        hn_load_f64(&a->array, i, 1, &x);
        hn_load_f64(&b->array, i, 1, &y);
        worst = fmax(worst, apart(x, y));
    }
    return worst;
}

/* ---- noise ----------------------------------------------------------------------------------- */

static double ulp_of(hn_dtype t) {
    return t == HN_F64 ? DBL_EPSILON : t == HN_F32 ? FLT_EPSILON : t == HN_F16 ? 0x1p-10 : 0x1p-7;
}

static bool is_one_of(hn_str op, const char *const *list) {
    for (; *list; list++)
        if (hn_str_is(op, *list))
            return true;
    return false;
}

/* Results that may lie where an input lies, and are no numbers of their own. */
static const char *const views[] = {
    "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Constant",           "Dropout",
    "If",      "Loop",    "Scan",      "Cast",    "Optional", "OptionalGetElement", NULL};
/* Hand on elements as they are. */
static const char *const movers[] = {
    "Transpose", "Slice",     "Concat",  "Split", "Gather", "Expand", "Tile",  "Pad",
    "Relu",      "Abs",       "Neg",     "Max",   "Min",    "Clip",   "Where", "Sign",
    "ReduceMax", "ReduceMin", "MaxPool", "Floor", "Ceil",   "Round",  NULL};

/* The noise of one run. */
typedef struct noise {
    hn_rng rng;
    bool is_everywhere; /* also in what is only handed on, and in inputs */
} noise;

static void move_elements(hn_rng *rng, hn_array *a) {
    double step = MOVED_ULPS * ulp_of(a->dtype);
    for (uint64_t i = 0; i < a->n_elems; i++) {
        double v;
        hn_load_f64(a, i, 1, &v);
        v *= 1 + step * (2 * hn_rng_f64(rng) - 1);
        hn_store_f64(a, i, 1, &v);
    }
}

static void move_outputs(void *ctx, const hn_step_event *sight) {
    noise *z = ctx;
    const hn_node *n = hn_node_at(sight->g, sight->step->node);
    if (is_one_of(n->op, views) || (!z->is_everywhere && is_one_of(n->op, movers)))
        return;
    for (uint32_t i = 0; i < n->n_outputs; i++) {
        hn_object *o = sight->outputs[i];
        if (o && o->kind == HN_OBJECT_TENSOR && hn_dtype_is_float(o->array.dtype))
            move_elements(&z->rng, &o->array);
    }
}

void noise_forget_signs(hn_array *a) {
    double zero = 0;
    for (uint64_t i = 0; hn_dtype_is_float(a->dtype) && i < a->n_elems; i++) {
        double v;
        hn_load_f64(a, i, 1, &v);
        if (v == 0 && signbit(v)) /* constants are not written to: they have none */
            hn_store_f64(a, i, 1, &zero);
    }
}

static bool has_wild_elements(const hn_array *a) {
    for (uint64_t i = 0; hn_dtype_is_float(a->dtype) && i < a->n_elems; i++) {
        double v;
        hn_load_f64(a, i, 1, &v);
        if (!isfinite(v))
            return true;
    }
    return false;
}

bool noise_is_wild(const contest *c) {
    const hn_graph *g = c->model->graph;
    for (uint32_t i = 0; i < c->n_inputs; i++)
        if (c->inputs[i] && has_wild_elements(&c->inputs[i]->array))
            return true;
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_tensor *t = hn_value_at(g, id)->init;
        double v;
        for (uint64_t i = 0; t && hn_dtype_is_float(t->dtype) && i < t->n_elems; i++)
            if (hn_tensor_get_f64(t, i, &v) && !isfinite(v))
                return true;
    }
    return false;
}

/* ---- what it changes ------------------------------------------------------------------------- */

/* Of one output: how far each element went. */
typedef struct spread {
    uint64_t n;
    double *far;
    double largest; /* of the finite elements */
} spread;

static void widen(spread *s, const hn_object *a, const hn_object *b) {
    bool fits = has_same_form(a, b) && a->kind == HN_OBJECT_TENSOR;
    for (uint64_t i = 0; i < s->n; i++) {
        double x = 0, y = INFINITY; /* another shape: anything may be */
        if (fits) {
            hn_load_f64(&a->array, i, 1, &x);
            hn_load_f64(&b->array, i, 1, &y);
        }
        s->far[i] = fmax(s->far[i], apart(x, y));
        if (isfinite(x))
            s->largest = fmax(s->largest, fabs(x));
    }
}

/* Copies of the inputs, real ones moved, too. */
static hn_object **move_inputs(const contest *c, hn_rng *rng) {
    hn_object **inputs = calloc((size_t)c->n_inputs + 1, sizeof *inputs);
    for (uint32_t i = 0; inputs && i < c->n_inputs; i++) {
        inputs[i] = c->inputs[i] ? hn_heap_copy(c->heap, c->inputs[i]) : NULL;
        if (inputs[i] && hn_dtype_is_float(inputs[i]->array.dtype))
            move_elements(rng, &inputs[i]->array);
    }
    return inputs;
}

static bool run_with_noise(const contest *c, uint64_t seed, spread *spreads) {
    hone_error err = {0};
    contest moved = *c;
    noise z = {.is_everywhere = seed > MANY_RUNS};
    hn_rng_seed(&z.rng, seed);
    hn_object **inputs = z.is_everywhere ? move_inputs(c, &z.rng) : NULL;
    moved.inputs = inputs ? inputs : c->inputs;
    moved.outputs = calloc((size_t)c->n_outputs + 1, sizeof *moved.outputs);
    bool ok = moved.outputs && contest_watch(&moved, move_outputs, &z, &err);
    for (uint32_t i = 0; ok && i < c->n_outputs; i++)
        widen(&spreads[i], c->outputs[i], moved.outputs[i]);
    for (uint32_t i = 0; inputs && i < c->n_inputs; i++)
        if (inputs[i])
            hn_heap_unref(c->heap, inputs[i]);
    free(inputs);
    contest_close(&moved);
    return ok;
}

/* What is not finite by itself may be anything once it is computed in another order. */
static double excess(const spread *s, const hn_object *a, const hn_object *b) {
    double worst = 0, floor = 0;
    if (!has_same_form(a, b) || a->kind != HN_OBJECT_TENSOR)
        return INFINITY;
    if (hn_dtype_is_float(a->array.dtype))
        floor = s->largest *
                (a->array.dtype == HN_F64 ? DOUBLE_FLOOR : FEW_ULPS * ulp_of(a->array.dtype));
    for (uint64_t i = 0; i < s->n; i++) {
        double x, y;
        hn_load_f64(&a->array, i, 1, &x);
        hn_load_f64(&b->array, i, 1, &y);
        double allowed = SPREADS * s->far[i] + floor;
        if (isfinite(x) && apart(x, y) > allowed)
            worst = fmax(worst, apart(x, y));
    }
    return worst;
}

static double worst_excess(const contest *c, const spread *spreads, hn_object *const *outputs,
                           uint32_t *output) {
    double worst = 0;
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        double e = excess(&spreads[i], c->outputs[i], outputs[i]);
        if (e > worst) {
            worst = e;
            *output = i;
        }
    }
    return worst;
}

bool noise_explains(const contest *c, hn_object *const *outputs, uint32_t *output, double *worst) {
    spread *spreads = calloc((size_t)c->n_outputs + 1, sizeof *spreads);
    for (uint32_t i = 0; spreads && i < c->n_outputs; i++) {
        const hn_object *o = c->outputs[i];
        spreads[i].n = o->kind == HN_OBJECT_TENSOR ? o->array.n_elems : 0;
        spreads[i].far = calloc((size_t)spreads[i].n + 1, sizeof *spreads[i].far);
    }
    *worst = INFINITY;
    for (uint64_t run = 1; spreads && run <= ALL_RUNS && *worst > 0; run++) {
        if (!run_with_noise(c, run, spreads)) { /* it fails for another reason than ours */
            *worst = 0;
            break;
        }
        if (run >= FIRST_RUNS)
            *worst = worst_excess(c, spreads, outputs, output);
    }
    for (uint32_t i = 0; spreads && i < c->n_outputs; i++)
        free(spreads[i].far);
    free(spreads);
    return *worst == 0;
}
