/* Report of the memory that a run will need. */
#include "plan/plan.h"
#include "report/report.h"

#include <stdlib.h>

/* Inputs of the declared shapes, without data. An input with a default has its shape; one that is
 * not a tensor is ignored. */
static hone_status declared_inputs(const hn_program *p, hn_arena *a, const hn_object ***out,
                                   uint64_t *bytes, hone_error *err) {
    const hn_model *m = p->model;
    const hn_block *b = hn_block_at(m->graph, 0);
    hn_object *objects = HN_NEW_N(a, hn_object, (size_t)b->inputs.n + 1);
    *out = HN_NEW_N(a, const hn_object *, (size_t)b->inputs.n + 1);
    if (!objects || !*out)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < b->inputs.n; i++) {
        const hn_value *v = hn_value_at(m->graph, b->inputs.at[i]);
        uint64_t n = 1, size;
        if (v->init || v->sparse_init || !v->type || v->type->kind != HN_TYPE_TENSOR)
            continue;
        const hn_shape *shape = &v->type->shape;
        for (int32_t k = 0; k < shape->rank; k++)
            if (!hn_dim_is_known(shape->dims[k]) || !hn_mul_u64(n, (uint64_t)shape->dims[k], &n))
                return hn_fail(err, HONE_E_SHAPE,
                               "memory can be planned for exact shapes only: fix the free "
                               "dimensions of input '%s'",
                               hn_s(v->name));
        if (shape->rank < 0)
            return hn_fail(err, HONE_E_SHAPE,
                           "memory can be planned for exact shapes only: input '%s' has no shape",
                           hn_s(v->name));
        hn_object_init_borrowed(&objects[i], v->type->elem, shape->rank, shape->dims, NULL);
        (*out)[i] = &objects[i];
        *bytes += hn_dtype_bytes(v->type->elem, n, &size) ? size : 0;
    }
    return HONE_OK;
}

static uint64_t bytes_of_place(const hn_place *place) {
    uint64_t bytes = 0;
    if (!place->type ||
        !hn_dtype_bytes(place->type->elem,
                        hn_count(place->type->shape.rank, place->type->shape.dims), &bytes))
        return 0;
    return bytes;
}

static uint64_t bytes_at_step(const hn_plan *plan, uint32_t step) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->n_ranges; i++)
        if (plan->ranges[i].first <= step && step <= plan->ranges[i].last)
            sum += plan->ranges[i].bytes;
    return sum;
}

/* The sum only grows where a range begins. */
static uint32_t step_of_peak(const hn_plan *plan) {
    uint32_t peak = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < plan->n_ranges; i++) {
        uint64_t sum = bytes_at_step(plan, plan->ranges[i].first);
        if (sum > most) {
            most = sum;
            peak = plan->ranges[i].first;
        }
    }
    return peak;
}

