/* Models from text and back, for tests of edits. */
#ifndef TEST_MODEL_TEXT_H
#define TEST_MODEL_TEXT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "counting_allocator.h"
#include "ir/ir.h"

#define TEXT_HEAD "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n"

static inline hn_model *model_from(const char *text) {
    hn_model *m = NULL;
    hone_error err = {0};
    if (hn_model_parse(text, strlen(text), NULL, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return m;
}

static inline hn_id value_named(const hn_graph *g, const char *name) {
    hn_str s = hn_intern_find(g->model->names, name, strlen(name));
    hn_id id = hn_graph_find_local(g, 0, s);
    assert_int_not_equal(id, HN_NONE);
    return id;
}

static inline hn_id producer_of(const hn_graph *g, const char *name) {
    return hn_value_at(g, value_named(g, name))->producer;
}

/* No problem at all; in particular the use lists are exact. */
static inline void expect_sound(const hn_model *m) {
    hn_problems p = {.arena = hn_arena_new(NULL)};
    hn_model_verify(m, &p);
    if (p.list.n > 0)
        fail_msg("%s", p.list.at[0].message);
    assert_false(p.failed);
    hn_arena_free(p.arena);
}

/* The operators of a block in order: "Relu Add ". */
static inline void expect_ops(const hn_graph *g, hn_id block, const char *expected) {
    char text[512] = "";
    const hn_block *b = hn_block_at(g, block);
    for (uint32_t i = 0; i < b->nodes.n; i++) {
        strncat(text, hn_s(hn_node_at(g, b->nodes.at[i])->op), sizeof(text) - strlen(text) - 2);
        strcat(text, " ");
    }
    assert_string_equal(text, expected);
}

/* The complete text form. */
static inline void print_into(const hn_model *m, hn_strbuf *out) {
    hn_print_options all = {.max_elems = UINT64_MAX};
    hn_strbuf_init(out, NULL);
    hn_model_print(m, &all, out);
    assert_false(out->failed);
}

static inline void expect_same_text(const hn_model *a, const hn_model *b) {
    hn_strbuf ta, tb;
    print_into(a, &ta);
    print_into(b, &tb);
    assert_string_equal(ta.at, tb.at);
    hn_strbuf_free(&ta);
    hn_strbuf_free(&tb);
}

#endif
