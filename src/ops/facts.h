/* What inference knows of a graph that is being edited: types in the values themselves, constants
 * and small integers beside them, brought up to date node by node. */
#ifndef HN_FACTS_H
#define HN_FACTS_H

#include "ops/claims.h"
#include "ops/infer/infer_engine.h"

typedef struct hn_facts hn_facts;
/* Infers the whole model from its nodes and inputs; what else the file declares is set aside, names
 * of dimensions that are split (NULL: none) included. */
hone_status hn_facts_new(hn_model *m, const hn_split_dims *split, hn_facts **out, hone_error *err);
/* Gives back what was set aside. */
void hn_facts_free(hn_facts *f); /* NULL is fine */
/* Takes note of values that were added; initializers among them are constants. */
hone_status hn_facts_learn(hn_facts *f);
/* Infers a node anew, as after an edit; its inputs are known already. Fails when it does not fit
 * its schema, or contradicts what its outputs were known to be. */
hone_status hn_facts_visit(hn_facts *f, hn_id node, hone_error *err);
const hn_tensor *hn_facts_const(const hn_facts *f, hn_id value); /* NULL when not constant */
/* Elements of a small integer tensor of rank 0 or 1; false when nothing is known of them. */
bool hn_facts_ints(const hn_facts *f, hn_id value, uint32_t *n, const hn_sint **elems,
                   bool *is_scalar);
/* The node does not fit its schema or its inputs: it fails when it runs, and must be left to. */
bool hn_facts_is_invalid(const hn_facts *f, hn_id node);
/* A node through the eyes of an inference rule: attributes with their defaults, version. False when
 * the operator is unknown or does not fit its schema. */
bool hn_facts_view(const hn_facts *f, hn_id node, hn_infer *c);

#endif /* HN_FACTS_H */
