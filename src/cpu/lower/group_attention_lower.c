/* Lowering of GroupQueryAttention of com.microsoft with a cache, as decoders have it: keys and
 * values of this step, rotated, go behind those of the past. Caches of half precision keep their
 * type; what is attended to is widened. */
#include "cpu/lower/group_attention_lower.h"

#include <math.h>

#include "ops/eval/eval_broadcast.h"
#include "ops/eval/ms/ms_group_eval.h"
#include "ops/eval/onnx/rotary_eval.h"

enum { GROUP_Q, GROUP_K, GROUP_V, GROUP_PAST, GROUP_LAST_KEY = 5, GROUP_LENGTH, GROUP_TABLES };

typedef struct group_step {
    hn_attention_job_f32 job; /* without data */
    hn_dtype type;            /* of everything */
    size_t elem_bytes;
    int64_t n_fresh, size;
    int64_t past_room, room; /* rows of a head in the past and in the present */
    int64_t row;             /* elements from row to row of queries, keys and values as they come */
    int64_t first[3];        /* elements before them in a row */
    int64_t kv_row;          /* the same of keys and values */
    bool is_packed;          /* all are in the first argument */
    bool has_past, is_copied; /* is_copied: fresh rows are changed before they are used */
    hn_rotary rotary;         /* without tables; half 0: none */
    int64_t n_joined;         /* floats of all keys or values */
} group_step;

/* Rows of all batches, side by side the heads. */
typedef struct group_rows {
    const float *at;
    int64_t row;
} group_rows;

typedef struct group_attention_run {
    const group_step *step;
    const hn_step_io *io;
    hn_key_reach *reach;
    group_rows fresh[3];
    float *joined[3]; /* [batch, heads, room, size]; the present where that is float */
    float *tables[2], *out;
} group_attention_run;

/* ---- scratch ---------------------------------------------------------------------------------- */

typedef struct float_scratch {
    float *at; /* NULL: it is only measured */
    int64_t n; /* taken so far */
} float_scratch;

/* Whole cache lines. */
static float *next_floats(float_scratch *scratch, int64_t n) {
    float *taken = scratch->at ? scratch->at + scratch->n : NULL;
    scratch->n += (n + 15) / 16 * 16;
    return taken;
}

static int64_t n_heads_of(const group_step *s, uint32_t part) {
    return part == GROUP_Q ? s->job.n_heads : s->job.n_kv_heads;
}

static int64_t n_rows_of(const group_step *s, uint32_t part) {
    return s->job.batch * (part == GROUP_Q ? s->job.n_queries : s->n_fresh);
}

/* Returns how many floats it is; with `at` NULL nothing else. */
static int64_t place_scratch(const group_step *s, float *at, group_attention_run *r) {
    float_scratch from = {at, 0};
    bool is_half = s->type != HN_F32;
    int64_t n_tables = HN_MAX(s->job.n_queries, s->n_fresh) * s->rotary.half;
    r->reach =
        (void *)next_floats(&from, s->job.batch * (int64_t)(sizeof *r->reach / sizeof(float)));
    for (uint32_t part = GROUP_Q; part <= GROUP_V; part++)
        if (is_half || (s->is_copied && part != GROUP_V))
            r->fresh[part].at =
                next_floats(&from, n_rows_of(s, part) * n_heads_of(s, part) * s->size);
    for (uint32_t part = GROUP_K; is_half && part <= GROUP_V; part++)
        r->joined[part] = next_floats(&from, s->n_joined);
    for (int i = 0; is_half && i < 2; i++)
        r->tables[i] = next_floats(&from, n_tables);
    if (is_half)
        r->out = next_floats(&from, n_rows_of(s, GROUP_Q) * s->job.n_heads * s->size);
    return from.n;
}

/* ---- lengths ---------------------------------------------------------------------------------- */

static hone_status read_group_lengths(const group_attention_run *r) {
    const group_step *s = r->step;
    const int32_t *last = r->io->in[GROUP_LAST_KEY], *total = r->io->in[GROUP_LENGTH];
    bool is_prompt = total[0] == s->job.n_queries;
    for (int64_t b = 0; b < s->job.batch; b++) {
        r->reach[b].n_keys = (int64_t)last[b] + 1;
        HN_TRY(hn_group_past(r->io->err, GROUP_LAST_KEY, b, r->reach[b].n_keys, s->job.n_queries,
                             is_prompt, &r->reach[b].first));
    }
    for (int64_t b = 0; s->rotary.half > 0 && b < s->job.batch; b++)
        for (int64_t i = 0; i < HN_MAX(s->job.n_queries, s->n_fresh); i++)
            HN_TRY(hn_rotary_check(r->io->err, 1, (int64_t[]){r->reach[b].first + i},
                                   s->rotary.n_positions));
    for (int64_t b = 0; b < s->job.batch; b++)
        HN_TRY(hn_group_fits(r->io->err, b, r->reach[b].n_keys, s->room));
    for (int64_t b = 0; b < s->job.batch; b++)
        HN_TRY(hn_kv_fits(r->io->err, r->reach[b].first, s->n_fresh, s->past_room, s->room));
    return HONE_OK;
}

