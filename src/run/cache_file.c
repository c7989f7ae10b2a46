/* The file of a cache: a header, an index with a checksum of each blob, then the blobs, aligned. */
#include "run/cache.h"

#include <errno.h>
#include <stdlib.h>

#define CACHE_MAGIC "honeblob"
#define CACHE_FORMAT 2
#define CACHE_ALIGNMENT 64 /* of blobs */

typedef struct cache_header {
    char magic[8];
    uint64_t format;      /* also tells the byte order */
    uint64_t environment; /* for which everything was made */
    uint64_t seed;        /* of all keys */
    uint64_t file_bytes;
    uint64_t n_entries;
    uint64_t index_hash;
    uint64_t header_hash; /* of all before */
} cache_header;

static uint64_t hash_header(const cache_header *h) {
    return hn_hash64(h, offsetof(cache_header, header_hash), CACHE_FORMAT);
}

/* ---- order ----------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_keys(const hn_blob_key *a, const hn_blob_key *b) {
    int order = compare_numbers(a->hash[0], b->hash[0]);
    order = order ? order : compare_numbers(a->hash[1], b->hash[1]);
    order = order ? order : compare_numbers(a->kind, b->kind);
    return order ? order : compare_numbers(a->n_bytes, b->n_bytes);
}

static hn_blob_key key_of_entry(const hn_cache_entry *e) {
    return (hn_blob_key){
        .kind = (uint32_t)e->kind, .n_bytes = e->n_bytes, .hash = {e->hash[0], e->hash[1]}};
}

static int compare_pieces(const void *a, const void *b) {
    return compare_keys(&((const hn_cache_piece *)a)->key, &((const hn_cache_piece *)b)->key);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* NULL: nothing is wrong. */
static const char *header_fault(const hn_bytes *file, const cache_header *h, uint64_t environment) {
    if (file->n < sizeof *h || memcmp(h->magic, CACHE_MAGIC, sizeof h->magic) != 0)
        return "it is no cache of hone";
    if (h->format != CACHE_FORMAT)
        return "it has another format";
    if (h->header_hash != hash_header(h))
        return "its header is damaged";
    if (h->environment != environment)
        return "it was made by another build, or for another processor";
    if (h->file_bytes != file->n)
        return "it is not whole";
    if (h->n_entries > (file->n - sizeof *h) / sizeof(hn_cache_entry))
        return "its index does not fit";
    return NULL;
}

static const char *index_fault(const hn_bytes *file, const cache_header *h,
                               const hn_cache_entry *entries) {
    if (hn_hash64(entries, (size_t)h->n_entries * sizeof *entries, h->seed) != h->index_hash)
        return "its index is damaged";
    for (uint64_t i = 0; i < h->n_entries; i++)
        if (entries[i].offset % CACHE_ALIGNMENT != 0 || entries[i].offset > file->n ||
            entries[i].n_bytes > file->n - entries[i].offset)
            return "its index leads out of it";
    return NULL;
}

static void free_map(hn_shared *shared) {
    hn_cache_map *m = (hn_cache_map *)(void *)shared;
    hone_allocator alloc = m->alloc;
    const hone_allocator *a = m->has_alloc ? &alloc : NULL;
    hn_filemap_close(&m->map);
    hn_free(a, m, sizeof *m);
}

hone_status hn_cache_map_open(const char *path, uint64_t environment, const hone_allocator *a,
                              hn_cache_map **out, hone_error *err) {
    hn_filemap map;
    cache_header h = {.n_entries = 0};
    *out = NULL;
    errno = 0;
    hone_status status = hn_filemap_open_as(path, HN_MAP_CACHE, &map, err);
    if (status != HONE_OK)
        return errno == ENOENT ? HONE_OK : status;
    const hn_cache_entry *entries =
        (const hn_cache_entry *)(const void *)((const uint8_t *)map.bytes.at + sizeof h);
    memcpy(&h, map.bytes.at, (size_t)HN_MIN(map.bytes.n, sizeof h));
    const char *fault = header_fault(&map.bytes, &h, environment);
    fault = fault ? fault : index_fault(&map.bytes, &h, entries);
    hn_cache_map *m = fault ? NULL : hn_calloc(a, 1, sizeof *m);
    if (!m) {
        hn_filemap_close(&map);
        return fault ? hn_fail(err, HONE_E_INVALID, "'%s' is not used: %s", path, fault)
                     : HONE_E_NOMEM;
    }
    *m = (hn_cache_map){.has_alloc = a != NULL,
                        .map = map,
                        .seed = h.seed,
                        .n_entries = h.n_entries,
                        .entries = entries};
    if (a)
        m->alloc = *a;
    hn_shared_init(&m->shared, free_map);
    *out = m;
    return HONE_OK;
}

