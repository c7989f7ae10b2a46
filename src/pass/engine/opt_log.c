/* What an optimization did, and what it nearly did. */
#include "pass/engine/opt_log.h"

#include <stdarg.h>
#include <stdio.h>

hn_opt_log *hn_opt_log_new(const hone_allocator *a) {
    hn_arena *arena = hn_arena_new(a);
    hn_opt_log *log = arena ? HN_NEW(arena, hn_opt_log) : NULL;
    if (!log) {
        hn_arena_free(arena);
        return NULL;
    }
    log->arena = arena;
    return log;
}

void hn_opt_log_free(hn_opt_log *log) {
    if (log)
        hn_arena_free(log->arena);
}

static const char *kept_text(hn_opt_log *log, const char *text) {
    return hn_arena_copy(log->arena, text, strlen(text) + 1);
}

static const char *kept_label(const hn_rule *r) {
    char label[200];
    return kept_text(r->pass->log, hn_node_label(r->g, r->root, label, sizeof label));
}

bool hn_log_rewrite(const hn_rule *r, const char *label, uint32_t n_added, uint32_t n_removed) {
    hn_opt_log *log = r->pass->log;
    hn_rewrite entry = {.pass = r->pass->row,
                        .rule = kept_text(log, r->row->name),
                        .node = label,
                        .detail = kept_text(log, r->detail),
                        .n_nodes_added = n_added,
                        .n_nodes_removed = n_removed};
    return entry.rule && entry.detail && HN_VEC_PUSH(log->arena, &log->rewrites, entry);
}

const char *hn_log_label(const hn_rule *r) {
    return kept_label(r);
}

static bool is_known_miss(const hn_opt_log *log, const hn_near_miss *m) {
    for (uint32_t i = 0; i < log->misses.n; i++) {
        const hn_near_miss *k = &log->misses.at[i];
        if (k->pass == m->pass && strcmp(k->rule, m->rule) == 0 && strcmp(k->node, m->node) == 0)
            return true;
    }
    return false;
}

hone_status hn_miss(hn_rule *r, const char *fmt, ...) {
    hn_opt_log *log = r->pass->log;
    char reason[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(reason, sizeof reason, fmt, args);
    va_end(args);
    if (log->misses.n >= HN_MAX_MISSES)
        return HONE_OK;
    hn_near_miss m = {.pass = r->pass->row,
                      .rule = kept_text(log, r->row->name),
                      .node = kept_label(r),
                      .reason = kept_text(log, reason)};
    if (!m.rule || !m.node || !m.reason)
        return HONE_E_NOMEM;
    if (is_known_miss(log, &m))
        return HONE_OK;
    return HN_VEC_PUSH(log->arena, &log->misses, m) ? HONE_OK : HONE_E_NOMEM;
}

void hn_log_forget_misses(hn_opt_log *log, const hn_pass_row *pass) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < log->misses.n; i++)
        if (log->misses.at[i].pass != pass)
            log->misses.at[n++] = log->misses.at[i];
    log->misses.n = n;
}

void hn_log_failure(const hn_rule *r) {
    hn_opt_log *log = r->pass->log;
    log->failed = (hn_near_miss){.pass = r->pass->row,
                                 .rule = kept_text(log, r->row->name),
                                 .node = kept_label(r),
                                 .reason = ""};
    if (!log->failed.rule || !log->failed.node)
        log->failed.pass = NULL;
}

void hn_detail(hn_rule *r, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->detail, sizeof r->detail, fmt, args);
    va_end(args);
}

hn_pass_stat *hn_log_stat(hn_opt_log *log, const hn_pass_row *pass) {
    for (uint32_t i = 0; i < log->stats.n; i++)
        if (log->stats.at[i].pass == pass)
            return &log->stats.at[i];
    hn_pass_stat stat = {.pass = pass};
    return HN_VEC_PUSH(log->arena, &log->stats, stat) ? &log->stats.at[log->stats.n - 1] : NULL;
}
