/* What fork() must find in order: in the child only the thread that called it goes on, so that a
 * lock held by another one would never be released, and workers of pools do not exist. */
#include "base/base.h"

static pthread_mutex_t hooks_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static hn_fork_hook *hooks[HN_N_FORK_RANKS];

static void before_fork(void) {
    pthread_mutex_lock(&hooks_lock);
    for (int rank = 0; rank < HN_N_FORK_RANKS; rank++)
        for (hn_fork_hook *h = hooks[rank]; h; h = h->next)
            if (h->lock)
                pthread_mutex_lock(h->lock);
}

static void release_hooks(void) {
    for (int rank = HN_N_FORK_RANKS - 1; rank >= 0; rank--)
        for (hn_fork_hook *h = hooks[rank]; h; h = h->next)
            if (h->lock)
                pthread_mutex_unlock(h->lock);
    pthread_mutex_unlock(&hooks_lock);
}

static void after_fork_in_child(void) {
    for (int rank = 0; rank < HN_N_FORK_RANKS; rank++)
        for (hn_fork_hook *h = hooks[rank]; h; h = h->next)
            if (h->in_child)
                h->in_child(h);
    release_hooks();
}

static void watch_forks(void) {
    pthread_atfork(before_fork, release_hooks, after_fork_in_child);
}

void hn_fork_list(hn_fork_hook *hook, hn_fork_rank rank) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&hooks_lock);
    hook->next = hooks[rank];
    hook->link = &hooks[rank];
    if (hook->next)
        hook->next->link = &hook->next;
    hooks[rank] = hook;
    pthread_mutex_unlock(&hooks_lock);
}

void hn_fork_unlist(hn_fork_hook *hook) {
    if (!hook->link)
        return;
    pthread_mutex_lock(&hooks_lock);
    *hook->link = hook->next;
    if (hook->next)
        hook->next->link = hook->link;
    pthread_mutex_unlock(&hooks_lock);
}
