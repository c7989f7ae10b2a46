/* Einsum, computed: operands are contracted two at a time, each time as a stack of matrix products.
 */
#include "ops/eval/widen.h"

#include "cpu/kernels/kernel.h"

/* Letters, and the axes that an ellipsis stands for, counted from its end. */
enum { EINSUM_ALPHABET = 52, EINSUM_LABELS = EINSUM_ALPHABET + HN_MAX_RANK };

typedef struct einsum_operand {
    bool has[EINSUM_LABELS];
    int64_t stride[EINSUM_LABELS]; /* of a diagonal: the sum; of a repeated axis: 0 */
    const void *data;
} einsum_operand;

/* A list of labels is also the shape of what it orders. */
typedef struct einsum_labels {
    int32_t n;
    int32_t at[EINSUM_LABELS];
} einsum_labels;

typedef struct einsum_work {
    const char *at, *end;
    int64_t size[EINSUM_LABELS];
    int32_t n_uses[EINSUM_LABELS]; /* by operands that are not contracted yet */
    bool in_output[EINSUM_LABELS];
    einsum_labels output;
} einsum_work;

/* ---- the equation; inference found it right -------------------------------------------------- */

static int32_t einsum_label(char ch) {
    return ch >= 'A' && ch <= 'Z' ? ch - 'A' : ch - 'a' + 26;
}

/* Next label of the term, -1 at its end. Each axis of an ellipsis is a label of its own; *dots_left
 * counts them down. */
static int32_t einsum_next(einsum_work *w, int32_t dots_rank, int32_t *dots_left) {
    if (*dots_left > 0)
        return EINSUM_ALPHABET + --*dots_left;
    while (w->at < w->end && *w->at == ' ')
        w->at++;
    if (w->at >= w->end || *w->at == ',' || *w->at == '-')
        return -1;
    if (*w->at != '.')
        return einsum_label(*w->at++);
    w->at += 3;
    *dots_left = dots_rank;
    return einsum_next(w, 0, dots_left);
}

static int32_t einsum_letters(const einsum_work *w) {
    int32_t n = 0;
    for (const char *p = w->at; p < w->end && *p != ',' && *p != '-'; p++)
        n += *p != ' ' && *p != '.';
    return n;
}

static void read_einsum_operand(einsum_work *w, const hn_array *x, einsum_operand *o) {
    int64_t strides[HN_MAX_RANK];
    int32_t dots_left = 0, dots_rank = x->rank - einsum_letters(w), label;
    hn_strides(x->rank, x->dims, strides);
    memset(o, 0, sizeof *o);
    for (int32_t axis = 0; (label = einsum_next(w, dots_rank, &dots_left)) >= 0 && axis < x->rank;
         axis++) {
        if (!o->has[label])
            w->n_uses[label]++;
        o->has[label] = true;
        if (w->size[label] == 1 || x->dims[axis] != 1)
            w->size[label] = x->dims[axis];
        if (x->dims[axis] != 1)
            o->stride[label] += strides[axis];
    }
    w->at += w->at < w->end; /* the comma, or the first half of the arrow */
}

static void einsum_put(einsum_work *w, int32_t label) {
    w->in_output[label] = true;
    w->output.at[w->output.n++] = label;
}

/* How often a letter stands on the left side. */
static int32_t einsum_count(hn_bytes equation, int32_t label) {
    const char *text = equation.at;
    int32_t n = 0;
    for (uint64_t i = 0; i < equation.n && text[i] != '-'; i++)
        n += text[i] != ' ' && text[i] != '.' && text[i] != ',' && einsum_label(text[i]) == label;
    return n;
}

static void read_einsum_output(einsum_work *w, hn_bytes equation) {
    int32_t dots_rank = 0, dots_left = 0, label;
    while (dots_rank < HN_MAX_RANK && w->n_uses[EINSUM_ALPHABET + dots_rank] > 0)
        dots_rank++;
    bool has_arrow = w->at < w->end && *w->at == '>';
    if (has_arrow) {
        w->at++;
        while ((label = einsum_next(w, dots_rank, &dots_left)) >= 0)
            einsum_put(w, label);
        return;
    }
    while (dots_rank > 0)
        einsum_put(w, EINSUM_ALPHABET + --dots_rank);
    for (label = 0; label < EINSUM_ALPHABET; label++)
        if (einsum_count(equation, label) == 1)
            einsum_put(w, label);
}

/* ---- contraction ----------------------------------------------------------------------------- */

/* The labels of an operand that are in the second one or not, and are still needed or not. */
static void einsum_select(const einsum_work *w, const einsum_operand *a, const einsum_operand *b,
                          bool shared, bool needed, einsum_labels *out) {
    out->n = 0;
    for (int32_t i = 0; i < EINSUM_LABELS; i++) {
        bool later = w->in_output[i] || w->n_uses[i] > 0;
        if (a->has[i] && b->has[i] == shared && later == needed)
            out->at[out->n++] = i;
    }
}

