/* Models given as text, quantized by the writers that need no samples. */
#ifndef TEST_QUANT_CASE_H
#define TEST_QUANT_CASE_H

#include <stdio.h>
#include <stdlib.h>

#include "model_text.h"
#include "ops/ops.h"
#include "prove/prove.h"
#include "quant/error.h"
#include "quant/writers.h"

#define QUANT_HEAD(opset) \
  "<ir_version: 10, opset_import: [\"\" : " #opset ", \"com.microsoft\" : 1]>\n"

/* "{0.1, -0.2, ...}": n numbers that look random, largest 0.5. */
static inline const char *numbers_text(char *buf, size_t size, unsigned n, unsigned seed) {
    size_t used = 0;
    for (unsigned i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        used += (size_t)snprintf(buf + used, size - used, "%s%.4f", i ? ", " : "{",
                                 (double)(int)(seed >> 16 & 1023) / 1024 - 0.5);
    }
    snprintf(buf + used, size - used, "}");
    return buf;
}

/* `text` with every "$n" (a count) replaced by so many numbers. */
static inline char *with_numbers(const char *text) {
    static char out[1 << 18], numbers[1 << 17];
    size_t used = 0;
    unsigned seed = 1;
    for (const char *at = text; *at;) {
        if (*at == '$') {
            unsigned n = (unsigned)strtoul(at + 1, (char **)(uintptr_t)&at, 10);
            used += (size_t)snprintf(out + used, sizeof out - used, "%s",
                                     numbers_text(numbers, sizeof numbers, n, seed++));
        } else {
            out[used++] = *at++;
        }
    }
    out[used] = 0;
    return out;
}

static inline hn_write_options options_with(hn_dtype type, bool is_symmetric, int64_t block) {
    hn_write_options o;
    hn_write_options_init(&o);
    o.weight = (hn_quant_type){.dtype = type, .is_symmetric = is_symmetric};
    o.block = block;
    return o;
}

static inline hn_model *quantized_from(const char *text, bool is_dynamic,
                                       const hn_write_options *o) {
    hone_error err = {0};
    hn_model *m = model_from(with_numbers(text));
    if ((is_dynamic ? hn_quant_dynamic : hn_quant_weight_only)(m, o, &err) != HONE_OK)
        fail_msg("%s\nin\n%s", err.message, text);
    expect_sound(m);
    hn_problems p = {.arena = hn_arena_new(NULL)};
    assert_int_equal(hn_check_model(m, &p, &err), HONE_OK);
    if (p.list.n > 0)
        fail_msg("%s\nin\n%s", p.list.at[0].message, text);
    hn_arena_free(p.arena);
    return m;
}

/* Results differ from those of the float model by no more than this part of the largest. */
static inline void expect_near_floats(const char *text, const hn_model *after, double bound) {
    hn_model *before = model_from(with_numbers(text));
    hone_error err = {0};
    hn_samples *s = NULL, *t = NULL;
    hn_difference d;
    if (hn_samples_make(before, 1, &s, &err) != HONE_OK ||
        hn_samples_make(before, 1, &t, &err) != HONE_OK ||
        hn_samples_run(s, before, &err) != HONE_OK || hn_samples_run(t, after, &err) != HONE_OK)
        fail_msg("%s\nin\n%s", err.message, text);
    hn_samples_compare(s->n_outputs, s->outputs, t->outputs, &d);
    if (d.is_other_type || d.max_relative > bound)
        fail_msg("output %u differs by %g in\n%s", d.output, d.max_relative, text);
    hn_samples_free(s);
    hn_samples_free(t);
    hn_model_free(before);
}

static inline void expect_quantized(const char *text, bool is_dynamic, const hn_write_options *o,
                                    const char *ops, double bound) {
    hn_model *m = quantized_from(text, is_dynamic, o);
    expect_ops(m->graph, 0, ops);
    expect_near_floats(text, m, bound);
    hn_model_free(m);
}

/* The last note of a node. */
typedef struct quant_notes {
    char reason[128];
    uint32_t n, n_quantized;
    uint64_t float_bytes, quantized_bytes;
    double least_sqnr;
} quant_notes;

static inline hone_status take_note(void *ctx, const hn_quant_note *note) {
    quant_notes *t = ctx;
    t->n++;
    t->n_quantized += note->is_quantized;
    t->float_bytes += note->float_bytes;
    t->quantized_bytes += note->quantized_bytes;
    snprintf(t->reason, sizeof t->reason, "%s", note->reason);
    if (note->is_quantized && note->weight_sqnr < t->least_sqnr)
        t->least_sqnr = note->weight_sqnr;
    return HONE_OK;
}

static inline quant_notes notes_of(const char *text, bool is_dynamic, hn_write_options o) {
    quant_notes notes = {.least_sqnr = 1000};
    o.tell = take_note;
    o.ctx = &notes;
    hn_model_free(quantized_from(text, is_dynamic, &o));
    return notes;
}

#endif /* TEST_QUANT_CASE_H */
