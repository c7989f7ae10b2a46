/* The Session object, for the files that create and run it. */
#ifndef HNPY_SESSION_H
#define HNPY_SESSION_H

#include "py_core.h"

/* The names of inputs or outputs, and their positions. */
typedef struct hnpy_names {
    uint32_t n;
    const char **names; /* owned by the model */
    PyObject *places;   /* dict: name to number */
    PyObject *types;    /* list: results of hnpy_describe_value */
} hnpy_names;

typedef struct session_object {
    PyObject_HEAD hone_session *session;
    PyObject *model; /* outlives the session */
    hnpy_names inputs, outputs;
    const char *dims_note; /* that was logged last */
} session_object;

/* Methods of Session. */
PyObject *hnpy_session_run(session_object *self, PyObject *args);
PyObject *hnpy_session_run_values(session_object *self, PyObject *args);

#endif /* HNPY_SESSION_H */
