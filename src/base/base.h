/* Layer 0, used by every other folder: status and errors, memory, strings, hashing, files, CPU
 * features, threads, number formats, random numbers, JSON. It knows nothing about models. Regular
 * expressions, sorting and letter case have headers of their own: regex.h, sort.h, text_case.h. */
#ifndef HN_BASE_H
#define HN_BASE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "hone/hone.h"

/* ---- compiler extensions; elsewhere only src/base/ .c files and src/cpu/kernels/ use any ------ */

#if defined(__GNUC__)
#  define HN_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#  define HN_LIKELY(x) __builtin_expect(!!(x), 1)
#  define HN_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#  define HN_PRINTF(fmt, args)
#  define HN_LIKELY(x) (x)
#  define HN_UNLIKELY(x) (x)
#endif

/* A flag that another thread may set concurrently. */
static inline bool hn_flag_is_set(const volatile int *flag) {
#if defined(__GNUC__)
    return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
#else
    return *flag != 0;
#endif
}

static inline void hn_flag_set(volatile int *flag) {
#if defined(__GNUC__)
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#else
    *flag = 1;
#endif
}

#define HN_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HN_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HN_MAX(a, b) ((a) > (b) ? (a) : (b))

/* ---- status and error record ----------------------------------------------------------------- */

/* Evaluates `expr`; on failure returns its status from the calling function. */
#define HN_TRY(expr)                           \
  do {                                         \
    hone_status hn_try_status = (expr);        \
    if (HN_UNLIKELY(hn_try_status != HONE_OK)) \
      return hn_try_status;                    \
  } while (0)

/* Allocation check: `p = alloc(...); HN_TRY_PTR(p);` */
#define HN_TRY_PTR(ptr)      \
  do {                       \
    if (HN_UNLIKELY(!(ptr))) \
      return HONE_E_NOMEM;   \
  } while (0)

void hn_error_clear(hone_error *err);
/* Records the first error and returns `code`; `err` may be NULL. Later calls on a record that is
 * set change nothing. */
hone_status hn_fail(hone_error *err, hone_status code, const char *fmt, ...) HN_PRINTF(3, 4);
hone_status hn_failv(hone_error *err, hone_status code, const char *fmt, va_list args);
/* The same with errno's text appended: "cannot open 'x': No such file or directory". */
hone_status hn_fail_errno(hone_error *err, const char *fmt, ...) HN_PRINTF(2, 3);
/* Puts "context: " before the message of a record that is set. */
void hn_error_prefix(hone_error *err, const char *fmt, ...) HN_PRINTF(2, 3);
/* A status returned by user code: a value that is not a hone_status becomes HONE_E_INTERNAL. */
hone_status hn_status_from_outside(hone_status status);
/* Gives a status that reached the API without a message (such as HONE_E_NOMEM) its default text.
 * Returns status. */
hone_status hn_error_complete(hone_error *err, hone_status status);

/* ---- checked arithmetic: false on overflow, *out untouched ----------------------------------- */

bool hn_add_u64(uint64_t a, uint64_t b, uint64_t *out);
bool hn_mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool hn_add_i64(int64_t a, int64_t b, int64_t *out);
bool hn_sub_i64(int64_t a, int64_t b, int64_t *out);
bool hn_mul_i64(int64_t a, int64_t b, int64_t *out);
bool hn_add_size(size_t a, size_t b, size_t *out);
bool hn_mul_size(size_t a, size_t b, size_t *out);
/* Floor division, which rounds toward negative infinity, and its remainder in [0, b); b > 0. */
int64_t hn_floor_div(int64_t a, int64_t b);
int64_t hn_floor_mod(int64_t a, int64_t b);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Wherever an allocator is expected, NULL means malloc and free. */
void *hn_alloc(const hone_allocator *a, size_t bytes);
void *hn_calloc(const hone_allocator *a, size_t n, size_t elem_bytes); /* checked product, zeroed */
void *hn_realloc(const hone_allocator *a, void *ptr, size_t old_bytes, size_t new_bytes);
void hn_free(const hone_allocator *a, void *ptr, size_t bytes);

/* Memory that several arenas and heaps take together. Thread-safe. */
typedef struct hn_budget {
    uint64_t limit; /* 0: none; written while nobody takes */
    _Atomic uint64_t used;
    _Atomic uint64_t refused; /* bytes of the last request that failed, here or in the system */
    _Atomic bool is_over;     /* that one exceeded the limit */
} hn_budget;
bool hn_budget_take(hn_budget *b, uint64_t bytes); /* false: over the limit; true where b is NULL */
void hn_budget_give(hn_budget *b, uint64_t bytes);
void hn_budget_note_failure(hn_budget *b, uint64_t bytes); /* the system refused that many */
/* What this process may have at most, by physical memory and control groups; cached. */
uint64_t hn_machine_bytes(void);

