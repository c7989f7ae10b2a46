/* Parser for the syntax of RE2: classes, groups, repetitions, flags. Like RE2 it refuses
 * backreferences and lookaround. */
#include "base/regex_int.h"

typedef struct regex_parser {
    hn_arena *arena;
    hn_bytes pattern;
    uint64_t at;
    int depth;
    bool ignores_case, dot_takes_newline, is_multi_line, is_ungreedy;
    hone_status status; /* sticky */
    const char *why;
} regex_parser;

static const hn_regex_node *parse_alternatives(regex_parser *p);

/* ---- text ------------------------------------------------------------------------------------ */

uint32_t hn_utf8_next(hn_bytes text, uint64_t *at) {
    const uint8_t *s = (const uint8_t *)text.at + *at;
    uint64_t left = text.n - *at;
    uint32_t lead = s[0], n_more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC2 ? 1 : 0;
    uint32_t code = n_more == 3   ? lead & 7
                    : n_more == 2 ? lead & 15
                    : n_more == 1 ? lead & 31
                                  : lead;
    bool is_valid = (lead < 0x80 || (n_more > 0 && lead < 0xF5)) && left > n_more;
    for (uint32_t i = 1; is_valid && i <= n_more; i++) {
        is_valid = (s[i] & 0xC0) == 0x80;
        code = code << 6 | (s[i] & 63u);
    }
    is_valid = is_valid && !(n_more == 2 && code < 0x800) &&
               !(n_more == 3 && (code < 0x10000 || code > HN_REGEX_LAST_CODE));
    *at += is_valid ? n_more + 1 : 1;
    return is_valid ? code : HN_REGEX_LAST_CODE + 1 + lead;
}

static const hn_regex_node *parse_fail(regex_parser *p, hone_status status, const char *why) {
    if (p->status == HONE_OK) {
        p->status = status;
        p->why = why;
    }
    return NULL;
}

static bool at_end(const regex_parser *p) {
    return p->at >= p->pattern.n;
}

static bool next_is(const regex_parser *p, const char *text) {
    size_t n = strlen(text);
    return p->pattern.n - p->at >= n && memcmp((const char *)p->pattern.at + p->at, text, n) == 0;
}

/* Moves past `text` when it is next. */
static bool take(regex_parser *p, const char *text) {
    bool is_next = !at_end(p) && next_is(p, text);
    p->at += is_next ? strlen(text) : 0;
    return is_next;
}

