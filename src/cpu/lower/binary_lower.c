/* Lowering of functions of two operands that broadcast. */
#include "cpu/lower/elementwise_lower.h"

typedef struct binary_step {
    hn_binary_fn fn;
    size_t x_bytes, out_bytes;              /* per element */
    int64_t n;                              /* elements, or of one row where rows are strided */
    int x_step, y_step;                     /* 0: the operand is one element */
    int64_t n_rows;                         /* 0: rows are contiguous */
    int64_t x_stride, y_stride, out_stride; /* from row to row, in bytes */
    hn_broadcast_walk walk;                 /* where operands are repeated in other ways */
} binary_step;

typedef struct binary_run {
    const binary_step *step;
    const uint8_t *x, *y;
    uint8_t *out;
} binary_run;

static void run_binary_range(void *ctx, int64_t begin, int64_t end) {
    const binary_run *r = ctx;
    const binary_step *s = r->step;
    size_t at = (size_t)begin;
    s->fn(r->x + (s->x_step ? at * s->x_bytes : 0), s->x_step,
          r->y + (s->y_step ? at * s->x_bytes : 0), s->y_step, r->out + at * s->out_bytes,
          (uint64_t)(end - begin));
}

static hone_status run_binary(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    binary_run r = {s, io->in[0], io->in[1], io->out[0]};
    if (s->n <= HN_GRAIN)
        s->fn(r.x, s->x_step, r.y, s->y_step, r.out, (uint64_t)s->n);
    else
        hn_pool_for(io->pool, s->n, HN_GRAIN, run_binary_range, &r);
    return HONE_OK;
}

static void run_binary_row_range(void *ctx, int64_t begin, int64_t end) {
    const binary_run *r = ctx;
    const binary_step *s = r->step;
    for (int64_t i = begin; i < end; i++)
        s->fn(r->x + i * s->x_stride, 1, r->y + i * s->y_stride, 1, r->out + i * s->out_stride,
              (uint64_t)s->n);
}

static hone_status run_binary_rows(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    binary_run r = {s, io->in[0], io->in[1], io->out[0]};
    hn_pool_for(io->pool, s->n_rows, HN_MAX(1, HN_GRAIN / HN_MAX(s->n, 1)), run_binary_row_range,
                &r);
    return HONE_OK;
}

static hone_status run_binary_broadcast(const void *record, const hn_step_io *io) {
    const binary_step *s = record;
    hn_binary_job job = {s->fn, io->in[0], io->in[1], io->out[0], s->x_bytes, s->out_bytes};
    hn_broadcast_run(io->pool, &s->walk, hn_binary_box, &job);
    return HONE_OK;
}

/* ---- small floats, which are widened --------------------------------------------------------- */

typedef struct binary_small_step {
    hn_binary_fn fn;    /* of floats */
    hn_array x, y, out; /* without data */
    int64_t n_rows;     /* 0: rows are contiguous */
    hn_broadcast_walk walk;
} binary_small_step;

static hone_status run_binary_small(const void *record, const hn_step_io *io) {
    const binary_small_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->in[1]),
             out = hn_array_at(&s->out, io->out[0]);
    hn_binary_arrays arrays = {s->fn, &x, &y, &out, true};
    if (s->n_rows)
        hn_pool_for(io->pool, s->n_rows, HN_MAX(HN_GRAIN / HN_MAX(out.dims[out.rank - 1], 1), 1),
                    hn_binary_strided_rows, &arrays);
    else
        hn_broadcast_run_rows(io->pool, &s->walk, hn_binary_small_row, &arrays);
    return HONE_OK;
}

/* ---- filling records ------------------------------------------------------------------------- */

/* z = op(x, y). */
typedef struct binary_form {
    const hn_binary_op *op;
    const hn_array *x, *y, *z;
} binary_form;

static bool has_strided_rows(const binary_form *f) {
    return f->x->row_stride || f->y->row_stride || f->z->row_stride;
}

/* The axes of a walk move from the stack into the arena. */
static hone_status plan_walk(hn_eval *c, const binary_form *f, hn_broadcast_walk *w) {
    hn_walk_axis axes[HN_MAX_RANK];
    const hn_array *in[] = {f->x, f->y};
    w->axes = axes;
    hn_broadcast_plan(w, f->z, 2, in);
    size_t bytes = (size_t)w->rank * sizeof *axes;
    w->axes = hn_lower_alloc(c, bytes + 1);
    HN_TRY_PTR(w->axes);
    memcpy(w->axes, axes, bytes);
    return HONE_OK;
}

static hone_status lower_small(hn_eval *c, const binary_form *f, hn_lowered *out) {
    binary_small_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->fn = hn_binary_float_loop(f->op);
    s->x = hn_array_at(f->x, NULL);
    s->y = hn_array_at(f->y, NULL);
    s->out = hn_array_at(f->z, NULL);
    s->n_rows = has_strided_rows(f) ? hn_n_rows(f->z) : 0;
    HN_TRY(s->n_rows ? HONE_OK : plan_walk(c, f, &s->walk));
    *out = (hn_lowered){.run = run_binary_small, .record = s};
    return HONE_OK;
}

