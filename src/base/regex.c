/* Simulation of an NFA (Thompson's construction): all paths through the pattern advance together,
 * one character at a time, so there is no backtracking. */
#include "base/regex_int.h"

typedef enum regex_op { OP_CODE, OP_PLACE, OP_FORK, OP_MATCH } regex_op;

typedef struct regex_step {
    regex_op op;
    const hn_code_set *set;
    hn_regex_assertion place;
    uint32_t next, other; /* other: second branch of a fork */
} regex_step;

/* The set of active states. */
typedef struct step_set {
    uint32_t *at, *where; /* where[step] is its position in `at` if it is a member */
    uint32_t n;
} step_set;

struct hn_regex {
    HN_VEC(regex_step) steps;
    uint32_t start;
    step_set now, later;
    uint32_t *stack; /* worklist of states to follow */
};

/* ---- compiling ------------------------------------------------------------------------------- */

typedef struct regex_compiler {
    hn_arena *arena;
    hn_regex *re;
    hone_status status;
} regex_compiler;

/* Instructions are emitted from the end of the pattern to its beginning, so the successor is always
 * known. Returns the new instruction. */
static uint32_t emit(regex_compiler *k, regex_step step) {
    if (k->status != HONE_OK)
        return 0;
    if (k->re->steps.n >= HN_REGEX_MAX_PROGRAM)
        k->status = HONE_E_LIMIT;
    else if (!HN_VEC_PUSH(k->arena, &k->re->steps, step))
        k->status = HONE_E_NOMEM;
    return k->re->steps.n - 1;
}

static uint32_t emit_node(regex_compiler *k, const hn_regex_node *n, uint32_t next, int depth);

/* n copies, the last `max - min` of them optional; without a maximum the last one loops. */
static uint32_t emit_repeat(regex_compiler *k, const hn_regex_node *n, uint32_t next, int depth) {
    uint32_t at = next;
    if (n->max < 0) {
        uint32_t loop = emit(k, (regex_step){.op = OP_FORK, .other = next});
        uint32_t body = emit_node(k, n->left, loop, depth);
        if (k->status == HONE_OK)
            k->re->steps.at[loop].next = body;
        at = loop;
    }
    for (int i = n->min; i < n->max && k->status == HONE_OK; i++)
        at = emit(k, (regex_step){
                         .op = OP_FORK, .next = emit_node(k, n->left, at, depth), .other = next});
    for (int i = 0; i < n->min && k->status == HONE_OK; i++)
        at = emit_node(k, n->left, at, depth);
    return at;
}

static uint32_t emit_node(regex_compiler *k, const hn_regex_node *n, uint32_t next, int depth) {
    if (depth > 4 * HN_REGEX_MAX_DEPTH)
        k->status = HONE_E_LIMIT;
    uint32_t other = UINT32_MAX; /* entry of the alternatives so far */
    for (;;) { /* long concatenations and alternatives are left-deep: the loop follows them without
                  recursion */
        uint32_t at = next;
        if (k->status != HONE_OK)
            return 0;
        if (n->kind == HN_RE_CONCAT) {
            next = emit_node(k, n->right, next, depth + 1);
            n = n->left;
            continue;
        }
        if (n->kind == HN_RE_EITHER && other == UINT32_MAX) {
            uint32_t end = next;
            other = emit_node(k, n->right, end, depth + 1);
            for (n = n->left; n->kind == HN_RE_EITHER && k->status == HONE_OK; n = n->left)
                other = emit(k, (regex_step){.op = OP_FORK,
                                             .next = emit_node(k, n->right, end, depth + 1),
                                             .other = other});
            continue;
        }
        if (n->kind == HN_RE_SET)
            at = emit(k, (regex_step){.op = OP_CODE, .set = n->set, .next = next});
        else if (n->kind == HN_RE_ASSERT)
            at = emit(k, (regex_step){.op = OP_PLACE, .place = n->place, .next = next});
        else if (n->kind == HN_RE_EITHER) /* a group in front of the first alternative */
            at = emit_node(k, n, next, depth + 1);
        else if (n->kind == HN_RE_REPEAT)
            at = emit_repeat(k, n, next, depth + 1);
        return other == UINT32_MAX
                   ? at
                   : emit(k, (regex_step){.op = OP_FORK, .next = at, .other = other});
    }
}

static bool new_step_set(hn_arena *arena, uint32_t n, step_set *s) {
    s->at = HN_NEW_N(arena, uint32_t, n);
    s->where = HN_NEW_N(arena, uint32_t, n);
    return s->at && s->where;
}

