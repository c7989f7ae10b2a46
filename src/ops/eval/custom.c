/* Registered operators: the table that their functions call, and what all of them may ask. */
#include "ops/custom.h"
#include "ops/schema/schema_int.h"

/* ---- failing --------------------------------------------------------------------------------- */

hone_status hn_custom_refuse(hone_op_node *node, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hn_failv(node->err, HONE_E_INVALID, fmt, args);
    va_end(args);
    node->refused = HONE_E_INVALID;
    return HONE_E_INVALID;
}

hone_status hn_custom_end(hone_op_node *node, const char *function, hone_status status) {
    status = status == HONE_OK ? node->refused : hn_status_from_outside(status);
    bool is_stopped = node->is_computing && hn_eval_stopped(node->eval);
    if (status == HONE_E_CANCELLED && !is_stopped) /* the run would be told as stopped */
        status = HONE_E_INTERNAL;
    if (status != HONE_OK && status != HONE_E_NOMEM)
        hn_fail(node->err, status, "the operator's own %s failed: %s", function,
                hone_status_text(status)); /* unless it has said more itself */
    return status;
}

static hone_status custom_fail(hone_op_node *node, hone_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    code = code == HONE_OK ? HONE_E_INTERNAL : hn_status_from_outside(code);
    hn_failv(node->err, code, format, args);
    va_end(args);
    return code;
}

static hone_status custom_register(hone_op_registry *registry, const hone_op_def *op,
                                   hone_error *error) {
    return hn_error_complete(error, hn_registry_add((hn_op_registry *)(void *)registry, op, error));
}

/* ---- the node -------------------------------------------------------------------------------- */

static void *custom_context(const hone_op_node *node) {
    return hn_custom_of(node)->def.context;
}

static int custom_version(const hone_op_node *node) {
    return hn_infer_version(node->infer);
}

static uint32_t custom_n_inputs(const hone_op_node *node) {
    return hn_n_inputs(node->infer);
}

static uint32_t custom_n_outputs(const hone_op_node *node) {
    return hn_n_outputs(node->infer);
}

static bool custom_has_input(const hone_op_node *node, uint32_t i) {
    return hn_has_input(node->infer, i);
}

