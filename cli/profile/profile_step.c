/* What a profile keeps of a step: names, types, bytes, kernel. */
#include "profile/profile_run.h"

#include <string.h>

/* [{"float":[1,3]},{"int64":[]}], the format of onnxruntime; {} for values that are not tensors. */
static const char *types_of(profile *p, const hone_value *const *values, uint32_t n) {
    cli_buffer text = {0};
    hone_tensor_info info;
    cli_buffer_printf(&text, "[");
    for (uint32_t i = 0; i < n; i++) {
        cli_buffer_printf(&text, "%s{", i ? "," : "");
        if (values[i] && hone_value_tensor(values[i], &info)) {
            cli_buffer_printf(&text, "\"%s\":[", hone_elem_type_name(info.elem_type));
            for (int32_t k = 0; k < info.rank; k++)
                cli_buffer_printf(&text, k ? ",%lld" : "%lld", (long long)info.dims[k]);
            cli_buffer_printf(&text, "]");
        }
        cli_buffer_printf(&text, "}");
    }
    cli_buffer_add(&text, "]", 2);
    const char *kept = text.failed ? "[]" : profile_text(p, (const char *)text.at);
    cli_buffer_free(&text);
    return kept;
}

static uint64_t bytes_of_value(const hone_value *value) {
    hone_tensor_info info;
    return value && hone_value_tensor(value, &info) ? info.data_bytes : 0;
}

static bool is_constant_input(const hone_step *step, const hone_node_info *node, uint32_t i) {
    hone_value_info value = {0};
    if (i < node->n_inputs && node->inputs[i] != HONE_NONE)
        hone_graph_get_value(step->graph, node->inputs[i], &value);
    return value.is_initializer;
}

static bool has_byte_type(const hone_step *step, uint32_t i) {
    hone_tensor_info info;
    return i < step->n_inputs && step->inputs[i] && hone_value_tensor(step->inputs[i], &info) &&
           hone_elem_type_bits(info.elem_type) == 8;
}

/* "conv_nhwc avx512": the family of kernels with what runs of it here. */
static const char *kernel_text(profile *p, const char *kernel) {
    hone_kernel_info info;
    for (uint32_t i = 0; hone_kernel_get(i, &info); i++)
        if (info.is_picked && strcmp(info.family, kernel) == 0)
            return profile_printf(p, "%s %s", kernel, info.instruction_set);
    return profile_text(p, kernel);
}

void profile_describe(profile *p, profile_node *n, const hone_step *step) {
    hone_node_info node;
    hone_value_info value = {.name = ""};
    hone_graph_get_node(step->graph, step->node, &node);
    if (node.n_outputs && node.outputs[0] != HONE_NONE)
        hone_graph_get_value(step->graph, node.outputs[0], &value);
    profile_name_node(p, n, *step->name ? step->name : value.name, step->origins, step->n_origins);
    bool is_onnx = !*step->domain || strcmp(step->domain, "ai.onnx") == 0;
    n->domain = profile_text(p, step->domain);
    n->op = profile_printf(p, "%s%s%s", is_onnx ? "" : step->domain, is_onnx ? "" : ".", step->op);
    n->provider = profile_text(p, step->provider);
    n->kernel = kernel_text(p, step->kernel);
    n->inputs = types_of(p, step->inputs, step->n_inputs);
    n->outputs = types_of(p, step->outputs, step->n_outputs);
    n->id = step->node;
    n->macs = step->macs;
    n->is_integer = n->macs && (has_byte_type(step, 0) || has_byte_type(step, 1)) &&
                    strcmp(step->op, "MatMulNBits") != 0;
    for (uint32_t i = 0; i < step->n_inputs; i++)
        *(is_constant_input(step, &node, i) ? &n->parameter_bytes : &n->activation_bytes) +=
            bytes_of_value(step->inputs[i]);
    for (uint32_t i = 0; i < step->n_outputs; i++)
        n->output_bytes += bytes_of_value(step->outputs[i]);
}