hone_status hn_regex_compile(hn_arena *arena, hn_bytes pattern, hn_regex **out, const char **why) {
    const hn_regex_node *tree;
    HN_TRY(hn_regex_parse(arena, pattern, &tree, why));
    hn_regex *re = HN_NEW(arena, hn_regex);
    HN_TRY_PTR(re);
    regex_compiler k = {.arena = arena, .re = re};
    re->start = emit_node(&k, tree, emit(&k, (regex_step){.op = OP_MATCH}), 0);
    if (k.status == HONE_E_LIMIT)
        *why = "it is too large";
    HN_TRY(k.status);
    re->stack = HN_NEW_N(arena, uint32_t, 2 * (size_t)re->steps.n + 2);
    if (!re->stack || !new_step_set(arena, re->steps.n, &re->now) ||
        !new_step_set(arena, re->steps.n, &re->later))
        return HONE_E_NOMEM;
    *out = re;
    return HONE_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

#define NO_CODE UINT32_MAX /* before the text, and behind it */

static bool is_word_code(uint32_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool assertion_holds(hn_regex_assertion place, uint32_t before, uint32_t after) {
    bool is_edge = is_word_code(before) != is_word_code(after);
    switch (place) {
    case HN_AT_TEXT_START:
        return before == NO_CODE;
    case HN_AT_TEXT_END:
        return after == NO_CODE;
    case HN_AT_LINE_START:
        return before == NO_CODE || before == '\n';
    case HN_AT_LINE_END:
        return after == NO_CODE || after == '\n';
    case HN_AT_WORD_EDGE:
        return is_edge;
    default:
        return !is_edge;
    }
}

static bool has_step(const step_set *s, uint32_t step) {
    return s->where[step] < s->n && s->at[s->where[step]] == step;
}

/* Adds a state and its epsilon closure at the position between `before` and `after`. Each state is
 * followed once, so the stack holds at most two entries per state. */
static void add_steps(hn_regex *re, step_set *s, uint32_t step, uint32_t before, uint32_t after) {
    uint32_t n = 0;
    re->stack[n++] = step;
    while (n > 0) {
        step = re->stack[--n];
        if (has_step(s, step))
            continue;
        s->where[step] = s->n;
        s->at[s->n++] = step;
        const regex_step *t = &re->steps.at[step];
        if (t->op == OP_FORK) {
            re->stack[n++] = t->other;
            re->stack[n++] = t->next;
        } else if (t->op == OP_PLACE && assertion_holds(t->place, before, after)) {
            re->stack[n++] = t->next;
        }
    }
}

static bool is_accepting(const hn_regex *re) {
    for (uint32_t i = 0; i < re->now.n; i++)
        if (re->steps.at[re->now.at[i]].op == OP_MATCH)
            return true;
    return false;
}

/* The character before a byte of the text. */
static uint32_t code_before(hn_bytes text, uint64_t at) {
    if (at == 0)
        return NO_CODE;
    uint64_t begin = at - 1;
    while (begin > 0 && at - begin < 4 && (((const uint8_t *)text.at)[begin] & 0xc0) == 0x80)
        begin--;
    return hn_utf8_next(text, &begin);
}

bool hn_regex_longest(hn_regex *re, hn_bytes text, uint64_t begin, uint64_t *end) {
    uint64_t here = begin, next = begin;
    uint32_t after = begin < text.n ? hn_utf8_next(text, &next) : NO_CODE;
    re->now.n = 0;
    add_steps(re, &re->now, re->start, code_before(text, begin), after);
    bool is_found = is_accepting(re);
    *end = begin;
    while (after != NO_CODE && re->now.n > 0) {
        uint32_t code = after;
        here = next;
        after = next < text.n ? hn_utf8_next(text, &next) : NO_CODE;
        re->later.n = 0;
        for (uint32_t i = 0; i < re->now.n; i++) {
            const regex_step *t = &re->steps.at[re->now.at[i]];
            if (t->op == OP_CODE && hn_code_set_has(t->set, code))
                add_steps(re, &re->later, t->next, code, after);
        }
        step_set swapped = re->now;
        re->now = re->later;
        re->later = swapped;
        if (is_accepting(re)) {
            is_found = true;
            *end = here;
        }
    }
    return is_found;
}

bool hn_regex_matches(hn_regex *re, hn_bytes text) {
    uint64_t end;
    return hn_regex_longest(re, text, 0, &end) && end == text.n;
}
