/* Records the steps of a run for profiles. */
#include "py_core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct hnpy_step {
    const char *name, *domain, *op, *provider, *kernel; /* the session owns them */
    uint32_t node;
    uint64_t macs;
    uint64_t start_ns, end_ns;
    uint64_t activation_bytes, parameter_bytes, output_bytes;
    size_t inputs_at, outputs_at, origins_at, end_at; /* offsets in the texts */
} hnpy_step;

static bool put(hnpy_recorder *r, const char *text) {
    return hnpy_write(&r->texts, text, strlen(text));
}

/* [{"float":[1,3]},{"int64":[]}], the format of onnxruntime; {} for values that are not tensors. */
static void put_types(hnpy_recorder *r, const hone_value *const *values, uint32_t n) {
    char number[32];
    hone_tensor_info info;
    put(r, "[");
    for (uint32_t i = 0; i < n; i++) {
        put(r, i ? ",{" : "{");
        if (values[i] && hone_value_tensor(values[i], &info)) {
            put(r, "\"");
            put(r, hone_elem_type_name(info.elem_type));
            put(r, "\":[");
            for (int32_t k = 0; k < info.rank; k++) {
                snprintf(number, sizeof number, k ? ",%lld" : "%lld", (long long)info.dims[k]);
                put(r, number);
            }
            put(r, "]");
        }
        put(r, "}");
    }
    put(r, "]");
}

/* The nodes of the model that the step computes, each after a NUL. */
static void put_origins(hnpy_recorder *r, const hone_step *step) {
    for (uint32_t i = 0; i < step->n_origins; i++) {
        hnpy_write(&r->texts, "", 1);
        put(r, step->origins[i]);
    }
}

static uint64_t bytes_of(const hone_value *value) {
    hone_tensor_info info;
    return value && hone_value_tensor(value, &info) ? info.data_bytes : 0;
}

static void count_bytes(hnpy_step *s, const hone_step *step) {
    hone_node_info node;
    hone_graph_get_node(step->graph, step->node, &node);
    for (uint32_t i = 0; i < step->n_inputs; i++) {
        hone_value_info value = {0};
        if (i < node.n_inputs && node.inputs[i] != HONE_NONE)
            hone_graph_get_value(step->graph, node.inputs[i], &value);
        *(value.is_initializer ? &s->parameter_bytes : &s->activation_bytes) +=
            bytes_of(step->inputs[i]);
    }
    for (uint32_t i = 0; i < step->n_outputs; i++)
        s->output_bytes += bytes_of(step->outputs[i]);
}

void hnpy_recorder_see(void *recorder, const hone_step *step) {
    hnpy_recorder *r = recorder;
    if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        hnpy_step *steps = realloc(r->steps, cap * sizeof *steps);
        if (!steps) {
            r->has_failed = true;
            return;
        }
        r->steps = steps;
        r->cap = cap;
    }
    hnpy_step *s = &r->steps[r->n];
    *s = (hnpy_step){.name = step->name,
                     .domain = step->domain,
                     .op = step->op,
                     .provider = step->provider,
                     .kernel = step->kernel,
                     .macs = step->macs,
                     .node = step->node,
                     .start_ns = step->start_ns,
                     .end_ns = step->end_ns,
                     .inputs_at = r->texts.n};
    put_types(r, step->inputs, step->n_inputs);
    s->outputs_at = r->texts.n;
    put_types(r, step->outputs, step->n_outputs);
    s->origins_at = r->texts.n;
    put_origins(r, step);
    s->end_at = r->texts.n;
    count_bytes(s, step);
    r->n++;
}

static PyObject *step_tuple(const hnpy_recorder *r, const hnpy_step *s) {
    const char *texts = r->texts.at;
    return Py_BuildValue(
        "(NNNNIKKKKKNNNNK)", hnpy_text(s->name), hnpy_text(s->domain), hnpy_text(s->op),
        hnpy_text(s->provider), (unsigned)s->node, (unsigned long long)s->start_ns,
        (unsigned long long)s->end_ns, (unsigned long long)s->activation_bytes,
        (unsigned long long)s->parameter_bytes, (unsigned long long)s->output_bytes,
        hnpy_text_n(texts + s->inputs_at, s->outputs_at - s->inputs_at),
        hnpy_text_n(texts + s->outputs_at, s->origins_at - s->outputs_at),
        hnpy_text_n(texts + s->origins_at, s->end_at - s->origins_at), hnpy_text(s->kernel),
        (unsigned long long)s->macs);
}

int hnpy_recorder_move(hnpy_recorder *recorder, PyObject *list) {
    if (recorder->has_failed || recorder->texts.has_failed) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < recorder->n; i++) {
        PyObject *tuple = step_tuple(recorder, &recorder->steps[i]);
        int failed = tuple ? PyList_Append(list, tuple) : -1;
        Py_XDECREF(tuple);
        if (failed)
            return -1;
    }
    return 0;
}

void hnpy_recorder_free(hnpy_recorder *recorder) {
    free(recorder->steps);
    free(recorder->texts.at);
    *recorder = (hnpy_recorder){0};
}
