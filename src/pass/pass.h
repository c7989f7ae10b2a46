/* L3: rewriting graphs. A pass is a row of a table; it proposes patches, the driver applies,
 * verifies and logs them. Everything that the portable passes (passes.def) leave in the graph is
 * ONNX that can be saved; a provider brings a table of its own for the graph that it runs. */
#ifndef HN_PASS_H
#define HN_PASS_H

#include "ops/claims.h"
#include "ops/ops.h"

typedef enum hn_level { /* numbers are onnxruntime's */
                        HN_LEVEL_NONE = 0,
                        HN_LEVEL_BASIC = 1,
                        HN_LEVEL_EXTENDED = 2,
                        HN_LEVEL_ALL = 99
} hn_level;

/* What a pass may do to numbers. */
typedef enum hn_numerics {
    HN_NUMERICS_EXACT,        /* the same bits */
    HN_NUMERICS_REASSOCIATES, /* the same real numbers, rounded elsewhere */
    HN_NUMERICS_APPROXIMATES  /* other real numbers; only when asked for */
} hn_numerics;

/* Who reads the result. */
typedef enum hn_target {
    HN_TARGET_ONNX,        /* any runtime: standard operators of the model's opset only */
    HN_TARGET_ONNXRUNTIME, /* also com.microsoft operators that onnxruntime runs on CPUs */
    HN_TARGET_SESSION      /* our own run: whatever hone evaluates */
} hn_target;

/* Passes of a group run to a fixpoint together with those of the groups before it. */
typedef enum hn_pass_group {
    HN_GROUP_CLEAN,   /* makes graphs smaller and brings them to one spelling */
    HN_GROUP_FUSE,    /* recognizes large operators in small ones */
    HN_GROUP_FINISH,  /* forms that hide structure from the other groups: biases, activations, Gemm
                       */
    HN_GROUP_CONVERT, /* other types, on the graph that the others have left */
    HN_GROUP_PROVIDER /* a provider's, on a graph that it alone runs; only clean runs with it */
} hn_pass_group;

typedef struct hn_pass hn_pass; /* one pass under way: pass_int.h */
typedef hone_status (*hn_pass_fn)(hn_pass *p);

typedef struct hn_pass_row {
    const char *name; /* "fold-constants" */
    hn_pass_group group;
    hn_level level;
    hn_numerics numerics;
    hn_pass_fn fn;
    const char *summary; /* one line for people */
} hn_pass_row;
typedef struct hn_pass_table {
    const hn_pass_row *rows; /* in the order of a run */
    uint32_t n;
} hn_pass_table;
extern const hn_pass_table hn_portable_passes;

/* ---- what happened --------------------------------------------------------------------------- */

typedef struct hn_rewrite {
    const hn_pass_row *pass;
    const char *rule;   /* "conv-bn" */
    const char *node;   /* label of the node it began at */
    const char *detail; /* what was done, may be "" */
    uint32_t n_nodes_removed, n_nodes_added;
} hn_rewrite;

/* A rule that fitted all but one condition. */
typedef struct hn_near_miss {
    const hn_pass_row *pass;
    const char *rule;
    const char *node;
    const char *reason; /* a sentence */
} hn_near_miss;

typedef struct hn_pass_stat {
    const hn_pass_row *pass;
    uint32_t n_runs, n_rewrites;
    int64_t nodes_saved;
    int64_t weight_bytes_saved; /* of initializers */
    int64_t macs_saved;         /* as far as shapes are known */
    double seconds;
} hn_pass_stat;

/* Owns its memory: outlives the model. */
typedef struct hn_opt_log {
    hn_arena *arena;
    HN_VEC(hn_rewrite) rewrites;
    HN_VEC(hn_near_miss) misses;
    HN_VEC(hn_pass_stat) stats;        /* one per pass that ran, in order of its first run */
    int64_t opset_before, opset_after; /* of ai.onnx */
    bool is_stopped;                   /* by stop_after */
    uint64_t folded_bytes;             /* of all constants that were computed */
    hn_near_miss failed; /* what made the optimization fail; pass NULL: nothing; rule "": all of the
                            pass */
} hn_opt_log;
hn_opt_log *hn_opt_log_new(const hone_allocator *a);
void hn_opt_log_free(hn_opt_log *log); /* NULL is fine */

/* ---- rules of others ------------------------------------------------------------------------- */

