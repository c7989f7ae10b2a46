/* Quantization from a model to a model: the graph is optimized, decided upon, calibrated, written.
 */
#include "pass/pass.h"
#include "quant/input_moments.h"
#include "quant/writer.h"

#include <math.h>

/* ---- before ------------------------------------------------------------------------------------------ */

/* The least opset whose QuantizeLinear knows the type. */
static int64_t opset_knowing(hn_dtype t) {
    int bits = hn_dtype_bits(t);
    if (t == HN_I2 || t == HN_U2)
        return 25;
    if (bits == 16 || bits == 4)
        return 21;
    return hn_dtype_is_float(t) ? 19 : 13;
}

static int64_t needed_opset(const hone_quantize_options *o) {
    if (o->use_qdq_contrib_ops && o->mode == HONE_QUANTIZE_STATIC &&
        o->format == HONE_QUANTIZE_QDQ && !o->block_size)
        return opset_knowing(HN_I8);
    int64_t opset = opset_knowing((hn_dtype)o->weight_type);
    if (o->mode == HONE_QUANTIZE_STATIC)
        opset = HN_MAX(opset, opset_knowing((hn_dtype)o->activation_type));
    for (uint32_t i = 0; i < o->n_overrides; i++)
        if (o->overrides[i].type && o->overrides[i].type != HN_F32)
            opset = HN_MAX(opset, opset_knowing((hn_dtype)o->overrides[i].type));
    for (uint32_t i = 0; i < o->n_choices; i++)
        if (hn_quant_supports((hn_dtype)o->choices[i].type))
            opset = HN_MAX(opset, opset_knowing((hn_dtype)o->choices[i].type));
    return o->block_size ? HN_MAX(opset, 21) : opset;
}

/* Constants become initializers, batch normalizations parts of convolutions; operators stay those
 * of the standard. */
static hone_status prepare_model(const hn_model *m, const hone_quantize_options *o, hn_model **out,
                                 hone_error *err) {
    hn_optimize_options options;
    hn_optimize_options_init(&options);
    options.level = o->level == HONE_LEVEL_NONE ? HN_LEVEL_BASIC : (hn_level)o->level;
    options.target = HN_TARGET_ONNX;
    options.is_quiet = true;
    hn_opt_log *log = hn_opt_log_new(hn_arena_allocator(m->arena));
    *out = log ? hn_model_clone(m) : NULL;
    hone_status status = *out ? hn_model_repair(*out, false, NULL, err) : HONE_E_NOMEM;
    if (status == HONE_OK)
        status = hn_model_inline(*out, hn_same_op, err);
    hn_str onnx = status == HONE_OK ? hn_intern_z((*out)->names, "") : NULL;
    if (onnx && hn_opset_version(&(*out)->opsets, onnx) < needed_opset(o))
        options.opset = needed_opset(o);
    if (status == HONE_OK)
        hn_write_unlist_weights(*out);
    if (status == HONE_OK)
        status = hn_optimize(*out, &options, log, err);
    if (status == HONE_OK)
        status = hn_quant_fold_transposes(*out, err);
    if (status == HONE_OK)
        status = hn_infer_model(*out, &(hn_infer_options){0}, err);
    hn_opt_log_free(log);
    return status;
}

static hone_status check_node_names(const hn_model *m, uint32_t n, const char *const *patterns,
                                    const char *what, hone_error *err) {
    for (uint32_t i = 0; i < n; i++) {
        bool is_found = false;
        for (hn_id id = 0; id < m->graph->nodes.n && !is_found; id++)
            is_found = hn_quant_name_fits(patterns[i], hn_s(hn_node_at(m->graph, id)->name));
        if (!is_found)
            return hn_fail(err, HONE_E_NOT_FOUND, "the model has no node '%s' to %s", patterns[i],
                           what);
    }
    return HONE_OK;
}

static bool has_tensor(const hn_graph *g, const char *name) {
    for (hn_id id = 0; id < g->values.n; id++)
        if (strcmp(hn_s(hn_value_at(g, id)->name), name) == 0)
            return true;
    return false;
}

static hone_status check_names(const hn_model *m, const hone_quantize_options *o, hone_error *err) {
    HN_TRY(check_node_names(m, o->n_nodes, o->nodes, "quantize", err));
    HN_TRY(check_node_names(m, o->n_excluded_nodes, o->excluded_nodes, "leave out", err));
    for (uint32_t i = 0; i < o->n_choices; i++)
        HN_TRY(check_node_names(m, 1, &o->choices[i].pattern, "choose a type for", err));
    for (uint32_t i = 0; i < o->n_overrides; i++)
        if (!has_tensor(m->graph, o->overrides[i].tensor))
            return hn_fail(err, HONE_E_NOT_FOUND, "the model has no tensor '%s' to override",
                           o->overrides[i].tensor);
    return HONE_OK;
}

