#define _GNU_SOURCE /* nanosleep, setrlimit */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

static const int pool_sizes[] = {1, 2, 3, 8};

static void sleep_ms(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- every element once, in the promised pieces ---------------------------------------------- */

enum { MAX_N = 5000, MAX_LANES = 8 };

typedef struct coverage {
    int64_t n, grain;
    atomic_int seen[MAX_N];
    atomic_int n_odd_pieces; /* that are not [k * grain, min(n, (k + 1) * grain)) */
} coverage;

static void cover(void *ctx, int64_t begin, int64_t end) {
    coverage *c = ctx;
    int64_t expected_end = HN_MIN(c->n, begin + c->grain);
    if (begin % c->grain != 0 || end != expected_end) {
        atomic_fetch_add(&c->n_odd_pieces, 1);
    }
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&c->seen[i], 1);
    }
}

static void check_coverage(hn_pool *pool, int64_t n, int64_t grain) {
    static coverage c;
    c.n = n;
    c.grain = grain;
    atomic_init(&c.n_odd_pieces, 0);
    for (int64_t i = 0; i < MAX_N; i++) {
        atomic_init(&c.seen[i], 0);
    }
    hn_pool_for(pool, n, grain, cover, &c);
    assert_int_equal(atomic_load(&c.n_odd_pieces), 0);
    for (int64_t i = 0; i < MAX_N; i++) {
        assert_int_equal(atomic_load(&c.seen[i]), i < n ? 1 : 0);
    }
}

static void test_ranges(void **state) {
    (void)state;
    static const int64_t sizes[][2] = {{0, 1},   {1, 1},    {2, 1},     {7, 3},      {9, 3},
                                       {100, 7}, {5000, 1}, {5000, 64}, {5000, 6000}};
    for (size_t p = 0; p < HN_COUNT(pool_sizes); p++) {
        hn_pool *pool = hn_pool_new(pool_sizes[p], NULL);
        assert_int_equal(hn_pool_threads(pool), pool_sizes[p]);
        for (size_t i = 0; i < HN_COUNT(sizes); i++) {
            check_coverage(pool, sizes[i][0], sizes[i][1]);
            check_coverage(NULL, sizes[i][0], sizes[i][1]);
        }
        hn_pool_free(pool);
    }
    assert_int_equal(hn_pool_threads(NULL), 1);
    hn_pool_free(NULL);
}

typedef struct lanes {
    int n_lanes;
    atomic_int seen[MAX_N];
    atomic_flag taken[MAX_LANES];
    atomic_int n_clashes;
} lanes;

static void cover_in_lane(void *ctx, int lane, int64_t begin, int64_t end) {
    lanes *l = ctx;
    if (lane < 0 || lane >= l->n_lanes || atomic_flag_test_and_set(&l->taken[lane])) {
        atomic_fetch_add(&l->n_clashes, 1);
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&l->seen[i], 1);
    }
    atomic_flag_clear(&l->taken[lane]);
}

static void check_lanes(hn_pool *pool, int64_t n, int64_t grain) {
    static lanes l;
    l.n_lanes = hn_pool_threads(pool);
    atomic_init(&l.n_clashes, 0);
    for (int i = 0; i < MAX_LANES; i++) {
        atomic_flag_clear(&l.taken[i]);
    }
    for (int64_t i = 0; i < MAX_N; i++) {
        atomic_init(&l.seen[i], 0);
    }
    hn_pool_for_lanes(pool, n, grain, cover_in_lane, &l);
    assert_int_equal(atomic_load(&l.n_clashes), 0);
    for (int64_t i = 0; i < MAX_N; i++) {
        assert_int_equal(atomic_load(&l.seen[i]), i < n ? 1 : 0);
    }
}

static void test_lanes_are_taken_once(void **state) {
    (void)state;
    for (size_t p = 0; p < HN_COUNT(pool_sizes); p++) {
        hn_pool *pool = hn_pool_new(pool_sizes[p], NULL);
        check_lanes(pool, 0, 1);
        check_lanes(pool, 2, 1);
        check_lanes(pool, 100, 7);
        check_lanes(pool, MAX_N, 1);
        hn_pool_free(pool);
    }
    check_lanes(NULL, 100, 7);
}

typedef struct grid {
    int64_t rows, cols;
    atomic_int seen[60 * 70];
} grid;

static void cover_tile(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1) {
    grid *g = ctx;
    for (int64_t row = row0; row < row1; row++) {
        for (int64_t col = col0; col < col1; col++) {
            atomic_fetch_add(&g->seen[row * g->cols + col], 1);
        }
    }
}