static uint32_t take_code(regex_parser *p) {
    uint32_t code = hn_utf8_next(p->pattern, &p->at);
    if (code > HN_REGEX_LAST_CODE)
        parse_fail(p, HONE_E_INVALID, "it is not UTF-8");
    return code;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const hn_regex_node *new_node(regex_parser *p, hn_regex_node node) {
    hn_regex_node *n = p->status == HONE_OK ? HN_NEW(p->arena, hn_regex_node) : NULL;
    if (!n)
        return parse_fail(p, HONE_E_NOMEM, NULL);
    *n = node;
    return n;
}

static hn_code_set *new_set(regex_parser *p) {
    hn_code_set *set = HN_NEW(p->arena, hn_code_set);
    if (!set)
        parse_fail(p, HONE_E_NOMEM, NULL);
    return set;
}

static const hn_regex_node *set_node(regex_parser *p, const hn_code_set *set) {
    return set ? new_node(p, (hn_regex_node){.kind = HN_RE_SET, .set = set}) : NULL;
}

static void add_range(regex_parser *p, hn_code_set *set, uint32_t lo, uint32_t hi) {
    if (!HN_VEC_PUSH(p->arena, &set->ranges, ((hn_code_range){lo, hi})))
        parse_fail(p, HONE_E_NOMEM, NULL);
}

/* Adds a range, and with (?i) its ASCII letters in the other case. */
static void add_folded(regex_parser *p, hn_code_set *set, uint32_t lo, uint32_t hi) {
    static const struct {
        uint32_t first, last;
        int other;
    } cases[] = {{'a', 'z', 'A' - 'a'}, {'A', 'Z', 'a' - 'A'}};
    add_range(p, set, lo, hi);
    for (size_t i = 0; p->ignores_case && i < HN_COUNT(cases); i++) {
        uint32_t from = HN_MAX(lo, cases[i].first), to = HN_MIN(hi, cases[i].last);
        if (from <= to)
            add_range(p, set, (uint32_t)((int)from + cases[i].other),
                      (uint32_t)((int)to + cases[i].other));
    }
}

bool hn_code_set_has(const hn_code_set *set, uint32_t code) {
    bool is_in = false;
    for (uint32_t i = 0; i < set->ranges.n && !is_in; i++)
        is_in = code >= set->ranges.at[i].lo && code <= set->ranges.at[i].hi;
    return is_in != set->is_negated;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Named sets as pairs of characters; the classes are those of ASCII. */
typedef struct named_set {
    const char *name, *pairs;
} named_set;
static const named_set escape_sets[] = {{"d", "09"}, {"s", "\t\n\f\r  "}, {"w", "09AZ__az"}};
static const named_set posix_sets[] = {
    {"alnum", "09AZaz"},
    {"alpha", "AZaz"},
    {"ascii", "\001\177"},
    {"blank", "\t\t  "},
    {"cntrl", "\001\037\177\177"},
    {"digit", "09"},
    {"graph", "!~"},
    {"lower", "az"},
    {"print", " ~"},
    {"punct", "!/:@[`{~"},
    {"space", "\t\r  "},
    {"upper", "AZ"},
    {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

/* Adds a named set, or its complement. The pairs are in ascending order. */
static void add_named(regex_parser *p, hn_code_set *set, const named_set *named, bool is_negated) {
    uint32_t next = 0;
    for (const char *s = named->pairs; s[0]; s += 2) {
        uint32_t lo = (uint8_t)s[0], hi = (uint8_t)s[1];
        if (!is_negated)
            add_folded(p, set, lo, hi);
        else if (lo > next)
            add_range(p, set, next, lo - 1);
        next = hi + 1;
    }
    if (is_negated)
        add_range(p, set, next, HN_REGEX_LAST_CODE);
}

/* \d \D \s \S \w \W; the backslash is already consumed. */
static bool take_escape_set(regex_parser *p, hn_code_set *set) {
    if (at_end(p))
        return false;
    char c = ((const char *)p->pattern.at)[p->at];
    for (size_t i = 0; i < HN_COUNT(escape_sets); i++) {
        char lower = escape_sets[i].name[0];
        if (c != lower && c != lower - 'a' + 'A')
            continue;
        p->at++;
        add_named(p, set, &escape_sets[i], c != lower);
        return true;
    }
    return false;
}

static int hex_digit(uint32_t c) {
    return c >= '0' && c <= '9'   ? (int)c - '0'
           : c >= 'a' && c <= 'f' ? (int)c - 'a' + 10
           : c >= 'A' && c <= 'F' ? (int)c - 'A' + 10
                                  : -1;
}

/* \x41 and \x{10FFFF}; the x is already consumed. */
static uint32_t take_hex(regex_parser *p) {
    bool has_braces = take(p, "{");
    uint32_t code = 0, n = 0;
    while (!at_end(p) && (has_braces || n < 2) && code <= HN_REGEX_LAST_CODE) {
        int digit = hex_digit(((const uint8_t *)p->pattern.at)[p->at]);
        if (digit < 0)
            break;
        code = code * 16 + (uint32_t)digit;
        p->at++;
        n++;
    }
    if (n == 0 || (!has_braces && n != 2) || (has_braces && !take(p, "}")) ||
        code > HN_REGEX_LAST_CODE)
        parse_fail(p, HONE_E_INVALID, "\\x needs two hexadecimal digits, or some in braces");
    return code;
}

/* An escaped character; the backslash is already consumed. */
static uint32_t take_escape(regex_parser *p) {
    static const char letters[] = "afnrtv", meanings[] = "\a\f\n\r\t\v";
    if (at_end(p)) {
        parse_fail(p, HONE_E_INVALID, "it ends in a backslash");
        return 0;
    }
    uint32_t code = take_code(p);
    if (code == 'x')
        return take_hex(p);
    const char *letter = code < 128 && code ? strchr(letters, (int)code) : NULL;
    if (letter)
        return (uint8_t)meanings[letter - letters];
    bool is_word = (code >= '0' && code <= '9') || (code >= 'A' && code <= 'Z') ||
                   (code >= 'a' && code <= 'z');
    if (is_word)
        parse_fail(p, HONE_E_INVALID, "it has an escape that is not supported");
    return code;
}

/* [:alpha:] and [:^alpha:] inside a class. */
static bool take_posix_set(regex_parser *p, hn_code_set *set) {
    if (!next_is(p, "[:"))
        return false;
    for (size_t i = 0; i < HN_COUNT(posix_sets); i++)
        for (int negated = 0; negated < 2; negated++) {
            uint64_t start = p->at;
            if (take(p, negated ? "[:^" : "[:") && take(p, posix_sets[i].name) && take(p, ":]")) {
                add_named(p, set, &posix_sets[i], negated);
                return true;
            }
            p->at = start;
        }
    return false;
}

static uint32_t take_class_code(regex_parser *p) {
    return take(p, "\\") ? take_escape(p) : take_code(p);
}

/* One member of a class: a set, a character or a range. */
static void take_class_member(regex_parser *p, hn_code_set *set) {
    if (take_posix_set(p, set))
        return;
    if (next_is(p, "\\")) {
        p->at++;
        if (take_escape_set(p, set))
            return;
        p->at--;
    }
    uint32_t lo = take_class_code(p), hi = lo;
    bool is_range = !at_end(p) && next_is(p, "-") && !next_is(p, "-]") && p->at + 1 < p->pattern.n;
    if (is_range) {
        p->at++;
        hi = take_class_code(p);
    }
    if (hi < lo)
        parse_fail(p, HONE_E_INVALID, "a range of characters runs backwards");
    else
        add_folded(p, set, lo, hi);
}

/* The opening bracket is already consumed. */
static const hn_regex_node *parse_class(regex_parser *p) {
    hn_code_set *set = new_set(p);
    if (!set)
        return NULL;
    set->is_negated = take(p, "^");
    for (bool is_first = true; p->status == HONE_OK; is_first = false) {
        if (at_end(p))
            return parse_fail(p, HONE_E_INVALID, "a class has no closing bracket");
        if (!is_first && take(p, "]"))
            return set_node(p, set);
        take_class_member(p, set);
    }
    return NULL;
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static const hn_regex_node *code_node(regex_parser *p, uint32_t code) {
    hn_code_set *set = new_set(p);
    if (set)
        add_folded(p, set, code, code);
    return set_node(p, set);
}

static const hn_regex_node *dot_node(regex_parser *p) {
    hn_code_set *set = new_set(p);
    if (!set)
        return NULL;
    set->is_negated = true;
    if (!p->dot_takes_newline)
        add_range(p, set, '\n', '\n');
    return set_node(p, set);
}

static const hn_regex_node *assertion_node(regex_parser *p, hn_regex_assertion place) {
    return new_node(p, (hn_regex_node){.kind = HN_RE_ASSERT, .place = place});
}

static const hn_regex_node *join_nodes(regex_parser *p, hn_regex_kind kind, const hn_regex_node *a,
                                       const hn_regex_node *b) {
    if (!a || !b)
        return a ? a : b;
    return new_node(p, (hn_regex_node){.kind = kind, .left = a, .right = b});
}

/* \Q...\E: literal text. */
static const hn_regex_node *parse_quoted(regex_parser *p) {
    const hn_regex_node *all = NULL;
    while (!at_end(p) && !take(p, "\\E") && p->status == HONE_OK)
        all = join_nodes(p, HN_RE_CONCAT, all, code_node(p, take_code(p)));
    return all ? all : new_node(p, (hn_regex_node){.kind = HN_RE_EMPTY});
}

/* The backslash is already consumed. */
static const hn_regex_node *parse_escape(regex_parser *p) {
    static const struct {
        const char *letter;
        hn_regex_assertion place;
    } places[] = {{"A", HN_AT_TEXT_START},
                  {"z", HN_AT_TEXT_END},
                  {"b", HN_AT_WORD_EDGE},
                  {"B", HN_NOT_AT_WORD_EDGE}};
    for (size_t i = 0; i < HN_COUNT(places); i++)
        if (take(p, places[i].letter))
            return assertion_node(p, places[i].place);
    if (take(p, "Q"))
        return parse_quoted(p);
    hn_code_set *set = new_set(p);
    if (set && take_escape_set(p, set))
        return set_node(p, set);
    return code_node(p, take_escape(p));
}

/* Flags after "(?" up to ')' or ':'; true when a group follows. */
static bool parse_flags(regex_parser *p) {
    bool is_on = true;
    while (!at_end(p) && p->status == HONE_OK) {
        bool *flag = NULL;
        if (take(p, ")"))
            return false;
        if (take(p, ":"))
            return true;
        if (take(p, "-"))
            is_on = false;
        else if (take(p, "i"))
            flag = &p->ignores_case;
        else if (take(p, "s"))
            flag = &p->dot_takes_newline;
        else if (take(p, "m"))
            flag = &p->is_multi_line;
        else if (take(p, "U"))
            flag = &p->is_ungreedy; /* which match is preferred does not matter for whole texts */
        else
            break;
        if (flag)
            *flag = is_on;
    }
    parse_fail(p, HONE_E_INVALID, "it has a group of a kind that is not supported");
    return false;
}

static void skip_group_name(regex_parser *p) {
    while (!at_end(p) && !take(p, ">"))
        p->at++;
}

/* The opening parenthesis is already consumed. */
static const hn_regex_node *parse_group(regex_parser *p) {
    regex_parser before = *p;
    if (take(p, "?P<") || take(p, "?<"))
        skip_group_name(p);
    else if (take(p, "?") && !parse_flags(p))
        return new_node(
            p, (hn_regex_node){
                   .kind = HN_RE_EMPTY}); /* the flags apply until the enclosing group ends */
    if (++p->depth > HN_REGEX_MAX_DEPTH)
        return parse_fail(p, HONE_E_LIMIT, "its groups are nested too deeply");
    const hn_regex_node *inner = parse_alternatives(p);
    p->depth--;
    if (inner && !take(p, ")"))
        return parse_fail(p, HONE_E_INVALID, "a parenthesis is not closed");
    p->ignores_case = before.ignores_case;
    p->dot_takes_newline = before.dot_takes_newline;
    p->is_multi_line = before.is_multi_line;
    p->is_ungreedy = before.is_ungreedy;
    return inner;
}

static const hn_regex_node *parse_atom(regex_parser *p) {
    if (take(p, "("))
        return parse_group(p);
    if (take(p, "["))
        return parse_class(p);
    if (take(p, "."))
        return dot_node(p);
    if (take(p, "^"))
        return assertion_node(p, p->is_multi_line ? HN_AT_LINE_START : HN_AT_TEXT_START);
    if (take(p, "$"))
        return assertion_node(p, p->is_multi_line ? HN_AT_LINE_END : HN_AT_TEXT_END);
    if (take(p, "\\"))
        return parse_escape(p);
    if (next_is(p, "*") || next_is(p, "+") || next_is(p, "?"))
        return parse_fail(p, HONE_E_INVALID, "a repetition has nothing to repeat");
    return code_node(p, take_code(p));
}

/* ---- repetitions ----------------------------------------------------------------------------- */

static bool take_count(regex_parser *p, int *out) {
    uint64_t start = p->at;
    *out = 0;
    for (; !at_end(p); p->at++) {
        uint32_t digit = (uint32_t)((const uint8_t *)p->pattern.at)[p->at] - '0';
        if (digit > 9)
            break;
        *out = HN_MIN(*out * 10 + (int)digit, HN_REGEX_MAX_REPEAT + 1);
    }
    return p->at > start;
}

/* {n}, {n,} or {n,m}; anything else in braces is plain text. */
static bool take_braces(regex_parser *p, int *min, int *max) {
    uint64_t start = p->at;
    bool is_count = take(p, "{") && take_count(p, min);
    *max = *min;
    if (is_count && take(p, ",") && !take_count(p, max))
        *max = -1;
    is_count = is_count && take(p, "}");
    if (!is_count)
        p->at = start;
    return is_count;
}

static bool take_repetition(regex_parser *p, int *min, int *max) {
    *min = 0;
    *max = -1;
    if (take(p, "*"))
        return true;
    if (take(p, "+")) {
        *min = 1;
        return true;
    }
    if (take(p, "?")) {
        *max = 1;
        return true;
    }
    return take_braces(p, min, max);
}

static const hn_regex_node *parse_repeated(regex_parser *p) {
    const hn_regex_node *atom = parse_atom(p);
    int min, max, n_nested = 0;
    while (atom && p->status == HONE_OK && take_repetition(p, &min, &max)) {
        take(p, "?"); /* reluctant: the same texts match */
        if (min > HN_REGEX_MAX_REPEAT || max > HN_REGEX_MAX_REPEAT || (max >= 0 && max < min) ||
            ++n_nested > HN_REGEX_MAX_DEPTH)
            return parse_fail(p, HONE_E_INVALID,
                              "a repetition has bounds that are too large or in the wrong order");
        atom = new_node(
            p, (hn_regex_node){.kind = HN_RE_REPEAT, .left = atom, .min = min, .max = max});
    }
    return atom;
}

/* Alternatives up to the end or a closing parenthesis. The tree is left-deep, as deep as the
 * pattern is long, so it is walked without recursion on the left side. */
static const hn_regex_node *parse_alternatives(regex_parser *p) {
    const hn_regex_node *either = NULL, *sequence = NULL;
    for (;;) {
        bool ends = at_end(p) || next_is(p, ")"), is_next = !ends && take(p, "|");
        if (p->status != HONE_OK)
            return NULL;
        if (!ends && !is_next) {
            sequence = join_nodes(p, HN_RE_CONCAT, sequence, parse_repeated(p));
            continue;
        }
        if (!sequence)
            sequence = new_node(p, (hn_regex_node){.kind = HN_RE_EMPTY});
        either = join_nodes(p, HN_RE_EITHER, either, sequence);
        sequence = NULL;
        if (ends)
            return either;
    }
}

hone_status hn_regex_parse(hn_arena *arena, hn_bytes pattern, const hn_regex_node **out,
                           const char **why) {
    regex_parser p = {.arena = arena, .pattern = pattern};
    *out = parse_alternatives(&p);
    if (p.status == HONE_OK && !at_end(&p))
        parse_fail(&p, HONE_E_INVALID, "a parenthesis closes that was not opened");
    *why = p.why;
    return p.status;
}
