/* Profiles: lists that grow, sums over runs, floors. */
#include "profile/profile.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *profile_grow(profile *p, void *list, uint32_t *n, uint32_t *cap, size_t size) {
    if (*n == *cap) {
        uint32_t larger = *cap ? 2 * *cap : 64;
        void *grown = larger > *cap ? realloc(list, larger * size) : NULL;
        if (!grown) {
            p->failed = true;
            return list;
        }
        *cap = larger;
        list = grown;
    }
    memset((char *)list + *n * size, 0, size);
    ++*n;
    return list;
}

/* A text of the heap that the profile frees. */
static const char *keep_profile_text(profile *p, char *text) {
    uint32_t before = p->n_texts;
    p->failed |= !text;
    if (!text)
        return "";
    p->texts = profile_grow(p, p->texts, &p->n_texts, &p->cap_texts, sizeof *p->texts);
    if (p->n_texts == before) {
        free(text);
        return "";
    }
    p->texts[before] = text;
    return text;
}

const char *profile_text(profile *p, const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy)
        memcpy(copy, text, n);
    return keep_profile_text(p, copy);
}

const char *profile_printf(profile *p, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = n >= 0 ? malloc((size_t)n + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return keep_profile_text(p, text);
}

profile_node *profile_add_node(profile *p) {
    uint32_t before = p->n_nodes;
    p->nodes = profile_grow(p, p->nodes, &p->n_nodes, &p->cap_nodes, sizeof *p->nodes);
    if (p->n_nodes == before)
        return NULL;
    profile_node *n = &p->nodes[before];
    n->name = n->label = n->op = n->domain = n->provider = n->kernel = "";
    n->inputs = n->outputs = "[]";
    return n;
}

profile_event *profile_add_event(profile *p) {
    uint32_t before = p->n_events;
    p->events = profile_grow(p, p->events, &p->n_events, &p->cap_events, sizeof *p->events);
    if (p->n_events == before)
        return NULL;
    p->events[before].thread_at = UINT32_MAX;
    return &p->events[before];
}

profile_phase *profile_add_phase(profile *p, const char *name, double ts_us, double us) {
    uint32_t before = p->n_phases;
    p->phases = profile_grow(p, p->phases, &p->n_phases, &p->cap_phases, sizeof *p->phases);
    if (p->n_phases == before)
        return NULL;
    p->phases[before] = (profile_phase){.name = profile_text(p, name), .ts_us = ts_us, .us = us};
    return &p->phases[before];
}

profile_finding *profile_add_finding(profile *p, const char *kind, double us) {
    uint32_t before = p->n_findings;
    p->findings =
        profile_grow(p, p->findings, &p->n_findings, &p->cap_findings, sizeof *p->findings);
    if (p->n_findings == before)
        return NULL;
    p->findings[before] =
        (profile_finding){.kind = kind, .title = "", .evidence = "", .command = "", .us = us};
    return &p->findings[before];
}

enum { LONGEST_LABEL = 64 }; /* a longer list of nodes is shown by its last one and their number */

void profile_name_node(profile *p, profile_node *n, const char *name, const char *const *parts,
                       uint32_t n_parts) {
    cli_buffer label = {0};
    n->name = profile_text(p, name);
    bool is_alone = n_parts == 0;
    const char **kept = malloc((is_alone ? 1 : n_parts) * sizeof *kept);
    keep_profile_text(p, (char *)kept);
    if (!kept)
        return;
    for (uint32_t i = 0; i < n_parts; i++) {
        kept[i] = profile_text(p, parts[i]);
        cli_buffer_printf(&label, "%s%s", i ? " + " : "", parts[i]);
    }
    if (is_alone)
        kept[0] = n->name;
    cli_buffer_add(&label, "", 1);
    n->parts = kept;
    n->n_parts = is_alone ? 1 : n_parts;
    if (is_alone || label.failed)
        n->label = n->name;
    else if (label.n <= LONGEST_LABEL)
        n->label = profile_text(p, (const char *)label.at);
    else
        n->label = profile_printf(p, "%s (%u nodes)", parts[n_parts - 1], n_parts);
    cli_buffer_free(&label);
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* The first run plans and packs: it is left out where others follow it. */
static uint32_t first_counted_run(const profile *p) {
    uint32_t last = 0;
    for (uint32_t i = 0; i < p->n_events; i++)
        last = p->events[i].run > last ? p->events[i].run : last;
    return last > 0;
}

static void count_event(profile *p, const profile_event *e) {
    profile_node *n = &p->nodes[e->node];
    n->least_us = n->count == 0 || e->us < n->least_us ? e->us : n->least_us;
    n->count++;
    n->us += e->us;
    if (n->is_inner)
        return;
    p->us += e->us;
    if (e->thread_at == UINT32_MAX)
        return;
    for (uint32_t k = 0; k < p->n_threads; k++) {
        p->thread_sums[k] += p->thread_us[e->thread_at + k];
        n->worker_us += k ? p->thread_us[e->thread_at + k] : 0;
    }
}

static int shorter_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *us, size_t n) {
    if (n == 0)
        return 0;
    qsort(us, n, sizeof *us, shorter_first);
    return n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
}

/* Sorts the times of events by node, then takes the median of each. */
static void find_medians(profile *p, uint32_t first_run) {
    double *us = malloc(((size_t)p->n_events + p->n_phases + 1) * sizeof *us);
    size_t *at = calloc((size_t)p->n_nodes + 1, sizeof *at), n_runs = 0;
    p->failed |= !us || !at;
    for (uint32_t i = 1; us && at && i < p->n_nodes; i++)
        at[i] = at[i - 1] + p->nodes[i - 1].count;
    for (uint32_t i = 0; us && at && i < p->n_events; i++)
        if (p->events[i].run >= first_run)
            us[at[p->events[i].node]++] = p->events[i].us;
    for (uint32_t i = 0; us && at && i < p->n_nodes; i++)
        p->nodes[i].median_us =
            median_of(us + at[i] - p->nodes[i].count, (size_t)p->nodes[i].count);
    for (uint32_t i = 0; us && i < p->n_phases; i++)
        if (p->phases[i].is_run && !p->phases[i].is_first)
            us[n_runs++] = p->phases[i].us;
    p->median_run_us = us && n_runs ? median_of(us, n_runs) : p->run_us / p->n_runs;
    free(us);
    free(at);
}

/* Of each run what its nodes take: when another process had the processor between two nodes, that
 * run alone is wrong. */
static void find_share_of_nodes(profile *p) {
    double *shares = calloc((size_t)p->n_phases + 1, sizeof *shares);
    uint32_t run = 0, event = 0, n = 0;
    p->failed |= !shares;
    for (uint32_t i = 0; shares && i < p->n_phases; i++) {
        double us = 0;
        if (!p->phases[i].is_run)
            continue;
        for (; event < p->n_events && p->events[event].run <= run; event++)
            us += p->nodes[p->events[event].node].is_inner ? 0 : p->events[event].us;
        if (!p->phases[i].is_first && p->phases[i].us > 0)
            shares[n++] = us / p->phases[i].us;
        run++;
    }
    p->nodes_share = n ? median_of(shares, n) : 1;
    free(shares);
}

void profile_count(profile *p) {
    uint32_t first = first_counted_run(p);
    free(p->thread_sums);
    p->thread_sums = calloc((size_t)p->n_threads + 1, sizeof *p->thread_sums);
    p->failed |= !p->thread_sums;
    p->n_runs = 0;
    p->us = p->run_us = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++) {
        p->nodes[i].count = 0;
        p->nodes[i].us = p->nodes[i].worker_us = 0;
    }
    for (uint32_t i = 0; p->thread_sums && i < p->n_events; i++)
        if (p->events[i].run >= first)
            count_event(p, &p->events[i]);
    for (uint32_t i = 0, k = 0; i < p->n_phases; i++) {
        if (!p->phases[i].is_run)
            continue;
        p->phases[i].is_first = k++ < first;
        p->n_runs += !p->phases[i].is_first;
        p->run_us += p->phases[i].is_first ? 0 : p->phases[i].us;
    }
    p->n_runs = p->n_runs ? p->n_runs : 1;
    p->run_us = p->run_us > 0 ? p->run_us : p->us;
    find_medians(p, first);
    find_share_of_nodes(p);
}

