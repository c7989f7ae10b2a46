/* Session: runs of a model. */
#include "core.h"

#include <string.h>

PyTypeObject *hnpy_session_type;
PyTypeObject *hnpy_run_control_type;

/* Inputs or outputs: their names, and where a name stands. */
typedef struct name_table {
    uint32_t n;
    const char **names; /* of the model */
    PyObject *places;   /* dict: name to number */
    PyObject *types;    /* list: what hnpy_describe_value says */
} name_table;

typedef struct session_object {
    PyObject_HEAD
    hone_session *session;
    PyObject *model; /* outlives the session */
    name_table inputs, outputs;
} session_object;

/* ---- making ---------------------------------------------------------------------------------- */

static int fill_names(name_table *table, const hone_graph *graph, uint32_t n,
                      const uint32_t *values) {
    hone_value_info info;
    table->names = PyMem_Calloc((size_t)n + 1, sizeof *table->names);
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

static void free_names(name_table *table) {
    PyMem_Free((void *)table->names);
    Py_XDECREF(table->places);
    Py_XDECREF(table->types);
}

/* ImageDecoder: what hone._images says of the bytes of a file. Called from any thread. */
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

/* Sizes of free dimensions as the options want them; *dims is for PyMem_Free. */
static int read_dims(PyObject *dict, hone_dim_size **dims, PyObject **names) {
    Py_ssize_t at = 0, n = 0;
    PyObject *name, *size;
    *names = PyList_New(0);
    *dims = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof **dims);
    if (!*dims || !*names)
        return -1;
    while (PyDict_Next(dict, &at, &name, &size)) {
        PyObject *utf8 = PyUnicode_AsUTF8String(name);
        bool ok = utf8 && PyList_Append(*names, utf8) == 0;
        Py_XDECREF(utf8);
        if (!ok)
            return -1;
        (*dims)[n++] = (hone_dim_size){PyBytes_AsString(utf8), PyLong_AsLongLong(size)};
    }
    return PyErr_Occurred() ? -1 : 0;
}

static hone_status create_unlocked(session_object *self, const hone_session_options *options,
                                   hone_error *error) {
    model_object *model = (model_object *)self->model;
    hone_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hone_session_create(model->model, options, &self->session, error);
    Py_END_ALLOW_THREADS
    return status;
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
    static char *names[] = {"model", "level",          "n_threads", "keep_denormals",
                            "dims",  "max_plans",      "memory_limit", NULL};
    PyObject *model, *dims_dict, *dim_names = NULL;
    int level, keep_denormals;
    unsigned long long memory_limit = 0;
    hone_session_options o;
    hone_dim_size *dims = NULL;
    hone_session_options_init(&o);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!iipO!|IK:Session", names, hnpy_model_type,
                                     &model, &level, &o.n_threads, &keep_denormals, &PyDict_Type,
                                     &dims_dict, &o.max_plans, &memory_limit))
        return NULL;
    o.level = (hone_level)level;
    o.keep_denormals = keep_denormals;
    o.memory_limit_bytes = memory_limit;
    o.decode_image = decode_image;
    allocfunc alloc = (allocfunc)(uintptr_t)PyType_GetSlot(type, Py_tp_alloc);
    session_object *self = (session_object *)alloc(type, 0);
    int failed = self ? read_dims(dims_dict, &dims, &dim_names) : -1;
    if (!failed) {
        o.n_dims = (uint32_t)PyDict_Size(dims_dict);
        o.dims = dims;
        failed = open_session(self, model, &o);
    }
    PyMem_Free(dims);
    Py_XDECREF(dim_names);
    if (failed)
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

/* ---- runs ------------------------------------------------------------------------------------ */

/* One input of a run, and what keeps it alive. */
typedef struct fed_input {
    hone_value *value;
    Py_buffer view;   /* obj NULL: none, else `value` is ours and borrows from it */
    PyObject *holder; /* the Value that `value` belongs to; NULL: none */
} fed_input;

enum { FEW = 8 }; /* inputs, or outputs, of nearly all models */

typedef struct run_call {
    session_object *session;
    uint32_t n_inputs, n_outputs;
    const char **input_names, **output_names;
    const hone_value **inputs;
    hone_value **outputs;
    fed_input *fed;
    bool *is_given;  /* outputs that are written to */
    void *memory;    /* of all these arrays; NULL: those below */
    struct {
        const char *input_names[FEW], *output_names[FEW];
        const hone_value *inputs[FEW];
        hone_value *outputs[FEW];
        fed_input fed[FEW];
        bool is_given[FEW];
    } few;
} run_call;

static int begin_call(run_call *c, session_object *session, size_t n_inputs, size_t n_outputs) {
    c->session = session;
    c->n_inputs = 0;
    c->n_outputs = (uint32_t)n_outputs;
    c->memory = NULL;
    c->input_names = c->few.input_names;
    c->output_names = c->few.output_names;
    c->inputs = c->few.inputs;
    c->outputs = c->few.outputs;
    c->fed = c->few.fed;
    c->is_given = c->few.is_given;
    size_t n = n_inputs > n_outputs ? n_inputs : n_outputs;
    if (n > FEW) {
        char *at = c->memory =
            PyMem_Calloc(n, 4 * sizeof(void *) + sizeof *c->fed + sizeof *c->is_given);
        if (!at) {
            PyErr_NoMemory();
            return -1;
        }
        c->fed = (void *)at;
        at += n * sizeof *c->fed;
        c->input_names = (void *)at;
        at += n * sizeof(void *);
        c->output_names = (void *)at;
        at += n * sizeof(void *);
        c->inputs = (void *)at;
        at += n * sizeof(void *);
        c->outputs = (void *)at;
        at += n * sizeof(void *);
        c->is_given = (void *)at;
    }
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
    PyMem_Free(c->memory);
}

