/* Memory that a run does not get: the message names who wanted it, and how much. */
#include "run/run_int.h"

uint64_t hn_run_limit(const hn_state *s) {
    return s->limit_bytes ? s->limit_bytes : hn_machine_bytes();
}

/* The caller's limit is one thing, a machine that is too small another. */
static hone_status code_of(const hn_state *s) {
    return s->limit_bytes ? HONE_E_LIMIT : HONE_E_NOMEM;
}

static const char *limit_text(const hn_state *s) {
    return s->limit_bytes ? "the limit is" : "this machine has";
}

hone_status hn_run_refuse_plan(const hn_state *s, const hn_plan *plan, hone_error *err) {
    const hn_live_range *most = NULL;
    const hn_graph *g = hn_state_graph(s);
    char text[400] = "";
    for (uint32_t i = 0; i < plan->n_ranges; i++)
        if (!most || plan->ranges[i].bytes > most->bytes)
            most = &plan->ranges[i];
    const hn_value *largest = most ? hn_value_at(g, most->value) : NULL;
    if (largest && largest->producer != HN_NONE)
        hn_node_text(g, largest->producer, text, sizeof text);
    if (plan->block_bytes <= hn_run_limit(s))
        return hn_fail(err, HONE_E_NOMEM,
                       "out of memory: the system refused %llu bytes for intermediate values%s%s",
                       (unsigned long long)plan->block_bytes,
                       *text ? "; the largest is made by " : "", text);
    return hn_fail(err, code_of(s),
                   "the run needs %llu bytes for intermediate values at its peak, but %s %llu%s%s",
                   (unsigned long long)plan->block_bytes, limit_text(s),
                   (unsigned long long)hn_run_limit(s), *text ? "; the largest is made by " : "",
                   text);
}

hone_status hn_run_refuse_memory(const hn_state *s, hone_error *err) {
    const hn_budget *b = &s->budget;
    unsigned long long bytes = b->refused, planned = s->plan ? s->plan->block_bytes : 0;
    if (!b->refused) /* the size of a value or of scratch overflows */
        return hn_fail(err, code_of(s), "needs more memory than there can be");
    if (!b->is_over)
        return hn_fail(err, HONE_E_NOMEM, "out of memory: the system refused %llu bytes", bytes);
    return hn_fail(err, code_of(s),
                   "needs %llu bytes for a value or scratch, but %s %llu, of which %llu are in use",
                   bytes, limit_text(s), (unsigned long long)hn_run_limit(s),
                   planned + (unsigned long long)b->used);
}

hone_status hn_run_refuse_output(const hn_state *s, uint32_t output, const hn_array *wanted,
                                 hone_error *err) {
    hn_id id = hn_block_at(hn_state_graph(s), 0)->outputs.at[output];
    const hn_value *v = hn_value_at(hn_state_graph(s), id);
    bool is_over = hn_heap_hit_limit(s->call.heaps[output]);
    uint64_t bytes, n = 1;
    bool has_size = true;
    for (int32_t i = 0; i < wanted->rank; i++)
        has_size = has_size && hn_mul_u64(n, (uint64_t)wanted->dims[i], &n);
    if (!has_size || !hn_dtype_bytes(wanted->dtype, n, &bytes))
        bytes = UINT64_MAX;
    hone_status status =
        is_over
            ? hn_fail(err, code_of(s), "output '%s' needs %llu bytes, but %s %llu", hn_s(v->name),
                      (unsigned long long)bytes, limit_text(s), (unsigned long long)hn_run_limit(s))
            : hn_fail(err, HONE_E_NOMEM,
                      "out of memory: the system refused %llu bytes for output '%s'",
                      (unsigned long long)bytes, hn_s(v->name));
    if (v->producer != HN_NONE)
        hn_error_at_node(err, hn_state_graph(s), v->producer);
    return status;
}
