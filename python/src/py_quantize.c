/* Model.quantize. */
#include "py_core.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- options --------------------------------------------------------------------------------- */

typedef enum option_kind {
    OPTION_BOOL,
    OPTION_INT,
    OPTION_I64,
    OPTION_U64,
    OPTION_REAL
} option_kind;

/* Members of hone_quantize_options under the names that Python gives them, as bytes. */
typedef struct option_row {
    const char *name;
    option_kind kind;
    size_t offset;
} option_row;
#define OPTION(name, kind) \
  { #name, kind, offsetof(hone_quantize_options, name) }
static const option_row option_rows[] = {
    OPTION(mode, OPTION_INT),
    OPTION(format, OPTION_INT),
    OPTION(standard_ops, OPTION_BOOL),
    OPTION(activation_type, OPTION_INT),
    OPTION(weight_type, OPTION_INT),
    OPTION(activation_symmetric, OPTION_BOOL),
    OPTION(activation_restricted_asymmetric, OPTION_BOOL),
    OPTION(weight_symmetric, OPTION_INT),
    OPTION(per_channel, OPTION_BOOL),
    OPTION(reduce_range, OPTION_BOOL),
    OPTION(block_size, OPTION_INT),
    OPTION(keep_first, OPTION_BOOL),
    OPTION(keep_last, OPTION_BOOL),
    OPTION(keep_sensitive, OPTION_INT),
    OPTION(matmul_const_b_only, OPTION_BOOL),
    OPTION(force_no_input_check, OPTION_BOOL),
    OPTION(keep_removable_activations, OPTION_BOOL),
    OPTION(quantize_bias, OPTION_BOOL),
    OPTION(weight_adjust_for_int32_bias, OPTION_BOOL),
    OPTION(add_qdq_pair_to_weight, OPTION_BOOL),
    OPTION(dedicated_qdq_pair, OPTION_BOOL),
    OPTION(use_qdq_contrib_ops, OPTION_BOOL),
    OPTION(max_samples, OPTION_U64),
    OPTION(calibration, OPTION_INT),
    OPTION(percentile, OPTION_REAL),
    OPTION(moving_average_constant, OPTION_REAL),
    OPTION(range_symmetric, OPTION_BOOL),
    OPTION(minimum_real_range, OPTION_REAL),
    OPTION(equalize, OPTION_BOOL),
    OPTION(smooth_alpha, OPTION_REAL),
    OPTION(correct_bias, OPTION_BOOL),
    OPTION(gptq, OPTION_BOOL),
    OPTION(keep_outliers, OPTION_BOOL),
    OPTION(search_scales, OPTION_BOOL),
    OPTION(accuracy_level, OPTION_I64),
    OPTION(explain, OPTION_BOOL),
    OPTION(level, OPTION_INT),
    OPTION(n_threads, OPTION_INT),
};

static int store_option(const option_row *row, PyObject *value, hone_quantize_options *o) {
    char *at = (char *)o + row->offset;
    double real = PyFloat_AsDouble(value);
    if (real == -1 && PyErr_Occurred())
        return -1;
    int number = (int)real;
    bool flag = real != 0;
    int64_t wide = (int64_t)real;
    if (row->kind == OPTION_BOOL)
        memcpy(at, &flag, sizeof flag);
    else if (row->kind == OPTION_INT)
        memcpy(at, &number, sizeof number);
    else if (row->kind == OPTION_REAL)
        memcpy(at, &real, sizeof real);
    else
        memcpy(at, &wide, sizeof wide);
    return 0;
}

static int read_numbers(PyObject *numbers, hone_quantize_options *o) {
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(numbers, &at, &key, &value)) {
        const char *name = PyBytes_AsString(key);
        size_t i = 0, n = sizeof option_rows / sizeof *option_rows;
        while (name && i < n && strcmp(option_rows[i].name, name) != 0)
            i++;
        if (!name || i == n) {
            PyErr_Format(PyExc_TypeError, "there is no option %R", key);
            return -1;
        }
        if (store_option(&option_rows[i], value, o) < 0)
            return -1;
    }
    return 0;
}

