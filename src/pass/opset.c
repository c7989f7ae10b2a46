/* Bringing a model to another version of ai.onnx. */
#include "pass/pass_int.h"

#define OLDEST_OPSET 1
#define LATEST_OPSET 28

/* The oldest IR version that may import an opset, from the releases of the standard. */
static int64_t ir_version_for(int64_t opset) {
    static const struct {
        int64_t opset, ir;
    } releases[] = {{8, 3},   {9, 4},   {10, 5},  {11, 6},  {14, 7},  {18, 8},
                    {20, 9},  {22, 10}, {23, 11}, {24, 12}, {27, 13}, {INT64_MAX, 14}};
    uint32_t i = 0;
    while (opset > releases[i].opset)
        i++;
    return releases[i].ir;
}

static hone_status check_node(const hn_model *m, hn_id node, int64_t from, int64_t to,
                              hone_error *err) {
    const hn_node *n = hn_node_at(m->graph, node);
    char who[200];
    if (n->block == HN_NONE || !hn_domain_is_onnx(n->domain) ||
        hn_same_op(m, n->domain, n->op, from, to))
        return HONE_OK;
    return hn_fail(err, HONE_E_UNSUPPORTED, "%s has another meaning in opset %lld than in opset %lld",
                   hn_node_text(m->graph, node, who, sizeof who), (long long)to, (long long)from);
}

static void set_import(hn_model *m, int64_t version) {
    for (uint32_t i = 0; i < m->opsets.n; i++)
        if (hn_domain_is_onnx(m->opsets.at[i].domain))
            m->opsets.at[i].version = version;
    m->ir_version = HN_MAX(m->ir_version, ir_version_for(version));
}

hone_status hn_convert_opset(hn_model *m, int64_t version, hone_error *err) {
    int64_t from = hn_opset_version(&m->opsets, NULL);
    if (version < OLDEST_OPSET || version > LATEST_OPSET)
        return hn_fail(err, HONE_E_ARGUMENT, "opset %lld does not exist; hone knows %d to %d",
                       (long long)version, OLDEST_OPSET, LATEST_OPSET);
    for (hn_id node = 0; node < m->graph->nodes.n; node++)
        HN_TRY(check_node(m, node, from, version, err));
    set_import(m, version);
    return HONE_OK;
}