/* ---- fresh rows ------------------------------------------------------------------------------- */

static hn_array head_array(const group_step *s, const void *data) {
    return (hn_array){.dtype = s->type, .data = (void *)(uintptr_t)data};
}

static int64_t row_of(const group_step *s, uint32_t part) {
    return part == GROUP_Q ? s->row : s->kv_row;
}

/* As floats that may be changed, or where they lie. */
static void read_fresh(group_attention_run *r, uint32_t part) {
    const group_step *s = r->step;
    const void *from = r->io->in[s->is_packed ? GROUP_Q : part];
    int64_t width = n_heads_of(s, part) * s->size, row = row_of(s, part), first = s->first[part];
    float *to = (float *)(uintptr_t)r->fresh[part].at;
    if (!to) {
        r->fresh[part] = (group_rows){(const float *)from + first, row};
        return;
    }
    hn_array x = head_array(s, from);
    for (int64_t i = 0; i < n_rows_of(s, part); i++)
        hn_load_f32(&x, (uint64_t)(i * row + first), (uint64_t)width, to + i * width);
    r->fresh[part].row = width;
}

/* The rows of the tables that a batch needs, as floats. */
static void read_tables(const group_attention_run *r, int64_t b, const float *tables[2]) {
    const group_step *s = r->step;
    int64_t first = r->reach[b].first * s->rotary.half;
    int64_t n = HN_MAX(s->job.n_queries, s->n_fresh) * s->rotary.half;
    for (int i = 0; i < 2; i++) {
        const void *all = r->io->in[GROUP_TABLES + i];
        tables[i] = r->tables[i] ? r->tables[i] : (const float *)all + first;
        hn_array x = head_array(s, all);
        if (r->tables[i])
            hn_load_f32(&x, (uint64_t)first, (uint64_t)n, r->tables[i]);
    }
}

static void rotate_part(const group_attention_run *r, uint32_t part, int64_t b,
                        const float *tables[2]) {
    const group_step *s = r->step;
    int64_t n_rows = part == GROUP_Q ? s->job.n_queries : s->n_fresh;
    for (int64_t i = 0; i < n_rows; i++)
        for (int64_t h = 0; h < n_heads_of(s, part); h++)
            hn_rotate(&s->rotary, tables[0] + i * s->rotary.half, tables[1] + i * s->rotary.half,
                      (float *)(uintptr_t)r->fresh[part].at +
                          (b * n_rows + i) * r->fresh[part].row + h * s->size);
}

static void rotate_fresh(const group_attention_run *r) {
    const float *tables[2];
    for (int64_t b = 0; r->step->rotary.half > 0 && b < r->step->job.batch; b++) {
        read_tables(r, b, tables);
        rotate_part(r, GROUP_Q, b, tables);
        rotate_part(r, GROUP_K, b, tables);
    }
}

/* ---- past and fresh --------------------------------------------------------------------------- */

/* The whole past stays; rows that nobody has filled are zeros. */
static void join_part(const group_attention_run *r, uint32_t part, int64_t b, int64_t h) {
    const group_step *s = r->step;
    int64_t head = b * s->job.n_kv_heads + h, n_past = r->reach[b].first;
    int64_t n_kept = s->has_past ? HN_MIN(s->past_room, s->room) : 0;
    size_t row_bytes = (size_t)s->size * s->elem_bytes;
    const char *past = r->io->in[GROUP_PAST + part - GROUP_K];
    char *present = (char *)r->io->out[part] + (size_t)(head * s->room) * row_bytes;
    float *floats = r->joined[part] ? r->joined[part] + head * s->room * s->size : (void *)present;
    const float *fresh = r->fresh[part].at + b * s->n_fresh * r->fresh[part].row + h * s->size;
    hn_array old = head_array(s, past), all = head_array(s, present);
    if (n_kept > 0)
        memcpy(present, past + (size_t)(head * s->past_room) * row_bytes,
               (size_t)n_kept * row_bytes);
    memset(present + (size_t)n_kept * row_bytes, 0, (size_t)(s->room - n_kept) * row_bytes);
    if (r->joined[part] && n_past > 0)
        hn_load_f32(&old, (uint64_t)(head * s->past_room * s->size), (uint64_t)(n_past * s->size),
                    floats);
    for (int64_t i = 0; i < s->n_fresh; i++) {
        const float *from = fresh + i * r->fresh[part].row;
        memcpy(floats + (n_past + i) * s->size, from, (size_t)s->size * sizeof *floats);
        if (r->joined[part])
            hn_store_f32(&all, (uint64_t)((n_past + i) * s->size), (uint64_t)s->size, from);
    }
}

