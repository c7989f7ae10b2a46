/* Layer 5: verification that a rewritten graph computes the same. Both graphs run on the same
 * inputs; a rewrite that changes results is found, reported and disabled. */
#ifndef HN_PROVE_H
#define HN_PROVE_H

#include "pass/pass.h"
#include "run/session.h"

/* ---- inputs and what comes out --------------------------------------------------------------- */

/* Values for the inputs of a model, and for its outputs after a run; owns them. */
typedef struct hn_samples {
    const hone_allocator *alloc;
    hn_heap *heap;
    uint32_t n_inputs, n_outputs;
    hn_object **inputs; /* in the order of the main graph; NULL: the initializer of that name */
    hn_object **outputs;
    uint64_t deadline_ns;  /* of all runs; 0: none */
    uint64_t memory_limit; /* of each run; 0: none */
    hn_strbuf shapes;      /* of the inputs that were made up: "x 2x3, y 4" */
} hn_samples;

/* Generates inputs with which the model runs: free dimensions get small sizes, or larger ones if
 * the model fails with those, the same for equal names; floats are drawn from a normal
 * distribution, integers are 0 or 1, so that they are valid as indices and masks. Inputs that are
 * not tensors are refused. */
hone_status hn_samples_make(const hn_model *m, uint64_t seed, hn_samples **out, hone_error *err);
/* The same for the inputs that are still missing, within the limits. Unless it obeys names, equal
 * names get different sizes if the model runs with those. */
hone_status hn_samples_fill(hn_samples *s, const hn_model *m, uint64_t seed, bool obeys_names,
                            hone_error *err);
/* No inputs yet: the caller puts objects of the samples' heap into `inputs`. */
hone_status hn_samples_empty(const hn_model *m, hn_samples **out, hone_error *err);
void hn_samples_free(hn_samples *s); /* NULL is fine */
/* Runs the model without optimization on the inputs; the outputs replace those of the last run.
 * Floats are converted to the type that the model declares. */
hone_status hn_samples_run(hn_samples *s, const hn_model *m, hone_error *err);

/* Runs the model that the samples belong to, and sets is_large[value] for float values of the main
 * graph with finite elements beyond the limit. */
hone_status hn_samples_find_large(const hn_samples *s, const hn_model *m, double limit,
                                  bool *is_large, hone_error *err);

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct hn_difference {
    uint32_t output;     /* that differs most */
    double max_abs;      /* largest difference of two elements */
    double max_relative; /* relative to the largest element of that output */
    bool is_other_type;  /* kind, element type (but for real numbers in fewer bits) or shape differ:
                            the numbers above mean nothing */
} hn_difference;
/* Outputs a (before) and b (after). NaN equals NaN, an infinity itself. */
void hn_samples_compare(uint32_t n, hn_object *const *a, hn_object *const *b, hn_difference *out);
/* Is the difference allowed for a pass of these numerics? Graphs of many layers amplify rounding,
 * so the bound applies to the results, not to a single operation. */
bool hn_difference_is_fine(const hn_difference *d, hn_numerics numerics);

/* ---- proven optimization --------------------------------------------------------------------- */

/* A disabled rule, and the reason. */
typedef struct hn_guilty {
    const char *pass, *rule, *node; /* of the first rewrite that changed results */
    const char *reason;             /* a sentence */
} hn_guilty;

typedef struct hn_proof {
    hn_arena *arena;
    HN_VEC(hn_guilty) guilty;
    uint32_t n_runs;         /* of the model, in all */
    hn_difference remaining; /* between the original and the result */
    const char *shapes;      /* of inputs that were made up; NULL: none was */
} hn_proof;
hn_proof *hn_proof_new(const hone_allocator *a);
void hn_proof_free(hn_proof *p);

/* Optimizes a copy of `m`, which must outlive it. A rule that fails is disabled. With samples (not
 * NULL) the graph is run before and after each pass; when results differ by more than the pass's
 * numerics allow, bisection finds the rewrite and its rule is disabled, too. */
hone_status hn_prove_optimize(const hn_model *m, const hn_optimize_options *o, hn_samples *samples,
                              hn_model **out, hn_opt_log **log, hn_proof *proof, hone_error *err);

#endif /* HN_PROVE_H */
