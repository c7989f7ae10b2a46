/* A store over the file of a cache, and the graph in it: what is found there, and what is to be
 * written. */
#define _GNU_SOURCE /* realpath */
#include "base/temp_files.h"
#include "run/cache.h"
#include "run/cache_graph.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

struct hn_cache {
    const hone_allocator *alloc;
    hn_arena *arena; /* everything below; not the map */
    const char *path, *asked;
    uint64_t environment;
    hn_cache_map *map; /* NULL: there is none yet */
    hn_blob_store store;
    pthread_mutex_t lock; /* guards all below */
    HN_VEC(hn_cache_piece) found;
    HN_VEC(hn_blob *) made; /* owned */
    uint32_t n_damaged;     /* blobs of the file that could not be used */
    bool is_incomplete;     /* no memory to remember something: nothing is written */
    hn_cache_piece graph;   /* to be written; no bytes: there is none */
};

/* ---- the store ------------------------------------------------------------------------------- */

/* Whatever does not fit its checksum is made again, and replaced. */
static const void *find_cached(void *ctx, const hn_blob_key *key) {
    hn_cache *c = ctx;
    hn_bytes bytes;
    hn_cache_answer answer = c->map ? hn_cache_map_find(c->map, key, &bytes) : HN_CACHE_ABSENT;
    if (answer == HN_CACHE_ABSENT)
        return NULL;
    pthread_mutex_lock(&c->lock);
    if (answer == HN_CACHE_DAMAGED)
        c->n_damaged++;
    else if (!HN_VEC_PUSH(c->arena, &c->found, ((hn_cache_piece){*key, bytes.at})))
        c->is_incomplete = true;
    pthread_mutex_unlock(&c->lock);
    return answer == HN_CACHE_FOUND ? bytes.at : NULL;
}

static void remember_made(void *ctx, hn_blob *b) {
    hn_cache *c = ctx;
    pthread_mutex_lock(&c->lock);
    if (HN_VEC_PUSH(c->arena, &c->made, b))
        hn_blob_keep(b);
    else
        c->is_incomplete = true;
    pthread_mutex_unlock(&c->lock);
}

const hn_blob_store *hn_cache_store(const hn_cache *c) {
    return &c->store;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* False when nothing tells one state of the model from another. Operators of others may mean
 * something else the next time. */
static bool name_graph(const hn_cache *c, const hn_model *m, hn_blob_key *key) {
    hn_blob_key_init(key, &c->store, HN_BLOB_GRAPH, 0);
    hn_blob_key_mix(key, c->asked, strlen(c->asked));
    bool is_known = m->maps.n > 0 && m->n_edits == 0 && !m->origin && !m->custom_ops;
    for (uint32_t i = 0; is_known && i < m->maps.n; i++) {
        const uint64_t *identity = hn_map_identity(&m->maps.at[i], true);
        hn_blob_key_mix(key, identity, sizeof m->maps.at[i].identity);
        is_known = identity[0] || identity[1];
    }
    return is_known;
}

hone_status hn_cache_take_graph(hn_cache *c, const hn_model *m, hn_model **out) {
    hn_blob_key key;
    hn_bytes graph;
    *out = NULL;
    if (!c->map || !name_graph(c, m, &key))
        return HONE_OK;
    hn_cache_answer answer = hn_cache_map_find_sized(c->map, &key, &graph);
    c->n_damaged += answer == HN_CACHE_DAMAGED;
    if (answer != HN_CACHE_FOUND)
        return HONE_OK;
    key.n_bytes = graph.n;
    if (!HN_VEC_PUSH(c->arena, &c->found, ((hn_cache_piece){key, graph.at})))
        return HONE_E_NOMEM;
    return hn_cached_graph_read(m, graph, out);
}

/* The one that was found turned out to be of no use. */
static void forget_graph(hn_cache *c) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->found.n; i++)
        if (c->found.at[i].key.kind != HN_BLOB_GRAPH)
            c->found.at[n++] = c->found.at[i];
    c->found.n = n;
}

hone_status hn_cache_put_graph(hn_cache *c, const hn_model *m, const hn_model *optimized) {
    hn_blob_key key;
    void *data;
    size_t n;
    if (!name_graph(c, m, &key))
        return HONE_OK;
    forget_graph(c);
    HN_TRY(hn_cached_graph_write(m, optimized, c->alloc, &data, &n));
    if (!data)
        return HONE_OK;
    void *kept = hn_arena_copy(c->arena, data, n);
    key.n_bytes = n;
    if (kept)
        c->graph = (hn_cache_piece){key, kept};
    hn_free(c->alloc, data, n);
    return kept ? HONE_OK : HONE_E_NOMEM;
}

/* ---- which file ------------------------------------------------------------------------------ */

/* Whatever decides how weights are packed: this build and this processor. */
static uint64_t environment_now(void) {
    uint64_t facts[] = {hn_cpu_mask(),      hn_code_identity(), sizeof(size_t),
                        HONE_VERSION_MAJOR, HONE_VERSION_MINOR, HONE_VERSION_PATCH};
    return hn_hash64(facts, sizeof facts, 0);
}

