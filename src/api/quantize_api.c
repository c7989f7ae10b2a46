/* quantize.h. */
#include "api/value_int.h"
#include "quant/quant.h"

struct hone_quantization {
    hn_quant_report report;
};

void hone_quantize_options_init(hone_quantize_options *options) {
    *options = (hone_quantize_options){.size = sizeof *options,
                                       .activation_type = HN_U8,
                                       .weight_type = HN_I8,
                                       .weight_symmetric = -1,
                                       .per_channel = true,
                                       .matmul_const_b_only = true,
                                       .quantize_bias = true,
                                       .weight_adjust_for_int32_bias = true,
                                       .calibration = HONE_CALIBRATION_AUTO,
                                       .percentile = 99.999,
                                       .moving_average_constant = 0.01,
                                       .smooth_alpha = -1,
                                       .level = HONE_LEVEL_EXTENDED};
}

/* ---- options --------------------------------------------------------------------------------- */

static hone_status check_quant_type(int32_t type, const char *what, hone_error *error) {
    if (type > 0 && type < HN_DTYPE_COUNT && hn_quant_supports((hn_dtype)type))
        return HONE_OK;
    return hn_fail(error, HONE_E_ARGUMENT, "%s cannot be %s; use int8, uint8, int16, uint16, ...",
                   what, hn_dtype_name((hn_dtype)type));
}

static hone_status check_override(const hone_quantize_override *o, hone_error *error) {
    HN_TRY(hn_api_require(o->tensor, "tensor", error));
    if (o->type && o->type != HN_F32)
        HN_TRY(check_quant_type(o->type, "the type of an override", error));
    if (o->has_range && !(o->min <= o->max))
        return hn_fail(error, HONE_E_ARGUMENT, "the range of tensor '%s' is empty", o->tensor);
    if (o->has_params && !(o->scale > 0))
        return hn_fail(error, HONE_E_ARGUMENT, "the scale of tensor '%s' must be positive",
                       o->tensor);
    return HONE_OK;
}

