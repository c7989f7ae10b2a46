/* Inside run/: what an earlier process has made of a model, in a file of its own: the optimized
 * graph, and weights as kernels want them.
 *
 * One file holds all that one session made: of one model (by path), one set of options,
 * one processor and one build of this library. Blobs are found by the same keys as within a
 * process, so a file that belongs to another state of the model is merely one in which nothing is
 * found. */
#ifndef HN_CACHE_H
#define HN_CACHE_H

#include "ir/ir.h"

/* ---- cache_file.c: the file ------------------------------------------------------------------ */

typedef struct hn_cache_entry {
    uint64_t kind, n_bytes, hash[2]; /* the key of a blob */
    uint64_t offset;                 /* into the file; aligned */
    uint64_t checksum;               /* of the bytes */
} hn_cache_entry;

/* A mapped file, for as long as anybody keeps it. */
typedef struct hn_cache_map {
    hn_shared shared;
    hone_allocator alloc; /* by value: who opened it may be gone */
    bool has_alloc;
    hn_filemap map;
    uint64_t seed;
    uint64_t n_entries;
    const hn_cache_entry *entries; /* in the order of keys */
} hn_cache_map;

/* Maps and checks a file: that it is a regular one that only its owner writes, whole, ours, of this
 * machine, and that no entry leads out of it. *out is NULL when there is none. Fails, with the
 * reason, when it cannot be used. */
hone_status hn_cache_map_open(const char *path, uint64_t environment, const hone_allocator *a,
                              hn_cache_map **out, hone_error *err);
typedef enum hn_cache_answer { HN_CACHE_ABSENT, HN_CACHE_DAMAGED, HN_CACHE_FOUND } hn_cache_answer;
/* Bytes of that key. Reads all of them, because they have to fit their checksum. */
hn_cache_answer hn_cache_map_find(const hn_cache_map *m, const hn_blob_key *key, hn_bytes *out);
/* The same for one whose size is not known. */
hn_cache_answer hn_cache_map_find_sized(const hn_cache_map *m, const hn_blob_key *key,
                                        hn_bytes *out);

typedef struct hn_cache_piece {
    hn_blob_key key;
    const void *bytes;
} hn_cache_piece;
/* Replaces the file at once; sorts the pieces, and writes those of equal keys once. */
hone_status hn_cache_file_write(const char *path, uint64_t environment, uint64_t seed, size_t n,
                                hn_cache_piece *pieces, const hone_allocator *a, hone_error *err);

/* ---- cache.c: what a session does with it ---------------------------------------------------- */

typedef struct hn_cache hn_cache;
/* `asked`: equal texts for equal options. *out is NULL when no cache can be used, which keeps
 * nobody from anything; *note is then, or when a file is not used, a sentence that says why, in
 * `arena`. */
hone_status hn_cache_open(const char *folder, const hn_model *m, const char *asked, hn_pool *pool,
                          hn_arena *arena, hn_cache **out, const char **note);
const hn_blob_store *hn_cache_store(const hn_cache *c);
/* The optimized graph that an earlier session of the same model and options has left, in a model of
 * its own; NULL: there is none. */
hone_status hn_cache_take_graph(hn_cache *c, const hn_model *m, hn_model **out);
/* Keeps one for later sessions, if it can be kept. */
hone_status hn_cache_put_graph(hn_cache *c, const hn_model *m, const hn_model *optimized);
/* Writes what was found or made, if anything was made. */
hone_status hn_cache_save(hn_cache *c, hn_arena *arena, const char **note);
void hn_cache_free(hn_cache *c); /* NULL is fine; blobs live on */

#endif /* HN_CACHE_H */
