/* Fork/join thread pool with static partitions and work stealing.
 *
 * A parallel loop is an array of tiles. Each thread first claims the tiles of its own partition,
 * which is the same in every loop of the same size, so that what one loop wrote is still in that
 * processor's cache when the next loop reads it; then it steals from the partitions of the others.
 * The caller works too, then closes the gate and waits only for the workers inside: a worker that
 * is still asleep, or was not scheduled, delays nobody.
 *
 * All synchronization goes through one atomic word, the gate:
 *
 *   epoch (24 bits) | flags | workers asleep (16 bits) | workers inside (16 bits)
 *
 * The caller describes the job, then opens the gate under the next epoch. A worker that sees a new
 * epoch adds itself to the count of workers inside and may read the job only if the gate was open
 * at that moment. Since every transition is one atomic operation on one word, each side learns from
 * the returned value whether another thread must be woken.
 *
 * Measured with two threads, both awake: a loop of two equal tiles takes 0.4 us more than one of
 * them alone. */
#define _GNU_SOURCE /* clock_gettime, pthread_sigmask, sched_getcpu */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
    MAX_POOL_THREADS = 1024,
    SPIN_NS = 1000 * 1000, /* covers the serial parts of a run; waking a thread costs 50 us */
    SPINS_PER_CLOCK_READ = 32,
    CACHE_LINE = 64,
    /* Kernels need less than the 512 KiB that hone.h asks of callers; user-defined operators may
     * need more. Stated, because defaults range from 128 KiB (musl) to 8 MiB (glibc). */
    WORKER_STACK_BYTES = 1 << 20
};

#define GATE_ONE_INSIDE UINT64_C(1)
#define GATE_INSIDE UINT64_C(0xFFFF)
#define GATE_ONE_ASLEEP (UINT64_C(1) << 16)
#define GATE_ASLEEP (UINT64_C(0xFFFF) << 16)
#define GATE_OPEN (UINT64_C(1) << 32)
#define GATE_CALLER_ASLEEP (UINT64_C(1) << 33)
#define GATE_STOP (UINT64_C(1) << 34)
#define GATE_ONE_EPOCH (UINT64_C(1) << 40)
#define GATE_EPOCH (~(GATE_ONE_EPOCH - 1))

/* The function called for each tile: exactly one of the three is set. */
typedef struct pool_call {
    hn_tile_fn tile_fn;
    hn_range_fn range_fn;
    hn_lane_fn lane_fn;
    void *ctx;
    bool must_run_all; /* in a stopped run, too */
} pool_call;

/* A grid of rows and columns, partitioned into tiles that are numbered row by row. Everything that
 * workers need is in this struct: each further pointer would cost one more cache miss on data that
 * the caller's processor wrote. */
typedef struct pool_job {
    int64_t rows, cols;
    int64_t row_grain, col_grain;
    int64_t n_col_tiles;
    uint64_t n_tiles;
    pool_call call;
    bool flush_denormals;
    const hn_pool_run *stop; /* who knows whether tiles are left out; NULL: none is */
    uint64_t *thread_ns;     /* of hn_pool_run */
} pool_job;

/* One thread of a loop, and the tiles [next, end) of its partition that are not claimed yet. */
typedef struct pool_lane {
    _Atomic uint64_t next;
    uint64_t end; /* written when the job is */
    struct pool_threads *threads;
    int number;
    pthread_t thread; /* unused in lane 0, which is the caller's */
    char pad[CACHE_LINE];
} pool_lane;

/* The threads; several handles can share them. */
typedef struct pool_threads {
    _Atomic uint64_t gate;
    char gate_pad[CACHE_LINE];
    pool_job job;     /* written only while the gate is closed and no worker is inside */
    int caller_cpu;   /* processor that started the loop, -1: unknown; written when the job is */
    atomic_flag busy; /* a loop is running: concurrent callers run theirs without workers */
    const hone_allocator *alloc;
    int64_t spin_ns;
    int n_workers;
    int n_lanes;       /* started workers and the caller */
    bool lost_workers; /* in a process that was forked: started again by the next loop */
    hn_fork_hook fork_hook;
    int n_slots; /* allocated entries of `lanes` */
    pthread_mutex_t mutex;
    pthread_cond_t job_opened;
    pthread_cond_t workers_left;
    pool_lane lanes[];
} pool_threads;

struct hn_pool {
    pool_threads *threads;
    bool is_owner; /* freeing this handle joins the threads */
    hn_pool_run run;
};

