/* The table that rules of others call: writing. What they hand over is copied, and not believed. */
#include "pass/engine/custom_rule.h"

#define MAX_PORTS 4096       /* inputs, outputs or attributes of one node */
#define MAX_LIST_ELEMS 65536 /* of one attribute */

/* ---- attributes ------------------------------------------------------------------------------ */

/* Kinds that a rule can write, with what must be there. */
static bool is_writable(const hone_attribute_info *a) {
    if (!a->name || !*a->name || a->n > MAX_LIST_ELEMS)
        return false;
    switch (a->kind) {
    case HONE_ATTRIBUTE_INT:
    case HONE_ATTRIBUTE_FLOAT:
        return true;
    case HONE_ATTRIBUTE_STRING:
        return a->s != NULL;
    case HONE_ATTRIBUTE_INTS:
        return a->ints || a->n == 0;
    case HONE_ATTRIBUTE_FLOATS:
        return a->floats || a->n == 0;
    default:
        return false;
    }
}

static hn_attr written_attribute(hn_rule *r, const hone_attribute_info *a) {
    switch (a->kind) {
    case HONE_ATTRIBUTE_INT:
        return hn_new_i(r, a->name, a->i);
    case HONE_ATTRIBUTE_FLOAT:
        return hn_new_f(r, a->name, a->f);
    case HONE_ATTRIBUTE_STRING:
        return hn_new_bytes(r, a->name, a->s, a->s_bytes);
    case HONE_ATTRIBUTE_INTS:
        return hn_new_ints(r, a->name, a->n, a->ints);
    default:
        return hn_new_floats(r, a->name, a->n, a->floats);
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

uint32_t hn_site_make(hone_rule_site *site, const char *op, uint32_t n_inputs,
                      const uint32_t *inputs, uint32_t n_outputs, uint32_t n_attributes,
                      const hone_attribute_info *attributes) {
    hn_rule *r = site->rule;
    const char *dot = op ? strrchr(op, '.') : NULL;
    if (!op || !*op || dot == op || (dot && !dot[1]))
        return hn_site_refuse(site, "the rule writes an operator without a name");
    if (n_inputs > MAX_PORTS || n_outputs > MAX_PORTS || n_attributes > MAX_PORTS ||
        n_outputs == 0 || (n_inputs && !inputs) || (n_attributes && !attributes))
        return hn_site_refuse(site,
                              "the rule writes %s with %u inputs, %u outputs and %u attributes", op,
                              n_inputs, n_outputs, n_attributes);
    hn_attr *attrs = HN_NEW_N(r->pass->rule_scratch, hn_attr, (size_t)n_attributes + 1);
    if (!attrs)
        hn_patch_fail(r->patch, HONE_E_NOMEM);
    for (uint32_t i = 0; attrs && i < n_attributes; i++) {
        if (!is_writable(&attributes[i]))
            return hn_site_refuse(site,
                                  "attribute %u of %s has no name, no value, or a kind that "
                                  "rules do not write",
                                  i, op);
        attrs[i] = written_attribute(r, &attributes[i]);
    }
    return attrs ? hn_make(r, op, n_inputs, inputs, n_outputs, n_attributes, attrs) : HN_NONE;
}

/* ---- constants ------------------------------------------------------------------------------- */

uint32_t hn_site_make_constant(hone_rule_site *site, const hone_tensor_info *tensor) {
    hn_rule *r = site->rule;
    hn_dtype elem = (hn_dtype)tensor->elem_type;
    uint64_t n_elems = 1, bytes;
    bool ok = hn_dtype_bits(elem) > 0 && tensor->rank >= 0 && tensor->rank <= HN_MAX_RANK &&
              (tensor->dims || tensor->rank == 0);
    for (int32_t i = 0; ok && i < tensor->rank; i++)
        ok = tensor->dims[i] >= 0 && hn_mul_u64(n_elems, (uint64_t)tensor->dims[i], &n_elems);
    ok = ok && hn_dtype_bytes(elem, n_elems, &bytes) && (tensor->data || bytes == 0);
    if (!ok)
        return hn_site_refuse(site, "the rule writes a constant of no known type or shape, or "
                                    "without data");
    return hn_new_const(r, "const",
                        hn_tensor_new(r->pass->model->arena, elem, tensor->rank, tensor->dims,
                                      tensor->data, false));
}

uint32_t hn_site_make_number(hone_rule_site *site, int32_t elem_type, double number) {
    hn_dtype elem = (hn_dtype)elem_type;
    if (!hn_dtype_is_float(elem) && !hn_dtype_is_int(elem) && elem != HN_BOOL)
        return hn_site_refuse(site, "the rule writes a number of type %d", elem_type);
    return hn_new_const_f(site->rule, "number", elem, number);
}

void hn_site_replace(hone_rule_site *site, uint32_t value, uint32_t with) {
    hn_rule *r = site->rule;
    if (value < r->g->values.n)
        hn_rule_replace_value(r, value, with);
    else
        hn_site_refuse(site, "the rule replaces a value that is not in the graph");
}