static void fill_strided(const binary_form *f, binary_step *s) {
    s->n_rows = hn_n_rows(f->z);
    s->n = f->z->dims[f->z->rank - 1];
    s->x_stride = hn_row_stride(f->x) * (int64_t)s->x_bytes;
    s->y_stride = hn_row_stride(f->y) * (int64_t)s->x_bytes;
    s->out_stride = hn_row_stride(f->z) * (int64_t)s->out_bytes;
}

static hone_status lower_form(hn_eval *c, const binary_form *f, hn_lowered *out) {
    hn_dtype t = f->x->dtype;
    bool is_small = hn_dtype_is_float(t) && !f->op->by_type[t];
    hn_binary_fn fn = hn_binary_loop_of(f->op, is_small ? HN_F32 : t);
    if (!fn || t != f->y->dtype || f->z->n_elems == 0)
        return HONE_OK;
    if (is_small)
        return lower_small(c, f, out);
    binary_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->fn = fn;
    s->x_bytes = hn_elem_bytes(t);
    s->out_bytes = hn_elem_bytes(f->z->dtype);
    s->n = (int64_t)f->z->n_elems;
    if (has_strided_rows(f)) {
        fill_strided(f, s);
        *out = (hn_lowered){.run = run_binary_rows, .record = s};
        return HONE_OK;
    }
    HN_TRY(plan_walk(c, f, &s->walk));
    bool is_one_run = s->walk.rank <= 1; /* over all elements */
    s->x_step = s->walk.rank && s->walk.axes[0].strides[0];
    s->y_step = s->walk.rank && s->walk.axes[0].strides[1];
    *out = (hn_lowered){.run = is_one_run ? run_binary : run_binary_broadcast, .record = s};
    return HONE_OK;
}

hone_status hn_lower_join(hn_eval *c, const char *name, const hn_array *x, const hn_array *y,
                          const hn_array *z, hn_lowered *out) {
    return lower_form(c, &(binary_form){hn_binary_find(name), x, y, z}, out);
}

/* ---- operators ------------------------------------------------------------------------------- */

/* Before version 7 the second operand was laid along an axis: that is evaluated. */
static hone_status lower_pair(hn_eval *c, const char *name, hn_lowered *out) {
    binary_form f = {hn_binary_find(name), hn_arg(c, 0), hn_arg(c, 1), hn_ret(c, 0)};
    if (!f.op || !f.x || !f.y || !f.z || hn_n_args(c) != 2 || hn_has_attr(hn_eval_node(c), "axis"))
        return HONE_OK;
    return lower_form(c, &f, out);
}

static hone_status lower_binary(hn_eval *c, hn_lowered *out) {
    return lower_pair(c, hn_infer_op(hn_eval_node(c)), out);
}
const hn_lowering hn_lower_binary[1] = {
    {.lower = lower_binary,
     .row_strides = {.args = UINT64_MAX, .rets = true, .want_one_type = true}}};

static hone_status lower_bit_shift(hn_eval *c, hn_lowered *out) {
    bool is_left = hn_attr_is(hn_eval_node(c), "direction", "LEFT");
    return lower_pair(c, is_left ? "BitShift.LEFT" : "BitShift.RIGHT", out);
}
const hn_lowering hn_lower_bit_shift[1] = {{.lower = lower_bit_shift}};

/* Before version 7 the slope lay along the channels. */
static hone_status lower_prelu(hn_eval *c, hn_lowered *out) {
    return hn_infer_version(hn_eval_node(c)) >= 7 ? lower_pair(c, "PRelu", out) : HONE_OK;
}
const hn_lowering hn_lower_prelu[1] = {{.lower = lower_prelu}};

/* Division of integers looks for zeros first, unless the divisors are known. */
typedef struct division_step {
    hn_array divisor; /* without data */
    hn_lowered divide;
} division_step;

static hone_status run_division(const void *record, const hn_step_io *io) {
    const division_step *s = record;
    hn_array divisor = hn_array_at(&s->divisor, io->in[1]);
    uint64_t zero = hn_first_zero(&divisor);
    if (zero < divisor.n_elems)
        return hn_fail(io->err, HONE_E_INVALID, HN_DIVIDES_BY_ZERO, (unsigned long long)zero);
    return s->divide.run(s->divide.record, io);
}

static hone_status lower_division(hn_eval *c, const char *name, hn_lowered *out) {
    HN_TRY(lower_pair(c, name, out));
    const hn_array *by = hn_arg(c, 1);
    bool is_known = by && by->data && hn_first_zero(by) == by->n_elems;
    if (!out->run || !hn_dtype_is_int(by->dtype) || is_known)
        return HONE_OK;
    division_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->divisor = hn_array_at(by, NULL);
    s->divide = *out;
    *out = (hn_lowered){.run = run_division, .record = s};
    return HONE_OK;
}

