/* Converts float tensors to float16 or bfloat16. */
#include "ops/eval/eval_int.h"
#include "pass/precision/precision.h"

#include <math.h>

#define MAX_FLOAT16 65504.0
#define MIN_FLOAT16 0x1p-24
#define MAX_BFLOAT16 0x1.fep127
#define MIN_BFLOAT16 0x1p-133

double hn_narrow_limit(hn_dtype to) {
    return to == HN_F16 ? MAX_FLOAT16 : MAX_BFLOAT16;
}

/* Loads elements [begin, begin + n) of data that may be unaligned, because it can lie in the
 * file. */
static void load_tile(const hn_tensor *t, uint64_t begin, uint64_t n, float *out) {
    double aligned[HN_TILE];
    size_t bytes = hn_elem_bytes(t->dtype);
    memcpy(aligned, (const char *)t->data + begin * bytes, n * bytes);
    hn_load_f32(&(hn_array){.dtype = t->dtype, .n_elems = n, .data = aligned}, 0, n, out);
}

bool hn_narrow_fits(const hn_tensor *t, hn_dtype to) {
    double limit = hn_narrow_limit(to);
    float x[HN_TILE];
    for (uint64_t i = 0; i < t->n_elems; i += HN_TILE) {
        uint64_t n = HN_MIN(t->n_elems - i, (uint64_t)HN_TILE);
        load_tile(t, i, n, x);
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
    hn_array into = {.dtype = to, .n_elems = t->n_elems, .data = data};
    float x[HN_TILE];
    for (uint64_t i = 0; i < t->n_elems; i += HN_TILE) {
        uint64_t n = HN_MIN(t->n_elems - i, (uint64_t)HN_TILE);
        load_tile(t, i, n, x);
        for (uint64_t k = 0; k < n; k++)
            x[k] = not_zero(x[k], least);
        hn_store_f32(&into, i, n, x);
    }
    hn_model_let_go(m, t);
    return copy;
}
