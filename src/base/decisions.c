/* Counts for tests; see base.h. */
#include "base/base.h"

#ifdef HONE_COUNT_DECISIONS
#  include <stdatomic.h>

static _Atomic uint64_t decision_counts[HN_N_DECISIONS];

void hn_count_decision(hn_decision d) {
    atomic_fetch_add_explicit(&decision_counts[d], 1, memory_order_relaxed);
}

uint64_t hn_decisions_made(hn_decision d) {
    return atomic_load_explicit(&decision_counts[d], memory_order_relaxed);
}
#endif
