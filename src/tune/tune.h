/* Layer 5: measuring kernels on this machine. */
#ifndef HN_TUNE_H
#define HN_TUNE_H

#include "run/session.h"

typedef struct hn_tune_options {
    int n_threads; /* 0: all processors */
    hn_level level;
    hn_program_options program;
    const char *path;  /* file of kernel choices to read and extend; NULL: none */
    hone_tune_fn tell; /* may be NULL */
    void *tell_ctx;
} hn_tune_options;
/* Times every kernel for each convolution that a session would run, one at a time. */
hone_status hn_tune_kernels(const hn_model *m, const hn_tune_options *o, hone_error *err);

#endif /* HN_TUNE_H */
