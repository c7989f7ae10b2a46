/* Exposes the contents of a graph as plain Python objects. */
#include "py_core.h"

#include <stdlib.h>
#include <string.h>

/* Appends an item and takes ownership of it, also on failure. */
static int append(PyObject *list, PyObject *item) {
    int failed = item ? PyList_Append(list, item) : -1;
    Py_XDECREF(item);
    return failed;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Calls a function that works like snprintf and returns its text. */
typedef size_t (*text_fn)(const hone_graph *graph, uint32_t value, char *text, size_t text_size);

static PyObject *text_of(text_fn write, const hone_graph *graph, uint32_t value) {
    char few[256], *text = few;
    size_t n = write(graph, value, few, sizeof few);
    if (n >= sizeof few) {
        text = hnpy_alloc(n + 1, 1);
        if (!text)
            return NULL;
        write(graph, value, text, n + 1);
    }
    PyObject *result = hnpy_text(text);
    if (text != few)
        free(text);
    return result;
}

static PyObject *describe_dim(const hone_graph *graph, uint32_t value, int32_t axis) {
    int64_t size;
    char text[512];
    size_t n = hone_value_dim(graph, value, axis, &size, text, sizeof text);
    if (size >= 0)
        return PyLong_FromLongLong(size);
    if (n == 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    return hnpy_text(text);
}

static PyObject *describe_shape(const hone_graph *graph, uint32_t value, int32_t rank) {
    if (rank < 0) {
        Py_INCREF(Py_None);
        return Py_None;
    }
    PyObject *shape = PyTuple_New(rank);
    for (int32_t i = 0; shape && i < rank; i++) {
        PyObject *dim = describe_dim(graph, value, i);
        if (!dim || PyTuple_SetItem(shape, i, dim) < 0)
            Py_CLEAR(shape);
    }
    return shape;
}

PyObject *hnpy_describe_value(const hone_graph *graph, uint32_t value) {
    hone_value_info info;
    hone_graph_get_value(graph, value, &info);
    return Py_BuildValue("(NNiiNN)", hnpy_text(info.name),
                         text_of(hone_value_type_text, graph, value), (int)info.kind,
                         (int)info.elem_type, describe_shape(graph, value, info.rank),
                         PyBool_FromLong(info.is_initializer));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static PyObject *names_of(const hone_graph *graph, uint32_t n, const uint32_t *values) {
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < n; i++) {
        hone_value_info info = {.name = ""};
        if (values[i] != HONE_NONE)
            hone_graph_get_value(graph, values[i], &info);
        if (append(list, hnpy_text(info.name)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *strings_of(const hone_graph *graph, uint32_t node, uint32_t attribute,
                            uint32_t n) {
    PyObject *list = PyList_New(0);
    for (uint32_t k = 0; list && k < n; k++) {
        const char *text;
        size_t n_bytes;
        hone_node_get_attribute_string(graph, node, attribute, k, &text, &n_bytes);
        if (append(list, hnpy_text_n(text, n_bytes)) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *numbers_of(const hone_attribute_info *a) {
    PyObject *list = PyList_New(0);
    for (uint32_t k = 0; list && k < a->n; k++)
        if (append(list, a->kind == HONE_ATTRIBUTE_INTS
                             ? PyLong_FromLongLong(a->ints[k])
                             : PyFloat_FromDouble((double)a->floats[k])) < 0)
            Py_CLEAR(list);
    return list;
}

static PyObject *tensors_of(PyObject *model, const hone_graph *graph, uint32_t node,
                            uint32_t attribute, const hone_attribute_info *a) {
    PyObject *list = PyList_New(0);
    for (uint32_t k = 0; list && k < a->n; k++) {
        hone_tensor_info info;
        PyObject *tensor = NULL;
        if (hone_attribute_get_tensor(graph, node, attribute, k, &info)) {
            tensor = hnpy_tensor_wrap(model, &info);
        } else {
            Py_INCREF(Py_None);
            tensor = Py_None;
        }
        if (append(list, tensor) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *first_of(PyObject *list) {
    PyObject *first = list ? PyList_GetItem(list, 0) : NULL;
    Py_XINCREF(first);
    Py_XDECREF(list);
    return first;
}

static PyObject *attribute_value(PyObject *model, const hone_graph *graph, uint32_t node,
                                 uint32_t attribute, const hone_attribute_info *a) {
    switch (a->kind) {
    case HONE_ATTRIBUTE_FLOAT:
        return PyFloat_FromDouble((double)a->f);
    case HONE_ATTRIBUTE_INT:
        return PyLong_FromLongLong(a->i);
    case HONE_ATTRIBUTE_STRING:
        return hnpy_text_n(a->s ? a->s : "", a->s_bytes);
    case HONE_ATTRIBUTE_FLOATS:
    case HONE_ATTRIBUTE_INTS:
        return numbers_of(a);
    case HONE_ATTRIBUTE_STRINGS:
        return strings_of(graph, node, attribute, a->n);
    case HONE_ATTRIBUTE_TENSOR:
    case HONE_ATTRIBUTE_SPARSE_TENSOR:
        return first_of(tensors_of(model, graph, node, attribute, a));
    case HONE_ATTRIBUTE_TENSORS:
    case HONE_ATTRIBUTE_SPARSE_TENSORS:
        return tensors_of(model, graph, node, attribute, a);
    default:
        Py_INCREF(Py_None);
        return Py_None;
    }
}

static PyObject *attributes_of(PyObject *model, const hone_graph *graph, uint32_t node,
                               uint32_t n) {
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < n; i++) {
        hone_attribute_info a;
        hone_node_get_attribute(graph, node, i, &a);
        PyObject *name = hnpy_text(a.name);
        PyObject *value = name ? attribute_value(model, graph, node, i, &a) : NULL;
        if (!value || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return dict;
}

static PyObject *describe_node(PyObject *model, const hone_graph *graph, uint32_t node) {
    hone_node_info info;
    hone_graph_get_node(graph, node, &info);
    return Py_BuildValue("(NNNNINNN)", hnpy_text(info.name), hnpy_text(info.op),
                         hnpy_text(info.domain), hnpy_text(info.doc), (unsigned)info.subgraph,
                         names_of(graph, info.n_inputs, info.inputs),
                         names_of(graph, info.n_outputs, info.outputs),
                         attributes_of(model, graph, node, info.n_attributes));
}

PyObject *hnpy_model_nodes(PyObject *model, PyObject *unused) {
    (void)unused;
    const hone_graph *graph = hone_model_graph(((model_object *)model)->model);
    PyObject *list = PyList_New(0);
    uint32_t n_subgraphs = hone_graph_n_subgraphs(graph);
    for (uint32_t s = 0; list && s < n_subgraphs; s++) {
        hone_subgraph_info info;
        hone_graph_get_subgraph(graph, s, &info);
        for (uint32_t i = 0; list && i < info.n_nodes; i++)
            if (append(list, describe_node(model, graph, info.nodes[i])) < 0)
                Py_CLEAR(list);
    }
    return list;
}

/* ---- constants ------------------------------------------------------------------------------- */

PyObject *hnpy_model_initializers(PyObject *model, PyObject *unused) {
    (void)unused;
    const hone_graph *graph = hone_model_graph(((model_object *)model)->model);
    hone_subgraph_info main_graph;
    hone_graph_get_subgraph(graph, 0, &main_graph);
    PyObject *dict = PyDict_New();
    for (uint32_t i = 0; dict && i < main_graph.n_initializers; i++) {
        hone_value_info value;
        hone_tensor_info info;
        hone_graph_get_value(graph, main_graph.initializers[i], &value);
        if (!hone_value_get_tensor(graph, main_graph.initializers[i], &info))
            continue;
        PyObject *name = hnpy_text(value.name);
        PyObject *tensor = name ? hnpy_tensor_wrap(model, &info) : NULL;
        if (!tensor || PyDict_SetItem(dict, name, tensor) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(name);
        Py_XDECREF(tensor);
    }
    return dict;
}
