/* hone.h: statistics, memory plans and JSON. */
#include "api/api_int.h"
#include "report/report.h"

static const hn_stats *stats_of(const hone_stats *s) {
    return (const hn_stats *)(const void *)s;
}

hone_status hone_model_get_stats(const hone_model *model, hone_stats **stats, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(stats, error);
    *stats = NULL;
    HN_REQUIRE(model, error);
    hn_stats *s;
    hone_status status = hn_stats_make(model_of(model), &s);
    *stats = (hone_stats *)(void *)s;
    return hn_error_complete(error, status);
}

void hone_stats_get_totals(const hone_stats *stats, hone_stats_totals *totals) {
    *totals = stats_of(stats)->totals;
}

void hone_stats_get_type(const hone_stats *stats, uint32_t i, hone_stats_type *type) {
    const hn_stats *s = stats_of(stats);
    *type = i < s->types.n ? s->types.at[i] : (hone_stats_type){.elem_type = HN_UNDEFINED};
}

void hone_stats_get_op(const hone_stats *stats, uint32_t i, hone_stats_op *op) {
    const hn_stats *s = stats_of(stats);
    *op = i < s->ops.n ? s->ops.at[i] : (hone_stats_op){.domain = "", .op = ""};
}

void hone_stats_free(hone_stats *stats) {
    hn_stats_free((hn_stats *)(void *)stats);
}

static const hn_plan_report *plan_report_of(const hone_plan *p) {
    return (const hn_plan_report *)(const void *)p;
}

hone_status hone_model_get_plan(const hone_model *model, hone_plan **plan, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(plan, error);
    *plan = NULL;
    HN_REQUIRE(model, error);
    hn_plan_report *r;
    hone_status status = hn_plan_report_make(model_of(model), &r, error);
    *plan = (hone_plan *)(void *)r;
    return hn_error_complete(error, status);
}

void hone_plan_get_info(const hone_plan *plan, hone_plan_info *info) {
    *info = plan_report_of(plan)->info;
}

void hone_plan_get_value(const hone_plan *plan, uint32_t i, hone_plan_value *value) {
    const hn_plan_report *r = plan_report_of(plan);
    *value = i < r->info.n_values ? r->values[i] : (hone_plan_value){.name = ""};
}

void hone_plan_get_any_value(const hone_plan *plan, uint32_t i, hone_plan_value *value) {
    const hn_plan_report *r = plan_report_of(plan);
    *value = i < r->info.n_all_values ? r->all_values[i] : (hone_plan_value){.name = ""};
}

void hone_plan_get_step(const hone_plan *plan, uint32_t i, hone_plan_step *step) {
    static const hone_plan_step none = {.node = "", .op = "", .provider = "", .node_id = HONE_NONE};
    const hn_plan_report *r = plan_report_of(plan);
    *step = i < r->info.n_nodes ? r->steps[i] : none;
}

void hone_plan_free(hone_plan *plan) {
    hn_plan_report_free((hn_plan_report *)(void *)plan);
}

bool hone_node_output_bytes(const hone_graph *graph, uint32_t node, uint64_t *bytes) {
    *bytes = 0;
    return node < graph_of(graph)->nodes.n && hn_node_output_bytes(graph_of(graph), node, bytes);
}

/* Ends the document, passes it to the caller and frees it. */
hone_status hn_api_give_json(hn_strbuf *text, hone_write_fn write, void *ctx, hone_error *error) {
    hone_status status = HONE_OK;
    hn_strbuf_puts(text, "\n");
    if (text->failed)
        status = HONE_E_NOMEM;
    else if (!write(ctx, text->at, text->n))
        status = hn_fail(error, HONE_E_IO, "the JSON text could not be written");
    hn_strbuf_free(text);
    return hn_error_complete(error, status);
}

hone_status hone_model_write_json(const hone_model *model, const char *label, unsigned parts,
                                  hone_write_fn write, void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(write, error);
    const hn_model *m = model_of(model);
    hn_stats *stats;
    hn_plan_report *plan = NULL;
    hone_status status = hn_stats_make(m, &stats);
    if (status == HONE_OK && (parts & HONE_JSON_PLAN))
        status = hn_plan_report_make(m, &plan, error);
    if (status != HONE_OK) {
        hn_stats_free(stats);
        return hn_error_complete(error, status);
    }
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, hn_arena_allocator(m->arena));
    hn_json_init(&j, &text, true);
    hn_model_json(m, stats, plan, label, parts, &j);
    hn_stats_free(stats);
    hn_plan_report_free(plan);
    return hn_api_give_json(&text, write, ctx, error);
}

hone_status hone_ops_write_json(hone_write_fn write, void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(write, error);
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, NULL);
    hn_json_init(&j, &text, true);
    hn_ops_json(&j);
    return hn_api_give_json(&text, write, ctx, error);
}

hone_status hone_problems_write_json(const hone_problems *problems, const char *label,
                                     hone_write_fn write, void *ctx, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(problems, error);
    HN_REQUIRE(write, error);
    const hn_problems *found = hn_api_problems(problems);
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, hn_arena_allocator(found->arena));
    hn_json_init(&j, &text, true);
    hn_problems_json(found, label, &j);
    return hn_api_give_json(&text, write, ctx, error);
}

hone_status hone_error_write_json(const hone_error *unreadable, const char *label,
                                  hone_write_fn write, void *ctx) {
    HN_REQUIRE(unreadable, NULL);
    HN_REQUIRE(write, NULL);
    hn_problem only = {.severity = HN_SEVERITY_ERROR,
                       .code = unreadable->code,
                       .message = unreadable->message,
                       .node = unreadable->node,
                       .op = unreadable->op,
                       .value = unreadable->value};
    hn_problems p = {.list = {.at = &only, .n = 1, .cap = 1}, .n_errors = 1};
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, NULL);
    hn_json_init(&j, &text, true);
    hn_problems_json(&p, label, &j);
    return hn_api_give_json(&text, write, ctx, NULL);
}
