/* Sessions: a program, the plans for the shapes seen last, and states for concurrent runs. */
#ifndef HN_SESSION_H
#define HN_SESSION_H

#include "pass/pass.h"
#include "run/run.h"

/* Every pass there is, in the order of a run: the portable ones, then those of the providers. NULL
 * past the last. */
const hn_pass_row *hn_pass_at(uint32_t i);
const hn_pass_row *hn_pass_find(const char *name, size_t n); /* NULL when there is none */
/* The portable passes and then the rewrites of the providers that the program asks (NULL: of the
 * one that is asked by default). */
hone_status hn_optimize_for_session(hn_model *m, const hn_program_options *program,
                                    const hn_optimize_options *o, hn_opt_log *log, hone_error *err);
/* The model learns the operators of those providers: graphs of a cache have them. */
hone_status hn_providers_add_ops(hn_model *m, const hn_program_options *program, hone_error *err);

/* A program of the graph as the passes of a level leave it. o: NULL for none. */
hone_status hn_program_optimized(const hn_model *m, hn_level level, const hn_program_options *o,
                                 hn_program **out, hone_error *err);

/* The same, shared by all who ask for the same of one model, until the last has given it back. The
 * model counts its edits. */
hone_status hn_program_shared(const hn_model *m, hn_level level, const hn_program_options *o,
                              hn_program **out, hone_error *err);
void hn_program_unshare(hn_program *p); /* NULL is fine */
/* Equal texts for equal wishes. */
void hn_program_describe(hn_level level, const hn_program_options *o, hn_strbuf *out);

typedef struct hn_session hn_session;
typedef struct hn_session_options {
    int n_threads;         /* 0: as many as there are processors */
    uint64_t memory_limit; /* of intermediate values; 0: none */
    uint32_t max_plans;    /* kept; 0: 16 */
    bool keep_denormals;
    hn_image_hook image_hook;
    hn_level level;             /* of the passes that run first */
    hn_program_options program; /* looked at while the session is made */
    bool shares_program;        /* with other sessions of the model */
    const char *cache_folder;   /* of weights packed by earlier processes; NULL: none */
    const char *kernels_path;   /* of kernels that were measured; NULL: none */
    uint64_t seed;              /* of random numbers; 0: new ones in every run */
    hn_pool *pool;              /* of another session that lives longer; NULL: its own */
} hn_session_options;
hone_status hn_session_new(const hn_model *m, const hn_session_options *o, hn_session **out,
                           hone_error *err);
void hn_session_free(hn_session *s);
const hn_program *hn_session_program(const hn_session *s);
typedef struct hn_session_costs {
    uint64_t optimize_ns, pack_ns, plan_ns; /* so far */
    uint64_t n_plans;                       /* that were made */
} hn_session_costs;
hn_session_costs hn_session_get_costs(hn_session *s);
/* Why the cache was not used or not written; "" when it was, or nobody asked for one. */
const char *hn_session_cache_note(const hn_session *s);
/* The same for the measured kernels. */
const char *hn_session_kernels_note(const hn_session *s);
/* What the model breaks of the standard, and what was assumed instead. */
const char *hn_session_model_note(const hn_session *s);

/* Which names of dimensions inputs have contradicted so far; "" for none. May change in any run;
 * every text lives as long as the session. */
const char *hn_session_dims_note(const hn_session *s);

/* A run is: open a state, fill its call, run, look at the results, close. Any number may be open at
 * once, in any threads. */
hn_state *hn_session_open(hn_session *s); /* NULL: no memory */
void hn_session_close(hn_session *s, hn_state *state);
hone_status hn_session_run(hn_session *s, hn_state *state, const hn_run_control *control,
                           hone_error *err);
/* Shows the plan of a run with these inputs to `look`, during which it stays. */
typedef hone_status (*hn_plan_fn)(const hn_plan *plan, void *ctx, hone_error *err);
hone_status hn_session_with_plan(hn_session *s, hn_state *state, hn_plan_fn look, void *ctx,
                                 hone_error *err);

#endif /* HN_SESSION_H */
