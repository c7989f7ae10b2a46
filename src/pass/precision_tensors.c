/* Float tensors as float16 or bfloat16. */
#include "ops/eval_int.h"
#include "pass/precision.h"

#include <math.h>

#define MAX_FLOAT16 65504.0
#define MIN_FLOAT16 0x1p-24
#define MAX_BFLOAT16 0x1.fep127
#define MIN_BFLOAT16 0x1p-133

double hn_narrow_limit(hn_dtype to) {
    return to == HN_F16 ? MAX_FLOAT16 : MAX_BFLOAT16;
}

static hn_array view_of_tensor(const hn_tensor *t) {
    return (hn_array){.dtype = t->dtype,
                      .rank = t->rank,
                      .n_elems = t->n_elems,
                      .dims = t->dims,
                      .data = (void *)(uintptr_t)t->data};
}

bool hn_narrow_fits(const hn_tensor *t, hn_dtype to) {
    double limit = hn_narrow_limit(to);
    hn_array from = view_of_tensor(t);
    float x[HN_TILE];
    for (uint64_t i = 0; i < t->n_elems; i += HN_TILE) {
        uint64_t n = HN_MIN(t->n_elems - i, (uint64_t)HN_TILE);
        hn_load_f32(&from, i, n, x);
        for (uint64_t k = 0; k < n; k++)
            if (isfinite(x[k]) && fabs((double)x[k]) > limit)
                return false;
    }
    return true;
}

static float not_zero(float x, double least) {
    return x != 0 && fabs((double)x) < least ? copysignf((float)least, x) : x;
}

const hn_tensor *hn_narrow_tensor(hn_model *m, const hn_tensor *t, hn_dtype to) {
    double least = to == HN_F16 ? MIN_FLOAT16 : MIN_BFLOAT16;
    void *data;
    hn_tensor *copy = hn_tensor_blank(m->arena, to, t->rank, t->dims, &data);
    if (!copy)
        return NULL;
    hn_array from = view_of_tensor(t), into = view_of_tensor(copy);
    float x[HN_TILE];
    for (uint64_t i = 0; i < t->n_elems; i += HN_TILE) {
        uint64_t n = HN_MIN(t->n_elems - i, (uint64_t)HN_TILE);
        hn_load_f32(&from, i, n, x);
        for (uint64_t k = 0; k < n; k++)
            x[k] = not_zero(x[k], least);
        hn_store_f32(&into, i, n, x);
    }
    hn_model_let_go(m, t);
    return copy;
}
