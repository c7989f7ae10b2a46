/* Evaluation of operators that put elements where indices say. */
#include "cpu/kernels/elementwise/binary.h"
#include "ops/eval/onnx/indexed_copy.h"

/* ---- what happens to an element that is there already ---------------------------------------- */

typedef enum scatter_how {
    SCATTER_SET,
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MAX,
    SCATTER_MIN
} scatter_how;

static scatter_how scatter_read_how(const hn_infer *node) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    for (size_t i = 0; i < HN_COUNT(names); i++)
        if (hn_attr_is(node, "reduction", names[i]))
            return (scatter_how)i;
    return SCATTER_SET;
}

static double scatter_f64(scatter_how how, double a, double b) {
    switch (how) {
    case SCATTER_ADD:
        return a + b;
    case SCATTER_MUL:
        return a * b;
    case SCATTER_MAX:
        return a != a || a > b ? a : b; /* NaN stays */
    case SCATTER_MIN:
        return a != a || a < b ? a : b;
    default:
        return b;
    }
}

/* Integers wrap; the order of uint64 is not that of int64. */
static int64_t scatter_i64(scatter_how how, bool is_u64, int64_t a, int64_t b) {
    bool is_less = is_u64 ? (uint64_t)a < (uint64_t)b : a < b;
    switch (how) {
    case SCATTER_ADD:
        return (int64_t)((uint64_t)a + (uint64_t)b);
    case SCATTER_MUL:
        return (int64_t)((uint64_t)a * (uint64_t)b);
    case SCATTER_MAX:
        return is_less ? b : a;
    case SCATTER_MIN:
        return is_less ? a : b;
    default:
        return b;
    }
}

/* Reductions compare and add numbers alone. */
static hone_status check_scatter_type(hn_eval *c, scatter_how how, hn_dtype t) {
    if (how == SCATTER_SET || hn_dtype_is_float(t) || hn_dtype_is_int(t) || t == HN_BOOL)
        return HONE_OK;
    return hn_eval_fail(c, HONE_E_UNSUPPORTED, "a reduction of %s is not supported",
                        hn_dtype_name(t));
}

/* ---- elements of the usual types -------------------------------------------------------------- */

#define SCATTER_EACH(T, expression)   \
  for (uint64_t i = 0; i < n; i++) {  \
    T a = to[starts[i]], b = from[i]; \
    to[starts[i]] = expression;       \
  }                                   \
  break;
/* U: sums and products of integers wrap. */
#define SCATTER_TYPE(id, T, U)                        \
  case id: {                                          \
    T *to = y->data;                                  \
    const T *from = (const T *)updates->data + first; \
    switch (how) {                                    \
    case SCATTER_ADD:                                 \
      SCATTER_EACH(T, (T)((U)a + (U)b))               \
    case SCATTER_MUL:                                 \
      SCATTER_EACH(T, (T)((U)a * (U)b))               \
    case SCATTER_MAX:                                 \
      SCATTER_EACH(T, a != a || a > b ? a : b)        \
    case SCATTER_MIN:                                 \
      SCATTER_EACH(T, a != a || a < b ? a : b)        \
    default:                                          \
      for (uint64_t i = 0; i < n; i++)                \
        to[starts[i]] = from[i];                      \
    }                                                 \
    return true;                                      \
  }

/* Each of n updates goes to its own start. False: not for this type. */
static bool scatter_each(scatter_how how, hn_array *y, const int64_t *starts, uint64_t n,
                         const hn_array *updates, uint64_t first) {
    switch (y->dtype) {
        SCATTER_TYPE(HN_F32, float, float)
        SCATTER_TYPE(HN_F64, double, double)
        SCATTER_TYPE(HN_I32, int32_t, uint32_t)
        SCATTER_TYPE(HN_I64, int64_t, uint64_t)
    default:
        return false;
    }
}

