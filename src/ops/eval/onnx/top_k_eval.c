/* TopK. Few of many elements are found with a heap: nearly all are worse than its worst and leave
 * after one comparison. Many of them are sorted: key and place in one number, cut at a pivot
 * without a branch; what lies behind the last place that is asked for stays as it is. 300 of 3234
 * floats take 20 us, with the heap 80; 100 of 8400 take as long with both. */
#include "ops/eval/copy.h"
#include "ops/eval/sort_keys.h"
#include "ops/eval/onnx/top_k_eval.h"

#define SLAB_GRAIN 2048 /* elements that are worth another thread */

/* ---- a heap ---------------------------------------------------------------------------------- */

typedef struct top_entry {
    int64_t key; /* the larger the better */
    int64_t index;
} top_entry;

/* Of equal keys the one that stands first is better. */
static bool top_is_worse(top_entry a, top_entry b) {
    return a.key != b.key ? a.key < b.key : a.index > b.index;
}

/* Restores the heap, whose worst entry stands at its top, below entry i. */
static void top_sift_down(top_entry *heap, int64_t n, int64_t i) {
    for (;;) {
        int64_t worst = i;
        for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (top_is_worse(heap[child], heap[worst]))
                worst = child;
        if (worst == i)
            return;
        top_entry moved = heap[i];
        heap[i] = heap[worst];
        heap[worst] = moved;
        i = worst;
    }
}

