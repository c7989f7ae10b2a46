/* L5: measuring what costs on this machine. */
#ifndef HN_TUNE_H
#define HN_TUNE_H

#include "run/session.h"

typedef struct hn_tune_options {
    int n_threads; /* 0: as many as there are processors */
    hn_level level;
    hn_program_options program;
    const char
        *path; /* choices are read from there, and written with the new ones; NULL: nowhere */
    hone_tune_fn tell; /* may be NULL */
    void *tell_ctx;
} hn_tune_options;
/* Times each way to compute the convolutions that a session would have, one by one. */
hone_status hn_tune_kernels(const hn_model *m, const hn_tune_options *o, hone_error *err);

#endif /* HN_TUNE_H */
