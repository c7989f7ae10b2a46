/* Value: an input or output of a run. */
#include "py_core.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *hnpy_value_type;

static value_object *new_value(void) {
    allocfunc alloc = (allocfunc)(uintptr_t)PyType_GetSlot(hnpy_value_type, Py_tp_alloc);
    return (value_object *)alloc(hnpy_value_type, 0); /* zeroed */
}

PyObject *hnpy_value_wrap(hone_value *value) {
    value_object *self = new_value();
    if (self)
        self->value = value;
    else
        hone_value_free(value);
    return (PyObject *)self;
}

static void free_value(value_object *self) {
    PyTypeObject *type = Py_TYPE(self);
    if (!self->is_item)
        hone_value_free(self->value);
    if (self->view.obj)
        PyBuffer_Release(&self->view);
    Py_XDECREF(self->owner);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* ---- memory ---------------------------------------------------------------------------------- */

int hnpy_fill_view(PyObject *owner, Py_buffer *view, int flags, const hone_tensor_info *tensor,
                   bool is_readonly) {
    static char nothing;
    const char *format = hnpy_format_of(tensor->elem_type);
    view->obj = NULL;
    if (!*format) {
        PyErr_Format(PyExc_BufferError, "elements of type %s have no buffer",
                     hone_elem_type_name(tensor->elem_type));
        return -1;
    }
    if (is_readonly && (flags & PyBUF_WRITABLE)) {
        PyErr_SetString(PyExc_BufferError, "constants of a model cannot be written to");
        return -1;
    }
    size_t rank = (size_t)tensor->rank;
    Py_ssize_t *sizes = hnpy_alloc(2 * rank, sizeof *sizes);
    if (!sizes)
        return -1;
    Py_ssize_t itemsize = hone_elem_type_bits(tensor->elem_type) / 8, step = itemsize;
    for (size_t i = rank; i-- > 0;) {
        sizes[i] = (Py_ssize_t)tensor->dims[i];
        sizes[rank + i] = step;
        step *= sizes[i];
    }
    *view = (Py_buffer){
        .buf = tensor->data ? (void *)(uintptr_t)tensor->data : &nothing,
        .obj = owner,
        .len = (Py_ssize_t)tensor->n_elements * itemsize,
        .itemsize = itemsize,
        .readonly = is_readonly,
        .ndim = flags & PyBUF_ND ? tensor->rank : 1,
        .format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL,
        .shape = flags & PyBUF_ND ? sizes : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + rank : NULL,
        .internal = sizes,
    };
    Py_INCREF(owner);
    return 0;
}

void hnpy_release_view(PyObject *owner, Py_buffer *view) {
    (void)owner;
    free(view->internal);
}

bool hnpy_value_is_readonly(PyObject *value) {
    const value_object *self = (const value_object *)value;
    return self->view.obj && self->view.readonly;
}

static int value_getbuffer(value_object *self, Py_buffer *view, int flags) {
    hone_tensor_info info;
    if (!hone_value_tensor(self->value, &info)) {
        view->obj = NULL;
        PyErr_SetString(PyExc_BufferError, "only tensors have a buffer");
        return -1;
    }
    return hnpy_fill_view((PyObject *)self, view, flags, &info,
                          hnpy_value_is_readonly((PyObject *)self));
}

int hnpy_borrow(PyObject *object, Py_buffer *view, hone_value **value) {
    hone_error error;
    int64_t dims[HNPY_MAX_RANK];
    *value = NULL;
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) < 0) {
        PyErr_Clear();
        view->obj = NULL;
        return 0;
    }
    int32_t elem_type = hnpy_elem_type_of(view->format, view->itemsize);
    bool is_usable = elem_type && view->ndim <= HNPY_MAX_RANK;
    for (int i = 0; is_usable && i < view->ndim; i++)
        dims[i] = view->shape[i];
    hone_status status = HONE_E_ARGUMENT; /* not aligned for its type, at most */
    if (is_usable)
        status = hone_value_borrow(elem_type, view->ndim, dims, view->buf, (size_t)view->len, value,
                                   &error);
    if (status == HONE_OK)
        return 0;
    PyBuffer_Release(view);
    if (status == HONE_E_ARGUMENT)
        return 0;
    hnpy_raise(&error, HNPY_RUNNING);
    return -1;
}