static int larger_value_first(const void *a, const void *b) {
    const hone_plan_value *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static hone_status keep_plan_text(hn_arena *a, const char *text, const char **kept) {
    *kept = hn_arena_copy(a, text, strlen(text) + 1);
    return *kept ? HONE_OK : HONE_E_NOMEM;
}

static int earlier_value_first(const void *a, const void *b) {
    const hone_plan_value *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static hone_status list_values(hn_plan_report *r, const hn_plan *plan, uint32_t step) {
    const hn_graph *g = plan->program->model->graph;
    r->values = HN_NEW_N(r->arena, hone_plan_value, (size_t)plan->n_ranges + 1);
    r->all_values = HN_NEW_N(r->arena, hone_plan_value, (size_t)plan->n_ranges + 1);
    if (!r->values || !r->all_values)
        return HONE_E_NOMEM;
    for (uint32_t i = 0; i < plan->n_ranges; i++) {
        const hn_live_range *range = &plan->ranges[i];
        hone_plan_value *v = &r->all_values[r->info.n_all_values++];
        *v = (hone_plan_value){.bytes = range->bytes,
                               .offset = range->offset,
                               .first = range->first,
                               .last = range->last};
        HN_TRY(keep_plan_text(r->arena, hn_s(hn_value_at(g, range->value)->name), &v->name));
        if (range->first <= step && step <= range->last)
            r->values[r->info.n_values++] = *v;
    }
    if (r->info.n_values)
        qsort(r->values, r->info.n_values, sizeof *r->values, larger_value_first);
    if (r->info.n_all_values)
        qsort(r->all_values, r->info.n_all_values, sizeof *r->values, earlier_value_first);
    return HONE_OK;
}

/* What begins adds its bytes, what has ended takes them off: linear in steps and values. */
static hone_status count_live_bytes(hn_plan_report *r, const hn_plan *plan) {
    uint32_t n = r->info.n_nodes;
    uint64_t *ends = HN_NEW_N(r->arena, uint64_t, (size_t)n + 1), live = 0;
    HN_TRY_PTR(ends);
    for (uint32_t i = 0; i < plan->n_ranges; i++) {
        r->steps[plan->ranges[i].first].live_bytes += plan->ranges[i].bytes;
        ends[plan->ranges[i].last] += plan->ranges[i].bytes;
    }
    for (uint32_t i = 0; i < n; i++) {
        live += r->steps[i].live_bytes;
        r->steps[i].live_bytes = live;
        live -= ends[i];
    }
    return HONE_OK;
}

static hone_status describe_step(hn_plan_report *r, const hn_plan *plan, uint32_t i) {
    static const hone_step_kind kinds[] = {[HN_STEP_DYNAMIC] = HONE_STEP_DYNAMIC,
                                           [HN_STEP_PLANNED] = HONE_STEP_PLANNED,
                                           [HN_STEP_VIEW] = HONE_STEP_VIEW};
    const hn_step *step = &plan->program->blocks[0].steps[i];
    const hn_graph *g = plan->program->model->graph;
    const hn_node *n = hn_node_at(g, step->node);
    hone_plan_step *told = &r->steps[i];
    char text[200];
    told->provider = step->provider->name;
    told->node_id = step->node;
    told->kind = kinds[plan->modes[i]];
    hn_node_label(g, step->node, text, sizeof text);
    HN_TRY(keep_plan_text(r->arena, text, &told->node));
    bool is_onnx = hn_domain_is_onnx(n->domain);
    told->op = hn_arena_printf(r->arena, "%s%s%s", is_onnx ? "" : hn_s(n->domain),
                               is_onnx ? "" : ".", hn_s(n->op));
    return told->op ? HONE_OK : HONE_E_NOMEM;
}

static hone_status list_steps(hn_plan_report *r, const hn_plan *plan) {
    uint32_t n = plan->program->blocks[0].n_steps;
    r->steps = HN_NEW_N(r->arena, hone_plan_step, (size_t)n + 1);
    HN_TRY_PTR(r->steps);
    for (uint32_t i = 0; i < n; i++)
        HN_TRY(describe_step(r, plan, i));
    return HONE_OK;
}

static hone_status describe_plan(hn_plan_report *r, const hn_plan *plan) {
    const hn_graph *g = plan->program->model->graph;
    const hn_step_list *list = &plan->program->blocks[0];
    const hn_block *b = hn_block_at(g, 0);
    hone_plan_info *info = &r->info;
    info->block_bytes = plan->block_bytes;
    info->n_nodes = list->n_steps;
    for (uint32_t i = 0; i < list->n_steps; i++) {
        info->n_views += plan->modes[i] == HN_STEP_VIEW;
        info->n_dynamic_nodes += plan->modes[i] == HN_STEP_DYNAMIC;
    }
    for (hn_id id = 0; id < g->values.n; id++) {
        const hn_object *c = &plan->program->consts[id];
        uint64_t bytes = 0;
        if (c->kind == HN_OBJECT_TENSOR && hn_dtype_bytes(c->array.dtype, c->array.n_elems, &bytes))
            info->weight_bytes += bytes;
    }
    for (uint32_t i = 0; i < b->outputs.n; i++)
        info->output_bytes += bytes_of_place(&plan->places[b->outputs.at[i]]);
    char who[200] = "";
    uint32_t step = step_of_peak(plan);
    if (plan->n_ranges)
        hn_node_text(g, list->steps[step].node, who, sizeof who);
    HN_TRY(keep_plan_text(r->arena, who, &info->peak_node));
    HN_TRY(list_steps(r, plan));
    HN_TRY(count_live_bytes(r, plan));
    return list_values(r, plan, step);
}

static hone_status plan_program(hn_plan_report *r, const hn_program *p, hone_error *err) {
    const hn_object **inputs;
    hn_plan *plan;
    HN_TRY(declared_inputs(p, r->arena, &inputs, &r->info.input_bytes, err));
    HN_TRY(hn_plan_new(p, 1, hn_block_at(p->model->graph, 0)->inputs.n, inputs, &plan, err));
    hone_status status = describe_plan(r, plan);
    hn_plan_free(plan);
    return status;
}

hone_status hn_plan_report_make(const hn_model *m, hn_plan_report **out, hone_error *err) {
    *out = NULL;
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    hn_plan_report *r = arena ? HN_NEW(arena, hn_plan_report) : NULL;
    hn_program *p = NULL;
    hone_status status = r ? hn_program_optimized(m, HN_LEVEL_ALL, NULL, &p, err) : HONE_E_NOMEM;
    if (status == HONE_OK) {
        r->arena = arena;
        status = plan_program(r, p, err);
    }
    hn_program_free(p);
    if (status == HONE_OK)
        *out = r;
    else
        hn_arena_free(arena);
    return status;
}

hone_status hn_plan_report_of(const hn_plan *plan, hn_plan_report **out) {
    hn_arena *arena = hn_arena_new(hn_arena_allocator(plan->program->model->arena));
    hn_plan_report *r = arena ? HN_NEW(arena, hn_plan_report) : NULL;
    if (r)
        r->arena = arena;
    hone_status status = r ? describe_plan(r, plan) : HONE_E_NOMEM;
    *out = status == HONE_OK ? r : NULL;
    if (status != HONE_OK)
        hn_arena_free(arena);
    return status;
}

void hn_plan_report_free(hn_plan_report *r) {
    if (r)
        hn_arena_free(r->arena);
}

static void write_text_field(hn_json *j, const char *key, const char *text) {
    hn_json_key(j, key);
    hn_json_str(j, text);
}

static void write_steps(const hn_plan_report *r, hn_json *j) {
    static const char *const kinds[] = {[HONE_STEP_PLANNED] = "planned",
                                        [HONE_STEP_VIEW] = "view",
                                        [HONE_STEP_DYNAMIC] = "dynamic"};
    hn_json_key(j, "placement");
    hn_json_array(j);
    for (uint32_t i = 0; i < r->info.n_nodes; i++) {
        hn_json_object(j);
        write_text_field(j, "node", r->steps[i].node);
        write_text_field(j, "op", r->steps[i].op);
        write_text_field(j, "provider", r->steps[i].provider);
        write_text_field(j, "memory", kinds[r->steps[i].kind]);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

void hn_plan_report_json(const hn_plan_report *r, hn_json *j) {
    const struct {
        const char *key;
        uint64_t number;
    } fields[] = {
        {"weight_bytes", r->info.weight_bytes},
        {"input_bytes", r->info.input_bytes},
        {"output_bytes", r->info.output_bytes},
        {"block_bytes", r->info.block_bytes},
        {"n_nodes", r->info.n_nodes},
        {"n_views", r->info.n_views},
        {"n_dynamic_nodes", r->info.n_dynamic_nodes},
    };
    hn_json_key(j, "plan");
    hn_json_object(j);
    for (size_t i = 0; i < HN_COUNT(fields); i++) {
        hn_json_key(j, fields[i].key);
        hn_json_u64(j, fields[i].number);
    }
    write_text_field(j, "peak_node", r->info.peak_node);
    hn_json_key(j, "alive_at_peak");
    hn_json_array(j);
    for (uint32_t i = 0; i < r->info.n_values; i++) {
        hn_json_object(j);
        write_text_field(j, "name", r->values[i].name);
        hn_json_key(j, "bytes");
        hn_json_u64(j, r->values[i].bytes);
        hn_json_key(j, "offset");
        hn_json_u64(j, r->values[i].offset);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
    write_steps(r, j);
    hn_json_object_end(j);
}
