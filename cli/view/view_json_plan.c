/* The plan of a run in the data of the page. */
#include "view/graph_view.h"

#include <string.h>

/* A value that a session has by its name: the model's, or that of the first output of the node that
 * it was named for, "conv1_54". HONE_NONE: the model has none. */
static uint32_t find_planned_value(const view_model *v, const char *name) {
    const hone_graph *g = v->sources[0].graph;
    char node[VIEW_TEXT];
    hone_node_info n;
    uint32_t id = hone_graph_find_value(g, name);
    size_t length = strlen(name);
    if (id != HONE_NONE || length >= sizeof node)
        return id;
    memcpy(node, name, length + 1);
    while (length > 0 && node[length - 1] >= '0' && node[length - 1] <= '9')
        length--;
    if (length == 0 || node[length - 1] != '_')
        return HONE_NONE;
    node[length - 1] = '\0';
    id = view_find_node(v, node);
    if (id == UINT32_MAX)
        return HONE_NONE;
    hone_graph_get_node(g, id, &n);
    return n.n_outputs ? n.outputs[0] : HONE_NONE;
}

void view_json_plan(const view_model *v, cli_buffer *out) {
    hone_plan *plan;
    hone_plan_info info;
    bool has_any = false;
    const view_source *s = &v->sources[0];
    if (hone_model_get_plan(v->model, &plan, NULL) != HONE_OK)
        return;
    hone_plan_get_info(plan, &info);
    cli_buffer_printf(out,
                      "\"peak\":{\"bytes\":%llu,\"node\":", (unsigned long long)info.block_bytes);
    cli_json_string(out, info.peak_node, strlen(info.peak_node));
    cli_buffer_printf(out, ",\"values\":[");
    for (uint32_t i = 0; i < info.n_values; i++) {
        hone_plan_value value;
        hone_plan_get_value(plan, i, &value);
        uint32_t id = find_planned_value(v, value.name);
        if (id == HONE_NONE)
            continue;
        cli_buffer_printf(out, "%s[%u,%llu]", has_any ? "," : "", s->first_value + id,
                          (unsigned long long)value.bytes);
        has_any = true;
    }
    cli_buffer_printf(out, "],\"providers\":{");
    has_any = false;
    for (uint32_t i = 0; i < info.n_nodes; i++) {
        hone_plan_step step;
        hone_plan_get_step(plan, i, &step);
        uint32_t id = view_find_node(v, step.node);
        if (id == UINT32_MAX)
            continue;
        cli_buffer_printf(out, "%s\"%u\":", has_any ? "," : "", id);
        cli_json_string(out, step.provider, strlen(step.provider));
        has_any = true;
    }
    cli_buffer_printf(out, "}},");
    hone_plan_free(plan);
}
