/* A profile as one JSON object, for programs and for the page. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

static void add_text(cli_buffer *out, const char *key, const char *text) {
    cli_json_member(out, key, text);
    cli_buffer_printf(out, ", ");
}

static void write_phases(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"phases\": [");
    for (uint32_t i = 0; i < p->n_phases; i++) {
        const profile_phase *f = &p->phases[i];
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        add_text(out, "name", f->name);
        cli_buffer_printf(out, "\"ts_us\": %.3f, \"us\": %.3f, \"is_counted\": %s}", f->ts_us,
                          f->us, f->is_run && !f->is_first ? "true" : "false");
    }
    cli_buffer_printf(out, "\n  ]");
}

static void write_peaks(const profile *p, cli_buffer *out) {
    const profile_peaks *k = &p->peaks;
    cli_buffer_printf(out, ",\n  \"peaks\": {");
    add_text(out, "cpu", k->cpu);
    cli_buffer_printf(out,
                      "\"threads\": %d, \"flops\": %.6g, \"int8_ops\": %.6g, "
                      "\"read_bytes_per_second\": %.6g, \"cache_bytes_per_second\": %.6g}",
                      k->n_threads, k->flops, k->int8_ops, k->read_bytes, k->cache_bytes);
}

static void write_rates(const profile *p, const profile_row *r, cli_buffer *out) {
    double n = p->n_runs, above = r->us - r->floor_us;
    cli_buffer_printf(out, "\"us\": %.3f, \"mean_us\": %.3f, \"share\": %.6g, ", r->us / n,
                      r->count ? r->us / (double)r->count : 0, p->us > 0 ? r->us / p->us : 0);
    cli_buffer_printf(out, "\"macs\": %.0f, \"bytes\": %.0f, \"floor_us\": %.3f, ",
                      (double)r->macs / n, (double)r->bytes / n, r->floor_us / n);
    cli_buffer_printf(out, "\"above_floor_us\": %.3f, \"gflops\": %.4g, \"gbytes\": %.4g",
                      above > 0 ? above / n : 0, r->us > 0 ? 2e-3 * (double)r->macs / r->us : 0,
                      r->us > 0 ? 1e-3 * (double)r->bytes / r->us : 0);
}

static const char *bound_of(const profile *p, const profile_node *n) {
    return profile_floor_us(p, n) <= 0 ? "" : profile_is_memory_bound(p, n) ? "memory" : "compute";
}

static void write_groups(const profile *p, const char *key,
                         const char *(*name_of)(const profile_node *n), cli_buffer *out) {
    uint32_t n_rows;
    profile_row *rows = profile_rows(p, name_of, &n_rows);
    cli_buffer_printf(out, ",\n  \"%s\": [", key);
    for (uint32_t i = 0; rows && i < n_rows; i++) {
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        add_text(out, "name", rows[i].name);
        cli_buffer_printf(out, "\"nodes\": %.4g, ", (double)rows[i].count / p->n_runs);
        profile_node whole = {.macs = rows[i].macs,
                              .output_bytes = rows[i].bytes,
                              .is_integer = rows[i].is_integer,
                              .kernel = ""};
        add_text(out, "bound", bound_of(p, &whole));
        write_rates(p, &rows[i], out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ]");
    out->failed |= !rows;
    free(rows);
}

static void write_node_json(const profile *p, const profile_node *n, cli_buffer *out) {
    profile_row row = {.count = n->count,
                       .us = n->us,
                       .macs = n->macs * n->count,
                       .bytes = profile_node_bytes(n) * n->count,
                       .floor_us = profile_floor_us(p, n) * (double)n->count};
    add_text(out, "name", n->name);
    add_text(out, "op", n->op);
    add_text(out, "kernel", n->kernel);
    cli_buffer_printf(out, "\"nodes\": [");
    for (uint32_t i = 0; i < n->n_parts; i++) {
        cli_buffer_printf(out, i ? ", " : "");
        cli_json_string(out, n->parts[i], strlen(n->parts[i]));
    }
    cli_buffer_printf(
        out, "], \"count\": %llu, \"least_us\": %.3f, \"median_us\": %.3f, \"inputs\": %s, ",
        (unsigned long long)n->count, n->least_us, n->median_us, n->inputs);
    cli_buffer_printf(out, "\"outputs\": %s, ", n->outputs);
    add_text(out, "bound", bound_of(p, n));
    if (n->is_integer)
        cli_buffer_printf(out, "\"is_integer\": true, ");
    if (n->is_inner)
        cli_buffer_printf(out, "\"is_inner\": true, ");
    if (p->n_threads > 1)
        cli_buffer_printf(out, "\"worker_us\": %.3f, ", n->worker_us / p->n_runs);
    write_rates(p, &row, out);
}

static void write_nodes_json(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"by_node\": [");
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        write_node_json(p, &p->nodes[i], out);
        cli_buffer_printf(out, "}");
    }
    cli_buffer_printf(out, "\n  ]");
}

/* The last run as it went: [entry of by_node, begin, duration, times of workers]. */
static void write_timeline(const profile *p, cli_buffer *out) {
    uint32_t last = p->n_events ? p->events[p->n_events - 1].run : 0;
    bool is_first = true;
    double zero_us = 0;
    cli_buffer_printf(out, ",\n  \"timeline\": [");
    for (uint32_t i = 0; i < p->n_events; i++) {
        const profile_event *e = &p->events[i];
        if (e->run != last || p->nodes[e->node].is_inner)
            continue;
        zero_us = is_first ? e->ts_us : zero_us;
        cli_buffer_printf(out, "%s[%u, %.3f, %.3f", is_first ? "\n    " : ",\n    ", e->node,
                          e->ts_us - zero_us, e->us);
        for (uint32_t k = 1; e->thread_at != UINT32_MAX && k < p->n_threads; k++)
            cli_buffer_printf(out, ", %.3f", p->thread_us[e->thread_at + k]);
        cli_buffer_printf(out, "]");
        is_first = false;
    }
    cli_buffer_printf(out, "\n  ]");
}

