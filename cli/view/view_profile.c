/* Times from a profile in the format of onnxruntime, and errors of layers from the report of `hone
 * quantize --explain --json`, matched with the nodes of a model by name. */
#include "view/graph_view.h"

#include <stdlib.h>
#include <string.h>

static const char kernel_suffix[] = "_kernel_time";

typedef struct timed_step { /* all events of one name */
    const json_node *first;
    double us;
    uint64_t count;
} timed_step;

static const char *text_member(const json_tree *t, const json_node *object, const char *key) {
    const json_node *m = json_member(t, object, key);
    return m && m->kind == JSON_TEXT ? m->text : "";
}

/* The events stand in an array, or in the member traceEvents of an object. */
static const json_node *first_event(const json_tree *t) {
    const json_node *root = t->n ? &t->nodes[0] : NULL;
    if (root && root->kind == JSON_OBJECT)
        root = json_member(t, root, "traceEvents");
    return root && root->kind == JSON_ARRAY ? json_first(t, root) : NULL;
}

static bool is_kernel_event(const json_tree *t, const json_node *e) {
    size_t n = strlen(text_member(t, e, "name")), k = sizeof kernel_suffix - 1;
    return strcmp(text_member(t, e, "cat"), "Node") == 0 && n > k &&
           strcmp(text_member(t, e, "name") + n - k, kernel_suffix) == 0;
}

static double number_member(const json_tree *t, const json_node *object, const char *key) {
    const json_node *m = json_member(t, object, key);
    return m && m->kind == JSON_NUMBER ? m->number : 0;
}

/* Sums the events of each name; NULL: no memory. */
static timed_step *sum_events(const json_tree *t, uint32_t *n, uint32_t *n_runs) {
    name_index names = {0};
    timed_step *steps = NULL;
    uint32_t cap = 0;
    bool ok = true;
    *n = *n_runs = 0;
    for (const json_node *e = first_event(t); e && ok; e = json_next(t, e)) {
        *n_runs += strcmp(text_member(t, e, "name"), "model_run") == 0;
        if (!is_kernel_event(t, e))
            continue;
        uint32_t i = name_index_find(&names, text_member(t, e, "name"));
        if (i == UINT32_MAX && *n == cap) {
            cap = cap ? cap * 2 : 64;
            timed_step *grown = realloc(steps, cap * sizeof *grown);
            ok = grown != NULL;
            steps = grown ? grown : steps;
        }
        if (ok && i == UINT32_MAX) {
            i = (*n)++;
            steps[i] = (timed_step){.first = e};
            ok = name_index_add(&names, text_member(t, e, "name"), i);
        }
        if (ok) {
            steps[i].us += number_member(t, e, "dur");
            steps[i].count++;
        }
    }
    name_index_free(&names);
    return steps;
}

/* The nodes that a step computes: the one that it is named for, or those that our profiles list. */
static void put_step_nodes(const view_model *v, const json_tree *t, const char *name, size_t n,
                           const json_node *listed, cli_buffer *out) {
    char *own = malloc(n + 1);
    if (!own) {
        out->failed = true;
        return;
    }
    memcpy(own, name, n);
    own[n] = '\0';
    uint32_t id = view_find_node(v, own);
    bool has_any = id != UINT32_MAX, is_list = listed && listed->kind == JSON_ARRAY;
    cli_buffer_printf(out, "[");
    if (has_any)
        cli_buffer_printf(out, "%u", id);
    const json_node *each = is_list ? json_first(t, listed) : NULL;
    for (; each; each = json_next(t, each)) {
        uint32_t other = each->kind == JSON_TEXT ? view_find_node(v, each->text) : UINT32_MAX;
        if (other == UINT32_MAX || other == id)
            continue;
        cli_buffer_printf(out, "%s%u", has_any ? "," : "", other);
        has_any = true;
    }
    cli_buffer_printf(out, "]");
    free(own);
}

/* What the page knows of a step: microseconds of a run, how often, nodes, operator, domain,
 * provider, kernel, compute or memory, and the least time that the machine needs (0: unknown). */
typedef struct shown_step {
    double us, floor_us;
    uint64_t count;
    const char *name;
    size_t n_name;
    const char *op, *domain, *provider, *kernel, *bound;
    const json_node *nodes;
} shown_step;

static void put_step(const view_model *v, const json_tree *t, const shown_step *s,
                     cli_buffer *out) {
    const char *texts[] = {s->op, s->domain, s->provider, s->kernel, s->bound};
    cli_buffer_printf(out, "[%.3f,%llu,", s->us, (unsigned long long)s->count);
    put_step_nodes(v, t, s->name, s->n_name, s->nodes, out);
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        cli_buffer_printf(out, ",");
        cli_json_string(out, texts[k], strlen(texts[k]));
    }
    cli_buffer_printf(out, ",%.3f]\n", s->floor_us);
}