/* ---- waiting ---- */

typedef struct spinner {
    int64_t budget_ns;
    int64_t started_ns;
    unsigned n_spins;
} spinner;

static int64_t monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A pause instruction costs 10 to 150 cycles, so the budget is measured in time. */
static bool may_spin_on(spinner *s) {
    if (s->budget_ns == 0) {
        return false;
    }
    hn_relax_processor();
    if (++s->n_spins % SPINS_PER_CLOCK_READ != 0) {
        return true;
    }
    int64_t now_ns = monotonic_ns();
    if (s->started_ns == 0) {
        s->started_ns = now_ns;
    }
    return now_ns - s->started_ns < s->budget_ns;
}

static inline uint64_t look_at_gate(const pool_threads *threads) {
    return atomic_load_explicit(&threads->gate, memory_order_acquire);
}

/* After this, a thread that read the gate before it changed waits on its condition variable and
 * receives the next signal; a thread that reads the gate later sees the change. The signal is sent
 * without holding the mutex, so that the woken thread does not block on it. */
static void synchronize_waiters(pool_threads *threads) {
    pthread_mutex_lock(&threads->mutex);
    pthread_mutex_unlock(&threads->mutex);
}

/* ---- processors ---- */

#if defined(__linux__)
static int current_cpu(void) {
    return sched_getcpu();
}

/* The scheduler often puts a woken thread on the processor of the thread that woke it, and on a
 * busy machine takes many milliseconds to migrate one of them. This forces a migration: the
 * processor is excluded from the affinity mask until the thread runs elsewhere, then allowed again.
 */
static void leave_cpu(int cpu) {
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    others = allowed;
    CPU_CLR((size_t)cpu, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0) {
        sched_setaffinity(0, sizeof allowed, &allowed);
    }
}
#else
static int current_cpu(void) {
    return -1;
}

static void leave_cpu(int cpu) {
    (void)cpu;
}
#endif

/* ---- work ---- */

static bool is_run_stopped(const hn_pool_run *run) {
    return run && run->is_stopped && run->is_stopped(run->ctx);
}

static void run_job_tile(const pool_job *job, int lane, uint64_t tile) {
    if (is_run_stopped(job->stop)) {
        return;
    }
    int64_t row = (int64_t)tile / job->n_col_tiles * job->row_grain;
    int64_t col = (int64_t)tile % job->n_col_tiles * job->col_grain;
    int64_t n_rows = HN_MIN(job->row_grain, job->rows - row);
    int64_t n_cols = HN_MIN(job->col_grain, job->cols - col);
    const pool_call *call = &job->call;
    if (call->tile_fn) {
        call->tile_fn(call->ctx, row, row + n_rows, col, col + n_cols);
    } else if (call->range_fn) {
        call->range_fn(call->ctx, row, row + n_rows);
    } else {
        call->lane_fn(call->ctx, lane, row, row + n_rows);
    }
}

static void partition_tiles(pool_threads *threads) {
    uint64_t n_partitions = HN_MIN((uint64_t)threads->n_lanes, threads->job.n_tiles);
    uint64_t size = threads->job.n_tiles / n_partitions,
             n_larger = threads->job.n_tiles % n_partitions, at = 0;
    for (int i = 0; i < threads->n_lanes; i++) {
        atomic_store_explicit(&threads->lanes[i].next, at, memory_order_relaxed);
        at += (uint64_t)i < n_partitions ? size + ((uint64_t)i < n_larger) : 0;
        threads->lanes[i].end = at;
    }
}

/* Runs the tiles of the own partition, then steals from the others. */
static void claim_tiles(pool_threads *threads, int number) {
    for (int i = 0; i < threads->n_lanes; i++) {
        pool_lane *lane = &threads->lanes[(number + i) % threads->n_lanes];
        for (;;) { /* a load before the exchange avoids taking the owner's cache line in vain */
            if (i > 0 && atomic_load_explicit(&lane->next, memory_order_relaxed) >= lane->end) {
                break;
            }
            uint64_t tile = atomic_fetch_add_explicit(&lane->next, 1, memory_order_relaxed);
            if (tile >= lane->end) {
                break;
            }
            run_job_tile(&threads->job, number, tile);
        }
    }
}

/* ---- workers ---- */

