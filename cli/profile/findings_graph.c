/* Findings in the graph and its constants: constant work, oversized outputs, denormals. */
#include "profile/findings.h"

#include <stdlib.h>
#include <string.h>

/* ---- constant work --------------------------------------------------------------------------- */

static bool is_random_op(const char *op) {
    return strncmp(op, "Random", 6) == 0 || strcmp(op, "Bernoulli") == 0 ||
           strcmp(op, "Multinomial") == 0 || strcmp(op, "Dropout") == 0;
}

/* In the order of the graph: everything that it reads is constant. */
static bool is_constant_node(const hone_node_info *node, const bool *known) {
    if (node->subgraph != 0 || is_random_op(node->op) || strcmp(node->op, "Constant") == 0)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (node->inputs[i] != HONE_NONE && !known[node->inputs[i]])
            return false;
    return node->n_inputs > 0;
}

static const char *name_of_graph_node(const hone_graph *g, const hone_node_info *node) {
    hone_value_info value = {.name = ""};
    if (!*node->name && node->n_outputs && node->outputs[0] != HONE_NONE)
        hone_graph_get_value(g, node->outputs[0], &value);
    return *node->name ? node->name : value.name;
}

static void find_constant_work(const finding_input *in) {
    const hone_graph *g = hone_model_graph(in->model);
    uint32_t n_values = hone_graph_n_values(g), n = 0;
    bool *known = calloc((size_t)n_values + 1, sizeof *known);
    const char *slowest = "";
    double us = 0, most_us = -1;
    hone_subgraph_info main_graph;
    hone_graph_get_subgraph(g, 0, &main_graph);
    for (uint32_t i = 0; known && i < n_values; i++) {
        hone_value_info value;
        hone_graph_get_value(g, i, &value);
        known[i] = value.is_initializer && !value.is_input;
    }
    for (uint32_t i = 0; known && i < main_graph.n_nodes; i++) {
        hone_node_info node;
        hone_graph_get_node(g, main_graph.nodes[i], &node);
        bool is_constant = is_constant_node(&node, known);
        for (uint32_t k = 0; k < node.n_outputs; k++)
            if (node.outputs[k] != HONE_NONE && (is_constant || strcmp(node.op, "Constant") == 0))
                known[node.outputs[k]] = true;
        const char *name = name_of_graph_node(g, &node);
        double node_us = is_constant ? finding_us_of_node(in->p, name) : 0;
        n += node_us > 0;
        us += node_us;
        if (node_us > most_us) {
            most_us = node_us;
            slowest = name;
        }
    }
    free(known);
    profile_finding *f =
        n && in->level == HONE_LEVEL_NONE ? profile_add_finding(in->p, "constant", us) : NULL;
    if (!f)
        return;
    f->title = profile_printf(in->p, "%u node%s compute%s the same in every run", n,
                              n == 1 ? "" : "s", n == 1 ? "s" : "");
    f->evidence = profile_printf(
        in->p, "they read constants alone and take %.3f ms; first of all '%s'", 1e-3 * us, slowest);
    f->command = profile_printf(in->p, "hone optimize %s -o optimized.onnx", in->path);
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void mark_needed(const hone_graph *g, uint32_t value, bool *needed, uint32_t *stack,
                        uint32_t *n_stack) {
    hone_value_info info;
    if (value == HONE_NONE)
        return;
    hone_graph_get_value(g, value, &info);
    if (info.producer == HONE_NONE || needed[info.producer])
        return;
    needed[info.producer] = true;
    stack[(*n_stack)++] = info.producer;
}

/* Time of nodes that only this output needs; what bodies read is taken as needed. */
static double us_for_output_alone(const finding_input *in, const char *output) {
    const hone_graph *g = hone_model_graph(in->model);
    uint32_t n_nodes = hone_graph_n_nodes(g), n_stack = 0;
    bool *needed = calloc((size_t)n_nodes + 1, sizeof *needed);
    uint32_t *stack = malloc(((size_t)n_nodes + 1) * sizeof *stack);
    hone_subgraph_info main_graph;
    hone_node_info node;
    double us = 0;
    hone_graph_get_subgraph(g, 0, &main_graph);
    for (uint32_t i = 0; needed && stack && i < main_graph.n_outputs; i++) {
        hone_value_info value;
        hone_graph_get_value(g, main_graph.outputs[i], &value);
        if (strcmp(value.name, output) != 0)
            mark_needed(g, main_graph.outputs[i], needed, stack, &n_stack);
    }
    for (uint32_t i = 0; needed && stack && i < n_nodes; i++) {
        hone_graph_get_node(g, i, &node);
        for (uint32_t k = 0; node.subgraph && node.subgraph != HONE_NONE && k < node.n_inputs; k++)
            mark_needed(g, node.inputs[k], needed, stack, &n_stack);
    }
    while (n_stack) {
        hone_graph_get_node(g, stack[--n_stack], &node);
        for (uint32_t k = 0; k < node.n_inputs; k++)
            mark_needed(g, node.inputs[k], needed, stack, &n_stack);
    }
    for (uint32_t i = 0; needed && stack && i < main_graph.n_nodes; i++) {
        hone_graph_get_node(g, main_graph.nodes[i], &node);
        if (!needed[main_graph.nodes[i]])
            us += finding_us_of_node(in->p, name_of_graph_node(g, &node));
    }
    free(needed);
    free(stack);
    return us;
}

/* "in1,in2:out1": what keeps all but one output. */
static const char *extract_command(const finding_input *in, const char *output) {
    const hone_graph *g = hone_model_graph(in->model);
    hone_subgraph_info main_graph;
    hone_value_info value;
    cli_buffer text = {0};
    hone_graph_get_subgraph(g, 0, &main_graph);
    cli_buffer_printf(&text, "hone save %s -o smaller.onnx --extract ", in->path);
    for (uint32_t i = 0, n = 0; i < main_graph.n_inputs; i++) {
        hone_graph_get_value(g, main_graph.inputs[i], &value);
        if (!value.is_initializer)
            cli_buffer_printf(&text, "%s%s", n++ ? "," : "", value.name);
    }
    for (uint32_t i = 0, n = 0; i < main_graph.n_outputs; i++) {
        hone_graph_get_value(g, main_graph.outputs[i], &value);
        if (strcmp(value.name, output) != 0)
            cli_buffer_printf(&text, "%s%s", n++ ? "," : ":", value.name);
    }
    cli_buffer_add(&text, "", 1);
    const char *kept = text.failed ? "" : profile_text(in->p, (const char *)text.at);
    cli_buffer_free(&text);
    return kept;
}

/* Beside an output of sixteen times its size a result is easily overlooked. */
static void find_large_outputs(const finding_input *in) {
    const profile *p = in->p;
    for (uint32_t i = 0; i < p->n_outputs; i++) {
        uint64_t others = 0;
        for (uint32_t k = 0; k < p->n_outputs; k++)
            others += k != i ? p->outputs[k].bytes : 0;
        if (p->n_outputs < 2 || p->outputs[i].bytes < 1 << 20 || p->outputs[i].bytes < 16 * others)
            continue;
        double us = us_for_output_alone(in, p->outputs[i].name);
        char bytes[32], rest[32];
        profile_finding *f = profile_add_finding(in->p, "output", us);
        if (!f)
            return;
        f->title = profile_printf(in->p, "output '%s' is much larger than the others: is it used?",
                                  p->outputs[i].name);
        f->evidence = profile_printf(
            in->p, "it has %s, all others together %s; nodes that it alone needs take %.3f ms",
            cli_bytes(bytes, p->outputs[i].bytes), cli_bytes(rest, others), 1e-3 * us);
        f->command = extract_command(in, p->outputs[i].name);
    }
}

/* ---- batch normalization --------------------------------------------------------------------- */

/* Where a step of its own computes it. */
static double us_of_norm(const profile *p, const char *name) {
    double us = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        const profile_node *n = &p->nodes[i];
        if (n->count && strstr(n->op, "BatchNormalization") && n->n_parts == 1 &&
            strcmp(n->parts[0], name) == 0)
            us += profile_node_us(p, n);
    }
    return us;
}

