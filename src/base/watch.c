/* Work that is counted, so that a run can be stopped within a long loop. */
#include "base/base.h"

#define UNITS_BETWEEN_QUESTIONS 65536

static _Thread_local hn_watch current_watch;

hn_watch hn_watch_begin(bool (*is_stopped)(void *ctx), void *ctx) {
    hn_watch before = current_watch;
    current_watch = (hn_watch){.is_stopped = is_stopped, .ctx = ctx, .n_units = before.n_units};
    return before;
}

void hn_watch_end(hn_watch before) {
    before.n_units = current_watch.n_units;
    current_watch = before;
}

bool hn_spent(uint64_t n_units) {
    hn_watch *w = &current_watch;
    w->n_units += n_units;
    if (w->n_units < UNITS_BETWEEN_QUESTIONS)
        return false;
    bool is_stopped = w->is_stopped && w->is_stopped(w->ctx);
    w->n_units = is_stopped ? UNITS_BETWEEN_QUESTIONS : 0; /* loops around this one end at once */
    return is_stopped;
}
