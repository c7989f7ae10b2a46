/* Model.optimize. */
#include "py_core.h"

#include <stdlib.h>

/* A list of names for the library. Zero it first. */
typedef struct name_list {
    const char **at;
    uint32_t n;
    PyObject *bytes; /* the names */
} name_list;

static int read_names(PyObject *names, name_list *list) {
    Py_ssize_t n = PyList_Size(names);
    list->bytes = n < 0 ? NULL : PyList_New(0);
    list->at = n < 0 ? NULL : hnpy_alloc((size_t)n, sizeof *list->at);
    if (!list->bytes || !list->at)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *text = PyUnicode_AsUTF8String(PyList_GetItem(names, i));
        int failed = text ? PyList_Append(list->bytes, text) : -1;
        Py_XDECREF(text);
        if (failed)
            return -1;
        list->at[i] = PyBytes_AsString(text);
    }
    list->n = (uint32_t)n;
    return 0;
}

static void free_list(name_list *list) {
    free((void *)list->at);
    Py_XDECREF(list->bytes);
}

typedef struct optimize_call {
    hone_optimize_options options;
    name_list passes, disabled, blocked_ops, blocked_nodes, input_names;
    const hone_value **inputs;
} optimize_call;

static int read_inputs(PyObject *inputs, optimize_call *c) {
    PyObject *names = PyDict_Keys(inputs);
    int failed = names ? read_names(names, &c->input_names) : -1;
    c->inputs = hnpy_alloc((size_t)PyDict_Size(inputs), sizeof *c->inputs);
    for (uint32_t i = 0; !failed && c->inputs && i < c->input_names.n; i++) {
        PyObject *value = PyDict_GetItem(inputs, PyList_GetItem(names, (Py_ssize_t)i));
        if (!value || !PyObject_TypeCheck(value, hnpy_value_type)) {
            PyErr_SetString(PyExc_TypeError, "inputs to verify with must be Values");
            failed = -1;
            break;
        }
        c->inputs[i] = ((value_object *)value)->value;
    }
    Py_XDECREF(names);
    return c->inputs ? failed : -1;
}

static int read_call(PyObject *args, PyObject *kwargs, optimize_call *c) {
    static char *names[] = {
        "level",       "target",        "opset",       "passes",  "disabled",     "stop_after",
        "approximate", "verify",        "seed",        "inputs",  "precision",    "keep_io_types",
        "blocked_ops", "blocked_nodes", "trust_names", "timeout", "memory_limit", NULL};
    PyObject *passes, *disabled, *inputs, *ops, *nodes;
    int level, target, approximate, verify, precision, keep_io_types, trust_names;
    long long opset;
    unsigned long long seed, memory_limit;
    double timeout;
    hone_optimize_options *o = &c->options;
    hone_optimize_options_init(o);
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "iiLO!O!IppKO!ipO!O!pdK:optimize", names, &level, &target, &opset,
            &PyList_Type, &passes, &PyList_Type, &disabled, &o->stop_after, &approximate, &verify,
            &seed, &PyDict_Type, &inputs, &precision, &keep_io_types, &PyList_Type, &ops,
            &PyList_Type, &nodes, &trust_names, &timeout, &memory_limit) ||
        read_names(passes, &c->passes) < 0 || read_names(disabled, &c->disabled) < 0 ||
        read_names(ops, &c->blocked_ops) < 0 || read_names(nodes, &c->blocked_nodes) < 0 ||
        read_inputs(inputs, c) < 0)
        return -1;
    o->level = (hone_level)level;
    o->target = (hone_target)target;
    o->opset = opset;
    o->n_passes = c->passes.n;
    o->passes = c->passes.at;
    o->n_disabled = c->disabled.n;
    o->disabled = c->disabled.at;
    o->allow_approximate = approximate;
    o->measure = true;
    o->verify = verify;
    o->verify_seed = seed;
    o->n_verify_inputs = c->input_names.n;
    o->verify_input_names = c->input_names.at;
    o->verify_inputs = c->inputs;
    o->precision = (hone_precision)precision;
    o->keep_io_types = keep_io_types;
    o->trust_dim_names = trust_names;
    o->verify_timeout_seconds = timeout;
    o->verify_memory_limit_bytes = memory_limit;
    o->n_blocked_ops = c->blocked_ops.n;
    o->blocked_ops = c->blocked_ops.at;
    o->n_blocked_nodes = c->blocked_nodes.n;
    o->blocked_nodes = c->blocked_nodes.at;
    return 0;
}

static void free_call(optimize_call *c) {
    free_list(&c->passes);
    free_list(&c->disabled);
    free_list(&c->blocked_ops);
    free_list(&c->blocked_nodes);
    free_list(&c->input_names);
    free((void *)c->inputs);
}

static PyObject *report_json(const hone_optimization *report) {
    hnpy_writer text = {0};
    hone_error error;
    if (hone_optimization_write_json(report, "", hnpy_write, &text, &error) == HONE_OK)
        return hnpy_writer_finish(&text);
    free(text.at);
    return hnpy_raise(&error, HNPY_LOADING);
}

static PyObject *optimize_unlocked(model_object *self, const hone_optimize_options *o) {
    hone_model *optimized;
    hone_optimization *report;
    hone_error error;
    hone_status status;
    self->n_readers++;
    Py_BEGIN_ALLOW_THREADS status =
        hone_model_optimize(self->model, o, &optimized, &report, &error);
    Py_END_ALLOW_THREADS self->n_readers--;
    if (status)
        return hnpy_raise(&error, HNPY_LOADING);
    PyObject *json = report_json(report);
    hone_optimization_free(report);
    PyObject *model = hnpy_model_wrap(optimized, (PyObject *)self);
    if (json && model)
        return Py_BuildValue("(NN)", model, json);
    Py_XDECREF(json);
    Py_XDECREF(model);
    return NULL;
}

PyObject *hnpy_model_optimize(PyObject *model, PyObject *args, PyObject *kwargs) {
    optimize_call call = {0};
    PyObject *result = NULL;
    if (read_call(args, kwargs, &call) == 0)
        result = optimize_unlocked((model_object *)model, &call.options);
    free_call(&call);
    return result;
}