/* An arena: allocations with one lifetime, freed together. Chunks grow geometrically; under
 * AddressSanitizer a redzone follows each block. */
typedef struct hn_arena hn_arena;

typedef struct hn_arena_mark {
    void *chunk;
    size_t used;
} hn_arena_mark;

hn_arena *hn_arena_new(const hone_allocator *a);
void hn_arena_free(hn_arena *arena); /* NULL is fine */
/* Total bytes after which allocation fails; 0 = no limit. Prevents a hostile file from exhausting
 * memory. */
void hn_arena_set_limit(hn_arena *arena, size_t bytes);
/* What it allocates from the system counts there, too; set while it holds nothing. */
void hn_arena_set_budget(hn_arena *arena, hn_budget *budget);
/* True when the last failure was due to the limit, not the system: the caller then returns
 * HONE_E_LIMIT instead of HONE_E_NOMEM. */
bool hn_arena_hit_limit(const hn_arena *arena);
/* From now on nothing is allocated: hn_arena_alloc returns NULL. For what threads share. */
void hn_arena_freeze(hn_arena *arena);
/* True when any allocation has failed so far: callers that ignore single failures check this once
 * at the end. */
bool hn_arena_has_failed(const hn_arena *arena);
size_t hn_arena_bytes(const hn_arena *arena); /* allocated from the system */
const hone_allocator *hn_arena_allocator(const hn_arena *arena);
void *hn_arena_alloc(hn_arena *arena,
                     size_t bytes); /* 16-byte aligned, uninitialized; NULL on failure */
void *hn_arena_calloc(hn_arena *arena, size_t n, size_t elem_bytes); /* zeroed, product checked */
void *hn_arena_copy(hn_arena *arena, const void *data, size_t bytes);
char *hn_arena_printf(hn_arena *arena, const char *fmt, ...) HN_PRINTF(2, 3);
/* Reserves `bytes` contiguous bytes for later allocations. False: out of memory. */
bool hn_arena_reserve(hn_arena *arena, size_t bytes);
/* Everything allocated after a mark can be freed at once (scratch memory in a long-lived arena). */
hn_arena_mark hn_arena_save(hn_arena *arena);
void hn_arena_restore(hn_arena *arena, hn_arena_mark mark);
void hn_arena_clear(hn_arena *arena); /* frees everything but the first, small chunk */

#define HN_NEW(arena, T) ((T *)hn_arena_calloc((arena), 1, sizeof(T)))
#define HN_NEW_N(arena, T, n) ((T *)hn_arena_calloc((arena), (n), sizeof(T)))

/* Typed growable array in an arena: `HN_VEC(hn_id) uses;`, zero-initialized. Growth is geometric;
 * the old block stays in the arena, so at most half of the memory is wasted. Counts are 32-bit: a
 * larger array fails like an allocation. */
#define HN_VEC(T) \
  struct {        \
    T *at;        \
    uint32_t n;   \
    uint32_t cap; \
  }
bool hn_vec_grow(hn_arena *arena, void **at, uint32_t *cap, uint32_t need, size_t elem_bytes);
/* Reserves capacity for n_more items; true on success. */
#define HN_VEC_RESERVE(arena, vec, n_more)                                               \
  ((vec)->cap - (vec)->n >= (uint32_t)(n_more) ||                                        \
   hn_vec_grow((arena), (void **)&(vec)->at, &(vec)->cap, (vec)->n + (uint32_t)(n_more), \
               sizeof(*(vec)->at)))
/* Appends; true on success. */
#define HN_VEC_PUSH(arena, vec, item) \
  (HN_VEC_RESERVE(arena, vec, 1) && ((vec)->at[(vec)->n++] = (item), true))

/* A heap for blocks whose lifetimes lie within a run, 64-byte aligned. Freed blocks are kept for
 * later requests, so that a repeated run makes no system allocations. hn_heap_alloc and
 * hn_heap_give are thread-safe; the other functions need the heap exclusively. */
typedef struct hn_heap hn_heap;
hn_heap *hn_heap_new(const hone_allocator *a);
void hn_heap_free(hn_heap *heap);                 /* NULL is fine; blocks still in use are leaked */
void *hn_heap_alloc(hn_heap *heap, size_t bytes); /* NULL: out of memory, or over the limit */
void hn_heap_give(hn_heap *heap, void *block,
                  size_t bytes);  /* frees; bytes as allocated; NULL is fine */
