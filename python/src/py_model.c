/* Model: a loaded model that can be inspected, checked, edited, saved, optimized and run. */
#include "py_core.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *hnpy_model_type;

static model_object *new_model(void) {
    allocfunc alloc = (allocfunc)(uintptr_t)PyType_GetSlot(hnpy_model_type, Py_tp_alloc);
    return (model_object *)alloc(hnpy_model_type, 0);
}

PyObject *hnpy_model_wrap(hone_model *model, PyObject *source) {
    model_object *self = new_model();
    if (!self) {
        hone_model_free(model);
        return NULL;
    }
    Py_INCREF(source);
    self->model = model;
    self->source = source;
    ((model_object *)source)->n_readers++;
    return (PyObject *)self;
}

static void free_model(model_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    hone_model_free(self->model);
    if (self->bytes.obj)
        PyBuffer_Release(&self->bytes);
    if (self->source)
        ((model_object *)self->source)->n_readers--;
    Py_XDECREF(self->source);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Loads operators of shared libraries from a list of paths as bytes. *registry stays NULL when
 * there are none. */
static int load_registry(PyObject *paths, hone_op_registry **registry) {
    hone_error error;
    Py_ssize_t n = PyList_Size(paths);
    *registry = NULL;
    if (n > 0 && hone_op_registry_create(NULL, registry, &error)) {
        hnpy_raise(&error, HNPY_LOADING);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *path = PyBytes_AsString(PyList_GetItem(paths, i));
        if (path && hone_op_registry_load(*registry, path, &error) == HONE_OK)
            continue;
        if (path)
            hnpy_raise(&error, HNPY_LOADING);
        hone_op_registry_free(*registry);
        return -1;
    }
    return n < 0 ? -1 : 0;
}

static hone_status load_unlocked(model_object *self, const char *path, const hone_load_options *o,
                                 hone_error *error) {
    hone_status status;
    Py_BEGIN_ALLOW_THREADS status =
        path ? hone_model_load(path, o, &self->model, error)
             : hone_model_load_buffer(self->bytes.buf, (size_t)self->bytes.len, o, &self->model,
                                      error);
    Py_END_ALLOW_THREADS return status;
}

static int load_model(model_object *self, const char *path, const char *folder, bool skip_external,
                      bool copy_files, PyObject *libraries) {
    hone_load_options o;
    hone_error error;
    hone_load_options_init(&o);
    o.external_data_folder = folder;
    o.skip_external_data = skip_external;
    o.copy_files = copy_files;
    o.borrow_buffer = true;
    if (load_registry(libraries, &o.ops) < 0)
        return -1;
    hone_status status = load_unlocked(self, path, &o, &error);
    if (o.ops)
        hone_op_registry_free(o.ops);
    if (status)
        hnpy_raise(&error, HNPY_LOADING);
    return status ? -1 : 0;
}

/* A converter for PyArg_ParseTuple: a path as bytes, or None for NULL. */
static int read_path(PyObject *object, void *path) {
    *(const char **)path = object == Py_None ? NULL : PyBytes_AsString(object);
    return !PyErr_Occurred();
}

static PyObject *model_load(PyObject *type, PyObject *args) {
    (void)type;
    const char *path, *folder;
    PyObject *data, *libraries;
    int skip_external, copy_files;
    if (!PyArg_ParseTuple(args, "O&OO&ppO!:load", read_path, &path, &data, read_path, &folder,
                          &skip_external, &copy_files, &PyList_Type, &libraries))
        return NULL;
    model_object *self = new_model();
    if (!self)
        return NULL;
    if ((!path && PyObject_GetBuffer(data, &self->bytes, PyBUF_C_CONTIGUOUS) < 0) ||
        load_model(self, path, folder, skip_external, copy_files, libraries) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- saving ---------------------------------------------------------------------------------- */

static PyObject *model_save(model_object *self, PyObject *args) {
    const char *path, *file_name;
    int external;
    unsigned long long threshold;
    hone_save_options o;
    hone_error error;
    hone_status status;
    hone_save_options_init(&o);
    if (!PyArg_ParseTuple(args, "yiKz:save", &path, &external, &threshold, &file_name))
        return NULL;
    o.external_data = (hone_external_data)external;
    o.external_threshold_bytes = threshold;
    o.external_file_name = file_name;
    self->n_readers++;
    Py_BEGIN_ALLOW_THREADS status = hone_model_save(self->model, path, &o, &error);
    Py_END_ALLOW_THREADS self->n_readers--;
    if (status)
        return hnpy_raise(&error, HNPY_LOADING);
    Py_RETURN_NONE;
}

static PyObject *model_to_bytes(model_object *self, PyObject *unused) {
    (void)unused;
    void *data;
    size_t n_bytes;
    hone_error error;
    if (hone_model_save_buffer(self->model, &data, &n_bytes, &error))
        return hnpy_raise(&error, HNPY_LOADING);
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)n_bytes);
    hone_buffer_free(self->model, data, n_bytes);
    return bytes;
}

/* ---- describing ------------------------------------------------------------------------------ */

static PyObject *model_to_text(model_object *self, PyObject *args) {
    unsigned long long max_elements;
    hnpy_writer text = {0};
    hone_error error;
    if (!PyArg_ParseTuple(args, "K:to_text", &max_elements))
        return NULL;
    if (hone_model_print(self->model, max_elements, hnpy_write, &text, &error)) {
        free(text.at);
        return hnpy_raise(&error, HNPY_LOADING);
    }
    return hnpy_writer_finish(&text);
}

static PyObject *model_info_json(model_object *self, PyObject *args) {
    const char *label;
    unsigned parts;
    hnpy_writer text = {0};
    hone_error error;
    if (!PyArg_ParseTuple(args, "sI:info_json", &label, &parts))
        return NULL;
    if (hone_model_write_json(self->model, label, parts, hnpy_write, &text, &error)) {
        free(text.at);
        return hnpy_raise(&error, HNPY_LOADING);
    }
    return hnpy_writer_finish(&text);
}

static PyObject *metadata_of(const hone_model *model, uint32_t n) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < n; i++) {
        const char *key, *text;
        hone_model_get_metadata(model, i, &key, &text);
        PyObject *name = hnpy_text(key), *value = hnpy_text(text);
        if (!name || !value || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *opsets_of(const hone_model *model, uint32_t n) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < n; i++) {
        const char *domain;
        int64_t version;
        hone_model_get_opset(model, i, &domain, &version);
        PyObject *name = hnpy_text(domain), *number = PyLong_FromLongLong(version);
        if (!name || !number || PyDict_SetItem(dict, name, number) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(number);
    }
    return dict;
}

static PyObject *model_header(model_object *self, PyObject *unused) {
    (void)unused;
    hone_model_info info;
    hone_subgraph_info graph;
    hone_model_get_info(self->model, &info);
    hone_graph_get_subgraph(hone_model_graph(self->model), 0, &graph);
    return Py_BuildValue(
        "{sNsNsNsNsLsLsNsNsNsN}", "producer_name", hnpy_text(info.producer_name),
        "producer_version", hnpy_text(info.producer_version), "domain", hnpy_text(info.domain),
        "description", hnpy_text(info.doc), "version", (long long)info.model_version, "ir_version",
        (long long)info.ir_version, "graph_name", hnpy_text(graph.name), "graph_description",
        hnpy_text(graph.doc), "metadata", metadata_of(self->model, info.n_metadata), "opsets",
        opsets_of(self->model, info.n_opsets));
}

static PyObject *describe_values(const hone_graph *graph, uint32_t n, const uint32_t *values) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        PyObject *value = hnpy_describe_value(graph, values[i]);
        if (!value || PyList_Append(list, value) < 0)
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

static PyObject *model_inputs(model_object *self, PyObject *unused) {
    (void)unused;
    hone_subgraph_info info;
    const hone_graph *graph = hone_model_graph(self->model);
    hone_graph_get_subgraph(graph, 0, &info);
    return describe_values(graph, info.n_inputs, info.inputs);
}

static PyObject *model_outputs(model_object *self, PyObject *unused) {
    (void)unused;
    hone_subgraph_info info;
    const hone_graph *graph = hone_model_graph(self->model);
    hone_graph_get_subgraph(graph, 0, &info);
    return describe_values(graph, info.n_outputs, info.outputs);
}

/* ---- checking and editing -------------------------------------------------------------------- */

static bool may_change(const model_object *self) {
    if (self->n_readers == 0)
        return true;
    PyErr_SetString(PyExc_RuntimeError,
                    "the model is in use by a session or by a model optimized from it: load it "
                    "again to change it");
    return false;
}

static PyObject *finish_edit(hone_status status, const hone_error *error) {
    if (status)
        return hnpy_raise(error, HNPY_LOADING);
    Py_RETURN_NONE;
}

static PyObject *model_check_json(model_object *self, PyObject *args) {
    const char *label;
    hnpy_writer text = {0};
    hone_error error;
    hone_problems *problems;
    if (!PyArg_ParseTuple(args, "s:check_json", &label) || !may_change(self))
        return NULL;
    if (hone_model_check(self->model, &problems, &error))
        return hnpy_raise(&error, HNPY_LOADING);
    hone_status status = hone_problems_write_json(problems, label, hnpy_write, &text, &error);
    hone_problems_free(problems);
    if (status) {
        free(text.at);
        return hnpy_raise(&error, HNPY_LOADING);
    }
    return hnpy_writer_finish(&text);
}

static PyObject *model_infer(model_object *self, PyObject *unused) {
    (void)unused;
    hone_error error;
    return may_change(self) ? finish_edit(hone_model_infer(self->model, &error), &error) : NULL;
}

static PyObject *model_fix_dim(model_object *self, PyObject *args) {
    const char *name;
    long long size;
    hone_error error;
    if (!PyArg_ParseTuple(args, "sL:fix_dim", &name, &size) || !may_change(self))
        return NULL;
    return finish_edit(hone_model_fix_dim(self->model, name, size, &error), &error);
}

static PyObject *model_fix_shape(model_object *self, PyObject *args) {
    const char *name;
    PyObject *shape;
    int64_t dims[HNPY_MAX_RANK];
    int32_t rank;
    hone_error error;
    if (!PyArg_ParseTuple(args, "sO:fix_shape", &name, &shape) || !may_change(self) ||
        hnpy_read_shape(shape, dims, &rank) < 0)
        return NULL;
    return finish_edit(hone_model_fix_shape(self->model, name, (uint32_t)rank, dims, &error),
                       &error);
}

static PyObject *model_rename(model_object *self, PyObject *args) {
    const char *from, *to;
    hone_error error;
    if (!PyArg_ParseTuple(args, "ss:rename", &from, &to) || !may_change(self))
        return NULL;
    return finish_edit(hone_model_rename(self->model, from, to, &error), &error);
}

static PyObject *model_set_initializer(model_object *self, PyObject *args) {
    const char *name;
    PyObject *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "sO!:set_initializer", &name, hnpy_value_type, &value) ||
        !may_change(self))
        return NULL;
    const hone_value *data = ((value_object *)value)->value;
    return finish_edit(hone_model_set_initializer(self->model, name, data, &error), &error);
}