/* The k best of n keys, best first. */
static void top_select(const int64_t *keys, int64_t n, int64_t k, top_entry *heap) {
    for (int64_t i = 0; i < k; i++)
        heap[i] = (top_entry){keys[i], i};
    for (int64_t i = k / 2 - 1; i >= 0 && !hn_spent(8); i--)
        top_sift_down(heap, k, i);
    for (int64_t i = k; k > 0 && i < n; i++) {
        top_entry next = {keys[i], i};
        if (top_is_worse(heap[0], next)) {
            heap[0] = next;
            top_sift_down(heap, k, 0);
        }
    }
    for (int64_t left = k - 1; left > 0 && !hn_spent(64); left--) {
        top_entry worst = heap[0];
        heap[0] = heap[left];
        heap[left] = worst;
        top_sift_down(heap, left, 0);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* What one thread works with. */
typedef struct top_room {
    void *keys;      /* int32 or int64, of all columns of a slab */
    int64_t *column; /* keys of one */
    uint64_t *items; /* the same memory */
    top_entry *best;
} top_room;

typedef struct top_run {
    const hn_top_k_form *form;
    const hn_array *x;
    void *values, *indices; /* NULL: nobody asked for them */
    const hn_pool *pool;
    top_room *rooms; /* by lane */
} top_run;

static void find_by_heap(const top_run *t, const top_room *room, int64_t inner) {
    const int64_t *keys = room->keys;
    for (int64_t m = 0; m < t->form->s.mid; m++) {
        int64_t key = keys[m * t->form->s.inner + inner];
        room->column[m] = t->form->smallest ? ~key : key;
    }
    top_select(room->column, t->form->s.mid, t->form->k, room->best);
}

static void find_by_sort(const top_run *t, const top_room *room, int64_t inner) {
    const int32_t *keys = room->keys;
    for (int64_t m = 0; m < t->form->s.mid; m++) {
        int32_t key = keys[m * t->form->s.inner + inner];
        room->items[m] = hn_pack_item(t->form->smallest ? ~key : key, m);
    }
    hn_sort_front(room->items, t->form->s.mid, t->form->k);
    for (int64_t j = 0; j < t->form->k; j++)
        room->best[j].index = hn_item_index(room->items[j]);
}

static void write_column(const top_run *t, const top_room *room, int64_t outer, int64_t inner) {
    int64_t from = outer * t->form->s.mid * t->form->s.inner + inner,
            to = outer * t->form->k * t->form->s.inner + inner;
    for (int64_t j = 0; t->indices && j < t->form->k; j++)
        ((int64_t *)t->indices)[to + j * t->form->s.inner] = room->best[j].index;
#define COPY_BEST(N)                                               \
  for (int64_t j = 0; t->values && j < t->form->k; j++)            \
    memcpy((uint8_t *)t->values + (to + j * t->form->s.inner) * N, \
           (const uint8_t *)t->x->data + (from + room->best[j].index * t->form->s.inner) * N, N);
    HN_FOR_ELEM_BYTES(hn_elem_bytes(t->x->dtype), COPY_BEST)
#undef COPY_BEST
}

static void find_in_slabs(void *ctx, int lane, int64_t begin, int64_t end) {
    const top_run *t = ctx;
    const top_room *room = &t->rooms[lane];
    uint64_t slab = (uint64_t)(t->form->s.mid * t->form->s.inner);
    for (int64_t o = begin; o < end && !hn_pool_is_stopped(t->pool); o++) {
        if (t->form->sorts)
            hn_sort_narrow_keys(t->x, (uint64_t)o * slab, slab, room->keys);
        else
            hn_sort_keys(t->x, (uint64_t)o * slab, slab, room->keys);
        for (int64_t i = 0; i < t->form->s.inner && !hn_spent(2 * (uint64_t)t->form->s.mid); i++) {
            if (t->form->sorts)
                find_by_sort(t, room, i);
            else
                find_by_heap(t, room, i);
            write_column(t, room, o, i);
        }
    }
}

/* ---- the operator ---------------------------------------------------------------------------- */

hone_status hn_top_k_read(hn_eval *c, hn_top_k_form *f) {
    const hn_infer *node = hn_eval_node(c);
    const hn_array *x = hn_arg(c, 0);
    int32_t axis;
    HN_TRY(hn_axis_of(c, hn_attr_i(node, "axis", -1), x->rank, &axis));
    f->s = hn_split_at(x->rank, x->dims, axis);
    f->k = hn_attr_i(node, "k", 0);
    f->smallest = hn_attr_i(node, "largest", 1) == 0;
    if (hn_arg(c, 1) && hn_arg(c, 1)->n_elems > 0)
        hn_load_i64(hn_arg(c, 1), 0, 1, &f->k);
    if (f->k < 0 || f->k > f->s.mid)
        return hn_eval_fail(c, HONE_E_SHAPE, "K is %lld, but the axis has %lld elements",
                            (long long)f->k, (long long)f->s.mid);
    f->sorts = f->k > f->s.mid / 64 && f->s.mid <= UINT32_MAX && hn_has_narrow_keys(x->dtype);
    return HONE_OK;
}

/* Keys, those of one column, and pairs of the best: all are of 8 bytes. */
size_t hn_top_k_room(const hn_top_k_form *f) {
    uint64_t mid = (uint64_t)f->s.mid, inner = (uint64_t)f->s.inner, k = (uint64_t)f->k;
    return (size_t)(mid * inner + mid + 2 * k) * sizeof(int64_t);
}

static top_room lay_room(const hn_top_k_form *f, int64_t *memory) {
    int64_t *column = memory + f->s.mid * f->s.inner;
    return (top_room){.keys = memory,
                      .column = column,
                      .items = (uint64_t *)column,
                      .best = (top_entry *)(column + f->s.mid)};
}

bool hn_top_k_is_small(const hn_top_k_form *f) {
    return f->s.outer * HN_MAX(f->s.mid * f->s.inner, 1) <= SLAB_GRAIN;
}

void hn_top_k_run(const hn_top_k_form *f, const hn_array *x, void *values, void *indices,
                  void *room) {
    top_room only = lay_room(f, room);
    top_run t = {.form = f, .x = x, .values = values, .indices = indices, .rooms = &only};
    find_in_slabs(&t, 0, 0, f->s.outer);
}

/* NaN counts as the largest number. */
static hone_status eval_top_k(hn_eval *c) {
    hn_array *values = hn_ret(c, 0), *indices = hn_ret(c, 1);
    hn_pool *pool = hn_eval_pool(c);
    int n_lanes = hn_pool_threads(pool);
    hn_top_k_form f;
    HN_TRY(hn_top_k_read(c, &f));
    top_run t = {.form = &f,
                 .x = hn_arg(c, 0),
                 .values = values ? values->data : NULL,
                 .indices = indices ? indices->data : NULL,
                 .pool = pool,
                 .rooms = hn_eval_scratch(c, (uint64_t)n_lanes * sizeof *t.rooms)};
    HN_TRY_PTR(t.rooms);
    for (int i = 0; i < n_lanes; i++) {
        int64_t *memory = hn_eval_scratch(c, hn_top_k_room(&f));
        HN_TRY_PTR(memory);
        t.rooms[i] = lay_room(&f, memory);
    }
    int64_t slab = HN_MAX(f.s.mid * f.s.inner, 1);
    hn_pool_for_lanes(pool, f.s.outer, HN_MAX(SLAB_GRAIN / slab, 1), find_in_slabs, &t);
    return hn_eval_stopped(c) ? HONE_E_CANCELLED : HONE_OK;
}
const hn_impl hn_impl_top_k[1] = {{.eval = eval_top_k}};
