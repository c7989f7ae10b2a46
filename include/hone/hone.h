/*
 * hone: load, inspect, check, edit and save ONNX models.
 *
 * Conventions
 *   - Every function that can fail returns hone_status; HONE_OK is 0. The optional last argument, a hone_error that the
 *     caller owns, receives the whole story: code, message, node, operator, value, byte offset. The library never prints.
 *   - Handles are opaque. A model may be read from many threads at once; functions that take a non-const model need it alone.
 *   - Option structs are filled by their hone_*_options_init() first; `size` lets old programs meet new libraries.
 *   - Strings are UTF-8 and NUL-terminated; those returned by a model live as long as the model and are not changed by edits.
 */
#ifndef HONE_HONE_H
#define HONE_HONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HONE_VERSION_MAJOR 0
#define HONE_VERSION_MINOR 1
#define HONE_VERSION_PATCH 0

#if defined(_WIN32) && defined(HONE_SHARED)
#  ifdef HONE_BUILDING
#    define HONE_API __declspec(dllexport)
#  else
#    define HONE_API __declspec(dllimport)
#  endif
#elif defined(__GNUC__)
#  define HONE_API __attribute__((visibility("default")))
#else
#  define HONE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and errors ------------------------------------------------------------------------------------------- */

#define HONE_STATUS_LIST(X)                                                                                            \
    X(HONE_OK, "ok")                                                                                                   \
    X(HONE_E_NOMEM, "out of memory")                                                                                   \
    X(HONE_E_ARGUMENT, "bad argument")                                                                                 \
    X(HONE_E_IO, "input/output error")                                                                                 \
    X(HONE_E_FORMAT, "malformed file")                                                                                 \
    X(HONE_E_LIMIT, "limit exceeded")                                                                                  \
    X(HONE_E_UNSUPPORTED, "not supported")                                                                             \
    X(HONE_E_INVALID, "invalid model")                                                                                 \
    X(HONE_E_TYPE, "type mismatch")                                                                                    \
    X(HONE_E_SHAPE, "shape mismatch")                                                                                  \
    X(HONE_E_NOT_FOUND, "not found")                                                                                   \
    X(HONE_E_CANCELLED, "cancelled")                                                                                   \
    X(HONE_E_INTERNAL, "internal error")

typedef enum hone_status {
#define HONE_STATUS_ENUM(code, text) code,
    HONE_STATUS_LIST(HONE_STATUS_ENUM)
#undef HONE_STATUS_ENUM
} hone_status;

/* What went wrong. The first error wins; outer frames only put their context before it. Fields that do not apply are empty. */
typedef struct hone_error {
    hone_status code;
    char message[1024]; /* a whole sentence for people: names the node, the shapes, and what to do */
    char node[128];     /* name of the node, or "#12 (Conv)" when it has none */
    char op[64];        /* operator, e.g. "Conv" or "com.microsoft.FusedConv" */
    char value[128];    /* name of the value (tensor) */
    int64_t offset;     /* byte offset in the model file, -1 when unknown */
} hone_error;

HONE_API const char *hone_status_text(hone_status status);

/* ---- library ----------------------------------------------------------------------------------------------------- */

HONE_API const char *hone_version(void);      /* "0.1.0" */
HONE_API const char *hone_cpu_features(void); /* "sse2 avx2 fma avx512f ...", after the cap of the HONE_CPU variable */

/* Memory comes from here. resize(ctx, NULL, 0, n) allocates, (ctx, p, old, 0) frees, else reallocates; NULL on failure.
 * Must be safe to call from several threads. NULL instead of an allocator means malloc and free. */
typedef struct hone_allocator {
    void *(*resize)(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes);
    void *ctx;
} hone_allocator;

#ifdef __cplusplus
}
#endif

#endif /* HONE_HONE_H */
