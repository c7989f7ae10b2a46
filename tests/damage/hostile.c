/* Structures that no exporter writes: deep nesting, cycles, functions that call themselves or
 * explode. */
#include "damage/mutate.h"

/* ---- nesting --------------------------------------------------------------------------------- */

static uint32_t some_depth(damage *d) {
    return 1 + damage_below(d, damage_chance(d, 4) ? 3000 : 80);
}

/* A node with a subgraph with a node with a subgraph ... */
static void nest_graphs(damage *d) {
    proto_message *graph = damage_pick(d, d->model, PROTO_GRAPH);
    for (uint32_t i = some_depth(d); i > 0 && graph; i--) {
        proto_message *node = proto_add_message(d->arena, graph, HN_F_GRAPH_NODE, PROTO_NODE);
        if (!node)
            return;
        proto_add_text(d->arena, node, HN_F_NODE_OP_TYPE, "If");
        proto_message *attr = proto_add_message(d->arena, node, HN_F_NODE_ATTRIBUTE, PROTO_ATTR);
        if (!attr)
            return;
        proto_add_text(d->arena, attr, HN_F_ATTR_NAME, "then_branch");
        proto_add_number(d->arena, attr, HN_F_ATTR_TYPE, 5);
        graph = proto_add_message(d->arena, attr, HN_F_ATTR_G, PROTO_GRAPH);
    }
}

static void nest_types(damage *d) {
    static const struct {
        uint32_t in_type, in_holder;
        proto_kind holder;
    } ways[] = {{HN_F_TYPE_SEQUENCE, HN_F_SEQUENCE_TYPE_ELEM_TYPE, PROTO_SEQUENCE_TYPE},
                {HN_F_TYPE_OPTIONAL, HN_F_SEQUENCE_TYPE_ELEM_TYPE, PROTO_SEQUENCE_TYPE},
                {HN_F_TYPE_MAP, HN_F_MAP_TYPE_VALUE_TYPE, PROTO_MAP_TYPE}};
    proto_message *type = damage_pick(d, d->model, PROTO_TYPE);
    if (type)
        type->fields.n = 0;
    for (uint32_t i = some_depth(d); i > 0 && type; i--) {
        uint32_t way = damage_below(d, HN_COUNT(ways));
        proto_message *holder =
            proto_add_message(d->arena, type, ways[way].in_type, ways[way].holder);
        if (!holder)
            return;
        type = proto_add_message(d->arena, holder, ways[way].in_holder, PROTO_TYPE);
    }
}

/* Groups are a wire type that ONNX does not use; a reader must skip them all the same. */
static void nest_groups(damage *d) {
    proto_message *m = damage_pick(d, d->model, PROTO_ANY);
    uint32_t n = some_depth(d), field = 1 + damage_below(d, 30);
    for (uint32_t i = 0; i < n; i++)
        proto_add(d->arena, m, field << 3 | HN_WIRE_GROUP);
    for (uint32_t i = damage_chance(d, 3) ? damage_below(d, n) : 0; i < n; i++)
        proto_add(d->arena, m, field << 3 | HN_WIRE_GROUP_END);
}

/* ---- graphs that eat their own tail ---------------------------------------------------------- */

static proto_field *some_name(damage *d, proto_message *node, uint32_t tag) {
    for (int tries = 0; node && tries < 8; tries++) {
        proto_field *f = damage_pick_field(d, node);
        if (f && f->tag == tag)
            return f;
    }
    return NULL;
}

static void make_cycle(damage *d) {
    for (uint32_t n = 1 + damage_below(d, 3); n > 0; n--) {
        proto_message *reader = damage_pick(d, d->model, PROTO_NODE);
        proto_message *writer = damage_chance(d, 4) ? reader : damage_pick(d, d->model, PROTO_NODE);
        proto_field *in = some_name(d, reader, HN_F_NODE_INPUT);
        proto_field *out = some_name(d, writer, HN_F_NODE_OUTPUT);
        if (in && out)
            in->bytes = out->bytes;
    }
}

static void add_node(damage *d, proto_message *to, uint32_t tag, const char *domain, const char *op,
                     const char *input, const char *output) {
    proto_message *node = proto_add_message(d->arena, to, tag, PROTO_NODE);
    if (!node)
        return;
    proto_add_text(d->arena, node, HN_F_NODE_INPUT, input);
    proto_add_text(d->arena, node, HN_F_NODE_OUTPUT, output);
    proto_add_text(d->arena, node, HN_F_NODE_OP_TYPE, op);
    proto_add_text(d->arena, node, HN_F_NODE_DOMAIN, domain);
}

