/* Operators that programs, shared libraries and providers bring along. Rows are sorted as those of
 * the table; once a model uses them they do not change any more. */
#include "ops/schema/registry.h"

#include <stdatomic.h>

#include "ops/custom.h"

struct hn_op_registry {
    hn_shared shared; /* first: models know it by this */
    hn_arena *arena;  /* the registry itself lives there */
    _Atomic bool is_sealed;
    hn_shared *base; /* the registry of which this one has all rows, too; may be NULL */
    HN_VEC(const hn_op *) rows;
    HN_VEC(const char *) domains; /* those that the table does not have */
    HN_VEC(void *) libraries;     /* closed at the end */
    uint32_t loading;             /* number of the library that registers now, from 1; 0: none */
};

static void registry_destroy(hn_shared *shared) {
    hn_op_registry *r = (hn_op_registry *)(void *)shared;
    for (uint32_t i = 0; i < r->libraries.n; i++)
        hn_library_close(r->libraries.at[i]);
    hn_shared_drop(r->base);
    hn_arena_free(r->arena);
}

hn_op_registry *hn_registry_new(const hone_allocator *alloc) {
    hn_arena *arena = hn_arena_new(alloc);
    hn_op_registry *r = arena ? HN_NEW(arena, hn_op_registry) : NULL;
    if (!r) {
        hn_arena_free(arena);
        return NULL;
    }
    r->arena = arena;
    hn_shared_init(&r->shared, registry_destroy);
    return r;
}

void hn_registry_drop(hn_op_registry *r) {
    hn_shared_drop(&r->shared);
}

void hn_registry_attach(hn_op_registry *r, hn_model *m) {
    atomic_store(&r->is_sealed, true);
    m->custom_ops = hn_shared_keep(&r->shared);
}

uint32_t hn_registry_count(const hn_op_registry *r) {
    return r->rows.n;
}

const hn_op *hn_registry_row(const hn_op_registry *r, uint32_t i) {
    return r->rows.at[i];
}

/* NULL: the row is none of a registered operator. */
static const hn_custom_op *custom_op(const hn_op *op) {
    return op->impl == hn_impl_custom ? (const hn_custom_op *)(const void *)op : NULL;
}

bool hn_op_is_random(const hn_op *op) {
    return custom_op(op) && custom_op(op)->def.is_random;
}

const char *hn_registry_domain(const hn_op_registry *r, uint32_t i) {
    return i < r->domains.n ? r->domains.at[i] : NULL;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static hone_status check_def(const hn_op_registry *r, const hone_op_def *def, hone_error *err) {
    if (atomic_load(&r->is_sealed))
        return hn_fail(err, HONE_E_ARGUMENT,
                       "a model was loaded with this registry already: register operators first");
    if (def->abi != HONE_OP_ABI)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "the operator was compiled for version %u of the interface, but this is "
                       "version %u: compile it with the header of this hone",
                       def->abi, HONE_OP_ABI);
    if (!def->domain || !def->name || !def->versions || !def->inputs || !def->outputs ||
        !def->compute)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "operator '%s' cannot be registered: domain, name, versions, inputs, "
                       "outputs and compute must be there",
                       def->name ? def->name : "");
    return HONE_OK;
}

static hone_status domain_of(hn_op_registry *r, const char *text, hn_domain *out) {
    *out = hn_domain_find(r, text, strlen(text));
    if (*out != HN_DOMAIN_COUNT)
        return HONE_OK;
    const char *own = hn_arena_copy(r->arena, text, strlen(text) + 1);
    if (!own || !HN_VEC_PUSH(r->arena, &r->domains, own))
        return HONE_E_NOMEM;
    *out = (hn_domain)(HN_DOMAIN_CUSTOM + r->domains.n - 1);
    return HONE_OK;
}

/* An operator may come in several rows, each for later versions than those before. */
static hone_status refuse_taken(const hn_op_registry *r, const hn_op *row, hone_error *err) {
    bool deprecated;
    int since;
    const char *domain = row->domain == HN_DOMAIN_ONNX ? "ai.onnx" : hn_domain_text(r, row->domain);
    if (row->domain == HN_DOMAIN_HONE)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "operator %s.%s cannot be registered: hone keeps that domain for itself",
                       domain, hn_op_name(row));
    if (hn_op_introduced(NULL, row->domain, hn_op_name(row)))
        return hn_fail(err, HONE_E_ARGUMENT,
                       "operator %s.%s cannot be registered: hone has it built in", domain,
                       hn_op_name(row));
    if (hn_op_find(r, row->domain, hn_op_name(row), INT64_MAX, &since, &deprecated) &&
        hn_op_version(row, 0, &deprecated) <= since)
        return hn_fail(err, HONE_E_ARGUMENT,
                       "operator %s.%s cannot be registered: its version %d is registered already",
                       domain, hn_op_name(row), since);
    return HONE_OK;
}

/* The columns of a row, in one string. */
static const char *join_columns(hn_op_registry *r, const hone_op_def *def) {
    const char *columns[] = {def->name,    def->versions, def->inputs,
                             def->outputs, def->types,    def->attributes};
    size_t n = 0;
    for (size_t i = 0; i < HN_COUNT(columns); i++)
        n += strlen(columns[i]) + 1;
    char *text = hn_arena_alloc(r->arena, n), *at = text;
    for (size_t i = 0; text && i < HN_COUNT(columns); i++) {
        memcpy(at, columns[i], strlen(columns[i]) + 1);
        at += strlen(columns[i]) + 1;
    }
    return text;
}