void hn_heap_trim(hn_heap *heap); /* returns unused memory to the system */
/* Peak of the large blocks since the last call. */
size_t hn_heap_recent_bytes(hn_heap *heap);
/* Size of the region that is held for large blocks. */
size_t hn_heap_region_bytes(const hn_heap *heap);
void hn_heap_set_limit(hn_heap *heap, size_t bytes);       /* for blocks in use; 0 = no limit */
bool hn_heap_hit_limit(const hn_heap *heap);               /* since the limit was set */
void hn_heap_set_budget(hn_heap *heap, hn_budget *budget); /* blocks in use count there, too */
/* One large block of exactly this size, 64-byte aligned. NULL: out of memory. */
void *hn_block_alloc(const hone_allocator *a, size_t bytes);
void hn_block_free(const hone_allocator *a, void *block, size_t bytes); /* NULL is fine */
/* Populates the pages of a block that is about to be written completely. A hint only. */
void hn_block_fetch(void *block, size_t bytes);

/* Reference count of a shared object, whose first member it must be. Dropping the last reference
 * destroys the object. Thread-safe. */
typedef struct hn_shared {
    void (*destroy)(struct hn_shared *self);
    _Atomic uint32_t n_owners;
} hn_shared;
void hn_shared_init(hn_shared *s, void (*destroy)(hn_shared *self)); /* one owner */
hn_shared *hn_shared_keep(hn_shared *s); /* adds an owner; returns s. NULL is fine */
void hn_shared_drop(hn_shared *s);       /* NULL is fine */

/* An immutable block of bytes derived from a source, shared by all users in the process. It is
 * identified by its source (hn_blob_key), not by its creator. 64-byte aligned. Reference counted;
 * shared only among users of the same allocator. */
typedef struct hn_blob hn_blob;
/* What was done to the source. Cache files have these numbers: a kind keeps the one it has. */
typedef enum hn_blob_kind {
    HN_BLOB_COPY = 0,  /* of a tensor that cannot be read where it is */
    HN_BLOB_DENSE = 1, /* the elements of a sparse tensor */
    HN_BLOB_GRAPH = 8, /* an optimized model */
    /* packed for the kernels of this processor */
    HN_BLOB_RIGHT_SIDE = 16, /* of a product */
    HN_BLOB_FILTERS = 17,
    HN_BLOB_RECURRENT = 18,
    HN_BLOB_NCHW_FILTERS = 19, /* of convolutions from channels first to channels last */
    HN_BLOB_RIGHT_SIDE_F16 = 20,
    HN_BLOB_RIGHT_SIDE_BF16 = 21,
    HN_BLOB_RIGHT_SIDE_INT8 = 24, /* of a product of 8-bit integers */
    HN_BLOB_NBITS = 22,           /* weights of few bits */
    HN_BLOB_WIDE_GATES = 25,      /* of a recurrent layer, from 8-bit integers */
    HN_BLOB_RIGHT_SIDE_BF16_PAIRS = 23,
    HN_BLOB_NHWC_TRANSPOSED = 32, /* of transposed convolutions */
    HN_BLOB_NHWC_PRODUCT = 33,
    HN_BLOB_NHWC_WINOGRAD = 34,
    HN_BLOB_NHWC_DEPTHWISE = 35,
    HN_BLOB_NHWC_INT8 = 36 /* of convolutions of 8-bit integers */
} hn_blob_kind;
typedef struct hn_blob_key {
    uint32_t kind;    /* hn_blob_kind */
    uint64_t n_bytes; /* of the blob */
    uint64_t hash[2]; /* of the source */
} hn_blob_key;
/* Persistent storage of blobs. Its functions are called from any thread. */
typedef struct hn_blob_store {
    uint64_t seed; /* hashed into all its keys */
    /* The bytes of that key, in memory that `keeper` holds; NULL: not found. */
    const void *(*find)(void *ctx, const hn_blob_key *key);
    /* Called with a new blob that was not found; the store may add itself as an owner. */
    void (*made)(void *ctx, hn_blob *b);
    hn_shared *keeper;
    void *ctx;
} hn_blob_store;
/* store: NULL for none, here and below. */
void hn_blob_key_init(hn_blob_key *key, const hn_blob_store *store, hn_blob_kind kind,
                      uint64_t n_bytes);
void hn_blob_key_mix(hn_blob_key *key, const void *bytes,
                     uint64_t n); /* adds a part of the source */
typedef hone_status (*hn_blob_fill_fn)(void *ctx, void *out);
/* The blob with that key, created with `fill` if there is none. The caller becomes an owner. */
hone_status hn_blob_get(const hone_allocator *a, const hn_blob_store *store, const hn_blob_key *key,
                        hn_blob_fill_fn fill, void *ctx, hn_blob **out);