static void put_trace_steps(const view_model *v, const json_tree *t, cli_buffer *out) {
    uint32_t n, n_runs;
    timed_step *steps = sum_events(t, &n, &n_runs);
    for (uint32_t i = 0; i < n; i++) {
        const json_node *args = json_member(t, steps[i].first, "args");
        const char *name = text_member(t, steps[i].first, "name");
        shown_step s = {.us = steps[i].us / (n_runs ? n_runs : 1),
                        .count = steps[i].count,
                        .name = name,
                        .n_name = strlen(name) - (sizeof kernel_suffix - 1),
                        .op = args ? text_member(t, args, "op_name") : "",
                        .domain = args ? text_member(t, args, "domain") : "",
                        .provider = args ? text_member(t, args, "provider") : "",
                        .kernel = args ? text_member(t, args, "kernel") : "",
                        .bound = "",
                        .nodes = args ? json_member(t, args, "nodes") : NULL};
        cli_buffer_printf(out, "%s", i ? "," : "");
        put_step(v, t, &s, out);
    }
    free(steps);
}

/* The report of `hone profile --json`. */
static void put_report_steps(const view_model *v, const json_tree *t, const json_node *by_node,
                             cli_buffer *out) {
    const json_node *e = json_first(t, by_node);
    for (bool has_any = false; e; e = json_next(t, e), has_any = true) {
        const char *op = text_member(t, e, "op"), *dot = strrchr(op, '.');
        const char *name = text_member(t, e, "name");
        shown_step s = {.us = number_member(t, e, "us"),
                        .floor_us = number_member(t, e, "floor_us"),
                        .count = (uint64_t)number_member(t, e, "count"),
                        .name = name,
                        .n_name = strlen(name),
                        .op = dot ? dot + 1 : op,
                        .domain = strncmp(op, "hone.", 5) == 0 ? "hone" : "",
                        .provider = "cpu",
                        .kernel = text_member(t, e, "kernel"),
                        .bound = text_member(t, e, "bound"),
                        .nodes = json_member(t, e, "nodes")};
        cli_buffer_printf(out, "%s", has_any ? "," : "");
        put_step(v, t, &s, out);
    }
}

static const json_node *profiled_nodes(const json_tree *t) {
    const json_node *m = t->n ? json_member(t, &t->nodes[0], "by_node") : NULL;
    return m && m->kind == JSON_ARRAY ? m : NULL;
}

bool view_profile_check(const json_tree *t, const char *path, hone_error *error) {
    if (profiled_nodes(t))
        return true;
    for (const json_node *e = first_event(t); e; e = json_next(t, e))
        if (is_kernel_event(t, e))
            return true;
    return cli_refuse(error, "'%s' has no times of nodes: give a profile of hone or onnxruntime",
                      path);
}

bool view_sensitivity_check(const json_tree *t, const char *path, hone_error *error) {
    const json_node *nodes = t->n ? json_member(t, &t->nodes[0], "nodes") : NULL;
    if (nodes && nodes->kind == JSON_ARRAY)
        return true;
    return cli_refuse(error,
                      "'%s' has no errors of layers: give what `hone quantize --explain "
                      "--json` prints",
                      path);
}

void view_json_profile(const view_model *v, const json_tree *profile, cli_buffer *out) {
    cli_buffer_printf(out, "\"profile\":[");
    if (profiled_nodes(profile))
        put_report_steps(v, profile, profiled_nodes(profile), out);
    else
        put_trace_steps(v, profile, out);
    cli_buffer_printf(out, "],");
}

void view_json_sensitivity(const view_model *v, const json_tree *report, cli_buffer *out) {
    static const char *const keys[] = {"output_sqnr", "weight_sqnr", "input_sqnr"};
    const json_node *nodes = report->n ? json_member(report, &report->nodes[0], "nodes") : NULL;
    bool has_any = false;
    cli_buffer_printf(out, "\"sensitivity\":[");
    const json_node *e = nodes && nodes->kind == JSON_ARRAY ? json_first(report, nodes) : NULL;
    for (; e; e = json_next(report, e)) {
        uint32_t id = view_find_node(v, text_member(report, e, "node"));
        if (id == UINT32_MAX)
            continue;
        cli_buffer_printf(out, "%s[%u", has_any ? "," : "", id);
        for (int k = 0; k < 3; k++) {
            const json_node *m = json_member(report, e, keys[k]);
            if (m && m->kind == JSON_NUMBER)
                cli_buffer_printf(out, ",%.6g", m->number);
            else
                cli_buffer_printf(out, ",null");
        }
        cli_buffer_printf(out, "]\n");
        has_any = true;
    }
    cli_buffer_printf(out, "],");
}
