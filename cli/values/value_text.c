/* Describes values as text. */
#include "cli_value.h"

#include <stdlib.h>
#include <string.h>

void cli_expect_init(const hone_graph *g, uint32_t value, cli_expect *e) {
    hone_value_info info;
    hone_graph_get_value(g, value, &info);
    *e = (cli_expect){
        .name = info.name, .kind = info.kind, .elem_type = info.elem_type, .rank = info.rank};
    if (info.rank > CLI_MAX_RANK)
        e->rank = -1;
    for (int32_t i = 0; i < e->rank; i++) {
        int64_t size;
        hone_value_dim(g, value, i, &size, NULL, 0);
        e->dims[i] = size;
    }
    hone_value_type_text(g, value, e->text, sizeof e->text);
}

static const char *kind_name(hone_type_kind kind) {
    switch (kind) {
    case HONE_TYPE_SEQUENCE:
        return "sequence";
    case HONE_TYPE_OPTIONAL:
        return "empty optional";
    case HONE_TYPE_MAP:
        return "map";
    default:
        return "value";
    }
}

static size_t append_dims(char *text, size_t size, size_t used, int32_t rank, const int64_t *dims) {
    for (int32_t i = 0; i < rank && used < size; i++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%lld", i ? "," : "", (long long)dims[i]);
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, "]");
    return used;
}

const char *cli_value_text(const hone_value *v, char *text, size_t size) {
    hone_tensor_info t;
    if (!hone_value_tensor(v, &t)) {
        snprintf(text, size, "%s of %u", kind_name(hone_value_kind(v)), hone_value_n_items(v));
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "%s[", hone_elem_type_name(t.elem_type));
    append_dims(text, size, used, t.rank, t.dims);
    return text;
}

const char *cli_index_text(const hone_tensor_info *t, uint64_t i, char *text, size_t size) {
    int64_t index[CLI_MAX_RANK];
    int32_t rank = t->rank < CLI_MAX_RANK ? t->rank : CLI_MAX_RANK;
    for (int32_t axis = rank; axis-- > 0;) {
        uint64_t dim = t->dims[axis] > 0 ? (uint64_t)t->dims[axis] : 1;
        index[axis] = (int64_t)(i % dim);
        i /= dim;
    }
    snprintf(text, size, "[");
    append_dims(text, size, 1, rank, index);
    return text;
}

/* By name: "float", "double" and everything that begins with "float" or "bfloat". */
bool cli_is_float(int32_t elem_type) {
    const char *name = hone_elem_type_name(elem_type);
    return strncmp(name, "float", 5) == 0 || strcmp(name, "double") == 0 ||
           strcmp(name, "bfloat16") == 0;
}

const char *cli_list_names(const hone_graph *g, bool outputs, char *text, size_t size) {
    hone_subgraph_info graph;
    hone_graph_get_subgraph(g, 0, &graph);
    const uint32_t *values = outputs ? graph.outputs : graph.inputs;
    uint32_t n = outputs ? graph.n_outputs : graph.n_inputs;
    size_t used = 0;
    snprintf(text, size, "none");
    for (uint32_t i = 0; i < n && used < size; i++) {
        hone_value_info v;
        hone_graph_get_value(g, values[i], &v);
        if (outputs || !v.is_initializer)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", v.name);
    }
    return text;
}
