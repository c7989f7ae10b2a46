/* IR versions that change the meaning of a model. */
#include "ir/ir.h"

/* Before version 4 every initializer had to be listed as an input, which callers could not set;
 * from version 4 on callers may override an initializer that is listed as an input. */
#define REPLACEABLE_SINCE 4

static void unlist_initializers(hn_graph *g, hn_block *b) {
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        hn_value *v = hn_value_at(g, b->inputs.at[i]);
        if (v->init || v->sparse_init) {
            v->is_input = v->is_declared = false;
            continue;
        }
        v->slot = n_kept;
        b->inputs.at[n_kept++] = b->inputs.at[i];
    }
    b->inputs.n = n_kept;
}

void hn_model_raise_ir(hn_model *m, int64_t version) {
    if (m->ir_version >= version)
        return;
    if (m->ir_version < REPLACEABLE_SINCE && version >= REPLACEABLE_SINCE)
        for (hn_id b = 0; b < m->graph->blocks.n; b++)
            unlist_initializers(m->graph, hn_block_at(m->graph, b));
    m->ir_version = version;
    m->has_ir_version = true;
}
