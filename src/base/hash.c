/* Hashes, and the map from 64-bit keys to 32-bit ids. */
#include "base/base.h"

/* Constants with well-spread bits: hexadecimal digits of pi, made odd. */
#define HASH_K0 UINT64_C(0x243F6A8885A308D3)
#define HASH_K1 UINT64_C(0x13198A2E03707345)
#define HASH_K2 UINT64_C(0xA4093822299F31D1)

/* Exclusive or of both halves of the 128-bit product: every input bit affects every output bit. */
static uint64_t fold_product(uint64_t a, uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ typedef unsigned __int128 u128;
    u128 product = (u128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), cross = a0 * b1 + (uint32_t)mid;
    return ((cross << 32) | (uint32_t)low) ^ (a1 * b1 + (mid >> 32) + (cross >> 32));
#endif
}

static uint64_t load_u64(const unsigned char *at) {
    uint64_t v;
    memcpy(&v, at, sizeof(v));
    return v;
}

/* The last 0 to 8 bytes as one number; the length is mixed in separately. */
static uint64_t load_tail(const unsigned char *at, size_t n) {
    uint64_t v = 0;
    memcpy(&v, at, n);
    return v;
}

/* The state enters both factors, so that no input can force a product to zero without knowing the
 * seed. */
static uint64_t mix_pair(uint64_t state, uint64_t a, uint64_t b) {
    return fold_product(a ^ state, b ^ HASH_K1 ^ (state >> 29 | state << 35));
}

uint64_t hn_hash64(const void *data, size_t n, uint64_t seed) {
    const unsigned char *at = data;
    uint64_t state = fold_product(seed ^ HASH_K0, HASH_K2);
    size_t left = n;
    if (left >= 64) {
        /* Two independent chains hide the latency of the multiplier on long data. */
        uint64_t other = state ^ HASH_K2;
        for (; left >= 32; left -= 32, at += 32) {
            state = mix_pair(state, load_u64(at), load_u64(at + 8));
            other = mix_pair(other, load_u64(at + 16), load_u64(at + 24));
        }
        state = mix_pair(state, other, HASH_K0);
    }
    for (; left >= 16; left -= 16, at += 16)
        state = mix_pair(state, load_u64(at), load_u64(at + 8));
    if (left > 8)
        state = mix_pair(state, load_u64(at), load_tail(at + 8, left - 8));
    else if (left > 0)
        state = mix_pair(state, load_tail(at, left), HASH_K0);
    return fold_product(state ^ HASH_K2, (uint64_t)n ^ HASH_K1);
}

uint32_t hn_hash32(const void *data, size_t n) {
    uint64_t hash = hn_hash64(data, n, 0);
    return (uint32_t)(hash ^ hash >> 32);
}

/* ---- map: linear probing; a free slot holds the id HN_MAP_NONE ------------------------------- */

struct hn_map_slot {
    uint64_t key;
    uint32_t id;
};

#define MAP_FIRST_CAP 16u
#define MAP_LARGEST_CAP (UINT32_C(1) << 31)

void hn_map_init(hn_map *m, hn_arena *arena) {
    *m = (hn_map){.arena = arena};
}

static uint32_t map_home(const hn_map *m, uint64_t key) {
    return (uint32_t)fold_product(key ^ HASH_K0, HASH_K2) & (m->cap - 1);
}

/* The slot of the key, or the free slot where it would be inserted. There is always a free one. */
static uint32_t map_seek(const hn_map *m, uint64_t key) {
    uint32_t i = map_home(m, key);
    while (m->slots[i].id != HN_MAP_NONE && m->slots[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return i;
}

static bool map_grow(hn_map *m) {
    if (m->cap >= MAP_LARGEST_CAP)
        return false;
    hn_map bigger = {.arena = m->arena, .n = m->n, .cap = m->cap ? m->cap * 2 : MAP_FIRST_CAP};
    size_t bytes;
    if (!hn_mul_size(bigger.cap, sizeof(*bigger.slots), &bytes))
        return false;
    bigger.slots = hn_arena_alloc(m->arena, bytes);
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < bigger.cap; i++)
        bigger.slots[i] = (struct hn_map_slot){.id = HN_MAP_NONE};
    for (uint32_t i = 0; i < m->cap; i++)
        if (m->slots[i].id != HN_MAP_NONE)
            bigger.slots[map_seek(&bigger, m->slots[i].key)] = m->slots[i];
    *m = bigger;
    return true;
}

bool hn_map_put(hn_map *m, uint64_t key, uint32_t id) {
    if (id ==
        HN_MAP_NONE) { /* hn_map_get returns it for an absent key, so storing it means removing */
        hn_map_remove(m, key);
        return true;
    }
    struct hn_map_slot *slot = m->cap ? &m->slots[map_seek(m, key)] : NULL;
    if (slot && slot->id != HN_MAP_NONE) {
        slot->id = id;
        return true;
    }
    if (m->n >= m->cap - m->cap / 3 && !map_grow(m))
        return false;
    m->slots[map_seek(m, key)] = (struct hn_map_slot){.key = key, .id = id};
    m->n++;
    return true;
}

uint32_t hn_map_get(const hn_map *m, uint64_t key) {
    return m->cap ? m->slots[map_seek(m, key)].id : HN_MAP_NONE;
}

bool hn_map_remove(hn_map *m, uint64_t key) {
    if (!m->cap)
        return false;
    uint32_t hole = map_seek(m, key);
    if (m->slots[hole].id == HN_MAP_NONE)
        return false;
    /* Backward-shift deletion: later entries whose probe sequence passes the free slot move into
     * it, so that no search ends too early and no tombstones accumulate. */
    uint32_t mask = m->cap - 1;
    for (uint32_t i = (hole + 1) & mask; m->slots[i].id != HN_MAP_NONE; i = (i + 1) & mask) {
        uint32_t way = (i - map_home(m, m->slots[i].key)) & mask;
        if (way >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole].id = HN_MAP_NONE;
    m->n--;
    return true;
}