/* A run of floats by vectors. False: not for this type. */
static bool scatter_vectors(scatter_how how, hn_array *y, uint64_t at, const hn_array *updates,
                            uint64_t first, uint64_t n) {
    bool is_sum = how == SCATTER_ADD || how == SCATTER_MUL;
    hn_binary_fn fn = y->dtype == HN_F32 && is_sum
                          ? hn_binary_find_f32(how == SCATTER_ADD ? "Add" : "Mul")
                          : NULL;
    if (!fn)
        return false;
    float *to = (float *)y->data + at;
    fn(to, 1, (const float *)updates->data + first, 1, to, n);
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------- */

/* A sum or product of two floats is the same when it is rounded from double. */
static void scatter_any(scatter_how how, hn_array *y, uint64_t at, const hn_array *updates,
                        uint64_t from) {
    double a, b;
    int64_t p, q;
    if (hn_dtype_is_float(y->dtype)) {
        hn_load_f64(y, at, 1, &a);
        hn_load_f64(updates, from, 1, &b);
        a = scatter_f64(how, a, b);
        hn_store_f64(y, at, 1, &a);
    } else {
        hn_load_i64(y, at, 1, &p);
        hn_load_i64(updates, from, 1, &q);
        p = scatter_i64(how, y->dtype == HN_U64, p, q);
        hn_store_i64(y, at, 1, &p);
    }
}

static hone_status scatter_run(hn_eval *c, scatter_how how, hn_array *y, uint64_t at,
                               const hn_array *updates, uint64_t first, uint64_t n) {
    int64_t starts[HN_TILE];
    if (how == SCATTER_SET)
        return hn_copy_run(c, y, at, updates, first, n);
    if (scatter_vectors(how, y, at, updates, first, n))
        return HONE_OK;
    for (uint64_t begin = 0; begin < n; begin += HN_TILE) {
        uint64_t n_tile = HN_MIN(HN_TILE, n - begin);
        for (uint64_t i = 0; i < n_tile; i++)
            starts[i] = (int64_t)(at + begin + i);
        if (scatter_each(how, y, starts, n_tile, updates, first + begin))
            continue;
        for (uint64_t i = 0; i < n_tile; i++)
            scatter_any(how, y, (uint64_t)starts[i], updates, first + begin + i);
    }
    return HONE_OK;
}

/* Runs that follow each other: an assignment to a slice is exported as one index per element. */
static uint64_t neighbours_from(const int64_t *starts, uint64_t n, int64_t run) {
    uint64_t i = 1;
    while (i < n && starts[i] == starts[i - 1] + run)
        i++;
    return i;
}

static bool mostly_follow(const int64_t *starts, uint64_t n) {
    uint64_t n_following = 0;
    for (uint64_t i = 1; i < n; i++)
        n_following += starts[i] == starts[i - 1] + 1;
    return 2 * n_following >= n;
}

/* Runs first .. first + n of the updates go to their starts in the result. */
static hone_status scatter_runs(hn_eval *c, scatter_how how, hn_array *y, const int64_t *starts,
                                uint64_t n, const hn_array *updates, uint64_t first, uint64_t run) {
    if (run == 1 && !mostly_follow(starts, n) && scatter_each(how, y, starts, n, updates, first))
        return HONE_OK;
    for (uint64_t i = 0, n_joined; i < n; i += n_joined) {
        n_joined = neighbours_from(starts + i, n - i, (int64_t)run);
        HN_TRY(scatter_run(c, how, y, (uint64_t)starts[i], updates, (first + i) * run,
                           n_joined * run));
    }
    return HONE_OK;
}

static hone_status read_scatter(hn_eval *c, hn_indexed_form *f) {
    f->x = *hn_arg(c, 0);
    f->indices = *hn_arg(c, 1);
    f->updates = *hn_arg(c, 2);
    f->y = *hn_ret(c, 0);
    f->how = (int)scatter_read_how(hn_eval_node(c));
    hn_strides(f->x.rank, f->x.dims, f->strides);
    return f->indices.n_elems ? check_scatter_type(c, (scatter_how)f->how, f->y.dtype) : HONE_OK;
}

/* ---- Scatter, ScatterElements ---------------------------------------------------------------- */

hone_status hn_scatter_elements_read(hn_eval *c, hn_indexed_form *f) {
    HN_TRY(read_scatter(c, f));
    const hn_array *x = &f->x, *indices = &f->indices;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", 0), x->rank, &f->axis));
    for (int32_t k = 0; k < x->rank; k++)
        if (k != f->axis && indices->dims[k] > x->dims[k])
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "axis %d of indices has %lld elements, but data has %lld", k,
                                (long long)indices->dims[k], (long long)x->dims[k]);
    f->stride = f->strides[f->axis];
    f->strides[f->axis] = 0;
    return HONE_OK;
}

/* The arrays of a run. */
typedef struct scatter_work {
    hn_eval *c;
    const hn_indexed_form *form;
    hn_array indices, updates, y;
    hone_error *err;
} scatter_work;

/* Updates begin .. begin + n, HN_TILE at most. */
static hone_status scatter_tile(scatter_work *w, uint64_t begin, uint64_t n) {
    const hn_indexed_form *f = w->form;
    int64_t starts[HN_TILE];
    if (!hn_point_elements(f, &w->indices, begin, n, starts))
        return hn_refuse_elements(w->err, &w->indices, f->x.dims[f->axis]);
    return scatter_runs(w->c, (scatter_how)f->how, &w->y, starts, n, &w->updates, begin, 1);
}

/* A row of indices that are all the same, as those are that an export has expanded, is one run. */
static hone_status scatter_rows(scatter_work *w, uint64_t width) {
    const hn_indexed_form *f = w->form;
    const int64_t *at = w->indices.data;
    for (uint64_t begin = 0; begin < w->indices.n_elems && !hn_spent(16 * width);
         begin += width, at += width) {
        int64_t start;
        if (hn_is_one_index(at, width)) {
            if (!hn_point_elements(f, &w->indices, begin, 1, &start))
                return hn_refuse_elements(w->err, &w->indices, f->x.dims[f->axis]);
            HN_TRY(scatter_run(w->c, (scatter_how)f->how, &w->y, (uint64_t)start, &w->updates,
                               begin, width));
            continue;
        }
        for (uint64_t i = 0; i < width; i += HN_TILE)
            HN_TRY(scatter_tile(w, begin + i, HN_MIN(HN_TILE, width - i)));
    }
    return HONE_OK;
}

