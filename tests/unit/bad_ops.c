/* Libraries that must be rejected as operator libraries; FAULT_<name> selects the fault. */
#include "hone/hone.h"

#ifdef FAULT_no_entry
HONE_EXPORT int hone_other(void);

int hone_other(void) {
    return 0;
}
#else

#  ifndef FAULT_none
static hone_status do_nothing(const hone_op_api *hone, hone_op_node *node, void *state) {
    (void)hone, (void)node, (void)state;
    return HONE_OK;
}

static hone_op_def op_named(const char *domain, const char *name) {
    return (hone_op_def){.abi = HONE_OP_ABI,
                         .domain = domain,
                         .name = name,
                         .versions = "1",
                         .inputs = "X:float",
                         .outputs = "Y:float",
                         .compute = do_nothing};
}
#  endif

hone_status hone_register_ops(const hone_op_api *hone, hone_op_registry *registry,
                              hone_error *error) {
#  if defined FAULT_none
    (void)hone, (void)registry, (void)error;
    return HONE_OK;
#  else
#    if defined FAULT_clash
    hone_op_def op = op_named("ai.onnx", "Relu");
#    else
    hone_op_def op = op_named("bad.ops", "First");
#    endif
#    if defined FAULT_other_abi
    op.abi = HONE_OP_ABI + 1;
#    endif
    hone_status status = hone->register_op(registry, &op, error);
#    if defined FAULT_half
    if (status == HONE_OK) /* its message is for the caller's record, which may be missing */
        return HONE_E_NOT_FOUND;
#    endif
    return status;
#  endif
}
#endif