struct hn_rule_row; /* pass_int.h */

/* What programs and shared libraries bring along. Outlives the optimizations that use it. */
typedef struct hn_rule_set hn_rule_set;
hn_rule_set *hn_rule_set_new(const hone_allocator *alloc); /* NULL: no memory */
void hn_rule_set_free(hn_rule_set *s);                     /* NULL is fine */
hone_status hn_rule_set_add(hn_rule_set *s, const hone_rule_def *def, hone_error *err);
hone_status hn_rule_set_load(hn_rule_set *s, const char *path, hone_error *err);
const struct hn_rule_row *hn_rule_set_rows(const hn_rule_set *s, uint32_t *n);
extern const hone_rule_api hn_rule_api; /* what such rules may call */

/* ---- optimizing ------------------------------------------------------------------------------ */

/* Other types for float numbers; the pass "precision". */
typedef struct hn_precision {
    hn_dtype elem;          /* HN_F16 or HN_BF16; HN_UNDEFINED: all stays as it is */
    bool keep_io;           /* inputs and outputs of the graph stay float */
    uint32_t n_blocked_ops; /* operators that stay float, beside those that do so anyway */
    const char *const *blocked_ops;
    uint32_t n_blocked_nodes; /* names */
    const char *const *blocked_nodes;
    /* Sets is_large[value] where a value of the graph was seen with finite numbers beyond the
     * limit; may be NULL. */
    hone_status (*find_large)(void *ctx, const hn_model *m, double limit, bool *is_large,
                              hone_error *err);
    void *ctx;
} hn_precision;

typedef struct hn_optimize_options {
    hn_level level;
    hn_target target;
    int64_t opset;     /* to bring the model to first; 0: as it is */
    int64_t max_opset; /* a fusion that needs a newer operator may raise the opset up to here; 0:
                          never */
    uint32_t n_only;   /* run just these passes, whatever their level; 0: as the level says */
    const char *const *only;
    uint32_t n_disabled; /* "pass" or "pass.rule", of any table */
    const char *const *disabled;
    uint32_t stop_after;     /* rewrites; UINT32_MAX: no limit */
    uint64_t max_fold_bytes; /* a folded constant that is larger than this and than what it was made
                                from stays a computation */
    bool allow_approximate;
    bool defer_weights; /* large weights that change by a factor per channel are not computed: the
                           graph is run, not saved */
    bool trusts_names; /* of dimensions of inputs: equal ones are equal sizes; sessions always do */
    hn_split_dims split; /* of a session: names that its inputs have contradicted */
    bool widen_half;     /* half precision is computed as float: the graph is run, not saved */
    bool is_quiet;       /* nobody asks for near misses of patterns */
    bool keep_origins;   /* new nodes note the names of what they replace, for profiles */
    bool measure;        /* weights and multiply-accumulates that each pass saves */
    hn_precision precision;
    uint32_t n_custom; /* rules of the caller: run as the pass custom-rules */
    const struct hn_rule_row *custom;
    /* After each run of a pass that changed something, with the graph as it is; may be NULL.
     * Another status than HONE_OK ends the optimization with it. */
    hone_status (*after_pass)(void *ctx, hn_model *m, const hn_pass_row *pass,
                              const hn_opt_log *log, hone_error *err);
    void *ctx;
} hn_optimize_options;
void hn_optimize_options_init(hn_optimize_options *o);

/* Rewrites the model in place; inputs and outputs keep names and order, and types unless
 * `precision` changes them. On failure it can only be freed: callers hand in a clone when they want
 * to keep the original. */
hone_status hn_optimize(hn_model *m, const hn_optimize_options *o, hn_opt_log *log,
                        hone_error *err);
/* The passes of a provider, to a fixpoint with those of the group clean, on a graph that
 * hn_optimize has left. Goes on with its log. */
hone_status hn_optimize_for_provider(hn_model *m, const hn_pass_table *passes,
                                     const hn_optimize_options *o, hn_opt_log *log,
                                     hone_error *err);

/* Brings a model to another version of ai.onnx: up, and down where every node can still say what it
 * means. Fails with a message that names the first node that cannot; the model is then as before.
 * Functions are inlined first by the caller. */
hone_status hn_convert_opset(hn_model *m, int64_t version, hone_error *err);

#endif /* HN_PASS_H */