/* Why it is not part of the layer before it, as far as the graph shows it. */
static const char *reason_of_norm(const finding_input *in, const hone_node_info *node) {
    const hone_graph *g = hone_model_graph(in->model);
    hone_value_info value = {.name = ""};
    hone_node_info before = {.op = ""};
    for (uint32_t i = 1; i < node->n_inputs; i++) {
        hone_graph_get_value(g, node->inputs[i], &value);
        if (!value.is_initializer || value.is_input)
            return profile_printf(in->p, "'%s' is not a constant", value.name);
    }
    if (node->n_inputs)
        hone_graph_get_value(g, node->inputs[0], &value);
    if (value.producer == HONE_NONE)
        return "no layer is before it";
    hone_graph_get_node(g, value.producer, &before);
    if (value.n_uses > 1 || value.is_output)
        return profile_printf(in->p, "'%s' is read by others, too", value.name);
    return profile_printf(in->p, "it follows a node of %s", before.op);
}

/* Beside a layer that could have done its work. */
static void find_unfused_norms(const finding_input *in) {
    const hone_graph *g = hone_model_graph(in->model);
    hone_subgraph_info main_graph;
    hone_node_info node, slowest = {.op = ""};
    double us = 0, most_us = 0;
    uint32_t n = 0;
    hone_graph_get_subgraph(g, 0, &main_graph);
    for (uint32_t i = 0; i < main_graph.n_nodes; i++) {
        hone_graph_get_node(g, main_graph.nodes[i], &node);
        const char *name = name_of_graph_node(g, &node);
        double node_us = strcmp(node.op, "BatchNormalization") == 0 ? us_of_norm(in->p, name) : 0;
        us += node_us;
        n += node_us > 0;
        if (node_us > most_us) {
            most_us = node_us;
            slowest = node;
        }
    }
    profile_finding *f = n ? profile_add_finding(in->p, "unfused", us) : NULL;
    if (!f)
        return;
    f->title = profile_printf(in->p, "%u BatchNormalization%s not fused into the layer before", n,
                              n == 1 ? " is" : "s are");
    f->evidence = profile_printf(in->p, "%.3f ms; '%s' takes %.3f ms: %s", 1e-3 * us,
                                 name_of_graph_node(g, &slowest), 1e-3 * most_us,
                                 in->level == HONE_LEVEL_NONE ? "the level is none"
                                                              : reason_of_norm(in, &slowest));
    f->command = profile_printf(in->p,
                                in->level == HONE_LEVEL_NONE ? "hone optimize %s -o optimized.onnx"
                                                             : "hone optimize %s --explain",
                                in->path);
}

