/* What the readers of datasets share. */
#ifndef HONE_CLI_DATASET_INT_H
#define HONE_CLI_DATASET_INT_H

#include "data/dataset.h"

/* ---- samples --------------------------------------------------------------------------------- */

/* A sample in memory of its own. */
typedef struct dataset_item {
    char *name;
    int64_t label;       /* -1: none */
    hone_value **values; /* by input */
    bool is_read;        /* false: the error says why not */
    hone_error error;
} dataset_item;
void dataset_item_free(const cli_dataset *d, dataset_item *item);

/* A kind of datasets. `read` fills name, label and values; it changes nothing else, because several
 * threads call it at once. */
typedef struct dataset_reader {
    bool (*read)(const cli_dataset *d, uint64_t i, dataset_item *item, hone_error *error);
    void (*close)(void *state);
    bool is_in_memory; /* threads that read ahead do not help */
} dataset_reader;

typedef struct dataset_augment {
    double noise, scale; /* shares; 0: none */
    bool flips;
    uint64_t n_copies, seed;
} dataset_augment;

typedef struct dataset_ahead dataset_ahead;

struct cli_dataset {
    const hone_graph *g;
    cli_dataset_options o;
    const char *path;
    const dataset_reader *reader;
    void *state; /* of the reader */
    uint64_t n_stored;
    bool is_sorted_by_class;
    uint32_t n; /* inputs that it provides */
    const char **inputs;
    cli_expect *expects;
    bool *are_rows; /* the first dimension of the samples is that of a batch */
    double *pads;   /* what fills up rows of a batch along dimension 1; NaN: nothing does */
    dataset_augment augment;
    int64_t *targets; /* by stored sample; NULL: those of the reader */
    uint64_t *order;  /* samples to read: stored number * copies + copy */
    uint64_t n_order;
    dataset_item current;
    dataset_ahead *ahead; /* NULL: none */
    uint64_t n_bad;
    cli_buffer bad_names; /* lines "name: reason", the first few */
    hone_error first_bad;
};

/* Reads sample `key` of the order, checks and augments it. Called by several threads. */
void dataset_read_item(const cli_dataset *d, uint64_t key, dataset_item *item);

/* ---- inputs ---------------------------------------------------------------------------------- */

/* An input of the graph, by name or as the only one without a default; HONE_NONE: there is none. */
uint32_t dataset_find_input(const cli_dataset *d, const char *name, size_t n);
uint32_t dataset_only_input(const cli_dataset *d);
bool dataset_add_input(cli_dataset *d, uint32_t value, hone_error *error);

/* ---- readers --------------------------------------------------------------------------------- */

bool dataset_is_image(const char *name);                     /* by its suffix */
bool dataset_open_images(cli_dataset *d, hone_error *error); /* of a folder, or one */
bool dataset_open_array(cli_dataset *d, hone_error *error);
bool dataset_open_archive(cli_dataset *d, hone_error *error);
bool dataset_has_sets(const char *path);
bool dataset_open_sets(cli_dataset *d, hone_error *error);
bool dataset_is_manifest(const char *path);
bool dataset_open_text(cli_dataset *d, uint32_t tokens, hone_error *error);
bool dataset_open_manifest(cli_dataset *d, hone_error *error);

/* ---- order ----------------------------------------------------------------------------------- */

bool dataset_make_order(cli_dataset *d, hone_error *error); /* with --targets */
bool dataset_parse_augment(const char *text, dataset_augment *a, hone_error *error);
bool dataset_check_augment(const cli_dataset *d, hone_error *error);
bool dataset_apply_augment(const cli_dataset *d, uint64_t key, dataset_item *item,
                           hone_error *error);

/* ---- reading ahead --------------------------------------------------------------------------- */

/* NULL: no thread could be started. */
dataset_ahead *dataset_ahead_start(cli_dataset *d, uint64_t n_threads);
void dataset_ahead_stop(dataset_ahead *a);
/* Hands over sample number i of the order; its errors are in the item. */
void dataset_ahead_take(dataset_ahead *a, uint64_t i, dataset_item *item);
/* Takes sample number i, which could not be read, out of the order. */
void dataset_ahead_remove(dataset_ahead *a, uint64_t i);
void dataset_remove_key(cli_dataset *d, uint64_t i); /* the same without threads */

/* ---- folders --------------------------------------------------------------------------------- */

typedef struct folder_entries { /* sorted; hidden ones are left out */
    char **names;
    size_t n;
} folder_entries;
bool dataset_list_folder(const char *path, folder_entries *e, hone_error *error);
void dataset_free_entries(folder_entries *e);
char *dataset_path_in(const char *folder, const char *name); /* NULL: out of memory */
char *dataset_copy_text(const char *text);
bool dataset_is_folder(const char *path);
bool dataset_is_file(const char *path);

#endif /* HONE_CLI_DATASET_INT_H */