const hn_blob_key *hn_blob_key_of(const hn_blob *b);
void *hn_blob_data(const hn_blob *b); /* read-only */
hn_blob *hn_blob_keep(hn_blob *b);    /* adds an owner; returns b */
void hn_blob_drop(hn_blob *b);        /* NULL is fine */

/* ---- bytes and strings ----------------------------------------------------------------------- */

/* A view of bytes that someone else owns. */
typedef struct hn_bytes {
    const void *at;
    uint64_t n;
} hn_bytes;

/* An interned string: within one table, equal strings have equal pointers. Text is NUL-terminated
 * but may contain NULs; `n` is its length in bytes. A NULL hn_str means "absent", which differs
 * from an empty string. */
typedef const struct hn_string {
    uint32_t n;
    uint32_t hash;
    uint32_t id; /* 0, 1, 2, ... in order of first interning: a key for maps and tables */
    char s[];
} * hn_str;

typedef struct hn_strtab hn_strtab;
hn_strtab *hn_strtab_new(hn_arena *arena);
hn_str hn_intern(hn_strtab *tab, const char *text, size_t n); /* NULL when out of memory */
hn_str hn_intern_z(hn_strtab *tab, const char *text);
hn_str hn_internf(hn_strtab *tab, const char *fmt, ...) HN_PRINTF(2, 3);
hn_str hn_intern_find(const hn_strtab *tab, const char *text,
                      size_t n); /* NULL when never interned */
/* The text of a string that may be absent: "" then. */
static inline const char *hn_s(hn_str s) {
    return s ? s->s : "";
}
static inline bool hn_str_is(hn_str s, const char *text) {
    return s && s->n == strlen(text) && memcmp(s->s, text, s->n) == 0;
}
static inline bool hn_str_empty(hn_str s) {
    return !s || s->n == 0;
}

/* Growable text buffer with a sticky failure flag: append without checks, test `failed` once at the
 * end. */
typedef struct hn_strbuf {
    const hone_allocator *alloc;
    char *at; /* NUL-terminated once anything was appended */
    size_t n, cap;
    bool failed;
} hn_strbuf;
void hn_strbuf_init(hn_strbuf *b, const hone_allocator *a);
void hn_strbuf_free(hn_strbuf *b);
void hn_strbuf_put(hn_strbuf *b, const char *text, size_t n);
void hn_strbuf_puts(hn_strbuf *b, const char *text);
void hn_strbuf_printf(hn_strbuf *b, const char *fmt, ...) HN_PRINTF(2, 3);

/* Shortest text that reads back as the same number ("0.1", "1e-05", "inf", "nan"); returns its
 * length. */
int hn_format_f32(char out[32], float v);
int hn_format_f64(char out[32], double v);

/* ---- hash ------------------------------------------------------------------------------------ */

uint32_t hn_hash32(const void *data, size_t n);
uint64_t hn_hash64(const void *data, size_t n,
                   uint64_t seed); /* for content keys of tensors; not cryptographic */

/* Hash map from a 64-bit key to a 32-bit id, with open addressing, in an arena. A key is anything
 * that fits: a pointer, a pair of ids (hn_key). */