static void einsum_append(einsum_labels *to, const einsum_labels *more) {
    for (int32_t i = 0; i < more->n; i++)
        to->at[to->n++] = more->at[i];
}

static bool einsum_elems(const einsum_work *w, const einsum_labels *l, int64_t *out) {
    *out = 1;
    for (int32_t i = 0; i < l->n; i++)
        if (!hn_mul_i64(*out, w->size[l->at[i]], out))
            return false;
    return true;
}

/* Moves to the next position; false after the last. *offset follows. */
static bool einsum_step(const einsum_work *w, const einsum_labels *l, const int64_t *strides,
                        int64_t *at, int64_t *offset) {
    for (int32_t i = l->n - 1; i >= 0; i--) {
        int64_t stride = strides[l->at[i]];
        *offset += stride;
        if (++at[i] < w->size[l->at[i]])
            return true;
        *offset -= stride * at[i];
        at[i] = 0;
    }
    return false;
}

/* A new operand that has these labels, in this order, side by side. */
static void einsum_dense(const einsum_work *w, const einsum_labels *l, const void *data,
                         einsum_operand *o) {
    int64_t step = 1;
    memset(o, 0, sizeof *o);
    o->data = data;
    for (int32_t i = l->n - 1; i >= 0; i--) {
        o->has[l->at[i]] = true;
        o->stride[l->at[i]] = step;
        step *= w->size[l->at[i]];
    }
}

