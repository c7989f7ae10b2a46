/* Session.run and run_values: converts Python objects to values, runs, and converts the results. */
#include "py_session.h"

#include <stdlib.h>
#include <string.h>

/* One input of a run, and the objects that keep it alive. */
typedef struct fed_input {
    hone_value *value;
    Py_buffer view;   /* obj NULL: none, else we own `value` and it borrows from the view */
    PyObject *holder; /* the Value that `value` belongs to; NULL: none */
} fed_input;

enum { FEW = 8 }; /* enough for the inputs or outputs of nearly all models */

typedef struct run_call {
    session_object *session;
    uint32_t n_inputs, n_outputs;
    size_t max_inputs; /* capacity of the arrays */
    const char **input_names, **output_names;
    const hone_value **inputs;
    hone_value **outputs;
    fed_input *fed;
    bool *is_given; /* outputs that the caller provides */
    void *memory;   /* of all these arrays; NULL: the fixed ones below are used */
    struct {
        fed_input fed[FEW];
        const char *input_names[FEW], *output_names[FEW];
        const hone_value *inputs[FEW];
        hone_value *outputs[FEW];
        bool is_given[FEW];
    } few;
} run_call;

/* Takes the next n elements of a memory block. */
static void *take(char **at, size_t n, size_t size) {
    void *taken = *at;
    *at += n * size;
    return taken;
}

static int make_room(run_call *c, size_t n) {
    char *at = hnpy_alloc(n, sizeof c->few / FEW);
    if (!at)
        return -1;
    c->memory = at;
    c->fed = take(&at, n, sizeof *c->fed);
    c->input_names = take(&at, n, sizeof *c->input_names);
    c->output_names = take(&at, n, sizeof *c->output_names);
    c->inputs = take(&at, n, sizeof *c->inputs);
    c->outputs = take(&at, n, sizeof *c->outputs);
    c->is_given = take(&at, n, sizeof *c->is_given);
    return 0;
}

static int begin_call(run_call *c, session_object *session, size_t n_inputs, size_t n_outputs) {
    size_t n = n_inputs > n_outputs ? n_inputs : n_outputs;
    c->session = session;
    c->n_inputs = 0;
    c->n_outputs = (uint32_t)n_outputs;
    c->max_inputs = n_inputs;
    c->memory = NULL;
    c->fed = c->few.fed;
    c->input_names = c->few.input_names;
    c->output_names = c->few.output_names;
    c->inputs = c->few.inputs;
    c->outputs = c->few.outputs;
    c->is_given = c->few.is_given;
    if (n > FEW && make_room(c, n) < 0)
        return -1;
    memset(c->outputs, 0, n_outputs * sizeof *c->outputs);
    memset(c->is_given, 0, n_outputs * sizeof *c->is_given);
    return 0;
}

static void end_call(run_call *c) {
    for (uint32_t i = 0; i < c->n_inputs; i++) {
        fed_input *in = &c->fed[i];
        if (in->view.obj) {
            hone_value_free(in->value);
            PyBuffer_Release(&in->view);
        }
        Py_XDECREF(in->holder);
    }
    for (uint32_t i = 0; i < c->n_outputs; i++)
        if (!c->is_given[i])
            hone_value_free(c->outputs[i]);
    free(c->memory);
}

/* Raises the exception for an unknown name. */
static void raise_unknown(const hnpy_names *table, const char *what, PyObject *name) {
    static PyObject *unknown_name;
    if (!hnpy_helper(&unknown_name, "hone._errors", "unknown_name"))
        return;
    PyObject *known = PyDict_Keys(table->places);
    PyObject *exception =
        known ? PyObject_CallFunction(unknown_name, "sOO", what, name, known) : NULL;
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(known);
    Py_XDECREF(exception);
}

/* The number of a name; -1 with an exception when it is unknown. */
static long place_of(const hnpy_names *table, const char *what, PyObject *name) {
    PyObject *place = PyUnicode_Check(name) ? PyDict_GetItemWithError(table->places, name) : NULL;
    if (place)
        return PyLong_AsLong(place);
    if (!PyErr_Occurred())
        raise_unknown(table, what, name);
    return -1;
}

