/* Numbers by name, in a table with open addressing. */
#include "view/name_index.h"

#include <stdlib.h>
#include <string.h>

struct name_entry {
    const char *name; /* NULL: free */
    uint64_t hash;
    uint32_t number;
};

static uint64_t hash_name(const char *name) {
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h;
}

/* The entry of a name, or the free one where it would be. */
static struct name_entry *entry_of(const name_index *index, const char *name, uint64_t hash) {
    uint32_t i = (uint32_t)(hash ^ hash >> 32) & (index->cap - 1);
    while (index->entries[i].name &&
           (index->entries[i].hash != hash || strcmp(index->entries[i].name, name) != 0))
        i = (i + 1) & (index->cap - 1);
    return &index->entries[i];
}

static bool grow_index(name_index *index) {
    name_index larger = {.n = index->n, .cap = index->cap ? index->cap * 2 : 64};
    larger.entries = larger.cap ? calloc(larger.cap, sizeof *larger.entries) : NULL;
    if (!larger.entries)
        return false;
    for (uint32_t i = 0; i < index->cap; i++)
        if (index->entries[i].name)
            *entry_of(&larger, index->entries[i].name, index->entries[i].hash) = index->entries[i];
    free(index->entries);
    *index = larger;
    return true;
}

bool name_index_add(name_index *index, const char *name, uint32_t number) {
    if (!*name)
        return true;
    if (index->n >= index->cap / 2 && !grow_index(index))
        return false;
    uint64_t hash = hash_name(name);
    struct name_entry *e = entry_of(index, name, hash);
    if (!e->name) {
        *e = (struct name_entry){name, hash, number};
        index->n++;
    }
    return true;
}

uint32_t name_index_find(const name_index *index, const char *name) {
    if (index->n == 0 || !*name)
        return UINT32_MAX;
    const struct name_entry *e = entry_of(index, name, hash_name(name));
    return e->name ? e->number : UINT32_MAX;
}

void name_index_free(name_index *index) {
    free(index->entries);
    *index = (name_index){0};
}