/* Returns the gate once its epoch is not `seen_epoch`, or the pool stops. */
static uint64_t await_epoch(pool_threads *threads, uint64_t seen_epoch) {
    const uint64_t watched = GATE_EPOCH | GATE_STOP;
    spinner spin = {.budget_ns = threads->spin_ns};
    uint64_t gate;
    do {
        gate = look_at_gate(threads);
        if ((gate & watched) != seen_epoch) {
            return gate;
        }
    } while (may_spin_on(&spin));

    atomic_fetch_add_explicit(&threads->gate, GATE_ONE_ASLEEP, memory_order_relaxed);
    pthread_mutex_lock(&threads->mutex);
    while ((look_at_gate(threads) & watched) == seen_epoch) {
        pthread_cond_wait(&threads->job_opened, &threads->mutex);
    }
    pthread_mutex_unlock(&threads->mutex);
    return atomic_fetch_sub_explicit(&threads->gate, GATE_ONE_ASLEEP, memory_order_acquire);
}

static void leave_gate(pool_threads *threads) {
    uint64_t before =
        atomic_fetch_sub_explicit(&threads->gate, GATE_ONE_INSIDE, memory_order_release);
    if ((before & GATE_INSIDE) == GATE_ONE_INSIDE && (before & GATE_CALLER_ASLEEP)) {
        synchronize_waiters(threads);
        pthread_cond_signal(&threads->workers_left);
    }
}

/* Starts transfers of cache lines that another processor wrote, before the wait for the gate. */
static void prefetch_lines(const void *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i += CACHE_LINE) {
        __builtin_prefetch((const char *)at + i);
    }
}

static void *worker_main(void *arg) {
    const pool_lane *lane = arg;
    pool_threads *threads = lane->threads;
    uint64_t seen_epoch = 0;
    bool is_flushing = false;
    hn_flush_denormals(false);
    for (;;) {
        uint64_t gate = await_epoch(threads, seen_epoch);
        if (gate & GATE_STOP) {
            return NULL;
        }
        if (gate & GATE_OPEN) {
            prefetch_lines(&threads->job, sizeof threads->job);
            __builtin_prefetch((const void *)&lane->next, 1);
            gate = atomic_fetch_add_explicit(&threads->gate, GATE_ONE_INSIDE, memory_order_acquire);
            if (gate & GATE_OPEN) {
                if (threads->job.flush_denormals != is_flushing) {
                    is_flushing = !is_flushing;
                    hn_flush_denormals(is_flushing);
                }
                if (threads->caller_cpu >= 0 && threads->caller_cpu == current_cpu()) {
                    leave_cpu(threads->caller_cpu);
                }
                const hn_pool_run *stop = threads->job.stop;
                hn_watch before =
                    hn_watch_begin(stop ? stop->is_stopped : NULL, stop ? stop->ctx : NULL);
                uint64_t *spent_ns = threads->job.thread_ns;
                uint64_t start_ns = spent_ns ? hn_now_ns() : 0;
                claim_tiles(threads, lane->number);
                if (spent_ns) {
                    spent_ns[lane->number] += hn_now_ns() - start_ns;
                }
                hn_watch_end(before);
            }
            leave_gate(threads);
        }
        seen_epoch = gate & GATE_EPOCH;
    }
}

/* ---- the caller ---- */

static void wake_sleepers(pool_threads *threads, uint64_t n_useful) {
    synchronize_waiters(threads);
    for (uint64_t i = 0; i < n_useful; i++) {
        pthread_cond_signal(&threads->job_opened);
    }
}

static void open_gate(pool_threads *threads) {
    partition_tiles(threads);
    uint64_t before =
        atomic_fetch_add_explicit(&threads->gate, GATE_ONE_EPOCH + GATE_OPEN, memory_order_release);
    uint64_t n_asleep = (before & GATE_ASLEEP) / GATE_ONE_ASLEEP;
    uint64_t n_useful = HN_MIN(n_asleep, threads->job.n_tiles - 1);
    if (n_useful > 0) {
        wake_sleepers(threads, n_useful);
    }
}

static void close_gate(pool_threads *threads) {
    spinner spin = {.budget_ns = threads->spin_ns};
    uint64_t gate = atomic_fetch_and_explicit(&threads->gate, ~GATE_OPEN, memory_order_acquire);
    while (gate & GATE_INSIDE) {
        if (!may_spin_on(&spin)) {
            break;
        }
        gate = look_at_gate(threads);
    }
    if (!(gate & GATE_INSIDE)) {
        return;
    }
    atomic_fetch_or_explicit(&threads->gate, GATE_CALLER_ASLEEP, memory_order_relaxed);
    pthread_mutex_lock(&threads->mutex);
    while (look_at_gate(threads) & GATE_INSIDE) {
        pthread_cond_wait(&threads->workers_left, &threads->mutex);
    }
    pthread_mutex_unlock(&threads->mutex);
    atomic_fetch_and_explicit(&threads->gate, ~GATE_CALLER_ASLEEP, memory_order_relaxed);
}

