#include "damage/mutate.h"

#include "hone/hone.h"

/* ---- choices --------------------------------------------------------------------------------- */

uint32_t damage_below(damage *d, uint32_t n) {
    return n ? (uint32_t)hn_rng_below(d->rng, n) : 0;
}

bool damage_chance(damage *d, uint32_t one_in) {
    return damage_below(d, one_in) == 0;
}

uint64_t damage_odd_number(damage *d) {
    static const uint64_t odd[] = {0,          1,
                                   2,          7,
                                   28,         63,
                                   64,         127,
                                   128,        255,
                                   65535,      1u << 20,
                                   INT32_MAX,  (uint64_t)INT32_MAX + 1,
                                   UINT32_MAX, 1ull << 32,
                                   1ull << 40, 1ull << 62,
                                   INT64_MAX,  1ull << 63,
                                   UINT64_MAX};
    uint64_t v = odd[damage_below(d, HN_COUNT(odd))];
    switch (damage_below(d, 4)) {
    case 0:
        return (uint64_t)0 - v;
    case 1:
        return hn_rng_u64(d->rng) >> damage_below(d, 64);
    default:
        return v;
    }
}

/* Each of the n seen so far stays with probability 1/n. */
static void pick_walk(damage *d, proto_message *at, proto_kind kind, uint32_t *n_seen,
                      proto_message **picked) {
    if ((kind == PROTO_ANY || at->kind == kind) && damage_chance(d, ++*n_seen))
        *picked = at;
    for (uint32_t i = 0; i < at->fields.n; i++)
        if (at->fields.at[i].message)
            pick_walk(d, at->fields.at[i].message, kind, n_seen, picked);
}

proto_message *damage_pick(damage *d, proto_message *root, proto_kind kind) {
    proto_message *picked = NULL;
    uint32_t n_seen = 0;
    pick_walk(d, root, kind, &n_seen, &picked);
    return picked;
}

proto_field *damage_pick_field(damage *d, proto_message *m) {
    return m && m->fields.n ? &m->fields.at[damage_below(d, m->fields.n)] : NULL;
}

static proto_field *any_field(damage *d) {
    return damage_pick_field(d, damage_pick(d, d->model, PROTO_ANY));
}

static proto_field *any_text(damage *d, proto_message *root) {
    for (int tries = 0; tries < 20; tries++) {
        proto_field *f = damage_pick_field(d, damage_pick(d, root, PROTO_ANY));
        if (f && proto_is_text(f))
            return f;
    }
    return NULL;
}

static proto_field *any_number(damage *d, proto_kind kind) {
    for (int tries = 0; tries < 20; tries++) {
        proto_field *f = damage_pick_field(d, damage_pick(d, d->model, kind));
        if (f && (f->tag & 7) == HN_WIRE_VARINT)
            return f;
    }
    return NULL;
}

static proto_field *find_field(proto_message *m, uint32_t tag) {
    for (uint32_t i = 0; m && i < m->fields.n; i++)
        if (m->fields.at[i].tag == tag)
            return &m->fields.at[i];
    return NULL;
}

/* ---- fields that come, go and change places -------------------------------------------------- */

static void remove_field(damage *d) {
    proto_message *m = damage_pick(d, d->model, PROTO_ANY);
    proto_field *f = damage_pick_field(d, m);
    if (f)
        *f = m->fields.at[--m->fields.n];
}

static void append_copies(damage *d, proto_message *m, uint32_t n_copies) {
    proto_field *f = damage_pick_field(d, m);
    if (!f)
        return;
    proto_field copy = *f;
    for (uint32_t i = 0; i < n_copies; i++) {
        if (f->message)
            copy.message = proto_copy(d->arena, copy.message);
        if (!HN_VEC_PUSH(d->arena, &m->fields, copy))
            return;
    }
}

static void repeat_field(damage *d) {
    append_copies(d, damage_pick(d, d->model, PROTO_ANY), 1);
}

static void repeat_field_often(damage *d) {
    append_copies(d, damage_pick(d, d->model, PROTO_ANY), 2 + damage_below(d, 300));
}

static void repeat_graph_part(damage *d) {
    append_copies(d, damage_pick(d, d->model, PROTO_GRAPH), 1);
}

static void swap_fields(damage *d) {
    proto_message *m = damage_pick(d, d->model, damage_chance(d, 2) ? PROTO_GRAPH : PROTO_ANY);
    proto_field *a = damage_pick_field(d, m), *b = damage_pick_field(d, m);
    if (!a)
        return;
    proto_field held = *a;
    *a = *b;
    *b = held;
}

static void shuffle_graph(damage *d) {
    proto_message *m = damage_pick(d, d->model, PROTO_GRAPH);
    for (uint32_t i = m ? m->fields.n : 0; i > 1; i--) {
        uint32_t k = damage_below(d, i);
        proto_field held = m->fields.at[k];
        m->fields.at[k] = m->fields.at[i - 1];
        m->fields.at[i - 1] = held;
    }
}

