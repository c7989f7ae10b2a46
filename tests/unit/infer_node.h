/* Models of a single node, for tables of inference tests. */
#ifndef TEST_INFER_NODE_H
#define TEST_INFER_NODE_H

#include "infer_case.h"

#define NODE_HEAD(version)                                                       \
  "<ir_version: 10, opset_import: [\"\" : " #version ", \"com.microsoft\" : 1, " \
  "\"ai.onnx.preview\" : 1, \"ai.onnx.preview.training\" : 1]>\n"

/* The node's first output must be y; `inits` are initializers. */
#define NODES(version, inputs, nodes) NODE_HEAD(version) "g (" inputs ") => (y) { " nodes " }"
#define NODE(version, inputs, node) NODES(version, inputs, "y = " node)
#define NODE_WITH(version, inputs, inits, node) \
  NODE_HEAD(version) "g (" inputs ") => (y) <" inits "> { y = " node " }"

#endif /* TEST_INFER_NODE_H */
