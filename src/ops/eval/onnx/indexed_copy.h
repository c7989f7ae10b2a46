/* Elements taken from, or put to, where indices point: what is settled before a run, and the run.
 * `c` is for strings, and may be NULL where elements are whole bytes. */
#ifndef HN_INDEXED_COPY_H
#define HN_INDEXED_COPY_H

#include "ops/eval/copy.h"

/* Types and shapes of the arguments and the result, without data. */
typedef struct hn_indexed_form {
    hn_array x, indices, updates, y; /* updates: of scatters */
    int32_t axis;                    /* of GatherElements and ScatterElements */
    int64_t stride;                  /* of x along it; of GatherND from batch to batch */
    int64_t strides[HN_MAX_RANK];    /* of x; 0 along that axis */
    int32_t n_batch;                 /* axes that x and indices share: GatherND */
    uint64_t n_batches, per_batch;   /* tuples of indices */
    uint64_t run;                    /* elements that each points to */
    int how;                         /* what a scatter does to elements that are there */
} hn_indexed_form;
typedef struct hn_indexed_io {
    const void *x, *indices, *updates;
    void *y;
    hn_pool *pool;
    hone_error *err;
} hn_indexed_io;

typedef hone_status (*hn_indexed_read_fn)(hn_eval *c, hn_indexed_form *f);
typedef hone_status (*hn_indexed_run_fn)(hn_eval *c, const hn_indexed_form *f,
                                         const hn_indexed_io *io);
hone_status hn_gather_elements_read(hn_eval *c, hn_indexed_form *f);
hone_status hn_gather_elements_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io);
hone_status hn_gather_nd_read(hn_eval *c, hn_indexed_form *f);
hone_status hn_gather_nd_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io);
hone_status hn_scatter_elements_read(hn_eval *c, hn_indexed_form *f);
hone_status hn_scatter_elements_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io);
hone_status hn_scatter_nd_read(hn_eval *c, hn_indexed_form *f);
hone_status hn_scatter_nd_run(hn_eval *c, const hn_indexed_form *f, const hn_indexed_io *io);

/* Where elements begin .. begin + n of `indices`, HN_TILE at most, point to in x along the axis of
 * GatherElements and ScatterElements. False when one lies outside; hn_refuse_elements says which.
 */
bool hn_point_elements(const hn_indexed_form *f, const hn_array *indices, uint64_t begin,
                       uint64_t n, int64_t *starts);
/* Whether n indices, 1 or more, are the same: exports expand the index of a row. */
bool hn_is_one_index(const int64_t *at, uint64_t n);
hone_status hn_refuse_elements(hone_error *err, const hn_array *indices, int64_t size);

/* Reads and runs, in one evaluation. */
hone_status hn_indexed_eval(hn_eval *c, hn_indexed_read_fn read, hn_indexed_run_fn run);

#endif /* HN_INDEXED_COPY_H */
