/* L3: from a graph to an order of work and a map of memory. A program is made once per model; a
 * plan once per set of input shapes. */
#ifndef HN_PLAN_H
#define HN_PLAN_H

#include "ops/claims.h"
#include "ops/eval_engine.h"

typedef struct hn_provider hn_provider;

/* ---- lowered steps --------------------------------------------------------------------------- */

/* What a lowered step is given in a run: nothing but pointers. */
typedef struct hn_step_io {
    const void *const *in; /* data of the arguments; NULL where one is left out */
    void *const *out;      /* data of the results; NULL where nobody reads one */
    void *scratch;         /* hn_lowered.scratch_bytes, aligned to cache lines */
    hn_pool *pool;         /* may be NULL */
    hone_error *err;
} hn_step_io;

/* A node lowered for known shapes: one function, and the record that it is called with. The record
 * has all that attributes, shapes, packed weights and the choice of a kernel decide; it is in the
 * arena of the plan, and is immutable. */
typedef struct hn_lowered {
    hone_status (*run)(const void *record, const hn_step_io *io); /* NULL: it was not lowered */
    const void *record;
    size_t scratch_bytes;
    const char *kernel; /* for profiles, where a lowering has several; NULL: its own name */
} hn_lowered;

/* How a provider computes an operator. One row per implementation, beside its functions. */
typedef struct hn_lowering {
    /* Sees attributes, types and row strides of arguments and results, and the data of those
     * arguments that are known; memory for the record comes from hn_lower_alloc. Leaves out->run
     * NULL where the plain evaluation has to do: rare types and forms. */
    hone_status (*lower)(hn_eval *c, hn_lowered *out);
    /* Packs constants; as in hn_impl. */
    hone_status (*prepare)(hn_eval *c, void **state);
    void (*release)(const hn_op *op, void *state);
    hn_row_strides row_strides; /* rows that need not be contiguous */
} hn_lowering;

/* One node, ready to run. */
typedef struct hn_step {
    hn_id node;
    const hn_op *op;
    int version;
    const hn_provider *provider; /* who claimed the node */
    const hn_lowering *lowering; /* how that provider computes it; NULL: it is evaluated */
    void *state;                 /* what is kept for this node: packed weights, trees, ... */
    uint64_t packed_args;        /* bit i: the state holds what is read of argument i */
    bool is_prepared;            /* the state is there, if there is to be one */
    bool has_body;               /* If, Loop, ...: the evaluation makes its outputs itself */
    hn_id bodies[HN_N_BODIES];   /* by role; HN_NONE: there is none */
    const bool *wanted;          /* per output: does anybody read it? */
    uint32_t n_dead;             /* values of this block that nobody reads after this step */
    const hn_id *dead;
} hn_step;

static inline hn_row_strides hn_step_row_strides(const hn_step *s) {
    return s->lowering ? s->lowering->row_strides : (hn_row_strides){0};
}

typedef struct hn_step_list {
    uint32_t n_steps;
    hn_step *steps;
    uint32_t n_owned; /* values that live in this block, initializers aside */
    const hn_id *owned;
    uint32_t n_entries; /* values that come from outside: the inputs of the block, then what it and
                           blocks within it read of others, initializers aside */
    const hn_id *entries;
} hn_step_list;

/* ---- providers ------------------------------------------------------------------------------- */

struct hn_optimize_options; /* of pass/, which plan/ does not see */
struct hn_opt_log;
struct hn_pass_table;

/* Somebody who runs nodes. Of the providers that a session names, in its order, each may rewrite
 * the portable graph; then the first that claims a node lowers it to a step. */
struct hn_provider {
    const char *name;
    /* Rewrites the program's own copy of the graph, which the portable passes have left, into one
     * that it runs faster; NULL: it runs portable graphs. */
    hone_status (*rewrite)(hn_model *m, const struct hn_optimize_options *o, struct hn_opt_log *log,
                           hone_error *err);
    const struct hn_pass_table *passes; /* that `rewrite` runs: for lists of passes; may be NULL */
    const hn_op_table *ops; /* that `rewrite` writes beside those of files; may be NULL */
    bool computes_in_float; /* half precision is slower: it is widened before `rewrite` */
    bool (*claims)(const hn_graph *g, const hn_step *step); /* node, op and version are known */
    const hn_lowering *(*lowering)(const hn_op *op);        /* NULL: it evaluates the operator */
    const char *(*lowering_name)(const hn_op *op);          /* NULL for the same; for profiles */
};
/* Ends with NULL; the first one is asked where a session names none. Defined by run/, which sees
 * the folders of all providers. */
