/* How much rounding may change results. */
#ifndef TEST_NOISE_H
#define TEST_NOISE_H

#include "random/contest.h"

/* The same bits, but for the sign of zero and the payload of NaN. */
bool noise_is_same(const hn_object *a, const hn_object *b);
/* The largest difference of two elements; infinite when the types differ. */
double noise_distance(const hn_object *a, const hn_object *b);
void noise_forget_signs(hn_array *a); /* of zeros */
/* Is there a NaN or an infinity among the numbers that the model begins with? */
bool noise_is_wild(const contest *c);
/* Do results lie as near as runs do that differ in rounding alone? The model is run a few times
 * with every number that a node computes moved by a few units in the last place; what that changes
 * in the outputs, also by a decision that turns out differently, another order of operations may
 * change, too. */
bool noise_explains(const contest *c, hn_object *const *outputs, uint32_t *output, double *worst);

#endif
