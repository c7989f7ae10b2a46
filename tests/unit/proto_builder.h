/* Writes protobuf messages byte by byte, valid or invalid, independent of the code under test. */
#ifndef TEST_PROTO_BUILDER_H
#define TEST_PROTO_BUILDER_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct proto {
    uint8_t at[8192];
    size_t n;
} proto;

static inline void put_raw(proto *p, const void *data, size_t n) {
    if (n > sizeof(p->at) - p->n)
        abort();
    if (n)
        memcpy(p->at + p->n, data, n);
    p->n += n;
}

static inline void put_varint(proto *p, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        put_raw(p, &(uint8_t){(uint8_t)(v | 0x80)}, 1);
    put_raw(p, &(uint8_t){(uint8_t)v}, 1);
}

static inline void put_int(proto *p, uint32_t field, int64_t v) {
    put_varint(p, field << 3);
    put_varint(p, (uint64_t)v);
}

static inline void put_bytes(proto *p, uint32_t field, const void *data, size_t n) {
    put_varint(p, field << 3 | 2);
    put_varint(p, n);
    put_raw(p, data, n);
}

static inline void put_text(proto *p, uint32_t field, const char *text) {
    put_bytes(p, field, text, strlen(text));
}

static inline void put_message(proto *p, uint32_t field, const proto *message) {
    put_bytes(p, field, message->at, message->n);
}

static inline void put_float(proto *p, uint32_t field, float v) {
    put_varint(p, field << 3 | 5);
    put_raw(p, &v, sizeof(v));
}

static inline void put_double(proto *p, uint32_t field, double v) {
    put_varint(p, field << 3 | 1);
    put_raw(p, &v, sizeof(v));
}

/* ModelProto around a GraphProto: IR version 8, opset 17. */
static inline proto proto_model(const proto *graph) {
    proto model = {.n = 0}, opset = {.n = 0};
    put_int(&model, 1, 8);
    put_message(&model, 7, graph);
    put_text(&opset, 1, "");
    put_int(&opset, 2, 17);
    put_message(&model, 8, &opset);
    return model;
}

/* Adds to a GraphProto; NULL ends the inputs. */
static inline void put_node(proto *graph, const char *op, const char *const *inputs,
                            const char *output) {
    proto node = {.n = 0};
    for (; *inputs; inputs++)
        put_text(&node, 1, *inputs);
    put_text(&node, 2, output);
    put_text(&node, 4, op);
    put_message(graph, 1, &node);
}

/* An input (11), output (12) or value_info (13) of a GraphProto: float[2,"n"]. */
static inline void put_value(proto *graph, uint32_t field, const char *name) {
    proto dim2 = {.n = 0}, dim_n = {.n = 0}, shape = {.n = 0}, tensor = {.n = 0}, type = {.n = 0},
          value = {.n = 0};
    put_int(&dim2, 1, 2);
    put_text(&dim_n, 2, "n");
    put_message(&shape, 1, &dim2);
    put_message(&shape, 1, &dim_n);
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

/* An initializer of a GraphProto: n floats 0, 1, 2, ... in raw_data. */
static inline void put_weight(proto *graph, const char *name, int n) {
    proto tensor = {.n = 0};
    float data[512];
    for (int i = 0; i < n && i < 512; i++)
        data[i] = (float)i;
    put_int(&tensor, 1, n);
    put_int(&tensor, 2, 1);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, 9, data, (size_t)n * sizeof(float));
    put_message(graph, 5, &tensor);
}

/* y = Add(x, w), with w an initializer of n floats. */
static inline proto proto_small_model(int n) {
    proto graph = {.n = 0};
    put_node(&graph, "Add", (const char *const[]){"x", "w", NULL}, "y");
    put_text(&graph, 2, "g");
    put_weight(&graph, "w", n);
    put_value(&graph, 11, "x");
    put_value(&graph, 12, "y");
    return proto_model(&graph);
}

#endif
