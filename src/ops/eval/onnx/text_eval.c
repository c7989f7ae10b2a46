/* Evaluation of operators on strings. */
#include "ops/eval/copy.h"
#include "base/regex.h"
#include "base/text_case.h"

static hn_bytes text_at(const hn_array *a, uint64_t i) {
    return ((const hn_bytes *)a->data)[i];
}

/* ---- StringConcat ---------------------------------------------------------------------------- */

static hone_status set_joined(hn_eval *c, hn_array *y, uint64_t i, hn_bytes a, hn_bytes b) {
    hn_arena *arena = hn_infer_arena(hn_eval_node(c));
    hn_arena_mark mark = hn_arena_save(arena);
    char *text = hn_arena_alloc(arena, (size_t)(a.n + b.n) + 1);
    HN_TRY_PTR(text);
    if (a.n)
        memcpy(text, a.at, (size_t)a.n);
    if (b.n)
        memcpy(text + a.n, b.at, (size_t)b.n);
    hone_status status = hn_array_set_string(c, y, i, text, a.n + b.n);
    hn_arena_restore(arena, mark);
    return status;
}

static hone_status eval_string_concat(hn_eval *c) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 1);
    hn_array *y = hn_ret(c, 0);
    int64_t stride_a[HN_MAX_RANK], stride_b[HN_MAX_RANK], index[HN_MAX_RANK] = {0}, at_a = 0,
                                                          at_b = 0;
    if (!y)
        return HONE_OK;
    hn_broadcast_strides(a, y->rank, stride_a);
    hn_broadcast_strides(b, y->rank, stride_b);
    for (uint64_t i = 0; i < y->n_elems; i++) {
        HN_TRY(set_joined(c, y, i, text_at(a, (uint64_t)at_a), text_at(b, (uint64_t)at_b)));
        for (int32_t k = y->rank - 1; k >= 0; k--) {
            at_a += stride_a[k];
            at_b += stride_b[k];
            if (++index[k] < y->dims[k])
                break;
            index[k] = 0;
            at_a -= y->dims[k] * stride_a[k];
            at_b -= y->dims[k] * stride_b[k];
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_string_concat[1] = {{.eval = eval_string_concat}};

/* ---- StringNormalizer ------------------------------------------------------------------------ */

static bool same_text(hn_bytes a, hn_bytes b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, (size_t)a.n) == 0);
}

typedef struct normalizer {
    hn_arena *arena;
    const hn_attr *stop;  /* NULL: none */
    hn_bytes *stop_lower; /* the stop words in lower case; NULL when case counts */
    hn_text_case change;
} normalizer;

static hone_status normalizer_open(hn_eval *c, normalizer *n) {
    const hn_infer *node = hn_eval_node(c);
    *n = (normalizer){.arena = hn_infer_arena(node), .stop = hn_attr_raw(node, "stopwords")};
    if (hn_attr_is(node, "case_change_action", "LOWER"))
        n->change = HN_CASE_LOWER;
    if (hn_attr_is(node, "case_change_action", "UPPER"))
        n->change = HN_CASE_UPPER;
    if (!n->stop || hn_attr_i(node, "is_case_sensitive", 0))
        return HONE_OK;
    n->stop_lower = HN_NEW_N(n->arena, hn_bytes, (size_t)n->stop->n + 1);
    HN_TRY_PTR(n->stop_lower);
    for (uint32_t i = 0; i < n->stop->n; i++)
        HN_TRY(
            hn_text_change_case(n->arena, n->stop->v.strings[i], HN_CASE_LOWER, &n->stop_lower[i]));
    return HONE_OK;
}

static hone_status normalizer_keeps(normalizer *n, hn_bytes text, bool *keeps) {
    *keeps = true;
    if (n->stop_lower)
        HN_TRY(hn_text_change_case(n->arena, text, HN_CASE_LOWER, &text));
    for (uint32_t i = 0; n->stop && i < n->stop->n && *keeps; i++)
        *keeps = !same_text(text, n->stop_lower ? n->stop_lower[i] : n->stop->v.strings[i]);
    return HONE_OK;
}

/* When no string is left, one empty string stands for them all. */
static hone_status eval_string_normalizer(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    normalizer n;
    hn_array *y;
    uint64_t n_kept = 0;
    HN_TRY(normalizer_open(c, &n));
    hn_bytes *kept = hn_eval_scratch(c, (x->n_elems + 1) * sizeof *kept);
    HN_TRY_PTR(kept);
    for (uint64_t i = 0; i < x->n_elems; i++) {
        bool keeps;
        HN_TRY(normalizer_keeps(&n, text_at(x, i), &keeps));
        if (keeps)
            HN_TRY(hn_text_change_case(n.arena, text_at(x, i), n.change, &kept[n_kept++]));
    }
    if (n_kept == 0)
        kept[n_kept++] = (hn_bytes){NULL, 0};
    int64_t dims[2] = {1, (int64_t)n_kept};
    HN_TRY(hn_ret_alloc(c, 0, HN_STRING, x->rank, dims + 2 - x->rank, &y));
    for (uint64_t i = 0; y && i < n_kept; i++)
        HN_TRY(hn_array_set_string(c, y, i, kept[i].at, kept[i].n));
    return HONE_OK;
}
const hn_impl hn_impl_string_normalizer[1] = {{.eval = eval_string_normalizer}};