/* A list of names as bytes; they keep their memory while the caller keeps the list. */
static int read_name_list(PyObject *lists, const char *name, const char *const **at, uint32_t *n) {
    PyObject *list = PyDict_GetItemString(lists, name);
    Py_ssize_t size = list ? PyList_Size(list) : 0;
    const char **names = size < 0 ? NULL : hnpy_alloc((size_t)size + 1, sizeof *names);
    if (!names)
        return -1;
    *at = names;
    for (Py_ssize_t i = 0; i < size; i++)
        if (!(names[i] = PyBytes_AsString(PyList_GetItem(list, i))))
            return -1;
    *n = (uint32_t)size;
    return 0;
}

/* (tensor, type, symmetric, reduce_range, (min, max) or None, (scale, zero) or None) */
static int read_override(PyObject *entry, hone_quantize_override *o) {
    PyObject *range, *params;
    if (!PyArg_ParseTuple(entry, "siiiOO", &o->tensor, &o->type, &o->symmetric, &o->reduce_range,
                          &range, &params))
        return -1;
    o->has_range = range != Py_None;
    o->has_params = params != Py_None;
    if (o->has_range && !PyArg_ParseTuple(range, "dd", &o->min, &o->max))
        return -1;
    return o->has_params && !PyArg_ParseTuple(params, "fi", &o->scale, &o->zero_point) ? -1 : 0;
}

typedef struct quantize_call {
    hone_quantize_options options;
    hone_dataset samples;
    hone_quantize_override *overrides;
    hone_quantize_choice *choices;
    hone_quantize_axis *axes;
    PyObject *read; /* of sample i: a dict from names (bytes) to Values, or None */
    PyObject *now;  /* the sample that the library reads */
    const char **names;
    const hone_value **values;
    bool has_raised; /* an exception waits to be raised */
} quantize_call;

static int read_entries(PyObject *overrides, PyObject *choices, PyObject *axes, quantize_call *c) {
    hone_quantize_options *o = &c->options;
    Py_ssize_t n = PyList_Size(overrides), n_choices = PyList_Size(choices);
    Py_ssize_t n_axes = PyList_Size(axes);
    c->overrides = hnpy_alloc((size_t)n + 1, sizeof *c->overrides);
    c->choices = hnpy_alloc((size_t)n_choices + 1, sizeof *c->choices);
    c->axes = hnpy_alloc((size_t)n_axes + 1, sizeof *c->axes);
    if (!c->overrides || !c->choices || !c->axes)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (read_override(PyList_GetItem(overrides, i), &c->overrides[i]) < 0)
            return -1;
    for (Py_ssize_t i = 0; i < n_choices; i++)
        if (!PyArg_ParseTuple(PyList_GetItem(choices, i), "si", &c->choices[i].pattern,
                              &c->choices[i].type))
            return -1;
    for (Py_ssize_t i = 0; i < n_axes; i++)
        if (!PyArg_ParseTuple(PyList_GetItem(axes, i), "si", &c->axes[i].op_type, &c->axes[i].axis))
            return -1;
    o->n_channel_axes = (uint32_t)n_axes;
    o->channel_axes = c->axes;
    o->n_overrides = (uint32_t)n;
    o->overrides = c->overrides;
    o->n_choices = (uint32_t)n_choices;
    o->choices = c->choices;
    return 0;
}

