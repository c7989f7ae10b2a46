/* Models for tests that use only the public API, hone.h. */
#ifndef TEST_API_MODEL_H
#define TEST_API_MODEL_H

#ifndef _GNU_SOURCE
#  define _GNU_SOURCE 1 /* mkdtemp */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hone/hone.h"

/* ---- a scratch folder ------------------------------------------------------------------------ */

static char scratch_folder[256];

static inline int enter_scratch(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(scratch_folder, sizeof(scratch_folder), "%s/hone-test-api-XXXXXX",
             temporary ? temporary : P_tmpdir);
    return mkdtemp(scratch_folder) ? 0 : -1;
}

static inline int leave_scratch(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", scratch_folder);
    return system(command);
}

/* The path of a file in the folder; valid until the function is called twice more. */
static inline const char *scratch_path(const char *name) {
    static char paths[3][400];
    static unsigned next;
    char *path = paths[next++ % 3];
    snprintf(path, sizeof(paths[0]), "%s/%s", scratch_folder, name);
    return path;
}

static inline bool scratch_has(const char *name) {
    return access(scratch_path(name), F_OK) == 0;
}

/* ---- models ---------------------------------------------------------------------------------- */

#define DIGITS "examples/digits/digits.onnx"

/* Subgraphs, a function with an attribute, an initializer, metadata. */
#define BRANCHES                                                                                 \
  "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1], producer_name: \"tests\","            \
  " doc_string: \"about\", metadata_props: [\"author\": \"me\", \"empty\": \"\"]>\n"             \
  "main (float[batch,3] x, bool flag, int64 trips)"                                              \
  " => (float[batch,3] y, float[n,batch,3] last) <float[3] w = {1, 2, 3}> {\n"                   \
  "  [pick] c = If (flag) <\n"                                                                   \
  "    then_branch = yes () => (float[batch,3] t) { t = Add (x, w) },\n"                         \
  "    else_branch = no () => (float[batch,3] e) { e = my.twice <gain = 2.5> (x) }>\n"           \
  "  [again] y, scanned = Loop (trips, flag, c) <body = step (int64 i, bool go, float[batch,3] " \
  "carried) => (bool keep, float[batch,3] next, float[batch,3] seen) {\n"                        \
  "      keep = Identity (go)\n"                                                                 \
  "      next = Relu (carried)\n"                                                                \
  "      seen = Neg (next)\n"                                                                    \
  "  }>\n"                                                                                       \
  "  [end] last = Identity (scanned)\n"                                                          \
  "}\n"                                                                                          \
  "<domain: \"my\", opset_import: [\"\" : 21], doc_string: \"doubles\">\n"                       \
  "twice <gain: float = 2> (a) => (b) {\n"                                                       \
  "  g = Constant <value_float: float = @gain> ()\n"                                             \
  "  b = Mul (a, g)\n"                                                                           \
  "}\n"

static inline hone_status load_text(const char *text, const hone_load_options *options,
                                    hone_model **model, hone_error *error) {
    const char *path = scratch_path("model.onnxtxt");
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return hone_model_load(path, options, model, error);
}

static inline hone_model *model_from(const char *text) {
    hone_model *model;
    hone_error error;
    if (load_text(text, NULL, &model, &error) != HONE_OK)
        fail_msg("%s", error.message);
    return model;
}

static inline hone_model *model_at(const char *path) {
    hone_model *model;
    hone_error error;
    if (hone_model_load(path, NULL, &model, &error) != HONE_OK)
        fail_msg("%s", error.message);
    return model;
}

/* A call that must succeed; prints its error otherwise. */
#define expect_ok(call)                         \
  do {                                          \
    hone_error error;                           \
    if ((call) != HONE_OK)                      \
      fail_msg("%s: %s", #call, error.message); \
  } while (0)

/* A call that must fail with this code and with this phrase in its message. */
#define expect_failure(call, wanted, phrase)                        \
  do {                                                              \
    hone_error error;                                               \
    assert_int_equal(call, wanted);                                 \
    assert_int_equal(error.code, wanted);                           \
    if (!strstr(error.message, phrase))                             \
      fail_msg("%s: no '%s' in: %s", #call, phrase, error.message); \
  } while (0)

/* ---- text that the library writes ------------------------------------------------------------ */

typedef struct text_sink {
    char *at;
    size_t n;
} text_sink;

static inline bool collect_text(void *ctx, const char *text, size_t n_bytes) {
    text_sink *sink = ctx;
    char *grown = realloc(sink->at, sink->n + n_bytes + 1);
    if (!grown)
        return false;
    sink->at = grown;
    memcpy(sink->at + sink->n, text, n_bytes);
    sink->n += n_bytes;
    sink->at[sink->n] = '\0';
    return true;
}

static inline bool refuse_text(void *ctx, const char *text, size_t n_bytes) {
    (void)ctx, (void)text, (void)n_bytes;
    return false;
}

/* The whole model as text; the caller frees it. */
static inline char *printed(const hone_model *model) {
    text_sink sink = {NULL, 0};
    expect_ok(hone_model_print(model, UINT64_MAX, collect_text, &sink, &error));
    return sink.at;
}

static inline void expect_same_model(const hone_model *a, const hone_model *b) {
    char *text_a = printed(a), *text_b = printed(b);
    assert_string_equal(text_a, text_b);
    free(text_a);
    free(text_b);
}

/* ---- shortcuts ------------------------------------------------------------------------------- */

static inline uint32_t value_named(const hone_model *model, const char *name) {
    uint32_t id = hone_graph_find_value(hone_model_graph(model), name);
    if (id == HONE_NONE)
        fail_msg("no value '%s'", name);
    return id;
}

static inline void expect_type(const hone_model *model, const char *name, const char *type) {
    char text[256];
    hone_value_type_text(hone_model_graph(model), value_named(model, name), text, sizeof(text));
    assert_string_equal(text, type);
}

static inline hone_node_info producer_of(const hone_model *model, const char *name) {
    const hone_graph *graph = hone_model_graph(model);
    hone_value_info value;
    hone_node_info node;
    hone_graph_get_value(graph, value_named(model, name), &value);
    hone_graph_get_node(graph, value.producer, &node);
    return node;
}

static inline uint32_t count_problems(hone_model *model) {
    hone_problems *problems;
    expect_ok(hone_model_check(model, &problems, &error));
    uint32_t n =
        hone_problems_count(problems, HONE_ERROR) + hone_problems_count(problems, HONE_WARNING);
    hone_problems_free(problems);
    return n;
}

#endif
