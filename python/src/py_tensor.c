/* Tensor: a view of constant data of a model. */
#include "py_core.h"

typedef struct tensor_object {
    PyObject_HEAD PyObject *model; /* keeps the data alive */
    hone_tensor_info info;
} tensor_object;

PyTypeObject *hnpy_tensor_type;

PyObject *hnpy_tensor_wrap(PyObject *model, const hone_tensor_info *info) {
    allocfunc alloc = (allocfunc)(uintptr_t)PyType_GetSlot(hnpy_tensor_type, Py_tp_alloc);
    tensor_object *self = (tensor_object *)alloc(hnpy_tensor_type, 0);
    if (!self)
        return NULL;
    Py_INCREF(model);
    self->model = model;
    self->info = *info;
    return (PyObject *)self;
}

static void free_tensor(tensor_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->model);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static int tensor_getbuffer(tensor_object *self, Py_buffer *view, int flags) {
    if (self->info.n_elements && !self->info.data) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, self->info.external_location
                                               ? "the data of the tensor was not loaded"
                                               : "strings have no buffer");
        return -1;
    }
    return hnpy_fill_view((PyObject *)self, view, flags, &self->info, true);
}

/* Packed data of types that NumPy lacks: two elements per byte. */
static PyObject *tensor_bytes(tensor_object *self, PyObject *unused) {
    (void)unused;
    return PyBytes_FromStringAndSize(self->info.data,
                                     self->info.data ? (Py_ssize_t)self->info.data_bytes : 0);
}

static PyObject *tensor_elem_type(tensor_object *self, void *unused) {
    (void)unused;
    return PyLong_FromLong(self->info.elem_type);
}

static PyObject *tensor_shape(tensor_object *self, void *unused) {
    (void)unused;
    return hnpy_shape(self->info.rank, self->info.dims);
}

static PyObject *tensor_has_data(tensor_object *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self->info.data || !self->info.n_elements);
}

static PyObject *tensor_is_sparse(tensor_object *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self->info.is_sparse);
}

static PyObject *tensor_nbytes(tensor_object *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(self->info.data_bytes);
}

static PyObject *tensor_external(tensor_object *self, void *unused) {
    (void)unused;
    if (!self->info.external_location)
        Py_RETURN_NONE;
    return hnpy_text(self->info.external_location);
}

static PyMethodDef tensor_methods[] = {
    {"tobytes", HNPY_METHOD(tensor_bytes), METH_NOARGS, "A copy of the stored data."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef tensor_properties[] = {
    {"elem_type", (getter)tensor_elem_type, NULL, "ONNX number of the element type", NULL},
    {"shape", (getter)tensor_shape, NULL, "sizes", NULL},
    {"nbytes", (getter)tensor_nbytes, NULL, "bytes of the data", NULL},
    {"has_data", (getter)tensor_has_data, NULL, "whether the elements are available", NULL},
    {"is_sparse", (getter)tensor_is_sparse, NULL, "the data are the nonzero elements", NULL},
    {"external_location", (getter)tensor_external, NULL, "file that holds the data, or None", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot tensor_slots[] = {
    {Py_tp_dealloc, HNPY_SLOT(free_tensor)},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_properties},
    {Py_tp_doc, (void *)(uintptr_t) "Constant data of a model."},
    {Py_bf_getbuffer, HNPY_SLOT(tensor_getbuffer)},
    {Py_bf_releasebuffer, HNPY_SLOT(hnpy_release_view)},
    {0, NULL},
};

static PyType_Spec tensor_spec = {
    .name = "hone._core.Tensor",
    .basicsize = sizeof(tensor_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = tensor_slots,
};

int hnpy_tensor_ready(PyObject *module) {
    hnpy_tensor_type = hnpy_add_type(module, &tensor_spec, "Tensor");
    return hnpy_tensor_type ? 0 : -1;
}
