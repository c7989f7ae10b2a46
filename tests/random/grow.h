/* Random graphs that run: each node is evaluated when it is added, and taken out again when it
 * fails. So whatever is grown has shapes, types and values that fit, and every value is known on
 * the way. */
#ifndef TEST_GROW_H
#define TEST_GROW_H

#include "ops/eval_engine.h"
#include "pass/engine/pass_int.h"

#define GROWN_MAX_ELEMS 600 /* of any value */
#define GROWN_MAX_RANK 6

typedef struct grower {
    hn_rng rng;
    hn_arena *arena; /* scratch, and the lists below */
    hn_model *model;
    hn_graph *g;
    hn_id block; /* where nodes go */
    int64_t opset;
    hn_eval_host host;
    HN_VEC(hn_object *) data; /* by value: what it is in the run; NULL: not known */
    HN_VEC(hn_id) pool;       /* values that a new node may read */
    HN_VEC(hn_id) shown;      /* inner values that shall be outputs of the graph, too */
    uint32_t n_refused;       /* nodes that did not fit */
} grower;

_Noreturn void grow_fail(const char *what);

/* ---- chance ---------------------------------------------------------------------------------- */

static inline uint32_t grow_below(grower *w, uint32_t n) {
    return (uint32_t)hn_rng_below(&w->rng, n);
}
static inline bool grow_chance(grower *w, uint32_t percent) {
    return grow_below(w, 100) < percent;
}
static inline int64_t grow_between(grower *w, int64_t low, int64_t high) {
    return high < low ? low : low + (int64_t)grow_below(w, (uint32_t)(high - low + 1));
}
#define GROW_ONE_OF(w, list) ((list)[grow_below((w), (uint32_t)HN_COUNT(list))])

/* ---- values (grow_value.c) ------------------------------------------------------------------- */

const hn_array *grow_array(const grower *w, hn_id value); /* NULL when it is no tensor */
hn_dtype grow_elem(const grower *w, hn_id value);
int32_t grow_rank(const grower *w, hn_id value);
int64_t grow_dim(const grower *w, hn_id value, int32_t axis); /* axis may be negative */
hn_dtype grow_some_real(grower *w);                           /* mostly float */
hn_dtype grow_some_type(grower *w); /* any that graphs of this kind have */

/* A value that may be read; of this element type (HN_UNDEFINED: any), of a rank between; HN_NONE:
 * there is none. */
hn_id grow_pick(grower *w, hn_dtype elem, int32_t min_rank, int32_t max_rank);
/* One of a type of real numbers. */
hn_id grow_pick_real(grower *w, int32_t min_rank, int32_t max_rank);

/* New values, filled at random or with numbers that rules look for: 0, 1, all the same. */
hn_id grow_input(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims);
hn_id grow_const(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims);
/* With these numbers: an initializer, or a Constant node. */
hn_id grow_numbers(grower *w, hn_dtype elem, int32_t rank, const int64_t *dims, const double *v);
hn_id grow_number(grower *w, hn_dtype elem, double v);    /* of rank 0, or 1 and one element */
hn_id grow_ints(grower *w, uint32_t n, const int64_t *v); /* int64, rank 1 */
/* A shape that broadcasts to that of the value, and the other way round now and then. */
void grow_beside(grower *w, hn_id value, int32_t *rank, int64_t dims[GROWN_MAX_RANK]);
void grow_some_shape(grower *w, int32_t *rank, int64_t dims[GROWN_MAX_RANK]);
void grow_set_data(grower *w, hn_id value, hn_object *data); /* takes over a reference */
void grow_let_read(grower *w, hn_id value);                  /* by nodes that come */
void grow_show(grower *w, hn_id value);                      /* as an output of the graph */

/* ---- nodes (grow_node.c) --------------------------------------------------------------------- */

hn_attr grow_attr_i(grower *w, const char *name, int64_t v);
hn_attr grow_attr_f(grower *w, const char *name, float v);
hn_attr grow_attr_s(grower *w, const char *name, const char *v);
hn_attr grow_attr_ints(grower *w, const char *name, uint32_t n, const int64_t *v);
hn_attr grow_attr_floats(grower *w, const char *name, uint32_t n, const float *v);
hn_attr grow_attr_block(grower *w, const char *name, hn_id block);

/* Adds a node of ai.onnx as it is. */
hn_id grow_add(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
               uint32_t n_attrs, const hn_attr *attrs);
/* The same of another domain; NULL is ai.onnx. */
hn_id grow_add_of(grower *w, hn_str domain, const char *op, uint32_t n_in, const hn_id *in,
                  uint32_t n_out, uint32_t n_attrs, const hn_attr *attrs);
bool grow_compute(grower *w, hn_id node); /* its outputs, from what its inputs are now */
bool grow_settle(grower *w, hn_id node);  /* the same for a new node; false: it is gone */
/* For hn_eval_host: the nodes of a body, one after the other. */
hone_status grow_run_block(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                           uint32_t n_out, hn_object **out, hone_error *err);

/* Adds a node of ai.onnx and evaluates it. HN_NONE: it does not fit, and is gone. */
hn_id grow_node(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_out,
                uint32_t n_attrs, const hn_attr *attrs);
/* The same; its first output. Inputs that are HN_NONE where there must be one give HN_NONE. */
hn_id grow_make(grower *w, const char *op, uint32_t n_in, const hn_id *in, uint32_t n_attrs,
                const hn_attr *attrs);
hn_id grow_unary(grower *w, const char *op, hn_id x);
hn_id grow_binary(grower *w, const char *op, hn_id x, hn_id y);
/* With a list that is an attribute or an input, as the opset says. */
hn_id grow_with_list(grower *w, const char *op, hn_id x, const char *list, uint32_t n,
                     const int64_t *v, uint32_t n_attrs, const hn_attr *attrs);
hn_id grow_out(const grower *w, hn_id node, uint32_t i);

/* ---- steps: each adds a node or a few -------------------------------------------------------- */

void grow_any_operator(grower *w); /* grow_any.c: one of the table, with whatever fits */
void grow_twin(grower *w);         /* the same: a node that is there already */
void grow_arithmetic(grower *w);   /* grow_arithmetic.c */
void grow_move(grower *w);         /* grow_move.c: Reshape, Transpose, Slice, ... */
void grow_size(grower *w);         /* grow_move.c: what computes with shapes */
void grow_linear(grower *w);       /* grow_linear.c: Conv, MatMul, Gemm and what stands around */
void grow_image(grower *w);        /* grow_image.c: what networks for images are made of */
void grow_formula(grower *w);      /* grow_formula.c: what rules look for, or almost */
void grow_body(grower *w);         /* grow_body.c: If, Loop, Scan */
void grow_step(grower *w);         /* grow_model.c: one of all these */

/* ---- whole models (grow_model.c) ------------------------------------------------------------- */

/* A model, and what its inputs are in the run. The same seed makes the same. */
typedef struct grown {
    hn_model *model;
    hn_heap *heap;
    uint32_t n_inputs;
    hn_object **inputs; /* NULL: the initializer of that name */
    uint32_t n_refused;
} grown;
void grow_open(grower *w, uint64_t seed); /* an empty graph */
void grow_close(grower *w);
bool grow_model(uint64_t seed, grown *out); /* false: it came to nothing */
/* Through its text, as a file would give it: no types but those declared, no gaps. */
hn_model *grow_read_again(const hn_model *m);
void grown_free(grown *g);

#endif
