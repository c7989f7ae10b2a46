/* Reference counts. */
#include "base/base.h"

#include <stdatomic.h>

void hn_shared_init(hn_shared *s, void (*destroy)(hn_shared *self)) {
    s->destroy = destroy;
    atomic_init(&s->n_owners, 1);
}

hn_shared *hn_shared_keep(hn_shared *s) {
    if (s)
        atomic_fetch_add_explicit(&s->n_owners, 1, memory_order_relaxed);
    return s;
}

/* All accesses of other owners happen before the destruction. */
void hn_shared_drop(hn_shared *s) {
    if (s && atomic_fetch_sub_explicit(&s->n_owners, 1, memory_order_acq_rel) == 1)
        s->destroy(s);
}
