/* The QOperator format: DequantizeLinear, float operator and QuantizeLinear become one operator on
 * integers. */
#include "quant/quant_int.h"

typedef enum qform {
    QFORM_CONV,     /* x w y bias */
    QFORM_MATMUL,   /* a b y; without y another operator, in another order */
    QFORM_GEMM,     /* a b bias y? */
    QFORM_OPERANDS, /* each input with its parameters, then those of the output */
    QFORM_CONCAT,   /* parameters of the output, then each input with its own */
    QFORM_MOVE      /* the same operator */
} qform;

typedef struct qoperator_row {
    const char *op, *name, *domain;
    qform form;
} qoperator_row;

#define MS "com.microsoft"
static const qoperator_row qoperator_rows[] = {
    {"Conv", "QLinearConv", "", QFORM_CONV},
    {"MatMul", "QLinearMatMul", "", QFORM_MATMUL},
    {"Gemm", "QGemm", MS, QFORM_GEMM},
    {"Add", "QLinearAdd", MS, QFORM_OPERANDS},
    {"Mul", "QLinearMul", MS, QFORM_OPERANDS},
    {"AveragePool", "QLinearAveragePool", MS, QFORM_OPERANDS},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", MS, QFORM_OPERANDS},
    {"Sigmoid", "QLinearSigmoid", MS, QFORM_OPERANDS},
    {"LeakyRelu", "QLinearLeakyRelu", MS, QFORM_OPERANDS},
    {"Concat", "QLinearConcat", MS, QFORM_CONCAT},
    {"MaxPool", "MaxPool", "", QFORM_MOVE},
    {"Reshape", "Reshape", "", QFORM_MOVE},
    {"Transpose", "Transpose", "", QFORM_MOVE},
    {"Squeeze", "Squeeze", "", QFORM_MOVE},
    {"Unsqueeze", "Unsqueeze", "", QFORM_MOVE},
    {"Flatten", "Flatten", "", QFORM_MOVE},
    {"Slice", "Slice", "", QFORM_MOVE},
    {"Gather", "Gather", "", QFORM_MOVE},
    {"Resize", "Resize", "", QFORM_MOVE},
};

/* A tensor of integers and its parameters. */
typedef struct qoperand {
    hn_id q, scale, zero; /* HN_NONE: there is none */
} qoperand;

typedef struct qoperator_job {
    hn_model *m;
    hn_graph *g;
    hn_arena *scratch;
    hn_patch *patch;
    hn_id node;
    bool allows_ms;
    HN_VEC(hn_id) inputs; /* of the new node */
} qoperator_job;

/* ---- the group ------------------------------------------------------------------------------------ */

static bool is_onnx_op(const hn_node *n, const char *op) {
    return hn_domain_is_onnx(n->domain) && hn_str_is(n->op, op);
}

static bool quantized_operand(const hn_graph *g, hn_id value, qoperand *out) {
    hn_id producer = value == HN_NONE ? HN_NONE : hn_value_at(g, value)->producer;
    if (producer == HN_NONE || !is_onnx_op(hn_node_at(g, producer), "DequantizeLinear") ||
        hn_node_attr(hn_node_at(g, producer), "block_size"))
        return false;
    *out = (qoperand){hn_quant_input(g, producer, 0), hn_quant_input(g, producer, 1),
                      hn_quant_input(g, producer, 2)};
    return true;
}

/* A weight with one scale, or with one per output channel. */
static bool quantized_weight(const hn_graph *g, hn_id node, qoperand *out) {
    hn_id value = hn_quant_input(g, node, 1);
    if (!quantized_operand(g, value, out))
        return false;
    const hn_tensor *q = hn_value_at(g, out->q)->init;
    const hn_attr *axis = hn_node_attr(hn_node_at(g, hn_value_at(g, value)->producer), "axis");
    return !q || !axis || axis->v.i == hn_quant_channel_axis(g, node, q);
}

/* The QuantizeLinear that alone reads the output; HN_NONE: it is read as floats. */
static hn_id quantizer_of(const hn_graph *g, hn_id node) {
    const hn_node *n = hn_node_at(g, node);
    const hn_value *v = hn_value_at(g, n->outputs[0]);
    bool is_single = n->n_outputs == 1 && v->uses.n == 1 && v->uses.at[0].node != HN_NONE;
    hn_id reader = is_single ? v->uses.at[0].node : HN_NONE;
    return reader != HN_NONE && is_onnx_op(hn_node_at(g, reader), "QuantizeLinear") ? reader
                                                                                    : HN_NONE;
}

