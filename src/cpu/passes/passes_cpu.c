/* The table of the processor's passes, and what they share. */
#include "cpu/passes/passes_cpu.h"

#define HN_PASS HN_PASS_ROW
static const hn_pass_row cpu_pass_rows[] = {
#include "cpu/passes/passes_cpu.def"
};
#undef HN_PASS

const hn_pass_table hn_cpu_passes = {cpu_pass_rows, HN_COUNT(cpu_pass_rows)};

bool hn_is_own(const hn_rule *r, hn_id node, const char *op) {
    const hn_node *n = hn_at(r, node);
    return n->domain && hn_str_is(n->domain, "hone") && hn_str_is(n->op, op);
}

static bool has_attr_of(const hn_attr *attr, uint32_t n, const hn_attr *among) {
    for (uint32_t i = 0; i < n; i++)
        if (among[i].name == attr->name)
            return true;
    return false;
}

hn_id hn_make_own(hn_rule *r, hn_id node, const char *op, uint32_t n_in, const hn_id *in,
                  uint32_t n_attrs, const hn_attr *attrs) {
    const hn_node *n = hn_at(r, node);
    hn_strtab *names = r->pass->model->names;
    hn_attr *all = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n->n_attrs + n_attrs + 1);
    hn_str domain = hn_intern_z(names, "hone"), type = hn_intern_z(names, op);
    int since;
    bool deprecated;
    hn_attr_spec spec;
    const hn_op *row =
        hn_op_find(hn_model_ops(r->pass->model), HN_DOMAIN_HONE, op, 1, &since, &deprecated);
    if (!all || !domain || !type || !row) {
        hn_patch_fail(r->patch, HONE_E_NOMEM);
        return HN_NONE;
    }
    uint32_t n_all = 0;
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (hn_op_attr_find(row, since, n->attrs[i].name->s, n->attrs[i].name->n, &spec) &&
            !has_attr_of(&n->attrs[i], n_attrs, attrs))
            all[n_all++] = n->attrs[i];
    for (uint32_t i = 0; i < n_attrs; i++)
        all[n_all++] = attrs[i];
    while (n_in > 0 && in[n_in - 1] == HN_NONE)
        n_in--;
    return hn_patch_node(r->patch, r->before, domain, type, n->name, n_in, in, 1, n_all, all);
}