double profile_node_us(const profile *p, const profile_node *n) {
    return n->median_us * (double)n->count / p->n_runs;
}

/* A view touches nothing. */
uint64_t profile_node_bytes(const profile_node *n) {
    return strcmp(n->kernel, "view") == 0
               ? 0
               : n->activation_bytes + n->parameter_bytes + n->output_bytes;
}

static double arithmetic_us(const profile *p, const profile_node *n) {
    double peak = n->is_integer && p->peaks.int8_ops > 0 ? p->peaks.int8_ops : p->peaks.flops;
    return peak > 0 ? 2e6 * (double)n->macs / peak : 0;
}

static double memory_us(const profile *p, const profile_node *n) {
    return p->peaks.read_bytes > 0 ? 1e6 * (double)profile_node_bytes(n) / p->peaks.read_bytes : 0;
}

double profile_floor_us(const profile *p, const profile_node *n) {
    double a = arithmetic_us(p, n), m = memory_us(p, n);
    return a > m ? a : m;
}

bool profile_is_memory_bound(const profile *p, const profile_node *n) {
    return memory_us(p, n) > arithmetic_us(p, n);
}

/* ---- order and rows -------------------------------------------------------------------------- */

static const profile_node *ordered_nodes; /* qsort has no context */

static int slower_node_first(const void *a, const void *b) {
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const profile_node *x = &ordered_nodes[i], *y = &ordered_nodes[k];
    return x->us != y->us ? (x->us < y->us ? 1 : -1) : i < k ? -1 : i > k;
}

