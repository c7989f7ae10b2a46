/* Inside pass/: writing the log. */
#ifndef HN_OPT_LOG_H
#define HN_OPT_LOG_H

#include "pass/engine/pass_int.h"

#define HN_MAX_MISSES 2000 /* more help nobody */

/* Label of the root, in the log's memory: taken before the root is removed. NULL: no memory. */
const char *hn_log_label(const hn_rule *r);
bool hn_log_rewrite(const hn_rule *r, const char *label, uint32_t n_added, uint32_t n_removed);
/* A pass that runs again tells its near misses anew. */
void hn_log_forget_misses(hn_opt_log *log, const hn_pass_row *pass);
void hn_log_failure(const hn_rule *r); /* this rule could not be applied */
hn_pass_stat *hn_log_stat(hn_opt_log *log, const hn_pass_row *pass); /* NULL: no memory */

#endif /* HN_OPT_LOG_H */