/* ---- making values --------------------------------------------------------------------------- */

/* A value whose data are the buffer's: it ends with the value. */
static PyObject *wrap_view(hone_value *value, Py_buffer view) {
    value_object *self = (value_object *)hnpy_value_wrap(value);
    if (self)
        self->view = view;
    else
        PyBuffer_Release(&view);
    return (PyObject *)self;
}

static PyObject *value_borrow(PyObject *type, PyObject *object) {
    (void)type;
    Py_buffer view;
    hone_value *value;
    if (hnpy_borrow(object, &view, &value) < 0)
        return NULL;
    if (!value)
        Py_RETURN_NONE;
    return wrap_view(value, view);
}

/* Of bytes under another type: what NumPy has no format for. */
static PyObject *value_from_bytes(PyObject *type, PyObject *args) {
    (void)type;
    int elem_type;
    PyObject *shape, *object;
    int64_t dims[HNPY_MAX_RANK];
    int32_t rank;
    Py_buffer view;
    hone_value *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "iOO:from_bytes", &elem_type, &shape, &object) ||
        hnpy_read_shape(shape, dims, &rank) < 0 ||
        PyObject_GetBuffer(object, &view, PyBUF_C_CONTIGUOUS) < 0)
        return NULL;
    if (hone_value_borrow(elem_type, rank, dims, view.buf, (size_t)view.len, &value, &error)) {
        PyBuffer_Release(&view);
        return hnpy_raise(&error, HNPY_RUNNING);
    }
    return wrap_view(value, view);
}

static PyObject *value_from_pointer(PyObject *type, PyObject *args) {
    (void)type;
    int elem_type;
    PyObject *shape, *address, *owner;
    int64_t dims[HNPY_MAX_RANK];
    int32_t rank;
    hone_value *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "iOOO:from_pointer", &elem_type, &shape, &address, &owner) ||
        hnpy_read_shape(shape, dims, &rank) < 0)
        return NULL;
    void *data = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return NULL;
    if (hone_value_borrow(elem_type, rank, dims, data, SIZE_MAX, &value, &error))
        return hnpy_raise(&error, HNPY_RUNNING);
    value_object *self = (value_object *)hnpy_value_wrap(value);
    if (self) {
        Py_INCREF(owner);
        self->owner = owner;
    }
    return (PyObject *)self;
}

static PyObject *value_empty(PyObject *type, PyObject *args) {
    (void)type;
    int elem_type;
    PyObject *shape;
    int64_t dims[HNPY_MAX_RANK];
    int32_t rank;
    hone_value *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "iO:empty", &elem_type, &shape) ||
        hnpy_read_shape(shape, dims, &rank) < 0)
        return NULL;
    if (hone_value_create(elem_type, rank, dims, NULL, &value, &error))
        return hnpy_raise(&error, HNPY_RUNNING);
    return hnpy_value_wrap(value);
}

/* Texts and lengths of a list of bytes objects. */
static int read_texts(PyObject *list, Py_ssize_t n, const char **texts, size_t *lengths) {
    for (Py_ssize_t i = 0; i < n; i++) {
        char *text;
        Py_ssize_t length;
        PyObject *item = PyList_GetItem(list, i);
        if (!item || PyBytes_AsStringAndSize(item, &text, &length) < 0)
            return -1;
        texts[i] = text;
        lengths[i] = (size_t)length;
    }
    return 0;
}