#define EINSUM_TYPED(name, T)                                                                      \
  /* Brings an operand into the order of `keep`, and adds up along `sum`. */                       \
  static void einsum_gather_##name(const einsum_work *w, const einsum_operand *o,                  \
                                   const einsum_labels *keep, const einsum_labels *sum, int64_t n, \
                                   T *out) {                                                       \
    int64_t at[EINSUM_LABELS] = {0}, inner_at[EINSUM_LABELS] = {0}, offset = 0, n_sum;             \
    const T *data = o->data;                                                                       \
    bool has_terms = einsum_elems(w, sum, &n_sum) && n_sum > 0;                                    \
    for (int64_t i = 0; i < n && !hn_spent(8); i++) {                                              \
      T total = 0;                                                                                 \
      int64_t inner = offset;                                                                      \
      if (has_terms)                                                                               \
        do                                                                                         \
          total += data[inner];                                                                    \
        while (einsum_step(w, sum, o->stride, inner_at, &inner) && !hn_spent(8));                  \
      out[i] = total;                                                                              \
      einsum_step(w, keep, o->stride, at, &offset);                                                \
    }                                                                                              \
  }                                                                                                \
  static T *einsum_ordered_##name(hn_eval *c, const einsum_work *w, const einsum_operand *o,       \
                                  const einsum_labels *keep, const einsum_labels *sum) {           \
    int64_t n;                                                                                     \
    T *out = einsum_elems(w, keep, &n) ? hn_eval_scratch_n(c, (uint64_t)n, sizeof(T)) : NULL;      \
    if (out)                                                                                       \
      einsum_gather_##name(w, o, keep, sum, n, out);                                               \
    return out;                                                                                    \
  }                                                                                                \
  static hone_status einsum_pair_##name(hn_eval *c, const einsum_work *w, const einsum_operand *a, \
                                        const einsum_operand *b, einsum_operand *out) {            \
    einsum_labels stack, depth, rows, columns, sum_a, sum_b, all;                                  \
    int64_t n_stack, k, m, n, elems;                                                               \
    einsum_select(w, a, b, true, true, &stack);                                                    \
    einsum_select(w, a, b, true, false, &depth);                                                   \
    einsum_select(w, a, b, false, true, &rows);                                                    \
    einsum_select(w, b, a, false, true, &columns);                                                 \
    einsum_select(w, a, b, false, false, &sum_a);                                                  \
    einsum_select(w, b, a, false, false, &sum_b);                                                  \
    einsum_labels left = stack, right = stack;                                                     \
    einsum_append(&left, &rows);                                                                   \
    all = left;                                                                                    \
    einsum_append(&all, &columns);                                                                 \
    einsum_append(&left, &depth);                                                                  \
    einsum_append(&right, &depth);                                                                 \
    einsum_append(&right, &columns);                                                               \
    if (!einsum_elems(w, &stack, &n_stack) || !einsum_elems(w, &depth, &k) ||                      \
        !einsum_elems(w, &rows, &m) || !einsum_elems(w, &columns, &n) ||                           \
        !einsum_elems(w, &all, &elems))                                                            \
      return hn_eval_fail(c, HONE_E_LIMIT, "an intermediate result has too many elements");        \
    const T *x = einsum_ordered_##name(c, w, a, &left, &sum_a),                                    \
            *z = einsum_ordered_##name(c, w, b, &right, &sum_b);                                   \
    T *y = hn_eval_scratch_n(c, (uint64_t)elems, sizeof(T));                                       \
    HN_TRY_PTR(x &&z &&y);                                                                         \
    for (int64_t i = 0; i < n_stack; i++)                                                          \
      hn_gemm_##name(hn_eval_pool(c), &(hn_gemm_job_##name){.m = m,                                \
                                                            .n = n,                                \
                                                            .k = k,                                \
                                                            .a = x + i * m * k,                    \
                                                            .a_row = k,                            \
                                                            .a_col = 1,                            \
                                                            .b = z + i * k * n,                    \
                                                            .b_row = n,                            \
                                                            .b_col = 1,                            \
                                                            .c = y + i * m * n,                    \
                                                            .c_row = n});                          \
    einsum_dense(w, &all, y, out);                                                                 \
    return HONE_OK;                                                                                \
  }                                                                                                \
  static hone_status einsum_run_##name(hn_eval *c, einsum_work *w, einsum_operand *o, uint32_t n,  \
                                       T *y) {                                                     \
    einsum_labels sum;                                                                             \
    const einsum_operand none = {.data = NULL};                                                    \
    for (uint32_t i = 1; i < n; i++) {                                                             \
      for (int32_t l = 0; l < EINSUM_LABELS; l++)                                                  \
        w->n_uses[l] -= o[i].has[l] + (i == 1 && o[0].has[l]);                                     \
      einsum_operand next;                                                                         \
      HN_TRY(einsum_pair_##name(c, w, &o[0], &o[i], &next));                                       \
      o[0] = next;                                                                                 \
    }                                                                                              \
    if (n == 1)                                                                                    \
      memset(w->n_uses, 0, sizeof w->n_uses);                                                      \
    einsum_select(w, &o[0], &none, false, false, &sum);                                            \
    int64_t elems;                                                                                 \
    if (!einsum_elems(w, &w->output, &elems))                                                      \
      return HONE_E_LIMIT;                                                                         \
    einsum_gather_##name(w, &o[0], &w->output, &sum, elems, y);                                    \
    return HONE_OK;                                                                                \
  }
EINSUM_TYPED(f32, float)
EINSUM_TYPED(f64, double)
EINSUM_TYPED(u64, uint64_t)
#undef EINSUM_TYPED

/* ---- the operator ---------------------------------------------------------------------------- */

static hone_status einsum_f32(hn_eval *c, einsum_work *w, einsum_operand *o, uint32_t n,
                              hn_array *y) {
    float *wide = hn_buffer_f32(c, y);
    HN_TRY_PTR(wide);
    HN_TRY(einsum_run_f32(c, w, o, n, wide));
    hn_narrow_f32(y, wide);
    return HONE_OK;
}

/* Sums wrap, so the low bits of wide ones are the sums of narrow ones. */
static hone_status einsum_int(hn_eval *c, einsum_work *w, einsum_operand *o, uint32_t n,
                              hn_array *y) {
    uint64_t *wide = hn_eval_scratch_n(c, y->n_elems, sizeof *wide);
    HN_TRY_PTR(wide);
    HN_TRY(einsum_run_u64(c, w, o, n, wide));
    hn_store_i64(y, 0, y->n_elems, (const int64_t *)wide);
    return HONE_OK;
}

static const void *einsum_wide(hn_eval *c, const hn_array *a) {
    if (a->dtype == HN_F64)
        return a->data;
    if (!hn_dtype_is_int(a->dtype))
        return hn_wide_f32(c, a);
    int64_t *out = hn_eval_scratch_n(c, a->n_elems, sizeof *out);
    if (out)
        hn_load_i64(a, 0, a->n_elems, out);
    return out;
}

static hone_status eval_einsum(hn_eval *c) {
    hn_array *y = hn_ret(c, 0);
    uint32_t n = hn_n_args(c);
    hn_bytes equation = hn_attr_s(hn_eval_node(c), "equation");
    einsum_operand *operands = hn_eval_scratch_n(c, n, sizeof *operands);
    HN_TRY_PTR(operands);
    if (!y)
        return HONE_OK;
    einsum_work w = {.at = equation.at};
    w.end = w.at + equation.n;
    for (int32_t i = 0; i < EINSUM_LABELS; i++)
        w.size[i] = 1;
    for (uint32_t i = 0; i < n; i++) {
        read_einsum_operand(&w, hn_arg(c, i), &operands[i]);
        operands[i].data = einsum_wide(c, hn_arg(c, i));
        HN_TRY_PTR(operands[i].data);
    }
    read_einsum_output(&w, equation);
    if (y->dtype == HN_F64)
        return einsum_run_f64(c, &w, operands, n, y->data);
    return hn_dtype_is_int(y->dtype) ? einsum_int(c, &w, operands, n, y)
                                     : einsum_f32(c, &w, operands, n, y);
}
const hn_impl hn_impl_einsum[1] = {{.eval = eval_einsum}};
