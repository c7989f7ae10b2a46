/* Which nodes are quantized, to what, and what is told of them: see writers.h, writer.h. */
#include "quant/writer.h"
#include "pass/pass.h"
#include "quant/input_moments.h"

#include <math.h>

#define IR_WITH_FREE_INITIALIZERS 4 /* from there on initializers need not be inputs */

void hn_write_options_init(hn_write_options *o) {
    *o = (hn_write_options){.weight = {.dtype = HN_I8, .is_symmetric = true},
                            .is_per_channel = true,
                            .block = 32,
                            .rounding = HN_ROUND_SEARCH,
                            .allows_ms = true,
                            .is_const_b_only = true};
}

/* ---- names ----------------------------------------------------------------------------------- */

/* After a mismatch the last `*` takes one more character. */
bool hn_quant_name_fits(const char *pattern, const char *name) {
    const char *star = NULL, *retry = NULL;
    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

static bool any_fits(uint32_t n, const char *const *patterns, const char *name) {
    for (uint32_t i = 0; i < n; i++)
        if (hn_quant_name_fits(patterns[i], name))
            return true;
    return false;
}

/* ---- the type of a node ---------------------------------------------------------------------- */

/* HN_F32: it stays as it is, for the reason in the note. */
static hn_dtype chosen_type(hn_writer *w, const hn_node *n) {
    const hn_write_options *o = w->o;
    const char *name = hn_s(n->name), *op = hn_s(n->op);
    for (uint32_t i = 0; i < o->n_choices; i++)
        if (hn_quant_name_fits(o->choices[i].pattern, name)) {
            if (o->choices[i].type == HN_F32)
                w->note.reason = "the type chosen for its name is float";
            return o->choices[i].type;
        }
    if (any_fits(o->n_excluded_nodes, o->excluded_nodes, name) ||
        any_fits(o->n_excluded_ops, o->excluded_ops, op))
        w->note.reason = "it is excluded";
    else if ((o->n_nodes && !any_fits(o->n_nodes, o->nodes, name)) ||
             (o->n_ops && !any_fits(o->n_ops, o->ops, op)))
        w->note.reason = "it is not among what shall be quantized";
    return *w->note.reason ? HN_F32 : o->weight.dtype;
}

/* Chosen types that differ from the general one are symmetric where they are signed. */
static hn_quant_type type_of(const hn_writer *w, hn_dtype dtype) {
    hn_quant_type type = w->o->weight;
    if (dtype == type.dtype)
        return type;
    bool is_unsigned = dtype == HN_U8 || dtype == HN_U4 || dtype == HN_U2 || dtype == HN_U16;
    return (hn_quant_type){.dtype = dtype,
                           .is_symmetric = !is_unsigned,
                           .is_reduced = type.is_reduced && hn_dtype_bits(dtype) == 8};
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const hn_write_row *find_write_row(const hn_node *n, uint32_t n_rows,
                                          const hn_write_row *rows) {
    const char *domain = hn_domain_is_onnx(n->domain) ? "" : hn_s(n->domain);
    for (uint32_t i = 0; i < n_rows; i++)
        if (strcmp(rows[i].op, hn_s(n->op)) == 0 && strcmp(rows[i].domain, domain) == 0)
            return &rows[i];
    return NULL;
}

static hone_status tell_of_node(hn_writer *w) {
    return w->o->tell ? w->o->tell(w->o->ctx, &w->note) : HONE_OK;
}

static hone_status begin_quant_note(hn_writer *w, hn_id node) {
    char label[256];
    const char *op = hn_s(hn_node_at(w->g, node)->op);
    hn_node_label(w->g, node, label, sizeof label);
    w->note = (hn_quant_note){.node = hn_arena_printf(w->scratch, "%s", label),
                              .op = op,
                              .weight = "",
                              .reason = "",
                              .type = HN_F32,
                              .weight_sqnr = NAN,
                              .feedback_gain = 1};
    HN_TRY_PTR(w->note.node);
    return HONE_OK;
}

static hone_status write_one(hn_writer *w, hn_id node, const hn_write_row *row, hn_dtype dtype) {
    hn_node_writer n = {.w = w, .node = node, .before = node, .type = type_of(w, dtype)};
    n.patch = hn_patch_new(w->scratch, w->g);
    HN_TRY_PTR(n.patch);
    w->note.is_quantized = true;
    hone_status status = row->write(&n);
    if (status != HONE_OK) {
        hn_error_at_node(w->err, w->g, node);
        return status;
    }
    if (w->note.is_quantized) {
        w->note.type = n.type.dtype;
        HN_TRY(hn_patch_apply(n.patch, w->g, w->err));
        for (uint32_t i = 0; i < n.n_results; i++)
            hn_value_at(w->g, n.results[i][1])->type = hn_value_at(w->g, n.results[i][0])->type;
    }
    return tell_of_node(w);
}

static hone_status write_quant_node(hn_writer *w, hn_id node, uint32_t n_rows,
                                    const hn_write_row *rows) {
    const hn_node *n = hn_node_at(w->g, node);
    const hn_write_row *row = find_write_row(n, n_rows, rows);
    HN_TRY(begin_quant_note(w, node));
    hn_dtype dtype = chosen_type(w, n);
    if (dtype == HN_F16 || dtype == HN_BF16)
        return HN_VEC_PUSH(w->scratch, &w->halves[dtype == HN_BF16], node) ? HONE_OK : HONE_E_NOMEM;
    if (!row)
        return HONE_OK;
    return dtype == HN_F32 ? tell_of_node(w) : write_one(w, node, row, dtype);
}

static hone_status write_nodes(hn_writer *w, uint32_t n_rows, const hn_write_row *rows) {
    for (hn_id b = 0; b < w->g->blocks.n; b++) {
        const hn_block *block = hn_block_at(w->g, b);
        uint32_t n = block->nodes.n;
        if (n == 0)
            continue;
        const hn_id *nodes = hn_arena_copy(w->scratch, block->nodes.at, n * sizeof *nodes);
        HN_TRY_PTR(nodes); /* a copy, because nodes are added */
        for (uint32_t i = 0; i < n; i++)
            HN_TRY(write_quant_node(w, nodes[i], n_rows, rows));
    }
    return HONE_OK;
}

/* ---- the whole model ------------------------------------------------------------------------- */

static int64_t opset_for_weights(hn_dtype type, bool has_blocks) {
    switch (type) {
    case HN_I2:
    case HN_U2:
        return 25;
    case HN_I4:
    case HN_U4:
    case HN_I16:
    case HN_U16:
        return 21;
    case HN_F8E4M3FN:
    case HN_F8E4M3FNUZ:
    case HN_F8E5M2:
    case HN_F8E5M2FNUZ:
        return has_blocks ? 21 : 19;
    default:
        return has_blocks ? 21 : 13;
    }
}

static hone_status raise_opset_for_weights(hn_writer *w) {
    int64_t need = opset_for_weights(w->o->weight.dtype, !w->is_dynamic && w->o->block > 0);
    for (uint32_t i = 0; i < w->o->n_choices; i++)
        need = HN_MAX(need, opset_for_weights(w->o->choices[i].type, w->o->block > 0));
    return hn_opset_version(&w->m->opsets, NULL) < need ? hn_convert_opset(w->m, need, w->err)
                                                        : HONE_OK;
}

static hone_status check_weight_types(const hn_writer *w) {
    const hn_write_options *o = w->o;
    if (!hn_quant_supports(o->weight.dtype))
        return hn_fail(w->err, HONE_E_ARGUMENT, "weights cannot be quantized to %s",
                       hn_dtype_name(o->weight.dtype));
    for (uint32_t i = 0; i < o->n_choices; i++) {
        hn_dtype t = o->choices[i].type;
        if (!hn_quant_supports(t) && t != HN_F32 && t != HN_F16 && t != HN_BF16)
            return hn_fail(w->err, HONE_E_ARGUMENT, "nodes '%s' cannot be quantized to %s",
                           o->choices[i].pattern, hn_dtype_name(t));
    }
    return HONE_OK;
}

/* Callers of the quantized model cannot replace weights: those that are listed as inputs are so no
 * more. */
void hn_write_unlist_weights(hn_model *m) {
    hn_graph *g = m->graph;
    hn_model_raise_ir(m, IR_WITH_FREE_INITIALIZERS);
    hn_block *b = hn_block_at(g, 0);
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_value *v = hn_value_at(g, b->inputs.at[i]);
        if (v->init && v->init->dtype == HN_F32 && v->init->rank > 0) {
            v->is_input = v->is_declared = false;
            continue;
        }
        v->slot = n_kept;
        b->inputs.at[n_kept++] = b->inputs.at[i];
    }
    b->inputs.n = n_kept;
}

static hone_status watch_samples(hn_writer *w) {
    hn_quant_pass pass = {.model = w->m,
                          .source = w->o->samples,
                          .max_samples = w->o->max_samples,
                          .pool = w->o->pool,
                          .progress = w->o->progress,
                          .progress_ctx = w->o->progress_ctx};
    w->n_moments = w->g->nodes.n;
    return hn_input_moments(&pass, w->scratch, &w->moments, w->err);
}

static hone_status write_quant_graph(hn_writer *w, uint32_t n_rows, const hn_write_row *rows) {
    static const hn_dtype halves[2] = {HN_F16, HN_BF16};
    HN_TRY(check_weight_types(w));
    if (w->m->functions.n > 0)
        HN_TRY(hn_model_inline(w->m, hn_same_op, w->err));
    HN_TRY(raise_opset_for_weights(w));
    w->g = w->m->graph;
    hn_write_unlist_weights(w->m);
    HN_TRY(hn_infer_model(w->m, &(hn_infer_options){0}, w->err));
    if (w->o->samples)
        HN_TRY(watch_samples(w));
    HN_TRY(write_nodes(w, n_rows, rows));
    for (int i = 0; i < 2; i++)
        if (w->halves[i].n > 0)
            HN_TRY(hn_write_halves(w->m, halves[i], w->halves[i].n, w->halves[i].at, w->err));
    return hn_graph_remove_dead(w->g, true) == HN_NONE ? HONE_E_NOMEM : HONE_OK;
}

hone_status hn_write_model(hn_model *m, const hn_write_options *o, bool is_dynamic, uint32_t n_rows,
                           const hn_write_row *rows, hone_error *err) {
    hn_writer w = {.m = m, .o = o, .is_dynamic = is_dynamic, .err = err};
    w.scratch = hn_arena_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(w.scratch);
    hn_map_init(&w.activations, w.scratch);
    hn_map_init(&w.weights, w.scratch);
    hone_status status = write_quant_graph(&w, n_rows, rows);
    hn_arena_free(w.scratch);
    return status;
}
