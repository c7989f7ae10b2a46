/* Inside ops/: what GreedySearch, Sampling and BeamSearch share. A decoder body is run once per
 * token: (input_ids, position_ids, attention_mask, past...) -> (logits, present...). With an
 * encoder it is (input_ids, encoder_attention_mask, [encoder_hidden_states], past..., cross...),
 * where the states that belong to the encoder's sequence stay the same. */
#ifndef HN_MS_GENERATION_EVAL_H
#define HN_MS_GENERATION_EVAL_H

#include "ops/eval/ms/ms_eval.h"

/* Inputs by number; HN_NO_ARG: the operator has none. */
typedef struct hn_generation_form {
    uint32_t repetition_penalty, vocab_mask, prefix_vocab_mask, attention_mask, presence_mask;
    bool takes_encoder;
} hn_generation_form;

typedef struct hn_generation {
    int64_t batch, n_beams, n_rows; /* rows: batch x beams */
    int64_t prompt, length, max_length, min_length;
    int64_t n_words; /* 0 until the first logits are there */
    int32_t eos, pad;
    int64_t ngram_size;
    float repetition_penalty, temperature, presence_penalty;
    const int32_t *vocab_mask, *prefix_vocab_mask, *presence_mask; /* NULL: none */
    hn_generation_form form;
    int32_t *sequences; /* [rows, max_length], of which `length` tokens are there */
    int32_t *spare_sequences;
    int32_t *positions;  /* by row: that of the next token */
    float *scores;       /* [rows, n_words] of the next token */
    bool has_first_body; /* the first token has a decoder of its own */
    bool is_encoded;     /* the prompt goes to an encoder, and sequences begin with a start token */
    bool takes_sequences; /* such a decoder reads all tokens in every step, not only the last */
    uint32_t n_in, first_past, n_past; /* inputs of the decoder: all, and those carried on */
    hn_object **in, **out;             /* of the body */
} hn_generation;

hone_status hn_generation_open(hn_eval *c, const hn_generation_form *form, int64_t n_beams,
                               hn_generation *g);
/* Frees what the body has been given and has returned; also after a failure. */
void hn_generation_close(hn_eval *c, hn_generation *g);
/* Runs the body and leaves the logits of the last token in `scores`. */
hone_status hn_generation_run(hn_eval *c, hn_generation *g);
/* Penalties and masks, in the order of onnxruntime. */
hone_status hn_generation_adjust(hn_eval *c, hn_generation *g);
/* The tokens of a step, by row, behind the sequences of rows `from` (NULL: each behind its own);
 * prepares the next run of the body. */
hone_status hn_generation_append(hn_eval *c, hn_generation *g, const int32_t *tokens,
                                 const int32_t *from);

/* With an encoder: checks the bodies; fills the first inputs, once there is memory for them. */
hone_status hn_encoder_check(hn_eval *c, hn_generation *g);
hone_status hn_encoder_start(hn_eval *c, hn_generation *g);
/* An argument of int32; NULL when it is left out. */
const int32_t *hn_generation_ints(const hn_eval *c, uint32_t arg);

/* The element of a scalar argument; `other` when it is left out. */
hone_status hn_generation_scalar(hn_eval *c, uint32_t arg, double other, double *out);

#endif /* HN_MS_GENERATION_EVAL_H */
