/* extend.h: user-defined operators. */
#include "api/api_int.h"
#include "ops/ops.h"

static hn_op_registry *registry_of(hone_op_registry *registry) {
    return (hn_op_registry *)(void *)registry;
}

hone_status hone_op_registry_create(const hone_allocator *allocator, hone_op_registry **registry,
                                    hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(registry, error);
    *registry = (hone_op_registry *)(void *)hn_registry_new(allocator);
    return hn_error_complete(error, *registry ? HONE_OK : HONE_E_NOMEM);
}

hone_status hone_op_registry_load(hone_op_registry *registry, const char *path, hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(registry, error);
    HN_REQUIRE(path, error);
    return hn_error_complete(error, hn_registry_load(registry_of(registry), path, error));
}

hone_status hone_op_registry_add(hone_op_registry *registry, const hone_op_def *op,
                                 hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(registry, error);
    HN_REQUIRE(op, error);
    return hn_error_complete(error, hn_registry_add(registry_of(registry), op, error));
}

void hone_op_registry_free(hone_op_registry *registry) {
    if (registry)
        hn_registry_drop(registry_of(registry));
}
