/* DLPack: exchanges tensors with other packages without a copy. The structs are those of version 0,
 * which all packages still support. */
#include "py_core.h"

#include <stdlib.h>

typedef struct dl_device {
    int32_t type; /* 1: CPU memory */
    int32_t id;
} dl_device;
typedef struct dl_type {
    uint8_t code, bits;
    uint16_t lanes;
} dl_type;
typedef struct dl_tensor {
    void *data;
    dl_device device;
    int32_t rank;
    dl_type type;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: dense, in C order */
    uint64_t byte_offset;
} dl_tensor;
typedef struct dl_managed_tensor {
    dl_tensor tensor;
    void *manager;
    void (*deleter)(struct dl_managed_tensor *self);
} dl_managed_tensor;

enum { DL_CPU = 1 };
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX, DL_BOOL };

typedef struct dl_type_row {
    uint8_t code, bits;
    int32_t elem_type;
} dl_type_row;

static const dl_type_row dl_types[] = {
    {DL_FLOAT, 32, 1},   {DL_UINT, 8, 2},      {DL_INT, 8, 3},        {DL_UINT, 16, 4},
    {DL_INT, 16, 5},     {DL_INT, 32, 6},      {DL_INT, 64, 7},       {DL_BOOL, 8, 9},
    {DL_FLOAT, 16, 10},  {DL_FLOAT, 64, 11},   {DL_UINT, 32, 12},     {DL_UINT, 64, 13},
    {DL_BFLOAT, 16, 16}, {DL_COMPLEX, 64, 14}, {DL_COMPLEX, 128, 15},
};

#define CAPSULE "dltensor"
#define CAPSULE_USED "used_dltensor"
#define CAPSULE_OWNER "hone.dltensor"

/* ---- export ---------------------------------------------------------------------------------- */

/* The parts of an exported tensor. */
typedef struct dl_export {
    dl_managed_tensor managed;
    int64_t shape[HNPY_MAX_RANK];
} dl_export;

/* May be called from any thread. */
static void release_export(dl_managed_tensor *managed) {
    PyGILState_STATE lock = PyGILState_Ensure();
    Py_DECREF((PyObject *)managed->manager);
    free(managed);
    PyGILState_Release(lock);
}

static void free_unused_export(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, CAPSULE))
        return; /* the consumer owns it now */
    dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, CAPSULE);
    managed->deleter(managed);
}

static const dl_type_row *dl_type_of(int32_t elem_type) {
    for (size_t i = 0; i < sizeof dl_types / sizeof *dl_types; i++)
        if (dl_types[i].elem_type == elem_type)
            return &dl_types[i];
    return NULL;
}

PyObject *hnpy_dlpack_export(PyObject *value) {
    hone_tensor_info info;
    const dl_type_row *type = NULL;
    if (hone_value_tensor(((value_object *)value)->value, &info))
        type = dl_type_of(info.elem_type);
    if (!type) {
        PyErr_SetString(PyExc_BufferError, "DLPack has no type for this value");
        return NULL;
    }
    if (hnpy_value_is_readonly(value)) {
        PyErr_SetString(PyExc_BufferError,
                        "the memory is read-only, which DLPack cannot express: copy it first");
        return NULL;
    }
    dl_export *out = hnpy_alloc(1, sizeof *out);
    if (!out)
        return NULL;
    for (int32_t i = 0; i < info.rank; i++)
        out->shape[i] = info.dims[i];
    out->managed = (dl_managed_tensor){
        .tensor = {.data = (void *)(uintptr_t)info.data,
                   .device = {DL_CPU, 0},
                   .rank = info.rank,
                   .type = {type->code, type->bits, 1},
                   .shape = out->shape},
        .manager = value,
        .deleter = release_export,
    };
    PyObject *capsule = PyCapsule_New(&out->managed, CAPSULE, free_unused_export);
    if (capsule)
        Py_INCREF(value);
    else
        free(out);
    return capsule;
}

/* ---- import ---------------------------------------------------------------------------------- */

static void release_import(PyObject *capsule) {
    dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, CAPSULE_OWNER);
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static bool is_dense(const dl_tensor *t) {
    int64_t step = 1;
    for (int32_t i = t->rank; t->strides && i-- > 0;) {
        if (t->shape[i] != 1 && t->strides[i] != step)
            return t->shape[i] == 0;
        step *= t->shape[i];
    }
    return true;
}

static int32_t elem_type_of_dl(const dl_type *type) {
    for (size_t i = 0; type->lanes == 1 && i < sizeof dl_types / sizeof *dl_types; i++)
        if (dl_types[i].code == type->code && dl_types[i].bits == type->bits)
            return dl_types[i].elem_type;
    return 0;
}

static const char *reason_against(const dl_tensor *t) {
    if (t->device.type != DL_CPU)
        return "the tensor is in the memory of another device: copy it to the CPU first";
    if (t->rank < 0 || t->rank > HNPY_MAX_RANK)
        return "the tensor has too many dimensions";
    if (!elem_type_of_dl(&t->type))
        return "ONNX has no type for the tensor's elements";
    if (!is_dense(t))
        return "the tensor is not contiguous: call its contiguous() first";
    return NULL;
}

PyObject *hnpy_dlpack_import(PyObject *capsule) {
    dl_managed_tensor *managed = PyCapsule_GetPointer(capsule, CAPSULE);
    if (!managed)
        return NULL;
    const dl_tensor *t = &managed->tensor;
    const char *reason = reason_against(t);
    if (reason) {
        PyErr_SetString(PyExc_BufferError, reason);
        return NULL;
    }
    hone_value *value;
    hone_error error;
    if (hone_value_borrow(elem_type_of_dl(&t->type), t->rank, t->shape,
                          t->data ? (char *)t->data + t->byte_offset : NULL, SIZE_MAX, &value,
                          &error))
        return hnpy_raise(&error, HNPY_RUNNING);
    value_object *self = (value_object *)hnpy_value_wrap(value);
    PyObject *owner = self ? PyCapsule_New(managed, CAPSULE_OWNER, NULL) : NULL;
    /* Renaming the capsule transfers ownership of the tensor. */
    if (!owner || PyCapsule_SetName(capsule, CAPSULE_USED) < 0 ||
        PyCapsule_SetDestructor(owner, release_import) < 0) {
        Py_XDECREF(owner);
        Py_XDECREF((PyObject *)self);
        return NULL;
    }
    self->owner = owner;
    return (PyObject *)self;
}
