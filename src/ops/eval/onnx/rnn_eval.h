/* Inside ops/: recurrent layers at run time. */
#ifndef HN_RNN_EVAL_H
#define HN_RNN_EVAL_H

#include "ops/activation.h"
#include "ops/eval/widen.h"

typedef struct hn_rnn_act {
    hn_activation_id kind;
    double alpha, beta;
} hn_rnn_act;

typedef enum hn_rnn_kind { HN_RNN_PLAIN, HN_RNN_GRU, HN_RNN_LSTM } hn_rnn_kind;

typedef struct hn_rnn_form {
    hn_rnn_kind kind;
    int64_t gates, dirs, seq, batch, input, hidden;
    bool batch_first, reverse, input_forget, linear_before_reset;
    bool is_coarse;         /* states are rounded to bytes where they meet their weights */
    double clip;            /* 0: none */
    hn_rnn_act acts[2][3];  /* per direction */
    const int32_t *lengths; /* of the sequences; NULL: all are `seq` long */
} hn_rnn_form;

/* What attributes and the weights' sizes say; without seq, batch, input and lengths. */
hone_status hn_rnn_read_attrs(hn_eval *c, hn_rnn_kind kind, hn_rnn_form *f);
/* The same with the sizes of the input; without lengths. */
hone_status hn_rnn_read_form(hn_eval *c, hn_rnn_kind kind, hn_rnn_form *f);
/* Fails at one of n lengths that is none. */
hone_status hn_rnn_check_lengths(hone_error *err, const hn_rnn_form *f, int64_t n);

/* A GRU whose reset gate comes before the weights of the hidden gate. */
static inline bool hn_rnn_resets_late(const hn_rnn_form *f) {
    return f->kind == HN_RNN_GRU && !f->linear_before_reset;
}
static inline bool hn_rnn_is_reverse(const hn_rnn_form *f, int64_t dir) {
    return f->reverse || dir == 1;
}
/* Which element of sequence b comes at this step; -1 behind its end. */
int64_t hn_rnn_time(const hn_rnn_form *f, int64_t b, int64_t step, bool reverse);
/* Its row in the input; -1 for -1. */
int64_t hn_rnn_row(const hn_rnn_form *f, int64_t b, int64_t t);
/* Where the state of sequence b begins in initial and last states, and in the output. */
int64_t hn_rnn_state_at(const hn_rnn_form *f, int64_t dir, int64_t b);
int64_t hn_rnn_output_at(const hn_rnn_form *f, int64_t dir, int64_t b, int64_t t);

/* Of weights that hn_prepare_recurrent has packed; nobody can read them otherwise. */
hone_status hn_rnn_eval_packed(hn_eval *c, const hn_rnn_form *f);

#endif /* HN_RNN_EVAL_H */