static void run_alone(const pool_job *job) {
    for (uint64_t tile = 0; tile < job->n_tiles; tile++) {
        run_job_tile(job, 0, tile);
    }
}

static void start_workers(pool_threads *threads);

/* Called by the one who runs a loop. */
static void regain_workers(pool_threads *threads) {
    if (threads->lost_workers) {
        threads->lost_workers = false;
        start_workers(threads);
    }
}

static int64_t tile_count(int64_t n, int64_t grain) {
    return n / grain + (n % grain != 0);
}

static void run_loop(hn_pool *pool, int64_t rows, int64_t cols, int64_t row_grain,
                     int64_t col_grain, pool_call call) {
    if (rows <= 0 || cols <= 0) {
        return;
    }
    row_grain = HN_MAX(row_grain, 1);
    col_grain = HN_MAX(col_grain, 1);
    pool_job job = {.rows = rows,
                    .cols = cols,
                    .row_grain = row_grain,
                    .col_grain = col_grain,
                    .n_col_tiles = tile_count(cols, col_grain),
                    .call = call,
                    .flush_denormals = pool && pool->run.flush_denormals,
                    .stop = pool && !call.must_run_all ? &pool->run : NULL,
                    .thread_ns = pool ? pool->run.thread_ns : NULL};
    job.n_tiles = (uint64_t)tile_count(rows, row_grain) * (uint64_t)job.n_col_tiles;
    pool_threads *threads = pool ? pool->threads : NULL;
    bool can_share = threads && threads->n_workers > 0 && job.n_tiles > 1;
    if (!can_share || atomic_flag_test_and_set_explicit(&threads->busy, memory_order_acquire)) {
        run_alone(&job);
        return;
    }
    regain_workers(threads);
    threads->job = job;
    threads->caller_cpu =
        threads->spin_ns ? current_cpu() : -1; /* else there is no free processor */
    open_gate(threads);
    claim_tiles(threads, 0);
    uint64_t wait_ns = job.thread_ns ? hn_now_ns() : 0;
    close_gate(threads);
    if (job.thread_ns) {
        job.thread_ns[0] += hn_now_ns() - wait_ns;
    }
    atomic_flag_clear_explicit(&threads->busy, memory_order_release);
}

void hn_pool_for_2d(hn_pool *pool, int64_t rows, int64_t cols, int64_t row_grain, int64_t col_grain,
                    hn_tile_fn fn, void *ctx) {
    if (rows > 0 && cols > 0 && rows <= row_grain && cols <= col_grain)
        fn(ctx, 0, rows, 0, cols); /* most loops of small models */
    else
        run_loop(pool, rows, cols, row_grain, col_grain, (pool_call){.tile_fn = fn, .ctx = ctx});
}

void hn_pool_for(hn_pool *pool, int64_t n, int64_t grain, hn_range_fn fn, void *ctx) {
    if (n > 0 && n <= grain)
        fn(ctx, 0, n);
    else
        run_loop(pool, n, 1, grain, 1, (pool_call){.range_fn = fn, .ctx = ctx});
}

void hn_pool_for_all(hn_pool *pool, int64_t n, int64_t grain, hn_range_fn fn, void *ctx) {
    run_loop(pool, n, 1, grain, 1, (pool_call){.range_fn = fn, .ctx = ctx, .must_run_all = true});
}

void hn_pool_for_lanes(hn_pool *pool, int64_t n, int64_t grain, hn_lane_fn fn, void *ctx) {
    run_loop(pool, n, 1, grain, 1, (pool_call){.lane_fn = fn, .ctx = ctx});
}

void hn_pool_time_threads(hn_pool *shared, uint64_t *thread_ns) {
    shared->run.thread_ns = thread_ns;
}

bool hn_pool_is_stopped(const hn_pool *pool) {
    return pool && is_run_stopped(&pool->run);
}

/* ---- creation and destruction ---- */

static size_t pool_threads_bytes(int n_slots) {
    return sizeof(pool_threads) + (size_t)n_slots * sizeof(pool_lane);
}

