/* Evaluation of Tokenizer: texts are cut at separators, into what an expression finds, or into
 * characters. */
#include "ops/eval/ms/ms_eval.h"
#include "base/regex.h"

#define START_MARK "\x02"
#define END_MARK "\x03"

typedef HN_VEC(hn_bytes) token_list;

typedef struct tokenizer {
    uint64_t min_chars;
    hn_regex **separators; /* applied one after the other */
    uint32_t n_separators;
    hn_regex *expression; /* of tokens; NULL: none is given */
    hn_arena *arena;
} tokenizer;

/* ---- characters ------------------------------------------------------------------------------ */

/* Bytes of the character that begins with this one; 0: none does. */
static uint64_t char_bytes(uint8_t first) {
    return first < 0x80   ? 1
           : first < 0xc2 ? 0
           : first < 0xe0 ? 2
           : first < 0xf0 ? 3
           : first < 0xf5 ? 4
                          : 0;
}

/* False: the text is no UTF-8. */
static bool count_chars(hn_bytes text, uint64_t *n) {
    const uint8_t *bytes = text.at;
    *n = 0;
    for (uint64_t at = 0, size; at < text.n; at += size, ++*n) {
        size = char_bytes(bytes[at]);
        if (size == 0 || size > text.n - at)
            return false;
        for (uint64_t i = 1; i < size; i++)
            if ((bytes[at + i] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static bool keep_token(const tokenizer *t, hn_bytes text, uint64_t begin, uint64_t end,
                       token_list *out) {
    hn_bytes token = {(const uint8_t *)text.at + begin, end - begin};
    uint64_t n_chars = 0;
    count_chars(token, &n_chars);
    return n_chars < t->min_chars || HN_VEC_PUSH(t->arena, out, token);
}

/* ---- ways to cut ----------------------------------------------------------------------------- */

static hone_status cut_chars(const tokenizer *t, hn_bytes text, token_list *out) {
    for (uint64_t at = 0, size; at < text.n; at += size) {
        size = char_bytes(((const uint8_t *)text.at)[at]);
        if (!keep_token(t, text, at, at + size, out))
            return HONE_E_NOMEM;
    }
    return HONE_OK;
}

typedef struct found_match {
    uint64_t begin, end, next; /* next: where the search goes on, behind a character at least */
} found_match;

static bool find_match(hn_regex *re, hn_bytes text, uint64_t from, found_match *out) {
    for (uint64_t at = from, size; at < text.n; at += size) {
        size = char_bytes(((const uint8_t *)text.at)[at]);
        if (!hn_regex_longest(re, text, at, &out->end))
            continue;
        out->begin = at;
        out->next = HN_MAX(out->end, at + size);
        return true;
    }
    return false;
}

static hone_status cut_at_separator(const tokenizer *t, hn_regex *separator, hn_bytes text,
                                    token_list *out) {
    uint64_t at = 0;
    for (found_match m; find_match(separator, text, at, &m); at = m.next)
        if (!keep_token(t, text, at, m.begin, out))
            return HONE_E_NOMEM;
    return keep_token(t, text, at, text.n, out) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status cut_at_separators(const tokenizer *t, hn_bytes text, token_list *out) {
    token_list pieces = {0};
    if (!HN_VEC_PUSH(t->arena, &pieces, text))
        return HONE_E_NOMEM;
    for (uint32_t s = 0; s < t->n_separators; s++) {
        token_list smaller = {0};
        for (uint32_t i = 0; i < pieces.n; i++)
            HN_TRY(cut_at_separator(t, t->separators[s], pieces.at[i], &smaller));
        pieces = smaller;
    }
    *out = pieces;
    return HONE_OK;
}

static hone_status find_tokens(const tokenizer *t, hn_bytes text, token_list *out) {
    uint64_t at = 0;
    for (found_match m; find_match(t->expression, text, at, &m); at = m.next)
        if (!keep_token(t, text, m.begin, m.end, out))
            return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status split_into_tokens(hn_eval *c, const tokenizer *t, hn_bytes text,
                                     token_list *out) {
    uint64_t n_chars;
    if (hn_eval_stopped(c))
        return HONE_E_CANCELLED;
    if (!count_chars(text, &n_chars))
        return hn_eval_fail(c, HONE_E_INVALID, "a text is no UTF-8");
    if (t->n_separators)
        return cut_at_separators(t, text, out);
    return t->expression ? find_tokens(t, text, out) : cut_chars(t, text, out);
}

/* ---- the operator ---------------------------------------------------------------------------- */

static hone_status compile_expression(hn_eval *c, tokenizer *t, hn_bytes pattern, hn_regex **out) {
    const char *why = NULL;
    hone_status status = hn_regex_compile(t->arena, pattern, out, &why);
    return why ? hn_eval_fail(c, status, "the expression '%.*s' cannot be used: %s",
                              (int)HN_MIN(pattern.n, 100), (const char *)pattern.at, why)
               : status;
}

/* One empty separator stands for characters. */
static hone_status tokenizer_open(hn_eval *c, tokenizer *t) {
    const hn_infer *node = hn_eval_node(c);
    const hn_attr *separators = hn_attr_raw(node, "separators");
    bool has_separators = separators && separators->kind == HN_ATTR_STRINGS && separators->n > 0;
    int64_t min_chars = hn_attr_i(node, "mincharnum", 1);
    hn_bytes expression = hn_attr_s(node, "tokenexp");
    *t = (tokenizer){.min_chars = (uint64_t)min_chars, .arena = hn_infer_arena(node)};
    if (min_chars < 1)
        return hn_eval_fail(c, HONE_E_INVALID, "mincharnum must be positive");
    if (!has_separators && expression.n == 0)
        return hn_eval_fail(c, HONE_E_INVALID, "separators or tokenexp must be given");
    if (!has_separators)
        return compile_expression(c, t, expression, &t->expression);
    if (separators->n == 1 && separators->v.strings[0].n == 0)
        return min_chars < 2 ? HONE_OK
                             : hn_eval_fail(c, HONE_E_INVALID,
                                            "mincharnum must be 1 where tokens are characters");
    t->separators = HN_NEW_N(t->arena, hn_regex *, separators->n);
    HN_TRY_PTR(t->separators);
    for (; t->n_separators < separators->n; t->n_separators++)
        HN_TRY(compile_expression(c, t, separators->v.strings[t->n_separators],
                                  &t->separators[t->n_separators]));
    return HONE_OK;
}

/* A row of the result: the tokens between marks, then padding. */
static hone_status write_tokens(hn_eval *c, hn_array *y, uint64_t row, uint64_t width,
                                bool is_marked, const token_list *tokens) {
    hn_bytes pad = hn_attr_s(hn_eval_node(c), "pad_value");
    uint64_t at = row * width, end = at + width;
    if (is_marked)
        HN_TRY(hn_array_set_string(c, y, at++, START_MARK, 1));
    for (uint32_t i = 0; i < tokens->n; i++)
        HN_TRY(hn_array_set_string(c, y, at++, tokens->at[i].at, tokens->at[i].n));
    if (is_marked)
        HN_TRY(hn_array_set_string(c, y, at++, END_MARK, 1));
    while (at < end)
        HN_TRY(hn_array_set_string(c, y, at++, pad.at, pad.n));
    return HONE_OK;
}

static hone_status eval_tokenizer(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    bool is_marked = hn_attr_i(hn_eval_node(c), "mark", 0) != 0;
    tokenizer t;
    int64_t dims[3] = {0};
    uint32_t longest = 0;
    hn_array *y;
    HN_TRY(tokenizer_open(c, &t));
    token_list *rows = HN_NEW_N(t.arena, token_list, x->n_elems + 1);
    HN_TRY_PTR(rows);
    for (uint64_t i = 0; i < x->n_elems; i++) {
        HN_TRY(split_into_tokens(c, &t, ((const hn_bytes *)x->data)[i], &rows[i]));
        longest = HN_MAX(longest, rows[i].n);
    }
    memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = longest ? (int64_t)longest + 2 * is_marked : 0;
    HN_TRY(hn_ret_alloc(c, 0, HN_STRING, x->rank + 1, dims, &y));
    for (uint64_t i = 0; y && longest && i < x->n_elems; i++)
        HN_TRY(write_tokens(c, y, i, (uint64_t)dims[x->rank], is_marked, &rows[i]));
    return HONE_OK;
}
const hn_impl hn_impl_tokenizer[1] = {{.eval = eval_tokenizer}};
