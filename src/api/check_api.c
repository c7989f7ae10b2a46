/* hone.h: checking, inference, fixing dimensions. */
#include "api/api_int.h"
#include "ops/ops.h"

/* Lives in the arena that it owns. */
struct hone_problems {
    hn_problems found;
};

const hn_problems *hn_api_problems(const hone_problems *problems) {
    return &problems->found;
}

hone_status hone_model_check(hone_model *model, hone_problems **problems, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(problems, error);
    *problems = NULL;
    HN_REQUIRE(model, error);
    hn_model *m = model_of(model);
    hn_arena *arena = hn_arena_new(hn_arena_allocator(m->arena));
    hone_problems *p = arena ? HN_NEW(arena, hone_problems) : NULL;
    if (!p) {
        hn_arena_free(arena);
        return hn_error_complete(error, HONE_E_NOMEM);
    }
    p->found.arena = arena;
    hone_status status = hn_check_model(m, &p->found, error);
    if (status == HONE_OK)
        *problems = p;
    else
        hn_arena_free(arena);
    return hn_error_complete(error, status);
}

uint32_t hone_problems_count(const hone_problems *problems, hone_severity severity) {
    return severity == HONE_ERROR ? problems->found.n_errors : problems->found.n_warnings;
}

uint32_t hone_problems_listed(const hone_problems *problems) {
    return problems->found.list.n;
}

void hone_problems_get(const hone_problems *problems, uint32_t i, hone_problem *problem) {
    static const hn_problem none = {.message = "", .node = "", .op = "", .value = ""};
    const hn_problem *p = i < problems->found.list.n ? &problems->found.list.at[i] : &none;
    *problem =
        (hone_problem){.severity = p->severity == HN_SEVERITY_ERROR ? HONE_ERROR : HONE_WARNING,
                       .code = p->code,
                       .message = p->message,
                       .node = p->node,
                       .op = p->op,
                       .value = p->value};
}

void hone_problems_free(hone_problems *problems) {
    if (problems)
        hn_arena_free(problems->found.arena);
}

hone_status hone_model_infer(hone_model *model, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    return hn_error_complete(
        error, hn_infer_model(model_to_edit(model), &(hn_infer_options){.problems = NULL}, error));
}

hone_status hone_model_fix_dim(hone_model *model, const char *name, int64_t size,
                               hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(name, error);
    return hn_error_complete(error, hn_fix_dim(model_to_edit(model), name, size, error));
}

hone_status hone_model_fix_shape(hone_model *model, const char *input, uint32_t rank,
                                 const int64_t *dims, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(input, error);
    if (rank > 0)
        HN_REQUIRE(dims, error);
    return hn_error_complete(error, hn_fix_shape(model_to_edit(model), input, rank, dims, error));
}