static void empty_message(damage *d) {
    damage_pick(d, d->model, PROTO_ANY)->fields.n = 0;
}

/* A field of another model, in place of one of ours or beside it. */
static void splice_field(damage *d) {
    proto_message *to = damage_pick(d, d->model, PROTO_ANY);
    proto_field *from = damage_pick_field(d, damage_pick(d, d->donor, to->kind));
    if (!from)
        return;
    proto_field *at = damage_pick_field(d, to);
    if (!at || damage_chance(d, 2))
        at = proto_add(d->arena, to, from->tag);
    if (at) {
        *at = *from;
        if (at->message)
            at->message = proto_copy(d->arena, from->message);
    }
}

/* A message where another kind is expected. */
static void misplace_message(damage *d) {
    proto_field *f = any_field(d);
    proto_message *foreign = damage_pick(d, d->donor, PROTO_ANY);
    if (f && f->message && foreign)
        f->message = proto_copy(d->arena, foreign);
}

/* ---- wrong contents -------------------------------------------------------------------------- */

static void odd_number(damage *d) {
    proto_field *f = any_number(d, PROTO_ANY);
    if (f)
        f->number = damage_odd_number(d);
}

static void odd_dim(damage *d) {
    proto_field *f = any_number(d, damage_chance(d, 2) ? PROTO_DIM : PROTO_TENSOR);
    if (f)
        f->number = damage_odd_number(d);
}

static void odd_attribute(damage *d) {
    proto_field *f = any_number(d, PROTO_ATTR);
    if (f)
        f->number = damage_odd_number(d);
}

/* Near what is right: what passes the first checks reaches the second ones. */
static void near_number(damage *d) {
    static const proto_kind kinds[] = {PROTO_ATTR, PROTO_DIM, PROTO_TENSOR};
    proto_field *f = any_number(d, kinds[damage_below(d, HN_COUNT(kinds))]);
    if (f)
        f->number = (uint64_t)damage_below(d, 10) - 3;
}

/* Initializers and constants are indices, axes, shapes and sizes for the operators that run. */
static void odd_elements(damage *d) {
    proto_field *f = find_field(damage_pick(d, d->model, PROTO_TENSOR), HN_F_TENSOR_RAW_DATA);
    uint8_t *at = f ? hn_arena_copy(d->arena, f->bytes.at, (size_t)f->bytes.n) : NULL;
    if (!at || f->bytes.n < 4)
        return;
    uint64_t number = damage_chance(d, 2) ? damage_odd_number(d) : (uint64_t)damage_below(d, 9) - 3;
    size_t width = f->bytes.n % 8 == 0 ? 8 : 4;
    size_t place = damage_below(d, (uint32_t)(f->bytes.n / width)) * width;
    memcpy(at + place, &number, width);
    f->bytes.at = at;
}

static void wrong_attribute_kind(damage *d) {
    proto_field *f = find_field(damage_pick(d, d->model, PROTO_ATTR), HN_F_ATTR_TYPE);
    if (f)
        f->number = damage_below(d, 18);
}

static void wrong_element_type(damage *d) {
    bool is_tensor = damage_chance(d, 2);
    proto_field *f = find_field(
        damage_pick(d, d->model, is_tensor ? PROTO_TENSOR : PROTO_TENSOR_TYPE),
        is_tensor ? (uint32_t)HN_F_TENSOR_DATA_TYPE : (uint32_t)HN_F_TENSOR_TYPE_ELEM_TYPE);
    if (f)
        f->number = damage_below(d, 30);
}

static void other_opset(damage *d) {
    proto_field *f = find_field(damage_pick(d, d->model, PROTO_OPSET), HN_F_OPSET_VERSION);
    if (f)
        f->number = damage_chance(d, 4) ? damage_odd_number(d) : 1 + damage_below(d, 30);
}

static void other_operator(damage *d) {
    proto_field *f = find_field(damage_pick(d, d->model, PROTO_NODE), HN_F_NODE_OP_TYPE);
    hone_op_info op;
    if (f && hone_op_get(damage_below(d, hone_op_count()), &op))
        f->bytes = (hn_bytes){op.name, strlen(op.name)};
}

static void odd_text(damage *d) {
    static const hn_bytes odd[] = {{"", 0},
                                   {"a\0b", 3},
                                   {"\xff\xfe", 2},
                                   {"\xed\xa0\x80", 3},
                                   {"%s%n", 4},
                                   {"../x", 4},
                                   {"/", 1},
                                   {"ai.onnx", 7},
                                   {"x y\n", 4},
                                   {"\"", 1},
                                   {"9", 1},
                                   {"N*N*N*N", 7},
                                   {"N/0", 3},
                                   {"((((N", 5},
                                   {"N+-9223372036854775808", 22}};
    proto_field *f = any_text(d, d->model);
    if (f)
        f->bytes = odd[damage_below(d, HN_COUNT(odd))];
}

static void long_text(damage *d) {
    proto_field *f = any_text(d, d->model);
    size_t n = 1 + damage_below(d, 70000);
    char *text = f ? hn_arena_alloc(d->arena, n) : NULL;
    if (text)
        f->bytes = (hn_bytes){memset(text, damage_chance(d, 2) ? 'a' : '(', n), n};
}

