/* The layout of graphs in layers: ranks, order, places, bends, and what it does with hostile ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "view/graph_layout.h"

/* Boxes of one width; `pairs` are from, to. */
static layout layout_of(uint32_t n_boxes, const uint32_t *pairs, uint32_t n_edges) {
    layout l = {.n_boxes = n_boxes, .n_edges = n_edges};
    l.boxes = calloc(n_boxes + 1u, sizeof *l.boxes);
    l.edges = calloc(n_edges + 1u, sizeof *l.edges);
    assert_true(l.boxes && l.edges);
    for (uint32_t i = 0; i < n_boxes; i++)
        l.boxes[i].width = 100;
    for (uint32_t i = 0; i < n_edges; i++)
        l.edges[i] =
            (layout_edge){.from = pairs[2 * i], .to = pairs[2 * i + 1], .source = pairs[2 * i]};
    assert_true(layout_make(&l));
    return l;
}

static void drop_layout(layout *l) {
    layout_free(l);
    free(l->boxes);
    free(l->edges);
}

/* Readers are below what they read, nothing overlaps, and bends lead from rank to rank. */
static void expect_sound(const layout *l) {
    for (uint32_t i = 0; i < l->n_edges; i++) {
        const layout_edge *e = &l->edges[i];
        if (e->is_jump)
            continue;
        assert_true(l->boxes[e->from].rank < l->boxes[e->to].rank);
        uint32_t rank = l->boxes[e->to].rank;
        for (uint32_t b = e->last; b != LAYOUT_NONE; b = l->bends[b].before) {
            assert_int_equal(l->bends[b].rank, --rank);
            assert_int_equal(l->bends[b].from, e->from);
        }
        assert_int_equal(l->boxes[e->from].rank, rank - 1);
    }
    for (uint32_t i = 0; i < l->n_boxes; i++) {
        assert_true(l->boxes[i].x >= 50 - 1e-6 && l->boxes[i].x <= l->width - 50 + 1e-6);
        for (uint32_t k = 0; k < i && l->n_boxes < 2000; k++)
            if (l->boxes[i].rank == l->boxes[k].rank)
                assert_true(fabs(l->boxes[i].x - l->boxes[k].x) >= 100);
    }
}

static void a_chain_is_straight(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 3};
    layout l = layout_of(4, pairs, 3);
    expect_sound(&l);
    assert_int_equal(l.n_ranks, 4);
    assert_int_equal(l.n_bends, 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(l.boxes[i].rank, i);
        assert_true(l.boxes[i].x == l.boxes[0].x);
    }
    drop_layout(&l);
}

/* 0 -> 1 -> 2 -> 3 with an edge from 0 to 3: it passes beside 1 and 2, as a straight line. */
static void a_skip_bends_around_what_it_skips(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 3, 0, 3};
    layout l = layout_of(4, pairs, 4);
    expect_sound(&l);
    assert_int_equal(l.n_bends, 2);
    assert_true(l.bends[0].x == l.bends[1].x);
    assert_true(fabs(l.bends[0].x - l.boxes[1].x) > 50);
    drop_layout(&l);
}

/* What reads nothing stands just above its reader, not at the top. */
static void sources_are_near_their_readers(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 3, 4, 3};
    layout l = layout_of(5, pairs, 4);
    expect_sound(&l);
    assert_int_equal(l.boxes[4].rank, 2);
    drop_layout(&l);
}

/* 0 and 1 feed 3 and 2 crosswise: the order removes the crossing. */
static void crossings_are_removed(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 3, 1, 2, 0, 5, 1, 4, 2, 6, 3, 7};
    layout l = layout_of(8, pairs, 6);
    expect_sound(&l);
    assert_true((l.boxes[0].x < l.boxes[1].x) == (l.boxes[3].x < l.boxes[2].x));
    assert_true((l.boxes[0].x < l.boxes[1].x) == (l.boxes[5].x < l.boxes[4].x));
    drop_layout(&l);
}

/* Edges of one value share their bends. */
static void one_value_is_one_line(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 3, 3, 4, 0, 3, 0, 4, 0, 2};
    layout l = layout_of(5, pairs, 7);
    expect_sound(&l);
    assert_int_equal(l.n_bends, 3);
    drop_layout(&l);
}

/* Residual layers, each with a fan of readers whose first ones feed the next layer: lines that are
 * kept straight would lead to the side, layer by layer. */
static void layers_do_not_drift_to_the_side(void **state) {
    (void)state;
    enum { LAYERS = 60, FAN = 6, PER_LAYER = FAN + 3 };
    uint32_t pairs[2 * LAYERS * (2 * FAN + 4)], n = 0;
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t top = i * PER_LAYER, join = top + FAN + 1, end = top + FAN + 2;
        for (uint32_t k = 1; k <= FAN; k++) {
            pairs[n++] = top, pairs[n++] = top + k;
            pairs[n++] = top + k, pairs[n++] = join;
        }
        pairs[n++] = join, pairs[n++] = end;
        pairs[n++] = top, pairs[n++] = end;
        if (i + 1 < LAYERS) {
            pairs[n++] = end, pairs[n++] = end + 1;
            pairs[n++] = top, pairs[n++] = end + 1;
        }
    }
    layout l = layout_of(LAYERS * PER_LAYER, pairs, n / 2);
    expect_sound(&l);
    assert_true(l.width < 1.6 * FAN * 130);
    drop_layout(&l);
}

static void cycles_and_empty_graphs_are_harmless(void **state) {
    (void)state;
    static const uint32_t pairs[] = {0, 1, 1, 2, 2, 0, 3, 3, 2, 4};
    layout l = layout_of(5, pairs, 5);
    expect_sound(&l);
    assert_true(l.edges[2].is_jump && l.edges[3].is_jump);
    drop_layout(&l);
    l = layout_of(0, NULL, 0);
    assert_int_equal(l.n_ranks, 0);
    drop_layout(&l);
}

/* A value that every node of a long chain reads would have a bend per node and reader. */
static void memory_stays_in_proportion(void **state) {
    (void)state;
    enum { N = 20000 };
    uint32_t *pairs = calloc(4 * N, sizeof *pairs);
    assert_non_null(pairs);
    for (uint32_t i = 0; i + 1 < N; i++) {
        pairs[4 * i] = i;
        pairs[4 * i + 1] = i + 1;
        pairs[4 * i + 2] = i / 200 * 200;
        pairs[4 * i + 3] = i + 1;
    }
    layout l = layout_of(N, pairs, 2 * (N - 1));
    expect_sound(&l);
    assert_true(l.n_bends < 8 * N);
    assert_int_equal(l.n_ranks, N);
    layout again = layout_of(N, pairs, 2 * (N - 1));
    assert_memory_equal(l.boxes, again.boxes, N * sizeof *l.boxes);
    drop_layout(&l);
    drop_layout(&again);
    free(pairs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_chain_is_straight),
                                       cmocka_unit_test(a_skip_bends_around_what_it_skips),
                                       cmocka_unit_test(sources_are_near_their_readers),
                                       cmocka_unit_test(crossings_are_removed),
                                       cmocka_unit_test(one_value_is_one_line),
                                       cmocka_unit_test(layers_do_not_drift_to_the_side),
                                       cmocka_unit_test(cycles_and_empty_graphs_are_harmless),
                                       cmocka_unit_test(memory_stays_in_proportion)};
    return cmocka_run_group_tests_name("layout of graphs", tests, NULL, NULL);
}
