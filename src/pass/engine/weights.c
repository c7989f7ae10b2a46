/* Constant weights as numbers: read, scaled by channel, written back in their own type. */
#include "pass/engine/weights.h"

#include <float.h>
#include <math.h>

#define SMALL_WEIGHT_BYTES 65536u  /* a copy of so much is not worth keeping two nodes for */
#define ROW_ELEMS 1024u            /* numbers that are widened at a time */
#define LARGE_WEIGHT_BYTES 131072u /* from here on computing it is left to who lays it out, */
#define LARGE_SCALE                                                             \
  1048576.0 /* unless factors are so large that weights might leave their range \
             */

static bool is_weight_type(hn_dtype t) {
    return t == HN_F32 || t == HN_F64 || t == HN_F16 || t == HN_BF16;
}

static void load_row(const hn_tensor *t, uint64_t begin, uint64_t n, double *out) {
    if (t->dtype == HN_F32) {
        float row[ROW_ELEMS];
        for (uint64_t done = 0; done < n; done += ROW_ELEMS) {
            uint64_t count = HN_MIN(n - done, ROW_ELEMS);
            memcpy(row, (const char *)t->data + (begin + done) * sizeof *row, count * sizeof *row);
            for (uint64_t i = 0; i < count; i++)
                out[done + i] = (double)row[i];
        }
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        out[i] = 0;
        hn_tensor_get_f64(t, begin + i, &out[i]);
    }
}

/* False when a finite number became infinite. */
static bool store_number(hn_dtype elem, void *data, uint64_t i, double v) {
    float f = (float)v;
    if (elem == HN_F64) {
        ((double *)data)[i] = v;
        f = 0;
    } else if (elem == HN_F32) {
        ((float *)data)[i] = f;
    } else if (elem == HN_F16) {
        ((uint16_t *)data)[i] = hn_f32_to_f16(f);
        f = hn_f16_to_f32(((uint16_t *)data)[i]);
    } else {
        ((uint16_t *)data)[i] = hn_f32_to_bf16(f);
        f = hn_bf16_to_f32(((uint16_t *)data)[i]);
    }
    return isfinite(f) || !isfinite(v);
}

/* The same for most weights there are, without a branch per element. */
static bool store_floats(float *out, uint64_t n, const double *in) {
    bool fits = true;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = (float)in[i];
        fits &= (fabsf(out[i]) <= FLT_MAX) | !(fabs(in[i]) <= DBL_MAX);
    }
    return fits;
}

static bool store_row(hn_dtype elem, void *data, uint64_t begin, uint64_t n, const double *in) {
    bool fits = true;
    if (elem == HN_F32)
        return store_floats((float *)data + begin, n, in);
    for (uint64_t i = 0; i < n; i++)
        fits = store_number(elem, data, begin + i, in[i]) && fits;
    return fits;
}

const hn_tensor *hn_own_weight(hn_rule *r, hn_id value) {
    const hn_tensor *t = hn_const(r, value);
    if (!t || !is_weight_type(t->dtype) || (!t->data && !hn_tensor_is_deferred(t)))
        return NULL;
    if (hn_n_readers(r, value) > 1 && t->data_bytes > SMALL_WEIGHT_BYTES) {
        hn_miss(r, "the weight has %u readers and is too large for a copy", hn_n_readers(r, value));
        return NULL;
    }
    return t;
}

double *hn_const_f64s(hn_rule *r, const hn_tensor *t) {
    double *out = HN_NEW_N(r->pass->rule_scratch, double, HN_MAX(t->n_elems, 1));
    const hn_tensor *numbers = hn_tensor_dense(r->pass->rule_scratch, t);
    if (!out || !numbers)
        return NULL;
    load_row(numbers, 0, t->n_elems, out);
    return out;
}

/* Where the first dimension of a constant operand stands in the other one. */
static int64_t broadcast_offset(const hn_rule *r, hn_id node, const hn_tensor *t, int32_t rank) {
    int64_t plain = (int64_t)rank - t->rank;
    if (hn_node_version(r, node) >= 7)
        return plain;
    if (hn_node_i(r, node, "broadcast", 0) == 0)
        return t->rank == rank ? 0 : -1;
    return hn_node_i(r, node, "axis", plain);
}

