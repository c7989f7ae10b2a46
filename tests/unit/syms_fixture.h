/* Fixture for tests of dimensions and types: a table of symbols, and a text buffer. */
#ifndef TEST_SYMS_FIXTURE_H
#define TEST_SYMS_FIXTURE_H

#include "counting_allocator.h"
#include "ir/ir.h"

typedef struct fixture {
    hn_arena *arena;
    hn_strtab *names;
    hn_syms *syms;
    hn_strbuf text;
} fixture;

static inline int setup(void **state) {
    static fixture f;
    f.arena = hn_arena_new(NULL);
    f.names = hn_strtab_new(f.arena);
    f.syms = hn_syms_new(f.arena, f.names);
    hn_strbuf_init(&f.text, NULL);
    *state = &f;
    return f.syms ? 0 : -1;
}

static inline int teardown(void **state) {
    fixture *f = *state;
    hn_strbuf_free(&f->text);
    hn_arena_free(f->arena);
    return 0;
}

#endif
