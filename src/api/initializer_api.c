/* hone.h: replacing the data of an initializer. */
#include "api/value_int.h"

static hone_status find_initializer(hn_model *m, const char *name, hn_value **found,
                                    hone_error *error) {
    uint32_t id = hone_graph_find_value((const hone_graph *)(const void *)m->graph, name);
    *found = id == HONE_NONE ? NULL : hn_value_at(m->graph, id);
    if (*found && (*found)->init)
        return HONE_OK;
    return hn_fail(error, HONE_E_NOT_FOUND, "the model has no initializer '%s'", name);
}

static bool stated_shape_fits(const hn_tensor *t, const hn_array *a) {
    bool is_same = t->rank == a->rank;
    for (int32_t i = 0; is_same && i < t->rank; i++)
        is_same = t->dims[i] == a->dims[i];
    return is_same;
}

static hone_status check_replacement(const hn_value *v, const hone_value *data, hone_error *error) {
    const char *name = hn_s(v->name);
    const hn_array *a = &data->object->array;
    if (data->object->kind != HN_OBJECT_TENSOR || a->dtype != v->init->dtype)
        return hn_fail(error, HONE_E_TYPE,
                       "initializer '%s' has elements of type %s; the new data must have that type",
                       name, hn_dtype_name(v->init->dtype));
    if (a->dtype == HN_STRING)
        return hn_fail(error, HONE_E_UNSUPPORTED,
                       "initializer '%s' has strings, which cannot be replaced", name);
    if (!stated_shape_fits(v->init, a))
        return hn_fail(error, HONE_E_SHAPE, "the new data of initializer '%s' must have its shape",
                       name);
    return HONE_OK;
}

hone_status hone_model_set_initializer(hone_model *model, const char *name, const hone_value *data,
                                       hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    HN_REQUIRE(name, error);
    HN_REQUIRE(data, error);
    hn_model *m = model_to_edit(model);
    hn_value *v;
    HN_TRY(find_initializer(m, name, &v, error));
    HN_TRY(check_replacement(v, data, error));
    const hn_array *a = &data->object->array;
    const hn_tensor *t = hn_tensor_new(m->arena, a->dtype, a->rank, a->dims, a->data, false);
    if (!t)
        return hn_error_complete(error, HONE_E_NOMEM);
    v->init = t;
    return HONE_OK;
}
