/* L5: evidence that a rewritten graph still computes the same. Graphs are run side by side on the
 * same inputs; a rewrite that changed the results is found, named and left out. */
#ifndef HN_PROVE_H
#define HN_PROVE_H

#include "pass/pass.h"
#include "run/session.h"

/* ---- inputs and what comes out --------------------------------------------------------------- */

/* Values for the inputs of a model, and for its outputs once it was run; owns them. */
typedef struct hn_samples {
    const hone_allocator *alloc;
    hn_heap *heap;
    uint32_t n_inputs, n_outputs;
    hn_object **inputs; /* in the order of the main graph; NULL: the initializer of that name */
    hn_object **outputs;
} hn_samples;

/* Makes up inputs with which the model runs: free dimensions become small numbers (one symbol, one
 * number), or larger ones when the model refuses those; reals are drawn from a normal distribution,
 * integers are 0 or 1, so that they can index and mask. Inputs that are no tensors are refused. */
hone_status hn_samples_make(const hn_model *m, uint64_t seed, hn_samples **out, hone_error *err);
/* No inputs yet: the caller puts objects of the samples' heap into `inputs`. */
hone_status hn_samples_empty(const hn_model *m, hn_samples **out, hone_error *err);
void hn_samples_free(hn_samples *s); /* NULL is fine */
/* Runs the model as it is on the inputs; the outputs replace those of the last run. Real numbers
 * are given in the type that the model wants. */
hone_status hn_samples_run(hn_samples *s, const hn_model *m, hone_error *err);

/* Sets is_large[value] where the run of the model (which samples are for) gives a float value of
 * the main graph with finite numbers beyond the limit. */
hone_status hn_samples_find_large(const hn_samples *s, const hn_model *m, double limit,
                                  bool *is_large, hone_error *err);

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct hn_difference {
    uint32_t output;     /* that differs most */
    double max_abs;      /* largest difference of two elements */
    double max_relative; /* the same over the largest element of that output */
    bool is_other_type;  /* kind, element type (but for real numbers in fewer bits) or shape differ:
                            the numbers above mean nothing */
} hn_difference;
/* Outputs a (before) and b (after). NaN equals NaN, an infinity itself. */
void hn_samples_compare(uint32_t n, hn_object *const *a, hn_object *const *b, hn_difference *out);
/* Is that what a pass of these numerics may do? Graphs of many layers amplify rounding, so the
 * bound is one on the results, not on a single operation. */
bool hn_difference_is_fine(const hn_difference *d, hn_numerics numerics);

/* ---- proven optimization --------------------------------------------------------------------- */

/* A rule that was switched off, and why. */
typedef struct hn_guilty {
    const char *pass, *rule, *node; /* of the first rewrite that changed results */
    const char *reason;             /* a sentence */
} hn_guilty;

typedef struct hn_proof {
    hn_arena *arena;
    HN_VEC(hn_guilty) guilty;
    uint32_t n_runs;         /* of the model, in all */
    hn_difference remaining; /* between the original and the result */
} hn_proof;
hn_proof *hn_proof_new(const hone_allocator *a);
void hn_proof_free(hn_proof *p);

/* hn_optimize of a copy of `m`, which must outlive it. A rule that fails is switched off, and the
 * rest delivered. With samples (not NULL) the graph is run before and after each pass; when results
 * differ by more than the pass's numerics allow, the guilty rewrite is found by bisection and its
 * rule is switched off, too. */
hone_status hn_prove_optimize(const hn_model *m, const hn_optimize_options *o, hn_samples *samples,
                              hn_model **out, hn_opt_log **log, hn_proof *proof, hone_error *err);

#endif /* HN_PROVE_H */