uint32_t *profile_order(const profile *p, uint32_t *n_ordered) {
    uint32_t *order = malloc(((size_t)p->n_nodes + 1) * sizeof *order);
    *n_ordered = 0;
    for (uint32_t i = 0; order && i < p->n_nodes; i++)
        if (!p->nodes[i].is_inner)
            order[(*n_ordered)++] = i;
    ordered_nodes = p->nodes;
    if (*n_ordered)
        qsort(order, *n_ordered, sizeof *order, slower_node_first);
    return order;
}

static int slower_row_first(const void *a, const void *b) {
    const profile_row *x = a, *y = b;
    return x->us != y->us ? (x->us < y->us ? 1 : -1) : strcmp(x->name, y->name);
}

const char *profile_op_of(const profile_node *n) {
    return n->op;
}

const char *profile_kernel_of(const profile_node *n) {
    return *n->kernel ? n->kernel : "(not known)";
}

profile_row *profile_rows(const profile *p, const char *(*name_of)(const profile_node *n),
                          uint32_t *n_rows) {
    profile_row *rows = calloc((size_t)p->n_nodes + 1, sizeof *rows);
    *n_rows = 0;
    for (uint32_t i = 0; rows && i < p->n_nodes; i++) {
        const profile_node *n = &p->nodes[i];
        uint32_t at = 0;
        if (n->is_inner)
            continue;
        while (at < *n_rows && strcmp(rows[at].name, name_of(n)) != 0)
            at++;
        if (at == *n_rows)
            rows[(*n_rows)++] = (profile_row){.name = name_of(n), .is_integer = n->is_integer};
        rows[at].count += n->count;
        rows[at].us += n->us;
        rows[at].macs += n->macs * n->count;
        rows[at].bytes += profile_node_bytes(n) * n->count;
        rows[at].floor_us += profile_floor_us(p, n) * (double)n->count;
    }
    if (rows && *n_rows)
        qsort(rows, *n_rows, sizeof *rows, slower_row_first);
    return rows;
}

void profile_free(profile *p) {
    for (uint32_t i = 0; i < p->n_texts; i++)
        free(p->texts[i]);
    free(p->texts);
    free(p->nodes);
    free(p->events);
    free(p->phases);
    free(p->thread_us);
    free(p->thread_sums);
    free(p->values);
    free(p->outputs);
    free(p->step_names);
    free(p->step_bytes);
    free(p->findings);
    *p = (profile){0};
}