static PyMethodDef model_methods[] = {
    {"load", model_load, METH_STATIC | METH_VARARGS,
     "load(path or None, bytes, folder, skip_external, libraries)"},
    {"save", HNPY_METHOD(model_save), METH_VARARGS, "save(path, external, threshold, file name)"},
    {"to_bytes", HNPY_METHOD(model_to_bytes), METH_NOARGS, "The model as the bytes of a file."},
    {"to_text", HNPY_METHOD(model_to_text), METH_VARARGS, "The model in ONNX text syntax."},
    {"info_json", HNPY_METHOD(model_info_json), METH_VARARGS, "info_json(label, parts)"},
    {"header", HNPY_METHOD(model_header), METH_NOARGS, "Producer, versions, opsets, metadata."},
    {"inputs", HNPY_METHOD(model_inputs), METH_NOARGS, "Descriptions of the inputs."},
    {"outputs", HNPY_METHOD(model_outputs), METH_NOARGS, "Descriptions of the outputs."},
    {"nodes", hnpy_model_nodes, METH_NOARGS, "Nodes in the order of execution."},
    {"initializers", hnpy_model_initializers, METH_NOARGS, "Constants by name, as Tensors."},
    {"check_json", HNPY_METHOD(model_check_json), METH_VARARGS, "check_json(label)"},
    {"infer", HNPY_METHOD(model_infer), METH_NOARGS, "Find types and shapes of all values."},
    {"fix_dim", HNPY_METHOD(model_fix_dim), METH_VARARGS, "fix_dim(name, size)"},
    {"fix_shape", HNPY_METHOD(model_fix_shape), METH_VARARGS, "fix_shape(input, shape)"},
    {"rename", HNPY_METHOD(model_rename), METH_VARARGS, "rename(from, to)"},
    {"set_initializer", HNPY_METHOD(model_set_initializer), METH_VARARGS,
     "set_initializer(name, Value)"},
    {"optimize", HNPY_METHOD(hnpy_model_optimize), METH_VARARGS | METH_KEYWORDS,
     "optimize(...): the optimized model, and the report as JSON."},
    {"quantize", hnpy_model_quantize, METH_VARARGS,
     "quantize(...): the quantized model, and the report as JSON."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, HNPY_SLOT(free_model)},
    {Py_tp_methods, model_methods},
    {Py_tp_doc, (void *)(uintptr_t) "A loaded model."},
    {0, NULL},
};

static PyType_Spec model_spec = {
    .name = "hone._core.Model",
    .basicsize = sizeof(model_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = model_slots,
};

int hnpy_model_ready(PyObject *module) {
    hnpy_model_type = hnpy_add_type(module, &model_spec, "Model");
    return hnpy_model_type ? 0 : -1;
}
