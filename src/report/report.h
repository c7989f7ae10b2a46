/* Layer 5: statistics and memory plans of models, for people and, as JSON, for programs. */
#ifndef HN_REPORT_H
#define HN_REPORT_H

#include "ops/ops.h"
#include "prove/prove.h"

/* Everything lives in the arena, which the stats own. */
typedef struct hn_stats {
    hn_arena *arena;
    hone_stats_totals totals;
    HN_VEC(hone_stats_type) types;
    HN_VEC(hone_stats_op) ops;
} hn_stats;
hone_status hn_stats_make(const hn_model *m, hn_stats **out);
void hn_stats_free(hn_stats *s); /* NULL is fine */
/* Bytes of the outputs of a node; false when a dimension is unknown. */
bool hn_node_output_bytes(const hn_graph *g, hn_id node, uint64_t *bytes);

/* Everything lives in the arena, which the report owns. */
typedef struct hn_plan_report {
    hn_arena *arena;
    hone_plan_info info;
    hone_plan_value *values, *all_values; /* at the peak; in the order of the steps */
    hone_plan_step *steps;
} hn_plan_report;
hone_status hn_plan_report_make(const hn_model *m, hn_plan_report **out, hone_error *err);
hone_status hn_plan_report_of(const struct hn_plan *plan, hn_plan_report **out);
void hn_plan_report_free(hn_plan_report *r); /* NULL is fine */
void hn_plan_report_json(const hn_plan_report *r, hn_json *j);

/* plan: NULL for none. */
void hn_model_json(const hn_model *m, const hn_stats *s, const hn_plan_report *plan,
                   const char *label, unsigned parts, hn_json *j);
void hn_problems_json(const hn_problems *p, const char *label, hn_json *j);
void hn_optimization_json(const hn_opt_log *log, const hn_proof *proof, bool is_verified,
                          const char *label, hn_json *j);
void hn_ops_json(hn_json *j);

#endif /* HN_REPORT_H */