/* A zero point where the file leaves it out, in the shape of the scale. */
static hn_id zero_of(qoperator_job *job, const qoperand *x) {
    void *data;
    const hn_type *t = hn_value_at(job->g, x->q)->type;
    const hn_tensor *scale = hn_value_at(job->g, x->scale)->init;
    if (x->zero != HN_NONE || !scale)
        return x->zero;
    const hn_tensor *zero =
        t && t->kind == HN_TYPE_TENSOR
            ? hn_tensor_blank(job->m->arena, t->elem, scale->rank, scale->dims, &data)
            : NULL;
    return zero ? hn_patch_const(job->patch, 0, "zero_point", zero) : HN_NONE;
}

static bool push_input(qoperator_job *job, hn_id value) {
    return HN_VEC_PUSH(job->scratch, &job->inputs, value);
}

static bool push_operand(qoperator_job *job, const qoperand *x) {
    hn_id zero = zero_of(job, x);
    return zero != HN_NONE && push_input(job, x->q) && push_input(job, x->scale) &&
           push_input(job, zero);
}

static bool push_params(qoperator_job *job, hn_id quantizer) {
    return push_input(job, hn_quant_input(job->g, quantizer, 1)) &&
           push_input(job, hn_quant_input(job->g, quantizer, 2));
}

/* ---- forms ------------------------------------------------------------------------------------------ */

static bool has_equal_params(const hn_graph *g, const qoperand *x, hn_id quantizer) {
    return x->scale == hn_quant_input(g, quantizer, 1) &&
           x->zero == hn_quant_input(g, quantizer, 2);
}

static bool push_product(qoperator_job *job, const qoperator_row *row, hn_id quantizer) {
    hn_id *in = hn_node_at(job->g, job->node)->inputs;
    qoperand a, b, bias = {HN_NONE, HN_NONE, HN_NONE};
    hn_id third = hn_quant_input(job->g, job->node, 2);
    if (!quantized_operand(job->g, in[0], &a) || !quantized_weight(job->g, job->node, &b) ||
        (third != HN_NONE && !quantized_operand(job->g, third, &bias)))
        return false;
    if (row->form == QFORM_MATMUL && quantizer == HN_NONE) /* MatMulIntegerToFloat */
        return push_input(job, a.q) && push_input(job, b.q) && push_input(job, a.scale) &&
               push_input(job, b.scale) && push_input(job, zero_of(job, &a)) &&
               push_input(job, zero_of(job, &b));
    bool ok = push_operand(job, &a) && push_operand(job, &b);
    if (row->form == QFORM_GEMM && (bias.q != HN_NONE || quantizer != HN_NONE))
        ok = ok && push_input(job, bias.q);
    if (quantizer != HN_NONE)
        ok = ok && push_params(job, quantizer);
    if (row->form == QFORM_CONV && bias.q != HN_NONE)
        ok = ok && push_input(job, bias.q);
    return ok;
}

static bool push_operands(qoperator_job *job, const qoperator_row *row, hn_id quantizer) {
    const hn_node *n = hn_node_at(job->g, job->node);
    bool ok = row->form != QFORM_CONCAT || push_params(job, quantizer);
    for (uint32_t i = 0; i < n->n_inputs && ok; i++) {
        qoperand x;
        ok = quantized_operand(job->g, n->inputs[i], &x) && push_operand(job, &x);
    }
    return ok && (row->form == QFORM_CONCAT || push_params(job, quantizer));
}

static bool push_move(qoperator_job *job, hn_id quantizer) {
    const hn_node *n = hn_node_at(job->g, job->node);
    qoperand x;
    if (!quantized_operand(job->g, n->inputs[0], &x) || !has_equal_params(job->g, &x, quantizer))
        return false;
    bool ok = push_input(job, x.q);
    for (uint32_t i = 1; i < n->n_inputs && ok; i++)
        ok = push_input(job, n->inputs[i]);
    return ok;
}

/* ---- all --------------------------------------------------------------------------------------------- */

