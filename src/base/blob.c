/* Blobs. A hash table of the process holds all of them, so that users of the same source share one.
 */
#include "base/base.h"

#define N_BUCKETS 1024
#define MIX_BYTES 16384 /* small enough that the second hash finds it in the L1 cache */

struct hn_blob {
    hn_blob *next; /* in its bucket */
    hn_blob_key key;
    hone_allocator alloc; /* a copy: the creator may be gone */
    bool has_alloc;
    uint64_t n_owners;
    void *data;
    hn_shared *keeper; /* owner of data in a store; NULL: the blob owns them */
};

static pthread_mutex_t blob_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static hn_blob *blob_buckets[N_BUCKETS];
static uint64_t blob_secret;

/* ---- keys ------------------------------------------------------------------------------------ */

/* A number that the author of a model cannot predict, so that nobody can construct two tensors with
 * the same key. */
static uint64_t secret_seed(void) {
    pthread_mutex_lock(&blob_lock);
    if (!blob_secret) {
        uint64_t parts[] = {hn_now_ns(), (uint64_t)(uintptr_t)parts,
                            (uint64_t)(uintptr_t)&hn_alloc};
        blob_secret = hn_hash64(parts, sizeof parts, 0) | 1;
    }
    uint64_t seed = blob_secret;
    pthread_mutex_unlock(&blob_lock);
    return seed;
}

void hn_blob_key_init(hn_blob_key *key, const hn_blob_store *store, hn_blob_kind kind,
                      uint64_t n_bytes) {
    uint64_t seed = store ? store->seed : secret_seed();
    *key = (hn_blob_key){.kind = kind, .n_bytes = n_bytes, .hash = {seed, ~seed}};
}

void hn_blob_key_mix(hn_blob_key *key, const void *bytes, uint64_t n) {
    for (uint64_t at = 0; at < n; at += MIX_BYTES) {
        size_t part = (size_t)HN_MIN(n - at, MIX_BYTES);
        for (size_t i = 0; i < HN_COUNT(key->hash); i++)
            key->hash[i] = hn_hash64((const uint8_t *)bytes + at, part, key->hash[i]);
    }
}

static bool same_key(const hn_blob_key *a, const hn_blob_key *b) {
    return a->kind == b->kind && a->n_bytes == b->n_bytes && a->hash[0] == b->hash[0] &&
           a->hash[1] == b->hash[1];
}

/* ---- the table ------------------------------------------------------------------------------- */

static const hone_allocator *blob_allocator(const hn_blob *b) {
    return b->has_alloc ? &b->alloc : NULL;
}

static bool has_allocator(const hn_blob *b, const hone_allocator *a) {
    return a ? b->has_alloc && b->alloc.resize == a->resize && b->alloc.ctx == a->ctx
             : !b->has_alloc;
}

static hn_blob **bucket_of(const hn_blob_key *key) {
    return &blob_buckets[key->hash[0] % N_BUCKETS];
}

/* Finds a blob and adds an owner; the lock must be held. */
static hn_blob *find_and_own(const hone_allocator *a, const hn_blob_key *key) {
    hn_blob *b = *bucket_of(key);
    while (b && !(same_key(&b->key, key) && has_allocator(b, a)))
        b = b->next;
    if (b)
        b->n_owners++;
    return b;
}

static void free_blob(hn_blob *b) {
    hone_allocator by_value = b->alloc;
    const hone_allocator *a = b->has_alloc ? &by_value : NULL;
    if (b->keeper)
        hn_shared_drop(b->keeper);
    else
        hn_block_free(a, b->data, (size_t)b->key.n_bytes);
    hn_free(a, b, sizeof *b);
}

/* A new blob with the bytes of the store, or with memory to be filled. */
static hn_blob *blank_blob(const hone_allocator *a, const hn_blob_store *store,
                           const hn_blob_key *key) {
    const void *shelved = store ? store->find(store->ctx, key) : NULL;
    hn_blob *b = hn_calloc(a, 1, sizeof *b);
    if (!b)
        return NULL;
    b->key = *key;
    b->has_alloc = a != NULL;
    b->n_owners = 1;
    if (a)
        b->alloc = *a;
    if (shelved)
        b->keeper = hn_shared_keep(store->keeper);
    b->data = shelved                    ? (void *)(uintptr_t)shelved
              : key->n_bytes <= SIZE_MAX ? hn_block_alloc(blob_allocator(b), (size_t)key->n_bytes)
                                         : NULL;
    if (!b->data) {
        hn_free(a, b, sizeof *b);
        return NULL;
    }
    return b;
}

static void list_blob_lock(void) {
    static hn_fork_hook hook = {.lock = &blob_lock};
    hn_fork_list(&hook, HN_FORK_BLOBS);
}

/* Blobs are filled without the lock; when two threads create the same one, one copy is kept. */
hone_status hn_blob_get(const hone_allocator *a, const hn_blob_store *store, const hn_blob_key *key,
                        hn_blob_fill_fn fill, void *ctx, hn_blob **out) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_blob_lock);
    pthread_mutex_lock(&blob_lock);
    *out = find_and_own(a, key);
    pthread_mutex_unlock(&blob_lock);
    if (*out)
        return HONE_OK;
    hn_blob *fresh = blank_blob(a, store, key);
    HN_TRY_PTR(fresh);
    if (!fresh->keeper)
        hn_block_fetch(fresh->data, (size_t)key->n_bytes);
    hone_status status = fresh->keeper ? HONE_OK : fill(ctx, fresh->data);
    if (status != HONE_OK) {
        free_blob(fresh);
        return status;
    }
    pthread_mutex_lock(&blob_lock);
    *out = find_and_own(a, key);
    if (!*out) {
        fresh->next = *bucket_of(key);
        *bucket_of(key) = *out = fresh;
    }
    pthread_mutex_unlock(&blob_lock);
    if (*out != fresh)
        free_blob(fresh);
    else if (store && !fresh->keeper)
        store->made(store->ctx, fresh);
    return HONE_OK;
}

const hn_blob_key *hn_blob_key_of(const hn_blob *b) {
    return &b->key;
}

hn_blob *hn_blob_keep(hn_blob *b) {
    pthread_mutex_lock(&blob_lock);
    b->n_owners++;
    pthread_mutex_unlock(&blob_lock);
    return b;
}

void *hn_blob_data(const hn_blob *b) {
    return b->data;
}

void hn_blob_drop(hn_blob *b) {
    if (!b)
        return;
    pthread_mutex_lock(&blob_lock);
    bool is_last = --b->n_owners == 0;
    hn_blob **at = bucket_of(&b->key);
    while (is_last && *at != b)
        at = &(*at)->next;
    if (is_last)
        *at = b->next;
    pthread_mutex_unlock(&blob_lock);
    if (is_last)
        free_blob(b);
}