/* Converts an object that is not a plain array by hone._convert. */
static int convert_input(const hnpy_names *table, long place, PyObject *object, fed_input *in) {
    static PyObject *to_value;
    if (!hnpy_helper(&to_value, "hone._convert", "to_value"))
        return -1;
    PyObject *made =
        PyObject_CallFunctionObjArgs(to_value, object, PyList_GetItem(table->types, place), NULL);
    if (made && made != Py_None && !PyObject_TypeCheck(made, hnpy_value_type)) {
        PyErr_SetString(PyExc_TypeError, "an input must become a Value");
        Py_CLEAR(made);
    }
    if (!made)
        return -1;
    if (made == Py_None) {
        Py_DECREF(made);
        return 0;
    }
    in->holder = made;
    in->value = ((value_object *)made)->value;
    return 0;
}

static int feed(run_call *c, PyObject *name, PyObject *object) {
    const hnpy_names *table = &c->session->inputs;
    fed_input *in = &c->fed[c->n_inputs];
    in->view.obj = NULL;
    in->holder = NULL;
    in->value = NULL;
    long place = place_of(table, "input", name);
    if (place < 0)
        return -1;
    if (PyObject_TypeCheck(object, hnpy_value_type)) {
        Py_INCREF(object);
        in->holder = object;
        in->value = ((value_object *)object)->value;
    } else if (!PyBytes_Check(object) && hnpy_borrow(object, &in->view, &in->value) < 0) {
        return -1;
    }
    if (!in->value && convert_input(table, place, object, in) < 0)
        return -1;
    if (!in->value)
        return 0; /* None: the optional input is absent */
    c->input_names[c->n_inputs] = table->names[place];
    c->inputs[c->n_inputs] = in->value;
    c->n_inputs++;
    return 0;
}

/* Conversions call back into Python, which may change the dict. */
static int feed_all(run_call *c, PyObject *inputs) {
    PyObject *name, *object;
    Py_ssize_t at = 0;
    while (PyDict_Next(inputs, &at, &name, &object)) {
        if (c->n_inputs == c->max_inputs) {
            PyErr_SetString(PyExc_RuntimeError, "inputs were added during the run");
            return -1;
        }
        Py_INCREF(name);
        Py_INCREF(object);
        int failed = feed(c, name, object);
        Py_DECREF(name);
        Py_DECREF(object);
        if (failed)
            return -1;
    }
    return 0;
}

/* Outputs by name; None: all. */
static int name_outputs(run_call *c, PyObject *names) {
    const hnpy_names *table = &c->session->outputs;
    for (uint32_t i = 0; i < c->n_outputs; i++) {
        long place = (long)i;
        if (names != Py_None) {
            PyObject *name = PySequence_GetItem(names, (Py_ssize_t)i);
            place = name ? place_of(table, "output", name) : -1;
            Py_XDECREF(name);
        }
        if (place < 0)
            return -1;
        c->output_names[i] = table->names[place];
    }
    return 0;
}

/* Outputs with memory from the caller: a list of Values and None. */
static int give_outputs(run_call *c, PyObject *given) {
    for (uint32_t i = 0; given && i < c->n_outputs; i++) {
        PyObject *value = PyList_GetItem(given, (Py_ssize_t)i);
        if (!value)
            return -1;
        c->is_given[i] = PyObject_TypeCheck(value, hnpy_value_type);
        if (!c->is_given[i])
            continue;
        c->outputs[i] = ((value_object *)value)->value;
        if (hnpy_value_is_readonly(value)) {
            PyErr_Format(PyExc_ValueError, "output '%s' is bound to memory that is read-only",
                         c->output_names[i]);
            return -1;
        }
    }
    return 0;
}

/* Signals such as Ctrl-C: their handlers run now, and an exception of theirs ends the run. */
static bool has_raised_signal(void *unused) {
    (void)unused;
    PyGILState_STATE lock = PyGILState_Ensure();
    bool has_raised = PyErr_CheckSignals() != 0;
    PyGILState_Release(lock);
    return has_raised;
}

/* What a run found out about the names of dimensions goes to the log, once. */
static int log_dims_note(session_object *s) {
    const char *note = hone_session_dims_note(s->session);
    if (!*note || note == s->dims_note)
        return 0;
    s->dims_note = note;
    PyObject *logging = PyImport_ImportModule("logging");
    PyObject *logger = logging ? PyObject_CallMethod(logging, "getLogger", "s", "hone") : NULL;
    PyObject *done = logger ? PyObject_CallMethod(logger, "warning", "ss", "%s", note) : NULL;
    Py_XDECREF(done);
    Py_XDECREF(logger);
    Py_XDECREF(logging);
    return done ? 0 : -1;
}