/* Names that meet others: duplicates, cycles, wrong references. */
static void borrow_text(damage *d) {
    proto_field *to = any_text(d, d->model), *from = any_text(d, d->model);
    if (to)
        to->bytes = from ? from->bytes : to->bytes;
}

static void cut_text(damage *d) {
    proto_field *f = any_text(d, d->model);
    if (f && f->bytes.n)
        f->bytes.n = hn_rng_below(d->rng, f->bytes.n);
}

/* The same bytes read as another wire type. */
static void wrong_wire_type(damage *d) {
    proto_field *f = any_field(d);
    if (f)
        f->tag = (f->tag & ~7u) | damage_below(d, 8);
}

static void wrong_field_number(damage *d) {
    proto_field *f = any_field(d);
    if (f)
        f->tag = damage_below(d, 30) << 3 | (f->tag & 7);
}

static void false_length(damage *d) {
    proto_field *f = any_field(d);
    if (f && (f->tag & 7) == HN_WIRE_LEN)
        f->false_length = damage_odd_number(d);
}

static void blank_walk(proto_message *m) {
    for (uint32_t i = 0; i < m->fields.n; i++) {
        m->fields.at[i].number = 0;
        m->fields.at[i].bytes.n = 0;
        if (m->fields.at[i].message)
            blank_walk(m->fields.at[i].message);
    }
}

/* Every number zero and every text empty below some message. */
static void blank_everything(damage *d) {
    blank_walk(damage_pick(d, d->model, PROTO_ANY));
}

const mutation field_mutations[] = {
    {"remove field", remove_field},
    {"repeat field", repeat_field},
    {"repeat field often", repeat_field_often},
    {"repeat part of a graph", repeat_graph_part},
    {"swap fields", swap_fields},
    {"shuffle graph", shuffle_graph},
    {"empty message", empty_message},
    {"splice field", splice_field},
    {"misplace message", misplace_message},
    {"odd number", odd_number},
    {"odd dimension", odd_dim},
    {"odd attribute", odd_attribute},
    {"number near by", near_number},
    {"odd elements", odd_elements},
    {"wrong kind of attribute", wrong_attribute_kind},
    {"wrong element type", wrong_element_type},
    {"other opset", other_opset},
    {"other operator", other_operator},
    {"odd text", odd_text},
    {"long text", long_text},
    {"borrow text", borrow_text},
    {"cut text", cut_text},
    {"wrong wire type", wrong_wire_type},
    {"wrong field number", wrong_field_number},
    {"false length", false_length},
    {"blank everything", blank_everything},
};
const uint32_t n_field_mutations = HN_COUNT(field_mutations);

const mutation number_mutations[] = {
    {"number near by", near_number},
    {"odd elements", odd_elements},
    {"odd attribute", odd_attribute},
    {"odd dimension", odd_dim},
    {"wrong element type", wrong_element_type},
    {"other opset", other_opset},
    {"remove field", remove_field},
};
const uint32_t n_number_mutations = HN_COUNT(number_mutations);

/* ---- bytes ----------------------------------------------------------------------------------- */

static void flip_bits(damage *d, uint8_t *at, size_t *n) {
    for (uint32_t flips = 1 + damage_below(d, 8); flips > 0; flips--)
        at[damage_below(d, (uint32_t)*n)] ^= (uint8_t)(1u << damage_below(d, 8));
}

static void cut_end(damage *d, uint8_t *at, size_t *n) {
    (void)at;
    *n = damage_below(d, (uint32_t)*n);
}

static void overwrite_run(damage *d, uint8_t *at, size_t *n) {
    size_t begin = damage_below(d, (uint32_t)*n);
    size_t run = 1 + damage_below(d, 16);
    memset(at + begin, damage_chance(d, 2) ? 0xff : (int)damage_below(d, 256),
           HN_MIN(run, *n - begin));
}

static void remove_run(damage *d, uint8_t *at, size_t *n) {
    size_t begin = damage_below(d, (uint32_t)*n);
    size_t run = 1 + damage_below(d, (uint32_t)(*n - begin));
    memmove(at + begin, at + begin + run, *n - begin - run);
    *n -= run;
}

static void copy_run(damage *d, uint8_t *at, size_t *n) {
    size_t from = damage_below(d, (uint32_t)*n), to = damage_below(d, (uint32_t)*n);
    memmove(at + to, at + from, *n - HN_MAX(from, to));
}

void damage_bytes(damage *d, hn_bytes *file) {
    static void (*const kinds[])(damage *, uint8_t *, size_t *) = {
        flip_bits, cut_end, overwrite_run, remove_run, copy_run};
    size_t n = (size_t)file->n;
    uint8_t *at = hn_arena_copy(d->arena, file->at, n);
    if (!at || n == 0)
        return;
    kinds[damage_below(d, HN_COUNT(kinds))](d, at, &n);
    *file = (hn_bytes){at, n};
}