static void write_threads(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"by_thread\": [");
    for (uint32_t i = 0; i < p->n_threads; i++)
        cli_buffer_printf(out, "%s{\"thread\": %u, \"us\": %.3f}", i ? ", " : "", i,
                          p->thread_sums[i] / p->n_runs);
    cli_buffer_printf(out, "]");
}

static void write_memory_plan(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out,
                      ",\n  \"memory\": {\"block_bytes\": %llu, \"weight_bytes\": %llu, "
                      "\"peak_bytes\": %llu, \"peak_step\": %u, \"steps\": [",
                      (unsigned long long)p->block_bytes, (unsigned long long)p->weight_bytes,
                      (unsigned long long)p->peak_bytes, p->peak_step);
    for (uint32_t i = 0; i < p->n_steps; i++) {
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        add_text(out, "node", p->step_names[i]);
        cli_buffer_printf(out, "\"bytes\": %llu}", (unsigned long long)p->step_bytes[i]);
    }
    cli_buffer_printf(out, "],\n    \"values\": [");
    for (uint32_t i = 0; i < p->n_values; i++) {
        const profile_value *v = &p->values[i];
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        add_text(out, "name", v->name);
        cli_buffer_printf(out, "\"bytes\": %llu, \"offset\": %llu, \"first\": %u, \"last\": %u}",
                          (unsigned long long)v->bytes, (unsigned long long)v->offset, v->first,
                          v->last);
    }
    cli_buffer_printf(out, "]}");
}

static void write_findings(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out, ",\n  \"findings\": [");
    for (uint32_t i = 0; i < p->n_findings; i++) {
        const profile_finding *f = &p->findings[i];
        cli_buffer_printf(out, "%s{", i ? ",\n    " : "\n    ");
        add_text(out, "kind", f->kind);
        add_text(out, "title", f->title);
        add_text(out, "evidence", f->evidence);
        add_text(out, "command", f->command);
        cli_buffer_printf(out, "\"us\": %.3f}", f->us);
    }
    cli_buffer_printf(out, "%s]", p->n_findings ? "\n  " : "");
}

void profile_json(const profile *p, cli_buffer *out) {
    cli_buffer_printf(out, "{\n  ");
    add_text(out, "model", p->source);
    add_text(out, "writer", p->writer);
    cli_buffer_printf(out,
                      "\"runs\": %u, \"run_us\": %.3f, \"median_run_us\": %.3f, "
                      "\"nodes_us\": %.3f, \"nodes_share\": %.4f",
                      p->n_runs, p->run_us / p->n_runs, p->median_run_us, p->us / p->n_runs,
                      p->nodes_share);
    write_peaks(p, out);
    write_phases(p, out);
    write_groups(p, "by_operator", profile_op_of, out);
    write_groups(p, "by_kernel", profile_kernel_of, out);
    write_nodes_json(p, out);
    write_threads(p, out);
    write_timeline(p, out);
    write_memory_plan(p, out);
    write_findings(p, out);
    cli_buffer_printf(out, "\n}\n");
}
