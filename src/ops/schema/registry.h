/* Inside ops/: operators that programs and shared libraries bring along. */
#ifndef HN_REGISTRY_H
#define HN_REGISTRY_H

#include "ops/ops.h"

typedef struct hn_custom_op {
    hn_op row;        /* first: a row of a registry is the beginning of one */
    hone_op_def def;  /* but for its texts, which are those of the row */
    uint32_t library; /* that brought it, from 1; 0: the program itself */
} hn_custom_op;

uint32_t hn_registry_count(const hn_op_registry *r);
const hn_op *hn_registry_row(const hn_op_registry *r, uint32_t i);   /* sorted as the table is */
const char *hn_registry_domain(const hn_op_registry *r, uint32_t i); /* NULL past the last */
/* Order of rows: by domain, then by name. */
int hn_op_compare(const hn_op *op, hn_domain d, const char *name);

/* schema_check.c: do the columns follow the small language of ops.def, as far as it is open to
 * others? */
hone_status hn_op_columns_ok(const hone_op_def *def, hone_error *err);

#endif /* HN_REGISTRY_H */
