/* hone view: models as pictures. A model becomes pictures, one per graph, subgraph and body of a
 * function; each has boxes and edges in layers. Writers make a page, SVG, DOT or text of them. */
#ifndef HONE_CLI_GRAPH_VIEW_H
#define HONE_CLI_GRAPH_VIEW_H

#include "cli_value.h"
#include "values/json_tree.h"
#include "view/graph_layout.h"
#include "view/name_index.h"

/* ---- models ---------------------------------------------------------------------------------- */

typedef enum view_kind {
    VIEW_NODE,
    VIEW_INPUT,
    VIEW_OUTPUT,
    VIEW_OUTER /* a value of an enclosing graph that this one reads */
} view_kind;

typedef struct view_box {
    view_kind kind;
    uint32_t id; /* node or value of the hone_graph */
} view_box;

typedef struct view_picture {
    uint32_t source;   /* the graph it belongs to: view_model.sources */
    uint32_t subgraph; /* of that graph */
    view_box *boxes;
    uint32_t *edge_values; /* beside the edges of the layout */
    layout layout;
} view_picture;

typedef struct view_source { /* the main graph, or a function */
    const hone_graph *graph;
    hone_function_info function; /* name NULL: the main graph */
    /* Ids in pages count through all sources. */
    uint32_t first_node, first_value, first_picture;
} view_source;

typedef struct view_model {
    const char *label;
    const hone_model *model;
    view_source *sources;
    view_picture *pictures;
    uint32_t n_sources, n_pictures, n_nodes, n_values;
    name_index nodes; /* of the main graph, its subgraphs included, by name */
} view_model;

/* The pictures of a model with their layouts. False: no memory. */
bool view_model_make(const hone_model *m, const char *label, view_model *v);
void view_model_free(view_model *v);

/* A Constant is shown as a weight of its readers, not as a box. */
bool view_is_constant(const hone_graph *g, uint32_t node);
/* The data of an initializer or of a Constant's output; false: the value is neither. */
bool view_constant(const hone_graph *g, uint32_t value, hone_tensor_info *t);
/* The function that a node calls, as an index of sources; 0: none. */
uint32_t view_called_function(const view_model *v, const hone_node_info *node);
/* "com.microsoft.FusedConv" */
const char *view_op_text(const hone_node_info *node, char *out, size_t size);
/* "1x64x112x112" of a value, with real multiplication signs; "" when its shape is unknown. */
void view_shape_text(const hone_graph *g, uint32_t value, char *out, size_t size);
/* The two lines of a box. */
void view_box_texts(const view_model *v, const view_picture *p, const view_box *box, char *title,
                    char *subtitle, size_t size);
/* What a node is called: its name, that of its first output, or its number. */
const char *view_node_label(const hone_graph *g, uint32_t node, char *out, size_t size);
/* A node by what a log or a profile calls it; UINT32_MAX: none. */
uint32_t view_find_node(const view_model *v, const char *name);

enum { VIEW_TEXT = 256, VIEW_BOX_HEIGHT = 40, VIEW_RANK_GAP = 34 };

/* ---- weights --------------------------------------------------------------------------------- */

enum { VIEW_BINS = 32 };

typedef struct view_stats {
    double min, max, mean, std; /* of the finite elements */
    uint64_t n, n_zeros, n_denormals, n_nan, n_inf;
    uint64_t bins[VIEW_BINS]; /* elements between min and max; all 0 when those are equal */
} view_stats;
/* False: no numbers, or data that was not loaded; or stopped by Ctrl-C. */
bool view_stats_make(const hone_tensor_info *t, view_stats *s, const volatile int *is_interrupted);

/* ---- comparison ------------------------------------------------------------------------------ */

typedef struct view_pairs { /* which nodes of `before` a node of `after` computes */
    uint32_t *first;        /* [nodes of after + 1] into `nodes`; main graphs only */
    uint32_t *nodes;
    uint32_t n, cap;
} view_pairs;
/* From names, from what the optimizer has noted, and from values that both have. False: no
 * memory. */
bool view_pairs_make(const view_model *before, const view_model *after, view_pairs *pairs);
void view_pairs_free(view_pairs *pairs);

/* ---- everything that is shown ---------------------------------------------------------------- */

typedef struct view_scene {
    view_model models[2];
    uint32_t n_models;
    view_pairs pairs;                       /* with two models */
    const hone_optimization *report;        /* NULL: the second model is not ours */
    const json_tree *profile, *sensitivity; /* NULL: not given */
    bool has_statistics;
    const volatile int *is_interrupted;
} view_scene;

void view_json_print(const view_scene *s, cli_buffer *out);
void view_svg_print(const view_scene *s, cli_buffer *out);
void view_dot_print(const view_scene *s, cli_buffer *out);
void view_text_print(const view_scene *s, cli_buffer *out);
/* The members of a model that come from the other files: "profile", "sensitivity". */
void view_json_profile(const view_model *v, const json_tree *profile, cli_buffer *out);
void view_json_sensitivity(const view_model *v, const json_tree *report, cli_buffer *out);
/* Is a file what its option wants? False with the error. */
bool view_profile_check(const json_tree *profile, const char *path, hone_error *error);
bool view_sensitivity_check(const json_tree *report, const char *path, hone_error *error);
/* "peak": where the model has no free dimensions, what is live at the peak of memory, and who runs
 * nodes. */
void view_json_plan(const view_model *v, cli_buffer *out);
void view_json_weights(const view_model *v, const view_scene *s, cli_buffer *out);
void view_json_pairs(const view_scene *s, cli_buffer *out);

#endif /* HONE_CLI_GRAPH_VIEW_H */