/* Raises what a name that is not in the table deserves. */
static void raise_unknown(const name_table *table, const char *what, PyObject *name) {
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

/* Number of a name; -1 with an exception when there is none such. */
static long place_of(const name_table *table, const char *what, PyObject *name) {
    PyObject *place = PyUnicode_Check(name) ? PyDict_GetItemWithError(table->places, name) : NULL;
    if (place)
        return PyLong_AsLong(place);
    if (!PyErr_Occurred())
        raise_unknown(table, what, name);
    return -1;
}

/* What hone._convert makes of an object that is no plain array. */
static int convert_input(const name_table *table, long place, PyObject *object, fed_input *in) {
    static PyObject *to_value;
    if (!hnpy_helper(&to_value, "hone._convert", "to_value"))
        return -1;
    PyObject *made = PyObject_CallFunctionObjArgs(
        to_value, object, PyList_GetItem(table->types, place), NULL);
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
    const name_table *table = &c->session->inputs;
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
        return 0; /* None: an optional input is left out */
    c->input_names[c->n_inputs] = table->names[place];
    c->inputs[c->n_inputs] = in->value;
    c->n_inputs++;
    return 0;
}

static int feed_all(run_call *c, PyObject *inputs) {
    PyObject *name, *object;
    Py_ssize_t at = 0;
    while (PyDict_Next(inputs, &at, &name, &object))
        if (feed(c, name, object) < 0)
            return -1;
    return 0;
}

/* Outputs by name; None: all. */
static int name_outputs(run_call *c, PyObject *names) {
    const name_table *table = &c->session->outputs;
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

/* Outputs that somebody gave memory for: a list of Values and None. */
static int give_outputs(run_call *c, PyObject *given) {
    for (uint32_t i = 0; given && i < c->n_outputs; i++) {
        PyObject *value = PyList_GetItem(given, (Py_ssize_t)i);
        if (!value)
            return -1;
        c->is_given[i] = PyObject_TypeCheck(value, hnpy_value_type);
        if (c->is_given[i])
            c->outputs[i] = ((value_object *)value)->value;
    }
    return 0;
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
    if (record != Py_None) {
        o.observe = hnpy_recorder_see;
        o.observe_ctx = &recorder;
    }
    Py_BEGIN_ALLOW_THREADS
    status = hone_session_run(c->session->session, &o, c->n_inputs, c->input_names, c->inputs,
                              c->n_outputs, c->output_names, c->outputs, &error);
    Py_END_ALLOW_THREADS
    int failed = 0;
    if (status) {
        hnpy_raise(&error, HNPY_RUNNING);
        failed = -1;
    } else if (record != Py_None) {
        failed = hnpy_recorder_move(&recorder, record);
    }
    hnpy_recorder_free(&recorder);
    return failed;
}

/* Results as a list: arrays, or Values as they are. */
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

/* What both kinds of run do; names of outputs are None or a sequence. */
static PyObject *run_with(session_object *self, PyObject *names, PyObject *inputs, PyObject *given,
                          PyObject *control, PyObject *record, bool as_values) {
    run_call call;
    Py_ssize_t n_outputs =
        names == Py_None ? (Py_ssize_t)self->outputs.n : PySequence_Size(names);
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

static PyObject *session_run(session_object *self, PyObject *args) {
    PyObject *names, *inputs, *control, *record;
    if (!PyArg_ParseTuple(args, "OO!OO:run", &names, &PyDict_Type, &inputs, &control, &record) ||
        !is_control(control))
        return NULL;
    return run_with(self, names, inputs, NULL, control, record, false);
}

static PyObject *session_run_values(session_object *self, PyObject *args) {
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

static PyObject *session_inputs(session_object *self, PyObject *unused) {
    (void)unused;
    return PySequence_List(self->inputs.types);
}

static PyObject *session_outputs(session_object *self, PyObject *unused) {
    (void)unused;
    return PySequence_List(self->outputs.types);
}

static PyMethodDef session_methods[] = {
    {"run", HNPY_METHOD(session_run), METH_VARARGS,
     "run(names or None, inputs, control, record): outputs as arrays."},
    {"run_values", HNPY_METHOD(session_run_values), METH_VARARGS,
     "run_values(names, inputs, outputs, control, record): outputs as Values; those given are "
     "written to."},
    {"inputs", HNPY_METHOD(session_inputs), METH_NOARGS, "Descriptions of the inputs."},
    {"outputs", HNPY_METHOD(session_outputs), METH_NOARGS, "Descriptions of the outputs."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot session_slots[] = {
    {Py_tp_new, HNPY_SLOT(session_new)},
    {Py_tp_dealloc, HNPY_SLOT(free_session)},
    {Py_tp_methods, session_methods},
    {Py_tp_doc, (void *)(uintptr_t) "A model made ready to run. Safe from many threads."},
    {0, NULL},
};

static PyType_Spec session_spec = {
    .name = "hone._core.Session",
    .basicsize = sizeof(session_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = session_slots,
};

/* ---- control --------------------------------------------------------------------------------- */

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
    {Py_tp_doc, (void *)(uintptr_t) "What another thread may do to a run."},
    {0, NULL},
};

static PyType_Spec run_control_spec = {
    .name = "hone._core.RunControl",
    .basicsize = sizeof(run_control_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = run_control_slots,
};

int hnpy_session_ready(PyObject *module) {
    hnpy_session_type = hnpy_add_type(module, &session_spec, "Session");
    hnpy_run_control_type = hnpy_add_type(module, &run_control_spec, "RunControl");
    return hnpy_session_type && hnpy_run_control_type ? 0 : -1;
}
