/* Layer 2: reading and writing ONNX files, with a bounds-checked protobuf reader and writer. */
#ifndef HN_ONNX_H
#define HN_ONNX_H

#include "ir/ir.h"

typedef struct hn_load_options {
    const hone_allocator *alloc; /* NULL: malloc */
    uint32_t max_depth;          /* nesting of messages and subgraphs; 0 = 64 */
    uint64_t max_arena_bytes;    /* memory for the graph itself; 0 = 64 MB + 32 x file size */
    bool copies_files;           /* read files into memory instead of mapping them */
    bool skip_external; /* leave external tensors without data (inspection of a model whose data is
                           elsewhere) */
    const char *external_folder; /* where external data lies; NULL: the model file's folder
                                    (buffers: refused) */
    /* Called with each location of external data that is skipped; may be NULL. */
    void (*skipped)(void *ctx, const char *location);
    void *skipped_ctx;
} hn_load_options;

/* Reads a model file: binary ONNX, or the textual syntax when the name ends in .onnxtxt or .txt, or
 * the bytes are text that parses. A file of another kind (TensorFlow SavedModel, TFLite, PyTorch
 * zip or pickle, safetensors, GGUF, HDF5, OpenVINO IR, ORT flatbuffer, JSON, plain text, git LFS
 * pointer, gzip, ...) is refused with a message that names the kind and says what to do. The file
 * stays mapped, if it is not small: tensor data are views into it. */
hone_status hn_load_file(const char *path, const hn_load_options *o, hn_model **out,
                         hone_error *err);
/* Reads from memory. `borrow`: the bytes are not copied and must outlive the model. */
hone_status hn_load_buffer(const void *data, size_t n, bool borrow, const hn_load_options *o,
                           hn_model **out, hone_error *err);
/* One serialized TensorProto (test data sets, .pb files), as a model-independent tensor in the
 * arena. */
hone_status hn_load_tensor(hn_arena *a, hn_strtab *names, hn_bytes bytes, hn_tensor *out,
                           hone_error *err);

/* Contents of a test data set: TensorProto, SequenceProto or OptionalProto; tensors, and sequences
 * and optionals of them. */
typedef struct hn_parsed {
    hn_type_kind
        kind; /* TENSOR, SEQUENCE, or OPTIONAL when it is empty; one with content is its content */
    hn_tensor tensor;
    struct hn_parsed *items; /* of a sequence */
    uint32_t n_items;
} hn_parsed;
hone_status hn_load_value(hn_arena *a, hn_strtab *names, hn_bytes bytes, hn_type_kind kind,
                          hn_parsed *out, hone_error *err);

typedef enum hn_external_mode {
    HN_EXTERNAL_KEEP,  /* embedded tensors stay inside, external ones are written to a new file
                          next to the model */
    HN_EXTERNAL_NEVER, /* all inside; an error when the file would exceed 2 GiB, which protobuf
                          readers refuse */
    HN_EXTERNAL_ALWAYS /* every tensor of at least threshold_bytes goes to the data file */
} hn_external_mode;

typedef struct hn_save_options {
    hn_external_mode external;
    uint64_t threshold_bytes; /* ALWAYS: smallest tensor that goes out; 0 = 1024 */
    uint64_t alignment;       /* of tensors in the data file; 0 = 4096 */
    const char *data_name; /* name of the data file next to the model; NULL: "<model file>.data" */
    /* Called as bytes are written (may be NULL); returning true cancels with HONE_E_CANCELLED and
     * leaves no file. */
    bool (*progress)(void *ctx, uint64_t done_bytes, uint64_t total_bytes);
    void *progress_ctx;
} hn_save_options;

/* Deterministic: equal models give equal bytes. Untouched tensors are copied verbatim. Written
 * under temporary names and renamed when all is on the disk: whenever the process or the machine
 * stops, the path leads to the whole old model or to the whole new one, each with its own data.
 * Saving over the file that the model is mapped from is safe. A data file that belongs to another
 * model, or to nobody known, is not replaced. In KEEP mode a model above 2 GiB gets external data.
 */
hone_status hn_save_file(const hn_model *m, const char *path, const hn_save_options *o,
                         hone_error *err);
/* Into memory from the allocator; free with hn_free(a, *data, *n). Everything inside. */
hone_status hn_save_buffer(const hn_model *m, const hone_allocator *a, void **data, size_t *n,
                           hone_error *err);

#endif /* HN_ONNX_H */
