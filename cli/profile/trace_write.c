/* Writes a profile as a trace for Chrome, Perfetto and scripts: the events and field names of
 * onnxruntime's profiles, and beside them threads and memory. */
#define _POSIX_C_SOURCE 200809L
#include "profile/profile.h"

#include <string.h>
#include <unistd.h>

typedef struct trace_writer {
    const profile *p;
    cli_buffer *out;
    long pid;
    bool has_any;
} trace_writer;

static void begin_trace_event(trace_writer *w, const char *cat, const char *ph, const char *name,
                              uint64_t thread, double ts_us) {
    cli_buffer_printf(w->out, "%s{\"cat\": \"%s\", \"ph\": \"%s\", \"pid\": %ld, \"tid\": %lld, ",
                      w->has_any ? ",\n" : "[\n", cat, ph, w->pid,
                      (long long)w->pid + (long long)thread);
    cli_buffer_printf(w->out, "\"ts\": %.3f, \"name\": ", ts_us > 0 ? ts_us : 0);
    cli_json_string(w->out, name, strlen(name));
    w->has_any = true;
}

static void write_thread_name(trace_writer *w, uint32_t thread) {
    begin_trace_event(w, "__metadata", "M", "thread_name", thread, 0);
    if (thread)
        cli_buffer_printf(w->out, ", \"args\": {\"name\": \"worker %u\"}}", thread);
    else
        cli_buffer_printf(w->out, ", \"args\": {\"name\": \"run\"}}");
}

static void write_phase(trace_writer *w, const profile_phase *phase) {
    begin_trace_event(w, "Session", "X", phase->name, 0, phase->ts_us);
    cli_buffer_printf(w->out, ", \"dur\": %.3f, \"args\": {}}", phase->us);
}

static void write_size(trace_writer *w, const char *key, uint64_t n) {
    cli_buffer_printf(w->out, ", \"%s\": \"%llu\"", key, (unsigned long long)n);
}

/* Numbers as texts, as onnxruntime writes them; behind them what only hone knows. */
static void write_step_args(trace_writer *w, const profile_node *n, const profile_event *e) {
    cli_buffer *out = w->out;
    const char *op = strrchr(n->op, '.');
    cli_buffer_printf(out, ", \"args\": {");
    cli_json_member(out, "op_name", op ? op + 1 : n->op);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "domain", n->domain);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "provider",
                    strcmp(n->provider, "cpu") == 0 ? "CPUExecutionProvider" : n->provider);
    write_size(w, "node_index", n->id);
    write_size(w, "activation_size", n->activation_bytes);
    write_size(w, "parameter_size", n->parameter_bytes);
    write_size(w, "output_size", n->output_bytes);
    cli_buffer_printf(out, ", \"input_type_shape\": %s, \"output_type_shape\": %s", n->inputs,
                      n->outputs);
    if (e->live_bytes + e->dynamic_bytes)
        write_size(w, "mem_bytes_in_use", e->live_bytes + e->dynamic_bytes);
    write_size(w, "macs", n->macs);
    cli_buffer_printf(out, ", ");
    cli_json_member(out, "kernel", n->kernel);
    cli_buffer_printf(out, ", \"nodes\": [");
    for (uint32_t i = 0; i < n->n_parts; i++) {
        cli_buffer_printf(out, i ? ", " : "");
        cli_json_string(out, n->parts[i], strlen(n->parts[i]));
    }
    cli_buffer_printf(out, "]");
    for (uint32_t i = 0; e->thread_at != UINT32_MAX && i < w->p->n_threads; i++)
        cli_buffer_printf(out, "%s%.3f", i ? ", " : ", \"thread_us\": [",
                          w->p->thread_us[e->thread_at + i]);
    cli_buffer_printf(out, e->thread_at != UINT32_MAX ? "]}" : "}");
}

static void write_step(trace_writer *w, const profile_event *e) {
    const profile_node *n = &w->p->nodes[e->node];
    cli_buffer name = {0};
    cli_buffer_printf(&name, "%s_kernel_time", n->name);
    begin_trace_event(w, "Node", "X", name.failed ? "" : (const char *)name.at, 0, e->ts_us);
    cli_buffer_free(&name);
    cli_buffer_printf(w->out, ", \"dur\": %.3f", e->us);
    write_step_args(w, n, e);
    cli_buffer_printf(w->out, "}");
}

/* The threads that helped. */
static void write_workers(trace_writer *w, const profile_event *e) {
    const profile *p = w->p;
    for (uint32_t i = 1; e->thread_at != UINT32_MAX && i < p->n_threads; i++) {
        double us = p->thread_us[e->thread_at + i];
        if (us <= 0)
            continue;
        begin_trace_event(w, "Thread", "X", p->nodes[e->node].name, i, e->ts_us);
        cli_buffer_printf(w->out, ", \"dur\": %.3f, \"args\": {}}", us < e->us ? us : e->us);
    }
}

static void write_memory(trace_writer *w, const profile_event *e) {
    begin_trace_event(w, "Memory", "C", "memory", 0, e->ts_us);
    cli_buffer_printf(w->out, ", \"args\": {\"planned\": %llu, \"dynamic\": %llu}}",
                      (unsigned long long)e->live_bytes, (unsigned long long)e->dynamic_bytes);
}

void trace_write(const profile *p, cli_buffer *out) {
    trace_writer w = {.p = p, .out = out, .pid = (long)getpid()};
    for (uint32_t i = 0; i < p->n_threads || i < 1; i++)
        write_thread_name(&w, i);
    for (uint32_t i = 0; i < p->n_phases; i++)
        write_phase(&w, &p->phases[i]);
    for (uint32_t i = 0; i < p->n_events; i++) {
        const profile_event *e = &p->events[i];
        write_step(&w, e);
        write_workers(&w, e);
        if (e->live_bytes + e->dynamic_bytes)
            write_memory(&w, e);
    }
    cli_buffer_printf(out, "\n]\n");
}
