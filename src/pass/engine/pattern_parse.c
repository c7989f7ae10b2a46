/* Reads patterns: recursive descent over a copy of the text in the arena. */
#include "pass/engine/pattern.h"

#include <math.h>

typedef struct pattern_reader {
    hn_arena *arena;
    hn_pattern *pattern;
    const char *text, *at;
    uint32_t n_terms, depth;
    hone_error *err;
} pattern_reader;

static hone_status pattern_error(pattern_reader *p, const char *at, const char *problem) {
    return hn_fail(p->err, HONE_E_ARGUMENT, "pattern '%s', position %d: %s", p->text,
                   (int)(at - p->text) + 1, problem);
}

/* ---- words and numbers ----------------------------------------------------------------------- */

static bool is_pattern_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_pattern_char(char c) {
    return is_pattern_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool is_upper_char(char c) {
    return c >= 'A' && c <= 'Z';
}

static void skip_blanks(pattern_reader *p) {
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t')
        p->at++;
}

/* Blanks go with the character, or stay. */
static bool accept_char(pattern_reader *p, char c) {
    const char *before = p->at;
    skip_blanks(p);
    bool is_there = *p->at == c;
    p->at = is_there ? p->at + 1 : before;
    return is_there;
}

static hn_word word_between(const char *begin, const char *end) {
    return (hn_word){begin, (uint32_t)(end - begin)};
}

static bool word_is(hn_word w, const char *text) {
    return w.n == strlen(text) && memcmp(w.at, text, w.n) == 0;
}

static bool same_pattern_word(hn_word a, hn_word b) {
    return a.n == b.n && memcmp(a.at, b.at, a.n) == 0;
}

/* Empty when there is none. */
static hn_word take_word(pattern_reader *p) {
    const char *begin = p->at;
    while (is_pattern_char(*p->at))
        p->at++;
    return word_between(begin, p->at);
}

static bool starts_number(const char *at) {
    return is_pattern_digit(at[*at == '-']);
}

/* Any locale, and exact enough for what constants are compared with. */
static hone_status take_pattern_number(pattern_reader *p, double *out, bool *is_int) {
    skip_blanks(p);
    const char *begin = p->at;
    if (!starts_number(begin))
        return pattern_error(p, begin, "expected a number");
    bool is_negative = *p->at == '-';
    p->at += is_negative;
    double v = 0;
    int exponent = 0;
    bool after_point = false;
    *is_int = true;
    for (; is_pattern_digit(*p->at) || (*p->at == '.' && !after_point); p->at++) {
        if (*p->at == '.') {
            after_point = true;
            continue;
        }
        v = v * 10 + (*p->at - '0');
        exponent -= after_point;
    }
    if (*p->at == 'e') {
        bool is_small = p->at[1] == '-';
        p->at += 1 + is_small;
        int written = 0;
        if (!is_pattern_digit(*p->at))
            return pattern_error(p, begin, "the exponent of this number has no digits");
        for (; is_pattern_digit(*p->at); p->at++)
            written = written < 1000 ? written * 10 + (*p->at - '0') : written;
        exponent += is_small ? -written : written;
        *is_int = false;
    }
    *is_int = *is_int && !after_point && v <= 1e15;
    *out = (is_negative ? -v : v) * pow(10, exponent);
    return isfinite(*out) ? HONE_OK : pattern_error(p, begin, "this number is too large");
}

/* ---- names ----------------------------------------------------------------------------------- */

static hone_status take_pattern_name(pattern_reader *p, uint32_t *out) {
    hn_word word = take_word(p);
    if (word.n == 0 || is_upper_char(word.at[0]) || is_pattern_digit(word.at[0]))
        return pattern_error(p, word.at, "expected a name that begins with a small letter");
    hn_pattern *pattern = p->pattern;
    uint32_t i = 0;
    while (i < pattern->n_names && !same_pattern_word(pattern->names[i], word))
        i++;
    if (i == HN_PATTERN_MAX_NAMES)
        return pattern_error(p, word.at, "too many names");
    if (i == pattern->n_names)
        pattern->names[pattern->n_names++] = word;
    *out = i;
    return HONE_OK;
}

static bool is_commutative_op(const hn_term_op *op) {
    static const char *const names[] = {"Add",       "Mul", "Max",       "Min", "Sum",
                                        "Mean",      "And", "Equal",     "Or",  "BitwiseAnd",
                                        "BitwiseOr", "Xor", "BitwiseXor"};
    for (size_t i = 0; i < HN_COUNT(names) && op->domain.n == 0; i++)
        if (word_is(op->name, names[i]))
            return true;
    return false;
}

/* "Add", "ms.Gelu", "my.domain.Op". */
static hone_status take_op(pattern_reader *p, hn_pattern_term *t) {
    skip_blanks(p);
    const char *begin = p->at;
    hn_word name = take_word(p);
    const char *dot = NULL;
    while (*p->at == '.' && is_pattern_char(p->at[1])) {
        dot = p->at++;
        name = take_word(p);
    }
    if (name.n == 0 || !is_upper_char(name.at[0]))
        return pattern_error(p, begin, "expected an operator, which begins with a capital letter");
    hn_term_op op = {dot ? word_between(begin, dot) : word_between(begin, begin), name, false};
    if (word_is(op.domain, "ms"))
        op.domain = (hn_word){"com.microsoft", sizeof("com.microsoft") - 1};
    op.is_commutative = is_commutative_op(&op);
    HN_TRY_PTR(HN_VEC_PUSH(p->arena, &t->ops, op));
    return HONE_OK;
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Up to the next attribute: a comma before a number goes on with the list. */
static hone_status take_attr_numbers(pattern_reader *p, hn_term_attr *a) {
    HN_VEC(double) reals = {0};
    bool is_int, all_ints = true;
    do {
        double v;
        HN_TRY(take_pattern_number(p, &v, &is_int));
        HN_TRY_PTR(HN_VEC_PUSH(p->arena, &reals, v));
        all_ints = all_ints && is_int;
        skip_blanks(p);
    } while (*p->at == ',' && starts_number(p->at + 1 + strspn(p->at + 1, " ")) && p->at++);
    a->n = reals.n;
    a->reals = reals.at;
    if (!all_ints)
        return HONE_OK;
    int64_t *ints = HN_NEW_N(p->arena, int64_t, reals.n);
    HN_TRY_PTR(ints);
    for (uint32_t i = 0; i < reals.n; i++)
        ints[i] = (int64_t)reals.at[i];
    a->ints = ints;
    return HONE_OK;
}

static hone_status take_attr(pattern_reader *p, hn_pattern_term *t) {
    skip_blanks(p);
    hn_term_attr a = {.name = take_word(p)};
    if (a.name.n == 0)
        return pattern_error(p, p->at, "expected the name of an attribute");
    if (!accept_char(p, '='))
        return pattern_error(p, p->at, "expected '=' and the attribute's value");
    skip_blanks(p);
    const char *begin = p->at;
    if (starts_number(begin))
        HN_TRY(take_attr_numbers(p, &a));
    else if (take_word(p).n == 0)
        return pattern_error(p, begin, "expected a number or a word");
    a.text = word_between(begin, p->at);
    HN_TRY_PTR(HN_VEC_PUSH(p->arena, &t->attrs, a));
    return HONE_OK;
}

static hone_status take_attrs(pattern_reader *p, hn_pattern_term *t) {
    if (!accept_char(p, '['))
        return HONE_OK;
    do
        HN_TRY(take_attr(p, t));
    while (accept_char(p, ','));
    return accept_char(p, ']') ? HONE_OK : pattern_error(p, p->at, "expected ',' or ']'");
}

/* ---- terms ----------------------------------------------------------------------------------- */

static hone_status take_term(pattern_reader *p, const hn_pattern_term **out);

static hone_status take_args(pattern_reader *p, hn_pattern_term *t) {
    if (!accept_char(p, '('))
        return HONE_OK;
    t->has_args = true;
    if (accept_char(p, ')'))
        return HONE_OK;
    do {
        skip_blanks(p);
        if (strncmp(p->at, "...", 3) == 0) {
            p->at += 3;
            t->is_open = true;
            break;
        }
        if (t->args.n == HN_PATTERN_MAX_ARGS)
            return pattern_error(p, p->at, "too many inputs");
        const hn_pattern_term *arg;
        HN_TRY(take_term(p, &arg));
        HN_TRY_PTR(HN_VEC_PUSH(p->arena, &t->args, arg));
    } while (accept_char(p, ','));
    return accept_char(p, ')') ? HONE_OK : pattern_error(p, p->at, "expected ',' or ')'");
}

static hone_status take_op_term(pattern_reader *p, hn_pattern_term *t) {
    const char *begin = p->at;
    t->kind = HN_TERM_OP;
    do
        HN_TRY(take_op(p, t));
    while (accept_char(p, '|'));
    t->is_optional = accept_char(p, '?');
    HN_TRY(take_attrs(p, t));
    HN_TRY(take_args(p, t));
    if (t->is_optional && t->args.n == 0)
        return pattern_error(p, begin,
                             "an operator that may be missing needs an input to stand "
                             "in its place");
    return accept_char(p, ':') ? take_pattern_name(p, &t->name) : HONE_OK;
}

static hone_status take_alternatives(pattern_reader *p, hn_pattern_term *t) {
    t->kind = HN_TERM_EITHER;
    p->at++;
    do {
        const hn_pattern_term *arg;
        HN_TRY(take_term(p, &arg));
        HN_TRY_PTR(HN_VEC_PUSH(p->arena, &t->args, arg));
    } while (accept_char(p, '|'));
    return accept_char(p, '}') ? HONE_OK : pattern_error(p, p->at, "expected '|' or '}'");
}

static bool starts_op(const char *at) {
    if (is_upper_char(*at) || is_pattern_digit(*at))
        return is_upper_char(*at);
    while (is_pattern_char(*at))
        at++;
    return *at == '.' && is_pattern_char(at[1]);
}

static hone_status take_plain_term(pattern_reader *p, hn_pattern_term *t) {
    bool is_int;
    if (starts_number(p->at)) {
        t->kind = HN_TERM_NUMBER;
        return take_pattern_number(p, &t->number, &is_int);
    }
    if (*p->at == '_' && !is_pattern_char(p->at[1])) {
        p->at++;
        t->kind = HN_TERM_ANY;
        return HONE_OK;
    }
    t->kind = accept_char(p, '#') ? HN_TERM_CONST : HN_TERM_NAME;
    HN_TRY(take_pattern_name(p, &t->name));
    t->is_optional = accept_char(p, '?');
    return HONE_OK;
}

/* Of alternatives the first counts. */
static uint32_t count_term_nodes(const hn_pattern_term *t) {
    uint32_t n = t->kind == HN_TERM_OP && !t->is_optional;
    for (uint32_t i = 0; i < t->args.n && (i == 0 || t->kind == HN_TERM_OP); i++)
        n += t->args.at[i]->n_nodes;
    return n;
}

static hone_status take_term(pattern_reader *p, const hn_pattern_term **out) {
    skip_blanks(p);
    if (p->depth == HN_PATTERN_MAX_DEPTH || p->n_terms == HN_PATTERN_MAX_TERMS)
        return pattern_error(p, p->at, "the pattern is too large");
    hn_pattern_term *t = HN_NEW(p->arena, hn_pattern_term);
    HN_TRY_PTR(t);
    t->name = HN_NONE;
    p->depth++;
    p->n_terms++;
    const char *begin = p->at;
    HN_TRY(*begin == '{'      ? take_alternatives(p, t)
           : starts_op(begin) ? take_op_term(p, t)
                              : take_plain_term(p, t));
    t->text = word_between(begin, p->at);
    t->n_nodes = count_term_nodes(t);
    p->depth--;
    *out = t;
    return HONE_OK;
}

hone_status hn_pattern_parse(hn_arena *a, const char *text, hn_pattern **out, hone_error *err) {
    size_t n_bytes = strlen(text);
    if (n_bytes > HN_PATTERN_MAX_BYTES)
        return hn_fail(err, HONE_E_LIMIT, "a pattern has %zu bytes: at most %d are read", n_bytes,
                       HN_PATTERN_MAX_BYTES);
    pattern_reader p = {.arena = a, .pattern = HN_NEW(a, hn_pattern), .err = err};
    p.text = p.at = hn_arena_copy(a, text, n_bytes + 1);
    HN_TRY_PTR(p.pattern);
    HN_TRY_PTR(p.text);
    HN_TRY(take_term(&p, &p.pattern->root));
    skip_blanks(&p);
    if (*p.at)
        return pattern_error(&p, p.at, "expected the end of the pattern");
    if (p.pattern->root->kind != HN_TERM_OP || p.pattern->root->is_optional)
        return pattern_error(&p, p.text, "a pattern begins with an operator that must be there");
    *out = p.pattern;
    return HONE_OK;
}