extern const hn_provider *const hn_builtin_providers[];
const hn_provider *hn_provider_at(uint32_t i); /* all there are, 0, 1, ...; NULL past the last */
/* HONE_E_UNSUPPORTED with a list of what is there. */
hone_status hn_provider_find(const char *name, const hn_provider **out, hone_error *err);

/* ---- programs -------------------------------------------------------------------------------- */

/* Shape-independent and, once it is ready, immutable: shared by all threads of a session. */
typedef struct hn_program {
    hn_model *model;      /* our own copy, functions inlined, checked */
    hn_step_list *blocks; /* by block */
    uint32_t *position;   /* by node: its step, within its block */
    hn_object
        *consts; /* by value: initializers as borrowed tensors; kind NONE when there is none */
    HN_VEC(hn_blob *) blobs; /* constants that could not be read where they lie */
    bool *is_deferred;       /* by value: its constant is copied when it turns out to be read */
    pthread_mutex_t lock;    /* held while weights are packed */
    hn_fork_hook fork_hook;  /* of the lock */
    _Atomic bool is_ready;   /* they are: hn_program_pack has done its work */
    hn_stored stored;        /* what right sides of products are made of */
    bool evaluates_all;      /* plans lower nothing */
    const char *repairs;     /* what hn_model_repair did to the model; "" when nothing */
} hn_program;

typedef struct hn_program_options {
    uint32_t n_dims; /* free dimensions to be given a size */
    const hone_dim_size *dims;
    hn_split_dims split;  /* names of dimensions that must not be relied on */
    uint32_t n_providers; /* names, the preferred one first; 0: the first built-in one */
    const char *const *providers;
    /* May change the graph once functions are inlined and dimensions are fixed; NULL: nobody does.
     */
    hone_status (*rewrite)(void *ctx, hn_model *m, hone_error *err);
    void *rewrite_ctx;
    hn_pool *pool;              /* helps to pack weights; may be NULL */
    const hn_blob_store *store; /* of weights that were packed before; may be NULL */
    hn_kernel_choices *choices; /* that were measured; may be NULL */
    hn_stored stored;           /* what right sides of products are made of */
    struct hn_cache *cache;     /* of run/, where optimized graphs are kept; may be NULL */
    bool evaluates_all; /* nothing is lowered: the plain meaning, for tests to compare with */
    bool is_lazy;       /* weights are packed by hn_program_pack; without store and choices only */
} hn_program_options;

/* The i-th provider that a program asks, in its order; *out is NULL past the last. */
hone_status hn_program_provider(const hn_program_options *o, uint32_t i, const hn_provider **out,
                                hone_error *err);

/* Refuses a model that is not valid, or has an operator that cannot be run, by a message that names
 * it. The original must outlive it. options: NULL for none. */
hone_status hn_program_new(const hn_model *m, const hn_program_options *options, hn_program **out,
                           hone_error *err);
/* The same of a graph that is the program's own from now on, also when this fails; its weights lie
 * in the files of the original. */
hone_status hn_program_adopt(hn_model *own, const hn_model *m, const hn_program_options *options,
                             hn_program **out, hone_error *err);
/* Packs weights that a lazy program has left; does nothing the second time. Before anything is
 * planned; any number of threads may call it. After a failure it may be tried again. */
hone_status hn_program_pack(hn_program *p, hn_pool *pool, hone_error *err);
void hn_program_free(hn_program *p); /* NULL is fine */
/* Which steps of the main graph must run when these of its outputs are asked for. */
void hn_program_mark_needed(const hn_program *p, const bool *wanted_outputs, bool *needed_steps);

/* ---- plans ----------------------------------------------------------------------------------- */

/* Where a value of the main graph lies. */
typedef struct hn_place {
    const hn_type *type; /* with known dims; NULL: known only at run time */
    uint64_t offset;     /* into the block of memory; HN_NO_OFFSET when it does not lie there */
    int64_t row_stride;  /* of hn_array */
} hn_place;
#define HN_NO_OFFSET UINT64_MAX

typedef enum hn_step_mode {
    HN_STEP_DYNAMIC, /* shapes of its outputs are found when it runs */
    HN_STEP_PLANNED, /* all shapes are those of the plan */
    HN_STEP_VIEW     /* planned, and the output is the first argument's memory under another shape:
                        nothing to do */
} hn_step_mode;

