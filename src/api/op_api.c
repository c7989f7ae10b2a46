/* hone.h: the operator table. An index counts (row, since-version) pairs in table order. */
#include "api/api_int.h"
#include "ops/ops.h"

#include <stdio.h>

static uint32_t n_versions(const hn_op *op) {
    bool deprecated;
    uint32_t n = 0;
    while (hn_op_version(op, n, &deprecated))
        n++;
    return n;
}

static const hn_op *op_at(uint32_t index, int *version, bool *deprecated) {
    for (uint32_t row = 0; row < hn_op_count(NULL); row++) {
        const hn_op *op = hn_op_row(NULL, row);
        uint32_t n = n_versions(op);
        if (index < n) {
            *version = hn_op_version(op, index, deprecated);
            return op;
        }
        index -= n;
    }
    return NULL;
}

uint32_t hone_op_count(void) {
    uint32_t n = 0;
    for (uint32_t row = 0; row < hn_op_count(NULL); row++)
        n += n_versions(hn_op_row(NULL, row));
    return n;
}

static uint32_t n_formals(const char *list, int version) {
    hn_param p;
    uint32_t n = 0;
    while (hn_op_formal(list, version, n, &p))
        n++;
    return n;
}

bool hone_op_get(uint32_t op, hone_op_info *info) {
    int version;
    bool deprecated;
    const hn_op *row = op_at(op, &version, &deprecated);
    if (!row)
        return false;
    *info = (hone_op_info){
        .domain = row->domain == HN_DOMAIN_ONNX ? "ai.onnx" : hn_domain_text(NULL, row->domain),
        .name = hn_op_name(row),
        .since_version = version,
        .is_deprecated = deprecated,
        .is_extension = hn_op_is_extension(row),
        .can_run = row->impl != NULL,
        .n_inputs = n_formals(hn_op_text(row, HN_OP_INPUTS), version),
        .n_outputs = n_formals(hn_op_text(row, HN_OP_OUTPUTS), version)};
    hn_op_arity(hn_op_text(row, HN_OP_INPUTS), version, &info->min_inputs, &info->max_inputs);
    hn_op_arity(hn_op_text(row, HN_OP_OUTPUTS), version, &info->min_outputs, &info->max_outputs);
    hn_attr_spec spec;
    while (hn_op_attr(row, version, info->n_attributes, &spec))
        info->n_attributes++;
    return true;
}

bool hone_op_get_parameter(uint32_t op, bool is_output, uint32_t i, hone_op_parameter *parameter) {
    int version;
    bool deprecated;
    hn_param p;
    const hn_op *row = op_at(op, &version, &deprecated);
    if (!row ||
        !hn_op_formal(is_output ? hn_op_text(row, HN_OP_OUTPUTS) : hn_op_text(row, HN_OP_INPUTS),
                      version, i, &p))
        return false;
    *parameter = (hone_op_parameter){.is_optional = p.optional,
                                     .is_variadic = p.variadic,
                                     .is_heterogeneous = p.heterogeneous,
                                     .min_arity = p.min_arity};
    snprintf(parameter->name, sizeof parameter->name, "%.*s", (int)p.name_len, p.name);
    snprintf(parameter->type, sizeof parameter->type, "%.*s", (int)p.type_len, p.type);
    return true;
}

size_t hone_op_parameter_types(uint32_t op, bool is_output, uint32_t i, char *text,
                               size_t text_size) {
    int version;
    bool deprecated;
    hn_param p;
    hn_strbuf b;
    hn_strbuf_init(&b, NULL);
    const hn_op *row = op_at(op, &version, &deprecated);
    if (row &&
        hn_op_formal(is_output ? hn_op_text(row, HN_OP_OUTPUTS) : hn_op_text(row, HN_OP_INPUTS),
                     version, i, &p))
        hn_op_type_text(row, version, &p, &b);
    return hn_api_give_text(&b, text, text_size);
}

bool hone_op_get_attribute(uint32_t op, uint32_t i, hone_op_attribute *attribute) {
    int version;
    bool deprecated;
    hn_attr_spec spec;
    const hn_op *row = op_at(op, &version, &deprecated);
    if (!row || !hn_op_attr(row, version, i, &spec))
        return false;
    *attribute = (hone_op_attribute){.kind = (hone_attribute_kind)spec.kind,
                                     .is_required = spec.required,
                                     .has_default = spec.def != NULL};
    snprintf(attribute->name, sizeof attribute->name, "%.*s", (int)spec.name_len, spec.name);
    if (spec.def)
        snprintf(attribute->default_text, sizeof attribute->default_text, "%.*s", (int)spec.def_len,
                 spec.def);
    return true;
}

uint32_t hone_op_find(const char *domain, const char *name, int64_t opset_version) {
    hn_domain d = domain ? hn_domain_find(NULL, domain, strlen(domain)) : HN_DOMAIN_ONNX;
    int since;
    bool deprecated;
    const hn_op *found = d == HN_DOMAIN_COUNT || !name
                             ? NULL
                             : hn_op_find(NULL, d, name, opset_version, &since, &deprecated);
    uint32_t index = 0;
    for (uint32_t row = 0; found && row < hn_op_count(NULL); row++) {
        const hn_op *op = hn_op_row(NULL, row);
        for (uint32_t k = 0; k < n_versions(op); k++, index++)
            if (op == found && hn_op_version(op, k, &deprecated) == since)
                return index;
    }
    return HONE_NONE;
}
