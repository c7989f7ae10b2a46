/*
 * The extension module hone._core: a thin layer over hone.h. What is not fast or not safe to do in
 * Python is done here; everything else stands in the package (python/hone).
 *
 * Functions that return PyObject * or an int follow Python's convention: NULL or -1 with an
 * exception set. The interpreter's lock is held in all of them unless a comment says otherwise.
 */
#ifndef HNPY_CORE_H
#define HNPY_CORE_H

#include "py_buffer.h"

#include <stdbool.h>
#include <stdint.h>

#include "hone/hone.h"

/* Type slots and method tables hold functions as data pointers. */
#define HNPY_SLOT(function) ((void *)(uintptr_t)(function))
#define HNPY_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* ---- types ----------------------------------------------------------------------------------- */

typedef struct model_object {
    PyObject_HEAD hone_model *model;
    /* owner of the memory that the model reads: a buffer's owner, or the Model it was optimized
     * from; may be NULL */
    PyObject *source;
    Py_buffer bytes; /* the file's bytes; obj is NULL when it was read from a path */
    /* sessions and calls that run without the interpreter lock and need it unchanged */
    uint32_t n_readers;
} model_object;

typedef struct value_object {
    PyObject_HEAD hone_value *value;
    PyObject
        *owner;     /* whose memory the value borrows, or the Value it is an item of; may be NULL */
    bool is_item;   /* the owner frees `value` */
    Py_buffer view; /* borrowed memory; obj is NULL when there is none */
} value_object;

/* Controls a run from another thread. */
typedef struct run_control_object {
    PyObject_HEAD volatile int cancel;
    double timeout_seconds; /* 0: none */
} run_control_object;

extern PyTypeObject *hnpy_model_type;
extern PyTypeObject *hnpy_value_type;
extern PyTypeObject *hnpy_session_type;
extern PyTypeObject *hnpy_run_control_type;
extern PyTypeObject *hnpy_tensor_type;

/* Each function creates its types and adds them to the module. */
int hnpy_model_ready(PyObject *module);
int hnpy_value_ready(PyObject *module);
int hnpy_session_ready(PyObject *module);
int hnpy_run_control_ready(PyObject *module);
int hnpy_tensor_ready(PyObject *module);
/* NULL on failure. The module holds its own reference. */
PyTypeObject *hnpy_add_type(PyObject *module, PyType_Spec *spec, const char *name);

/* ---- errors and helpers ---------------------------------------------------------------------- */

/* The operation that failed: the same code maps to different exceptions for a file and for a
 * call. */
typedef enum hnpy_phase { HNPY_LOADING, HNPY_RUNNING } hnpy_phase;
/* Sets the exception that hone._errors defines for the error; returns NULL. */
PyObject *hnpy_raise(const hone_error *error, hnpy_phase phase);

/* Returns a function of a module of the package, cached in *cache; borrowed. */
PyObject *hnpy_helper(PyObject **cache, const char *module, const char *name);

/* Zeroed memory, released with free(); NULL with a MemoryError. */
void *hnpy_alloc(size_t n, size_t size);

PyObject *hnpy_text(const char *utf8); /* bytes that are not UTF-8 are escaped */
PyObject *hnpy_text_n(const char *utf8, size_t n_bytes);
PyObject *hnpy_shape(int32_t rank, const int64_t *dims); /* a tuple */

/* Reads the dimensions of a tuple or list. *dims has space for HNPY_MAX_RANK. */
#define HNPY_MAX_RANK 64
int hnpy_read_shape(PyObject *shape, int64_t *dims, int32_t *rank);

/* Collects text that the library writes in pieces. Zero it first; free() the finished text. */
typedef struct hnpy_writer {
    char *at;
    size_t n, cap;
    bool has_failed;
} hnpy_writer;
/* a hone_write_fn; runs without the lock */
bool hnpy_write(void *writer, const char *text, size_t n_bytes);
PyObject *hnpy_writer_finish(hnpy_writer *writer); /* a str; frees the text */

/* ---- element types --------------------------------------------------------------------------- */

/* Format of the struct module, "" where it has none: such elements are exposed as integers. */
const char *hnpy_format_of(int32_t elem_type);
/* ONNX number of a buffer's format and item size; 0: none, or not in native byte order. */
int32_t hnpy_elem_type_of(const char *format, Py_ssize_t itemsize);

/* ---- values ---------------------------------------------------------------------------------- */

/* Takes ownership of the value, also on failure. */
PyObject *hnpy_value_wrap(hone_value *value);
/* true when its memory belongs to a read-only buffer */
bool hnpy_value_is_readonly(PyObject *value);
/* Converts a value to an array, or by hone._convert to strings, lists and dicts. */
PyObject *hnpy_value_to_python(PyObject *value);
/* Fills a view of dense memory in C order; the release function frees view->internal. The view
 * keeps `owner` alive. */
int hnpy_fill_view(PyObject *owner, Py_buffer *view, int flags, const hone_tensor_info *tensor,
                   bool is_readonly);
void hnpy_release_view(PyObject *owner, Py_buffer *view);
/* Makes a tensor over the memory of a buffer, which stays locked in *view until the value is freed.
 * *value stays NULL, without an exception, when the object has no such buffer or ONNX lacks its
 * element type. */
int hnpy_borrow(PyObject *object, Py_buffer *view, hone_value **value);

PyObject *hnpy_dlpack_export(PyObject *value);   /* a capsule */
PyObject *hnpy_dlpack_import(PyObject *capsule); /* a Value */

/* ---- models ---------------------------------------------------------------------------------- */

/* (name, type, kind, element type, shape, is_initializer) of a value: shape is None, or a tuple of
 * sizes, names and None. */
PyObject *hnpy_describe_value(const hone_graph *graph, uint32_t value);
/* A read-only Tensor over constant data, which lives as long as `model`. */
PyObject *hnpy_tensor_wrap(PyObject *model, const hone_tensor_info *info);
PyObject *hnpy_model_nodes(PyObject *model, PyObject *unused);
PyObject *hnpy_model_initializers(PyObject *model, PyObject *unused);
PyObject *hnpy_model_optimize(PyObject *model, PyObject *args, PyObject *kwargs);
PyObject *hnpy_model_quantize(PyObject *model, PyObject *args);
PyObject *hnpy_model_wrap(hone_model *model, PyObject *source); /* takes ownership of the model */

/* ---- profiles -------------------------------------------------------------------------------- */

/* Steps of one run. Zero it first. */
typedef struct hnpy_recorder {
    struct hnpy_step *steps;
    size_t n, cap;
    hnpy_writer texts; /* types and shapes, back to back */
    bool has_failed;   /* out of memory: the rest is missing */
} hnpy_recorder;
void hnpy_recorder_see(void *recorder, const hone_step *step);   /* without the lock */
int hnpy_recorder_move(hnpy_recorder *recorder, PyObject *list); /* appends one tuple per step */
void hnpy_recorder_free(hnpy_recorder *recorder);

#endif /* HNPY_CORE_H */
