/* Work that may crash or never end is done by a child, so that somebody is left to tell what it was
 * at. */
#ifndef TEST_WATCHDOG_H
#define TEST_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

/* Shared by the two processes. */
typedef struct watch_progress {
    volatile uint64_t number; /* what the child is at */
    volatile bool is_done;
} watch_progress;

/* Called by the child before each piece of work: from now on it may use this much processor time.
 */
void watch_begin(watch_progress *p, uint64_t number, unsigned seconds);

/* Runs `work` in a child; its result is the exit status of the child. Where the child ends before
 * it says that it is done, prints "WHAT NUMBER (seed SEED) crashes" or "never ends" and returns -1.
 */
typedef int (*watch_work)(void *ctx, watch_progress *p);
int watch_child(const char *what, uint64_t seed, watch_work work, void *ctx, uint64_t *number);

#endif
