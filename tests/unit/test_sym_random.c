/* Random shape computations, done twice: with symbols that are substituted afterwards, and with
 * numbers from the start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ir/ir.h"

enum { N_SYMBOLS = 4, N_ASSIGNMENTS = 6, N_STEPS = 14, N_ROUNDS = 4000 };

/* One intermediate result: the symbolic form, and its value under each assignment where it has one.
 */
typedef struct tracked {
    hn_sint symbolic;
    int64_t value[N_ASSIGNMENTS];
    bool valid[N_ASSIGNMENTS];
} tracked;

typedef struct world {
    hn_arena *arena;
    hn_strtab *names;
    hn_syms *syms;
    hn_rng rng;
    hn_str symbol[N_SYMBOLS];
    int64_t assigned[N_ASSIGNMENTS][N_SYMBOLS];
    size_t n_compared, n_unknown, n_overflows;
} world;

static int64_t between(world *w, int64_t lo, int64_t hi) {
    return lo + (int64_t)hn_rng_below(&w->rng, (uint64_t)(hi - lo + 1));
}

static void world_init(world *w, uint64_t seed) {
    static const char *const names[N_SYMBOLS] = {"batch", "h", "seq", "w"};
    w->arena = hn_arena_new(NULL);
    w->names = hn_strtab_new(w->arena);
    w->syms = hn_syms_new(w->arena, w->names);
    hn_rng_seed(&w->rng, seed);
    for (int i = 0; i < N_SYMBOLS; i++) {
        w->symbol[i] = hn_intern_z(w->names, names[i]);
        for (int a = 0; a < N_ASSIGNMENTS; a++)
            w->assigned[a][i] = a % 2 ? between(w, 0, 5) : between(w, 1, 300);
    }
}

static tracked random_leaf(world *w) {
    tracked t;
    int64_t number = between(w, -4, 12);
    int which = (int)between(w, 0, 2 * N_SYMBOLS - 1);
    bool is_symbol = which < N_SYMBOLS;
    t.symbolic = is_symbol ? hn_sint_from_dim(hn_dim_symbol(w->syms, w->symbol[which]))
                           : hn_sint_const(number);
    for (int a = 0; a < N_ASSIGNMENTS; a++) {
        t.value[a] = is_symbol ? w->assigned[a][which] : number;
        t.valid[a] = true;
    }
    return t;
}

/* Plain arithmetic. False where the contract leaves the result open: division by zero, and a
 * quotient of negative numbers when the sign was not visible in the symbolic form. */
static bool plain_apply(hn_sint_op op, int64_t a, int64_t b, bool both_const, int64_t *out) {
    switch (op) {
    case HN_SINT_ADD:
        return hn_add_i64(a, b, out);
    case HN_SINT_SUB:
        return hn_sub_i64(a, b, out);
    case HN_SINT_MUL:
        return hn_mul_i64(a, b, out);
    case HN_SINT_MAX:
        *out = HN_MAX(a, b);
        return true;
    case HN_SINT_MIN:
        *out = HN_MIN(a, b);
        return true;
    case HN_SINT_DIV:
        if (b == 0 || (!both_const && a % b != 0 && (a < 0 || b < 0)))
            return false;
        *out = a / b;
        return true;
    case HN_SINT_MOD:
        if (b == 0)
            return false;
        *out = b > 0 ? hn_floor_mod(a, b) : -hn_floor_mod(-a, -b);
        return true;
    }
    return false;
}

static tracked random_step(world *w, const tracked *a, const tracked *b) {
    hn_sint_op op = (hn_sint_op)between(w, HN_SINT_ADD, HN_SINT_MIN);
    bool both_const = a->symbolic.kind == HN_SINT_CONST && b->symbolic.kind == HN_SINT_CONST;
    tracked t = {.symbolic = hn_sint_apply(w->syms, op, a->symbolic, b->symbolic)};
    for (int i = 0; i < N_ASSIGNMENTS; i++)
        t.valid[i] = a->valid[i] && b->valid[i] &&
                     plain_apply(op, a->value[i], b->value[i], both_const, &t.value[i]);
    return t;
}

static hn_dim substitute_all(world *w, hn_dim d, const int64_t *values) {
    for (int i = 0; i < N_SYMBOLS; i++)
        d = hn_dim_subst(w->syms, d, w->symbol[i], values[i]);
    return d;
}