static hone_status check_quantize_options(const hone_quantize_options *o, hone_error *error) {
    if (o->mode > HONE_QUANTIZE_WEIGHT_ONLY)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a mode", (int)o->mode);
    if (o->format > HONE_QUANTIZE_QOPERATOR)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a format", (int)o->format);
    if (o->calibration > HONE_CALIBRATION_AUTO)
        return hn_fail(error, HONE_E_ARGUMENT, "%d is not a calibration", (int)o->calibration);
    HN_TRY(check_quant_type(o->weight_type, "weights", error));
    HN_TRY(check_quant_type(o->activation_type, "activations", error));
    HN_TRY(hn_api_check_level(o->level, error));
    if (!(o->percentile > 0 && o->percentile <= 100))
        return hn_fail(error, HONE_E_ARGUMENT, "the percentile must be above 0, and at most 100");
    if (!(o->smooth_alpha <= 1))
        return hn_fail(error, HONE_E_ARGUMENT, "smooth_alpha must be at most 1");
    if (!(o->moving_average_constant > 0 && o->moving_average_constant <= 1))
        return hn_fail(error, HONE_E_ARGUMENT,
                       "the moving average constant must be above 0, and at most 1");
    HN_TRY(hn_api_require(!o->n_op_types || o->op_types, "op_types", error));
    HN_TRY(hn_api_require(!o->n_excluded_op_types || o->excluded_op_types, "excluded_op_types",
                          error));
    HN_TRY(hn_api_require(!o->n_float_output_op_types || o->float_output_op_types,
                          "float_output_op_types", error));
    HN_TRY(hn_api_require(!o->n_channel_axes || o->channel_axes, "channel_axes", error));
    for (uint32_t i = 0; i < o->n_channel_axes; i++)
        HN_TRY(hn_api_require(o->channel_axes[i].op_type, "channel_axes", error));
    HN_TRY(hn_api_require(!o->n_nodes || o->nodes, "nodes", error));
    HN_TRY(hn_api_require(!o->n_excluded_nodes || o->excluded_nodes, "excluded_nodes", error));
    HN_TRY(hn_api_require(!o->n_overrides || o->overrides, "overrides", error));
    HN_TRY(hn_api_require(!o->n_choices || o->choices, "choices", error));
    for (uint32_t i = 0; i < o->n_choices; i++) {
        int32_t type = o->choices[i].type;
        HN_TRY(hn_api_require(o->choices[i].pattern, "choices", error));
        if (type != HN_F32 && type != HN_F16 && type != HN_BF16)
            HN_TRY(check_quant_type(type, "the weights of a choice", error));
    }
    HN_TRY(hn_api_require(!o->samples || o->samples->read, "samples.read", error));
    for (uint32_t i = 0; i < o->n_overrides; i++)
        HN_TRY(check_override(&o->overrides[i], error));
    return HONE_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

typedef struct sample_reader {
    const hone_dataset *samples;
    const hone_allocator *alloc;
    const hn_object **objects;
    uint32_t cap;
} sample_reader;

static hone_status read_sample(void *ctx, uint64_t i, hn_quant_sample *out, hone_error *error) {
    sample_reader *r = ctx;
    hone_sample s = {.label = -1};
    hone_status status = hn_status_from_outside(r->samples->read(r->samples->ctx, i, &s, error));
    HN_TRY(hn_error_complete(error, status));
    if (s.n_inputs > r->cap) {
        void *grown = hn_realloc(r->alloc, r->objects, r->cap * sizeof *r->objects,
                                 s.n_inputs * sizeof *r->objects);
        HN_TRY_PTR(grown);
        r->objects = grown;
        r->cap = s.n_inputs;
    }
    for (uint32_t k = 0; k < s.n_inputs; k++) {
        HN_TRY(hn_api_require(s.inputs && s.inputs[k] && s.values && s.values[k], "values", error));
        r->objects[k] = s.values[k]->object;
    }
    *out = (hn_quant_sample){s.name, s.n_inputs, s.inputs, r->objects, s.batch};
    return HONE_OK;
}

/* ---- quantizing ------------------------------------------------------------------------------ */

hone_status hone_model_quantize(const hone_model *model, const hone_quantize_options *options,
                                hone_model **quantized, hone_quantization **report,
                                hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(quantized, error);
    *quantized = NULL;
    if (report)
        *report = NULL;
    HN_REQUIRE(model, error);
    hone_quantize_options o;
    hone_quantize_options_init(&o);
    if (!hn_api_read_options(&o, options, sizeof o))
        return hn_api_fail_options(error, "hone_quantize_options");
    HN_TRY(check_quantize_options(&o, error));
    const hn_model *m = model_of(model);
    sample_reader reader = {.samples = o.samples, .alloc = hn_arena_allocator(m->arena)};
    hn_quant_source source = {
        .ctx = &reader, .n_samples = o.samples ? o.samples->n_samples : 0, .read = read_sample};
    hn_quant_report *done = hn_quant_report_new(reader.alloc);
    hn_model *out = NULL;
    hone_status status =
        done ? hn_quantize(m, &o, o.samples ? &source : NULL, done, &out, error) : HONE_E_NOMEM;
    hn_free(reader.alloc, reader.objects, reader.cap * sizeof *reader.objects);
    *quantized = (hone_model *)(void *)out;
    if (report && status == HONE_OK)
        *report = (hone_quantization *)(void *)done;
    else
        hn_quant_report_free(done);
    return hn_error_complete(error, status);
}

/* ---- the report ------------------------------------------------------------------------------ */

void hone_quantization_free(hone_quantization *report) {
    if (report)
        hn_quant_report_free(&report->report);
}

void hone_quantization_get_info(const hone_quantization *report, hone_quantization_info *info) {
    const hn_quant_report *r = &report->report;
    *info = (hone_quantization_info){.n_nodes = r->nodes.n,
                                     .n_samples = r->n_samples,
                                     .float_bytes = r->float_bytes,
                                     .quantized_bytes = r->quantized_bytes,
                                     .n_notes = r->notes.n};
    for (uint32_t i = 0; i < r->nodes.n; i++)
        info->n_quantized += r->nodes.at[i].is_quantized;
}

void hone_quantization_get_node(const hone_quantization *report, uint32_t i,
                                hone_quantized_node *node) {
    *node = (hone_quantized_node){.node = "", .op = "", .reason = ""};
    if (i < report->report.nodes.n)
        *node = report->report.nodes.at[i];
}

const char *hone_quantization_note(const hone_quantization *report, uint32_t i) {
    return i < report->report.notes.n ? report->report.notes.at[i] : "";
}

hone_status hone_quantization_write_json(const hone_quantization *report, const char *label,
                                         hone_write_fn write, void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(report, error);
    HN_REQUIRE(write, error);
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, hn_arena_allocator(report->report.arena));
    hn_json_init(&j, &text, true);
    hn_quant_report_json(&report->report, label, &j);
    return hn_api_give_json(&text, write, ctx, error);
}
