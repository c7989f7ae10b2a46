/* Inside cpu/: which nodes can work on data in channels-last layout, and what that saves.
 *
 * The order of axes that a value would have is its order channels-last: [N, spatial..., C] for what
 * convolutions read, and what Reshapes and Transposes make of that. */
#ifndef HN_LAYOUT_H
#define HN_LAYOUT_H

#include "cpu/passes/passes_cpu.h"
#include "pass/rules/relayout.h"

struct hn_layout_row;

/* A node that works channels-last. */
typedef struct hn_layout_form {
    const struct hn_layout_row *row;
    const hn_relayout *how; /* of operators that relayout.h knows */
    hn_perm in;             /* how its data is turned; rank 0: it reads it as it was */
    hn_perm out;            /* how its results are; rank 0: they are as they were */
    bool is_likely;         /* asked: is its data made by what is best channels-last? */
    bool is_seed;           /* told: this node is best channels-last */
    bool takes_both;        /* told: it reads its first input as well as it was; then in.rank is 0
                               when it is written */
    double saved_bytes;     /* told: what that saves beside Transposes; negative: it costs */
} hn_layout_form;

typedef struct hn_layout_row {
    const char *ops;    /* as hn_is_op takes them */
    uint32_t n_data;    /* first inputs that are turned */
    uint32_t also_data; /* one more of them; 0: none */
    uint32_t data_step; /* and all that follow it by so many; 0: none */
    /* Can the node work on data turned by f->in? Fills in the rest of the form; rank 0 on entry:
     * its data has no order channels-last. */
    bool (*judge)(const hn_rule *r, hn_id node, hn_layout_form *f);
    /* The node on turned data: `inputs` has one entry per input of the node, `outputs` one per
     * output, to be filled with values. */
    void (*write)(hn_rule *r, hn_id node, const hn_layout_form *f, hn_id *inputs, hn_id *outputs);
} hn_layout_row;

/* The order channels-last of a value with that rank; rank 0 when it has none. */
hn_perm hn_layout_last(int32_t rank);
bool hn_layout_is_last(const hn_perm *p); /* is it the one of its rank? */
bool hn_perm_same(const hn_perm *a, const hn_perm *b);
/* The ways in which a node may work channels-last, the best first. */
typedef struct hn_layout_rows {
    uint32_t n;
    const hn_layout_row *at[2];
    const hn_relayout *how;
} hn_layout_rows;
void hn_layout_find_rows(const hn_rule *r, hn_id node, hn_layout_rows *rows);
/* Those of layout_twins.c, layout_bytes.c and layout_moves.c; NULL when the operator is none of
 * them. */
const hn_layout_row *hn_layout_twin(const hn_rule *r, hn_id node);
const hn_layout_row *hn_layout_bytes_row(const hn_rule *r, hn_id node);
const hn_layout_row *hn_layout_move(const hn_rule *r, hn_id node);
/* Is an input of the node data, by its row? */
bool hn_layout_is_data(const hn_layout_form *f, uint32_t slot);
/* Elements and bytes, with a guess for sizes that are not known. */
double hn_layout_elems(const hn_shape *s);
double hn_layout_bytes(const hn_rule *r, hn_id value);
/* Bytes that a Transpose of the value moves, and a bit for the node itself. */
double hn_layout_cost(const hn_rule *r, hn_id value, const hn_perm *perm);
/* x, of the shape of `like`, in another order of axes: a Transpose, or a Reshape where only axes of
 * size 1 change places. is_back: x is `like` turned by perm, and becomes what it was. */
hn_id hn_layout_turn(hn_rule *r, hn_id x, hn_id like, const hn_perm *perm, bool is_back);

/* The dimensions of a value of that shape when it is turned. */
void hn_layout_dims(const hn_shape *s, const hn_perm *perm, hn_dim *dims);
/* x, of shape `from`, with the dimensions `to`; HN_NONE when no constant target says that. */
hn_id hn_layout_between(hn_rule *r, hn_id x, const hn_shape *from, int32_t rank, const hn_dim *to);

/* Reshape, Flatten, Squeeze, Unsqueeze of turned data, by the shapes before and after: how the
 * result is turned. False when sizes do not tell, or elements would change places. */
bool hn_layout_reshape(const hn_rule *r, hn_id from, hn_id to, const hn_perm *in, hn_perm *out);

#endif /* HN_LAYOUT_H */