static void compare_with_numbers(world *w, const tracked *t) {
    for (int a = 0; a < N_ASSIGNMENTS; a++) {
        if (!t->valid[a])
            continue;
        if (t->symbolic.kind == HN_SINT_CONST) {
            assert_true(t->symbolic.v == t->value[a]);
        } else {
            hn_dim got = substitute_all(w, t->symbolic.v, w->assigned[a]);
            assert_true(got == t->value[a] || got == HN_DIM_UNKNOWN);
            /* Large powers may overflow here although another order of operations did not. */
            w->n_overflows += got == HN_DIM_UNKNOWN && t->value[a] >= 0;
        }
        w->n_compared++;
    }
}

static void compare_bounds(world *w, const tracked *t) {
    for (int64_t least = -3; least <= 3; least++) {
        if (t->symbolic.kind != HN_SINT_DIM || !hn_dim_at_least(w->syms, t->symbolic.v, least))
            continue;
        for (int a = 0; a < N_ASSIGNMENTS; a++)
            assert_true(!t->valid[a] || t->value[a] >= least);
    }
}

static void compare_text(world *w, const tracked *t) {
    hn_strbuf text;
    if (t->symbolic.kind != HN_SINT_DIM)
        return;
    hn_strbuf_init(&text, NULL);
    hn_dim_text(w->syms, t->symbolic.v, &text);
    hn_dim again = hn_dim_parse(w->syms, hn_intern(w->names, text.at, text.n));
    hn_strbuf again_text;
    hn_strbuf_init(&again_text, NULL);
    hn_dim_text(w->syms, again, &again_text);
    assert_string_equal(again_text.at, text.at);
    assert_true(again == t->symbolic.v);
    hn_strbuf_free(&text);
    hn_strbuf_free(&again_text);
}

static void one_computation(world *w) {
    tracked t[N_STEPS];
    for (int i = 0; i < N_STEPS; i++) {
        if (i < 5)
            t[i] = random_leaf(w);
        else
            t[i] =
                random_step(w, &t[between(w, HN_MAX(0, i - 6), i - 1)], &t[between(w, 0, i - 1)]);
        w->n_unknown += t[i].symbolic.kind == HN_SINT_UNKNOWN;
        if (t[i].symbolic.kind == HN_SINT_UNKNOWN) {
            t[i] = random_leaf(w);
            continue;
        }
        compare_with_numbers(w, &t[i]);
        compare_bounds(w, &t[i]);
        compare_text(w, &t[i]);
    }
}

static void test_symbols_then_numbers(void **state) {
    (void)state;
    size_t n_compared = 0, n_unknown = 0, n_overflows = 0;
    for (uint64_t round = 0; round < N_ROUNDS; round++) {
        world w = {0};
        world_init(&w, round);
        one_computation(&w);
        assert_false(hn_syms_failed(w.syms));
        n_compared += w.n_compared;
        n_unknown += w.n_unknown;
        n_overflows += w.n_overflows;
        hn_arena_free(w.arena);
    }
    print_message("%zu comparisons, %zu of %d results unknown\n", n_compared, n_unknown,
                  N_ROUNDS * N_STEPS);
    assert_true(n_unknown < N_ROUNDS * N_STEPS / 10);
    assert_true(n_overflows < n_compared / 10000);
}

/* Whatever a file says where a dimension's name belongs comes out letter for letter. */
static void test_any_text_survives(void **state) {
    (void)state;
    static const char *const pieces[] = {"h",   "w",      "1",    "2",    "0",  "*", "**",
                                         " + ", " - ",    "-",    "(",    ")",  "/", "/2)",
                                         ", ",  "floor(", "max(", "min(", "\"", " "};
    world w = {0};
    world_init(&w, 7);
    hn_strbuf text, printed;
    hn_strbuf_init(&text, NULL);
    hn_strbuf_init(&printed, NULL);
    for (int round = 0; round < 20000; round++) {
        text.n = printed.n = 0;
        for (int64_t n_pieces = between(&w, 1, 12); n_pieces > 0; n_pieces--)
            hn_strbuf_puts(&text, pieces[hn_rng_below(&w.rng, HN_COUNT(pieces))]);
        hn_dim d = hn_dim_parse(w.syms, hn_intern(w.names, text.at, text.n));
        assert_true(hn_dim_is_symbolic(d));
        hn_dim_text(w.syms, d, &printed);
        assert_string_equal(printed.at, text.at);
    }
    hn_strbuf_free(&text);
    hn_strbuf_free(&printed);
    hn_arena_free(w.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_text_survives),
        cmocka_unit_test(test_symbols_then_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
