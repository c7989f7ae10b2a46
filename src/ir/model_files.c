/* The files in which tensors of a model lie: which bytes they are, and whether they still are. */
#include "ir/ir.h"

#include <pthread.h>

#include "base/file_identity.h"

#define HASHED_BYTES ((uint64_t)1 << 20) /* by one thread at a time */

const uint64_t *hn_map_identity(const hn_filemap *map, bool by_content) {
    return by_content && (map->content[0] || map->content[1]) ? map->content : map->identity;
}

bool hn_model_locate(const hn_model *m, const void *at, uint64_t n_bytes, bool by_content,
                     uint64_t place[3]) {
    for (; m; m = m->origin)
        for (uint32_t i = 0; i < m->maps.n; i++) {
            const hn_filemap *map = &m->maps.at[i];
            const uint64_t *identity = hn_map_identity(map, by_content);
            uint64_t offset = (uint64_t)((uintptr_t)at - (uintptr_t)map->bytes.at);
            if ((uintptr_t)at < (uintptr_t)map->bytes.at || offset > map->mapped_bytes ||
                n_bytes > map->mapped_bytes - offset)
                continue;
            place[0] = identity[0];
            place[1] = identity[1];
            place[2] = offset;
            return place[0] || place[1];
        }
    return false;
}

void hn_model_let_go(const hn_model *m, const hn_tensor *t) {
    for (; m && t->data; m = m->origin)
        for (uint32_t i = 0; i < m->maps.n; i++)
            hn_filemap_forget(&m->maps.at[i], t->data, t->data_bytes);
}

hone_status hn_model_check_files(const hn_model *m, hone_error *err) {
    for (; m; m = m->origin)
        for (uint32_t i = 0; i < m->maps.n; i++)
            HN_TRY(hn_filemap_check(&m->maps.at[i], err));
    return HONE_OK;
}

/* ---- identity by content --------------------------------------------------------------------- */

/* A file with room for one key per part, of which the hash of the whole is made. */
typedef struct part_hashes {
    hn_bytes file;
    hn_blob_key *parts;
} part_hashes;

static hn_blob_key hash_part(hn_bytes file, uint64_t i) {
    hn_blob_key key = {.hash = {1, 2}};
    uint64_t at = i * HASHED_BYTES;
    hn_blob_key_mix(&key, (const uint8_t *)file.at + at, HN_MIN(file.n - at, HASHED_BYTES));
    return key;
}

static void hash_parts(void *ctx, int64_t begin, int64_t end) {
    const part_hashes *h = ctx;
    for (int64_t i = begin; i < end; i++)
        h->parts[i] = hash_part(h->file, (uint64_t)i);
}

/* Without memory for the parts, one after the other. */
static void hash_file(hn_filemap *map, hn_pool *pool, const hone_allocator *a) {
    uint64_t n_parts = (map->bytes.n + HASHED_BYTES - 1) / HASHED_BYTES;
    part_hashes h = {map->bytes, hn_calloc(a, (size_t)n_parts + 1, sizeof *h.parts)};
    if (h.parts)
        hn_pool_for(pool, (int64_t)n_parts, 1, hash_parts, &h);
    hn_blob_key whole = {.hash = {map->bytes.n, ~map->bytes.n}};
    for (uint64_t i = 0; i < n_parts; i++) {
        hn_blob_key part = h.parts ? h.parts[i] : hash_part(map->bytes, i);
        hn_blob_key_mix(&whole, part.hash, sizeof part.hash);
    }
    hn_free(a, h.parts, ((size_t)n_parts + 1) * sizeof *h.parts);
    map->content[0] = whole.hash[0];
    map->content[1] = whole.hash[1] | 1;
}

/* The hashes are the only part of a model that is made late: all who read them come here first. */
void hn_model_identify(const hn_model *m, hn_pool *pool) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    for (; m; m = m->origin)
        for (uint32_t i = 0; i < m->maps.n; i++) {
            hn_filemap *map = &m->maps.at[i];
            bool is_hashed = map->content[0] || map->content[1];
            if (!is_hashed && !hn_filemap_tells_changes(map))
                hash_file(map, pool, hn_arena_allocator(m->arena));
        }
    pthread_mutex_unlock(&lock);
}
