/* What nobody reads. Rewrites remove what they leave behind; this is for what was there before, and
 * for initializers. */
#include "pass/pass_int.h"

hone_status hn_pass_dead_code(hn_pass *p) {
    uint32_t n_removed = hn_graph_remove_dead(p->g, true);
    if (n_removed == HN_NONE)
        return HONE_E_NOMEM;
    p->n_rewrites += n_removed;
    return HONE_OK;
}
