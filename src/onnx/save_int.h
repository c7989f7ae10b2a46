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
    bool keeps_data_name;  /* a tensor that was not loaded refers to data_name */
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

/* ---- data_owner.c: whose data file it is ------------------------------------------------------ */

/* What may happen to a file that has the name of the data file. */
typedef enum hn_data_fate {
    HN_DATA_NEW,     /* there is none */
    HN_DATA_REPLACE, /* the model that is replaced uses it, and no other one */
    HN_DATA_KEEP     /* somebody else's: it may only stay as it is */
} hn_data_fate;

/* Refuses to save over a file that holds data of the model. */
hone_status hn_check_save_path(const hn_model *m, const char *path, hone_error *err);
/* `path` is where the model is saved. *why, in the arena, says why a file is kept. */
hone_status hn_data_file_fate(const hn_model *m, const char *path, const char *data_path,
                              hn_arena *arena, hn_data_fate *fate, const char **why,
                              hone_error *err);
/* The name of the data file while a model changes to new data: the data's own name is still that of
 * the old. In the arena; NULL: no memory. */
const char *hn_data_step_name(hn_arena *arena, const char *data_path);
/* Removes files of such names, which an interrupted save left. */
void hn_data_steps_remove(const char *data_path);

#endif /* HN_SAVE_INT_H */
