#include "damage/trial_run.h"
#include "ir/ir.h"

#include <math.h>

enum { MAX_TRIAL_INPUTS = 64, MAX_TRIAL_RANK = 8, MAX_TRIAL_ELEMS = 1 << 14, MAX_FREE_DIM = 3 };

typedef struct trial {
    const hone_graph *graph;
    hn_rng rng;
    uint64_t seed;
    uint32_t n_inputs;
    const char *names[MAX_TRIAL_INPUTS];
    hone_value *inputs[MAX_TRIAL_INPUTS];
    hone_error *error;
} trial;

static uint32_t trial_below(trial *t, uint32_t n) {
    return (uint32_t)hn_rng_below(&t->rng, n);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* What a whole tensor is made of: one stray number among good ones goes further than all strays. */
typedef enum trial_mood {
    MOOD_INDICES,
    MOOD_SMALL,
    MOOD_STRAY,
    MOOD_EXTREME,
    MOOD_COUNT
} trial_mood;

static int64_t trial_integer(trial *t, trial_mood mood) {
    static const int64_t extremes[] = {
        INT64_MIN, INT64_MAX,     INT32_MIN,     INT32_MAX, -1,
        0,         INT64_MIN + 1, INT64_MAX - 1, 1 << 20,   (int64_t)1 << 40};
    bool is_extreme = mood == MOOD_EXTREME || (mood == MOOD_STRAY && trial_below(t, 8) == 0);
    if (is_extreme)
        return extremes[trial_below(t, HN_COUNT(extremes))];
    return mood == MOOD_SMALL ? (int64_t)trial_below(t, 9) - 3 : (int64_t)trial_below(t, 3);
}

static double trial_real(trial *t, trial_mood mood) {
    static const double extremes[] = {INFINITY, -INFINITY, NAN,    1e300,   -1e300, 3e38,
                                      1e-40,    -0.0,      9.3e18, -9.3e18, 1e-310, 4.3e9};
    bool is_extreme = mood == MOOD_EXTREME || (mood == MOOD_STRAY && trial_below(t, 8) == 0);
    if (is_extreme)
        return extremes[trial_below(t, HN_COUNT(extremes))];
    return mood == MOOD_INDICES ? (double)trial_below(t, 3) : (double)hn_rng_normal(&t->rng);
}

static bool holds_reals(hn_dtype elem) {
    switch (elem) {
    case HN_I8:
    case HN_I16:
    case HN_I32:
    case HN_I64:
    case HN_U8:
    case HN_U16:
    case HN_U32:
    case HN_U64:
    case HN_BOOL:
    case HN_I4:
    case HN_U4:
    case HN_I2:
    case HN_U2:
        return false;
    default:
        return true;
    }
}

static void fill_trial_tensor(trial *t, hn_dtype elem, hone_value *value) {
    hone_tensor_info info;
    trial_mood mood = (trial_mood)trial_below(t, MOOD_COUNT);
    hone_value_tensor(value, &info);
    uint64_t n = info.n_elements * (elem == HN_C64 || elem == HN_C128 ? 2 : 1);
    for (uint64_t i = 0; i < n; i++) {
        double real = holds_reals(elem) ? trial_real(t, mood) : 0;
        int64_t integer = holds_reals(elem) ? 0 : trial_integer(t, mood);
        if (holds_reals(elem))
            hone_value_set_f64(value, i, 1, &real);
        else
            hone_value_set_i64(value, i, 1, &integer);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Dimensions of one name are as long everywhere when the seed is odd; names may be wrong. */
static int64_t trial_dim(trial *t, hn_dim dim) {
    if (hn_dim_is_known(dim))
        return dim;
    bool has_name = dim != HN_DIM_UNKNOWN && t->seed % 2 == 1;
    uint64_t hash = has_name ? hn_hash64(&dim, sizeof dim, t->seed) : hn_rng_u64(&t->rng);
    return 1 + (int64_t)(hash % MAX_FREE_DIM);
}

/* False: more elements than a trial is worth. */
static bool trial_shape(trial *t, const hn_shape *shape, int32_t *rank, int64_t *dims) {
    int64_t n = 1;
    *rank = shape->rank < 0 ? (int32_t)trial_below(t, 5) : shape->rank;
    if (*rank > MAX_TRIAL_RANK)
        return false;
    for (int32_t i = 0; i < *rank; i++) {
        dims[i] = shape->rank < 0 ? (int64_t)trial_below(t, 4) : trial_dim(t, shape->dims[i]);
        if (dims[i] < 0 || dims[i] > MAX_TRIAL_ELEMS || (n *= dims[i]) > MAX_TRIAL_ELEMS)
            return false;
    }
    return true;
}

static hone_status trial_strings(trial *t, int32_t rank, const int64_t *dims, uint64_t n,
                                 hone_value **out) {
    static const char *const texts[] = {"",
                                        "a",
                                        "b",
                                        "1",
                                        "-2.5e3",
                                        "nan",
                                        "\xc3\xa9t\xc3\xa9",
                                        "\xff\xfe",
                                        "99999999999999999999",
                                        "a b,c"};
    static const char *picked[MAX_TRIAL_ELEMS];
    for (uint64_t i = 0; i < n; i++)
        picked[i] = texts[trial_below(t, HN_COUNT(texts))];
    return hone_value_create_strings(rank, dims, picked, NULL, out, t->error);
}

static hone_status trial_tensor(trial *t, const hn_type *type, hone_value **out) {
    int64_t dims[MAX_TRIAL_RANK], n = 1;
    int32_t rank;
    if (!trial_shape(t, &type->shape, &rank, dims))
        return hn_fail(t->error, HONE_E_LIMIT, "an input is too large for a trial");
    for (int32_t i = 0; i < rank; i++)
        n *= dims[i];
    if (type->elem == HN_STRING)
        return trial_strings(t, rank, dims, (uint64_t)n, out);
    hone_status status = hone_value_create((int32_t)type->elem, rank, dims, NULL, out, t->error);
    if (status == HONE_OK)
        fill_trial_tensor(t, type->elem, *out);
    return status;
}

static hone_status trial_value(trial *t, const hn_type *type, hone_value **out);

static hone_status trial_sequence(trial *t, const hn_type *item, hone_value **out) {
    hone_value *items[MAX_FREE_DIM] = {NULL};
    uint32_t n = trial_below(t, MAX_FREE_DIM + 1);
    hone_status status = HONE_OK;
    for (uint32_t i = 0; i < n && status == HONE_OK; i++)
        status = trial_value(t, item, &items[i]);
    if (status == HONE_OK)
        status = hone_value_create_sequence(n, (const hone_value *const *)items, out, t->error);
    for (uint32_t i = 0; i < n; i++)
        hone_value_free(items[i]);
    return status;
}

/* Types are not nested deeper than the loader allows. */
static hone_status trial_value(trial *t, const hn_type *type, hone_value **out) {
    if (type && type->kind == HN_TYPE_TENSOR)
        return trial_tensor(t, type, out);
    if (type && type->kind == HN_TYPE_SEQUENCE)
        return trial_sequence(t, type->inner, out);
    if (type && type->kind == HN_TYPE_OPTIONAL)
        return trial_value(t, type->inner, out);
    return hn_fail(t->error, HONE_E_UNSUPPORTED, "no trial makes an input of this kind");
}

static hone_status make_trial_inputs(trial *t) {
    hone_subgraph_info top;
    hone_graph_get_subgraph(t->graph, 0, &top);
    for (uint32_t i = 0; i < top.n_inputs; i++) {
        hone_value_info info;
        hone_graph_get_value(t->graph, top.inputs[i], &info);
        if (info.is_initializer)
            continue;
        if (t->n_inputs == MAX_TRIAL_INPUTS)
            return hn_fail(t->error, HONE_E_LIMIT, "more inputs than a trial makes");
        const hn_value *v = hn_value_at((const hn_graph *)t->graph, top.inputs[i]);
        hone_status status = trial_value(t, v->type, &t->inputs[t->n_inputs]);
        if (status != HONE_OK)
            return status;
        t->names[t->n_inputs++] = info.name;
    }
    return HONE_OK;
}

/* ---- the run --------------------------------------------------------------------------------- */

static hone_status run_trial(trial *t, hone_session *session, hone_value **outputs) {
    hone_run_options o;
    if (hone_session_n_outputs(session) > MAX_TRIAL_OUTPUTS)
        return hn_fail(t->error, HONE_E_LIMIT, "more outputs than a trial takes");
    hone_run_options_init(&o);
    o.timeout_seconds = TRIAL_SECONDS;
    return hone_session_run(session, &o, t->n_inputs, t->names,
                            (const hone_value *const *)t->inputs, 0, NULL, outputs, t->error);
}

hone_status trial_outputs(hone_session *session, const hone_model *model, uint64_t seed,
                          hone_value *outputs[MAX_TRIAL_OUTPUTS], hone_error *error) {
    trial t = {.graph = hone_model_graph(model), .seed = seed, .error = error};
    for (uint32_t i = 0; i < MAX_TRIAL_OUTPUTS; i++)
        outputs[i] = NULL;
    hn_error_clear(error);
    hn_rng_seed(&t.rng, seed);
    hone_status status = make_trial_inputs(&t);
    if (status == HONE_OK)
        status = run_trial(&t, session, outputs);
    for (uint32_t i = 0; i < MAX_TRIAL_INPUTS; i++)
        hone_value_free(t.inputs[i]);
    return status;
}

hone_status trial_run(hone_session *session, const hone_model *model, uint64_t seed,
                      hone_error *error) {
    hone_value *outputs[MAX_TRIAL_OUTPUTS];
    hone_status status = trial_outputs(session, model, seed, outputs, error);
    for (uint32_t i = 0; i < MAX_TRIAL_OUTPUTS; i++)
        hone_value_free(outputs[i]);
    return status;
}
