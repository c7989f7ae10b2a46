/* Minimum cuts, compared with an exhaustive search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpu/passes/layout_cut.h"

#define MOST_VERTICES 8
#define MOST_ARCS 24

typedef struct arc {
    uint32_t from, to;
    int64_t cost;
} arc;

typedef struct network {
    uint32_t n_vertices, n_arcs;
    arc arcs[MOST_ARCS];
} network;

/* Bit i of `sides`: vertex i is with the source. */
static int64_t cost_of(const network *n, uint32_t sides) {
    int64_t cost = 0;
    for (uint32_t i = 0; i < n->n_arcs; i++)
        if ((sides >> n->arcs[i].from & 1) && !(sides >> n->arcs[i].to & 1))
            cost += n->arcs[i].cost;
    return cost;
}

static bool is_division(uint32_t sides) {
    return (sides >> HN_CUT_SOURCE & 1) && !(sides >> HN_CUT_SINK & 1);
}

static uint32_t solved_sides(const network *n) {
    hn_arena *arena = hn_arena_new(NULL);
    hn_cut cut;
    uint32_t sides = 0;
    hn_cut_init(&cut, arena);
    while (cut.first.n < n->n_vertices)
        hn_cut_vertex(&cut);
    for (uint32_t i = 0; i < n->n_arcs; i++)
        hn_cut_add(&cut, n->arcs[i].from, n->arcs[i].to, n->arcs[i].cost);
    assert_true(hn_cut_solve(&cut));
    for (uint32_t i = 0; i < n->n_vertices; i++)
        sides |= (uint32_t)hn_cut_is_with_source(&cut, i) << i;
    hn_arena_free(arena);
    return sides;
}

static uint32_t count_bits(uint32_t sides) {
    uint32_t n = 0;
    for (; sides; sides &= sides - 1)
        n++;
    return n;
}

static void expect_least(const network *n) {
    uint32_t found = solved_sides(n);
    assert_true(is_division(found));
    for (uint32_t sides = 0; sides < 1u << n->n_vertices; sides++) {
        if (!is_division(sides))
            continue;
        assert_true(cost_of(n, found) <= cost_of(n, sides));
        if (cost_of(n, found) == cost_of(n, sides))
            assert_true(count_bits(found) <= count_bits(sides));
    }
}

static void test_random_networks(void **state) {
    (void)state;
    hn_rng rng;
    hn_rng_seed(&rng, 7);
    for (int i = 0; i < 2000; i++) {
        network n = {.n_vertices = 2 + (uint32_t)hn_rng_below(&rng, MOST_VERTICES - 1),
                     .n_arcs = (uint32_t)hn_rng_below(&rng, MOST_ARCS + 1)};
        for (uint32_t k = 0; k < n.n_arcs; k++)
            n.arcs[k] = (arc){.from = (uint32_t)hn_rng_below(&rng, n.n_vertices),
                              .to = (uint32_t)hn_rng_below(&rng, n.n_vertices),
                              .cost = (int64_t)hn_rng_below(&rng, 12)};
        expect_least(&n);
    }
}

/* Arcs that are never cut bind vertices together. */
static void test_bound_vertices(void **state) {
    (void)state;
    const network n = {
        .n_vertices = 4,
        .n_arcs = 4,
        .arcs = {
            {HN_CUT_SOURCE, 2, 10}, {2, 3, HN_CUT_MOST}, {3, HN_CUT_SINK, 7}, {2, HN_CUT_SINK, 2}}};
    assert_int_equal(solved_sides(&n), 1u << HN_CUT_SOURCE | 1u << 2 | 1u << 3);
}

/* A long chain is a deep path, not a deep recursion. */
static void test_long_chain(void **state) {
    (void)state;
    const uint32_t n_links = 20000;
    hn_arena *arena = hn_arena_new(NULL);
    hn_cut cut;
    hn_cut_init(&cut, arena);
    uint32_t last = HN_CUT_SOURCE;
    for (uint32_t i = 0; i < n_links; i++) {
        uint32_t next = hn_cut_vertex(&cut);
        hn_cut_add(&cut, last, next, i == n_links / 2 ? 1 : 5);
        last = next;
    }
    hn_cut_add(&cut, last, HN_CUT_SINK, 5);
    assert_true(hn_cut_solve(&cut));
    assert_true(hn_cut_is_with_source(&cut, 2 + n_links / 2 - 1));
    assert_false(hn_cut_is_with_source(&cut, 2 + n_links / 2));
    hn_arena_free(arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_networks),
        cmocka_unit_test(test_bound_vertices),
        cmocka_unit_test(test_long_chain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