static void join_group_heads(void *ctx, int64_t begin, int64_t end) {
    const group_attention_run *r = ctx;
    int64_t n_heads = r->step->job.n_kv_heads;
    for (int64_t i = begin; i < end; i++)
        for (uint32_t part = GROUP_K; part <= GROUP_V; part++)
            join_part(r, part, i / n_heads, i % n_heads);
}

/* ---- runs ------------------------------------------------------------------------------------- */

static hone_status run_group_step(const void *record, const hn_step_io *io) {
    const group_step *s = record;
    group_attention_run r = {.step = s, .io = io};
    hn_attention_job_f32 job = s->job;
    place_scratch(s, io->scratch, &r);
    HN_TRY(read_group_lengths(&r));
    for (uint32_t part = GROUP_Q; part <= GROUP_V; part++)
        read_fresh(&r, part);
    rotate_fresh(&r);
    hn_pool_for(io->pool, job.batch * job.n_kv_heads, HN_MAX(HN_GRAIN / (s->room * s->size), 1),
                join_group_heads, &r);
    job.reach = r.reach;
    job.q = r.fresh[GROUP_Q].at;
    job.q_step =
        (hn_head_steps){job.n_queries * r.fresh[GROUP_Q].row, s->size, r.fresh[GROUP_Q].row};
    job.k = r.joined[GROUP_K] ? r.joined[GROUP_K] : io->out[GROUP_K];
    job.v = r.joined[GROUP_V] ? r.joined[GROUP_V] : io->out[GROUP_V];
    job.out = r.out ? r.out : io->out[0];
    hn_attention_f32(io->pool, &job);
    if (r.out) {
        hn_array y = {.dtype = s->type, .data = io->out[0]};
        hn_store_f32(&y, 0, (uint64_t)(n_rows_of(s, GROUP_Q) * job.n_heads * s->size), r.out);
    }
    return HONE_OK;
}

/* ---- lowering --------------------------------------------------------------------------------- */

static bool has_group_shape(const hn_array *a, const group_step *s, int32_t rank,
                            const int64_t *dims) {
    return a && a->dtype == s->type && a->rank == rank &&
           memcmp(a->dims, dims, (size_t)rank * sizeof *dims) == 0;
}

/* All in one, or three arguments. */
static bool read_fresh_form(const hn_eval *c, group_step *s) {
    const hn_array *q = hn_arg(c, GROUP_Q), *k = hn_arg(c, GROUP_K), *y = hn_ret(c, 0);
    hn_attention_job_f32 *j = &s->job;
    bool is_float = q && (q->dtype == HN_F32 || q->dtype == HN_F16 || q->dtype == HN_BF16);
    s->is_packed = !k;
    int64_t n_all = j->n_heads + (k ? 0 : 2 * j->n_kv_heads);
    if (!is_float || !y || q->rank != 3 || q->n_elems == 0 || q->dims[2] % n_all != 0)
        return false;
    s->type = q->dtype;
    s->elem_bytes = hn_elem_bytes(s->type);
    j->batch = q->dims[0];
    j->n_queries = q->dims[1];
    s->row = s->kv_row = q->dims[2];
    s->size = q->dims[2] / n_all;
    s->n_fresh = k && k->rank == 3 ? k->dims[1] : j->n_queries;
    int64_t kv_width = j->n_kv_heads * s->size;
    if (!k) {
        s->first[GROUP_K] = j->n_heads * s->size;
        s->first[GROUP_V] = s->first[GROUP_K] + kv_width;
    } else {
        s->kv_row = kv_width;
    }
    const int64_t kv[] = {j->batch, s->n_fresh, kv_width},
                  out[] = {j->batch, j->n_queries, j->n_heads * s->size};
    return has_group_shape(y, s, 3, out) &&
           (!k || (has_group_shape(k, s, 3, kv) && has_group_shape(hn_arg(c, GROUP_V), s, 3, kv)));
}

