/* What quantization has done. */
#include "quant/quant.h"

#include <math.h>
#include <stdio.h>

hn_quant_report *hn_quant_report_new(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    hn_quant_report *r = arena ? HN_NEW(arena, hn_quant_report) : NULL;
    if (r)
        r->arena = arena;
    else
        hn_arena_free(arena);
    return r;
}

void hn_quant_report_free(hn_quant_report *r) {
    if (r)
        hn_arena_free(r->arena);
}

bool hn_quant_report_note(hn_quant_report *r, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    const char *copy = hn_arena_printf(r->arena, "%s", text);
    return copy && HN_VEC_PUSH(r->arena, &r->notes, copy);
}

static void put_decibels(hn_json *j, const char *key, double sqnr) {
    if (isnan(sqnr))
        return;
    hn_json_key(j, key);
    hn_json_f64(j, sqnr);
}

static void put_report_node(const hone_quantized_node *n, hn_json *j) {
    hn_json_object(j);
    hn_json_key(j, "node");
    hn_json_str(j, n->node);
    hn_json_key(j, "op");
    hn_json_str(j, n->op);
    hn_json_key(j, "quantized");
    hn_json_bool(j, n->is_quantized);
    if (*n->reason) {
        hn_json_key(j, "reason");
        hn_json_str(j, n->reason);
    }
    hn_json_key(j, "float_bytes");
    hn_json_u64(j, n->float_bytes);
    hn_json_key(j, "quantized_bytes");
    hn_json_u64(j, n->quantized_bytes);
    put_decibels(j, "weight_sqnr", n->weight_sqnr);
    put_decibels(j, "input_sqnr", n->input_sqnr);
    put_decibels(j, "output_sqnr", n->output_sqnr);
    hn_json_object_end(j);
}

static void put_report_tensor(const hn_quant_tensor_info *t, hn_json *j) {
    hn_json_object(j);
    hn_json_key(j, "tensor");
    hn_json_str(j, t->name);
    hn_json_key(j, "type");
    hn_json_str(j, hn_dtype_name(t->dtype));
    hn_json_key(j, "method");
    hn_json_str(j, t->method);
    hn_json_key(j, "low");
    hn_json_f64(j, t->low);
    hn_json_key(j, "high");
    hn_json_f64(j, t->high);
    hn_json_key(j, "min");
    hn_json_f64(j, t->min);
    hn_json_key(j, "max");
    hn_json_f64(j, t->max);
    hn_json_key(j, "scale");
    hn_json_f32(j, t->params.scale);
    hn_json_key(j, "zero_point");
    hn_json_i64(j, t->params.zero);
    put_decibels(j, "sqnr", t->sqnr);
    hn_json_object_end(j);
}

void hn_quant_report_json(const hn_quant_report *r, const char *label, hn_json *j) {
    hn_json_object(j);
    if (label) {
        hn_json_key(j, "model");
        hn_json_str(j, label);
    }
    hn_json_key(j, "samples");
    hn_json_u64(j, r->n_samples);
    hn_json_key(j, "float_bytes");
    hn_json_u64(j, r->float_bytes);
    hn_json_key(j, "quantized_bytes");
    hn_json_u64(j, r->quantized_bytes);
    hn_json_key(j, "notes");
    hn_json_array(j);
    for (uint32_t i = 0; i < r->notes.n; i++)
        hn_json_str(j, r->notes.at[i]);
    hn_json_array_end(j);
    hn_json_key(j, "nodes");
    hn_json_array(j);
    for (uint32_t i = 0; i < r->nodes.n; i++)
        put_report_node(&r->nodes.at[i], j);
    hn_json_array_end(j);
    hn_json_key(j, "tensors");
    hn_json_array(j);
    for (uint32_t i = 0; i < r->tensors.n; i++)
        put_report_tensor(&r->tensors.at[i], j);
    hn_json_array_end(j);
    hn_json_object_end(j);
}

hone_status hn_quant_tell_of_feedback(hn_quant_report *report, uint32_t n_layers, double log_gain) {
    bool ok = hn_quant_report_note(
        report,
        "rounded %u layers with error feedback: the squared error of their products on the samples "
        "is %.3g times smaller",
        n_layers, n_layers ? exp(log_gain / n_layers) : 1.0);
    return ok ? HONE_OK : HONE_E_NOMEM;
}
