/* Matrix products, computed. */
#include "cpu/kernels/gemm_int8/gemm_int8.h"
#include "cpu/pack/node_state.h"
#include "ops/eval/product.h"

#include <math.h>

/* ---- stacks of matrices ---------------------------------------------------------------------- */

/* Strides of the leading axes of `a`, aligned to the end of the stack's; 0 where it is repeated. */
static void matmul_stack_strides(const hn_array *a, const hn_product_stack *s, int64_t matrix_elems,
                                 int64_t *strides) {
    hn_array leading = *a;
    leading.rank = HN_MAX(a->rank - 2, 0);
    hn_broadcast_strides(&leading, s->n_axes, strides);
    for (int32_t i = 0; i < s->n_axes; i++)
        strides[i] *= matrix_elems;
}

void hn_product_stack_read(const hn_product *p, const hn_array *y, hn_product_stack *s) {
    const hn_array *a = p->a, *b = p->b;
    bool trans_a = p->trans_a && a->rank > 1, trans_b = p->trans_b && b->rank > 1;
    s->k = a->dims[a->rank - 1 - trans_a];
    s->m = a->rank > 1 ? a->dims[a->rank - 2 + trans_a] : 1;
    s->n = b->rank > 1 ? b->dims[b->rank - 1 - trans_b] : 1;
    s->a_row = trans_a ? 1 : s->k;
    s->a_col = trans_a ? s->m : 1;
    s->b_row = trans_b ? 1 : s->n;
    s->b_col = trans_b ? s->k : 1;
    s->n_axes = y->rank - (a->rank > 1) - (b->rank > 1);
    for (int32_t i = 0; i < s->n_axes; i++)
        s->dims[i] = y->dims[i];
    s->n_products = (int64_t)hn_count(s->n_axes, s->dims);
    matmul_stack_strides(a, s, s->m * s->k, s->a_strides);
    matmul_stack_strides(b, s, s->k * s->n, s->b_strides);
    bool same_b = s->n_products > 0 && !trans_a;
    for (int32_t i = 0; i < s->n_axes; i++)
        same_b = same_b && (s->b_strides[i] == 0 || s->dims[i] == 1);
    if (same_b && hn_count(a->rank, a->dims) == (uint64_t)(s->n_products * s->m * s->k)) {
        s->m *= s->n_products; /* one tall matrix */
        s->n_products = 1;
        s->n_axes = 0;
    }
}

void hn_product_stack_begin(const hn_product_stack *s, int64_t product, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int32_t i = s->n_axes - 1; i >= 0; i--) {
        int64_t at = product % s->dims[i];
        product /= s->dims[i];
        *a += at * s->a_strides[i];
        *b += at * s->b_strides[i];
    }
}

/* Many products: one per task. Few: each over all threads. */
#define MATMUL_STACK(name, T)                                                    \
  typedef struct matmul_task_##name {                                            \
    const hn_products_##name *p;                                                 \
    hn_pool *pool; /* for what one product does */                               \
  } matmul_task_##name;                                                          \
  static void matmul_products_##name(void *ctx, int64_t begin, int64_t end) {    \
    const matmul_task_##name *task = ctx;                                        \
    const hn_products_##name *p = task->p;                                       \
    const hn_product_stack *s = p->stack;                                        \
    hn_gemm_job_##name job = {.m = s->m,                                         \
                              .n = s->n,                                         \
                              .k = s->k,                                         \
                              .a_row = s->a_row,                                 \
                              .a_col = s->a_col,                                 \
                              .b_row = s->b_row,                                 \
                              .b_col = s->b_col,                                 \
                              .packed_b = p->packed_b.at,                        \
                              .packed_as = p->packed_b.as,                       \
                              .epilogue = p->epilogue,                           \
                              .c_row = s->n};                                    \
    for (int64_t i = begin; i < end; i++) {                                      \
      int64_t a, b;                                                              \
      hn_product_stack_begin(s, i, &a, &b);                                      \
      job.a = p->a + a;                                                          \
      job.b = p->packed_b.at ? NULL : p->b + b;                                  \
      job.c = p->y + i * s->m * s->n;                                            \
      hn_gemm_##name(task->pool, &job);                                          \
    }                                                                            \
  }                                                                              \
  void hn_products_run_##name(hn_pool *pool, const hn_products_##name *p) {      \
    const hn_product_stack *s = p->stack;                                        \
    bool many = s->n_products > 1 && s->n_products >= 2 * hn_pool_threads(pool); \
    matmul_task_##name task = {p, many ? NULL : pool};                           \
    if (s->m == 0 || s->n == 0)                                                  \
      return;                                                                    \
    if (many)                                                                    \
      hn_pool_for(pool, s->n_products, 1, matmul_products_##name, &task);        \
    else                                                                         \
      matmul_products_##name(&task, 0, s->n_products);                           \
  }
