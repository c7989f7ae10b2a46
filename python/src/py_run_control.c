/* RunControl: lets another thread stop a run. */
#include "py_core.h"

PyTypeObject *hnpy_run_control_type;

static PyObject *get_terminate(run_control_object *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(self->cancel);
}

static int set_terminate(run_control_object *self, PyObject *value, void *unused) {
    (void)unused;
    int is_true = value ? PyObject_IsTrue(value) : 0;
    if (is_true >= 0)
        self->cancel = is_true;
    return is_true < 0 ? -1 : 0;
}

static PyObject *get_timeout(run_control_object *self, void *unused) {
    (void)unused;
    if (self->timeout_seconds > 0)
        return PyFloat_FromDouble(self->timeout_seconds);
    Py_RETURN_NONE;
}

static int set_timeout(run_control_object *self, PyObject *value, void *unused) {
    (void)unused;
    double seconds = !value || value == Py_None ? 0 : PyFloat_AsDouble(value);
    if (PyErr_Occurred())
        return -1;
    if (!(seconds >= 0)) {
        PyErr_SetString(PyExc_ValueError, "a timeout is a number of seconds above 0, or None");
        return -1;
    }
    self->timeout_seconds = seconds;
    return 0;
}

static void free_run_control(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyGetSetDef run_control_properties[] = {
    {"terminate", (getter)get_terminate, (setter)set_terminate,
     "set to True, from any thread, to stop the runs that use these options", NULL},
    {"timeout", (getter)get_timeout, (setter)set_timeout,
     "seconds after which a run is stopped, or None", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot run_control_slots[] = {
    {Py_tp_new, HNPY_SLOT(PyType_GenericNew)},
    {Py_tp_dealloc, HNPY_SLOT(free_run_control)},
    {Py_tp_getset, run_control_properties},
    {Py_tp_doc, (void *)(uintptr_t) "Controls a run from another thread."},
    {0, NULL},
};

static PyType_Spec run_control_spec = {
    .name = "hone._core.RunControl",
    .basicsize = sizeof(run_control_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = run_control_slots,
};

int hnpy_run_control_ready(PyObject *module) {
    hnpy_run_control_type = hnpy_add_type(module, &run_control_spec, "RunControl");
    return hnpy_run_control_type ? 0 : -1;
}
