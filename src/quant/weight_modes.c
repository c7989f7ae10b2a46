/* Modes without calibration: dynamic and weight-only models; and the recurrent layers of static
 * ones. */
#include "quant/quant_int.h"
#include "quant/writer.h"

#include <math.h>

typedef struct weight_notes {
    hn_quant_report *report;
    uint32_t n_feedback; /* layers that were rounded with feedback */
    double log_gain;     /* sum over them */
} weight_notes;

static hone_status keep_quant_note(void *ctx, const hn_quant_note *note) {
    weight_notes *notes = ctx;
    hn_quant_report *r = notes->report;
    if (note->feedback_gain > 1 && isfinite(note->feedback_gain)) {
        notes->n_feedback++;
        notes->log_gain += log(note->feedback_gain);
    }
    hone_quantized_node n = {.node = hn_arena_printf(r->arena, "%s", note->node),
                             .op = hn_arena_printf(r->arena, "%s", note->op),
                             .is_quantized = note->is_quantized,
                             .reason = hn_arena_printf(r->arena, "%s", note->reason),
                             .float_bytes = note->float_bytes,
                             .quantized_bytes = note->quantized_bytes,
                             .weight_sqnr = note->weight_sqnr,
                             .input_sqnr = NAN,
                             .output_sqnr = NAN};
    r->float_bytes += n.float_bytes;
    r->quantized_bytes += n.quantized_bytes;
    bool ok = n.node && n.op && n.reason && HN_VEC_PUSH(r->arena, &r->nodes, n);
    return ok ? HONE_OK : HONE_E_NOMEM;
}

/* What both have in common. With has_halves half types are handed on; else such layers stay float.
 */
static hone_status write_options_of(const hone_quantize_options *o, weight_notes *notes,
                                    bool has_halves, hn_write_options *w) {
    hn_quant_choice *choices =
        HN_NEW_N(notes->report->arena, hn_quant_choice, (size_t)o->n_choices + 1);
    HN_TRY_PTR(choices);
    for (uint32_t i = 0; i < o->n_choices; i++) {
        hn_dtype type = (hn_dtype)o->choices[i].type;
        bool is_half = type == HN_F16 || type == HN_BF16;
        choices[i] =
            (hn_quant_choice){o->choices[i].pattern, is_half && !has_halves ? HN_F32 : type};
    }
    hn_write_options_init(w);
    w->weight = hn_quant_weight_type(o);
    w->is_per_channel = o->per_channel;
    w->is_const_b_only = o->matmul_const_b_only;
    w->n_ops = o->n_op_types;
    w->ops = o->op_types;
    w->n_excluded_ops = o->n_excluded_op_types;
    w->excluded_ops = o->excluded_op_types;
    w->n_nodes = o->n_nodes;
    w->nodes = o->nodes;
    w->n_excluded_nodes = o->n_excluded_nodes;
    w->excluded_nodes = o->excluded_nodes;
    w->n_choices = o->n_choices;
    w->choices = choices;
    w->rounding = o->search_scales ? HN_ROUND_SEARCH : HN_ROUND_RANGE;
    w->tell = keep_quant_note;
    w->ctx = notes;
    return HONE_OK;
}

hone_status hn_quant_weights(hn_model *m, const hone_quantize_options *o,
                             const hn_quant_source *source, hn_quant_report *report,
                             hone_error *err) {
    bool is_dynamic = o->mode == HONE_QUANTIZE_DYNAMIC;
    weight_notes notes = {.report = report};
    hn_write_options w;
    HN_TRY(write_options_of(o, &notes, true, &w));
    w.block = o->block_size;
    w.uses_nbits = o->format == HONE_QUANTIZE_QOPERATOR;
    w.allows_ms = o->format == HONE_QUANTIZE_QOPERATOR;
    w.accuracy_level = o->accuracy_level;
    w.samples = source;
    w.max_samples = o->max_samples;
    w.progress = o->progress;
    w.progress_ctx = o->progress_ctx;
    w.pool = source ? hn_pool_new(o->n_threads, hn_arena_allocator(m->arena)) : NULL;
    hone_status status =
        is_dynamic ? hn_quant_dynamic(m, &w, err) : hn_quant_weight_only(m, &w, err);
    hn_pool_free(w.pool);
    return status == HONE_OK && notes.n_feedback
               ? hn_quant_tell_of_feedback(report, notes.n_feedback, notes.log_gain)
               : status;
}

hone_status hn_quant_store_recurrent(hn_model *m, const hone_quantize_options *o,
                                     hn_quant_report *report, hone_error *err) {
    static const hn_write_row rows[] = {{"", "GRU", hn_write_stored_weights},
                                        {"", "LSTM", hn_write_stored_weights},
                                        {"", "RNN", hn_write_stored_weights}};
    weight_notes notes = {.report = report};
    hn_write_options w;
    bool is_any = false;
    for (hn_id id = 0; id < m->graph->nodes.n; id++)
        for (size_t i = 0; i < HN_COUNT(rows); i++)
            is_any = is_any || (hn_node_at(m->graph, id)->block != HN_NONE &&
                                hn_str_is(hn_node_at(m->graph, id)->op, rows[i].op));
    if (!is_any)
        return HONE_OK;
    HN_TRY(write_options_of(o, &notes, false, &w));
    w.block = 0;
    w.allows_ms = false;
    return hn_write_model(m, &w, false, HN_COUNT(rows), rows, err);
}