HN_KERNEL_TYPES(MATMUL_STACK)
#undef MATMUL_STACK

hone_status hn_product_eval(hn_eval *c, const hn_product *p, hn_array *y) {
    const hn_array *a = p->a, *b = p->b;
    hn_product_stack s;
    hn_product_stack_read(p, y, &s);
    hn_pool *pool = hn_eval_pool(c);
    switch (a->dtype) {
    case HN_I32:
    case HN_U32:
        hn_products_run_u32(
            pool, &(hn_products_u32){.stack = &s, .a = a->data, .b = b->data, .y = y->data});
        return HONE_OK;
    case HN_I64:
    case HN_U64:
        hn_products_run_u64(
            pool, &(hn_products_u64){.stack = &s, .a = a->data, .b = b->data, .y = y->data});
        return HONE_OK;
    case HN_F64:
        hn_products_run_f64(
            pool, &(hn_products_f64){.stack = &s, .a = a->data, .b = b->data, .y = y->data});
        return HONE_OK;
    default:
        break;
    }
    hn_products_f32 job = {.stack = &s, .packed_b = p->packed_b};
    job.a = hn_wide_f32(c, a);
    job.b = hn_wide_f32(c, b);
    job.y = hn_buffer_f32(c, y);
    HN_TRY_PTR(job.a && (job.b || job.packed_b.at) && job.y);
    hn_products_run_f32(pool, &job);
    hn_narrow_f32(y, job.y);
    return HONE_OK;
}

hone_status hn_eval_matmul(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_product p = {.a = hn_arg(c, 0), .b = hn_arg(c, 1), .packed_b = hn_packed_right_side(c)};
    return y ? hn_product_eval(c, &p, y) : HONE_OK;
}
const hn_impl hn_impl_matmul[1] = {{.eval = hn_eval_matmul}};

/* ---- integers -------------------------------------------------------------------------------- */

/* Zero points and scales stand per row of the left operand, per column of the right one. */
static hn_slices matmul_row_slices(int64_t row_elems) {
    return (hn_slices){
        .step = (uint64_t)HN_MAX(row_elems, 1), .width = UINT64_MAX, .outer = UINT64_MAX};
}

static hn_slices matmul_column_slices(int64_t columns, int64_t matrix_elems) {
    return (hn_slices){.step = 1,
                       .width = (uint64_t)HN_MAX(columns, 1),
                       .outer = (uint64_t)HN_MAX(matrix_elems, 1)};
}

/* One for all columns, or one for each. */
static const int32_t *matmul_column_zeros(hn_eval *c, const hn_array *zero, int64_t n) {
    const hn_slices one = {1, 1, UINT64_MAX};
    const int32_t *given = hn_wide_i32(c, zero, NULL, &one);
    if (!given || zero->n_elems == 1 || zero->n_elems == (uint64_t)n)
        return given;
    int32_t *all = hn_eval_scratch_n(c, (uint64_t)n, sizeof *all);
    for (int64_t j = 0; all && j < n; j++)
        all[j] = zero->n_elems ? given[(uint64_t)j % zero->n_elems] : 0;
    return all;
}