/* "model-0123456789abcdef.hone" in the folder: named after the model, told apart by its path and
 * the options. */
static const char *cache_path(hn_arena *arena, const char *folder, const char *model,
                              const char *asked) {
    const char *slash = strrchr(model, '/'), *stem = slash ? slash + 1 : model;
    uint64_t hash = hn_hash64(model, strlen(model), hn_hash64(asked, strlen(asked), hn_cpu_mask()));
    return hn_arena_printf(arena, "%s/%.*s-%016llx.hone", folder,
                           (int)HN_MIN(strcspn(stem, "."), 100), stem, (unsigned long long)hash);
}

/* A number that whoever wrote a model cannot know. */
static uint64_t fresh_seed(const hn_cache *c) {
    uint64_t parts[] = {hn_now_ns(), (uint64_t)(uintptr_t)c, (uint64_t)(uintptr_t)parts};
    return hn_hash64(parts, sizeof parts, 0);
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* `model` is the path of its file, without links. */
static hone_status start_cache(hn_cache *c, const char *folder, const char *model,
                               const char *asked, hn_arena *arena, const char **note) {
    hone_error err;
    hn_error_clear(&err);
    c->path = cache_path(c->arena, folder, model, asked);
    c->asked = hn_arena_printf(c->arena, "%s", asked);
    if (!c->path || !c->asked)
        return HONE_E_NOMEM;
    c->environment = environment_now();
    hn_temp_remove_left(c->path);
    hone_status status = hn_cache_map_open(c->path, c->environment, c->alloc, &c->map, &err);
    if (status == HONE_E_NOMEM)
        return status;
    if (status != HONE_OK) {
        *note = hn_arena_printf(arena, "the cache %s", err.message);
        HN_TRY_PTR(*note);
    }
    c->store = (hn_blob_store){.seed = c->map ? c->map->seed : fresh_seed(c),
                               .find = find_cached,
                               .made = remember_made,
                               .keeper = c->map ? &c->map->shared : NULL,
                               .ctx = c};
    return HONE_OK;
}

hone_status hn_cache_open(const char *folder, const hn_model *m, const char *asked, hn_pool *pool,
                          hn_arena *arena, hn_cache **out, const char **note) {
    const hone_allocator *a = hn_arena_allocator(arena);
    *out = NULL;
    char model[PATH_MAX];
    if (!m->path || !realpath(m->path, model)) {
        *note = m->path ? "there is no cache for a model whose file is gone"
                        : "there is no cache for a model that does not come from a file";
        return HONE_OK;
    }
    if (mkdir(folder, 0755) != 0 && errno != EEXIST) {
        *note = hn_arena_printf(arena, "the cache cannot be used: '%s' cannot be made: %s", folder,
                                strerror(errno));
        return *note ? HONE_OK : HONE_E_NOMEM;
    }
    hn_model_identify(m, pool);
    hn_cache *c = hn_calloc(a, 1, sizeof *c);
    HN_TRY_PTR(c);
    c->alloc = a;
    c->arena = hn_arena_new(a);
    pthread_mutex_init(&c->lock, NULL);
    hone_status status =
        c->arena ? start_cache(c, folder, model, asked, arena, note) : HONE_E_NOMEM;
    if (status != HONE_OK)
        hn_cache_free(c);
    else
        *out = c;
    return status;
}

hone_status hn_cache_save(hn_cache *c, hn_arena *arena, const char **note) {
    hone_error err;
    size_t n = c->found.n;
    if (c->n_damaged) {
        *note = hn_arena_printf(arena, "the cache '%s' is damaged: %u of its parts were made again",
                                c->path, c->n_damaged);
        HN_TRY_PTR(*note);
    }
    if ((c->made.n == 0 && !c->graph.bytes) || c->is_incomplete)
        return HONE_OK;
    hn_cache_piece *pieces = HN_NEW_N(c->arena, hn_cache_piece, n + c->made.n + 1);
    HN_TRY_PTR(pieces);
    if (n)
        memcpy(pieces, c->found.at, n * sizeof *pieces);
    for (uint32_t i = 0; i < c->made.n; i++)
        pieces[n++] = (hn_cache_piece){*hn_blob_key_of(c->made.at[i]), hn_blob_data(c->made.at[i])};
    if (c->graph.bytes)
        pieces[n++] = c->graph;
    hn_error_clear(&err);
    hone_status status =
        hn_cache_file_write(c->path, c->environment, c->store.seed, n, pieces, c->alloc, &err);
    if (status == HONE_OK || status == HONE_E_NOMEM)
        return status;
    *note = hn_arena_printf(arena, "the cache could not be written: %s", err.message);
    return *note ? HONE_OK : HONE_E_NOMEM;
}

void hn_cache_free(hn_cache *c) {
    if (!c)
        return;
    for (uint32_t i = 0; i < c->made.n; i++)
        hn_blob_drop(c->made.at[i]);
    if (c->map)
        hn_shared_drop(&c->map->shared);
    pthread_mutex_destroy(&c->lock);
    hn_arena_free(c->arena);
    hn_free(c->alloc, c, sizeof *c);
}