static bool read_cache_form(const hn_eval *c, group_step *s) {
    const hn_array *past = hn_arg(c, GROUP_PAST), *present = hn_ret(c, GROUP_K);
    s->has_past = past != NULL;
    s->past_room = past && past->rank == 4 ? past->dims[2] : 0;
    s->room = present && present->rank == 4 ? present->dims[2] : 0;
    const int64_t before[] = {s->job.batch, s->job.n_kv_heads, s->past_room, s->size},
                  all[] = {s->job.batch, s->job.n_kv_heads, s->room, s->size};
    for (uint32_t i = 0; i < 2; i++) {
        const hn_array *old = hn_arg(c, GROUP_PAST + i);
        if ((past || old) && !has_group_shape(old, s, 4, before))
            return false;
        if (!has_group_shape(hn_ret(c, GROUP_K + i), s, 4, all))
            return false;
    }
    s->n_joined = s->job.batch * s->job.n_kv_heads * s->room * s->size;
    return s->room > 0;
}

static bool read_group_rotary(const hn_eval *c, group_step *s) {
    const hn_array *cosines = hn_arg(c, GROUP_TABLES), *sines = hn_arg(c, GROUP_TABLES + 1);
    const hn_infer *node = hn_eval_node(c);
    s->is_copied = hn_attr_i(node, "do_rotary", 0) != 0;
    if (!s->is_copied)
        return true;
    if (!cosines || !sines || cosines->rank != 2 ||
        !has_group_shape(cosines, s, 2, cosines->dims) ||
        !has_group_shape(sines, s, 2, cosines->dims))
        return false;
    s->rotary = (hn_rotary){.n_positions = cosines->dims[0],
                            .half = cosines->dims[1],
                            .interleaved = hn_attr_i(node, "rotary_interleaved", 0) != 0};
    return s->rotary.half > 0 && 2 * s->rotary.half <= s->size;
}

/* Queries of a window that starts before them: those of a padded prompt have none. */
static bool read_group_window(const hn_eval *c, group_step *s) {
    int64_t window = hn_attr_i(hn_eval_node(c), "local_window_size", -1);
    bool is_causal = hn_attr_i(hn_eval_node(c), "causal", 1) != 0;
    s->job.left = window < 0 ? HN_REACH_ALL : HN_MIN(window - 1, HN_REACH_ALL);
    s->job.right = is_causal ? 0 : HN_REACH_ALL;
    return window < 0 || (window > 0 && is_causal && s->job.n_queries == 1);
}

static bool has_lengths(const hn_eval *c, const group_step *s) {
    const hn_array *last = hn_arg(c, GROUP_LAST_KEY), *total = hn_arg(c, GROUP_LENGTH);
    return last && total && last->dtype == HN_I32 && total->dtype == HN_I32 &&
           last->n_elems == (uint64_t)s->job.batch && total->n_elems >= 1;
}

hone_status hn_lower_group_cache(hn_eval *c, hn_lowered *out) {
    const hn_infer *node = hn_eval_node(c);
    group_step step = {.job = {.n_heads = hn_attr_i(node, "num_heads", 1),
                               .n_kv_heads = hn_attr_i(node, "kv_num_heads", 1),
                               .unseen = -HUGE_VALF,
                               .lost_is_nan = true,
                               .softcap = hn_attr_f(node, "softcap", 0)}};
    if (step.job.n_heads < 1 || step.job.n_kv_heads < 1 ||
        step.job.n_heads % step.job.n_kv_heads != 0 || !read_fresh_form(c, &step) ||
        !hn_attention_fits_f32(step.size) || !read_cache_form(c, &step) ||
        !read_group_rotary(c, &step) || !read_group_window(c, &step) || !has_lengths(c, &step))
        return HONE_OK;
    group_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    *s = step;
    s->job.key_size = s->job.value_size = s->size;
    s->job.scale = hn_heads_scale(c, s->size);
    s->job.k_step = s->job.v_step = hn_steps_by_head(s->job.n_kv_heads, s->room, s->size);
    s->job.out_step = hn_steps_packed(s->job.n_heads, s->job.n_queries, s->size);
    group_attention_run unused = {.step = s};
    *out = (hn_lowered){.run = run_group_step,
                        .record = s,
                        .scratch_bytes = (size_t)place_scratch(s, NULL, &unused) * sizeof(float)};
    return HONE_OK;
}
