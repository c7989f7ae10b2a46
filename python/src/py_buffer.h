/*
 * Python.h for one binary that serves 3.9 and later.
 *
 * The buffer protocol entered the stable ABI with 3.11, in the very form that 3.9 and 3.10 have
 * had: the same struct, the same functions, the same slot numbers. Those two releases do not change
 * any more, so what the newer headers say is declared here for all of them.
 */
#ifndef HNPY_BUFFER_H
#define HNPY_BUFFER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(Py_LIMITED_API) && Py_LIMITED_API + 0 < 0x030b0000
typedef struct {
    void *buf;
    PyObject *obj; /* owned reference */
    Py_ssize_t len;
    Py_ssize_t itemsize;
    int readonly;
    int ndim;
    char *format;
    Py_ssize_t *shape;
    Py_ssize_t *strides;
    Py_ssize_t *suboffsets;
    void *internal;
} Py_buffer;

#  define PyBUF_WRITABLE 0x0001
#  define PyBUF_FORMAT 0x0004
#  define PyBUF_ND 0x0008
#  define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#  define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#  define Py_bf_getbuffer 1
#  define Py_bf_releasebuffer 2

PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#endif

#endif /* HNPY_BUFFER_H */
