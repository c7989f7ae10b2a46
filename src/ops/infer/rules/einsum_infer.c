/* Inference rule of Einsum: reads the equation letter by letter and compares it with the input
 * shapes. */
#include "ops/infer/spatial.h"

#define EINSUM_LETTERS 52

typedef struct einsum {
    const char *at, *end;            /* the rest of the equation */
    hn_dim size[EINSUM_LETTERS];     /* of a letter */
    uint32_t n_uses[EINSUM_LETTERS]; /* on the left side */
    bool has_ellipsis;               /* on the left side */
    int32_t ellipsis_rank;           /* -1: unknown so far */
    hn_dim ellipsis[HN_MAX_RANK];    /* broadcast over all inputs */
    uint32_t input;                  /* the one being read, for messages */
} einsum;

/* Uppercase before lowercase, which is the order of implicit outputs. */
static int letter_index(char ch) {
    if (ch >= 'A' && ch <= 'Z')
        return ch - 'A';
    return ch >= 'a' && ch <= 'z' ? ch - 'a' + 26 : -1;
}

typedef enum einsum_token {
    EINSUM_END,
    EINSUM_COMMA,
    EINSUM_ARROW,
    EINSUM_DOTS,
    EINSUM_BAD,
    EINSUM_LETTER
} einsum_token;

static einsum_token next_token(einsum *e, int *letter) {
    while (e->at < e->end && *e->at == ' ')
        e->at++;
    size_t left = (size_t)(e->end - e->at);
    if (left == 0)
        return EINSUM_END;
    *letter = letter_index(*e->at);
    if (*letter >= 0 || *e->at == ',')
        return *e->at++ == ',' ? EINSUM_COMMA : EINSUM_LETTER;
    if (left >= 2 && memcmp(e->at, "->", 2) == 0) {
        e->at += 2;
        return EINSUM_ARROW;
    }
    if (left >= 3 && memcmp(e->at, "...", 3) == 0) {
        e->at += 3;
        return EINSUM_DOTS;
    }
    return EINSUM_BAD;
}

/* Merges two sizes of one letter: equal, or one of them 1. */
static bool meet_sizes(hn_dim a, hn_dim *size) {
    if (*size == HN_DIM_UNKNOWN || (*size == 1 && a != HN_DIM_UNKNOWN)) {
        *size = a;
    } else if (hn_dim_is_known(a) && a != 1) {
        if (hn_dim_is_known(*size))
            return a == *size;
        *size = a;
    }
    return true;
}

/* Counts the letters in the rest of the term, to find how many axes an ellipsis stands for. */
static int32_t letters_in_rest(einsum e) {
    int letter;
    int32_t n = 0;
    for (;;) {
        einsum_token t = next_token(&e, &letter);
        if (t == EINSUM_LETTER)
            n++;
        else if (t != EINSUM_DOTS)
            return n;
    }
}

static const char *read_ellipsis(einsum *e, const hn_shape *x, int32_t *axis) {
    e->has_ellipsis = true;
    if (!x)
        return NULL;
    int32_t rank = x->rank - *axis - letters_in_rest(*e);
    if (rank < 0 || rank > HN_MAX_RANK)
        return "has fewer axes than the equation has letters for it";
    if (e->ellipsis_rank >= 0 && e->ellipsis_rank != rank)
        return "has a different number of axes at its ellipsis than the inputs before it";
    for (int32_t i = 0; i < rank; i++) {
        if (e->ellipsis_rank < 0)
            e->ellipsis[i] = HN_DIM_UNKNOWN;
        if (!meet_sizes(x->dims[*axis + i], &e->ellipsis[i]))
            return "does not broadcast at its ellipsis";
    }
    e->ellipsis_rank = rank;
    *axis += rank;
    return NULL;
}

/* Reads the letters of one input; returns what is wrong with it, or NULL. *next ends the term. */
static const char *read_term(einsum *e, const hn_shape *x, einsum_token *next) {
    int32_t axis = 0;
    int letter = -1;
    bool has_dots = false;
    for (;;) {
        *next = next_token(e, &letter);
        if (*next == EINSUM_DOTS) {
            if (has_dots)
                return "has two ellipses in the equation";
            has_dots = true;
            const char *wrong = read_ellipsis(e, x, &axis);
            if (wrong)
                return wrong;
        } else if (*next == EINSUM_LETTER) {
            e->n_uses[letter]++;
            if (x && axis >= x->rank)
                return "has fewer axes than the equation has letters for it";
            if (x && !meet_sizes(x->dims[axis], &e->size[letter]))
                return "has a different size than an earlier axis with the same letter";
            axis++;
        } else if (*next == EINSUM_BAD) {
            return "is described by a character that is not a letter";
        } else {
            return x && axis != x->rank ? "has more axes than the equation has letters for it"
                                        : NULL;
        }
    }
}

