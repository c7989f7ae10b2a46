#include "hostile/levels.h"

#include "damage/trial_run.h"
#include "ir/ir.h"

#include <math.h>
#include <stdio.h>

#define MOST_DIFFERENCE 1e-2 /* of the largest number */
#define LARGEST_COMPARED 1e6 /* beyond, sums cancel */

static const struct {
    const char *name;
    hone_level level;
} compared_levels[] = {{"none", HONE_LEVEL_NONE},
                       {"basic", HONE_LEVEL_BASIC},
                       {"extended", HONE_LEVEL_EXTENDED},
                       {"all", HONE_LEVEL_ALL}};

/* What one level did. */
typedef struct level_run {
    hone_status status;
    hone_error error;
    hone_value *outputs[MAX_TRIAL_OUTPUTS];
} level_run;

static void run_level(const hone_model *m, hone_level level, uint64_t seed, level_run *r) {
    hone_session_options o;
    hone_session *session;
    *r = (level_run){.status = HONE_OK};
    hone_session_options_init(&o);
    o.seed = 1; /* levels draw the same random numbers */
    o.n_threads = 1;
    o.level = level;
    o.memory_limit_bytes = TRIAL_MEMORY_BYTES;
    r->status = hone_session_create(m, &o, &session, &r->error);
    if (r->status == HONE_OK)
        r->status = trial_outputs(session, m, seed, r->outputs, &r->error);
    hone_session_free(session);
}

static void free_level(level_run *r) {
    for (uint32_t i = 0; i < MAX_TRIAL_OUTPUTS; i++)
        hone_value_free(r->outputs[i]);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool is_same_shape(const hone_tensor_info *a, const hone_tensor_info *b) {
    bool same = a->elem_type == b->elem_type && a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

/* Numbers that are finite and not too large: the rest may differ by the order of operations. */
static bool are_close(const hone_value *a, const hone_value *b, uint64_t n) {
    double largest = 0, gap = 0;
    for (uint64_t i = 0; i < n; i++) {
        double x, y;
        if (!hone_value_get_f64(a, i, 1, &x) || !hone_value_get_f64(b, i, 1, &y))
            return true;
        if (!isfinite(x) || !isfinite(y) || fabs(x) > LARGEST_COMPARED)
            return true;
        largest = fmax(largest, fabs(x));
        gap = fmax(gap, fabs(x - y));
    }
    return gap <= MOST_DIFFERENCE * fmax(largest, 1e-3);
}

static const char *difference(const hone_value *a, const hone_value *b) {
    hone_tensor_info x, y;
    if (!a || !b || !hone_value_tensor(a, &x) || !hone_value_tensor(b, &y))
        return NULL;
    if (!is_same_shape(&x, &y))
        return "another type or shape";
    return are_close(a, b, x.n_elements) ? NULL : "other numbers";
}

/* A run that has no time or memory says nothing of results. */
static bool is_limit(hone_status s) {
    return s == HONE_E_LIMIT || s == HONE_E_NOMEM || s == HONE_E_CANCELLED;
}

static void compare_runs(const level_run *plain, const level_run *other, const char *name,
                         levels_report *report) {
    if (plain->status != HONE_OK || is_limit(other->status))
        return; /* a node that nobody needs may be gone, and its error with it */
    report->n_compared++;
    if (other->status != HONE_OK) {
        snprintf(report->complaint, sizeof report->complaint, "level %s fails: %.200s", name,
                 other->error.message);
        return;
    }
    for (uint32_t i = 0; i < MAX_TRIAL_OUTPUTS && !report->complaint[0]; i++) {
        const char *what = difference(plain->outputs[i], other->outputs[i]);
        if (what)
            snprintf(report->complaint, sizeof report->complaint,
                     "output %u of level %s has %s than that of level none", i, name, what);
    }
}

void levels_compare(const void *data, size_t n_bytes, levels_report *report) {
    hone_load_options load;
    hone_model *m;
    hone_error error;
    *report = (levels_report){.n_compared = 0};
    hone_load_options_init(&load);
    load.skip_external_data = true;
    if (hone_model_load_buffer(data, n_bytes, &load, &m, &error) != HONE_OK)
        return;
    for (uint64_t seed = 1; seed <= 2 && !report->complaint[0]; seed++) {
        level_run plain, other;
        run_level(m, compared_levels[0].level, seed, &plain);
        for (size_t i = 1; i < HN_COUNT(compared_levels) && !report->complaint[0]; i++) {
            run_level(m, compared_levels[i].level, seed, &other);
            compare_runs(&plain, &other, compared_levels[i].name, report);
            free_level(&other);
        }
        free_level(&plain);
    }
    hone_model_free(m);
}
