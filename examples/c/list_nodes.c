/* Prints every node of a model with the types of its outputs: list_nodes MODEL */
#include <stdio.h>

#include <hone/hone.h>

static void print_outputs(const hone_graph *graph, const hone_node_info *node) {
    for (uint32_t i = 0; i < node->n_outputs; i++) {
        if (node->outputs[i] == HONE_NONE)
            continue; /* an optional output that nobody wants */
        hone_value_info value;
        char type[256];
        hone_graph_get_value(graph, node->outputs[i], &value);
        hone_value_type_text(graph, node->outputs[i], type, sizeof type);
        printf("    %s: %s\n", value.name, type);
    }
}

/* Subgraphs are the bodies of If, Loop and Scan; number 0 is the graph itself. */
static void print_subgraph(const hone_graph *graph, uint32_t number) {
    hone_subgraph_info subgraph;
    hone_graph_get_subgraph(graph, number, &subgraph);
    printf("%s: %u nodes\n", subgraph.name, (unsigned)subgraph.n_nodes);
    for (uint32_t i = 0; i < subgraph.n_nodes; i++) {
        hone_node_info node;
        hone_graph_get_node(graph, subgraph.nodes[i], &node);
        printf("  %s %s\n", node.op, node.name);
        print_outputs(graph, &node);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: list_nodes MODEL\n");
        return 2;
    }
    hone_model *model;
    hone_error error;
    hone_status status = hone_model_load(argv[1], NULL, &model, &error);
    if (status == HONE_OK)
        status = hone_model_infer(model, &error); /* types of all values, not only the declared */
    if (status == HONE_OK) {
        const hone_graph *graph = hone_model_graph(model);
        for (uint32_t i = 0; i < hone_graph_n_subgraphs(graph); i++)
            print_subgraph(graph, i);
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    hone_model_free(model);
    return status == HONE_OK ? 0 : 1;
}