bool hn_channel_const(hn_rule *r, hn_id node, hn_id constant, int32_t rank, int32_t axis,
                      uint64_t n, double **out) {
    const hn_tensor *t = hn_const(r, constant);
    if (!t || !is_weight_type(t->dtype) || !t->data)
        return false;
    int64_t offset = broadcast_offset(r, node, t, rank);
    if (offset < 0 || offset + t->rank > rank || (t->n_elems != 1 && t->n_elems != n))
        return false;
    for (int32_t i = 0; i < t->rank; i++)
        if (t->dims[i] != 1 && offset + i != axis)
            return false;
    double *given = hn_const_f64s(r, t),
           *all = HN_NEW_N(r->pass->rule_scratch, double, HN_MAX(n, 1));
    if (!given || !all)
        return false;
    for (uint64_t i = 0; i < n; i++)
        all[i] = given[t->n_elems == 1 ? 0 : i];
    *out = all;
    return true;
}

/* Walks over the elements of a weight in order. */
typedef struct channel_walk {
    const hn_channel_layout *layout;
    uint64_t outer, mid, inner;
    uint64_t first; /* channel of mid 0 */
} channel_walk;

/* The next elements of one channel: up to `most` of them, and how many. */
static uint64_t next_run(channel_walk *w, uint64_t most, uint64_t *channel) {
    uint64_t n = HN_MIN(most, w->layout->n_inner - w->inner);
    *channel = w->first + w->mid;
    w->inner += n;
    if (w->inner == w->layout->n_inner) {
        w->inner = 0;
        if (++w->mid == w->layout->n_mid) {
            w->mid = 0;
            w->first = ++w->outer / w->layout->outer_per_group * w->layout->n_mid;
        }
    }
    return n;
}

/* ---- scaling --------------------------------------------------------------------------------- */

static bool may_wait(const hn_rule *r, const hn_tensor *t, const hn_channel_map *by) {
    bool is_moderate = r->pass->options->defer_weights && t->dtype == HN_F32 &&
                       t->data_bytes >= LARGE_WEIGHT_BYTES;
    for (uint64_t i = 0; is_moderate && i < by->n; i++)
        is_moderate = fabs(by->scale[i]) <= LARGE_SCALE;
    return is_moderate;
}

static const hn_tensor *scaled_now(hn_rule *r, const hn_tensor *t, const hn_channel_layout *layout,
                                   const double *scale) {
    void *data;
    hn_tensor *made = hn_new_tensor(r, t->dtype, t->rank, t->dims, &data);
    channel_walk walk = {.layout = layout};
    double row[ROW_ELEMS];
    bool fits = made != NULL;
    for (uint64_t begin = 0; fits && begin < t->n_elems; begin += ROW_ELEMS) {
        uint64_t n = HN_MIN(t->n_elems - begin, ROW_ELEMS);
        load_row(t, begin, n, row);
        for (uint64_t i = 0, run, channel; i < n; i += run) {
            run = next_run(&walk, n - i, &channel);
            for (uint64_t k = i; k < i + run; k++)
                row[k] *= scale[channel];
        }
        fits = store_row(t->dtype, data, begin, n, row);
    }
    return fits ? made : NULL;
}

hn_id hn_scaled_weight(hn_rule *r, hn_id weight, const hn_channel_layout *layout,
                       const hn_channel_map *by) {
    const hn_tensor *t = hn_const(r, weight);
    const hn_tensor *made =
        may_wait(r, t, by) ? hn_tensor_scaled(r->pass->model->arena, t, layout, by->n, by->scale)
                           : NULL;
    if (!made) {
        t = hn_tensor_dense(r->pass->rule_scratch, t);
        made = t ? scaled_now(r, t, layout, by->scale) : NULL;
    }
    return made ? hn_new_const(r, hn_s(hn_value_at(r->g, weight)->name), made) : HN_NONE;
}

hn_id hn_new_const_f64s(hn_rule *r, const char *stem, hn_dtype elem, int32_t rank,
                        const int64_t *dims, const double *numbers) {
    void *data;
    hn_tensor *made = hn_new_tensor(r, elem, rank, dims, &data);
    if (!made || !store_row(elem, data, 0, made->n_elems, numbers))
        return HN_NONE;
    return hn_new_const(r, stem, made);
}

hn_id hn_lone_maker(const hn_rule *r, hn_id reader, hn_id value, const char *ops) {
    hn_id node = hn_maker(r, value, ops);
    if (node == HN_NONE || hn_only_reader(r, value) != reader)
        return HN_NONE;
    return hn_at(r, node)->block == hn_at(r, reader)->block ? node : HN_NONE;
}
