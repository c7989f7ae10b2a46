/* Graphs that follow the schemas of their operators, all domains and all opsets, and keep nothing
 * else: attributes at the ends of their types, arguments of any shape, bodies with the wrong number
 * of outputs, declarations that contradict the nodes. Nobody asks whether they run. */
#ifndef TEST_WILD_H
#define TEST_WILD_H

#include "ops/ops.h"
#include "random/grow.h"

#define WILD_MAX_RANK 6
#define WILD_MAX_ELEMS 512 /* of an input or an initializer */

/* A type that the value has or is inferred to have; NULL: nobody knows. */
static inline const hn_type *wild_type(const grower *w, hn_id value) {
    return value == HN_NONE ? NULL : hn_value_at(w->g, value)->type;
}

/* wild_value.c: new values of a type. Shapes are near that of `like` (may be NULL), or anything. */
hn_id wild_input(grower *w, hn_id block, const hn_type *type);
hn_id wild_value(grower *w, hn_dtype elem, const hn_type *like);
const hn_tensor *wild_tensor(grower *w, hn_dtype elem, const hn_type *like);
int64_t wild_integer(grower *w);
float wild_real(grower *w);
hn_dtype wild_elem(grower *w);

/* wild_node.c: one node of any operator. */
void wild_node(grower *w);

/* wild_body.c: the subgraph of an attribute, once the node is there. */
void wild_body(grower *w, hn_id node, uint32_t attr);
bool wild_may_have_body(const grower *w); /* not too deep inside others */

/* claims.c: contradictions. What the model declares of outputs and other values becomes wrong,
 * names of dimensions are given to others. */
void wild_claims(grower *w);
/* extremes.c: attributes of nodes that are there get other values. */
void wild_extremes(grower *w);

/* wild_model.c: the bytes of a whole model; free() them. Half of the models are wild, half were
 * grown so that they run (random/grow.h), then both get claims and extremes. The same seed makes
 * the same. */
bool wild_model(uint64_t seed, void **data, size_t *n_bytes);

#endif
