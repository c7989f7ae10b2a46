/* Reads traces: those of hone, and the profiles of onnxruntime. */
#include "profile/profile.h"
#include "values/json_tree.h"

#include <stdlib.h>
#include <string.h>

static const char node_suffix[] = "_kernel_time"; /* onnxruntime has fences beside it */

typedef struct trace_reader {
    const json_tree *tree;
    const char *path;
    profile *p;
    hone_error *error;
    const json_node *event; /* at work */
    uint32_t *slots;        /* hash table of nodes: entry + 1 */
    uint32_t n_slots;
} trace_reader;

/* The byte where a member's name stands; that of the whole event where it has none. */
static bool refuse_event(const trace_reader *r, const json_node *at, const char *what) {
    const json_node *first = json_first(r->tree, r->event);
    const char *text = at && at->key ? at->key : first && first->key ? first->key : NULL;
    size_t byte = text ? (size_t)(text - (const char *)r->tree->text.at) : 0;
    return cli_refuse(r->error, "'%s', byte %zu: %s", r->path, byte, what);
}

static const char *trace_text(const trace_reader *r, const json_node *object, const char *key) {
    const json_node *n = json_member(r->tree, object, key);
    return n && n->kind == JSON_TEXT ? n->text : "";
}

/* A number, or a text that is one: onnxruntime writes sizes so. */
static double trace_number(const trace_reader *r, const json_node *object, const char *key) {
    const json_node *n = json_member(r->tree, object, key);
    double v = !n ? 0 : n->kind == JSON_NUMBER ? n->number : 0;
    if (n && n->kind == JSON_TEXT)
        v = strtod(n->text, NULL);
    return v >= 0 && v < 0x1p63 ? v : 0;
}

static uint64_t trace_size(const trace_reader *r, const json_node *object, const char *key) {
    return (uint64_t)trace_number(r, object, key);
}

