/* What runs evaluations (plans, constant folding) gives them. Evaluations themselves see eval_int.h
 * only. */
#ifndef HN_EVAL_ENGINE_H
#define HN_EVAL_ENGINE_H

#include "cpu/kernels/kernel.h"
#include "ops/eval/eval_int.h"
#include "ops/infer/infer_engine.h"
#include "cpu/kernel_choices.h"

/* The surroundings of a run; one per thread that runs. */
typedef struct hn_eval_host {
    hn_heap *heap;     /* objects */
    hn_arena *scratch; /* emptied after every evaluation */
    hn_pool *pool;     /* may be NULL */
    hn_rng rng;
    hn_image_hook image_hook;
    void *run; /* the runner's own */
    /* Runs a block of the graph; see hn_eval_body. */
    hone_status (*run_body)(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                            uint32_t n_out, hn_object **out, hone_error *err);
    /* What its outputs would be for inputs of these types, as far as inference knows, in scratch.
     * May be NULL. */
    hone_status (*type_body)(void *run, hn_id block, uint32_t n_in, const hn_type *const *in,
                             uint32_t n_out, const hn_type **out);
    bool (*is_stopped)(void *run); /* cancelled or past the deadline; NULL: never */
} hn_eval_host;

/* Constants of a preparation whose data may not be where their arrays point until somebody asks. */
typedef struct hn_const_host {
    void (*name)(void *ctx, uint32_t arg, hn_blob_key *key); /* mixes in what an argument is */
    hone_status (*read)(void *ctx);                          /* brings the data of all arguments */
    hn_dtype (*origin)(void *ctx, uint32_t arg); /* the type that its numbers come from */
    const hn_blob_store *store;                  /* may be NULL */
    hn_kernel_choices *choices;                  /* may be NULL */
    hn_stored stored; /* what right sides of products are to be made of */
    void *ctx;
} hn_const_host;

#define HN_MOST_RECORD_BYTES ((uint64_t)1 << 20) /* at a time */

struct hn_eval {
    hn_infer node; /* attributes, version */
    hn_eval_host *host;
    uint32_t n_args, n_rets;
    hn_object *const *args; /* NULL where left out */
    hn_object **rets;       /* prepared, or NULL */
    const bool *wanted;     /* per output: does anybody read it? */
    const hn_id *bodies;    /* by role: blocks of graph attributes, or HN_NONE; NULL: none */
    bool is_prepared;       /* state is what `prepare` of hn_impl or hn_lowering made */
    void *state;
    const hn_const_host *consts; /* during a preparation; NULL: all data are there */
    uint64_t packed_args;     /* set by a preparation: bit i says that the state holds all that is
                                read of argument i, but for its type */
    hn_arena *records;        /* while the node is lowered: where hn_lower_alloc takes memory */
    int n_threads;            /* and how many threads at most will run it */
    bool is_record_too_large; /* somebody asked for more than HN_MOST_RECORD_BYTES */
    hone_error *err;
};

/* The kinds and element types of the arguments against the schema: for steps whose types were not
 * known before. */
hone_status hn_eval_check_args(hn_eval *c);

/* A tensor as inference sees it: its type, and its data where they are small (else NULL). Both stay
 * NULL for NULL. */
hone_status hn_describe_array(hn_arena *a, const hn_array *x, const hn_type **type,
                              const hn_tensor **data);
/* Types of the outputs from what the arguments really are, into c->node.out. */
hone_status hn_eval_infer(hn_eval *c);
/* After that: is output i wanted, a tensor, and of known size? Then it is made before the
 * evaluation. */
bool hn_eval_knows_ret(const hn_eval *c, uint32_t i);
/* Multiply-accumulates of a node that has run; 0: none, or none worth counting. */
uint64_t hn_eval_macs(hn_eval *c);
/* Runs one node that has no body, on as many arguments as it has inputs. Wanted outputs become
 * objects of the host's heap; on failure there are none. */
hone_status hn_eval_once(hn_eval_host *host, const hn_graph *g, hn_id node, hn_object *const *args,
                         const bool *wanted, hn_object **rets, hone_error *err);

/* A tensor in memory that the caller owns: never freed, copied when somebody keeps it. */
void hn_object_init_borrowed(hn_object *o, hn_dtype dtype, int32_t rank, const int64_t *dims,
                             void *data);
/* A constant as evaluations want it: data are borrowed where they are complete and aligned, which a
 * view into a file may not be; else copied into the arena. */
hone_status hn_object_init_tensor(hn_object *o, hn_arena *a, const hn_tensor *t, hone_error *err);
size_t hn_dtype_alignment(hn_dtype t); /* that evaluations rely on, in bytes */
hn_object *hn_heap_tensor(hn_heap *heap, hn_dtype dtype, int32_t rank, const int64_t *dims);
hn_object *hn_heap_object(hn_heap *heap, hn_object_kind kind, uint32_t n_items);
hn_object *hn_heap_copy(hn_heap *heap, const hn_object *o); /* deep; may come from another heap */
hn_object *hn_heap_ref(hn_heap *heap,
                       hn_object *o); /* NULL: no memory for the copy of a borrowed one */
void hn_heap_unref(hn_heap *heap, hn_object *o);
bool hn_heap_copy_string(hn_heap *heap, hn_bytes from,
                         hn_bytes *to); /* one element of a string tensor */
/* Elements of one tensor into another of the same type and size; heap: of `to`, for strings. False:
 * no memory. */
bool hn_heap_copy_elems(hn_heap *heap, hn_array *to, const hn_array *from);
bool hn_array_has_type(const hn_array *a,
                       const hn_type *t); /* exactly this element type and shape */

#endif /* HN_EVAL_ENGINE_H */
