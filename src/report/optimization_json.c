/* The report of an optimization as JSON. */
#include "report/report.h"

static void opt_json_text(hn_json *j, const char *key, const char *text) {
    hn_json_key(j, key);
    hn_json_str(j, text);
}

static void opt_json_i64(hn_json *j, const char *key, int64_t n) {
    hn_json_key(j, key);
    hn_json_i64(j, n);
}

static void opt_json_location(hn_json *j, const char *pass, const char *rule, const char *node) {
    opt_json_text(j, "pass", pass);
    opt_json_text(j, "rule", rule);
    opt_json_text(j, "node", node);
}

static void opt_json_passes(const hn_opt_log *log, hn_json *j) {
    hn_json_key(j, "passes");
    hn_json_array(j);
    for (uint32_t i = 0; i < log->stats.n; i++) {
        const hn_pass_stat *s = &log->stats.at[i];
        hn_json_object(j);
        opt_json_text(j, "pass", s->pass->name);
        opt_json_i64(j, "runs", s->n_runs);
        opt_json_i64(j, "rewrites", s->n_rewrites);
        opt_json_i64(j, "nodes_saved", s->nodes_saved);
        opt_json_i64(j, "weight_bytes_saved", s->weight_bytes_saved);
        opt_json_i64(j, "macs_saved", s->macs_saved);
        hn_json_key(j, "seconds");
        hn_json_f64(j, s->seconds);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

static void opt_json_rewrites(const hn_opt_log *log, hn_json *j) {
    hn_json_key(j, "rewrites");
    hn_json_array(j);
    for (uint32_t i = 0; i < log->rewrites.n; i++) {
        const hn_rewrite *w = &log->rewrites.at[i];
        hn_json_object(j);
        opt_json_location(j, w->pass->name, w->rule, w->node);
        opt_json_text(j, "detail", w->detail);
        opt_json_i64(j, "nodes_removed", w->n_nodes_removed);
        opt_json_i64(j, "nodes_added", w->n_nodes_added);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

static void opt_json_misses(const hn_opt_log *log, hn_json *j) {
    hn_json_key(j, "near_misses");
    hn_json_array(j);
    for (uint32_t i = 0; i < log->misses.n; i++) {
        const hn_near_miss *m = &log->misses.at[i];
        hn_json_object(j);
        opt_json_location(j, m->pass->name, m->rule, m->node);
        opt_json_text(j, "reason", m->reason);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

static void opt_json_verification(const hn_proof *proof, bool is_verified, hn_json *j) {
    hn_json_key(j, "switched_off");
    hn_json_array(j);
    for (uint32_t i = 0; i < proof->guilty.n; i++) {
        const hn_guilty *g = &proof->guilty.at[i];
        hn_json_object(j);
        opt_json_location(j, g->pass, g->rule, g->node);
        opt_json_text(j, "reason", g->reason);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
    hn_json_key(j, "verification");
    if (!is_verified) {
        hn_json_null(j);
        return;
    }
    hn_json_object(j);
    opt_json_i64(j, "runs", proof->n_runs);
    hn_json_key(j, "max_difference");
    hn_json_f64(j, proof->remaining.max_abs);
    hn_json_key(j, "max_relative");
    hn_json_f64(j, proof->remaining.max_relative);
    opt_json_text(j, "made_up_inputs", proof->shapes ? proof->shapes : "");
    hn_json_object_end(j);
}

void hn_optimization_json(const hn_opt_log *log, const hn_proof *proof, bool is_verified,
                          const char *label, hn_json *j) {
    hn_json_object(j);
    opt_json_text(j, "model", label);
    opt_json_i64(j, "opset_before", log->opset_before);
    opt_json_i64(j, "opset_after", log->opset_after);
    hn_json_key(j, "stopped");
    hn_json_bool(j, log->is_stopped);
    opt_json_passes(log, j);
    opt_json_rewrites(log, j);
    opt_json_misses(log, j);
    opt_json_verification(proof, is_verified, j);
    hn_json_object_end(j);
}