static void test_tiles(void **state) {
    (void)state;
    static grid g;
    static const int64_t grains[][2] = {{1, 1}, {7, 11}, {60, 1}, {1, 70}, {100, 100}, {0, -3}};
    hn_pool *pool = hn_pool_new(3, NULL);
    for (size_t i = 0; i < HN_COUNT(grains); i++) {
        g.rows = 60;
        g.cols = 70;
        for (size_t k = 0; k < HN_COUNT(g.seen); k++) {
            atomic_init(&g.seen[k], 0);
        }
        hn_pool_for_2d(pool, g.rows, g.cols, grains[i][0], grains[i][1], cover_tile, &g);
        for (size_t k = 0; k < HN_COUNT(g.seen); k++) {
            assert_int_equal(atomic_load(&g.seen[k]), 1);
        }
    }
    hn_pool_for_2d(pool, 0, 5, 1, 1, cover_tile, &g);
    hn_pool_for_2d(pool, 5, -1, 1, 1, cover_tile, &g);
    hn_pool_free(pool);
}

/* ---- results are visible to the caller, whatever the rhythm ---------------------------------- */

static void store_squares(void *ctx, int64_t begin, int64_t end) {
    int64_t *out = ctx; /* plain memory: the thread sanitizer watches it */
    for (int64_t i = begin; i < end; i++) {
        out[i] += i * i;
    }
}

static void test_many_short_loops(void **state) {
    (void)state;
    enum { LOOPS = 20000, N = 16 };
    for (size_t p = 0; p < HN_COUNT(pool_sizes); p++) {
        int n_loops =
            pool_sizes[p] > hn_cpu_count() ? LOOPS / 20 : LOOPS; /* crowded pools switch threads */
        int64_t out[N] = {0};
        hn_pool *pool = hn_pool_new(pool_sizes[p], NULL);
        for (int i = 0; i < n_loops; i++) {
            hn_pool_for(pool, N, 1, store_squares, out);
        }
        for (int64_t i = 0; i < N; i++) {
            assert_true(out[i] == n_loops * i * i);
        }
        hn_pool_free(pool);
    }
}

static void test_loops_after_sleep(void **state) {
    (void)state;
    int64_t out[64] = {0};
    hn_pool *pool = hn_pool_new(4, NULL);
    for (int i = 0; i < 50; i++) {
        hn_pool_for(pool, 64, 1, store_squares, out);
        sleep_ms(i % 3); /* 2 ms: workers sleep; 0: they may be on the way */
    }
    for (int64_t i = 0; i < 64; i++) {
        assert_true(out[i] == 50 * i * i);
    }
    hn_pool_free(pool);
}

static void wait_unevenly(void *ctx, int64_t begin, int64_t end) {
    sleep_ms(begin % 2 == 0 ? 3 : 0);
    store_squares(ctx, begin, end);
}

static void test_caller_sleeps_for_slow_workers(void **state) {
    (void)state;
    int64_t out[9] = {0};
    hn_pool *pool = hn_pool_new(3, NULL);
    for (int i = 0; i < 20; i++) {
        hn_pool_for(pool, 9, 1, wait_unevenly, out);
    }
    for (int64_t i = 0; i < 9; i++) {
        assert_true(out[i] == 20 * i * i);
    }
    hn_pool_free(pool);
}

/* Two pieces that wait for each other can only end when two threads run them. */
static void meet(void *ctx, int64_t begin, int64_t end) {
    atomic_int *n_present = ctx;
    (void)begin, (void)end;
    atomic_fetch_add(n_present, 1);
    while (atomic_load(n_present) < 2) {
        sleep_ms(1);
    }
}

static void test_workers_take_part(void **state) {
    (void)state;
    hn_pool *pool = hn_pool_new(2, NULL);
    for (int i = 0; i < 20; i++) {
        atomic_int n_present = 0;
        sleep_ms(i % 2);
        hn_pool_for(pool, 2, 1, meet, &n_present);
        assert_int_equal(atomic_load(&n_present), 2);
    }
    hn_pool_free(pool);
}

/* ---- loops inside loops, and from several callers -------------------------------------------- */

typedef struct nest {
    hn_pool *pool;
    int64_t out[8][16];
} nest;

static void run_inner(void *ctx, int64_t begin, int64_t end) {
    nest *n = ctx;
    for (int64_t i = begin; i < end; i++) {
        hn_pool_for(n->pool, 16, 4, store_squares, n->out[i]);
    }
}

static void test_nested_loops(void **state) {
    (void)state;
    nest n = {.pool = hn_pool_new(4, NULL)};
    for (int i = 0; i < 100; i++) {
        hn_pool_for(n.pool, 8, 1, run_inner, &n);
    }
    for (int64_t i = 0; i < 8; i++) {
        for (int64_t k = 0; k < 16; k++) {
            assert_true(n.out[i][k] == 100 * k * k);
        }
    }
    hn_pool_free(n.pool);
}

typedef struct caller {
    hn_pool *pool;
    int64_t out[32];
} caller;

static void *call_many_times(void *arg) {
    caller *c = arg;
    for (int i = 0; i < 500; i++) {
        hn_pool_for(c->pool, 32, 1, store_squares, c->out);
    }
    return NULL;
}