hone_status hn_quant_import_domain(hn_model *m, hn_str domain) {
    hn_opset import = {.domain = domain, .version = 1};
    if (!domain || domain->n == 0 || hn_opset_version(&m->opsets, domain) >= 0)
        return HONE_OK;
    return HN_VEC_PUSH(m->arena, &m->opsets, import) ? HONE_OK : HONE_E_NOMEM;
}

static hone_status write_qoperator(qoperator_job *job, const qoperator_row *row, hn_id quantizer,
                                   hone_error *err) {
    const hn_node *n = hn_node_at(job->g, job->node);
    bool is_float = row->form == QFORM_MATMUL && quantizer == HN_NONE;
    hn_strtab *names = job->m->names;
    hn_str op = hn_intern_z(names, is_float ? "MatMulIntegerToFloat" : row->name);
    const char *domain_name = is_float ? MS : row->domain;
    hn_str domain = *domain_name ? hn_intern_z(names, domain_name) : NULL;
    hn_attr *attrs = HN_NEW_N(job->scratch, hn_attr, (size_t)n->n_attrs + 1);
    uint32_t n_attrs = 0;
    HN_TRY_PTR(attrs);
    for (uint32_t i = 0; i < n->n_attrs; i++) /* QGemm has no beta */
        if (!hn_str_is(n->attrs[i].name, "beta"))
            attrs[n_attrs++] = n->attrs[i];
    hn_id replaced = n->outputs[0], before = job->node;
    if (quantizer != HN_NONE)
        replaced = hn_node_at(job->g, quantizer)->outputs[0];
    hn_id node = hn_patch_node(job->patch, before, domain, op, n->name, job->inputs.n,
                               job->inputs.at, 1, n_attrs, attrs);
    hn_patch_replace(job->patch, replaced, hn_patch_output(job->patch, node, 0));
    if (hn_arena_has_failed(job->m->arena))
        return HONE_E_NOMEM;
    HN_TRY(hn_quant_import_domain(job->m, domain));
    return hn_patch_apply(job->patch, job->g, err);
}

static hone_status convert_to_qoperator(qoperator_job *job, const qoperator_row *row,
                                        hone_error *err) {
    hn_id quantizer = quantizer_of(job->g, job->node);
    bool takes_float = job->allows_ms && (row->form == QFORM_MATMUL || row->form == QFORM_GEMM), ok;
    if (*row->domain && !job->allows_ms)
        return HONE_OK;
    if (quantizer == HN_NONE && !takes_float)
        return HONE_OK;
    if (quantizer != HN_NONE && hn_quant_input(job->g, quantizer, 2) == HN_NONE)
        return HONE_OK;
    job->inputs.n = 0;
    job->patch = hn_patch_new(job->scratch, job->g);
    HN_TRY_PTR(job->patch);
    if (row->form == QFORM_MOVE)
        ok = push_move(job, quantizer);
    else if (row->form == QFORM_OPERANDS || row->form == QFORM_CONCAT)
        ok = push_operands(job, row, quantizer);
    else
        ok = push_product(job, row, quantizer);
    return ok ? write_qoperator(job, row, quantizer, err) : HONE_OK;
}

hone_status hn_quant_to_qoperators(hn_model *m, bool allows_ms, hone_error *err) {
    qoperator_job job = {.m = m, .g = m->graph, .allows_ms = allows_ms};
    HN_TRY(hn_infer_model(m, &(hn_infer_options){0}, err));
    job.scratch = hn_arena_new(hn_arena_allocator(m->arena));
    HN_TRY_PTR(job.scratch);
    hone_status status = HONE_OK;
    uint32_t n_nodes = job.g->nodes.n;
    for (hn_id id = 0; id < n_nodes && status == HONE_OK; id++) {
        job.node = id;
        for (size_t i = 0; i < HN_COUNT(qoperator_rows) && status == HONE_OK; i++)
            if (hn_node_at(job.g, id)->block == 0 &&
                is_onnx_op(hn_node_at(job.g, id), qoperator_rows[i].op))
                status = convert_to_qoperator(&job, &qoperator_rows[i], err);
    }
    hn_arena_free(job.scratch);
    if (status == HONE_OK && hn_graph_remove_dead(job.g, true) == HN_NONE)
        status = HONE_E_NOMEM;
    return status;
}