hone_status hn_scatter_elements_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io) {
    enum { LEAST_WIDTH = 16 };
    hn_array x = hn_array_at(&f->x, io->x);
    scatter_work w = {.c = c,
                      .form = f,
                      .indices = hn_array_at(&f->indices, io->indices),
                      .updates = hn_array_at(&f->updates, io->updates),
                      .y = hn_array_at(&f->y, io->y),
                      .err = io->err};
    uint64_t n = w.indices.n_elems;
    int32_t last = f->x.rank - 1;
    HN_TRY(hn_copy_all(c, &w.y, &x));
    if (n > 0 && f->axis < last && w.indices.dtype == HN_I64 && w.indices.dims[last] >= LEAST_WIDTH)
        return scatter_rows(&w, (uint64_t)w.indices.dims[last]);
    for (uint64_t begin = 0; begin < n && !hn_spent(16 * HN_TILE); begin += HN_TILE)
        HN_TRY(scatter_tile(&w, begin, HN_MIN(HN_TILE, n - begin)));
    return HONE_OK;
}

static hone_status eval_scatter_elements(hn_eval *c) {
    return hn_indexed_eval(c, hn_scatter_elements_read, hn_scatter_elements_run);
}
const hn_impl hn_impl_scatter_elements[1] = {{.eval = eval_scatter_elements}};

/* ---- ScatterND ------------------------------------------------------------------------------- */

hone_status hn_scatter_nd_read(hn_eval *c, hn_indexed_form *f) {
    HN_TRY(read_scatter(c, f));
    int32_t length = (int32_t)f->indices.dims[f->indices.rank - 1];
    f->run = hn_count(f->x.rank - length, f->x.dims + length);
    f->per_batch = hn_count(f->indices.rank - 1, f->indices.dims);
    return HONE_OK;
}

hone_status hn_scatter_nd_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io) {
    hn_array x = hn_array_at(&f->x, io->x), indices = hn_array_at(&f->indices, io->indices),
             updates = hn_array_at(&f->updates, io->updates), y = hn_array_at(&f->y, io->y);
    int64_t starts[HN_TILE];
    HN_TRY(hn_copy_all(c, &y, &x));
    for (uint64_t begin = 0; begin < f->per_batch && !hn_spent(HN_TILE * (16 + f->run));
         begin += HN_TILE) {
        uint64_t n = HN_MIN(HN_TILE, f->per_batch - begin);
        HN_TRY(hn_locate_tuples(io->err, &x, &indices, begin, begin + n, 0, f->strides, starts));
        HN_TRY(scatter_runs(c, (scatter_how)f->how, &y, starts, n, &updates, begin, f->run));
    }
    return HONE_OK;
}

static hone_status eval_scatter_nd(hn_eval *c) {
    return hn_indexed_eval(c, hn_scatter_nd_read, hn_scatter_nd_run);
}
const hn_impl hn_impl_scatter_nd[1] = {{.eval = eval_scatter_nd}};

/* ---- TensorScatter --------------------------------------------------------------------------- */

/* A cache takes new steps, of each sample at its own place; a circular one begins again at its end.
 */
static hone_status eval_tensor_scatter(hn_eval *c) {
    const hn_array *cache = hn_arg(c, 0), *update = hn_arg(c, 1), *places = hn_arg(c, 2);
    hn_array *y = hn_ret(c, 0);
    bool is_circular = hn_attr_is(hn_eval_node(c), "mode", "circular");
    int32_t axis;
    if (!y)
        return HONE_OK;
    HN_TRY(hn_axis_of(c, hn_attr_i(hn_eval_node(c), "axis", -2), cache->rank, &axis));
    HN_TRY(hn_copy_all(c, y, cache));
    hn_split3 s = hn_split_at(cache->rank, cache->dims, axis);
    int64_t n_steps = update->dims[axis], n_batch = cache->dims[0],
            per_batch = n_batch ? s.outer / n_batch : 0;
    for (int64_t o = 0; o < s.outer; o++) {
        int64_t place = 0;
        if (places)
            hn_load_i64(places, (uint64_t)(o / per_batch), 1, &place);
        if (place < 0 || n_steps > s.mid ||
            place > s.mid - (is_circular ? HN_MIN(1, s.mid) : n_steps))
            return hn_eval_fail(c, HONE_E_INVALID,
                                "%lld steps do not fit at %lld of a cache of %lld",
                                (long long)n_steps, (long long)place, (long long)s.mid);
        for (int64_t t = 0; t < n_steps; t++) {
            int64_t at = o * s.mid + (place + t) % s.mid, from = o * n_steps + t;
            HN_TRY(hn_copy_run(c, y, (uint64_t)(at * s.inner), update, (uint64_t)(from * s.inner),
                               (uint64_t)s.inner));
        }
    }
    return HONE_OK;
}
const hn_impl hn_impl_tensor_scatter[1] = {{.eval = eval_tensor_scatter}};