static int run_unlocked(run_call *c, PyObject *control, PyObject *record) {
    hone_run_options o;
    hone_error error;
    hone_status status;
    hnpy_recorder recorder = {0};
    run_control_object *ctl = control == Py_None ? NULL : (run_control_object *)control;
    hone_run_options_init(&o);
    if (ctl) {
        o.cancel = &ctl->cancel;
        o.timeout_seconds = ctl->timeout_seconds;
    }
    o.should_stop = has_raised_signal;
    if (record != Py_None) {
        o.observe = hnpy_recorder_see;
        o.observe_ctx = &recorder;
    }
    Py_BEGIN_ALLOW_THREADS status =
        hone_session_run(c->session->session, &o, c->n_inputs, c->input_names, c->inputs,
                         c->n_outputs, c->output_names, c->outputs, &error);
    Py_END_ALLOW_THREADS int failed = 0;
    if (status) {
        if (!PyErr_Occurred())
            hnpy_raise(&error, HNPY_RUNNING);
        failed = -1;
    } else if (record != Py_None) {
        failed = hnpy_recorder_move(&recorder, record);
    }
    hnpy_recorder_free(&recorder);
    return failed ? failed : log_dims_note(c->session);
}

/* Results as a list: arrays, or Values unchanged. */
static PyObject *take_outputs(run_call *c, PyObject *given, bool as_values) {
    PyObject *list = PyList_New((Py_ssize_t)c->n_outputs);
    for (uint32_t i = 0; list && i < c->n_outputs; i++) {
        PyObject *value, *result;
        if (c->is_given[i]) {
            value = PyList_GetItem(given, (Py_ssize_t)i);
            Py_INCREF(value);
        } else {
            value = hnpy_value_wrap(c->outputs[i]);
            c->outputs[i] = NULL;
        }
        if (as_values || !value) {
            result = value;
        } else {
            result = hnpy_value_to_python(value);
            Py_DECREF(value);
        }
        if (!result || PyList_SetItem(list, (Py_ssize_t)i, result) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* The common part of both kinds of run; the output names are None or a sequence. */
static PyObject *run_with(session_object *self, PyObject *names, PyObject *inputs, PyObject *given,
                          PyObject *control, PyObject *record, bool as_values) {
    run_call call;
    Py_ssize_t n_outputs = names == Py_None ? (Py_ssize_t)self->outputs.n : PySequence_Size(names);
    if (n_outputs < 0)
        return NULL;
    PyObject *results = NULL;
    if (begin_call(&call, self, (size_t)PyDict_Size(inputs), (size_t)n_outputs) < 0)
        return NULL;
    if (feed_all(&call, inputs) == 0 && name_outputs(&call, names) == 0 &&
        give_outputs(&call, given) == 0 && run_unlocked(&call, control, record) == 0)
        results = take_outputs(&call, given, as_values);
    end_call(&call);
    return results;
}

static bool is_control(PyObject *object) {
    if (object == Py_None || PyObject_TypeCheck(object, hnpy_run_control_type))
        return true;
    PyErr_SetString(PyExc_TypeError, "run_options must be RunOptions or None");
    return false;
}

PyObject *hnpy_session_run(session_object *self, PyObject *args) {
    PyObject *names, *inputs, *control, *record;
    if (!PyArg_ParseTuple(args, "OO!OO:run", &names, &PyDict_Type, &inputs, &control, &record) ||
        !is_control(control))
        return NULL;
    return run_with(self, names, inputs, NULL, control, record, false);
}

PyObject *hnpy_session_run_values(session_object *self, PyObject *args) {
    PyObject *names, *inputs, *given, *control, *record;
    if (!PyArg_ParseTuple(args, "OO!O!OO:run_values", &names, &PyDict_Type, &inputs, &PyList_Type,
                          &given, &control, &record) ||
        !is_control(control))
        return NULL;
    if (names != Py_None && PySequence_Size(names) != PyList_Size(given)) {
        PyErr_SetString(PyExc_ValueError, "there must be as many given outputs as names");
        return NULL;
    }
    return run_with(self, names, inputs, given, control, record, true);
}
