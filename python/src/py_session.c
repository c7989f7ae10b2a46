/* Session: a model prepared for execution. */
#include "py_session.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *hnpy_session_type;

/* ---- creation -------------------------------------------------------------------------------- */

static int fill_names(hnpy_names *table, const hone_graph *graph, uint32_t n,
                      const uint32_t *values) {
    hone_value_info info;
    table->names = hnpy_alloc((size_t)n, sizeof *table->names);
    table->places = PyDict_New();
    table->types = PyList_New(0);
    if (!table->names || !table->places || !table->types)
        return -1;
    for (uint32_t i = 0; i < n; i++) {
        hone_graph_get_value(graph, values[i], &info);
        table->names[i] = info.name;
        PyObject *name = hnpy_text(info.name), *place = PyLong_FromUnsignedLong(i);
        PyObject *type = hnpy_describe_value(graph, values[i]);
        bool ok = name && place && type && PyDict_SetItem(table->places, name, place) == 0 &&
                  PyList_Append(table->types, type) == 0;
        Py_XDECREF(name);
        Py_XDECREF(place);
        Py_XDECREF(type);
        if (!ok)
            return -1;
    }
    table->n = n;
    return 0;
}

static void free_names(hnpy_names *table) {
    free((void *)table->names);
    Py_XDECREF(table->places);
    Py_XDECREF(table->types);
}

/* ImageDecoder: calls hone._images with the bytes of a file, from any thread. */
static hone_status decode_image(void *ctx, const void *encoded, size_t n_bytes,
                                hone_image_alloc_fn alloc, void *image, hone_error *error) {
    static PyObject *decode;
    (void)ctx;
    PyGILState_STATE lock = PyGILState_Ensure();
    unsigned height, width;
    PyObject *pixels = NULL, *done = NULL, *message = NULL;
    hone_status status = HONE_E_UNSUPPORTED;
    if (hnpy_helper(&decode, "hone._convert", "decode_image"))
        done = PyObject_CallFunction(decode, "y#", encoded, (Py_ssize_t)n_bytes);
    if (done && PyArg_ParseTuple(done, "IIO!", &height, &width, &PyBytes_Type, &pixels)) {
        unsigned char *room = alloc(image, height, width);
        size_t n = (size_t)height * width * 3;
        status = room && (size_t)PyBytes_Size(pixels) == n ? HONE_OK : HONE_E_NOMEM;
        if (status == HONE_OK)
            memcpy(room, PyBytes_AsString(pixels), n);
    } else {
        PyObject *type, *exception, *trace;
        PyErr_Fetch(&type, &exception, &trace);
        PyObject *text = exception ? PyObject_Str(exception) : NULL;
        message = text ? PyUnicode_AsUTF8String(text) : NULL;
        snprintf(error->message, sizeof error->message, "%s",
                 message ? PyBytes_AsString(message) : "the image cannot be decoded");
        Py_XDECREF(text);
        Py_XDECREF(type);
        Py_XDECREF(exception);
        Py_XDECREF(trace);
        PyErr_Clear();
    }
    Py_XDECREF(message);
    Py_XDECREF(done);
    PyGILState_Release(lock);
    return status;
}

static hone_status create_unlocked(session_object *self, const hone_session_options *options,
                                   hone_error *error) {
    model_object *model = (model_object *)self->model;
    hone_status status;
    Py_BEGIN_ALLOW_THREADS status =
        hone_session_create(model->model, options, &self->session, error);
    Py_END_ALLOW_THREADS return status;
}

static int open_session(session_object *self, PyObject *model, const hone_session_options *o) {
    hone_subgraph_info info;
    hone_error error;
    const hone_graph *graph = hone_model_graph(((model_object *)model)->model);
    Py_INCREF(model);
    self->model = model;
    ((model_object *)model)->n_readers++;
    hone_graph_get_subgraph(graph, 0, &info);
    if (fill_names(&self->inputs, graph, info.n_inputs, info.inputs) < 0 ||
        fill_names(&self->outputs, graph, info.n_outputs, info.outputs) < 0)
        return -1;
    if (create_unlocked(self, o, &error) == HONE_OK)
        return 0;
    hnpy_raise(&error, HNPY_LOADING);
    return -1;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"model",     "level",        "n_threads", "keep_denormals",
                            "max_plans", "memory_limit", "cache_dir", "kernel_choices",
                            "weights",   "compute",      "seed",      NULL};
    PyObject *model;
    int level, keep_denormals, weights, compute;
    unsigned long long memory_limit, seed;
    hone_session_options o;
    hone_session_options_init(&o);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!iipIKzziiK:Session", names, hnpy_model_type,
                                     &model, &level, &o.n_threads, &keep_denormals, &o.max_plans,
                                     &memory_limit, &o.cache_dir, &o.kernel_choices, &weights,
                                     &compute, &seed))
        return NULL;
    o.level = (hone_level)level;
    o.weights = (hone_precision)weights;
    o.compute = (hone_precision)compute;
    o.keep_denormals = keep_denormals;
    o.memory_limit_bytes = memory_limit;
    o.seed = seed;
    o.decode_image = decode_image;
    allocfunc alloc = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    session_object *self = (session_object *)alloc(type, 0);
    if (self && open_session(self, model, &o) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void free_session(session_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    hone_session_free(self->session);
    free_names(&self->inputs);
    free_names(&self->outputs);
    if (self->model)
        ((model_object *)self->model)->n_readers--;
    Py_XDECREF(self->model);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *session_inputs(session_object *self, PyObject *unused) {
    (void)unused;
    return PySequence_List(self->inputs.types);
}

static PyObject *session_outputs(session_object *self, PyObject *unused) {
    (void)unused;
    return PySequence_List(self->outputs.types);
}

static PyObject *session_notes(session_object *self, PyObject *unused) {
    (void)unused;
    return Py_BuildValue("(sss)", hone_session_cache_note(self->session),
                         hone_session_kernels_note(self->session),
                         hone_session_model_note(self->session));
}

static PyMethodDef session_methods[] = {
    {"run", HNPY_METHOD(hnpy_session_run), METH_VARARGS,
     "run(names or None, inputs, control, record): outputs as arrays."},
    {"run_values", HNPY_METHOD(hnpy_session_run_values), METH_VARARGS,
     "run_values(names, inputs, outputs, control, record): outputs as Values; those given are "
     "written to."},
    {"notes", HNPY_METHOD(session_notes), METH_NOARGS,
     "Why a requested cache or kernel choice is not used."},
    {"inputs", HNPY_METHOD(session_inputs), METH_NOARGS, "Descriptions of the inputs."},
    {"outputs", HNPY_METHOD(session_outputs), METH_NOARGS, "Descriptions of the outputs."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_new, HNPY_SLOT(session_new)},
    {Py_tp_dealloc, HNPY_SLOT(free_session)},
    {Py_tp_methods, session_methods},
    {Py_tp_doc, (void *)(uintptr_t) "A model prepared for execution. Thread-safe."},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "hone._core.Session",
    .basicsize = sizeof(session_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = session_slots,
};

int hnpy_session_ready(PyObject *module) {
    hnpy_session_type = hnpy_add_type(module, &session_spec, "Session");
    return hnpy_session_type ? 0 : -1;
}