static size_t worker_stack_bytes(void) {
#ifdef PTHREAD_STACK_MIN /* newer versions of glibc compute it */
    return HN_MAX((size_t)WORKER_STACK_BYTES, (size_t)PTHREAD_STACK_MIN);
#else
    return WORKER_STACK_BYTES;
#endif
}

/* Workers block all signals: handlers run on the threads of the program. */
static void start_workers(pool_threads *threads) {
    pthread_attr_t attr;
    sigset_t all, before;
    threads->n_lanes = 1;
    if (pthread_attr_init(&attr) != 0) {
        return;
    }
    pthread_attr_setstacksize(&attr, worker_stack_bytes());
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < threads->n_slots; i++) {
        pool_lane *lane = &threads->lanes[i];
        lane->threads = threads;
        lane->number = i;
        if (i > 0 && pthread_create(&lane->thread, &attr, worker_main, lane) != 0) {
            break;
        }
        threads->n_lanes = i + 1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
}

static void open_locks(pool_threads *threads) {
    atomic_init(&threads->gate, 0);
    atomic_flag_clear(&threads->busy);
    pthread_mutex_init(&threads->mutex, NULL);
    pthread_cond_init(&threads->job_opened, NULL);
    pthread_cond_init(&threads->workers_left, NULL);
}

/* In the child of a fork: whatever another thread was doing with them ended there. */
static void forget_workers(hn_fork_hook *hook) {
    pool_threads *threads = (void *)((char *)hook - offsetof(pool_threads, fork_hook));
    open_locks(threads);
    threads->lost_workers = true;
}

static pool_threads *create_threads(int n_threads, const hone_allocator *a) {
    int n_cpus = hn_cpu_count();
    n_threads =
        n_threads > 0 ? HN_MIN(n_threads, MAX_POOL_THREADS) : HN_MIN(n_cpus, MAX_POOL_THREADS);
    pool_threads *threads = hn_calloc(a, 1, pool_threads_bytes(n_threads));
    if (!threads) {
        return NULL;
    }
    threads->alloc = a;
    threads->n_slots = n_threads;
    /* With more threads than processors, spinning delays the thread that is waited for. */
    threads->spin_ns = n_threads <= n_cpus ? SPIN_NS : 0;
    open_locks(threads);
    start_workers(threads);
    threads->n_workers = threads->n_lanes - 1;
    threads->fork_hook.in_child = forget_workers;
    hn_fork_list(&threads->fork_hook, HN_FORK_POOL);
    return threads;
}

static void join_threads(pool_threads *threads) {
    hn_fork_unlist(&threads->fork_hook);
    if (threads->lost_workers) {
        threads->n_lanes = 1;
    }
    atomic_fetch_or_explicit(&threads->gate, GATE_STOP, memory_order_release);
    synchronize_waiters(threads);
    pthread_cond_broadcast(&threads->job_opened);
    for (int i = 1; i < threads->n_lanes; i++) {
        pthread_join(threads->lanes[i].thread, NULL);
    }
    pthread_cond_destroy(&threads->workers_left);
    pthread_cond_destroy(&threads->job_opened);
    pthread_mutex_destroy(&threads->mutex);
    hn_free(threads->alloc, threads, pool_threads_bytes(threads->n_slots));
}

static hn_pool *handle_on(pool_threads *threads, bool is_owner, const hn_pool_run *run) {
    hn_pool *pool = hn_alloc(threads->alloc, sizeof *pool);
    if (pool) {
        *pool = (hn_pool){.threads = threads, .is_owner = is_owner, .run = *run};
    }
    return pool;
}

hn_pool *hn_pool_new(int n_threads, const hone_allocator *a) {
    pool_threads *threads = create_threads(n_threads, a);
    hn_pool *pool = threads ? handle_on(threads, true, &(hn_pool_run){0}) : NULL;
    if (threads && !pool) {
        join_threads(threads);
    }
    return pool;
}

hn_pool *hn_pool_share(const hn_pool *pool, const hn_pool_run *run) {
    return handle_on(pool->threads, false, run);
}

void hn_pool_free(hn_pool *pool) {
    if (!pool) {
        return;
    }
    const hone_allocator *a = pool->threads->alloc;
    if (pool->is_owner) {
        join_threads(pool->threads);
    }
    hn_free(a, pool, sizeof *pool);
}

/* After a fork fewer may be there: it says how many lanes a loop may use at most. */
int hn_pool_threads(const hn_pool *pool) {
    return pool ? pool->threads->n_workers + 1 : 1;
}