/* A long chain: anything quadratic or recursive in the number of nodes shows. */
static void long_chain(damage *d) {
    proto_message *graph = damage_pick(d, d->model, PROTO_GRAPH);
    uint32_t n = 1 + damage_below(d, damage_chance(d, 4) ? 4000 : 200);
    bool is_backward = damage_chance(d, 2);
    for (uint32_t i = 0; graph && i < n; i++) {
        char in[24], out[24];
        uint32_t at = is_backward ? n - i : i;
        memcpy(in, "c00000000", 10);
        memcpy(out, "c00000000", 10);
        for (uint32_t k = 0; k < 8; k++) {
            in[1 + k] = (char)('a' + (at >> (4 * k)) % 16);
            out[1 + k] = (char)('a' + ((at + 1) >> (4 * k)) % 16);
        }
        add_node(d, graph, HN_F_GRAPH_NODE, "", "Relu", in, out);
    }
}

/* ---- functions ------------------------------------------------------------------------------- */

static proto_message *add_function(damage *d, const char *name) {
    proto_message *f = proto_add_message(d->arena, d->model, HN_F_MODEL_FUNCTIONS, PROTO_FUNCTION);
    if (!f)
        return NULL;
    proto_add_text(d->arena, f, HN_F_FUNCTION_NAME, name);
    proto_add_text(d->arena, f, HN_F_FUNCTION_DOMAIN, "laugh");
    proto_add_text(d->arena, f, HN_F_FUNCTION_INPUT, "x");
    proto_add_text(d->arena, f, HN_F_FUNCTION_OUTPUT, "y");
    proto_message *opset = proto_add_message(d->arena, f, HN_F_FUNCTION_OPSET_IMPORT, PROTO_OPSET);
    if (opset) {
        proto_add_text(d->arena, opset, HN_F_OPSET_DOMAIN, "laugh");
        proto_add_number(d->arena, opset, HN_F_OPSET_VERSION, 1);
    }
    return f;
}

static void call_from_main(damage *d, const char *name) {
    proto_message *graph = damage_pick(d, d->model, PROTO_GRAPH);
    proto_message *opset =
        proto_add_message(d->arena, d->model, HN_F_MODEL_OPSET_IMPORT, PROTO_OPSET);
    if (!graph || !opset)
        return;
    proto_add_text(d->arena, opset, HN_F_OPSET_DOMAIN, "laugh");
    proto_add_number(d->arena, opset, HN_F_OPSET_VERSION, 1);
    add_node(d, graph, HN_F_GRAPH_NODE, "laugh", name, "laugh_in", "laugh_out");
}

/* f0 calls f1 k times, f1 calls f2 k times, ...: a small file, k^n nodes when inlined. With
 * `is_loop` the last calls the first. */
static void add_tower(damage *d, uint32_t n_floors, uint32_t n_calls, bool is_loop) {
    char name[2] = "A", next[2] = "A";
    for (uint32_t i = 0; i < n_floors; i++) {
        bool is_last = i + 1 == n_floors;
        name[0] = (char)('A' + i);
        next[0] = is_last ? 'A' : (char)('A' + i + 1);
        proto_message *f = add_function(d, name);
        if (!f)
            return;
        for (uint32_t k = 0; k < n_calls && (!is_last || is_loop); k++)
            add_node(d, f, HN_F_FUNCTION_NODE, "laugh", next, "x", k ? "z" : "y");
        if (is_last && !is_loop)
            add_node(d, f, HN_F_FUNCTION_NODE, "", "Relu", "x", "y");
    }
    call_from_main(d, "A");
}

static void calls_itself(damage *d) {
    add_tower(d, 1 + damage_below(d, 4), 1 + damage_below(d, 2), true);
}

static void laughs(damage *d) {
    add_tower(d, 2 + damage_below(d, 24), 2 + damage_below(d, 30), false);
}

static void deep_calls(damage *d) {
    add_tower(d, 40, 1, false);
}

/* Every call of a function costs as much as the function has values. */
static void wide_calls(damage *d) {
    proto_message *f = add_function(d, "W");
    proto_message *wide = f ? proto_add_message(d->arena, f, HN_F_FUNCTION_NODE, PROTO_NODE) : NULL;
    if (!wide)
        return;
    proto_add_text(d->arena, wide, HN_F_NODE_OP_TYPE, "Concat");
    proto_add_text(d->arena, wide, HN_F_NODE_OUTPUT, "y");
    for (uint32_t i = 1 + damage_below(d, 4000); i > 0; i--) {
        char name[3] = {(char)('a' + i % 26), (char)('a' + i / 26 % 26), 0};
        proto_add_text(d->arena, wide, HN_F_NODE_INPUT, name);
    }
    for (uint32_t i = 1 + damage_below(d, 2000); i > 0; i--)
        call_from_main(d, "W");
}

const mutation hostile_mutations[] = {
    {"nested graphs", nest_graphs}, {"nested types", nest_types},
    {"nested groups", nest_groups}, {"cycle", make_cycle},
    {"long chain", long_chain},     {"function that calls itself", calls_itself},
    {"laughing functions", laughs}, {"deep calls", deep_calls},
    {"wide calls", wide_calls},
};
const uint32_t n_hostile_mutations = HN_COUNT(hostile_mutations);