static uint64_t checksum_of(const void *bytes, uint64_t n, uint64_t seed) {
    return hn_hash64(bytes, (size_t)n, seed);
}

static hn_cache_answer open_entry(const hn_cache_map *m, const hn_cache_entry *e, hn_bytes *out) {
    *out = (hn_bytes){(const uint8_t *)m->map.bytes.at + e->offset, e->n_bytes};
    return checksum_of(out->at, out->n, m->seed) == e->checksum ? HN_CACHE_FOUND : HN_CACHE_DAMAGED;
}

hn_cache_answer hn_cache_map_find(const hn_cache_map *m, const hn_blob_key *key, hn_bytes *out) {
    uint64_t from = 0, to = m->n_entries;
    while (from < to) {
        uint64_t middle = from + (to - from) / 2;
        hn_blob_key here = key_of_entry(&m->entries[middle]);
        int order = compare_keys(&here, key);
        if (order == 0)
            return open_entry(m, &m->entries[middle], out);
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return HN_CACHE_ABSENT;
}

hn_cache_answer hn_cache_map_find_sized(const hn_cache_map *m, const hn_blob_key *key,
                                        hn_bytes *out) {
    for (uint64_t i = 0; i < m->n_entries; i++) {
        const hn_cache_entry *e = &m->entries[i];
        if (e->kind == key->kind && e->hash[0] == key->hash[0] && e->hash[1] == key->hash[1])
            return open_entry(m, e, out);
    }
    return HN_CACHE_ABSENT;
}

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t round_to_alignment(uint64_t offset) {
    return (offset + CACHE_ALIGNMENT - 1) / CACHE_ALIGNMENT * CACHE_ALIGNMENT;
}

/* Where each piece goes; the size of the whole file. */
static uint64_t lay_pieces(size_t n, const hn_cache_piece *pieces, uint64_t seed,
                           hn_cache_entry *entries) {
    uint64_t at = sizeof(cache_header) + n * sizeof *entries;
    for (size_t i = 0; i < n; i++) {
        const hn_blob_key *key = &pieces[i].key;
        at = round_to_alignment(at);
        entries[i] = (hn_cache_entry){.kind = key->kind,
                                      .n_bytes = key->n_bytes,
                                      .hash = {key->hash[0], key->hash[1]},
                                      .offset = at,
                                      .checksum = checksum_of(pieces[i].bytes, key->n_bytes, seed)};
        at += key->n_bytes;
    }
    return at;
}

static hone_status write_pieces(hn_outfile *f, const cache_header *h, const hn_cache_entry *entries,
                                const hn_cache_piece *pieces, hone_error *err) {
    HN_TRY(hn_outfile_write(f, h, sizeof *h, err));
    HN_TRY(hn_outfile_write(f, entries, h->n_entries * sizeof *entries, err));
    for (uint64_t i = 0; i < h->n_entries; i++) {
        HN_TRY(hn_outfile_pad_to(f, CACHE_ALIGNMENT, err));
        HN_TRY(hn_outfile_write(f, pieces[i].bytes, entries[i].n_bytes, err));
    }
    return HONE_OK;
}

/* In the order of keys, each once; how many are left. */
static size_t sort_pieces(size_t n, hn_cache_piece *pieces) {
    size_t kept = 0;
    qsort(pieces, n, sizeof *pieces, compare_pieces);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_pieces(&pieces[i], &pieces[kept - 1]) != 0)
            pieces[kept++] = pieces[i];
    return kept;
}

hone_status hn_cache_file_write(const char *path, uint64_t environment, uint64_t seed, size_t n,
                                hn_cache_piece *pieces, const hone_allocator *a, hone_error *err) {
    hn_outfile *f;
    n = sort_pieces(n, pieces);
    hn_cache_entry *entries = hn_calloc(a, n + 1, sizeof *entries);
    HN_TRY_PTR(entries);
    cache_header h = {.magic = CACHE_MAGIC,
                      .format = CACHE_FORMAT,
                      .environment = environment,
                      .seed = seed,
                      .file_bytes = lay_pieces(n, pieces, seed, entries),
                      .n_entries = n};
    h.index_hash = hn_hash64(entries, n * sizeof *entries, seed);
    h.header_hash = hash_header(&h);
    hone_status status = hn_outfile_open_cache(path, a, &f, err);
    if (status == HONE_OK) {
        status = write_pieces(f, &h, entries, pieces, err);
        if (status == HONE_OK)
            status = hn_outfile_commit(f, err);
        else
            hn_outfile_abort(f);
    }
    hn_free(a, entries, (n + 1) * sizeof *entries);
    return status;
}
