/* Choosing loops over pairs by what the processor has. */
#include "kernels/pairs.h"

#include "kernels/vec.h"
#include "kernels/vec_pairs_int.h"

HN_TIERS(const hn_vec_pairs, hn_vec_pairs);
static const hn_vec_pairs *best_pairs(void) {
    return HN_BEST(&hn_vec_pairs, NULL);
}

hn_pair_fn hn_pair_find_f32(const char *op) {
    const hn_vec_pairs *best = best_pairs();
    for (const hn_vec_pair *p = best ? best->pairs : NULL; p && p->op; p++)
        if (strcmp(p->op, op) == 0)
            return p->fn;
    return NULL;
}

hn_choose_fn hn_choose_find_32(void) {
    const hn_vec_pairs *best = best_pairs();
    return best ? best->choose_32 : NULL;
}
