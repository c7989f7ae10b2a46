/* How the inputs of layers go together on samples, for rounding with feedback. */
#ifndef HN_QUANT_INPUT_MOMENTS_H
#define HN_QUANT_INPUT_MOMENTS_H

#include "quant/feedback.h"
#include "quant/quant_int.h"

/* Runs a float model on samples, as the pass says, whose own watch is not called. *by_node: of the
 * inputs of each node; NULL: none. Memory is the arena's. */
hone_status hn_input_moments(const hn_quant_pass *of, hn_arena *arena, hn_moments ***by_node,
                             hone_error *err);
/* Where the weight of a layer has its inputs. */
hn_inputs_axis hn_inputs_axis_of(const hn_graph *g, hn_id node);

#endif /* HN_QUANT_INPUT_MOMENTS_H */