/* Optimization may have removed tensors. */
static hone_status note_lost_overrides(const hn_model *m, const hone_quantize_options *o,
                                       hn_quant_report *report) {
    for (uint32_t i = 0; i < o->n_overrides; i++)
        if (!has_tensor(m->graph, o->overrides[i].tensor) &&
            !hn_quant_report_note(report,
                                  "the override of '%s' has no effect: optimization removed the "
                                  "tensor; --level basic may keep it",
                                  o->overrides[i].tensor))
            return HONE_E_NOMEM;
    return HONE_OK;
}

static bool is_quantized_already(const hn_graph *g) {
    static const char *const ops[] = {"QuantizeLinear", "QLinearConv",   "QLinearMatMul",
                                      "ConvInteger",    "MatMulInteger", "DynamicQuantizeLinear",
                                      "MatMulNBits"};
    for (hn_id id = 0; id < g->nodes.n; id++)
        for (size_t k = 0; k < HN_COUNT(ops); k++)
            if (hn_node_at(g, id)->block != HN_NONE && hn_str_is(hn_node_at(g, id)->op, ops[k]))
                return true;
    return false;
}

/* ---- static ------------------------------------------------------------------------------------------ */

static bool is_worth_a_line(const hn_quant_node *q) {
    return q->op && (q->is_quantized || (q->reason && q->op->role != HN_ROLE_MOVER));
}

/* Weights that stayed float count as what they are. */
static uint64_t float_weight_bytes(const hn_quant_plan *p, hn_id id) {
    const hn_quant_node *q = &p->nodes[id];
    const hn_tensor *w = q->is_quantized || q->op->weight_slot < 0
                             ? NULL
                             : hn_quant_const_input(p->g, id, (uint32_t)q->op->weight_slot);
    return w ? w->data_bytes : 0;
}

static hone_status report_nodes(hn_quant_plan *p) {
    hn_quant_report *r = p->report;
    for (hn_id id = 0; id < p->n_nodes; id++) {
        const hn_quant_node *q = &p->nodes[id];
        char label[256];
        if (!is_worth_a_line(q))
            continue;
        uint64_t kept = float_weight_bytes(p, id);
        hone_quantized_node n = {
            .node = hn_arena_printf(r->arena, "%s", hn_node_label(p->g, id, label, sizeof label)),
            .op = hn_arena_printf(r->arena, "%s", hn_s(hn_node_at(p->g, id)->op)),
            .is_quantized = q->is_quantized,
            .reason = q->is_quantized ? "" : q->reason,
            .float_bytes = q->float_bytes + kept,
            .quantized_bytes = q->quantized_bytes + kept,
            .weight_sqnr = q->weight_sqnr,
            .input_sqnr = q->input_sqnr,
            .output_sqnr = q->output_sqnr};
        if (!n.node || !n.op || !HN_VEC_PUSH(r->arena, &r->nodes, n))
            return HONE_E_NOMEM;
        r->float_bytes += n.float_bytes;
        r->quantized_bytes += n.quantized_bytes;
    }
    return HONE_OK;
}

/* The N layers with the smallest signal to noise. */
static hone_status find_sensitive(hn_quant_plan *p) {
    const char **reasons = p->float_reasons;
    if (!reasons)
        HN_TRY_PTR(reasons = HN_NEW_N(p->arena, const char *, (size_t)p->n_nodes + 1));
    for (uint32_t i = 0; i < p->options->keep_sensitive; i++) {
        hn_id worst = HN_NONE;
        for (hn_id id = 0; id < p->n_nodes; id++)
            if (!reasons[id] && !isnan(p->nodes[id].output_sqnr) &&
                (worst == HN_NONE || p->nodes[id].output_sqnr < p->nodes[worst].output_sqnr))
                worst = id;
        if (worst != HN_NONE)
            reasons[worst] = "it is one of the most sensitive layers";
    }
    p->float_reasons = reasons;
    return HONE_OK;
}

/* With less nodes than before; what was observed stays. */
static hone_status select_again(hn_quant_plan *p, hone_error *err) {
    const hn_quant_plan old = *p;
    const hn_quant_node *nodes = p->nodes;
    HN_TRY(find_sensitive(p));
    HN_TRY(hn_quant_select(p));
    for (hn_id id = 0; id < p->n_values; id++) {
        const hn_quant_value *from = &old.values[hn_quant_root(&old, id)];
        hn_quant_value *to = &p->values[id];
        to->observer = from->observer;
        if (from->has_range && to->is_quantized) {
            to->has_range = true;
            to->low = from->low;
            to->high = from->high;
            to->method = from->method;
        }
    }
    for (hn_id id = 0; id < p->n_nodes; id++) {
        p->nodes[id].input_sqnr = nodes[id].input_sqnr;
        p->nodes[id].output_sqnr = nodes[id].output_sqnr;
    }
    p->report->tensors.n = 0;
    p->n_rounded = 0;
    p->rounding_gain = 0;
    return hn_quant_settle(p, err);
}

