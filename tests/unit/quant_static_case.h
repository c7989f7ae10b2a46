/* Models given as text, quantized with samples that are drawn at random. */
#ifndef TEST_QUANT_STATIC_CASE_H
#define TEST_QUANT_STATIC_CASE_H

#include "quant/quant.h"
#include "quant_case.h"

/* Samples drawn with seeds 1, 2, ...; `change` may edit each. */
typedef struct random_source {
    const hn_model *m;
    hn_samples *now;
    const char *names[8];
    uint32_t n_left_out; /* inputs at the end that samples lack */
    void (*change)(hn_samples *s, uint64_t i);
} random_source;

static inline hone_status read_random(void *ctx, uint64_t i, hn_quant_sample *out,
                                      hone_error *err) {
    random_source *r = ctx;
    const hn_block *b = hn_block_at(r->m->graph, 0);
    hn_samples_free(r->now);
    r->now = NULL;
    HN_TRY(hn_samples_make(r->m, i + 1, &r->now, err));
    if (r->change)
        r->change(r->now, i);
    for (uint32_t k = 0; k < b->inputs.n; k++)
        r->names[k] = hn_s(hn_value_at(r->m->graph, b->inputs.at[k])->name);
    *out = (hn_quant_sample){.name = "drawn",
                             .n = r->now->n_inputs - r->n_left_out,
                             .inputs = r->names,
                             .values = (const hn_object *const *)r->now->inputs};
    return HONE_OK;
}

typedef struct static_case {
    hn_model *before, *after;
    hn_quant_report *report;
    hone_status status;
    hone_error error;
} static_case;

static inline hone_quantize_options static_options(void) {
    hone_quantize_options o;
    hone_quantize_options_init(&o);
    o.n_threads = 1;
    return o;
}

static inline static_case quantize_changed(const char *text, const hone_quantize_options *o,
                                           uint64_t n_samples,
                                           void (*change)(hn_samples *s, uint64_t i)) {
    static_case c = {.before = model_from(with_numbers(text)), .report = hn_quant_report_new(NULL)};
    random_source random = {.m = c.before, .change = change};
    hn_quant_source source = {.ctx = &random, .n_samples = n_samples, .read = read_random};
    c.status = hn_quantize(c.before, o, n_samples ? &source : NULL, c.report, &c.after, &c.error);
    hn_samples_free(random.now);
    return c;
}

static inline void static_case_free(static_case *c) {
    hn_model_free(c->after);
    hn_model_free(c->before);
    hn_quant_report_free(c->report);
}

static inline void expect_valid(hn_model *m) {
    hn_problems p = {.arena = hn_arena_new(NULL)};
    hone_error err = {0};
    assert_int_equal(hn_check_model(m, &p, &err), HONE_OK);
    if (p.list.n > 0)
        fail_msg("%s", p.list.at[0].message);
    hn_arena_free(p.arena);
}

/* The operators of the result, which is valid and computes nearly the same. */
static inline void expect_static(const char *text, const hone_quantize_options *o, const char *ops,
                                 double bound) {
    static_case c = quantize_changed(text, o, 8, NULL);
    if (c.status != HONE_OK)
        fail_msg("%s\nin\n%s", c.error.message, text);
    expect_ops(c.after->graph, 0, ops);
    expect_valid(c.after);
    expect_near_floats(text, c.after, bound);
    static_case_free(&c);
}

static inline void expect_refused(static_case c, hone_status status, const char *phrase) {
    assert_int_equal(c.status, status);
    assert_null(c.after);
    if (!strstr(c.error.message, phrase))
        fail_msg("no '%s' in: %s", phrase, c.error.message);
    static_case_free(&c);
}

#endif /* TEST_QUANT_STATIC_CASE_H */