static bool has_elements(int32_t rank, const int64_t *dims, Py_ssize_t n) {
    int64_t product = 1;
    for (int32_t i = 0; i < rank; i++)
        product = dims[i] >= 0 && (dims[i] == 0 || product <= INT64_MAX / dims[i])
                      ? product * dims[i]
                      : -1;
    return product == n;
}

static PyObject *value_from_strings(PyObject *type, PyObject *args) {
    (void)type;
    PyObject *list, *shape, *result = NULL;
    int64_t dims[HNPY_MAX_RANK];
    int32_t rank;
    hone_value *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "O!O:from_strings", &PyList_Type, &list, &shape) ||
        hnpy_read_shape(shape, dims, &rank) < 0)
        return NULL;
    Py_ssize_t n = PyList_Size(list);
    if (!has_elements(rank, dims, n)) {
        PyErr_SetString(PyExc_ValueError, "the shape does not have as many elements as the list");
        return NULL;
    }
    const char **texts = hnpy_alloc((size_t)n, sizeof *texts);
    size_t *lengths = hnpy_alloc((size_t)n, sizeof *lengths);
    if (texts && lengths && read_texts(list, n, texts, lengths) == 0)
        result = hone_value_create_strings(rank, dims, texts, lengths, &value, &error)
                     ? hnpy_raise(&error, HNPY_RUNNING)
                     : hnpy_value_wrap(value);
    free((void *)texts);
    free(lengths);
    return result;
}

static PyObject *value_from_sequence(PyObject *type, PyObject *list) {
    (void)type;
    Py_ssize_t n = PyList_Size(list);
    if (n < 0)
        return NULL;
    const hone_value **items = hnpy_alloc((size_t)n, sizeof *items);
    if (!items)
        return NULL;
    PyObject *result = NULL;
    hone_value *value;
    hone_error error;
    Py_ssize_t i = 0;
    for (; i < n; i++) {
        PyObject *item = PyList_GetItem(list, i);
        if (!PyObject_TypeCheck(item, hnpy_value_type))
            break;
        items[i] = ((value_object *)item)->value;
    }
    if (i < n)
        PyErr_SetString(PyExc_TypeError, "a sequence is made of Values");
    else
        result = hone_value_create_sequence((uint32_t)n, items, &value, &error)
                     ? hnpy_raise(&error, HNPY_RUNNING)
                     : hnpy_value_wrap(value);
    free((void *)items);
    return result;
}

static PyObject *value_from_map(PyObject *type, PyObject *args) {
    (void)type;
    PyObject *keys, *values;
    hone_value *value;
    hone_error error;
    if (!PyArg_ParseTuple(args, "O!O!:from_map", hnpy_value_type, &keys, hnpy_value_type, &values))
        return NULL;
    if (hone_value_create_map(((value_object *)keys)->value, ((value_object *)values)->value,
                              &value, &error))
        return hnpy_raise(&error, HNPY_RUNNING);
    return hnpy_value_wrap(value);
}

static PyObject *value_from_dlpack(PyObject *type, PyObject *capsule) {
    (void)type;
    return hnpy_dlpack_import(capsule);
}

/* ---- looking --------------------------------------------------------------------------------- */

static PyObject *value_kind(value_object *self, void *unused) {
    static const char *const names[] = {"unknown",  "tensor", "sparse_tensor", "sequence",
                                        "optional", "map",    "opaque"};
    (void)unused;
    return hnpy_text(names[hone_value_kind(self->value)]);
}

static PyObject *value_elem_type(value_object *self, void *unused) {
    (void)unused;
    hone_tensor_info info;
    return PyLong_FromLong(hone_value_tensor(self->value, &info) ? info.elem_type : 0);
}

static PyObject *value_shape(value_object *self, void *unused) {
    (void)unused;
    hone_tensor_info info;
    if (!hone_value_tensor(self->value, &info))
        Py_RETURN_NONE;
    return hnpy_shape(info.rank, info.dims);
}