/* Weights of channels that are computed in float are 0, and make up for nothing. */
static void forget_channels(const hn_quant_plan *p, hn_id node, const hn_kept_channels *kept) {
    hn_moments *m = node == HN_NONE ? NULL : p->moments[node];
    for (uint64_t c = 0; m && m->k == kept->n_channels && c < m->k; c++)
        for (uint64_t i = 0; kept->is_kept[c] && i < m->k; i++)
            m->sums[c * m->k + i] = m->sums[i * m->k + c] = 0;
}

static hone_status watch_inputs_of_layers(hn_quant_plan *p, hone_error *err) {
    hn_quant_pass pass = hn_quant_pass_of(p, NULL, NULL);
    if (!p->source)
        return hn_fail(err, HONE_E_ARGUMENT, "rounding of weights (gptq) needs samples");
    HN_TRY(hn_input_moments(&pass, p->arena, &p->moments, err));
    for (uint32_t i = 0; i < p->kept_channels.n; i++) {
        const hn_value *v = hn_value_at(p->g, p->kept_channels.at[i].value);
        for (uint32_t k = 0; k < v->uses.n; k++)
            forget_channels(p, v->uses.at[k].node, &p->kept_channels.at[i]);
    }
    return HONE_OK;
}

static hone_status write_chosen_halves(hn_quant_plan *p, hn_dtype to, hone_error *err) {
    HN_VEC(hn_id) chosen = {0};
    for (hn_id id = 0; id < p->n_nodes; id++) {
        const hn_node *n = hn_node_at(p->g, id);
        if (n->block != HN_NONE && hn_quant_choice_of(p->options, hn_s(n->name)) == to &&
            !HN_VEC_PUSH(p->arena, &chosen, id))
            return HONE_E_NOMEM;
    }
    return chosen.n ? hn_write_halves(p->model, to, chosen.n, chosen.at, err) : HONE_OK;
}

static hone_status quantize_static(hn_quant_plan *p, hone_error *err) {
    const hone_quantize_options *o = p->options;
    HN_TRY(hn_quant_select(p));
    if (o->equalize)
        HN_TRY(hn_quant_equalize(p, err));
    if (o->keep_outliers)
        HN_TRY(hn_quant_keep_outliers(p, err));
    if (o->gptq)
        HN_TRY(watch_inputs_of_layers(p, err));
    HN_TRY(hn_quant_calibrate(p, err));
    if (o->explain || o->correct_bias || o->keep_sensitive)
        HN_TRY(hn_quant_measure(p, err));
    if (o->keep_sensitive)
        HN_TRY(select_again(p, err));
    HN_TRY(hn_quant_write_qdq(p, err));
    HN_TRY(report_nodes(p));
    HN_TRY(hn_quant_store_recurrent(p->model, o, p->report, err));
    HN_TRY(write_chosen_halves(p, HN_F16, err));
    HN_TRY(write_chosen_halves(p, HN_BF16, err));
    if (o->gptq)
        HN_TRY(hn_quant_tell_of_feedback(p->report, p->n_rounded, p->rounding_gain));
    return o->format == HONE_QUANTIZE_QOPERATOR
               ? hn_quant_to_qoperators(p->model, !o->standard_ops, err)
               : HONE_OK;
}

static hone_status with_plan(hn_model *m, const hone_quantize_options *o,
                             const hn_quant_source *source, hn_quant_report *report,
                             hone_error *err) {
    const hone_allocator *alloc = hn_arena_allocator(m->arena);
    hn_quant_plan p = {.model = m,
                       .g = m->graph,
                       .arena = hn_arena_new(alloc),
                       .options = o,
                       .source = source,
                       .report = report,
                       .pool = hn_pool_new(o->n_threads, alloc)};
    hone_status status = p.arena && p.pool ? quantize_static(&p, err) : HONE_E_NOMEM;
    hn_pool_free(p.pool);
    hn_arena_free(p.arena);
    return status;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

hone_status hn_quantize(const hn_model *m, const hone_quantize_options *o,
                        const hn_quant_source *source, hn_quant_report *report, hn_model **out,
                        hone_error *err) {
    *out = NULL;
    if (is_quantized_already(m->graph))
        return hn_fail(err, HONE_E_INVALID,
                       "the model is quantized already; quantize the float model it was made of");
    HN_TRY(check_names(m, o, err));
    hone_status status = prepare_model(m, o, out, err);
    if (status == HONE_OK)
        status = note_lost_overrides(*out, o, report);
    if (status == HONE_OK)
        status = o->mode == HONE_QUANTIZE_STATIC ? with_plan(*out, o, source, report, err)
                                                 : hn_quant_weights(*out, o, source, report, err);
    if (status != HONE_OK) {
        hn_model_free(*out);
        *out = NULL;
    }
    return hn_error_complete(err, status);
}
