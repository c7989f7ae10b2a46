/* The smallest graph that still fails. */
#ifndef TEST_SHRINK_H
#define TEST_SHRINK_H

#include "random/contest.h"
#include "random/grow.h"

/* Drops outputs, replaces nodes by inputs with what they compute, gives free dimensions their
 * sizes, as long as there is something to complain in this setup. */
void shrink(grown *g, const contest_setup *s);

#endif
