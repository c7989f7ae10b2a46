/* Evaluation of products of complex numbers, which are pairs along the last axis. */
#include "ops/eval/eval_broadcast.h"

typedef struct complex_job {
    const hn_array *a, *b;
    hn_array *y;
    double sign; /* of the imaginary parts of b: -1 for its conjugate */
} complex_job;

static void complex_row(void *ctx, const hn_row *row) {
    const complex_job *j = ctx;
    for (uint64_t i = 0; i < row->n; i++) {
        double a[2], b[2];
        hn_load_f64(j->a, 2 * (row->in[0] + (row->step[0] ? i : 0)), 2, a);
        hn_load_f64(j->b, 2 * (row->in[1] + (row->step[1] ? i : 0)), 2, b);
        double imaginary = j->sign * b[1];
        double y[2] = {a[0] * b[0] - a[1] * imaginary, a[0] * imaginary + a[1] * b[0]};
        hn_store_f64(j->y, 2 * (row->out + i), 2, y);
    }
}

/* The numbers of an array of pairs. */
static hn_array complex_elems(const hn_array *a) {
    hn_array numbers = *a;
    numbers.rank--;
    numbers.n_elems /= 2;
    return numbers;
}

static hone_status eval_complex_mul(hn_eval *c) {
    complex_job job = {hn_arg(c, 0), hn_arg(c, 1), hn_ret(c, 0), 1};
    bool is_conjugate = strcmp(hn_infer_op(hn_eval_node(c)), "ComplexMulConj") == 0;
    if (!job.y)
        return HONE_OK;
    const hn_array *all[] = {job.a, job.b, job.y};
    for (int i = 0; i < 3; i++)
        if (all[i]->rank < 1 || all[i]->dims[all[i]->rank - 1] != 2)
            return hn_eval_fail(c, HONE_E_SHAPE,
                                "complex numbers are pairs: the last dimension must be 2");
    job.sign = is_conjugate ? -1 : 1;
    hn_array a = complex_elems(job.a), b = complex_elems(job.b), y = complex_elems(job.y);
    const hn_array *in[] = {&a, &b};
    return hn_broadcast_rows(c, &y, 2, in, complex_row, &job);
}
const hn_impl hn_impl_complex_mul[1] = {{.eval = eval_complex_mul}};
