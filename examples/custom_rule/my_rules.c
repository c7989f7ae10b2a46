/* Two rules for hone's optimizer, as a shared library. They write operators of ../custom_op:
 *
 *   weighted-sum    a*p + b*q with p + q = 1 becomes my.ops.WeightedSum
 *   keep-positive   the elements of x where x > 0 become my.ops.KeepPositive
 *
 * It includes hone's header and links against nothing of hone: what it calls stands in the table
 * that hone hands over. */
#include <math.h>

#include "hone/hone.h"

enum { FLOAT = 1 }; /* TensorProto.FLOAT */

/* ---- weighted-sum ---------------------------------------------------------------------------- */

static hone_status write_weighted_sum(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t inputs[] = {hone->value(site, "a"), hone->value(site, "b")};
    double p, q;
    if (hone->elem_type(site, inputs[0]) != FLOAT ||
        !hone->number(site, hone->value(site, "p"), &p) ||
        !hone->number(site, hone->value(site, "q"), &q))
        return HONE_OK;
    if (!hone->same_shape(site, inputs[0], inputs[1]) ||
        !hone->same_shape(site, inputs[0], hone->value(site, "sum")))
        return hone->miss(site, "the tensors that are added differ in shape");
    if (fabs(p + q - 1) > 1e-6)
        return hone->miss(site, "the weights %g and %g have the sum %g, not 1", p, q, p + q);
    const float weights[] = {(float)p, (float)q};
    const hone_attribute_info attribute = {
        .name = "weights", .kind = HONE_ATTRIBUTE_FLOATS, .n = 2, .floats = weights};
    uint32_t node = hone->make(site, "my.ops.WeightedSum", 2, inputs, 1, 1, &attribute);
    hone->replace(site, hone->value(site, "sum"), hone->output(site, node, 0));
    hone->detail(site, "weights %g and %g", p, q);
    return HONE_OK;
}

/* ---- keep-positive --------------------------------------------------------------------------- */

/* With an axis, Compress picks whole slices. */
static hone_status write_keep_positive(const hone_rule_api *hone, hone_rule_site *site) {
    uint32_t x = hone->value(site, "x"), root = hone->root(site);
    int64_t axis;
    if (hone->elem_type(site, x) != FLOAT)
        return HONE_OK;
    if (hone->attr_int(site, root, "axis", &axis))
        return hone->miss(site, "Compress has an axis");
    uint32_t node = hone->make(site, "my.ops.KeepPositive", 1, &x, 1, 0, NULL);
    hone->replace(site, hone->output(site, root, 0), hone->output(site, node, 0));
    return HONE_OK;
}

/* ---- registration ---------------------------------------------------------------------------- */

static const hone_rule_def rules[] = {
    {.abi = HONE_RULE_ABI,
     .name = "weighted-sum",
     .pattern = "Add(Mul(a, #p), Mul(b, #q)):sum",
     .apply = write_weighted_sum},
    {.abi = HONE_RULE_ABI,
     .name = "keep-positive",
     .pattern = "Compress(x, Reshape(Greater(x, 0), _))",
     .apply = write_keep_positive},
};

hone_status hone_register_rules(const hone_rule_api *hone, hone_rule_set *set, hone_error *error) {
    hone_status status = HONE_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == HONE_OK; i++)
        status = hone->register_rule(set, &rules[i], error);
    return status;
}
