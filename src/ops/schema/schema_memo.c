/* Rows of compiled-in tables as they are in force at one version, walked once. Nothing is
 * allocated: a table of fixed size holds more operators and versions than models use; rows that
 * find no room in it, or have more parameters than fit, and rows of registered operators, whose
 * memory ends, are walked each time. Entries are never
 * changed once they can be seen, so any number of threads may look. */
#include "ops/ops.h"

#include <limits.h>
#include <stdatomic.h>

#include "ops/custom.h"
#include "ops/schema/registry.h"
#include "ops/schema/schema_int.h"

enum { MEMO_PARAMS = 28, MEMO_ATTRS = 24, MEMO_COUNT = 512, MEMO_BUCKETS = 1024 };

/* Texts are places in the text of the row. */
typedef struct memo_param {
    uint32_t tensors; /* see hn_param */
    uint16_t name, type;
    uint8_t name_len, type_len, min_arity;
    bool optional : 1, variadic : 1, heterogeneous : 1;
} memo_param;

typedef struct memo_attr {
    uint16_t name, def; /* def 0: there is none */
    uint8_t name_len, def_len, kind;
    bool required;
} memo_attr;

typedef struct memo_list {
    uint8_t first, n; /* in `params` */
    uint32_t min, max;
} memo_list;

typedef struct row_memo {
    const struct row_memo *next; /* of the same bucket */
    const hn_op *op;
    int version;
    memo_list lists[2]; /* inputs, outputs */
    uint8_t n_attrs;
    memo_param params[MEMO_PARAMS];
    memo_attr attrs[MEMO_ATTRS];
} row_memo;

static row_memo memos[MEMO_COUNT];
static _Atomic uint32_t n_memos;                             /* handed out */
static _Atomic(const row_memo *) memo_buckets[MEMO_BUCKETS]; /* newest first */

/* ---- filling --------------------------------------------------------------------------------- */

static bool remember_text(const hn_op *op, const char *at, uint32_t n, uint16_t *place,
                          uint8_t *len) {
    *place = (uint16_t)(at - op->text);
    *len = (uint8_t)n;
    return n <= UINT8_MAX && at - op->text <= UINT16_MAX;
}

static bool remember_param(const hn_op *op, int version, const hn_param *p, memo_param *out) {
    *out = (memo_param){.tensors = hn_walk_tensors(op, version, p),
                        .min_arity = (uint8_t)p->min_arity,
                        .optional = p->optional,
                        .variadic = p->variadic,
                        .heterogeneous = p->heterogeneous};
    return p->min_arity <= UINT8_MAX &&
           remember_text(op, p->name, p->name_len, &out->name, &out->name_len) &&
           remember_text(op, p->type, p->type_len, &out->type, &out->type_len);
}

static bool remember_list(const hn_op *op, int version, hn_op_column column, uint8_t first,
                          row_memo *m) {
    const char *text = hn_op_text(op, column);
    memo_list *list = &m->lists[column == HN_OP_OUTPUTS];
    hn_param p;
    list->first = first;
    hn_op_arity(text, version, &list->min, &list->max);
    for (; hn_op_formal(text, version, list->n, &p); list->n++)
        if (first + list->n == MEMO_PARAMS ||
            !remember_param(op, version, &p, &m->params[first + list->n]))
            return false;
    return true;
}

static bool remember_attrs(const hn_op *op, int version, row_memo *m) {
    hn_attr_spec spec;
    for (; hn_walk_attr(op, version, m->n_attrs, &spec); m->n_attrs++) {
        if (m->n_attrs == MEMO_ATTRS)
            return false;
        memo_attr *a = &m->attrs[m->n_attrs];
        *a = (memo_attr){.kind = (uint8_t)spec.kind, .required = spec.required};
        if (!remember_text(op, spec.name, spec.name_len, &a->name, &a->name_len) ||
            (spec.def && !remember_text(op, spec.def, spec.def_len, &a->def, &a->def_len)))
            return false;
    }
    return true;
}

static const row_memo *make_memo(const hn_op *op, _Atomic(const row_memo *) *bucket, int version) {
    row_memo m = {.op = op, .version = version};
    if (atomic_load_explicit(&n_memos, memory_order_relaxed) >= MEMO_COUNT ||
        !remember_list(op, version, HN_OP_INPUTS, 0, &m) ||
        !remember_list(op, version, HN_OP_OUTPUTS, m.lists[0].n, &m) ||
        !remember_attrs(op, version, &m))
        return NULL;
    uint32_t at = atomic_fetch_add(&n_memos, 1);
    if (at >= MEMO_COUNT)
        return NULL;
    m.next = atomic_load(bucket);
    do
        memos[at] = m;
    while (!atomic_compare_exchange_weak(bucket, &m.next, &memos[at]));
    return &memos[at];
}