/* Bytes of the block of memory and the steps, both inclusive, during which they are taken:
 * by one value, or by several that share them (views, results written over an argument). */
typedef struct hn_live_range {
    hn_id value; /* the first that lies there */
    uint32_t first, last;
    uint64_t bytes, offset;
} hn_live_range;

/* Neighbouring steps that fall into strands, none of which reads what another one makes: each may
 * be run by another thread. Whatever they make or read lives as long as the whole group. */
typedef struct hn_group {
    uint32_t begin, end; /* steps of the main graph */
    uint32_t n_strands;
    const uint32_t *starts; /* by strand, and one more: where it begins in `steps` */
    const uint32_t *steps;  /* in the order of the program within each strand */
} hn_group;

/* Of the main graph, or of a body. */
typedef struct hn_plan {
    hn_arena *arena;
    uint64_t serial; /* given by its session: an address alone may come back with another plan */
    const hn_program *program;
    hn_id block;
    int n_threads;            /* that run it, at most */
    const hn_step_list *list; /* steps of that block */
    uint32_t n_inputs;
    const hn_array *inputs; /* types it was made for, in the order of list->entries */
    hn_place *places;       /* by value */
    uint8_t *modes;         /* by step: hn_step_mode */
    hn_lowered *lowered;    /* by step: what its provider made of it; without run: evaluated */
    uint32_t n_groups;
    hn_group *groups; /* one after the other; steps between them run alone */
    uint32_t n_ranges;
    hn_live_range *ranges;
    uint64_t block_bytes; /* of intermediate values */
    /* Values that do not lie in the block of memory. */
    const uint32_t *first_dropped; /* by step, and one more: where the list of those that die after
                                      it begins in `dropped` */
    const hn_id *dropped;
    uint32_t n_unplaced; /* all of them */
    const hn_id *unplaced;
} hn_plan;

/* Infers with these input shapes and lays values out by their lifetimes, for runs by this many
 * threads. Inputs that are no tensors have kind NONE: nothing is planned for them. Safe from
 * several threads at once. */
hone_status hn_plan_new(const hn_program *p, int n_threads, uint32_t n_inputs,
                        const hn_object *const *inputs, hn_plan **out, hone_error *err);
void hn_plan_free(hn_plan *p);
bool hn_plan_fits(const hn_plan *p, uint32_t n_inputs, const hn_object *const *inputs);
/* The same for a body, whose entries are what `values` (by value) are now. */
hone_status hn_plan_new_body(const hn_program *p, hn_id block, int n_threads,
                             hn_object *const *values, hn_plan **out);
bool hn_plan_fits_body(const hn_plan *p, hn_object *const *values);

/* lower_steps.c: one step whose arguments and results have these types and shapes, with data where
 * they are known. Records go to the arena, work is scratch. */
hone_status hn_lower_step(const hn_program *p, const hn_step *step, hn_object *const *args,
                          hn_object **rets, int n_threads, hn_arena *records, hn_arena *work,
                          hn_lowered *out);
/* lower_steps.c: lowers all steps whose shapes are those of the plan. data: what is known of
 * values, see hn_inferred. */
hone_status hn_plan_lower(hn_plan *p, const void *const *data);
/* Memory for a record, zeros, as long as the plan; NULL: there is none. */
void *hn_lower_alloc(hn_eval *c, size_t bytes);
/* memory.c: fills modes, ranges, offsets and block_bytes of a plan whose types are known. */
hone_status hn_plan_memory(hn_plan *p);
/* step_states.c: makes the states of steps that have some, but for those that hn_program_pack is
 * to make, and ends them. */
hone_status hn_program_prepare(hn_program *p, const hn_program_options *o, hone_error *err);
void hn_program_release(hn_program *p);
/* consts.c: initializers, aligned and dense, but for large ones that would have to be copied: only
 * hn_program_copy_const makes those readable. */
hone_status hn_program_make_consts(hn_program *p, const hn_model *source,
                                   const hn_program_options *o, hone_error *err);
hone_status hn_program_copy_const(hn_program *p, const hn_program_options *o, hn_id value,
                                  hone_error *err);
/* The bytes of a constant, wherever they lie; they leave the memory of their map. */
void hn_program_read_const(const hn_program *p, const hn_tensor *t, void *out);
void hn_program_drop_consts(hn_program *p);
/* Mixes into a key what a constant is: its place in a file, or its bytes. */
void hn_program_name_const(const hn_program *p, const hn_tensor *t, const hn_blob_store *store,
                           hn_blob_key *key);

#endif /* HN_PLAN_H */