/* Reads the left side. Returns what is wrong, or NULL. *last is the token that ended it. */
static const char *read_inputs(const hn_infer *c, einsum *e, einsum_token *last) {
    hn_bytes equation = hn_attr_s(c, "equation");
    *e = (einsum){.at = equation.at ? equation.at : "", .ellipsis_rank = -1};
    e->end = e->at + equation.n;
    for (int i = 0; i < EINSUM_LETTERS; i++)
        e->size[i] = HN_DIM_UNKNOWN;
    for (e->input = 0; e->input < hn_n_inputs(c); e->input++) {
        const char *wrong = read_term(e, hn_in_shape(c, e->input), last);
        if (wrong)
            return wrong;
        bool is_last = e->input + 1 == hn_n_inputs(c);
        if (is_last && *last == EINSUM_COMMA)
            return "is the last one, but the equation describes more";
        if (!is_last && *last != EINSUM_COMMA)
            return "is the last one that the equation describes, but more are given";
    }
    return NULL;
}

typedef struct einsum_output {
    int32_t rank;
    hn_dim dims[HN_MAX_RANK + EINSUM_LETTERS];
    bool has_letter[EINSUM_LETTERS], has_ellipsis;
} einsum_output;

static void put_ellipsis(const einsum *e, einsum_output *y) {
    y->has_ellipsis = true;
    for (int32_t i = 0; i < e->ellipsis_rank; i++)
        y->dims[y->rank++] = e->ellipsis[i];
}

/* NumPy's rule without "->": the ellipsis, then every letter that occurs once, in order. */
static void implicit_output(const einsum *e, einsum_output *y) {
    put_ellipsis(e, y);
    for (int i = 0; i < EINSUM_LETTERS; i++)
        if (e->n_uses[i] == 1)
            y->dims[y->rank++] = e->size[i];
}

static const char *explicit_output(einsum *e, einsum_output *y) {
    int letter = -1;
    for (;;) {
        einsum_token t = next_token(e, &letter);
        if (t == EINSUM_END)
            return NULL;
        if (t == EINSUM_DOTS && !y->has_ellipsis)
            put_ellipsis(e, y);
        else if (t != EINSUM_LETTER)
            return "has a character where a letter is expected";
        else if (e->n_uses[letter] == 0)
            return "has a letter that no input has";
        else if (y->has_letter[letter])
            return "has a letter twice";
        else {
            y->has_letter[letter] = true;
            y->dims[y->rank++] = e->size[letter];
        }
    }
}

hone_status hn_infer_einsum(hn_infer *c) {
    einsum e;
    einsum_token last = EINSUM_END;
    hn_bytes equation = hn_attr_s(c, "equation");
    const char *wrong = read_inputs(c, &e, &last);
    if (wrong)
        return hn_infer_fail(c, HONE_E_SHAPE, "equation '%.*s': input %u, %s, %s",
                             (int)HN_MIN(equation.n, 200), (const char *)equation.at, e.input,
                             hn_in_text(c, e.input), wrong);
    einsum_output y = {.rank = 0};
    if (last == EINSUM_ARROW)
        wrong = explicit_output(&e, &y);
    else
        implicit_output(&e, &y);
    if (wrong)
        return hn_infer_fail(c, HONE_E_SHAPE, "equation '%.*s': the output %s",
                             (int)HN_MIN(equation.n, 200), (const char *)equation.at, wrong);
    if (y.has_ellipsis && e.has_ellipsis && e.ellipsis_rank < 0)
        return HONE_OK;
    return hn_out_shape(c, 0, y.rank, y.dims);
}

/* All combinations of indices, times one multiplication fewer than there are inputs. */
bool hn_macs_einsum(const hn_infer *c, uint64_t *macs) {
    einsum e;
    einsum_token last;
    if (read_inputs(c, &e, &last) || (e.has_ellipsis && e.ellipsis_rank < 0))
        return false;
    *macs = hn_n_inputs(c) - 1;
    for (int i = 0; i < EINSUM_LETTERS; i++)
        if (e.n_uses[i] && !hn_macs_times(macs, 1, &e.size[i]))
            return false;
    return hn_macs_times(macs, HN_MAX(e.ellipsis_rank, 0), e.ellipsis);
}
