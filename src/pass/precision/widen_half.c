/* Lets sessions compute float16 and bfloat16 as float where the provider has fast kernels for float
 * alone: inputs, outputs and Casts of the model keep their types, everything between them is
 * rounded less. Weights of half precision are widened when they are packed. */
#include "pass/opset/opset.h"
#include "pass/precision/retype.h"

#define DEFERRED_BYTES 8192u /* of half precision: smaller constants are widened at once */

/* ---- which nodes ----------------------------------------------------------------------------- */

/* Their types are attributes, or what they mean depends on the type. */
static const char keeping_types[] =
    "Bernoulli|BitCast|BlackmanWindow|Cast|CastLike|Constant|ConstantOfShape|EyeLike|HammingWindow|"
    "HannWindow|MelWeightMatrix|Multinomial|PagedAttention|RandomNormal|RandomNormalLike|"
    "RandomUniform|RandomUniformLike";
static const char naming_types[] = "dtype|output_dtype|precision|to";
/* They only move elements: moving fewer bytes is better unless the elements are floats already. */
static const char moving[] =
    "Compress|Concat|DepthToSpace|Expand|Flatten|Gather|GatherElements|GatherND|Identity|Pad|"
    "Reshape|ReverseSequence|ScatterElements|ScatterND|Slice|SpaceToDepth|Split|Squeeze|Tile|"
    "Transpose|Unsqueeze";

enum { GROUP_PAST_KEYS = 3 };

static bool names_type(const hn_node *n) {
    for (uint32_t i = 0; i < n->n_attrs; i++) {
        const hn_attr *a = &n->attrs[i];
        if (a->kind == HN_ATTR_GRAPH ||
            (a->kind == HN_ATTR_INT && hn_list_names(naming_types, hn_s(a->name), a->name->n)))
            return true;
    }
    return false;
}

static bool is_made_new(const hn_retyping *w, hn_id value) {
    hn_id maker = hn_value_at(w->g, value)->producer;
    return maker != HN_NONE && w->is_new_node[maker];
}

/* True when all elements that are not constant are floats already. */
static bool moves_floats(const hn_retyping *w, const hn_node *n) {
    bool any = false;
    for (uint32_t i = 0; i < n->n_inputs; i++) {
        hn_id value = n->inputs[i];
        if (!hn_retype_is_old(w, value) || hn_facts_const(w->pass->facts, value))
            continue;
        if (!is_made_new(w, value))
            return false;
        any = true;
    }
    return any;
}

static bool is_weight_of(const hn_node *n, uint32_t slot) {
    static const char one[] = "Conv|ConvTranspose|FusedConv|FusedGemm|FusedMatMul|Gemm|MatMul",
                      two[] = "GRU|LSTM|RNN";
    return (slot == 1 && hn_list_names(one, hn_s(n->op), n->op->n)) ||
           ((slot == 1 || slot == 2) && hn_list_names(two, hn_s(n->op), n->op->n));
}

/* A Transpose of a constant that was too large to be computed. */
static bool turns_weight(const hn_retyping *w, const hn_node *n) {
    if (strcmp(hn_s(n->op), "Transpose") != 0 || !hn_facts_const(w->pass->facts, n->inputs[0]))
        return false;
    const hn_value *v = hn_value_at(w->g, n->outputs[0]);
    for (uint32_t i = 0; i < v->uses.n; i++)
        if (v->uses.at[i].node == HN_NONE ||
            !is_weight_of(hn_node_at(w->g, v->uses.at[i].node), v->uses.at[i].slot))
            return false;
    return v->uses.n > 0;
}

/* A cache that comes from outside and goes there again is not widened as a whole for each token. */
static bool has_outside_cache(const hn_retyping *w, const hn_node *n) {
    return strcmp(hn_s(n->op), "GroupQueryAttention") == 0 && n->n_inputs > GROUP_PAST_KEYS &&
           hn_retype_is_old(w, n->inputs[GROUP_PAST_KEYS]) &&
           !is_made_new(w, n->inputs[GROUP_PAST_KEYS]);
}

static bool is_widened(const hn_retyping *w, hn_id node) {
    const hn_node *n = hn_node_at(w->g, node);
    bool is_known = hn_domain_is_onnx(n->domain) || hn_str_is(n->domain, "com.microsoft");
    if (!is_known || hn_list_names(keeping_types, hn_s(n->op), n->op->n) || names_type(n) ||
        has_outside_cache(w, n) || !hn_retype_schema_fits(w, node))
        return false;
    return !hn_list_names(moving, hn_s(n->op), n->op->n) || moves_floats(w, n) ||
           turns_weight(w, n);
}

/* Outer blocks and earlier nodes first: moves follow what was decided about their inputs. */
static bool judge_widening(hn_retyping *w) {
    bool any = false;
    for (hn_id block = 0; block < w->g->blocks.n; block++) {
        const hn_block *b = hn_block_at(w->g, block);
        for (uint32_t i = 0; i < b->nodes.n; i++) {
            w->is_new_node[b->nodes.at[i]] = is_widened(w, b->nodes.at[i]);
            any |= w->is_new_node[b->nodes.at[i]];
        }
    }
    return any;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Every reader that needs floats packs it, or is a Transpose that whoever packs takes along. */
static bool is_packed_weight(const hn_retyping *w, hn_id value) {
    const hn_value *v = hn_value_at(w->g, value);
    for (uint32_t i = 0; i < v->uses.n; i++) {
        hn_id node = v->uses.at[i].node;
        if (node != HN_NONE && w->is_new_node[node] &&
            !is_weight_of(hn_node_at(w->g, node), v->uses.at[i].slot) &&
            !turns_weight(w, hn_node_at(w->g, node)))
            return false;
    }
    return true;
}

static const hn_tensor *widen_constant(const hn_retyping *w, hn_id value, const hn_tensor *t) {
    bool may_wait = w->pass->options->defer_weights && t->data_bytes >= DEFERRED_BYTES &&
                    is_packed_weight(w, value);
    const hn_tensor *later = hn_tensor_widened(may_wait ? w->g->model->arena : w->pass->scratch, t);
    const hn_tensor *made = later && !may_wait ? hn_tensor_dense(w->g->model->arena, later) : later;
    hn_model_let_go(w->g->model, t);
    return made;
}

/* ---- the pass -------------------------------------------------------------------------------- */

static bool has_values_of(const hn_graph *g, hn_dtype elem) {
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_type *t = hn_value_at(g, id)->type;
        if (t && t->kind == HN_TYPE_TENSOR && t->elem == elem)
            return true;
    }
    return false;
}

static hone_status widen_type(hn_pass *p, hn_dtype from) {
    hn_retyping w = {.pass = p,
                     .from = from,
                     .to = HN_F32,
                     .keep_io = true,
                     .keep_listed = true,
                     .convert = widen_constant};
    if (!has_values_of(p->g, from))
        return HONE_OK;
    HN_TRY(hn_retype_begin(&w));
    return judge_widening(&w) ? hn_retype_apply(&w, "widen") : HONE_OK;
}

hone_status hn_pass_widen_half(hn_pass *p) {
    bool waits = *p->wanted_opset > hn_opset_version(&p->model->opsets, NULL);
    if (!p->options->widen_half || !hn_pass_may(p, "widen") || (waits && !p->is_opset_settled))
        return HONE_OK; /* fusions absorb Casts, once they can be written */
    p->is_done = true;
    HN_TRY(widen_type(p, HN_F16));
    return widen_type(p, HN_BF16);
}