static int read_quantize_call(PyObject *args, quantize_call *c) {
    PyObject *numbers, *lists, *overrides, *choices, *axes;
    hone_quantize_options *o = &c->options;
    hone_quantize_options_init(o);
    return PyArg_ParseTuple(args, "O!O!O!O!O!zO:quantize", &PyDict_Type, &numbers, &PyDict_Type,
                            &lists, &PyList_Type, &overrides, &PyList_Type, &choices, &PyList_Type,
                            &axes, &o->calibration_cache, &c->read) &&
                   read_numbers(numbers, o) == 0 &&
                   read_name_list(lists, "op_types", &o->op_types, &o->n_op_types) == 0 &&
                   read_name_list(lists, "excluded_op_types", &o->excluded_op_types,
                                  &o->n_excluded_op_types) == 0 &&
                   read_name_list(lists, "float_output_op_types", &o->float_output_op_types,
                                  &o->n_float_output_op_types) == 0 &&
                   read_name_list(lists, "nodes", &o->nodes, &o->n_nodes) == 0 &&
                   read_name_list(lists, "excluded_nodes", &o->excluded_nodes,
                                  &o->n_excluded_nodes) == 0 &&
                   read_entries(overrides, choices, axes, c) == 0
               ? 0
               : -1;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int take_sample(quantize_call *c, hone_sample *sample) {
    PyObject *name, *value;
    Py_ssize_t at = 0, n = PyDict_Size(c->now);
    if (n < 0)
        return -1;
    free((void *)c->names);
    free((void *)c->values);
    c->names = hnpy_alloc((size_t)n + 1, sizeof *c->names);
    c->values = hnpy_alloc((size_t)n + 1, sizeof *c->values);
    for (uint32_t i = 0; c->names && c->values && PyDict_Next(c->now, &at, &name, &value); i++) {
        if (!PyObject_TypeCheck(value, hnpy_value_type)) {
            PyErr_SetString(PyExc_TypeError, "samples must be Values");
            return -1;
        }
        c->names[i] = PyBytes_AsString(name);
        c->values[i] = ((value_object *)value)->value;
        if (!c->names[i])
            return -1;
    }
    *sample = (hone_sample){
        .label = -1, .n_inputs = (uint32_t)n, .inputs = c->names, .values = c->values};
    return c->names && c->values ? 0 : -1;
}

/* Runs without the lock. The exception of a reader is raised when the library has returned. */
static hone_status read_python_sample(void *ctx, uint64_t i, hone_sample *sample,
                                      hone_error *error) {
    quantize_call *c = ctx;
    PyGILState_STATE lock = PyGILState_Ensure();
    hone_status status = HONE_OK;
    Py_XDECREF(c->now);
    c->now = PyObject_CallFunction(c->read, "K", (unsigned long long)i);
    if (c->now == Py_None)
        *sample = (hone_sample){.label = -1};
    else if (!c->now || take_sample(c, sample) < 0) {
        c->has_raised = true;
        *error = (hone_error){.code = HONE_E_CANCELLED, .message = "the reader of samples failed"};
        status = HONE_E_CANCELLED;
    }
    PyGILState_Release(lock);
    return status;
}

/* ---- quantizing ------------------------------------------------------------------------------ */

static PyObject *quantization_json(const hone_quantization *report) {
    hnpy_writer text = {0};
    hone_error error;
    if (hone_quantization_write_json(report, NULL, hnpy_write, &text, &error) == HONE_OK)
        return hnpy_writer_finish(&text);
    free(text.at);
    return hnpy_raise(&error, HNPY_LOADING);
}

static PyObject *quantize_unlocked(model_object *self, quantize_call *c) {
    hone_model *quantized;
    hone_quantization *report;
    hone_error error;
    hone_status status;
    self->n_readers++;
    Py_BEGIN_ALLOW_THREADS status =
        hone_model_quantize(self->model, &c->options, &quantized, &report, &error);
    Py_END_ALLOW_THREADS self->n_readers--;
    if (status)
        return c->has_raised ? NULL : hnpy_raise(&error, HNPY_LOADING);
    PyObject *json = quantization_json(report);
    hone_quantization_free(report);
    PyObject *model = hnpy_model_wrap(quantized, (PyObject *)self);
    if (json && model)
        return Py_BuildValue("(NN)", model, json);
    Py_XDECREF(json);
    Py_XDECREF(model);
    return NULL;
}

PyObject *hnpy_model_quantize(PyObject *model, PyObject *args) {
    quantize_call call = {0};
    PyObject *result = NULL;
    if (read_quantize_call(args, &call) == 0) {
        call.samples = (hone_dataset){.ctx = &call, .read = read_python_sample};
        call.options.samples = call.read == Py_None ? NULL : &call.samples;
        result = quantize_unlocked((model_object *)model, &call);
    }
    Py_XDECREF(call.now);
    free((void *)call.names);
    free((void *)call.values);
    free(call.overrides);
    free(call.choices);
    free(call.axes);
    free((void *)call.options.float_output_op_types);
    free((void *)call.options.op_types);
    free((void *)call.options.excluded_op_types);
    free((void *)call.options.nodes);
    free((void *)call.options.excluded_nodes);
    return result;
}
