/* Interned strings and the growable text buffer. */
#include "base/base.h"

#include <stdio.h>

/* ---- intern table ---------------------------------------------------------------------------- */

/* Names come from hostile files. The seed of the slot hash differs from run to run, so that nobody
 * can prepare names that all collide; hn_string.hash is unseeded and the same everywhere. */
typedef struct strtab_slot {
    struct hn_string *str; /* NULL = free */
    uint32_t probe_hash;
} strtab_slot;

struct hn_strtab {
    hn_arena *arena;
    strtab_slot *slots;
    uint32_t n, cap;
    uint64_t seed;
};

#define STRTAB_FIRST_CAP 64u
#define STRTAB_LARGEST_CAP (UINT32_C(1) << 31)

hn_strtab *hn_strtab_new(hn_arena *arena) {
    hn_strtab *tab = HN_NEW(arena, hn_strtab);
    if (!tab)
        return NULL;
    tab->arena = arena;
    tab->slots = HN_NEW_N(arena, strtab_slot, STRTAB_FIRST_CAP);
    if (!tab->slots)
        return NULL;
    tab->cap = STRTAB_FIRST_CAP;
    /* The system randomizes addresses: the author of a file cannot predict them. */
    uintptr_t here = (uintptr_t)tab;
    tab->seed = hn_hash64(&here, sizeof(here), (uint64_t)(uintptr_t)&hn_strtab_new);
    return tab;
}

static uint32_t probe_hash(const hn_strtab *tab, const char *text, size_t n) {
    return (uint32_t)hn_hash64(text, n, tab->seed);
}

/* The slot that holds the text, or the free slot where it would be inserted. */
static strtab_slot *strtab_seek(const hn_strtab *tab, const char *text, size_t n, uint32_t hash) {
    for (uint32_t i = hash;; i++) {
        strtab_slot *slot = &tab->slots[i & (tab->cap - 1)];
        if (!slot->str)
            return slot;
        if (slot->probe_hash == hash && slot->str->n == n && memcmp(slot->str->s, text, n) == 0)
            return slot;
    }
}

static bool strtab_grow(hn_strtab *tab) {
    if (tab->cap >= STRTAB_LARGEST_CAP)
        return false;
    uint32_t cap = tab->cap * 2;
    strtab_slot *slots = HN_NEW_N(tab->arena, strtab_slot, cap);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < tab->cap; i++) {
        if (!tab->slots[i].str)
            continue;
        uint32_t to = tab->slots[i].probe_hash & (cap - 1);
        while (slots[to].str)
            to = (to + 1) & (cap - 1);
        slots[to] = tab->slots[i];
    }
    tab->slots = slots;
    tab->cap = cap;
    return true;
}

hn_str hn_intern(hn_strtab *tab, const char *text, size_t n) {
    size_t bytes;
    if (n > UINT32_MAX || !hn_add_size(n, sizeof(struct hn_string) + 1, &bytes))
        return NULL;
    if (n == 0)
        text = "";
    uint32_t hash = probe_hash(tab, text, n);
    strtab_slot *slot = strtab_seek(tab, text, n, hash);
    if (slot->str)
        return slot->str;
    if (tab->n >= tab->cap - tab->cap / 3) {
        if (!strtab_grow(tab))
            return NULL;
        slot = strtab_seek(tab, text, n, hash);
    }
    struct hn_string *str = hn_arena_alloc(tab->arena, bytes);
    if (!str)
        return NULL;
    str->n = (uint32_t)n;
    str->hash = hn_hash32(text, n);
    str->id = tab->n++;
    memcpy(str->s, text, n);
    str->s[n] = '\0';
    *slot = (strtab_slot){.str = str, .probe_hash = hash};
    return str;
}

hn_str hn_intern_z(hn_strtab *tab, const char *text) {
    return hn_intern(tab, text, strlen(text));
}

hn_str hn_intern_find(const hn_strtab *tab, const char *text, size_t n) {
    if (n == 0)
        text = "";
    return strtab_seek(tab, text, n, probe_hash(tab, text, n))->str;
}

/* ---- text buffer ----------------------------------------------------------------------------- */

void hn_strbuf_init(hn_strbuf *b, const hone_allocator *a) {
    *b = (hn_strbuf){.alloc = a};
}

void hn_strbuf_free(hn_strbuf *b) {
    hn_free(b->alloc, b->at, b->cap);
    hn_strbuf_init(b, b->alloc);
}

/* Reserves space for n_more characters and the NUL. */
static bool strbuf_reserve(hn_strbuf *b, size_t n_more) {
    if (b->failed)
        return false;
    size_t need;
    if (!hn_add_size(b->n, n_more, &need) || !hn_add_size(need, 1, &need)) {
        b->failed = true;
        return false;
    }
    if (need <= b->cap)
        return true;
    size_t doubled = b->cap > SIZE_MAX / 2 ? SIZE_MAX : b->cap * 2;
    size_t cap = HN_MAX(HN_MAX(need, doubled), 256);
    char *at = hn_realloc(b->alloc, b->at, b->cap, cap);
    if (!at) {
        b->failed = true;
        return false;
    }
    b->at = at;
    b->cap = cap;
    return true;
}

void hn_strbuf_put(hn_strbuf *b, const char *text, size_t n) {
    if (!strbuf_reserve(b, n))
        return;
    if (n)
        memcpy(b->at + b->n, text, n);
    b->n += n;
    b->at[b->n] = '\0';
}

void hn_strbuf_puts(hn_strbuf *b, const char *text) {
    hn_strbuf_put(b, text, strlen(text));
}

static void strbuf_vprintf(hn_strbuf *b, const char *fmt, va_list args) {
    if (!strbuf_reserve(b, 0))
        return;
    va_list again;
    va_copy(again, args);
    size_t room = b->cap - b->n;
    int n = vsnprintf(b->at + b->n, room, fmt, args);
    if (n >= 0 && (size_t)n >= room) {
        b->at[b->n] = '\0'; /* if the allocation fails, the old text stays intact */
        n = strbuf_reserve(b, (size_t)n) ? vsnprintf(b->at + b->n, (size_t)n + 1, fmt, again) : -1;
    }
    va_end(again);
    if (n < 0)
        b->failed = true;
    else
        b->n += (size_t)n;
}

void hn_strbuf_printf(hn_strbuf *b, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(b, fmt, args);
    va_end(args);
}

hn_str hn_internf(hn_strtab *tab, const char *fmt, ...) {
    hn_strbuf text;
    hn_strbuf_init(&text, hn_arena_allocator(tab->arena));
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    hn_str str = text.failed ? NULL : hn_intern(tab, text.at, text.n);
    hn_strbuf_free(&text);
    return str;
}
