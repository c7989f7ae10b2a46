/* Problems of a check and the operator table as JSON. */
#include "report/report.h"

void hn_problems_json(const hn_problems *p, const char *label, hn_json *j) {
    hn_json_object(j);
    hn_json_key(j, "model");
    hn_json_str(j, label);
    hn_json_key(j, "valid");
    hn_json_bool(j, p->n_errors == 0);
    hn_json_key(j, "errors");
    hn_json_u64(j, p->n_errors);
    hn_json_key(j, "warnings");
    hn_json_u64(j, p->n_warnings);
    hn_json_key(j, "problems");
    hn_json_array(j);
    for (uint32_t i = 0; i < p->list.n; i++) {
        const hn_problem *e = &p->list.at[i];
        hn_json_object(j);
        hn_json_key(j, "severity");
        hn_json_str(j, e->severity == HN_SEVERITY_ERROR ? "error" : "warning");
        hn_json_key(j, "code");
        hn_json_str(j, hone_status_text(e->code));
        hn_json_key(j, "node");
        hn_json_str(j, e->node);
        hn_json_key(j, "op");
        hn_json_str(j, e->op);
        hn_json_key(j, "value");
        hn_json_str(j, e->value);
        hn_json_key(j, "message");
        hn_json_str(j, e->message);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
    hn_json_object_end(j);
}

/* ---- operators ------------------------------------------------------------------------------- */

static void json_count(hn_json *j, const char *key, uint32_t n) {
    hn_json_key(j, key);
    if (n == UINT32_MAX)
        hn_json_null(j);
    else
        hn_json_u64(j, n);
}

/* "tensor(float), map(int64,float)" as an array: only ", " separates. */
static void json_type_list(hn_json *j, const char *text) {
    hn_json_array(j);
    while (*text) {
        const char *end = strstr(text, ", ");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        hn_json_strn(j, text, n);
        text += n + (end ? 2 : 0);
    }
    hn_json_array_end(j);
}

static void json_parameters(hn_json *j, const char *key, const hn_op *op, const char *list,
                            int version) {
    hn_json_key(j, key);
    hn_json_array(j);
    hn_param p;
    for (uint32_t i = 0; hn_op_formal(list, version, i, &p); i++) {
        hn_strbuf types;
        hn_strbuf_init(&types, j->out->alloc);
        hn_op_type_text(op, version, &p, &types);
        hn_json_object(j);
        hn_json_key(j, "name");
        hn_json_strn(j, p.name, p.name_len);
        hn_json_key(j, "type");
        hn_json_strn(j, p.type, p.type_len);
        hn_json_key(j, "types");
        json_type_list(j, types.at ? types.at : "");
        hn_json_key(j, "option");
        hn_json_str(j, p.variadic ? "variadic" : p.optional ? "optional" : "single");
        hn_json_key(j, "heterogeneous");
        hn_json_bool(j, p.heterogeneous);
        hn_json_key(j, "min_arity");
        hn_json_i64(j, p.min_arity);
        hn_json_object_end(j);
        j->out->failed |= types.failed;
        hn_strbuf_free(&types);
    }
    hn_json_array_end(j);
}

static void json_attributes(hn_json *j, const hn_op *op, int version) {
    static const char *const kinds[] = {
        "undefined",      "float",      "int",        "string",  "tensor", "graph",
        "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
        "sparse_tensors", "type_proto", "type_protos"};
    hn_json_key(j, "attributes");
    hn_json_array(j);
    hn_attr_spec a;
    for (uint32_t i = 0; hn_op_attr(op, version, i, &a); i++) {
        hn_json_object(j);
        hn_json_key(j, "name");
        hn_json_strn(j, a.name, a.name_len);
        hn_json_key(j, "kind");
        hn_json_str(j, kinds[a.kind]);
        hn_json_key(j, "required");
        hn_json_bool(j, a.required);
        hn_json_key(j, "default");
        if (a.def)
            hn_json_strn(j, a.def, a.def_len);
        else
            hn_json_null(j);
        hn_json_object_end(j);
    }
    hn_json_array_end(j);
}

static void json_op(hn_json *j, const hn_op *op, int version, bool deprecated) {
    uint32_t min, max;
    hn_json_object(j);
    hn_json_key(j, "domain");
    hn_json_str(j, op->domain == HN_DOMAIN_ONNX ? "ai.onnx" : hn_domain_text(NULL, op->domain));
    hn_json_key(j, "name");
    hn_json_str(j, hn_op_name(op));
    hn_json_key(j, "since_version");
    hn_json_i64(j, version);
    hn_json_key(j, "deprecated");
    hn_json_bool(j, deprecated);
    hn_json_key(j, "extension");
    hn_json_bool(j, hn_op_is_extension(op));
    hn_json_key(j, "can_run");
    hn_json_bool(j, op->impl != NULL);
    hn_op_arity(hn_op_text(op, HN_OP_INPUTS), version, &min, &max);
    json_count(j, "min_inputs", min);
    json_count(j, "max_inputs", max);
    hn_op_arity(hn_op_text(op, HN_OP_OUTPUTS), version, &min, &max);
    json_count(j, "min_outputs", min);
    json_count(j, "max_outputs", max);
    json_parameters(j, "inputs", op, hn_op_text(op, HN_OP_INPUTS), version);
    json_parameters(j, "outputs", op, hn_op_text(op, HN_OP_OUTPUTS), version);
    json_attributes(j, op, version);
    hn_json_object_end(j);
}

void hn_ops_json(hn_json *j) {
    hn_json_array(j);
    for (uint32_t row = 0; row < hn_op_count(NULL); row++) {
        const hn_op *op = hn_op_row(NULL, row);
        bool deprecated;
        int version;
        for (uint32_t k = 0; (version = hn_op_version(op, k, &deprecated)) != 0; k++)
            json_op(j, op, version, deprecated);
    }
    hn_json_array_end(j);
}
