/* Datasets: threads that read samples ahead. Samples come out in order; a queue of fixed length and
 * a limit of bytes bound the memory. */
#include "data/dataset_int.h"

#include <pthread.h>
#include <stdlib.h>

enum { MOST_READERS = 8, QUEUE_LENGTH = 3 * MOST_READERS };
#define MOST_AHEAD_BYTES (UINT64_C(256) << 20)

typedef struct ahead_slot {
    uint64_t key; /* what the order has */
    bool is_done;
    uint64_t n_bytes;
    dataset_item item;
} ahead_slot;

struct dataset_ahead {
    cli_dataset *d;
    pthread_mutex_t lock; /* of all below, and of the order */
    pthread_cond_t has_room, has_sample;
    pthread_t threads[MOST_READERS];
    size_t n_threads;
    bool is_stopped;
    ahead_slot slots[QUEUE_LENGTH]; /* a ring; threads fill it, the reader takes at `head` */
    size_t head, n;
    uint64_t next; /* number of the sample to be read next */
    uint64_t n_bytes;
};

static uint64_t bytes_of_item(const cli_dataset *d, const dataset_item *item) {
    hone_tensor_info t;
    uint64_t n = 0;
    for (uint32_t k = 0; item->is_read && k < d->n; k++)
        if (hone_value_tensor(item->values[k], &t))
            n += t.data_bytes;
    return n;
}

static bool can_read_more(const dataset_ahead *a) {
    return a->n < QUEUE_LENGTH && a->next < cli_dataset_size(a->d) &&
           (a->n == 0 || a->n_bytes < MOST_AHEAD_BYTES);
}

static void *read_ahead(void *ahead) {
    dataset_ahead *a = ahead;
    pthread_mutex_lock(&a->lock);
    while (!a->is_stopped) {
        if (!can_read_more(a)) {
            pthread_cond_wait(&a->has_room, &a->lock);
            continue;
        }
        ahead_slot *slot = &a->slots[(a->head + a->n++) % QUEUE_LENGTH];
        slot->key = a->d->order[a->next++];
        slot->is_done = false;
        pthread_mutex_unlock(&a->lock);
        dataset_read_item(a->d, slot->key, &slot->item);
        pthread_mutex_lock(&a->lock);
        slot->n_bytes = bytes_of_item(a->d, &slot->item);
        slot->is_done = true;
        a->n_bytes += slot->n_bytes;
        pthread_cond_broadcast(&a->has_sample);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

dataset_ahead *dataset_ahead_start(cli_dataset *d, uint64_t n_threads) {
    dataset_ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->d = d;
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->has_room, NULL);
    pthread_cond_init(&a->has_sample, NULL);
    n_threads = n_threads < MOST_READERS ? n_threads : MOST_READERS;
    pthread_mutex_lock(&a->lock); /* none begins before the first sample is asked for */
    a->next = UINT64_MAX;
    while (a->n_threads < n_threads &&
           pthread_create(&a->threads[a->n_threads], NULL, read_ahead, a) == 0)
        a->n_threads++;
    pthread_mutex_unlock(&a->lock);
    if (a->n_threads)
        return a;
    dataset_ahead_stop(a);
    return NULL;
}

/* Waits for the oldest sample of the queue and takes it out. */
static void pop_slot(dataset_ahead *a, dataset_item *item) {
    ahead_slot *slot = &a->slots[a->head];
    while (!slot->is_done)
        pthread_cond_wait(&a->has_sample, &a->lock);
    *item = slot->item;
    a->n_bytes -= slot->n_bytes;
    a->head = (a->head + 1) % QUEUE_LENGTH;
    a->n--;
    pthread_cond_broadcast(&a->has_room);
}

static void empty_queue(dataset_ahead *a) {
    dataset_item item;
    a->next = UINT64_MAX;
    while (a->n) {
        pop_slot(a, &item);
        dataset_item_free(a->d, &item);
    }
}

void dataset_ahead_take(dataset_ahead *a, uint64_t i, dataset_item *item) {
    pthread_mutex_lock(&a->lock);
    uint64_t key = a->d->order[i];
    if (a->n == 0 || a->slots[a->head].key != key) {
        empty_queue(a);
        a->next = i;
        pthread_cond_broadcast(&a->has_room);
        while (a->n == 0)
            pthread_cond_wait(&a->has_sample, &a->lock);
    }
    pop_slot(a, item);
    pthread_mutex_unlock(&a->lock);
}

void dataset_ahead_remove(dataset_ahead *a, uint64_t i) {
    pthread_mutex_lock(&a->lock);
    dataset_remove_key(a->d, i);
    a->next -= a->next > i && a->next != UINT64_MAX;
    pthread_cond_broadcast(&a->has_room);
    pthread_mutex_unlock(&a->lock);
}

void dataset_ahead_stop(dataset_ahead *a) {
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->is_stopped = true;
    pthread_cond_broadcast(&a->has_room);
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->n_threads; i++)
        pthread_join(a->threads[i], NULL);
    pthread_mutex_lock(&a->lock);
    empty_queue(a);
    pthread_mutex_unlock(&a->lock);
    pthread_cond_destroy(&a->has_sample);
    pthread_cond_destroy(&a->has_room);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
