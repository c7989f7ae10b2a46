/* Times every applicable kernel on the convolutions of a model, with random data. The kernels
 * alternate, so that other load on the machine affects all of them; the fastest run of each
 * counts. */
#include "tune/tune.h"

#include <math.h>
#include <stdlib.h>

enum { N_METHODS = HN_CONV_NHWC_DEPTHWISE + 1, FEWEST_ROUNDS = 4, MOST_ROUNDS = 200 };
#define ENOUGH_NS \
  UINT64_C(40000000) /* for one convolution, in addition to the minimum number of rounds */
/* A kernel replaces the default one only when it is clearly faster. */
#define CLEARLY_FASTER 0.98

/* Memory for numbers. */
typedef struct float_buffer {
    const hone_allocator *alloc;
    float *at;
    size_t bytes;
} float_buffer;

static hone_status take_floats(float_buffer *r, const hone_allocator *a, int64_t n) {
    uint64_t bytes;
    *r = (float_buffer){.alloc = a};
    if (n < 0 || !hn_mul_u64((uint64_t)HN_MAX(n, 1), sizeof(float), &bytes) || bytes > SIZE_MAX)
        return HONE_E_NOMEM;
    r->at = hn_block_alloc(a, (size_t)bytes);
    r->bytes = r->at ? (size_t)bytes : 0;
    for (int64_t i = 0; r->at && i < n; i++)
        r->at[i] = (float)(i % 29 - 14) * 0.0625F;
    return r->at ? HONE_OK : HONE_E_NOMEM;
}

static void give_floats(float_buffer *r) {
    hn_block_free(r->alloc, r->at, r->bytes);
}

/* Number of elements of an image or a filter; -1 on overflow. */
static int64_t elems_of(int64_t n, int64_t channels, const int64_t *sizes, int32_t n_axes) {
    bool is_number = hn_mul_i64(n, channels, &n);
    for (int32_t i = 0; i < n_axes; i++)
        is_number = is_number && hn_mul_i64(n, sizes[i], &n);
    return is_number ? n : -1;
}

/* ---- one convolution ------------------------------------------------------------------------- */

enum {
    BUFFER_X,
    BUFFER_Y,
    BUFFER_W,
    BUFFER_PACKED,
    BUFFER_SCRATCH = BUFFER_PACKED + N_METHODS,
    N_BUFFERS = BUFFER_SCRATCH + N_METHODS
};

typedef struct kernel_trials {
    hn_pool *pool;
    int n_kernels;
    hn_conv_nhwc_job jobs[N_METHODS];
    double seconds[N_METHODS];
    const char *names[N_METHODS];
    int usual, fastest;
    float_buffer buffers[N_BUFFERS];
} kernel_trials;

static hone_status add_kernel_trial(kernel_trials *t, const hn_conv_nhwc_job *sizes,
                                    hn_conv_nhwc_method method, const hone_allocator *a) {
    int i = t->n_kernels;
    float_buffer *packed = &t->buffers[BUFFER_PACKED + i],
                 *scratch = &t->buffers[BUFFER_SCRATCH + i];
    hn_conv_nhwc_job *job = &t->jobs[i];
    *job = *sizes;
    job->method = method;
    job->x = t->buffers[BUFFER_X].at;
    job->y = t->buffers[BUFFER_Y].at;
    job->w = t->buffers[BUFFER_W].at;
    HN_TRY(take_floats(packed, a, hn_conv_nhwc_packed_elems(job)));
    hn_conv_nhwc_pack(job, packed->at);
    job->packed_w = packed->at;
    HN_TRY(take_floats(scratch, a, hn_conv_nhwc_scratch_elems(job, hn_pool_threads(t->pool))));
    job->scratch = scratch->at;
    t->names[i] = hn_conv_nhwc_method_name((int)method);
    t->seconds[i] = HUGE_VAL;
    if (method == sizes->method)
        t->usual = i;
    t->n_kernels++;
    return HONE_OK;
}

static hone_status add_all_kernels(kernel_trials *t, const hn_conv_nhwc_job *sizes,
                                   const hone_allocator *a) {
    const hn_window *s = sizes->window;
    const struct {
        int64_t n, channels;
        const int64_t *sizes;
    } needs[] = {[BUFFER_X] = {sizes->batch, sizes->channels, s->in},
                 [BUFFER_Y] = {sizes->batch, sizes->filters, s->out},
                 [BUFFER_W] = {sizes->filters, sizes->channels / sizes->groups, s->kernel}};
    for (size_t i = 0; i < HN_COUNT(needs); i++)
        HN_TRY(take_floats(&t->buffers[i], a,
                           elems_of(needs[i].n, needs[i].channels, needs[i].sizes, s->n_axes)));
    for (int m = 0; m < N_METHODS; m++)
        if (hn_conv_nhwc_fits(sizes, (hn_conv_nhwc_method)m))
            HN_TRY(add_kernel_trial(t, sizes, (hn_conv_nhwc_method)m, a));
    return HONE_OK;
}

static void time_rounds(kernel_trials *t) {
    uint64_t begin = hn_now_ns();
    for (int round = 0; round < MOST_ROUNDS; round++) {
        if (round >= FEWEST_ROUNDS && hn_now_ns() - begin > ENOUGH_NS)
            break;
        for (int i = 0; i < t->n_kernels; i++) {
            uint64_t start = hn_now_ns();
            hn_conv_nhwc_f32(t->pool, &t->jobs[i]);
            t->seconds[i] = fmin(t->seconds[i], 1e-9 * (double)(hn_now_ns() - start));
        }
    }
    t->fastest = t->usual;
    for (int i = 0; i < t->n_kernels; i++)
        if (t->seconds[i] < CLEARLY_FASTER * t->seconds[t->usual] &&
            t->seconds[i] < t->seconds[t->fastest])
            t->fastest = i;
}

