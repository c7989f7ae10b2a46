/* Inside run/: what a state holds. */
#ifndef HN_RUN_INT_H
#define HN_RUN_INT_H

#include "run/run.h"

/* What one thread of a run has for itself. */
typedef struct hn_lane {
    hn_eval_host host;
    size_t scratch_need; /* most that a step has taken so far */
    /* Of the first step, in the order of the program, that failed in a group. */
    uint32_t failed_step; /* UINT32_MAX: none */
    hone_status status;
    hone_error err;
} hn_lane;

typedef struct hn_body hn_body; /* bodies.c */

enum { HN_TIMED_THREADS = 64 }; /* pools with more are watched without times of threads */

struct hn_state {
    const hn_program *program;
    const hn_plan *plan;
    const hn_run_control *control;
    hn_heap *heap;  /* of all lanes */
    hn_lane *lanes; /* one per thread of the pool; the first is the caller's */
    int n_lanes;
    hn_pool *pool;
    bool is_in_group; /* other steps may be running */
    hn_call call;
    volatile int was_stopped;   /* some loop of this run has ended early */
    volatile int was_cancelled; /* because hn_run_control.should_stop said so */
    pthread_t caller;           /* thread of the run */
    uint64_t next_question_ns;  /* when it asks should_stop again */
    uint64_t n_body_runs;       /* of this run */
    bool keeps_denormals;
    bool *needed_steps; /* of the main graph, for the outputs in needed_for */
    bool *needed_for;
    bool has_needed;
    uint64_t limit_bytes; /* 0: what the machine has */
    hn_budget budget;     /* of what is not in the block: values of unknown size, scratch, bodies */
    void *block;          /* planned values */
    uint64_t block_bytes;
    uint32_t n_small_runs; /* in a row, that needed less than half of the block */
    hn_object **values;    /* by value: what it is now; NULL before and after its life */
    hn_object *planned;    /* by value: tensors in the block, or lent by the caller */
    void **memos;          /* by node: memo.c */
    hn_body *bodies;       /* by block */
    uint64_t planned_for;  /* serial of the plan whose places `planned` shows; 0: none */
    uint64_t thread_ns[HN_TIMED_THREADS]; /* of the pool, in a run that is watched */
};

static inline const hn_graph *hn_state_graph(const hn_state *s) {
    return s->program->model->graph;
}

/* One step at work. */
typedef struct hn_step_frame {
    hn_state *state;
    hn_lane *lane;
    const hn_plan *plan; /* of its block; NULL: a body without one */
    const hn_step *step;
    const hn_node *node;
    hn_step_mode mode;
    const hn_lowered *lowered; /* by which it runs; NULL: it is evaluated, or a view */
    hn_object **args, **rets;
    hone_error *err;
} hn_step_frame;

/* What an evaluation sees of it. */
typedef struct hn_eval_frame {
    infer_job job;
    infer_scope scope;
    hn_eval eval;
} hn_eval_frame;

/* step.c: step i of the plan. Not told yet by hn_run_tell_step. */
hone_status hn_run_step(hn_state *s, hn_lane *lane, const hn_plan *plan, const hn_step *step,
                        uint32_t i, hone_error *err);
void hn_run_open_eval(const hn_step_frame *f, hn_eval_frame *e);

/* watched_step.c: a step of a run that somebody watches. */
typedef struct hn_step_clock {
    uint64_t start_ns;
    uint64_t thread_ns[HN_TIMED_THREADS]; /* of the state, when the step begins */
} hn_step_clock;
void hn_run_watch_threads(hn_state *s); /* at the begin of the run */
void hn_run_begin_watch(const hn_step_frame *f, hn_step_clock *clock);
void hn_run_end_watch(const hn_step_frame *f, const hn_step_clock *clock);

/* memo.c: what is known of a step whose shapes data decide. */
typedef struct hn_memo {
    const hn_type *const *out; /* by output; NULL: the evaluation finds out */
    hn_lowered lowered;
} hn_memo;
const hn_memo *hn_memo_find(const hn_step_frame *f); /* NULL: nothing holds for these arguments */
/* Infers the outputs, and keeps what follows from it. */
hone_status hn_memo_make(const hn_step_frame *f, hn_eval_frame *e, const hn_memo **out);
void hn_memos_free(hn_state *s);

/* bodies.c */
bool hn_bodies_open(hn_state *s); /* false: no memory */
void hn_bodies_free(hn_state *s);
hone_status hn_run_main(hn_state *s, hone_error *err); /* the main graph */
/* One step of the main graph, on one lane; not told yet by hn_run_tell_step. */
hone_status hn_run_main_step(hn_state *s, hn_lane *lane, uint32_t step, hone_error *err);
/* What has become of a step, with its name in the error. */
hone_status hn_run_tell_step(const hn_state *s, const hn_step *step, hone_status status,
                             hone_error *err);
hone_status hn_run_subgraph(void *run, hn_id block, uint32_t n_in, hn_object *const *in,
                            uint32_t n_out, hn_object **out, hone_error *err);
/* Types of its outputs (NULL: unknown), in scratch, without running it. */
hone_status hn_type_subgraph(void *run, hn_id block, uint32_t n_in, const hn_type *const *in,
                             uint32_t n_out, const hn_type **out);
bool hn_run_is_stopped(void *run);
/* All that a block owns, and its plan does not place. */
void hn_run_drop_values(hn_state *s, const hn_plan *plan, hn_id block);

/* state.c: the value lies there from now on. */
void hn_run_show(hn_state *s, hn_id id, const hn_place *at, void *data);

/* group.c: all strands, by as many threads as there are. Nothing is dropped. */
hone_status hn_run_group(hn_state *s, const hn_group *group, hone_error *err);

/* refusal.c: memory that is not there, told with who wanted how much. */
uint64_t hn_run_limit(const hn_state *s);
hone_status hn_run_refuse_plan(const hn_state *s, const hn_plan *plan, hone_error *err);
hone_status hn_run_refuse_memory(const hn_state *s, hone_error *err); /* to a step */
hone_status hn_run_refuse_output(const hn_state *s, uint32_t output, const hn_array *wanted,
                                 hone_error *err);

/* exchange.c: between the caller's values and ours. */
hone_status hn_run_take_inputs(hn_state *s, hone_error *err);
hone_status hn_run_lend_outputs(hn_state *s, hone_error *err);
hone_status hn_run_give_outputs(hn_state *s, hone_error *err);

#endif /* HN_RUN_INT_H */