static bool custom_has_output(const hone_op_node *node, uint32_t i) {
    return hn_has_output(node->infer, i);
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* The attribute as written, if it is of that kind; else, in *spec, what the notation says of it. */
static const hn_attr *written_attr(const hone_op_node *node, const char *name, hn_attr_kind kind,
                                   hn_attr_spec *spec) {
    const hn_attr *a = hn_attr_raw(node->infer, name);
    if (a && a->kind == kind)
        return a;
    if (!hn_op_attr_find(node->infer->op, node->infer->version, name, strlen(name), spec) ||
        spec->kind != kind)
        *spec = (hn_attr_spec){0};
    return NULL;
}

static bool custom_attr_int(const hone_op_node *node, const char *name, int64_t *value) {
    hn_attr_spec spec;
    const hn_attr *a = written_attr(node, name, HN_ATTR_INT, &spec);
    if (a)
        *value = a->v.i;
    return a || hn_attr_spec_i64(&spec, 0, value);
}

static bool custom_attr_float(const hone_op_node *node, const char *name, float *value) {
    hn_attr_spec spec;
    const hn_attr *a = written_attr(node, name, HN_ATTR_FLOAT, &spec);
    if (a)
        *value = a->v.f;
    return a || hn_attr_spec_f32(&spec, 0, value);
}

static bool custom_attr_ints(const hone_op_node *node, const char *name, uint32_t *n,
                             const int64_t **values) {
    return hn_attr_ints(node->infer, name, n, values);
}

static bool custom_attr_floats(const hone_op_node *node, const char *name, uint32_t *n,
                               const float **values) {
    hn_attr_spec spec;
    const hn_attr *a = written_attr(node, name, HN_ATTR_FLOATS, &spec);
    if (a) {
        *n = a->n;
        *values = a->v.floats;
        return true;
    }
    float *list =
        spec.def ? HN_NEW_N(hn_infer_arena(node->infer), float, (size_t)spec.def_len + 1) : NULL;
    if (!list)
        return false;
    *n = 0;
    while (hn_attr_spec_f32(&spec, *n, &list[*n]))
        ++*n;
    *values = list;
    return true;
}

static bool give_string(hn_bytes s, const char **text, size_t *n_bytes) {
    *text = s.n ? s.at : "";
    *n_bytes = (size_t)s.n;
    return true;
}

/* k-th word of a default. */
static bool default_string(const hn_attr_spec *spec, uint32_t k, hn_bytes *out) {
    hn_span rest = {spec->def, spec->def ? spec->def_len : 0}, item;
    if (spec->kind == HN_ATTR_STRING) {
        *out = (hn_bytes){spec->def, spec->def_len};
        return spec->def && k == 0;
    }
    while (hn_span_cut(&rest, ',', &item))
        if (k-- == 0) {
            *out = (hn_bytes){item.at, item.n};
            return true;
        }
    return false;
}

static bool custom_attr_string(const hone_op_node *node, const char *name, uint32_t k,
                               const char **text, size_t *n_bytes) {
    hn_attr_spec one_spec, list_spec;
    hn_bytes s;
    const hn_attr *one = written_attr(node, name, HN_ATTR_STRING, &one_spec);
    const hn_attr *list = written_attr(node, name, HN_ATTR_STRINGS, &list_spec);
    if (one || list) {
        if (k >= (one ? 1 : list->n))
            return false;
        s = one ? one->v.s : list->v.strings[k];
    } else if (!default_string(&one_spec, k, &s) && !default_string(&list_spec, k, &s)) {
        return false;
    }
    return give_string(s, text, n_bytes);
}

/* Data that a file does not hold in full is none. */
static bool describe_tensor(const hn_tensor *t, hone_tensor_info *info) {
    uint64_t bytes = 0;
    bool is_whole = t->dtype == HN_STRING ? !t->n_elems || t->strings
                                          : hn_dtype_bytes(t->dtype, t->n_elems, &bytes) &&
                                                bytes <= t->data_bytes && (!bytes || t->data);
    if (!is_whole)
        return false;
    *info = (hone_tensor_info){.name = hn_s(t->name),
                               .elem_type = (int32_t)t->dtype,
                               .rank = t->rank,
                               .dims = t->dims,
                               .n_elements = t->n_elems,
                               .data = t->data,
                               .data_bytes = bytes};
    return true;
}

static bool custom_attr_tensor(const hone_op_node *node, const char *name,
                               hone_tensor_info *tensor) {
    const hn_attr *a = hn_attr_raw(node->infer, name);
    return a && a->kind == HN_ATTR_TENSOR && describe_tensor(a->v.tensor, tensor);
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool custom_input(const hone_op_node *node, uint32_t i, hone_tensor_info *tensor) {
    if (!node->eval) {
        const hn_tensor *t = hn_in_const(node->infer, i);
        return t && describe_tensor(t, tensor);
    }
    const hn_array *a = hn_arg(node->eval, i);
    if (!a)
        return false;
    uint64_t bytes = 0;
    hn_dtype_bytes(a->dtype, a->n_elems, &bytes);
    *tensor = (hone_tensor_info){.name = "",
                                 .elem_type = (int32_t)a->dtype,
                                 .rank = a->rank,
                                 .dims = a->dims,
                                 .n_elements = a->n_elems,
                                 .data = a->dtype == HN_STRING ? NULL : a->data,
                                 .data_bytes = bytes};
    return true;
}

static bool custom_input_string(const hone_op_node *node, uint32_t i, uint64_t k, const char **text,
                                size_t *n_bytes) {
    const hn_tensor *t = node->eval ? NULL : hn_in_const(node->infer, i);
    const hn_array *a = node->eval ? hn_arg(node->eval, i) : NULL;
    if (t && t->dtype == HN_STRING && t->strings && k < t->n_elems)
        return give_string(t->strings[k], text, n_bytes);
    if (a && a->dtype == HN_STRING && k < a->n_elems)
        return give_string(((const hn_bytes *)a->data)[k], text, n_bytes);
    return false;
}

static hn_dtype input_elem(const hone_op_node *node, uint32_t i) {
    const hn_array *a = node->eval ? hn_arg(node->eval, i) : NULL;
    return a ? a->dtype : hn_in_elem(node->infer, i);
}

bool hn_custom_elem_fits(const hone_op_node *node, uint32_t i, int32_t elem_type) {
    const hn_op *op = node->infer->op;
    int version = node->infer->version;
    hn_param out, in;
    hn_type t = {.kind = HN_TYPE_TENSOR, .elem = (hn_dtype)elem_type};
    if (elem_type <= 0 || elem_type >= HN_DTYPE_COUNT ||
        !hn_op_param(hn_op_text(op, HN_OP_OUTPUTS), version, i, &out) ||
        !hn_op_type_allowed(op, version, &out, &t))
        return false;
    for (uint32_t k = 0; k < hn_n_inputs(node->infer) && !out.heterogeneous; k++) {
        hn_dtype elem = input_elem(node, k);
        if (hn_op_param(hn_op_text(op, HN_OP_INPUTS), version, k, &in) && !in.heterogeneous &&
            in.type_len == out.type_len && memcmp(in.type, out.type, in.type_len) == 0 &&
            elem != HN_UNDEFINED && elem != t.elem)
            return false;
    }
    return true;
}

const hone_op_api hn_op_api = {
    .abi = HONE_OP_ABI,
    .register_op = custom_register,
    .context = custom_context,
    .version = custom_version,
    .n_inputs = custom_n_inputs,
    .n_outputs = custom_n_outputs,
    .has_input = custom_has_input,
    .has_output = custom_has_output,
    .attr_int = custom_attr_int,
    .attr_float = custom_attr_float,
    .attr_ints = custom_attr_ints,
    .attr_floats = custom_attr_floats,
    .attr_string = custom_attr_string,
    .attr_tensor = custom_attr_tensor,
    .input = custom_input,
    .input_string = custom_input_string,
    .fail = custom_fail,
    .input_elem_type = hn_custom_input_elem_type,
    .input_rank = hn_custom_input_rank,
    .input_dim = hn_custom_input_dim,
    .input_dims = hn_custom_input_dims,
    .dim_apply = hn_custom_dim_apply,
    .output_shape = hn_custom_output_shape,
    .output_type = hn_custom_output_type,
    .output_like = hn_custom_output_like,
    .output = hn_custom_output,
    .output_string = hn_custom_output_string,
    .scratch = hn_custom_scratch,
    .parallel_for = hn_custom_parallel_for,
    .is_stopped = hn_custom_is_stopped,
};