void findings_of_graph(const finding_input *in) {
    find_constant_work(in);
    find_unfused_norms(in);
    find_large_outputs(in);
}

/* ---- denormals ------------------------------------------------------------------------------- */

static uint64_t count_denormals(const hone_tensor_info *t) {
    const unsigned char *at = t->data;
    uint64_t n = 0;
    for (uint64_t i = 0; at && i < t->n_elements && t->elem_type == 1; i++) {
        uint32_t bits;
        memcpy(&bits, at + 4 * i, 4);
        n += (bits & 0x7f800000) == 0 && (bits & 0x007fffff) != 0;
    }
    return n;
}

void findings_of_weights(const finding_input *in) {
    const hone_graph *g = hone_model_graph(in->model);
    uint64_t n_all = 0, most = 0;
    uint32_t n_tensors = 0;
    const char *worst = "";
    for (uint32_t i = 0; i < hone_graph_n_values(g); i++) {
        hone_tensor_info tensor;
        hone_value_info value;
        if (!hone_value_get_tensor(g, i, &tensor) || tensor.is_sparse ||
            tensor.data_bytes < 4 * tensor.n_elements)
            continue;
        uint64_t n = count_denormals(&tensor);
        hone_graph_get_value(g, i, &value);
        n_all += n;
        n_tensors += n > 0;
        if (n > most) {
            most = n;
            worst = value.name;
        }
    }
    profile_finding *f = n_all ? profile_add_finding(in->p, "denormals", 0) : NULL;
    if (!f)
        return;
    f->title =
        profile_printf(in->p, "%llu denormal number%s in %u weight%s", (unsigned long long)n_all,
                       n_all == 1 ? "" : "s", n_tensors, n_tensors == 1 ? "" : "s");
    f->evidence = profile_printf(
        in->p, "'%s' has %llu; %s", worst, (unsigned long long)most,
        in->keeps_denormals
            ? "they are computed with, which takes processors a hundred cycles each"
            : "hone flushes them to zero in a run; onnxruntime computes with them, slowly");
    f->command =
        in->keeps_denormals
            ? "leave --keep-denormals out"
            : "in onnxruntime: session.set_denormal_as_zero=1; or set them to 0 in the file";
}
