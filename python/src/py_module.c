/* hone._core: the module, and helpers that all its files use. */
#include "py_core.h"

#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *status_name(hone_status status) {
    static const char *const names[] = {
#define STATUS_NAME(code, text) #code,
        HONE_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    };
    return (size_t)status < sizeof names / sizeof *names ? names[status] : "HONE_E_INTERNAL";
}

PyObject *hnpy_helper(PyObject **cache, const char *module, const char *name) {
    if (*cache)
        return *cache;
    PyObject *imported = PyImport_ImportModule(module);
    *cache = imported ? PyObject_GetAttrString(imported, name) : NULL;
    Py_XDECREF(imported);
    return *cache;
}

PyObject *hnpy_raise(const hone_error *error, hnpy_phase phase) {
    static PyObject *make_exception;
    if (!hnpy_helper(&make_exception, "hone._errors", "make_exception"))
        return NULL;
    PyObject *exception = PyObject_CallFunction(
        make_exception, "sNNNNLO", status_name(error->code), hnpy_text(error->message),
        hnpy_text(error->node), hnpy_text(error->op), hnpy_text(error->value),
        (long long)error->offset, phase == HNPY_LOADING ? Py_True : Py_False);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

void *hnpy_alloc(size_t n, size_t size) {
    void *memory = calloc(n ? n : 1, size);
    if (!memory)
        PyErr_NoMemory();
    return memory;
}

/* ---- text and shapes ------------------------------------------------------------------------- */

PyObject *hnpy_text_n(const char *utf8, size_t n_bytes) {
    return PyUnicode_DecodeUTF8(utf8, (Py_ssize_t)n_bytes, "surrogateescape");
}

PyObject *hnpy_text(const char *utf8) {
    return hnpy_text_n(utf8, strlen(utf8));
}

PyObject *hnpy_shape(int32_t rank, const int64_t *dims) {
    PyObject *shape = PyTuple_New(rank);
    for (int32_t i = 0; shape && i < rank; i++) {
        PyObject *dim = PyLong_FromLongLong(dims[i]);
        if (!dim || PyTuple_SetItem(shape, i, dim) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

int hnpy_read_shape(PyObject *shape, int64_t *dims, int32_t *rank) {
    Py_ssize_t n = PySequence_Size(shape);
    if (n < 0)
        return -1;
    if (n > HNPY_MAX_RANK) {
        PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions, not %zd", HNPY_MAX_RANK,
                     n);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = PySequence_GetItem(shape, i);
        dims[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred())
            return -1;
    }
    *rank = (int32_t)n;
    return 0;
}

bool hnpy_write(void *writer, const char *text, size_t n_bytes) {
    hnpy_writer *w = writer;
    if (w->n + n_bytes > w->cap) {
        size_t cap = w->cap ? w->cap : 4096;
        while (cap < w->n + n_bytes)
            cap *= 2;
        char *at = realloc(w->at, cap);
        if (!at) {
            w->has_failed = true;
            return false;
        }
        w->at = at;
        w->cap = cap;
    }
    if (n_bytes)
        memcpy(w->at + w->n, text, n_bytes);
    w->n += n_bytes;
    return true;
}

PyObject *hnpy_writer_finish(hnpy_writer *writer) {
    PyObject *text =
        writer->has_failed ? PyErr_NoMemory() : hnpy_text_n(writer->n ? writer->at : "", writer->n);
    free(writer->at);
    *writer = (hnpy_writer){0};
    return text;
}

/* ---- the module ------------------------------------------------------------------------------ */

static PyObject *core_version(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return hnpy_text(hone_version());
}

static PyObject *core_cpu_features(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return hnpy_text(hone_cpu_features());
}

static PyObject *core_providers(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *names = PyList_New(0);
    for (uint32_t i = 0; names && *hone_provider_name(i); i++) {
        PyObject *name = hnpy_text(hone_provider_name(i));
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *describe_pass(const hone_pass_info *pass) {
    static const char *const numerics[] = {"exact", "reassociates", "approximates"};
    return Py_BuildValue("(ssis)", pass->name, pass->summary, (int)pass->level,
                         numerics[pass->numerics]);
}

static PyObject *core_passes(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *passes = PyList_New(0);
    hone_pass_info info;
    for (uint32_t i = 0; passes && hone_pass_get(i, &info); i++) {
        PyObject *pass = describe_pass(&info);
        if (!pass || PyList_Append(passes, pass) < 0)
            Py_CLEAR(passes);
        Py_XDECREF(pass);
    }
    return passes;
}

static PyObject *core_cpu_tiers(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    PyObject *tiers = PyList_New(0);
    for (uint32_t i = 0; tiers && *hone_cpu_tier(i); i++) {
        PyObject *name = PyUnicode_FromString(hone_cpu_tier(i));
        if (!name || PyList_Append(tiers, name) < 0)
            Py_CLEAR(tiers);
        Py_XDECREF(name);
    }
    return tiers;
}

static PyMethodDef core_functions[] = {
    {"version", core_version, METH_NOARGS, "Version of the library."},
    {"cpu_features", core_cpu_features, METH_NOARGS, "Features of this processor that are used."},
    {"cpu_tiers", core_cpu_tiers, METH_NOARGS, "Values of the environment variable HONE_CPU."},
    {"providers", core_providers, METH_NOARGS, "Names of the providers of this build."},
    {"passes", core_passes, METH_NOARGS,
     "Passes of the optimizer in their order: (name, summary, level, numerics)."},
    {NULL, NULL, 0, NULL},
};

PyTypeObject *hnpy_add_type(PyObject *module, PyType_Spec *spec, const char *name) {
    PyObject *type = PyType_FromSpec(spec);
    if (!type)
        return NULL;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, type) == 0)
        return (PyTypeObject *)type;
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
}

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "hone._core",
        .m_doc = "The library behind the package hone. Use the package, not this module.",
        .m_size = -1,
        .m_methods = core_functions,
    };
    PyObject *module = PyModule_Create(&definition);
    if (module && (hnpy_value_ready(module) < 0 || hnpy_tensor_ready(module) < 0 ||
                   hnpy_model_ready(module) < 0 || hnpy_run_control_ready(module) < 0 ||
                   hnpy_session_ready(module) < 0))
        Py_CLEAR(module);
    return module;
}