/* Bytes by the instructions that multiply them. */
static hone_status matmul_int8_sums(hn_eval *c, const hn_product_stack *s, const hn_product *p,
                                    const hn_array *a_zero, const hn_array *b_zero, int32_t *sums) {
    const hn_slices one = {1, 1, UINT64_MAX};
    hn_gemm_int8_job job = {.m = s->m,
                            .n = s->n,
                            .k = s->k,
                            .a = p->a->data,
                            .a_is_signed = p->a->dtype == HN_I8,
                            .a_row = s->a_row,
                            .a_col = s->a_col,
                            .b = p->b->data,
                            .b_is_signed = p->b->dtype == HN_I8,
                            .b_row = s->b_row,
                            .b_col = s->b_col,
                            .packed_b = hn_packed_int8(c),
                            .c = sums,
                            .c_row = s->n};
    if (a_zero) {
        HN_TRY_PTR(job.a_zeros = hn_wide_i32(c, a_zero, NULL, &one));
        job.n_a_zeros = (int64_t)a_zero->n_elems;
    }
    if (b_zero) {
        HN_TRY_PTR(job.b_zeros = matmul_column_zeros(c, b_zero, s->n));
        job.n_b_zeros = b_zero->n_elems == 1 ? 1 : s->n;
    }
    HN_TRY_PTR(job.workspace = hn_eval_scratch(c, hn_gemm_int8_workspace_bytes(&job)));
    hn_gemm_int8(hn_eval_pool(c), &job);
    return HONE_OK;
}

hone_status hn_product_eval_int(hn_eval *c, const hn_product *p, const hn_array *a_zero,
                                const hn_array *b_zero, const hn_array *y, int32_t *sums) {
    hn_product_stack s;
    if (y->n_elems == 0)
        return HONE_OK;
    hn_product_stack_read(p, y, &s);
    if (hn_packed_int8(c) || (hn_dtype_is_byte(p->a->dtype) && hn_dtype_is_byte(p->b->dtype) &&
                              s.n_products == 1 && hn_gemm_int8_is_fast()))
        return matmul_int8_sums(c, &s, p, a_zero, b_zero, sums);
    hn_slices rows = matmul_row_slices(s.k);
    hn_slices columns = p->trans_b ? matmul_row_slices(s.k) : matmul_column_slices(s.n, s.k * s.n);
    const int32_t *wide_a = hn_wide_i32(c, p->a, a_zero, &rows),
                  *wide_b = hn_wide_i32(c, p->b, b_zero, &columns);
    HN_TRY_PTR(wide_a && wide_b);
    hn_products_run_u32(hn_eval_pool(c), &(hn_products_u32){.stack = &s,
                                                            .a = (const uint32_t *)wide_a,
                                                            .b = (const uint32_t *)wide_b,
                                                            .y = (uint32_t *)sums});
    return HONE_OK;
}

hone_status hn_eval_matmul_integer(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    hn_product p = {.a = hn_arg(c, 0), .b = hn_arg(c, 1)};
    return y ? hn_product_eval_int(c, &p, hn_arg(c, 2), hn_arg(c, 3), y, y->data) : HONE_OK;
}
const hn_impl hn_impl_matmul_integer[1] = {{.eval = hn_eval_matmul_integer}};

/* Float8: sums of floats. */
static hone_status matmul_float8_sums(hn_eval *c, const hn_array *a, const hn_array *b,
                                      const hn_array *y, float *sums) {
    hn_product_stack s;
    hn_product_stack_read(&(hn_product){.a = a, .b = b}, y, &s);
    hn_products_f32 job = {.stack = &s, .a = hn_wide_f32(c, a), .b = hn_wide_f32(c, b), .y = sums};
    HN_TRY_PTR(job.a && job.b);
    hn_products_run_f32(hn_eval_pool(c), &job);
    return HONE_OK;
}

static hone_status qlinear_sums(hn_eval *c, const hn_array *y, float *sums) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 3);
    if (hn_dtype_is_float(a->dtype))
        return matmul_float8_sums(c, a, b, y, sums);
    int32_t *ints = hn_eval_scratch_n(c, y->n_elems, sizeof *ints);
    HN_TRY_PTR(ints);
    HN_TRY(
        hn_product_eval_int(c, &(hn_product){.a = a, .b = b}, hn_arg(c, 2), hn_arg(c, 5), y, ints));
    for (uint64_t i = 0; i < y->n_elems; i++)
        sums[i] = (float)ints[i];
    return HONE_OK;
}