/* NULL: the row has to be walked. */
static const row_memo *memo_of(const hn_op *op, int version) {
    if (op->impl == hn_impl_custom)
        return NULL;
    /* rows of one table come into buckets one after the other */
    _Atomic(const row_memo *) *bucket = &memo_buckets[(uintptr_t)op / sizeof *op % MEMO_BUCKETS];
    const row_memo *m = atomic_load_explicit(bucket, memory_order_acquire);
    while (m && (m->op != op || m->version != version))
        m = m->next;
    return m ? m : make_memo(op, bucket, version);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static hn_param remembered_param(const hn_op *op, const memo_param *p) {
    return (hn_param){.name = op->text + p->name,
                      .name_len = p->name_len,
                      .type = op->text + p->type,
                      .type_len = p->type_len,
                      .tensors = p->tensors,
                      .optional = p->optional,
                      .variadic = p->variadic,
                      .heterogeneous = p->heterogeneous,
                      .min_arity = p->min_arity};
}

static hn_attr_spec remembered_attr(const hn_op *op, const memo_attr *a) {
    return (hn_attr_spec){.name = op->text + a->name,
                          .name_len = a->name_len,
                          .kind = (hn_attr_kind)a->kind,
                          .required = a->required,
                          .def = a->def ? op->text + a->def : NULL,
                          .def_len = a->def_len};
}

bool hn_op_arg(const hn_op *op, hn_op_column column, int version, uint32_t i, hn_param *out) {
    const row_memo *m = memo_of(op, version);
    if (!m)
        return hn_op_param(hn_op_text(op, column), version, i, out);
    const memo_list *list = &m->lists[column == HN_OP_OUTPUTS];
    if (list->n == 0)
        return false;
    const memo_param *last = &m->params[list->first + list->n - 1];
    if (i >= list->n && !last->variadic)
        return false;
    *out = remembered_param(op, i < list->n ? &m->params[list->first + i] : last);
    return true;
}

void hn_op_n_args(const hn_op *op, hn_op_column column, int version, uint32_t *min, uint32_t *max) {
    const row_memo *m = memo_of(op, version);
    if (!m) {
        hn_op_arity(hn_op_text(op, column), version, min, max);
        return;
    }
    *min = m->lists[column == HN_OP_OUTPUTS].min;
    *max = m->lists[column == HN_OP_OUTPUTS].max;
}

bool hn_op_attr(const hn_op *op, int version, uint32_t i, hn_attr_spec *out) {
    const row_memo *m = memo_of(op, version);
    if (!m)
        return hn_walk_attr(op, version, i, out);
    if (i >= m->n_attrs)
        return false;
    *out = remembered_attr(op, &m->attrs[i]);
    return true;
}

bool hn_op_attr_find(const hn_op *op, int version, const char *name, size_t n, hn_attr_spec *out) {
    const row_memo *m = memo_of(op, version);
    if (!m)
        return hn_walk_attr_find(op, version, name, n, out);
    for (uint32_t i = 0; i < m->n_attrs; i++) {
        const memo_attr *a = &m->attrs[i];
        if (a->name_len != n || memcmp(op->text + a->name, name, n) != 0)
            continue;
        *out = remembered_attr(op, a);
        return true;
    }
    return false;
}

/* ---- finding rows ---------------------------------------------------------------------------- */

/* Row + 1, opset, since-version, whether it is deprecated: one word, written at once. */
enum { FOUND_COUNT = 1024, FOUND_OPSETS = 1 << 12 };
static _Atomic uint64_t found_rows[FOUND_COUNT];

const hn_op *hn_op_find(const hn_op_registry *r, hn_domain d, const char *name, int64_t opset,
                        int *since, bool *deprecated) {
    bool is_kept = opset >= 0 && opset < FOUND_OPSETS;
    uint32_t hash = hn_hash32(name, strlen(name)) + 31 * (uint32_t)d + 1021 * (uint32_t)opset;
    _Atomic uint64_t *slot = &found_rows[(hash ^ hash >> 10 ^ hash >> 20) % FOUND_COUNT];
    uint64_t word = is_kept ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
    const hn_op *op = word ? hn_op_row(NULL, (uint32_t)(word & 0xffff) - 1) : NULL;
    if (op && (int64_t)(word >> 16 & 0xffff) == opset && hn_op_compare(op, d, name) == 0) {
        *since = (int)(word >> 32 & 0xffff);
        *deprecated = word >> 48 & 1;
        return op;
    }
    uint32_t row;
    op = hn_walk_find(r, d, name, opset, &row, since, deprecated);
    if (op && is_kept && row < HN_MIN(hn_op_count(NULL), 0xffffu) && *since <= 0xffff)
        atomic_store_explicit(slot,
                              (uint64_t)(row + 1) | (uint64_t)opset << 16 | (uint64_t)*since << 32 |
                                  (uint64_t)*deprecated << 48,
                              memory_order_relaxed);
    return op;
}
