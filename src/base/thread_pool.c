/* A parallel loop is a list of pieces that threads claim one by one: each thread first those of its
 * own share, which are the same from loop to loop, so that what one loop wrote is near when the
 * next one reads it; then what is left of the others'. The caller works along, then closes the gate
 * and waits only for the workers inside: one that is still asleep, or was not scheduled, delays
 * nobody.
 *
 * All synchronization goes through one atomic word, the gate:
 *
 *   epoch (24 bits) | flags | workers asleep (16 bits) | workers inside (16 bits)
 *
 * The caller describes the job, then opens the gate under the next epoch. A worker that sees a new
 * epoch adds itself to the count inside and may read the job only if the gate was open in that very
 * moment. Since every transition is one atomic operation on one word, each side learns from the
 * returned value whether somebody must be woken.
 *
 * Measured with two threads, both awake: a loop of two equal pieces takes 0.4 us more than one of
 * them. */
#define _GNU_SOURCE /* clock_gettime, pthread_sigmask, sched_getcpu */
#include "base/base.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
    MAX_POOL_THREADS = 1024,
    SPIN_NS = 1000 * 1000, /* as long as the serial parts of a run may take: waking costs 50 us */
    SPINS_PER_CLOCK_READ = 32,
    CACHE_LINE = 64
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

/* What is called for a piece: one of three, with ctx. */
typedef struct pool_call {
    hn_tile_fn tile_fn;
    hn_range_fn range_fn;
    hn_lane_fn lane_fn;
    void *ctx;
} pool_call;

/* Rows and columns cut into tiles; a piece is one tile, numbered row by row. All that workers need
 * lies here: whatever else they had to follow would be one more wait for the caller's processor. */
typedef struct pool_job {
    int64_t rows, cols;
    int64_t row_grain, col_grain;
    int64_t n_col_tiles;
    uint64_t n_pieces;
    pool_call call;
    bool flush_denormals;
} pool_job;

/* One thread of a loop, and its share of the pieces: those from `next` on before `end`. */
typedef struct pool_lane {
    _Atomic uint64_t next;
    uint64_t end; /* as the job */
    struct pool_crew *crew;
    int number;
    pthread_t thread; /* not of lane 0, which is the caller's */
    char pad[CACHE_LINE];
} pool_lane;

/* The threads, which several handles may use. */
typedef struct pool_crew {
    _Atomic uint64_t gate;
    char gate_pad[CACHE_LINE];
    pool_job job;     /* written while the gate is closed and nobody is inside */
    int caller_cpu;   /* where the loop was begun; -1: not known. As the job */
    atomic_flag busy; /* a loop is running: others run theirs alone */
    const hone_allocator *alloc;
    int64_t spin_ns;
    int n_workers;
    int n_lanes; /* workers that could be had, and the caller */
    int n_slots; /* of `lanes`, for giving the memory back */
    pthread_mutex_t mutex;
    pthread_cond_t job_opened;
    pthread_cond_t workers_left;
    pool_lane lanes[];
} pool_crew;

