/* Datasets: the samples of a model's inputs, one after the other or in batches. A dataset is a
 * folder of images, the rows of the arrays of a .npy or .npz file, a folder of ONNX test data sets,
 * raw files with a manifest, or lines of text with a vocabulary; see docs/data.md. */
#ifndef HONE_CLI_DATASET_H
#define HONE_CLI_DATASET_H

#include "cli_value.h"

typedef struct cli_dataset_options {
    const char *source;      /* NAME=PATH, or PATH where the model has one input */
    cli_image_options image; /* how images become tensors */
    const cli_list *classes; /* names of the classes in order; empty: numbers as names of folders,
                                or the folders in order; may be NULL */
    const char *targets;     /* file with the class of each sample */
    const char *shuffle;     /* seed */
    const char *augment;
    const char *vocab, *text_case;
    uint64_t limit, batch, max_bad, max_length, threads; /* 0: not given */
} cli_dataset_options;

/* The rows of an option table whose struct has a cli_dataset_options `member`. The source has an
 * option of its own in each command, and images those of CLI_IMAGE_OPTIONS. */
#define CLI_DATASET_ROW(type, name, kind, member, value, help) \
  { name, 0, kind, offsetof(type, member), value, help }
/* clang-format off */
#define CLI_DATASET_OPTIONS(type, member)                                                          \
    CLI_DATASET_ROW(type, "batch", CLI_COUNT, member.batch, "N",                                   \
                    "data: samples per run (default: 1, or what the model declares)"),             \
    CLI_DATASET_READ_OPTIONS(type, member)
#define CLI_DATASET_READ_OPTIONS(type, member)                                                     \
    CLI_DATASET_ROW(type, "limit", CLI_COUNT, member.limit, "N",                                   \
                    "data: use N samples: the first ones, or of every class some"),                \
    CLI_DATASET_ROW(type, "shuffle", CLI_TEXT, member.shuffle, "SEED",                             \
                    "data: take the samples in random order"),                                     \
    CLI_DATASET_ROW(type, "targets", CLI_TEXT, member.targets, "FILE",                             \
                    "data: class of each sample, as a number per line or .npy"),                   \
    CLI_DATASET_ROW(type, "max-bad", CLI_COUNT, member.max_bad, "N",                               \
                    "data: leave out up to N samples that cannot be read (default 0)"),            \
    CLI_DATASET_ROW(type, "augment", CLI_TEXT, member.augment, "LIST",                             \
                    "data: change samples at random: noise=SHARE,scale=SHARE,flip,copies=N"),      \
    CLI_DATASET_ROW(type, "data-threads", CLI_COUNT, member.threads, "N",                          \
                    "data: threads that read ahead (default: processors, at most 8)"),             \
    CLI_DATASET_ROW(type, "vocab", CLI_TEXT, member.vocab, "FILE",                                 \
                    "text: WordPiece vocabulary, one token per line (vocab.txt)"),                 \
    CLI_DATASET_ROW(type, "text-case", CLI_TEXT, member.text_case, "lower|keep",                   \
                    "text: lower case without accents, or as it is (default: as the "              \
                    "vocabulary is)"),                                                             \
    CLI_DATASET_ROW(type, "max-length", CLI_COUNT, member.max_length, "N",                         \
                    "text: tokens of a sample (default 512, or what the model declares)")
/* clang-format on */

typedef struct cli_sample { /* valid until the next one */
    const char *name;       /* file below the folder, or the number of the row or line */
    int64_t label;          /* class; -1: unknown */
    uint32_t n;             /* inputs that the dataset provides; 0: there is no such sample */
    const char *const *inputs;
    const cli_expect *expects; /* what the model declares of each */
    hone_value *const *values; /* with a batch dimension of 1, where the input has one */
} cli_sample;

typedef struct cli_dataset cli_dataset;
/* The model must outlive it, and so must the texts of the options. False with the error. */
bool cli_dataset_open(const hone_model *m, const cli_dataset_options *o, cli_dataset **dataset,
                      hone_error *error);
/* Becomes smaller when samples that cannot be read are left out. */
uint64_t cli_dataset_size(const cli_dataset *d);
/* Names of the inputs that it provides. */
const char *const *cli_dataset_inputs(const cli_dataset *d, uint32_t *n);
/* Reads sample number i; in any order, any number of times, but ahead only in ascending order.
 * Samples that cannot be read are left out, up to the limit. False with the error. */
bool cli_dataset_read(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error);
/* The samples that were left out so far. */
uint64_t cli_dataset_n_bad(const cli_dataset *d);
void cli_dataset_warn_bad(const cli_dataset *d); /* names them on stderr */
void cli_dataset_close(cli_dataset *d);          /* NULL is fine */

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct cli_dataset_batch {
    size_t n;     /* samples; 0: there are no more */
    size_t n_run; /* rows of the values: more than n where the model takes a fixed number, which the
                     last sample fills up */
    char **names;
    int64_t *labels;
    uint32_t n_inputs;
    const char *const *inputs;
    hone_value **values;
} cli_dataset_batch;
/* Samples of one run: --batch, or what the inputs declare. False with the error. */
bool cli_dataset_batch_size(const cli_dataset *d, size_t *size, hone_error *error);
/* Reads the samples from number `first` on. False with the error, and the batch is empty. */
bool cli_dataset_batch_read(cli_dataset *d, uint64_t first, cli_dataset_batch *b,
                            hone_error *error);
void cli_dataset_batch_free(cli_dataset_batch *b);
/* The number of classes in an output that has a row of them for each sample of the batch. */
bool cli_dataset_class_rows(const hone_value *output, const cli_dataset_batch *b, uint64_t *length,
                            hone_error *error);

#endif /* HONE_CLI_DATASET_H */
