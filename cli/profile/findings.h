/* What could make a model faster here: findings, ranked by the time that they could save. */
#ifndef HONE_CLI_FINDINGS_H
#define HONE_CLI_FINDINGS_H

#include "profile/profile.h"

/* How the model ran, to run it at another level. */
typedef struct finding_level {
    hone_session_options session;
    const cli_feed *feed;
} finding_level;

typedef struct finding_input {
    profile *p;
    const char *path;        /* of the model; NULL: only a trace is there */
    const hone_model *model; /* as it was loaded */
    hone_level level;        /* at which it ran */
    const finding_level *at_level;
    int n_threads;
    bool keeps_denormals;
    bool measures_int8; /* products are run in float and in int8 */
} finding_input;
void findings_make(const finding_input *in);

/* The groups of findings. */
void findings_of_graph(const finding_input *in);     /* work that need not be in the graph */
void findings_of_optimizer(const finding_input *in); /* patterns that nearly fitted */
void findings_of_weights(const finding_input *in);   /* denormals */
void findings_of_times(const finding_input *in);     /* chains, threads, layouts, first run */
void findings_of_int8(const finding_input *in);

/* Times per run of the entries that compute a node of the model; 0: none does, or it took none. */
double finding_us_of_node(const profile *p, const char *node);

#endif /* HONE_CLI_FINDINGS_H */