typedef struct hn_map {
    hn_arena *arena;
    struct hn_map_slot *slots;
    uint32_t n, cap;
} hn_map;
#define HN_MAP_NONE UINT32_MAX
void hn_map_init(hn_map *m, hn_arena *arena);
bool hn_map_put(hn_map *m, uint64_t key, uint32_t id); /* overwrites; false when out of memory */
uint32_t hn_map_get(const hn_map *m, uint64_t key);    /* HN_MAP_NONE when absent */
bool hn_map_remove(hn_map *m, uint64_t key);           /* true when it was there */
static inline uint64_t hn_key(uint32_t scope, uint32_t id) {
    return ((uint64_t)scope << 32) | id;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Which file it is, and in which state. */
typedef struct hn_file_stamp {
    uint64_t device, inode, bytes;
    int64_t changed_s, changed_ns;
} hn_file_stamp;
/* Of the file that a path leads to; false: there is none. */
bool hn_file_stamp_read(const char *path, hn_file_stamp *out);
static inline bool hn_same_file(const hn_file_stamp *a, const hn_file_stamp *b) {
    return a->device == b->device && a->inode == b->inode;
}

/* The bytes of a file, mapped read-only or copied. An empty file has n == 0. */
typedef struct hn_filemap {
    hn_bytes bytes;
    uint64_t mapped_bytes;
    bool is_copy;        /* memory of its own: the file may change */
    hn_file_stamp stamp; /* when it was opened */
    const char *path;    /* absolute, in memory of whoever opened it; NULL: not known */
    /* Maps with equal identities have equal bytes, while nobody writes through mappings of his own.
     * Zeros: unknown, as for a file that was modified so recently that another change could leave
     * the same time stamp. */
    uint64_t identity[2];
    uint64_t content[2]; /* hash of the bytes, by hn_model_identify; zeros: not computed */
} hn_filemap;
typedef enum hn_map_mode {
    HN_MAP_FILE, /* small files are copied, too: that takes no longer */
    HN_MAP_COPY,
    HN_MAP_CACHE /* of hone's own: no link, owned by the user or root, writable by nobody else */
} hn_map_mode;
/* Refuses directories and special files; the message says what the path is. */
hone_status hn_filemap_open_as(const char *path, hn_map_mode mode, hn_filemap *out,
                               hone_error *err);
hone_status hn_filemap_open(const char *path, hn_filemap *out, hone_error *err); /* HN_MAP_FILE */
/* Opens `location`, relative to `folder`, and refuses everything outside it: absolute paths, "..",
 * symbolic links that lead out. */
hone_status hn_filemap_open_inside(const char *folder, const char *location, hn_map_mode mode,
                                   hn_filemap *out, hone_error *err);
/* Fails when the mapped file was modified since it was opened, as far as its size and time stamp
 * tell: reading behind its new end would end the process. A file that has another one's name now is
 * not modified. */
hone_status hn_filemap_check(const hn_filemap *map, hone_error *err);
/* Hint that these bytes will not be read soon: pages that lie completely inside them are released,
 * and read from the file again on the next access. Bytes outside the map are ignored. */
void hn_filemap_forget(const hn_filemap *map, const void *at, uint64_t n_bytes);
void hn_filemap_close(hn_filemap *map);

/* "a folder", "a pipe", ...: what a path names that is no regular file; `mode` as stat gives it. */
const char *hn_file_kind_name(unsigned mode);

/* A file that is replaced atomically: written under a temporary name next to `path`, on the disk
 * before it is renamed by commit. Temporary files that a killed process left in the folder are
 * removed. */
typedef struct hn_outfile hn_outfile;
hone_status hn_outfile_open(const char *path, const hone_allocator *a, hn_outfile **out,
                            hone_error *err);
/* For what can be made again: only a regular file is replaced, links are not followed, the file is
 * writable by its owner alone, and nothing waits for the disk. */
hone_status hn_outfile_open_cache(const char *path, const hone_allocator *a, hn_outfile **out,
                                  hone_error *err);
hone_status hn_outfile_write(hn_outfile *f, const void *data, uint64_t n, hone_error *err);
hone_status hn_outfile_pad_to(hn_outfile *f, uint64_t alignment,
                              hone_error *err); /* zeros up to a multiple */
uint64_t hn_outfile_offset(const hn_outfile *f);
/* Brings all content to the disk, under the temporary name: what is left for commit is a rename. */
hone_status hn_outfile_finish(hn_outfile *f, hone_error *err);
hone_status hn_outfile_commit(
    hn_outfile *f, hone_error *err); /* closes in every case; on failure the target is untouched */
/* The same under another name in the same folder. */
hone_status hn_outfile_commit_as(hn_outfile *f, const char *path, hone_error *err);
void hn_outfile_abort(hn_outfile *f); /* closes and removes; NULL is fine */
/* Whether a file has the content of one that is finished. */
bool hn_outfile_equals(const hn_outfile *f, const char *path);
/* Makes `to` another name of the file `from`, in place of what has that name now; false where the
 * file system has no hard links, or no room. */
bool hn_file_link(const char *from, const char *to, const hone_allocator *a);

/* A shared library, loaded at run time; a path without a slash names a file in the current folder.
 */
hone_status hn_library_open(const char *path, void **library, hone_error *err);
void *hn_library_symbol(void *library, const char *name); /* NULL when it has none */
void hn_library_close(void *library);                     /* NULL is fine */
/* Identifies the build of the library or program that contains this code; 0: unknown. */
uint64_t hn_code_identity(void);

/* ---- processors ------------------------------------------------------------------------------ */

/* Features in use: present in the CPU, enabled by the operating system, and allowed by the
 * environment variable HONE_CPU, which names the highest tier to use: scalar; sse2, sse4.1, avx,
 * avx2, avxvnni, avx512, avx512vbmi, avx512vnni, avx512bf16, avx512fp16, amx; neon, fp16, dotprod,
 * i8mm, bf16, sve. A tier of another architecture leaves plain C only; an unknown name has no
 * effect. hone_cpu_features() returns the features in use. */
/* clang-format off */
#define HN_CPU_LIST(X)                                                                            \
    X(SSE2, "sse2") X(SSE41, "sse4.1") X(AVX, "avx") X(F16C, "f16c") X(FMA, "fma")                \
    X(AVX2, "avx2") X(AVX512F, "avx512f") X(AVX512BW, "avx512bw") X(AVX512VL, "avx512vl")         \
    X(AVX512DQ, "avx512dq") X(AVX512VBMI, "avx512_vbmi") X(AVX512VNNI, "avx512_vnni")             \
    X(AVX512BF16, "avx512_bf16") X(AVX512FP16, "avx512_fp16") X(AVXVNNI, "avx_vnni")              \
    X(AMX_TILE, "amx_tile") X(AMX_INT8, "amx_int8") X(AMX_BF16, "amx_bf16") X(NEON, "neon")       \
    X(DOTPROD, "dotprod") X(I8MM, "i8mm") X(FP16ARITH, "fp16") X(BF16ARM, "bf16") X(SVE, "sve")
/* clang-format on */
typedef enum hn_cpu_feature {
#define HN_CPU_ENUM(id, text) HN_CPU_##id,
    HN_CPU_LIST(HN_CPU_ENUM)
#undef HN_CPU_ENUM
        HN_CPU_COUNT
} hn_cpu_feature;
uint64_t hn_cpu_mask(void); /* bit i = feature i; detected once, thread-safe */
static inline bool hn_cpu_has(hn_cpu_feature f) {
    return (hn_cpu_mask() >> f) & 1;
}
const char *hn_cpu_tier_name(int i); /* the names above, 0, 1, 2, ...; NULL past the last */
uint64_t hn_cpu_tier_mask(
    const char *tier_name); /* features up to that tier; all for NULL and for unknown names */
/* The vendor's name of the processor, truncated to `size`; "" when unknown. */
void hn_cpu_name(char *out, size_t size);
/* Sets whether this thread flushes denormals (numbers below the smallest normal one) to zero, in
 * operands and results; on some processors they are a hundred times slower than others. Returns the
 * previous mode, to be restored. No effect on unknown architectures. */
typedef uint64_t hn_denormals;
hn_denormals hn_flush_denormals(bool flush);
void hn_restore_denormals(hn_denormals before);
/* Number of processors available to this process, by affinity mask and cgroup quota (rounded up);
 * at least 1. */
int hn_cpu_count(void);
/* The cgroup quota alone, read below `root` ("" is the real system; tests pass a folder); INT_MAX:
 * no quota. */
int hn_cgroup_cpu_limit(const char *root);

uint64_t hn_now_ns(void); /* monotonic clock */

/* ---- threads --------------------------------------------------------------------------------- */

/* Spin-wait hint: yields execution resources to the other hardware thread of the core. */
static inline void hn_relax_processor(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* `yield` is a no-op on most cores */
#endif
}

/* A pool with a fixed number of workers. Loops are partitioned by their sizes alone, never by the
 * thread count, so results do not depend on it. Idle workers spin for a short bounded time, then
 * sleep. One parallel loop at a time per pool; a nested loop, or one of a second caller, runs on
 * the calling thread. */
typedef struct hn_pool hn_pool;
typedef void (*hn_range_fn)(void *ctx, int64_t begin, int64_t end);
typedef void (*hn_tile_fn)(void *ctx, int64_t row0, int64_t row1, int64_t col0, int64_t col1);
/* n_threads includes the caller; 0 = hn_cpu_count(). When the system refuses to create threads, the
 * pool is smaller; that is no error. */
hn_pool *hn_pool_new(int n_threads, const hone_allocator *a);
void hn_pool_free(hn_pool *pool); /* NULL is fine */
int hn_pool_threads(const hn_pool *pool);
/* Settings of the loops of one run. */
typedef struct hn_pool_run {
    bool flush_denormals;          /* in the workers; the caller sets the mode of its own thread */
    bool (*is_stopped)(void *ctx); /* called from all threads; NULL: never stopped */
    void *ctx;
    /* By lane: time spent in parallel loops, added to; that of the caller, lane 0, is the time it
     * waited for the others. NULL: nobody asks. */
    uint64_t *thread_ns;
} hn_pool_run;
/* A second handle on the workers of `pool`, which must outlive it. NULL: out of memory. */
hn_pool *hn_pool_share(const hn_pool *pool, const hn_pool_run *run);
void hn_pool_time_threads(hn_pool *shared, uint64_t *thread_ns); /* between loops; may be NULL */
/* Polled between the tiles of every parallel loop, and by loops that may run long within a tile.
 * What a stopped loop did not write is undefined: nobody may use it as an index or address. */
bool hn_pool_is_stopped(const hn_pool *pool);
/* What the loops of this thread work for. Loops that may run long, and have no pool, count their
 * work: hn_spent asks once in a while whether the run was stopped. Then the loop may end: nobody
 * uses its results, but the code behind it must not take them for indices or addresses either. */
typedef struct hn_watch {
    bool (*is_stopped)(void *ctx); /* NULL: nobody stops it */
    void *ctx;
    uint64_t n_units; /* of work, since it was asked the last time */
} hn_watch;
hn_watch hn_watch_begin(bool (*is_stopped)(void *ctx), void *ctx); /* returns the one before */
void hn_watch_end(hn_watch before);
bool hn_spent(uint64_t n_units); /* of about a nanosecond */
/* Calls fn over [0, n) in ranges of `grain` (the last may be shorter). A NULL pool runs on the
 * calling thread. Returns when all calls have returned. */
void hn_pool_for(hn_pool *pool, int64_t n, int64_t grain, hn_range_fn fn, void *ctx);
/* The same for code that relies on every call: a stopped run leaves none out. */
void hn_pool_for_all(hn_pool *pool, int64_t n, int64_t grain, hn_range_fn fn, void *ctx);
/* The same over tiles of rows x cols; the number of tiles must fit in 63 bits. */
void hn_pool_for_2d(hn_pool *pool, int64_t rows, int64_t cols, int64_t row_grain, int64_t col_grain,
                    hn_tile_fn fn, void *ctx);
/* The same over [0, n), for loops with per-thread scratch: `lane` is less than
 * hn_pool_threads(pool), and no two concurrent calls have the same one. */
typedef void (*hn_lane_fn)(void *ctx, int lane, int64_t begin, int64_t end);
void hn_pool_for_lanes(hn_pool *pool, int64_t n, int64_t grain, hn_lane_fn fn, void *ctx);

/* ---- fork() ---------------------------------------------------------------------------------- */

/* Before a fork all locks that are listed are taken, in this order, so that in the child they are
 * free and what they guard is consistent. Nobody may list or unlist while holding one of them. */
typedef enum hn_fork_rank {
    HN_FORK_PROGRAM,
    HN_FORK_SESSION,
    HN_FORK_REGISTRY,
    HN_FORK_BLOBS,
    HN_FORK_POOL,
    HN_N_FORK_RANKS
} hn_fork_rank;
typedef struct hn_fork_hook {
    struct hn_fork_hook *next, **link;
    pthread_mutex_t *lock;                       /* may be NULL */
    void (*in_child)(struct hn_fork_hook *hook); /* may be NULL */
} hn_fork_hook;
void hn_fork_list(hn_fork_hook *hook, hn_fork_rank rank);
void hn_fork_unlist(hn_fork_hook *hook); /* one that was never listed is fine */

/* ---- small number formats, exact to the ONNX rules (round to nearest even) ------------------- */

/* To the nearest integer, ties to even; what is too large to have a fraction stays. */
static inline float hn_round_even(float v) {
    const float shift = 12582912.0f; /* 1.5 * 2^23: sums with it have no bits left for a fraction */
    return v > -4194304.0f && v < 4194304.0f ? (v + shift) - shift : v;
}

float hn_f16_to_f32(uint16_t h);
uint16_t hn_f32_to_f16(float f);
float hn_bf16_to_f32(uint16_t h);
uint16_t hn_f32_to_bf16(float f); /* NaN stays NaN */

typedef enum hn_f8_kind { HN_F8_E4M3FN, HN_F8_E4M3FNUZ, HN_F8_E5M2, HN_F8_E5M2FNUZ } hn_f8_kind;
float hn_f8_to_f32(uint8_t v, hn_f8_kind kind);
/* Out-of-range values: the largest finite number when `saturate`, else the format's Inf or NaN, as
 * Cast-19 says. */
uint8_t hn_f32_to_f8(float f, hn_f8_kind kind, bool saturate);
typedef enum hn_round { HN_ROUND_UP, HN_ROUND_DOWN, HN_ROUND_NEAREST } hn_round;
float hn_e8m0_to_f32(uint8_t v);
/* HN_ROUND_NEAREST rounds ties up. Values above 2^127 or below 2^-127, zero and negative ones give
 * the nearest end of the range when `saturate`, else NaN. */
uint8_t hn_f32_to_e8m0(float f, hn_round round, bool saturate);
float hn_f4_to_f32(uint8_t nibble); /* e2m1 */
uint8_t hn_f32_to_f4(float f);      /* saturates, NaN becomes -0; returns a nibble */
typedef enum hn_f6_kind { HN_F6_E2M3, HN_F6_E3M2 } hn_f6_kind;
float hn_f6_to_f32(uint8_t code, hn_f6_kind kind);
uint8_t hn_f32_to_f6(float f, hn_f6_kind kind); /* saturates, NaN becomes -0; returns 6 bits */
/* Packed sub-byte elements: a bit stream, least significant bits first. `bits` is 2, 4 or 6; a
 * 6-bit element may span two bytes. */
int hn_unpack_int(const uint8_t *data, uint64_t i, int bits, bool is_signed);
void hn_pack_int(uint8_t *data, uint64_t i, int bits, int value); /* keeps the low bits of value */

/* ---- random numbers (reproducible everywhere) ------------------------------------------------ */

typedef struct hn_rng {
    uint64_t s[4];
} hn_rng;
void hn_rng_seed(hn_rng *r, uint64_t seed);
uint64_t hn_rng_u64(hn_rng *r);
uint64_t hn_rng_below(hn_rng *r, uint64_t n); /* unbiased, n > 0 */
double hn_rng_f64(hn_rng *r);                 /* [0, 1) */
float hn_rng_normal(hn_rng *r);

/* ---- JSON writer ----------------------------------------------------------------------------- */

/* Writes well-formed JSON into a strbuf; it adds commas, indentation and escapes. Bytes that are
 * not UTF-8 become U+FFFD. Non-finite numbers become the strings "inf", "-inf", "nan". Failures are
 * recorded in the strbuf. */
#define HN_JSON_MAX_DEPTH \
  127 /* exceeds the nesting limit of types and graphs when reading; deeper output fails */
typedef struct hn_json {
    hn_strbuf *out;
    int depth;
    bool pretty;                          /* newlines and two-space indentation */
    bool after_key;                       /* a value must follow */
    bool has_item[HN_JSON_MAX_DEPTH + 1]; /* by depth */
} hn_json;
void hn_json_init(hn_json *j, hn_strbuf *out, bool pretty);
void hn_json_object(hn_json *j);
void hn_json_object_end(hn_json *j);
void hn_json_array(hn_json *j);
void hn_json_array_end(hn_json *j);
void hn_json_key(hn_json *j, const char *key);
void hn_json_str(hn_json *j, const char *text);
void hn_json_strn(hn_json *j, const char *text, size_t n);
void hn_json_i64(hn_json *j, int64_t v);
void hn_json_u64(hn_json *j, uint64_t v);
void hn_json_f64(hn_json *j, double v);
void hn_json_f32(hn_json *j, float v); /* the shortest text that reads back as the same float */
void hn_json_bool(hn_json *j, bool v);
void hn_json_null(hn_json *j);

/* ---- JSON reader ----------------------------------------------------------------------------- */

typedef enum hn_json_kind {
    HN_JSON_NULL,
    HN_JSON_BOOL,
    HN_JSON_NUMBER,
    HN_JSON_STRING,
    HN_JSON_ARRAY,
    HN_JSON_OBJECT
} hn_json_kind;
/* A value of a JSON text, in the arena that it was parsed into. */
typedef struct hn_json_value {
    hn_json_kind kind;
    bool boolean;
    double number;
    const char *text;                         /* of a string, NUL-terminated */
    const char *key;                          /* of a member of an object */
    const struct hn_json_value *first, *next; /* items or members in order */
} hn_json_value;
/* Parses a whole text; the message of an error says the line. Nesting is limited. */
hone_status hn_json_parse(const char *text, size_t n, hn_arena *arena, const hn_json_value **out,
                          hone_error *err);
const hn_json_value *hn_json_member(const hn_json_value *object,
                                    const char *key); /* NULL when there is none */

/* ---- decisions --------------------------------------------------------------------------------- */

/* What a plan decides once, and a steady run never again. Builds with HONE_COUNT_DECISIONS (the
 * presets for tests) count them, so that a test can tell. */
typedef enum hn_decision {
    HN_DECISION_ATTRIBUTE, /* an attribute is looked up by its name */
    HN_DECISION_INFERENCE, /* types and shapes of a node are inferred */
    HN_DECISION_SELECTION, /* a function is found by the name of an operator */
    HN_DECISION_JOIN,      /* all operands of a node are looked at, to join their memory */
    HN_DECISION_PLACE,     /* a range of memory is compared with another one */
    HN_N_DECISIONS
} hn_decision;
#ifdef HONE_COUNT_DECISIONS
void hn_count_decision(hn_decision d);
uint64_t hn_decisions_made(hn_decision d);
#else
#  define hn_count_decision(d) ((void)0)
#endif

#endif /* HN_BASE_H */
