/* Findings: all groups, ranked. */
#include "profile/findings.h"

#include <stdlib.h>
#include <string.h>

double finding_us_of_node(const profile *p, const char *node) {
    double us = 0;
    for (uint32_t i = 0; i < p->n_nodes; i++)
        for (uint32_t k = 0; k < p->nodes[i].n_parts; k++)
            if (strcmp(p->nodes[i].parts[k], node) == 0)
                us += profile_node_us(p, &p->nodes[i]);
    return us;
}

static int most_saving_first(const void *a, const void *b) {
    const profile_finding *x = a, *y = b;
    return x->us != y->us ? (x->us < y->us ? 1 : -1) : strcmp(x->title, y->title);
}

void findings_make(const finding_input *in) {
    findings_of_times(in);
    if (in->model) {
        findings_of_graph(in);
        findings_of_weights(in);
        findings_of_optimizer(in);
    }
    if (in->measures_int8)
        findings_of_int8(in);
    if (in->p->n_findings)
        qsort(in->p->findings, in->p->n_findings, sizeof *in->p->findings, most_saving_first);
}