static hone_status lower_div(hn_eval *c, hn_lowered *out) {
    return lower_division(c, "Div", out);
}
const hn_lowering hn_lower_div[1] = {{.lower = lower_div}};

static hone_status lower_mod(hn_eval *c, hn_lowered *out) {
    return lower_division(c, hn_attr_i(hn_eval_node(c), "fmod", 0) ? "Mod.fmod" : "Mod", out);
}
const hn_lowering hn_lower_mod[1] = {{.lower = lower_mod}};

/* ---- any number of operands ------------------------------------------------------------------ */

/* The running result stands in the output. */
typedef struct variadic_step {
    uint32_t n;        /* operands, 2 or more */
    hn_lowered *joins; /* of the running result and operand i + 1 */
    hn_lowered divide; /* the sum becomes a mean; may be nothing */
    uint64_t divisor;  /* one element of the type */
} variadic_step;

static hone_status run_variadic(const void *record, const hn_step_io *io) {
    const variadic_step *s = record;
    hn_step_io pair = *io;
    const void *in[2] = {io->in[0], NULL};
    pair.in = in;
    for (uint32_t i = 0; i + 1 < s->n; i++, in[0] = io->out[0]) {
        in[1] = io->in[i + 1];
        HN_TRY(s->joins[i].run(s->joins[i].record, &pair));
    }
    in[1] = &s->divisor;
    return s->divide.run ? s->divide.run(s->divide.record, &pair) : HONE_OK;
}

static hone_status fill_joins(hn_eval *c, const hn_binary_op *op, variadic_step *s) {
    for (uint32_t i = 0; i + 1 < s->n; i++) {
        binary_form f = {op, i ? hn_ret(c, 0) : hn_arg(c, 0), hn_arg(c, i + 1), hn_ret(c, 0)};
        if (!f.x || !f.y)
            return HONE_E_UNSUPPORTED;
        HN_TRY(lower_form(c, &f, &s->joins[i]));
        if (!s->joins[i].run)
            return HONE_E_UNSUPPORTED;
    }
    return HONE_OK;
}

static hone_status fill_mean(hn_eval *c, variadic_step *s) {
    const hn_array *z = hn_ret(c, 0);
    hn_array divisor = {.dtype = z->dtype, .n_elems = 1, .data = &s->divisor};
    double n = s->n;
    hn_store_f64(&divisor, 0, 1, &n);
    return lower_form(c, &(binary_form){hn_binary_find("Div"), z, &divisor, z}, &s->divide);
}

static hone_status lower_variadic(hn_eval *c, hn_lowered *out) {
    const char *name = hn_infer_op(hn_eval_node(c));
    bool is_mean = strcmp(name, "Mean") == 0;
    const hn_binary_op *op = hn_binary_find(is_mean || strcmp(name, "Sum") == 0 ? "Add" : name);
    if (!hn_ret(c, 0) || !op || hn_n_args(c) < 2)
        return HONE_OK;
    variadic_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->n = hn_n_args(c);
    s->joins = hn_lower_alloc(c, s->n * sizeof *s->joins);
    HN_TRY_PTR(s->joins);
    HN_TRY(fill_joins(c, op, s));
    HN_TRY(is_mean ? fill_mean(c, s) : HONE_OK);
    *out = (hn_lowered){.run = run_variadic, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_variadic[1] = {{.lower = lower_variadic}};

/* ---- Pow ------------------------------------------------------------------------------------- */

typedef struct pow_step {
    hn_row_fn row;
    hn_binary_fn multiply;
    hn_array x, y, z; /* without data */
    hn_broadcast_walk walk;
} pow_step;

static hone_status run_pow(const void *record, const hn_step_io *io) {
    const pow_step *s = record;
    hn_array x = hn_array_at(&s->x, io->in[0]), y = hn_array_at(&s->y, io->in[1]),
             z = hn_array_at(&s->z, io->out[0]);
    hn_pow_job job = {&x, &y, &z, s->multiply};
    hn_broadcast_run_rows(io->pool, &s->walk, s->row, &job);
    return HONE_OK;
}

static hone_status lower_pow(hn_eval *c, hn_lowered *out) {
    binary_form f = {hn_binary_find("Mul"), hn_arg(c, 0), hn_arg(c, 1), hn_ret(c, 0)};
    if (!f.x || !f.y || !f.z || f.z->n_elems == 0 || hn_has_attr(hn_eval_node(c), "axis"))
        return HONE_OK;
    pow_step *s = hn_lower_alloc(c, sizeof *s);
    HN_TRY_PTR(s);
    s->row = hn_pow_row(f.x->dtype, f.y->dtype);
    s->multiply = hn_binary_float_loop(f.op);
    s->x = hn_array_at(f.x, NULL);
    s->y = hn_array_at(f.y, NULL);
    s->z = hn_array_at(f.z, NULL);
    HN_TRY(plan_walk(c, &f, &s->walk));
    *out = (hn_lowered){.run = run_pow, .record = s};
    return HONE_OK;
}
const hn_lowering hn_lower_pow[1] = {{.lower = lower_pow}};