static hone_status note_choice(const kernel_trials *t, hn_kernel_choices *choices,
                               hn_kernel_choice *choice, const hone_allocator *a) {
    hn_strbuf times;
    hn_strbuf_init(&times, a);
    for (int i = 0; i < t->n_kernels; i++)
        hn_strbuf_printf(&times, "%s%s %.1f", i ? ", " : "", t->names[i], 1e6 * t->seconds[i]);
    hone_status status =
        times.failed
            ? HONE_E_NOMEM
            : hn_kernel_choices_set(choices, choice, (int)t->jobs[t->fastest].method, times.at);
    hn_strbuf_free(&times);
    return status;
}

/* ---- all of a model -------------------------------------------------------------------------- */

typedef struct tuning {
    const hn_tune_options *o;
    const hone_allocator *alloc;
    hn_pool *pool;
    hn_kernel_choices *choices;
    hn_kernel_choice **open; /* there are several kernels, and nodes of the model use them */
    uint32_t n_open, n_done;
} tuning;

static bool report_timing(tuning *u, const hn_kernel_choice *choice, const kernel_trials *t) {
    hone_kernel_timing timing = {.node = choice->first_name,
                                 .sizes = choice->sizes,
                                 .n_nodes = choice->n_nodes,
                                 .n_kernels = (uint32_t)t->n_kernels,
                                 .kernels = t->names,
                                 .seconds = t->seconds,
                                 .usual = (uint32_t)t->usual,
                                 .chosen = (uint32_t)t->fastest,
                                 .done = ++u->n_done,
                                 .total = u->n_open};
    return u->o->tell && u->o->tell(u->o->tell_ctx, &timing);
}

static hone_status tune_one(tuning *u, hn_kernel_choice *choice, hone_error *err) {
    kernel_trials t = {.pool = u->pool};
    hone_status status = add_all_kernels(&t, &choice->job, u->alloc);
    if (status == HONE_OK) {
        time_rounds(&t);
        status = note_choice(&t, u->choices, choice, u->alloc);
    }
    for (int i = 0; i < N_BUFFERS; i++)
        give_floats(&t.buffers[i]);
    if (status == HONE_E_NOMEM)
        return hn_fail(err, status, "out of memory while timing %s", choice->sizes);
    if (status == HONE_OK && report_timing(u, choice, &t))
        return hn_fail(err, HONE_E_CANCELLED, "tuning was stopped; nothing was written");
    return status;
}

static bool has_choice(const hn_kernel_choice *choice) {
    int n = 0;
    for (int m = 0; choice->n_nodes > 0 && m < N_METHODS; m++)
        n += hn_conv_nhwc_fits(&choice->job, (hn_conv_nhwc_method)m);
    return n > 1 && hn_conv_nhwc_fits(&choice->job, choice->job.method);
}

static int by_first_node(const void *a, const void *b) {
    hn_id x = (*(hn_kernel_choice *const *)a)->first_node;
    hn_id y = (*(hn_kernel_choice *const *)b)->first_node;
    return (x > y) - (x < y);
}

static hone_status tune_open(tuning *u, hone_error *err) {
    uint32_t n = hn_kernel_choices_n(u->choices);
    u->open = hn_calloc(u->alloc, (size_t)n + 1, sizeof *u->open);
    HN_TRY_PTR(u->open);
    for (uint32_t i = 0; i < n; i++)
        if (has_choice(hn_kernel_choices_at(u->choices, i)))
            u->open[u->n_open++] = hn_kernel_choices_at(u->choices, i);
    qsort(u->open, u->n_open, sizeof *u->open, by_first_node);
    hone_status status = HONE_OK;
    for (uint32_t i = 0; status == HONE_OK && i < u->n_open; i++)
        status = tune_one(u, u->open[i], err);
    hn_free(u->alloc, u->open, ((size_t)n + 1) * sizeof *u->open);
    return status;
}

/* A file of another kind or of another machine is not overwritten. */
static hone_status read_earlier(tuning *u, hone_error *err) {
    hone_error why;
    if (!u->o->path)
        return HONE_OK;
    hn_error_clear(&why);
    hone_status status = hn_kernel_choices_read(u->choices, u->o->path, &why);
    if (status == HONE_E_FORMAT || status == HONE_E_UNSUPPORTED)
        return hn_fail(err, status, "%s; it was not changed: write to another file", why.message);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

static hone_status tune_with(tuning *u, const hn_model *m, hone_error *err) {
    hn_program *program;
    hn_program_options options = u->o->program;
    HN_TRY(read_earlier(u, err));
    options.pool = u->pool;
    options.choices = u->choices;
    HN_TRY(hn_program_optimized(m, u->o->level, &options, &program, err));
    hn_program_free(program);
    HN_TRY(tune_open(u, err));
    return u->o->path ? hn_kernel_choices_write(u->choices, u->o->path, err) : HONE_OK;
}

hone_status hn_tune_kernels(const hn_model *m, const hn_tune_options *o, hone_error *err) {
    tuning u = {.o = o, .alloc = hn_arena_allocator(m->arena)};
    u.pool = hn_pool_new(o->n_threads, u.alloc);
    u.choices = u.pool ? hn_kernel_choices_new(u.alloc, hn_pool_threads(u.pool)) : NULL;
    hone_status status = u.choices ? tune_with(&u, m, err) : HONE_E_NOMEM;
    hn_kernel_choices_free(u.choices);
    hn_pool_free(u.pool);
    return status;
}