static bool take_time(const trace_reader *r, const char *key, double *us) {
    const json_node *n = json_member(r->tree, r->event, key);
    if (!n || n->kind != JSON_NUMBER || !(n->number >= 0 && n->number < 1e18))
        return refuse_event(r, n,
                            strcmp(key, "ts") == 0
                                ? "\"ts\" must be a number of microseconds, 0 or more"
                                : "\"dur\" must be a number of microseconds, 0 or more");
    *us = n->number;
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *shapes_of(trace_reader *r, const json_node *args, const char *key) {
    const json_node *list = json_member(r->tree, args, key);
    cli_buffer text = {0};
    cli_buffer_printf(&text, "[");
    for (const json_node *t = list ? json_first(r->tree, list) : NULL; t;
         t = json_next(r->tree, t)) {
        const json_node *type = json_first(r->tree, t);
        cli_buffer_printf(&text, "%s{", text.n > 1 ? "," : "");
        if (type && type->key) {
            cli_json_string(&text, type->key, strlen(type->key));
            cli_buffer_printf(&text, ":[");
            for (const json_node *d = json_first(r->tree, type); d; d = json_next(r->tree, d))
                cli_buffer_printf(&text, "%s%.0f", d == json_first(r->tree, type) ? "" : ",",
                                  d->number);
            cli_buffer_printf(&text, "]");
        }
        cli_buffer_printf(&text, "}");
    }
    cli_buffer_add(&text, "]", 2);
    const char *kept = text.failed ? "[]" : profile_text(r->p, (const char *)text.at);
    cli_buffer_free(&text);
    return kept;
}

static void take_names(trace_reader *r, profile_node *n, const json_node *args, const char *name) {
    const json_node *list = json_member(r->tree, args, "nodes");
    uint32_t n_parts = list && list->kind == JSON_ARRAY ? list->n : 0, k = 0;
    const char **parts = n_parts ? malloc(n_parts * sizeof *parts) : NULL;
    for (const json_node *part = parts ? json_first(r->tree, list) : NULL; part;
         part = json_next(r->tree, part))
        if (part->kind == JSON_TEXT)
            parts[k++] = part->text;
    profile_name_node(r->p, n, name, parts, k);
    free(parts);
}

static void take_node(trace_reader *r, profile_node *n, const json_node *args, const char *name) {
    const char *op = trace_text(r, args, "op_name"), *domain = trace_text(r, args, "domain");
    const char *provider = trace_text(r, args, "provider");
    bool is_onnx = !*domain || strcmp(domain, "ai.onnx") == 0;
    int64_t dims[CLI_MAX_RANK];
    char type[32] = "";
    take_names(r, n, args, name);
    n->domain = profile_text(r->p, domain);
    n->op = profile_printf(r->p, "%s%s%s", is_onnx ? "" : domain, is_onnx ? "" : ".", op);
    n->provider =
        strcmp(provider, "CPUExecutionProvider") == 0 ? "cpu" : profile_text(r->p, provider);
    n->kernel = profile_text(r->p, trace_text(r, args, "kernel"));
    n->id = (uint32_t)trace_size(r, args, "node_index");
    n->activation_bytes = trace_size(r, args, "activation_size");
    n->parameter_bytes = trace_size(r, args, "parameter_size");
    n->output_bytes = trace_size(r, args, "output_size");
    n->inputs = shapes_of(r, args, "input_type_shape");
    n->outputs = shapes_of(r, args, "output_type_shape");
    n->macs = json_member(r->tree, args, "macs") ? trace_size(r, args, "macs")
                                                 : trace_macs(op, n->inputs, n->outputs);
    trace_dims(n->inputs, 0, dims, type);
    n->is_integer = n->macs && (strcmp(type, "uint8") == 0 || strcmp(type, "int8") == 0);
}

static uint64_t hash_of_node(const char *name, size_t n, uint32_t id) {
    uint64_t h = 1469598103934665603u ^ id;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 1099511628211u;
    return h ^ h >> 32;
}

static bool grow_slots(trace_reader *r) {
    uint32_t n = r->n_slots ? 2 * r->n_slots : 256;
    uint32_t *slots = calloc(n, sizeof *slots);
    for (uint32_t i = 0; slots && i < r->p->n_nodes; i++) {
        const profile_node *node = &r->p->nodes[i];
        uint64_t at = hash_of_node(node->name, strlen(node->name), node->id) & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = i + 1;
    }
    free(r->slots);
    r->slots = slots;
    r->n_slots = slots ? n : 0;
    return slots != NULL;
}

/* UINT32_MAX: no memory. */
static uint32_t find_node(trace_reader *r, const json_node *args, const char *name, size_t n) {
    uint32_t id = (uint32_t)trace_size(r, args, "node_index");
    if (2 * r->p->n_nodes >= r->n_slots && !grow_slots(r))
        return UINT32_MAX;
    uint64_t at = hash_of_node(name, n, id) & (r->n_slots - 1);
    for (; r->slots[at]; at = (at + 1) & (r->n_slots - 1)) {
        const profile_node *known = &r->p->nodes[r->slots[at] - 1];
        if (known->id == id && strlen(known->name) == n && memcmp(known->name, name, n) == 0)
            return r->slots[at] - 1;
    }
    profile_node *added = profile_add_node(r->p);
    if (!added)
        return UINT32_MAX;
    const char *copy = profile_printf(r->p, "%.*s", (int)n, name);
    take_node(r, added, args, copy);
    r->slots[at] = r->p->n_nodes;
    return r->p->n_nodes - 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void take_thread_times(trace_reader *r, const json_node *args, profile_event *e) {
    profile *p = r->p;
    const json_node *list = json_member(r->tree, args, "thread_us");
    if (!list || list->n < 2 || (p->n_threads && p->n_threads != list->n))
        return;
    p->n_threads = list->n;
    uint32_t at = p->n_thread_us;
    for (const json_node *t = json_first(r->tree, list); t; t = json_next(r->tree, t)) {
        p->thread_us =
            profile_grow(p, p->thread_us, &p->n_thread_us, &p->cap_thread_us, sizeof *p->thread_us);
        if (p->failed)
            return;
        p->thread_us[p->n_thread_us - 1] = t->kind == JSON_NUMBER && t->number > 0 ? t->number : 0;
    }
    e->thread_at = at;
}

static bool take_trace_step(trace_reader *r, const char *name, size_t n, double ts_us, double us) {
    const json_node *args = json_member(r->tree, r->event, "args");
    if (!args || args->kind != JSON_OBJECT || !*trace_text(r, args, "op_name"))
        return refuse_event(r, args, "a node has no \"op_name\" in its \"args\"");
    uint32_t node = find_node(r, args, name, n);
    profile_event *e = node == UINT32_MAX ? NULL : profile_add_event(r->p);
    if (!e)
        return cli_refuse(r->error, "out of memory");
    e->node = node;
    e->ts_us = ts_us;
    e->us = us;
    e->tid = trace_size(r, r->event, "tid");
    e->live_bytes = trace_size(r, args, "mem_bytes_in_use");
    take_thread_times(r, args, e);
    return true;
}

/* Only complete events are read; counters and names of threads are for viewers. */
static bool take_event(trace_reader *r) {
    if (r->event->kind != JSON_OBJECT)
        return refuse_event(r, NULL, "an event must be an object");
    const char *cat = trace_text(r, r->event, "cat"), *name = trace_text(r, r->event, "name");
    double ts_us, us;
    bool is_node = strcmp(cat, "Node") == 0, is_session = strcmp(cat, "Session") == 0;
    if (strcmp(trace_text(r, r->event, "ph"), "X") != 0 || (!is_node && !is_session))
        return true;
    if (!*name)
        return refuse_event(r, NULL, "an event has no \"name\"");
    if (!take_time(r, "ts", &ts_us) || !take_time(r, "dur", &us))
        return false;
    size_t n = strlen(name), n_suffix = sizeof node_suffix - 1;
    bool has_suffix = n > n_suffix && strcmp(name + n - n_suffix, node_suffix) == 0;
    if (is_node)
        return has_suffix ? take_trace_step(r, name, n - n_suffix, ts_us, us) : true;
    profile_phase *phase = profile_add_phase(r->p, name, ts_us, us);
    if (phase)
        phase->is_run = strcmp(name, "model_run") == 0;
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static int earlier_phase_first(const void *a, const void *b) {
    const profile_phase *x = a, *y = b;
    return x->ts_us != y->ts_us ? (x->ts_us < y->ts_us ? -1 : 1) : strcmp(x->name, y->name);
}

static int earlier_event_first(const void *a, const void *b) {
    const profile_event *x = a, *y = b;
    if (x->ts_us != y->ts_us)
        return x->ts_us < y->ts_us ? -1 : 1;
    return x->us != y->us ? (x->us > y->us ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

/* Which run an event belongs to: the last one that began before it. */
static void number_runs(profile *p) {
    uint32_t run = 0, phase = 0, n_seen = 0;
    if (p->n_phases)
        qsort(p->phases, p->n_phases, sizeof *p->phases, earlier_phase_first);
    if (p->n_events)
        qsort(p->events, p->n_events, sizeof *p->events, earlier_event_first);
    for (uint32_t i = 0; i < p->n_events; i++) {
        for (; phase < p->n_phases && p->phases[phase].ts_us <= p->events[i].ts_us; phase++)
            if (p->phases[phase].is_run)
                run = n_seen++;
        p->events[i].run = run;
    }
}

static bool has_body_op(const profile_node *n) {
    static const char *const ops[] = {"If", "Loop", "Scan", "SequenceMap"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(n->op, ops[i]) == 0)
            return true;
    return false;
}

/* What ran while an If or a Loop did, on the same thread, is part of it. */
static void mark_inner_nodes(profile *p) {
    double end_us = -1;
    uint64_t tid = 0;
    for (uint32_t i = 0; i < p->n_events; i++) {
        const profile_event *e = &p->events[i];
        profile_node *n = &p->nodes[e->node];
        if (e->ts_us + e->us <= end_us && e->tid == tid) {
            n->is_inner = true;
        } else if (has_body_op(n)) {
            end_us = e->ts_us + e->us;
            tid = e->tid;
        }
    }
}

/* Memory in use, step by step, of the last run. */
static void take_memory(profile *p) {
    uint32_t last = p->n_events ? p->events[p->n_events - 1].run : 0;
    p->step_names = calloc((size_t)p->n_nodes + 1, sizeof *p->step_names);
    p->step_bytes = calloc((size_t)p->n_nodes + 1, sizeof *p->step_bytes);
    p->failed |= !p->step_names || !p->step_bytes;
    for (uint32_t i = 0; !p->failed && i < p->n_events; i++) {
        const profile_event *e = &p->events[i];
        if (e->run != last || e->live_bytes == 0 || p->n_steps == p->n_nodes)
            continue;
        p->step_names[p->n_steps] = p->nodes[e->node].name;
        p->step_bytes[p->n_steps] = e->live_bytes;
        if (e->live_bytes > p->peak_bytes) {
            p->peak_bytes = e->live_bytes;
            p->peak_step = p->n_steps;
        }
        p->n_steps++;
    }
}

static bool take_events(trace_reader *r, const json_node *list) {
    for (r->event = json_first(r->tree, list); r->event; r->event = json_next(r->tree, r->event))
        if (!take_event(r))
            return false;
    if (r->p->n_events == 0)
        return cli_refuse(
            r->error,
            "'%s' has no events of nodes; give a trace of `hone profile` or a profile "
            "of onnxruntime",
            r->path);
    number_runs(r->p);
    mark_inner_nodes(r->p);
    take_memory(r->p);
    profile_count(r->p);
    return r->p->failed ? cli_refuse(r->error, "out of memory") : true;
}

bool trace_parse(cli_buffer *file, const char *path, profile *p, hone_error *error) {
    json_tree tree;
    if (!json_tree_parse(file, path, &tree, error))
        return false;
    trace_reader r = {.tree = &tree, .path = path, .p = p, .error = error};
    const json_node *root = &tree.nodes[0], *inner = json_member(&tree, root, "traceEvents");
    const json_node *list = root->kind == JSON_OBJECT ? inner : root;
    bool ok = list && list->kind == JSON_ARRAY
                  ? take_events(&r, list)
                  : cli_refuse(error, "'%s', byte 0: a trace is an array of events", path);
    p->source = profile_text(p, path);
    p->writer = p->n_nodes && *p->nodes[0].kernel ? "hone" : "onnxruntime";
    free(r.slots);
    json_tree_free(&tree);
    return ok;
}

bool trace_read(const char *path, profile *p, hone_error *error) {
    cli_buffer file;
    return cli_file_read(path, &file, error) && trace_parse(&file, path, p, error);
}
