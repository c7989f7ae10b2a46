/* Optimization with allocation failures: the failure is reported, and nothing leaks. */
#ifndef TEST_PASS_MEMORY_H
#define TEST_PASS_MEMORY_H

#include "counting_allocator.h"
#include "pass_case.h"

static inline hone_status optimize_text(const char *text, const hn_optimize_options *o,
                                        const hone_allocator *a, uint32_t *n_nodes) {
    hone_error err = {0};
    hn_model *m = NULL;
    HN_TRY(hn_model_parse(text, strlen(text), a, &m, NULL));
    hn_opt_log *log = hn_opt_log_new(a);
    hone_status status = log ? optimize_case(m, o, log, &err) : HONE_E_NOMEM;
    if (status == HONE_OK)
        *n_nodes = hn_block_at(m->graph, 0)->nodes.n;
    hn_opt_log_free(log);
    hn_model_free(m);
    return status;
}

/* Fails every allocation once. Without failures `least` to `most` nodes remain, which shows that
 * the passes rewrote something. */
static inline void expect_every_failure_told(const char *text, const hn_optimize_options *o,
                                             uint32_t least, uint32_t most) {
    counting_allocator c;
    uint32_t n_nodes = 0, n_fewest;
    counting_init(&c, 0);
    assert_int_equal(optimize_text(text, o, &c.hook, &n_fewest), HONE_OK);
    assert_true(counting_is_clean(&c));
    assert_in_range(n_fewest, least, most);
    size_t n_requests = c.n_requests;
    for (size_t fail_at = 1; fail_at <= n_requests; fail_at++) {
        counting_init(&c, fail_at);
        hone_status status = optimize_text(text, o, &c.hook, &n_nodes);
        /* heaps retry a failed request */
        bool is_spared = status == HONE_OK && n_nodes == n_fewest;
        if (status != HONE_E_NOMEM && !is_spared)
            fail_msg("allocation %zu failed, but the status is %d", fail_at, status);
        assert_true(counting_is_clean(&c));
    }
}

#endif
