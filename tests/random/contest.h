/* A model against what the optimizer makes of it: both run on the same inputs. */
#ifndef TEST_CONTEST_H
#define TEST_CONTEST_H

#include "pass/pass.h"
#include "run/session.h"

/* One way to optimize. */
typedef struct contest_setup {
    const char *name;
    hn_level level;
    hn_target target;
    bool is_exact;   /* only passes that promise the same bits, and the same bits are asked for */
    bool in_session; /* nothing is saved: a session does it for itself */
} contest_setup;
extern const contest_setup contest_setups[];
extern const uint32_t n_contest_setups;

/* What goes in and comes out; owns nothing but the outputs. */
typedef struct contest {
    const hn_model *model;
    hn_heap *heap;
    uint32_t n_inputs, n_outputs;
    hn_object *const *inputs;
    hn_object **outputs; /* of the model itself */
} contest;

/* Runs the model as it is. False: it is not valid or does not run, and err says why. */
bool contest_open(contest *c, const hn_model *m, hn_heap *heap, uint32_t n_inputs,
                  hn_object *const *inputs, hone_error *err);
void contest_close(contest *c);
/* Runs the model once more, with every node shown that was run; the outputs replace those of
 * before. */
typedef void (*contest_sight_fn)(void *ctx, const hn_step_event *sight);
bool contest_watch(contest *c, contest_sight_fn see, void *ctx, hone_error *err);

/* Optimizes a copy and compares. stop_after: UINT32_MAX for no limit. True: nothing to complain.
 * The log gets what was done. */
bool contest_hold(const contest *c, const contest_setup *s, uint32_t stop_after, hn_opt_log *log,
                  char *complaint, size_t complaint_bytes);
/* The same when nobody asks what. */
bool contest_is_won(const contest *c, const contest_setup *s, uint32_t stop_after);
/* "pass.rule at node": the rewrite after which there is something to complain. */
void contest_blame(const contest *c, const contest_setup *s, char *text, size_t text_bytes);

#endif