struct hn_pool {
    pool_crew *crew;
    bool is_owner; /* ends the threads, too */
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

/* A pause costs from 10 to 150 cycles, so the budget is kept in time. */
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

static inline uint64_t look_at_gate(const pool_crew *crew) {
    return atomic_load_explicit(&crew->gate, memory_order_acquire);
}

/* Whoever looked at the gate before it changed is asleep after this, and will hear a signal;
 * whoever looks later sees the change. The signal itself is sent without the mutex, so that the
 * woken thread need not wait for it at once. */
static void let_waiters_settle(pool_crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    pthread_mutex_unlock(&crew->mutex);
}

/* ---- processors ---- */

#if defined(__linux__)
static int current_cpu(void) {
    return sched_getcpu();
}

/* A woken thread often gets the processor of the one that woke it, and on a busy machine the system
 * takes many milliseconds to part them. It may go where it wants later: only this processor is
 * forbidden, and only until it has left. */
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

static void run_piece(const pool_job *job, int lane, uint64_t piece) {
    int64_t row = (int64_t)piece / job->n_col_tiles * job->row_grain;
    int64_t col = (int64_t)piece % job->n_col_tiles * job->col_grain;
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

static void share_pieces(pool_crew *crew) {
    uint64_t n_shares = HN_MIN((uint64_t)crew->n_lanes, crew->job.n_pieces);
    uint64_t size = crew->job.n_pieces / n_shares, n_larger = crew->job.n_pieces % n_shares, at = 0;
    for (int i = 0; i < crew->n_lanes; i++) {
        atomic_store_explicit(&crew->lanes[i].next, at, memory_order_relaxed);
        at += (uint64_t)i < n_shares ? size + ((uint64_t)i < n_larger) : 0;
        crew->lanes[i].end = at;
    }
}

/* Its own share, then the others'. */
static void claim_pieces(pool_crew *crew, int number) {
    for (int i = 0; i < crew->n_lanes; i++) {
        pool_lane *lane = &crew->lanes[(number + i) % crew->n_lanes];
        for (;;) { /* looking first spares the others' lines, but costs a transfer of its own */
            if (i > 0 && atomic_load_explicit(&lane->next, memory_order_relaxed) >= lane->end) {
                break;
            }
            uint64_t piece = atomic_fetch_add_explicit(&lane->next, 1, memory_order_relaxed);
            if (piece >= lane->end) {
                break;
            }
            run_piece(&crew->job, number, piece);
        }
    }
}

/* ---- workers ---- */

/* Returns the gate once its epoch is not `seen_epoch`, or the pool stops. */
static uint64_t await_epoch(pool_crew *crew, uint64_t seen_epoch) {
    const uint64_t watched = GATE_EPOCH | GATE_STOP;
    spinner spin = {.budget_ns = crew->spin_ns};
    uint64_t gate;
    do {
        gate = look_at_gate(crew);
        if ((gate & watched) != seen_epoch) {
            return gate;
        }
    } while (may_spin_on(&spin));

    atomic_fetch_add_explicit(&crew->gate, GATE_ONE_ASLEEP, memory_order_relaxed);
    pthread_mutex_lock(&crew->mutex);
    while ((look_at_gate(crew) & watched) == seen_epoch) {
        pthread_cond_wait(&crew->job_opened, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
    return atomic_fetch_sub_explicit(&crew->gate, GATE_ONE_ASLEEP, memory_order_acquire);
}

static void leave_gate(pool_crew *crew) {
    uint64_t before = atomic_fetch_sub_explicit(&crew->gate, GATE_ONE_INSIDE, memory_order_release);
    if ((before & GATE_INSIDE) == GATE_ONE_INSIDE && (before & GATE_CALLER_ASLEEP)) {
        let_waiters_settle(crew);
        pthread_cond_signal(&crew->workers_left);
    }
}

/* Lines that another processor has written come while this one waits for the gate. */
static void bring_near(const void *at, size_t bytes) {
    for (size_t i = 0; i < bytes; i += CACHE_LINE) {
        __builtin_prefetch((const char *)at + i);
    }
}

static void *worker_main(void *arg) {
    const pool_lane *lane = arg;
    pool_crew *crew = lane->crew;
    uint64_t seen_epoch = 0;
    bool is_flushing = false;
    hn_flush_denormals(false);
    for (;;) {
        uint64_t gate = await_epoch(crew, seen_epoch);
        if (gate & GATE_STOP) {
            return NULL;
        }
        if (gate & GATE_OPEN) {
            bring_near(&crew->job, sizeof crew->job);
            __builtin_prefetch((const void *)&lane->next, 1);
            gate = atomic_fetch_add_explicit(&crew->gate, GATE_ONE_INSIDE, memory_order_acquire);
            if (gate & GATE_OPEN) {
                if (crew->job.flush_denormals != is_flushing) {
                    is_flushing = !is_flushing;
                    hn_flush_denormals(is_flushing);
                }
                if (crew->caller_cpu >= 0 && crew->caller_cpu == current_cpu()) {
                    leave_cpu(crew->caller_cpu);
                }
                claim_pieces(crew, lane->number);
            }
            leave_gate(crew);
        }
        seen_epoch = gate & GATE_EPOCH;
    }
}

/* ---- the caller ---- */

static void wake_sleepers(pool_crew *crew, uint64_t n_useful) {
    let_waiters_settle(crew);
    for (uint64_t i = 0; i < n_useful; i++) {
        pthread_cond_signal(&crew->job_opened);
    }
}

static void open_gate(pool_crew *crew) {
    share_pieces(crew);
    uint64_t before =
        atomic_fetch_add_explicit(&crew->gate, GATE_ONE_EPOCH + GATE_OPEN, memory_order_release);
    uint64_t n_asleep = (before & GATE_ASLEEP) / GATE_ONE_ASLEEP;
    uint64_t n_useful = HN_MIN(n_asleep, crew->job.n_pieces - 1);
    if (n_useful > 0) {
        wake_sleepers(crew, n_useful);
    }
}

static void close_gate(pool_crew *crew) {
    spinner spin = {.budget_ns = crew->spin_ns};
    uint64_t gate = atomic_fetch_and_explicit(&crew->gate, ~GATE_OPEN, memory_order_acquire);
    while (gate & GATE_INSIDE) {
        if (!may_spin_on(&spin)) {
            break;
        }
        gate = look_at_gate(crew);
    }
    if (!(gate & GATE_INSIDE)) {
        return;
    }
    atomic_fetch_or_explicit(&crew->gate, GATE_CALLER_ASLEEP, memory_order_relaxed);
    pthread_mutex_lock(&crew->mutex);
    while (look_at_gate(crew) & GATE_INSIDE) {
        pthread_cond_wait(&crew->workers_left, &crew->mutex);
    }
    pthread_mutex_unlock(&crew->mutex);
    atomic_fetch_and_explicit(&crew->gate, ~GATE_CALLER_ASLEEP, memory_order_relaxed);
}

static void run_alone(const pool_job *job) {
    for (uint64_t piece = 0; piece < job->n_pieces; piece++) {
        run_piece(job, 0, piece);
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
                    .flush_denormals = pool && pool->run.flush_denormals};
    job.n_pieces = (uint64_t)tile_count(rows, row_grain) * (uint64_t)job.n_col_tiles;
    pool_crew *crew = pool ? pool->crew : NULL;
    bool can_share = crew && crew->n_workers > 0 && job.n_pieces > 1;
    if (!can_share || atomic_flag_test_and_set_explicit(&crew->busy, memory_order_acquire)) {
        run_alone(&job);
        return;
    }
    crew->job = job;
    crew->caller_cpu = crew->spin_ns ? current_cpu() : -1; /* else there is nowhere to go */
    open_gate(crew);
    claim_pieces(crew, 0);
    close_gate(crew);
    atomic_flag_clear_explicit(&crew->busy, memory_order_release);
}

void hn_pool_for_2d(hn_pool *pool, int64_t rows, int64_t cols, int64_t row_grain, int64_t col_grain,
                    hn_tile_fn fn, void *ctx) {
    run_loop(pool, rows, cols, row_grain, col_grain, (pool_call){.tile_fn = fn, .ctx = ctx});
}

void hn_pool_for(hn_pool *pool, int64_t n, int64_t grain, hn_range_fn fn, void *ctx) {
    run_loop(pool, n, 1, grain, 1, (pool_call){.range_fn = fn, .ctx = ctx});
}

void hn_pool_for_lanes(hn_pool *pool, int64_t n, int64_t grain, hn_lane_fn fn, void *ctx) {
    run_loop(pool, n, 1, grain, 1, (pool_call){.lane_fn = fn, .ctx = ctx});
}

bool hn_pool_is_stopped(const hn_pool *pool) {
    return pool && pool->run.is_stopped && pool->run.is_stopped(pool->run.ctx);
}

/* ---- life ---- */

static size_t crew_bytes(int n_slots) {
    return sizeof(pool_crew) + (size_t)n_slots * sizeof(pool_lane);
}

/* Signals are the business of the program's own threads. */
static void start_workers(pool_crew *crew) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (int i = 0; i < crew->n_slots; i++) {
        pool_lane *lane = &crew->lanes[i];
        lane->crew = crew;
        lane->number = i;
        if (i > 0 && pthread_create(&lane->thread, NULL, worker_main, lane) != 0) {
            break;
        }
        crew->n_workers = i;
    }
    crew->n_lanes = crew->n_workers + 1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static pool_crew *hire_crew(int n_threads, const hone_allocator *a) {
    int n_cpus = hn_cpu_count();
    n_threads =
        n_threads > 0 ? HN_MIN(n_threads, MAX_POOL_THREADS) : HN_MIN(n_cpus, MAX_POOL_THREADS);
    pool_crew *crew = hn_calloc(a, 1, crew_bytes(n_threads));
    if (!crew) {
        return NULL;
    }
    crew->alloc = a;
    crew->n_slots = n_threads;
    /* With more threads than processors, spinning takes the time of the one that is waited for. */
    crew->spin_ns = n_threads <= n_cpus ? SPIN_NS : 0;
    atomic_init(&crew->gate, 0);
    atomic_flag_clear(&crew->busy);
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->job_opened, NULL);
    pthread_cond_init(&crew->workers_left, NULL);
    start_workers(crew);
    return crew;
}

static void dismiss_crew(pool_crew *crew) {
    atomic_fetch_or_explicit(&crew->gate, GATE_STOP, memory_order_release);
    let_waiters_settle(crew);
    pthread_cond_broadcast(&crew->job_opened);
    for (int i = 1; i < crew->n_lanes; i++) {
        pthread_join(crew->lanes[i].thread, NULL);
    }
    pthread_cond_destroy(&crew->workers_left);
    pthread_cond_destroy(&crew->job_opened);
    pthread_mutex_destroy(&crew->mutex);
    hn_free(crew->alloc, crew, crew_bytes(crew->n_slots));
}

static hn_pool *handle_on(pool_crew *crew, bool is_owner, const hn_pool_run *run) {
    hn_pool *pool = hn_alloc(crew->alloc, sizeof *pool);
    if (pool) {
        *pool = (hn_pool){.crew = crew, .is_owner = is_owner, .run = *run};
    }
    return pool;
}

hn_pool *hn_pool_new(int n_threads, const hone_allocator *a) {
    pool_crew *crew = hire_crew(n_threads, a);
    hn_pool *pool = crew ? handle_on(crew, true, &(hn_pool_run){0}) : NULL;
    if (crew && !pool) {
        dismiss_crew(crew);
    }
    return pool;
}

hn_pool *hn_pool_share(const hn_pool *pool, const hn_pool_run *run) {
    return handle_on(pool->crew, false, run);
}

void hn_pool_free(hn_pool *pool) {
    if (!pool) {
        return;
    }
    const hone_allocator *a = pool->crew->alloc;
    if (pool->is_owner) {
        dismiss_crew(pool->crew);
    }
    hn_free(a, pool, sizeof *pool);
}

int hn_pool_threads(const hn_pool *pool) {
    return pool ? pool->crew->n_workers + 1 : 1;
}
