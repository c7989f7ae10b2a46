/* Shared by the files of the saver. The same functions measure and write: see hn_wire_out. */
#ifndef HN_SAVE_INT_H
#define HN_SAVE_INT_H

#include "onnx/onnx.h"
#include "onnx/wire.h"

/* State of one walk over a model. */
typedef struct hn_saver {
    hn_wire_out out;
    const hn_model *model;
    hn_external_mode external;
    uint64_t threshold_bytes, alignment;
    const char *data_name; /* as written into the model */
    uint64_t data_bytes;   /* size of the data file so far */
    hn_outfile *data;      /* NULL while measuring, or when no tensor is external */
    hn_strbuf text;        /* of the dimension at hand */
} hn_saver;

/* `name`: the initializer's; NULL: the tensor keeps its own. Only initializers become external
 * because of their size. */
void hn_save_tensor(hn_saver *s, uint32_t tag, const hn_tensor *t, hn_str name);
void hn_save_sparse(hn_saver *s, uint32_t tag, const hn_sparse *sparse, hn_str name);
void hn_save_type(hn_saver *s, uint32_t tag, const hn_type *t);
void hn_save_attr(hn_saver *s, uint32_t tag, const hn_graph *g, const hn_attr *a);
void hn_save_block(hn_saver *s, uint32_t tag, const hn_graph *g, hn_id block);
void hn_save_node(hn_saver *s, uint32_t tag, const hn_graph *g, hn_id node);
void hn_save_value_info(hn_saver *s, uint32_t tag, const hn_value *v);
void hn_save_function(hn_saver *s, uint32_t tag, const hn_function *fn);
void hn_save_props(hn_saver *s, uint32_t tag, const hn_props *props);
void hn_save_opsets(hn_saver *s, uint32_t tag, const hn_opsets *opsets);
/* Fields that hone does not interpret, verbatim; extra may be NULL. */
void hn_save_unknown(hn_saver *s, const hn_extra *extra);
/* Offset of the next tensor in the data file; appends its bytes when the file is open. */
uint64_t hn_save_data(hn_saver *s, const void *data, uint64_t n);

#endif /* HN_SAVE_INT_H */
