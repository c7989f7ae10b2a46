/* A profile: what a model spent its time and memory on. Made by running it, or read from a trace of
 * hone or of onnxruntime; tables, traces, pages and findings are made of it. */
#ifndef HONE_CLI_PROFILE_H
#define HONE_CLI_PROFILE_H

#include "cli_value.h"

/* A node as it was run; several nodes of the model where they were fused. */
typedef struct profile_node {
    const char *name;  /* of the node; that of its first output where it has none */
    const char *label; /* "conv1 + relu1": what it computes; "relu1 (9 nodes)" where that is long */
    const char *const *parts; /* the nodes of the model, at least one */
    uint32_t n_parts;
    const char *op, *domain, *provider, *kernel; /* kernel "": unknown */
    const char *inputs, *outputs;                /* types and shapes, as traces have them */
    uint32_t id;                                 /* of the node in the session, or node_index */
    uint64_t activation_bytes, parameter_bytes, output_bytes, macs;
    bool is_integer; /* the product of 8-bit integers: another peak */
    bool is_inner;   /* in the body of an If, Loop or Scan, whose time has it already */
    uint64_t count;
    double us, least_us; /* all times together; the shortest */
    double median_us;    /* of one execution: others on the machine disturb it less */
    double worker_us;    /* of other threads than the first */
} profile_node;

/* One execution of a node. */
typedef struct profile_event {
    uint32_t node, run;
    uint64_t tid;
    double ts_us, us;
    uint64_t live_bytes, dynamic_bytes;
    uint32_t thread_at; /* of its times in profile.thread_us; UINT32_MAX: not known */
} profile_event;

/* Loading, preparing, a run. */
typedef struct profile_phase {
    const char *name;
    double ts_us, us;
    bool is_run, is_first; /* of the whole model; the first one, which is not in the tables */
} profile_phase;

typedef struct profile_value { /* in planned memory */
    const char *name;
    uint64_t bytes, offset;
    uint32_t first, last; /* steps */
} profile_value;

/* Of this machine, per second; 0: not known. */
typedef struct profile_peaks {
    char cpu[128];
    int n_threads;
    double flops, int8_ops, read_bytes, cache_bytes;
} profile_peaks;

typedef struct profile_finding {
    const char *kind;     /* "unfused", "layout": what tests and programs know it by */
    const char *title;    /* one sentence */
    const char *evidence; /* numbers and names */
    const char *command;  /* what to do; "": nothing that a command could */
    double us;            /* that it could save in a run; 0: not known */
} profile_finding;

typedef struct profile {
    const char *source; /* file of the model, or of the trace */
    const char *writer; /* "hone", "onnxruntime" */
    profile_node *nodes;
    uint32_t n_nodes, cap_nodes;
    profile_event *events;
    uint32_t n_events, cap_events;
    profile_phase *phases;
    uint32_t n_phases, cap_phases;
    double *thread_us; /* n_threads for each event that has them */
    uint32_t n_thread_us, cap_thread_us, n_threads;
    double *thread_sums; /* by thread, over the events of the tables */
    uint32_t n_runs;     /* in the tables */
    double us, run_us;   /* of all nodes in them; of those runs */
    double median_run_us;
    double nodes_share; /* of a run that nodes take, by the median run */
    profile_peaks peaks;
    /* memory; in the order of the run */
    profile_value *values;
    uint32_t n_values;
    uint64_t block_bytes, weight_bytes, peak_bytes;
    profile_value *outputs; /* of the model; names and bytes alone */
    uint32_t n_outputs;
    uint32_t n_steps, peak_step;
    const char **step_names;
    uint64_t *step_bytes; /* planned bytes in use */
    profile_finding *findings;
    uint32_t n_findings, cap_findings;
    char **texts; /* what the texts above point to */
    uint32_t n_texts, cap_texts;
    bool failed; /* out of memory: whatever was made of it is not whole */
} profile;

void profile_free(profile *p);
/* Copies of texts that live as long as the profile; "" when there is no memory. */
const char *profile_text(profile *p, const char *text);
const char *profile_printf(profile *p, const char *fmt, ...);
/* A list grown by one, zeroed; NULL: no memory. */
void *profile_grow(profile *p, void *list, uint32_t *n, uint32_t *cap, size_t size);
profile_node *profile_add_node(profile *p);
profile_event *profile_add_event(profile *p);
profile_phase *profile_add_phase(profile *p, const char *name, double ts_us, double us);
profile_finding *profile_add_finding(profile *p, const char *kind, double us);
/* Fills names and label of a node; parts NULL: its name alone. */
void profile_name_node(profile *p, profile_node *n, const char *name, const char *const *parts,
                       uint32_t n_parts);
/* Sums over events; runs that did not repeat others are left out where there are later ones. */
void profile_count(profile *p);

/* Time of a node in a run, by the median of its executions. */
double profile_node_us(const profile *p, const profile_node *n);
uint64_t profile_node_bytes(const profile_node *n); /* read and written, each once */
/* What the machine needs at least; 0: the peaks are not known. */
double profile_floor_us(const profile *p, const profile_node *n);
bool profile_is_memory_bound(const profile *p, const profile_node *n);
/* Nodes, the slowest first, those in bodies left out; free() it. */
uint32_t *profile_order(const profile *p, uint32_t *n_ordered);

/* ---- making, reading, writing ---------------------------------------------------------------- */

/* Measured once per machine and number of threads, and kept in the user's cache folder. Reports
 * nothing: peaks that cannot be measured stay 0. */
void peaks_get(int n_threads, bool measure_again, profile_peaks *peaks);

/* Reads a trace of hone or of onnxruntime. False with the error, which has the byte. */
bool trace_read(const char *path, profile *p, hone_error *error);
bool trace_parse(cli_buffer *file, const char *path, profile *p, hone_error *error);
void trace_write(const profile *p, cli_buffer *out);
/* Multiply-accumulates of a node by its shapes, where traces do not say. */
uint64_t trace_macs(const char *op, const char *inputs, const char *outputs);
/* The sizes of the i-th tensor of "[{\"float\":[1,3]},...]"; -1: there is none. */
int trace_dims(const char *shapes, int i, int64_t dims[CLI_MAX_RANK], char type[32]);
/* "float[1,3], int64[1]" of them. */
const char *trace_types_text(profile *p, const char *shapes);

typedef enum profile_tables {
    PROFILE_BY_NODE = 1,
    PROFILE_BY_OP = 2,
    PROFILE_BY_KERNEL = 4,
    PROFILE_BY_THREAD = 8,
    PROFILE_MEMORY = 16
} profile_tables;
void profile_print(const profile *p, unsigned tables, uint64_t n_shown);
void profile_print_memory(const profile *p, uint64_t n_shown);
void profile_print_findings(const profile *p);
void profile_json(const profile *p,
                  cli_buffer *out); /* one object, for programs and for the page */
/* Compares two, node by node; 0 shows all. */
void profile_diff_print(const profile *before, const profile *after, uint64_t n_shown);
void profile_diff_json(const profile *before, const profile *after, cli_buffer *out);

/* Rows of a table by operator, kernel or thread. */
typedef struct profile_row {
    const char *name;
    uint64_t count, macs, bytes; /* of all runs */
    double us, floor_us;
    bool is_integer;
} profile_row;
/* By the text of each node; the slowest first, free() it. */
profile_row *profile_rows(const profile *p, const char *(*name_of)(const profile_node *n),
                          uint32_t *n_rows);
const char *profile_op_of(const profile_node *n);
const char *profile_kernel_of(const profile_node *n);

#endif /* HONE_CLI_PROFILE_H */