static void test_several_callers(void **state) {
    (void)state;
    hn_pool *pool = hn_pool_new(2, NULL);
    caller callers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        callers[i] = (caller){.pool = pool};
        assert_int_equal(pthread_create(&threads[i], NULL, call_many_times, &callers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        for (int64_t k = 0; k < 32; k++) {
            assert_true(callers[i].out[k] == 500 * k * k);
        }
    }
    hn_pool_free(pool);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void test_new_and_free_at_once(void **state) {
    (void)state;
    for (int i = 0; i < 100; i++) {
        hn_pool_free(hn_pool_new(1 + i % 4, NULL));
    }
    hn_pool *pool = hn_pool_new(0, NULL);
    assert_int_equal(hn_pool_threads(pool), hn_cpu_count());
    hn_pool_free(pool);
}

typedef struct ledger {
    size_t held_bytes;
    bool refuses;
} ledger;

static void *ledger_resize(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes) {
    ledger *l = ctx;
    if (new_bytes == 0) {
        l->held_bytes -= old_bytes;
        free(ptr);
        return NULL;
    }
    if (l->refuses) {
        return NULL;
    }
    l->held_bytes += new_bytes - old_bytes;
    return realloc(ptr, new_bytes);
}

static void test_memory_comes_from_the_allocator(void **state) {
    (void)state;
    ledger l = {0, false};
    const hone_allocator a = {ledger_resize, &l};
    hn_pool *pool = hn_pool_new(3, &a);
    assert_true(l.held_bytes > 0);
    check_coverage(pool, 100, 3);
    hn_pool_free(pool);
    assert_true(l.held_bytes == 0);
    l.refuses = true;
    assert_null(hn_pool_new(3, &a));
}

#if defined(__linux__)
static size_t address_space_bytes(void) {
    long n_pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &n_pages), 1);
    fclose(file);
    return (size_t)n_pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* With 512 KiB of address space left there is memory for the pool, but not for the stack of a
 * worker. This test runs first: the C library keeps the stacks of ended threads for new ones. */
static void test_system_refuses_threads(void **state) {
    (void)state;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    small = (struct rlimit){address_space_bytes() + (512 << 10), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    hn_pool *pool = hn_pool_new(4, NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_non_null(pool);
    assert_int_equal(hn_pool_threads(pool), 1);
    check_coverage(pool, 100, 3);
    hn_pool_free(pool);
}
#endif

/* ---- handles --------------------------------------------------------------------------------- */

typedef struct halving {
    pthread_t caller;
    atomic_int n_kept, n_flushed;
} halving;

static void halve_the_least(void *ctx, int64_t begin, int64_t end) {
    halving *h = ctx;
    volatile float least = 0x1p-126f;
    if (pthread_equal(h->caller, pthread_self())) {
        sleep_ms(1); /* let others have their share */
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(least * 0.5f == 0 ? &h->n_flushed : &h->n_kept, 1);
    }
}

static void test_handles_decide_about_denormals(void **state) {
    (void)state;
    hn_pool *pool = hn_pool_new(3, NULL);
    hn_pool *flushing = hn_pool_share(pool, &(hn_pool_run){.flush_denormals = true});
    assert_int_equal(hn_pool_threads(flushing), hn_pool_threads(pool));
    for (int round = 0; round < 3; round++) {
        halving kept = {.caller = pthread_self()}, flushed = {.caller = pthread_self()};
        hn_pool_for(pool, 100, 1, halve_the_least, &kept);
        hn_pool_for(flushing, 100, 1, halve_the_least, &flushed);
        assert_int_equal(kept.n_flushed, 0);
#if defined(__x86_64__) || defined(__aarch64__)
        assert_int_equal(flushed.n_kept, 0);
#endif
    }
    hn_pool_free(flushing);
    hn_pool_free(pool);
}

static bool read_flag(void *ctx) {
    return *(const bool *)ctx;
}

static void test_handles_can_be_stopped(void **state) {
    (void)state;
    bool stop = false;
    hn_pool *pool = hn_pool_new(1, NULL);
    hn_pool *handle = hn_pool_share(pool, &(hn_pool_run){.is_stopped = read_flag, .ctx = &stop});
    assert_false(hn_pool_is_stopped(NULL));
    assert_false(hn_pool_is_stopped(handle));
    stop = true;
    assert_true(hn_pool_is_stopped(handle));
    assert_false(hn_pool_is_stopped(pool));
    hn_pool_free(handle);
    hn_pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#if defined(__linux__)
        cmocka_unit_test(test_system_refuses_threads),
#endif
        cmocka_unit_test(test_handles_decide_about_denormals),
        cmocka_unit_test(test_handles_can_be_stopped),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_lanes_are_taken_once),
        cmocka_unit_test(test_many_short_loops),
        cmocka_unit_test(test_loops_after_sleep),
        cmocka_unit_test(test_caller_sleeps_for_slow_workers),
        cmocka_unit_test(test_workers_take_part),
        cmocka_unit_test(test_nested_loops),
        cmocka_unit_test(test_several_callers),
        cmocka_unit_test(test_new_and_free_at_once),
        cmocka_unit_test(test_memory_comes_from_the_allocator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
