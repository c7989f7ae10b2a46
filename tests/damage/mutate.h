/* Damage to models: small changes of the field tree, hostile structures, and plain byte damage. */
#ifndef TEST_MUTATE_H
#define TEST_MUTATE_H

#include "damage/proto_tree.h"

/* Results stay far below what makes a slow machine slow. */
#define DAMAGED_MAX_BYTES ((size_t)256 << 10)

typedef struct damage {
    hn_arena *arena; /* of this variant */
    hn_rng *rng;
    proto_message *model; /* to be changed */
    proto_message *donor; /* another model, to take pieces from */
} damage;

typedef struct mutation {
    const char *name;
    void (*apply)(damage *d); /* what does not apply to this model does nothing */
} mutation;

/* Tables of changes to fields, and of those that leave the structure as it is: mutate.c; of
 * structures that no exporter writes: hostile.c. */
extern const mutation field_mutations[], number_mutations[], hostile_mutations[];
extern const uint32_t n_field_mutations, n_number_mutations, n_hostile_mutations;
/* One kind of byte damage, in place or into the arena. */
void damage_bytes(damage *d, hn_bytes *file);

/* ---- shared ---------------------------------------------------------------------------------- */

uint32_t damage_below(damage *d, uint32_t n); /* 0 for n == 0 */
bool damage_chance(damage *d, uint32_t one_in);
uint64_t damage_odd_number(damage *d); /* one that programs trip over */
/* Any message of a kind in the tree, all equally likely; NULL when there is none. */
proto_message *damage_pick(damage *d, proto_message *root, proto_kind kind);
proto_field *damage_pick_field(damage *d, proto_message *m); /* NULL when it is empty */

#endif