static bool insert_row(hn_op_registry *r, const hn_op *op) {
    if (!HN_VEC_RESERVE(r->arena, &r->rows, 1))
        return false;
    uint32_t at = r->rows.n++;
    for (; at > 0 && hn_op_compare(r->rows.at[at - 1], op->domain, hn_op_name(op)) > 0; at--)
        r->rows.at[at] = r->rows.at[at - 1];
    r->rows.at[at] = op;
    return true;
}

static hone_status add_row(hn_op_registry *r, const hone_op_def *given, hone_error *err) {
    HN_TRY(check_def(r, given, err));
    hone_op_def def = *given;
    def.types = def.types ? def.types : "";
    def.attributes = def.attributes ? def.attributes : "";
    HN_TRY(hn_op_columns_ok(&def, err));
    hn_custom_op *op = HN_NEW(r->arena, hn_custom_op);
    HN_TRY_PTR(op);
    op->def = (hone_op_def){.is_random = def.is_random,
                            .context = def.context,
                            .infer = def.infer,
                            .compute = def.compute,
                            .create = def.create,
                            .destroy = def.destroy};
    op->library = r->loading;
    op->row.infer = hn_infer_custom;
    op->row.impl = hn_impl_custom;
    op->row.text = join_columns(r, &def);
    HN_TRY_PTR(op->row.text);
    HN_TRY(domain_of(r, def.domain, &op->row.domain));
    HN_TRY(refuse_taken(r, &op->row, err));
    return insert_row(r, &op->row) ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_registry_add(hn_op_registry *r, const hone_op_def *def, hone_error *err) {
    uint32_t n_domains = r->domains.n;
    hone_status status = add_row(r, def, err);
    if (status != HONE_OK)
        r->domains.n = n_domains;
    return status;
}

/* ---- rows of providers ----------------------------------------------------------------------- */

static bool has_row(const hn_op_registry *r, const hn_op *row) {
    for (uint32_t i = 0; r && i < r->rows.n; i++)
        if (r->rows.at[i] == row)
            return true;
    return false;
}

static bool copy_registry(hn_op_registry *to, const hn_op_registry *from) {
    for (uint32_t i = 0; from && i < from->rows.n; i++)
        if (!HN_VEC_PUSH(to->arena, &to->rows, from->rows.at[i]))
            return false;
    for (uint32_t i = 0; from && i < from->domains.n; i++)
        if (!HN_VEC_PUSH(to->arena, &to->domains, from->domains.at[i]))
            return false;
    return true;
}

hone_status hn_model_add_ops(hn_model *m, const hn_op_table *table) {
    const hn_op_registry *before = hn_model_ops(m);
    if (has_row(before, &table->rows[0]))
        return HONE_OK;
    hn_op_registry *r = hn_registry_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(r);
    bool ok = copy_registry(r, before);
    for (uint32_t i = 0; ok && i < table->n; i++)
        ok = insert_row(r, &table->rows[i]);
    if (!ok) {
        hn_registry_drop(r);
        return HONE_E_NOMEM;
    }
    atomic_store(&r->is_sealed, true);
    r->base = m->custom_ops; /* whose owner is this registry now */
    m->custom_ops = &r->shared;
    return HONE_OK;
}

/* ---- libraries ------------------------------------------------------------------------------- */

typedef hone_status (*register_ops_fn)(const hone_op_api *hone, hone_op_registry *registry,
                                       hone_error *error);

/* Takes away what a library that failed had registered. */
static void remove_loading(hn_op_registry *r, uint32_t n_domains) {
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < r->rows.n; i++)
        if (custom_op(r->rows.at[i])->library != r->loading)
            r->rows.at[n_kept++] = r->rows.at[i];
    r->rows.n = n_kept;
    r->domains.n = n_domains;
}

static hone_status register_library(hn_op_registry *r, void *library, const char *path,
                                    hone_error *err) {
    uint32_t n_rows = r->rows.n;
    void *symbol = hn_library_symbol(library, "hone_register_ops");
    register_ops_fn register_ops;
    if (!symbol)
        return hn_fail(err, HONE_E_FORMAT,
                       "the library '%s' has no function hone_register_ops: it is none of "
                       "operators for hone",
                       path);
    memcpy(&register_ops, &symbol, sizeof symbol); /* C has no cast from data to functions */
    hone_error own = {.code = HONE_OK};
    hone_status status = register_ops(&hn_op_api, (hone_op_registry *)(void *)r, &own);
    if (status == HONE_OK && r->rows.n == n_rows)
        return hn_fail(err, HONE_E_FORMAT, "the library '%s' registers no operator", path);
    if (status == HONE_OK)
        return HONE_OK;
    status = hn_status_from_outside(status);
    return hn_fail(err, status, "the library '%s' did not register its operators: %s", path,
                   own.message[0] ? own.message : hone_status_text(status));
}

hone_status hn_registry_load(hn_op_registry *r, const char *path, hone_error *err) {
    uint32_t n_domains = r->domains.n;
    void *library;
    if (!HN_VEC_RESERVE(r->arena, &r->libraries, 1))
        return HONE_E_NOMEM;
    HN_TRY(hn_library_open(path, &library, err));
    r->loading = r->libraries.n + 1;
    hone_status status = register_library(r, library, path, err);
    if (status == HONE_OK) {
        r->libraries.at[r->libraries.n++] = library;
    } else {
        remove_loading(r, n_domains);
        hn_library_close(library);
    }
    r->loading = 0;
    return status;
}
