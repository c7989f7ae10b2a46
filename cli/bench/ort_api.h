/* The functions of onnxruntime's C interface that a benchmark needs. The interface is one table of
 * function pointers to which releases only append: the positions here hold for version 1 and all
 * later ones. */
#ifndef HONE_ORT_API_H
#define HONE_ORT_API_H

#include <stddef.h>
#include <stdint.h>

typedef struct ort_base {
    const void *const *(*get_api)(uint32_t version); /* NULL: that version is not offered */
    const char *(*version_text)(void);
} ort_base;

enum { ORT_API_VERSION = 11, ORT_LOG_ERROR = 3, ORT_DEVICE_ALLOCATOR = 0, ORT_MEMORY_DEFAULT = 0 };

typedef void ort_handle; /* env, session, options, value, ... : all opaque */
typedef void ort_status; /* NULL: no error */

/* name, position in the table, result, arguments */
#define ORT_FUNCTIONS(X)                                                                        \
  X(error_message, 2, const char *, (const ort_status *))                                       \
  X(create_env, 3, ort_status *, (int log_level, const char *id, ort_handle **env))             \
  X(create_session, 7, ort_status *,                                                            \
    (const ort_handle *env, const char *path, const ort_handle *options, ort_handle **session)) \
  X(create_session_of_bytes, 8, ort_status *,                                                   \
    (const ort_handle *env, const void *data, size_t n_bytes, const ort_handle *options,        \
     ort_handle **session))                                                                     \
  X(run, 9, ort_status *,                                                                       \
    (ort_handle * session, const ort_handle *options, const char *const *input_names,           \
     const ort_handle *const *inputs, size_t n_inputs, const char *const *output_names,         \
     size_t n_outputs, ort_handle **outputs))                                                   \
  X(create_options, 10, ort_status *, (ort_handle * *options))                                  \
  X(set_level, 23, ort_status *, (ort_handle * options, int level))                             \
  X(set_threads, 24, ort_status *, (ort_handle * options, int n))                               \
  X(n_outputs, 31, ort_status *, (const ort_handle *session, size_t *n))                        \
  X(output_name, 37, ort_status *,                                                              \
    (const ort_handle *session, size_t i, ort_handle *allocator, char **name))                  \
  X(wrap_tensor, 49, ort_status *,                                                              \
    (const ort_handle *memory, void *data, size_t n_bytes, const int64_t *dims, size_t rank,    \
     int elem_type, ort_handle **value))                                                        \
  X(is_tensor, 50, ort_status *, (const ort_handle *value, int *is_tensor))                     \
  X(tensor_data, 51, ort_status *, (ort_handle * value, void **data))                           \
  X(info_elem_type, 60, ort_status *, (const ort_handle *info, int *elem_type))                 \
  X(info_rank, 61, ort_status *, (const ort_handle *info, size_t *rank))                        \
  X(info_dims, 62, ort_status *, (const ort_handle *info, int64_t *dims, size_t rank))          \
  X(tensor_info, 65, ort_status *, (const ort_handle *value, ort_handle **info))                \
  X(create_cpu_memory, 69, ort_status *, (int allocator, int memory, ort_handle **info))        \
  X(allocator_free, 76, ort_status *, (ort_handle * allocator, void *data))                     \
  X(default_allocator, 78, ort_status *, (ort_handle * *allocator))                             \
  X(release_env, 92, void, (ort_handle *))                                                      \
  X(release_status, 93, void, (ort_status *))                                                   \
  X(release_memory, 94, void, (ort_handle *))                                                   \
  X(release_session, 95, void, (ort_handle *))                                                  \
  X(release_value, 96, void, (ort_handle *))                                                    \
  X(release_info, 99, void, (ort_handle *))                                                     \
  X(release_options, 100, void, (ort_handle *))                                                 \
  X(fix_dim, 124, ort_status *, (ort_handle * options, const char *name, int64_t size))

typedef struct ort_api {
#define ORT_MEMBER(name, position, result, arguments) result(*name) arguments;
    ORT_FUNCTIONS(ORT_MEMBER)
#undef ORT_MEMBER
} ort_api;

#endif /* HONE_ORT_API_H */