/* ---- StringSplit ----------------------------------------------------------------------------- */

typedef struct text_splitter {
    hn_bytes delimiter; /* empty: any run of white space */
    int64_t max_splits; /* negative: no limit */
} text_splitter;

static bool is_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static uint64_t behind_spaces(hn_bytes text, uint64_t at) {
    while (at < text.n && is_space(((const char *)text.at)[at]))
        at++;
    return at;
}

/* The next delimiter at or behind `at`, or the end. */
static uint64_t find_delimiter(const text_splitter *s, hn_bytes text, uint64_t at) {
    const char *p = text.at;
    uint64_t n = s->delimiter.n;
    for (; at < text.n; at++)
        if (n == 0 ? is_space(p[at])
                   : n <= text.n - at && memcmp(p + at, s->delimiter.at, (size_t)n) == 0)
            return at;
    return text.n;
}

/* Counts the pieces of a text, and keeps them when `out` is there. */
static uint64_t split_text(const text_splitter *s, hn_bytes text, hn_bytes *out) {
    bool by_space = s->delimiter.n == 0;
    uint64_t n = 0, at = by_space ? behind_spaces(text, 0) : 0;
    if (by_space && at == text.n)
        return 0;
    for (;;) {
        bool is_last = s->max_splits >= 0 && n >= (uint64_t)s->max_splits;
        uint64_t end = is_last ? text.n : find_delimiter(s, text, at);
        if (out)
            out[n] = (hn_bytes){(const char *)text.at + at, end - at};
        n++;
        if (end == text.n)
            return n;
        at = by_space ? behind_spaces(text, end) : end + s->delimiter.n;
        if (by_space && at == text.n)
            return n;
    }
}

static hone_status eval_string_split(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    const hn_infer *node = hn_eval_node(c);
    text_splitter s = {hn_attr_s(node, "delimiter"), hn_attr_i(node, "maxsplit", -1)};
    int64_t dims[HN_MAX_RANK + 1], longest = 0;
    hn_array *y, *counts;
    if (x->rank >= HN_MAX_RANK)
        return hn_eval_fail(c, HONE_E_LIMIT, "the result would have rank %d; hone allows %d",
                            x->rank + 1, HN_MAX_RANK);
    HN_TRY(hn_ret_alloc(c, 1, HN_I64, x->rank, x->dims, &counts));
    for (uint64_t i = 0; i < x->n_elems; i++) {
        int64_t n = (int64_t)split_text(&s, text_at(x, i), NULL);
        longest = HN_MAX(longest, n);
        if (counts)
            ((int64_t *)counts->data)[i] = n;
    }
    if (x->rank > 0)
        memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
    dims[x->rank] = longest;
    HN_TRY(hn_ret_alloc(c, 0, HN_STRING, x->rank + 1, dims, &y));
    hn_bytes *pieces = hn_eval_scratch(c, (uint64_t)longest * sizeof *pieces);
    HN_TRY_PTR(pieces);
    for (uint64_t i = 0; y && i < x->n_elems; i++) {
        uint64_t n = split_text(&s, text_at(x, i), pieces);
        for (uint64_t k = 0; k < n; k++)
            HN_TRY(hn_array_set_string(c, y, i * (uint64_t)longest + k, pieces[k].at, pieces[k].n));
    }
    return HONE_OK;
}
const hn_impl hn_impl_string_split[1] = {{.eval = eval_string_split}};

/* ---- RegexFullMatch -------------------------------------------------------------------------- */

static hone_status eval_regex_full_match(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    hn_regex *re = NULL;
    const char *why = NULL;
    if (!y)
        return HONE_OK;
    hone_status status = hn_regex_compile(hn_infer_arena(hn_eval_node(c)),
                                          hn_attr_s(hn_eval_node(c), "pattern"), &re, &why);
    if (status != HONE_OK)
        return why ? hn_eval_fail(c, status, "the pattern cannot be used: %s", why) : status;
    for (uint64_t i = 0; i < x->n_elems; i++) {
        if (hn_eval_stopped(c))
            return HONE_E_CANCELLED;
        ((uint8_t *)y->data)[i] = hn_regex_matches(re, text_at(x, i));
    }
    return HONE_OK;
}
const hn_impl hn_impl_regex_full_match[1] = {{.eval = eval_regex_full_match}};