static PyObject *value_nbytes(value_object *self, void *unused) {
    (void)unused;
    hone_tensor_info info;
    return PyLong_FromUnsignedLongLong(hone_value_tensor(self->value, &info) ? info.data_bytes : 0);
}

static PyObject *value_address(value_object *self, void *unused) {
    (void)unused;
    hone_tensor_info info;
    bool is_tensor = hone_value_tensor(self->value, &info);
    return PyLong_FromVoidPtr(is_tensor ? (void *)(uintptr_t)info.data : NULL);
}

/* Also of packed types, which have no buffer. */
static PyObject *value_tobytes(value_object *self, PyObject *unused) {
    (void)unused;
    hone_tensor_info info;
    if (!hone_value_tensor(self->value, &info) || (info.n_elements && !info.data))
        return PyErr_Format(PyExc_TypeError, "only tensors of numbers have bytes");
    return PyBytes_FromStringAndSize(info.data, (Py_ssize_t)info.data_bytes);
}

static PyObject *value_strings(value_object *self, PyObject *unused) {
    (void)unused;
    hone_tensor_info info;
    bool is_tensor = hone_value_tensor(self->value, &info);
    PyObject *list = PyList_New(0);
    const char *text;
    size_t n_bytes;
    for (uint64_t i = 0; list && is_tensor && i < info.n_elements; i++) {
        PyObject *item = hone_value_string(self->value, i, &text, &n_bytes)
                             ? hnpy_text_n(text, n_bytes)
                             : PyErr_Format(PyExc_TypeError, "this tensor holds no strings");
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *value_items(value_object *self, PyObject *unused) {
    (void)unused;
    PyObject *list = PyList_New(0);
    uint32_t n = hone_value_n_items(self->value);
    for (uint32_t i = 0; list && i < n; i++) {
        value_object *item = new_value();
        if (item) {
            item->value = (hone_value *)(uintptr_t)hone_value_item(self->value, i);
            item->is_item = true;
            Py_INCREF(self);
            item->owner = (PyObject *)self;
        }
        if (item && !item->value)
            PyErr_NoMemory();
        if (!item || !item->value || PyList_Append(list, (PyObject *)item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* ---- to Python ------------------------------------------------------------------------------- */

#define N_ELEM_TYPES 32 /* more than ONNX has */

/* The NumPy type of elements that NumPy can see where they lie; NULL without an exception when
 * they must be converted. Borrowed. */
static PyObject *dtype_of(int32_t elem_type) {
    static PyObject *dtypes[N_ELEM_TYPES], *viewed_dtype;
    if (elem_type < 0 || elem_type >= N_ELEM_TYPES)
        return NULL;
    if (!dtypes[elem_type]) {
        if (!hnpy_helper(&viewed_dtype, "hone._types", "viewed_dtype"))
            return NULL;
        dtypes[elem_type] = PyObject_CallFunction(viewed_dtype, "i", (int)elem_type);
    }
    return dtypes[elem_type] == Py_None ? NULL : dtypes[elem_type];
}

PyObject *hnpy_value_to_python(PyObject *value) {
    static PyObject *ndarray, *to_python;
    hone_tensor_info info;
    bool is_tensor = hone_value_tensor(((value_object *)value)->value, &info);
    PyObject *dtype = is_tensor ? dtype_of(info.elem_type) : NULL;
    if (PyErr_Occurred())
        return NULL;
    if (!dtype)
        return hnpy_helper(&to_python, "hone._convert", "to_python")
                   ? PyObject_CallFunctionObjArgs(to_python, value, NULL)
                   : NULL;
    if (!hnpy_helper(&ndarray, "numpy", "ndarray"))
        return NULL;
    PyObject *shape = hnpy_shape(info.rank, info.dims);
    PyObject *array =
        shape ? PyObject_CallFunctionObjArgs(ndarray, shape, dtype, value, NULL) : NULL;
    Py_XDECREF(shape);
    return array;
}

static PyObject *value_to_python(PyObject *self, PyObject *unused) {
    (void)unused;
    return hnpy_value_to_python(self);
}

static PyObject *value_dlpack(PyObject *self, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs; /* a stream, a version and a device: there is only this one */
    return hnpy_dlpack_export(self);
}

static PyObject *value_dlpack_device(PyObject *self, PyObject *unused) {
    (void)self, (void)unused;
    return Py_BuildValue("(ii)", 1, 0); /* the memory of the processor */
}

/* ---- the type -------------------------------------------------------------------------------- */

static PyMethodDef value_methods[] = {
    {"borrow", value_borrow, METH_STATIC | METH_O,
     "A tensor over the memory of a buffer; None when the object has none of a type of ONNX."},
    {"from_bytes", value_from_bytes, METH_STATIC | METH_VARARGS,
     "A tensor of (element type, shape) over the bytes of a buffer."},
    {"from_pointer", value_from_pointer, METH_STATIC | METH_VARARGS,
     "A tensor of (element type, shape) at an address that lives as long as an owner."},
    {"empty", value_empty, METH_STATIC | METH_VARARGS,
     "A new tensor of (element type, shape), not initialized."},
    {"from_strings", value_from_strings, METH_STATIC | METH_VARARGS,
     "A string tensor of a list of bytes objects and a shape."},
    {"from_sequence", value_from_sequence, METH_STATIC | METH_O,
     "A sequence of copies of the Values of a list."},
    {"from_map", value_from_map, METH_STATIC | METH_VARARGS,
     "A map of copies of two tensors: its keys and its values."},
    {"from_dlpack", value_from_dlpack, METH_STATIC | METH_O,
     "A tensor over the memory of a DLPack capsule."},
    {"tobytes", HNPY_METHOD(value_tobytes), METH_NOARGS, "A copy of a tensor's data as they lie."},
    {"strings", HNPY_METHOD(value_strings), METH_NOARGS, "The elements of a string tensor."},
    {"items", HNPY_METHOD(value_items), METH_NOARGS,
     "Values of a sequence, or keys and values of a map."},
    {"to_python", value_to_python, METH_NOARGS,
     "An array over the same memory; sequences become lists, maps become dicts."},
    {"__dlpack__", HNPY_METHOD(value_dlpack), METH_VARARGS | METH_KEYWORDS,
     "A DLPack capsule over the same memory."},
    {"__dlpack_device__", value_dlpack_device, METH_NOARGS, "The device of the memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef value_properties[] = {
    {"kind", (getter)value_kind, NULL, "tensor, sequence, map or optional", NULL},
    {"elem_type", (getter)value_elem_type, NULL, "ONNX number of the element type; 0: no tensor",
     NULL},
    {"shape", (getter)value_shape, NULL, "sizes of a tensor; None: no tensor", NULL},
    {"nbytes", (getter)value_nbytes, NULL, "bytes of a tensor's data", NULL},
    {"address", (getter)value_address, NULL, "address of a tensor's data", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot value_slots[] = {
    {Py_tp_dealloc, HNPY_SLOT(free_value)},
    {Py_tp_methods, value_methods},
    {Py_tp_getset, value_properties},
    {Py_tp_doc, (void *)(uintptr_t) "A tensor, a sequence, a map or an empty optional."},
    {Py_bf_getbuffer, HNPY_SLOT(value_getbuffer)},
    {Py_bf_releasebuffer, HNPY_SLOT(hnpy_release_view)},
    {0, NULL},
};

static PyType_Spec value_spec = {
    .name = "hone._core.Value",
    .basicsize = sizeof(value_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = value_slots,
};

int hnpy_value_ready(PyObject *module) {
    hnpy_value_type = hnpy_add_type(module, &value_spec, "Value");
    return hnpy_value_type ? 0 : -1;
}