static hone_status eval_qlinear_matmul(hn_eval *c) {
    const hn_array *a = hn_arg(c, 0), *b = hn_arg(c, 3);
    const hn_array *a_scale = hn_arg(c, 1), *b_scale = hn_arg(c, 4), *y_scale = hn_arg(c, 6),
                   *y_zero = hn_arg(c, 7);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    hn_product_stack s;
    hn_product_stack_read(&(hn_product){.a = a, .b = b}, y, &s);
    float *sums = hn_eval_scratch_n(c, y->n_elems, sizeof *sums);
    const float *by_a = hn_wide_f32(c, a_scale), *by_b = hn_wide_f32(c, b_scale),
                *by_y = hn_wide_f32(c, y_scale);
    const float *zero = hn_wide_f32(c, y_zero);
    HN_TRY_PTR(sums && by_a && by_b && by_y && zero);
    if (a_scale->n_elems == 0 || b_scale->n_elems == 0 || y_scale->n_elems == 0 ||
        y_zero->n_elems == 0)
        return hn_eval_fail(c, HONE_E_SHAPE, "scales and zero points must not be empty");
    HN_TRY(qlinear_sums(c, y, sums));
    hn_slices rows = matmul_row_slices(s.n), columns = matmul_column_slices(s.n, s.m * s.n);
    float lo, hi;
    hn_int_range(y->dtype, &lo, &hi);
    for (uint64_t i = 0; i < y->n_elems; i++) {
        float scale = by_a[hn_slice_of(&rows, i, a_scale->n_elems)] *
                      by_b[hn_slice_of(&columns, i, b_scale->n_elems)] /
                      by_y[hn_slice_of(&rows, i, y_scale->n_elems)];
        float z = zero[hn_slice_of(&rows, i, y_zero->n_elems)];
        float v = sums[i] * scale;
        sums[i] = hn_dtype_is_float(y->dtype) ? v + z : fminf(fmaxf(hn_round_even(v) + z, lo), hi);
    }
    hn_store_f32(y, 0, y->n_elems, sums);
    return HONE_OK;
}
const hn_impl hn_impl_qlinear_matmul[1] = {{.eval = eval_qlinear_matmul}};

/* ---- determinant ----------------------------------------------------------------------------- */

/* Elimination with the largest pivot; destroys m[n, n]. */
static double eliminate(int64_t n, double *m) {
    double det = 1;
    for (int64_t k = 0; k < n && !hn_spent((uint64_t)(n * n)); k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(m[i * n + k]) > fabs(m[pivot * n + k]))
                pivot = i;
        if (m[pivot * n + k] == 0)
            return 0;
        det *= pivot == k ? m[pivot * n + k] : -m[pivot * n + k];
        for (int64_t j = k; j < n; j++) {
            double t = m[k * n + j];
            m[k * n + j] = m[pivot * n + j];
            m[pivot * n + j] = t;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double factor = m[i * n + k] / m[k * n + k];
            for (int64_t j = k; j < n; j++)
                m[i * n + j] -= factor * m[k * n + j];
        }
    }
    return det;
}

static hone_status eval_det(hn_eval *c) {
    const hn_array *x = hn_arg(c, 0);
    hn_array *y = hn_ret(c, 0);
    if (!y)
        return HONE_OK;
    int64_t n = x->dims[x->rank - 1];
    uint64_t elems = (uint64_t)(n * n);
    double *m = hn_eval_scratch_n(c, elems, sizeof *m);
    HN_TRY_PTR(m);
    for (uint64_t i = 0; i < y->n_elems; i++) {
        hn_load_f64(x, i * elems, elems, m);
        double det = eliminate(n, m);
        hn_store_f64(y, i, 1, &det);
    }
    return HONE_OK;
}
const hn_impl hn_impl_det[1] = {{.eval = eval_det}};
