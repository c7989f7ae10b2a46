/* Fails the first, the second, the third ... allocation of every operation on a model, until it
 * succeeds.
 *
 * usage: oom [--all-of-first N] FILE...
 *
 * Each failure must be told as such, with a message, leave nothing allocated and no file behind;
 * once alone, and once with all later allocations failing too. The first file is also tried with
 * its weights in a file of their own. */
#define _GNU_SOURCE
#include "unit/counting_allocator.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_NAMES = 8, MAX_COMPLAINTS = 20, PATH_BYTES = 512 };

/* What the operations need to know, found out while nothing fails. */
typedef struct subject {
    const char *path;
    hone_load_options load;
    char folder[PATH_BYTES], out_path[PATH_BYTES]; /* saved files go there */
    const char *inputs[MAX_NAMES], *outputs[MAX_NAMES];
    uint32_t n_inputs, n_outputs;
    char dim[64];                  /* a free dimension; "" when there is none */
    hone_value *values[MAX_NAMES]; /* zeros for the inputs */
    bool can_run, can_optimize, can_quantize;
} subject;

static unsigned n_complaints;

static void complain(const subject *s, const char *operation, size_t n, const char *what) {
    if (++n_complaints <= MAX_COMPLAINTS)
        printf("%s, %s, allocation %zu failing: %s\n", s->path, operation, n, what);
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool discard(void *ctx, const char *text, size_t n_bytes) {
    (void)ctx, (void)text, (void)n_bytes;
    return true;
}

static hone_status do_load(hone_model *m, const subject *s, hone_error *error) {
    hone_model *second;
    (void)m;
    hone_status status = hone_model_load(s->path, &s->load, &second, error);
    hone_model_free(second);
    return status;
}

static hone_status do_check(hone_model *m, const subject *s, hone_error *error) {
    hone_problems *problems;
    (void)s;
    hone_status status = hone_model_check(m, &problems, error);
    if (status == HONE_OK)
        status = hone_problems_write_json(problems, "model", discard, NULL, error);
    hone_problems_free(problems);
    return status;
}

static hone_status do_infer(hone_model *m, const subject *s, hone_error *error) {
    (void)s;
    return hone_model_infer(m, error);
}

static hone_status do_store_shapes(hone_model *m, const subject *s, hone_error *error) {
    (void)s;
    return hone_model_store_shapes(m, error);
}

static hone_status do_describe(hone_model *m, const subject *s, hone_error *error) {
    unsigned all = HONE_JSON_NODES | HONE_JSON_WEIGHTS | HONE_JSON_VALUES;
    (void)s;
    return hone_model_write_json(m, "model", all, discard, NULL, error);
}

static hone_status do_print(hone_model *m, const subject *s, hone_error *error) {
    (void)s;
    return hone_model_print(m, 16, discard, NULL, error);
}

static hone_status do_save_buffer(hone_model *m, const subject *s, hone_error *error) {
    void *data;
    size_t n;
    (void)s;
    hone_status status = hone_model_save_buffer(m, &data, &n, error);
    if (status == HONE_OK)
        hone_buffer_free(m, data, n);
    return status;
}

static hone_status do_save_file(hone_model *m, const subject *s, hone_error *error) {
    return hone_model_save(m, s->out_path, NULL, error);
}

static hone_status do_save_external(hone_model *m, const subject *s, hone_error *error) {
    hone_save_options o;
    hone_save_options_init(&o);
    o.external_data = HONE_EXTERNAL_ALWAYS;
    o.external_threshold_bytes = 16;
    return hone_model_save(m, s->out_path, &o, error);
}

static hone_status do_extract(hone_model *m, const subject *s, hone_error *error) {
    return hone_model_extract(m, s->n_inputs, s->inputs, s->n_outputs, s->outputs, error);
}

static hone_status do_inline(hone_model *m, const subject *s, hone_error *error) {
    (void)s;
    return hone_model_inline_functions(m, error);
}

static hone_status do_strip(hone_model *m, const subject *s, hone_error *error) {
    (void)s;
    return hone_model_strip(m,
                            HONE_STRIP_DOCS | HONE_STRIP_NODE_NAMES | HONE_STRIP_VALUE_NAMES |
                                HONE_STRIP_METADATA | HONE_STRIP_VALUE_INFO | HONE_STRIP_UNUSED,
                            error);
}

static hone_status do_rename(hone_model *m, const subject *s, hone_error *error) {
    return hone_model_rename(m, s->outputs[0], "another name", error);
}

static hone_status do_fix_dim(hone_model *m, const subject *s, hone_error *error) {
    if (s->dim[0])
        return hone_model_fix_dim(m, s->dim, 3, error);
    *error = (hone_error){.code = HONE_OK};
    return HONE_OK;
}

static hone_status do_optimize_for(hone_model *m, const subject *s, hone_target target, bool verify,
                                   hone_error *error) {
    hone_optimize_options o;
    hone_model *optimized;
    hone_optimization *report;
    *error = (hone_error){.code = HONE_OK};
    if (!s->can_optimize)
        return HONE_OK;
    hone_optimize_options_init(&o);
    o.target = target;
    o.measure = true;
    o.verify = verify;
    hone_status status = hone_model_optimize(m, &o, &optimized, &report, error);
    if (status == HONE_OK)
        status = hone_optimization_write_json(report, "model", discard, NULL, error);
    hone_optimization_free(report);
    hone_model_free(optimized);
    return status;
}

static hone_status do_optimize(hone_model *m, const subject *s, hone_error *error) {
    return do_optimize_for(m, s, HONE_TARGET_ONNX, false, error);
}

static hone_status do_optimize_verified(hone_model *m, const subject *s, hone_error *error) {
    return do_optimize_for(m, s, HONE_TARGET_ONNXRUNTIME, s->can_run, error);
}

static hone_status read_zeros(void *ctx, uint64_t i, hone_sample *sample, hone_error *error) {
    const subject *s = ctx;
    (void)error;
    *sample = (hone_sample){.label = -1,
                            .n_inputs = i < 2 ? s->n_inputs : 0,
                            .inputs = s->inputs,
                            .values = (const hone_value *const *)s->values};
    return HONE_OK;
}

static hone_status quantize_with(hone_model *m, const subject *s, hone_quantize_format format,
                                 hone_error *error) {
    hone_dataset zeros = {.ctx = (void *)(uintptr_t)s, .read = read_zeros};
    hone_quantize_options o;
    hone_quantization *report;
    hone_model *quantized;
    hone_quantize_options_init(&o);
    o.samples = &zeros;
    o.n_threads = 1;
    o.format = format;
    o.equalize = o.correct_bias = o.explain = true;
    hone_status status = hone_model_quantize(m, &o, &quantized, &report, error);
    if (status == HONE_OK)
        status = hone_quantization_write_json(report, "model", discard, NULL, error);
    hone_quantization_free(report);
    hone_model_free(quantized);
    return status;
}

static hone_status do_quantize(hone_model *m, const subject *s, hone_error *error) {
    *error = (hone_error){.code = HONE_OK};
    return s->can_quantize ? quantize_with(m, s, HONE_QUANTIZE_QOPERATOR, error) : HONE_OK;
}

static hone_status do_plan(hone_model *m, const subject *s, hone_error *error) {
    hone_plan *plan = NULL;
    hone_session_options o;
    hone_session *session;
    hone_session_options_init(&o);
    o.n_threads = 1;
    *error = (hone_error){.code = HONE_OK};
    if (!s->can_run)
        return HONE_OK;
    hone_status status = hone_session_create(m, &o, &session, error);
    hone_session_free(session);
    if (status == HONE_OK && !s->dim[0])
        status = hone_model_get_plan(m, &plan, error);
    hone_plan_free(plan);
    return status;
}

static hone_status do_run(hone_model *m, const subject *s, hone_error *error) {
    hone_value *outputs[MAX_NAMES] = {0};
    hone_session_options o;
    hone_session *session;
    hone_session_options_init(&o);
    o.n_threads = 1;
    *error = (hone_error){.code = HONE_OK};
    if (!s->can_run)
        return HONE_OK;
    hone_status status = hone_session_create(m, &o, &session, error);
    for (int i = 0; i < 2 && status == HONE_OK; i++) {
        status = hone_session_run(session, NULL, s->n_inputs, s->inputs,
                                  (const hone_value *const *)s->values, s->n_outputs, s->outputs,
                                  outputs, error);
        for (uint32_t k = 0; k < s->n_outputs; k++) {
            hone_value_free(outputs[k]);
            outputs[k] = NULL;
        }
    }
    hone_session_free(session);
    return status;
}

static const struct operation {
    const char *name;
    hone_status (*run)(hone_model *m, const subject *s, hone_error *error);
    bool may_do_without; /* a cost that there is no memory to compute is told as unknown; a run may
                            use less, a constant that cannot be folded stays a computation */
} operations[] = {
    {"load", do_load, false},
    {"check", do_check, false},
    {"infer", do_infer, false},
    {"store shapes", do_store_shapes, false},
    {"describe", do_describe, true},
    {"print", do_print, false},
    {"save to a buffer", do_save_buffer, false},
    {"save to a file", do_save_file, false},
    {"save with external data", do_save_external, false},
    {"extract", do_extract, false},
    {"inline", do_inline, false},
    {"strip", do_strip, false},
    {"rename", do_rename, false},
    {"fix a dimension", do_fix_dim, false},
    {"optimize", do_optimize, true},
    {"optimize and verify", do_optimize_verified, true},
    {"quantize", do_quantize, true},
    {"plan", do_plan, true},
    {"run", do_run, true}, /* memory that waits for a later step goes first */
};

/* ---- folders --------------------------------------------------------------------------------- */

/* Removes what is there; true when there was anything. */
static bool empty_folder(const char *folder) {
    DIR *d = opendir(folder);
    bool had_files = false;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.' && (!e->d_name[1] || strcmp(e->d_name, "..") == 0))
            continue;
        char path[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        remove(path);
        had_files = true;
    }
    if (d)
        closedir(d);
    return had_files;
}

static bool make_folder(char folder[PATH_BYTES]) {
    const char *parent = getenv("TMPDIR");
    snprintf(folder, PATH_BYTES, "%s/hone-oom-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder) != NULL;
}

/* ---- failing --------------------------------------------------------------------------------- */

/* One try. True when the allocation that was to fail came to pass. */
static bool try_failing_at(subject *s, const struct operation *op, size_t n, bool keeps_failing) {
    counting_allocator memory;
    hone_error error;
    hone_model *m;
    counting_init(&memory, 0);
    s->load.allocator = &memory.hook;
    if (hone_model_load(s->path, &s->load, &m, &error) != HONE_OK) {
        complain(s, op->name, 0, error.message);
        return false;
    }
    memory.n_requests = 0;
    memory.fail_at = n;
    memory.keeps_failing = keeps_failing;
    hone_status status = op->run(m, s, &error);
    bool has_failed = memory.n_refused > 0;
    memory.fail_at = 0;
    hone_model_free(m);
    if (has_failed ? status != HONE_E_NOMEM && !(status == HONE_OK && op->may_do_without)
                   : status != HONE_OK)
        complain(s, op->name, n, status == HONE_OK ? "succeeded nevertheless" : error.message);
    else if (error.code != status || (status != HONE_OK && !error.message[0]))
        complain(s, op->name, n, "the error record is not filled");
    if (!counting_is_clean(&memory))
        complain(s, op->name, n, "memory leaked");
    if (empty_folder(s->folder) && has_failed)
        complain(s, op->name, n, "a file was left behind");
    return has_failed;
}

static size_t all_of_first = 100;

/* Every one of the first hundred, then ever fewer: an operation of ten thousand allocations would
 * take its time ten thousand times. */
static size_t next_failure(size_t n) {
    return n + 1 + n / all_of_first;
}

static size_t try_operation(subject *s, const struct operation *op) {
    size_t n = 1, n_tried = 0;
    for (; try_failing_at(s, op, n, false) && n_complaints < MAX_COMPLAINTS; n = next_failure(n))
        n_tried++;
    for (size_t k = 1; k < n; k = next_failure(k))
        try_failing_at(s, op, k, true);
    return n_tried;
}

/* ---- subjects -------------------------------------------------------------------------------- */

static uint32_t list_names(const hone_graph *g, uint32_t n, const uint32_t *values,
                           const char **names) {
    uint32_t k = 0;
    for (uint32_t i = 0; i < n && k < MAX_NAMES; i++) {
        hone_value_info info;
        hone_graph_get_value(g, values[i], &info);
        names[k++] = info.name;
    }
    return k;
}

static void find_free_dim(const hone_graph *g, uint32_t value, char *dim, size_t dim_bytes) {
    hone_value_info info;
    hone_graph_get_value(g, value, &info);
    for (int32_t axis = 0; axis < info.rank && !dim[0]; axis++) {
        int64_t size;
        hone_value_dim(g, value, axis, &size, dim, dim_bytes);
        if (size >= 0)
            dim[0] = 0;
    }
}

static hone_value *zeros_for(const hone_graph *g, uint32_t value) {
    int64_t dims[8];
    hone_value_info info;
    hone_value *v = NULL;
    hone_tensor_info tensor;
    hone_graph_get_value(g, value, &info);
    if (info.kind != HONE_TYPE_TENSOR || info.rank < 0 || info.rank > 8)
        return NULL;
    for (int32_t axis = 0; axis < info.rank; axis++) {
        char text[64];
        hone_value_dim(g, value, axis, &dims[axis], text, sizeof text);
        dims[axis] = dims[axis] < 0 ? 1 : dims[axis];
    }
    if (hone_value_create(info.elem_type, info.rank, dims, NULL, &v, NULL) == HONE_OK &&
        hone_value_tensor(v, &tensor))
        memset((void *)(uintptr_t)tensor.data, 0, (size_t)tensor.data_bytes);
    return v;
}

/* Can the model be run, with zeros, while nothing fails? */
static void try_running(subject *s, hone_model *m, const hone_subgraph_info *top) {
    hone_error error;
    s->can_run = top->n_inputs == s->n_inputs && top->n_outputs == s->n_outputs;
    for (uint32_t i = 0; i < s->n_inputs; i++) {
        s->values[i] = zeros_for(hone_model_graph(m), top->inputs[i]);
        s->can_run &= s->values[i] != NULL;
    }
    s->can_run = s->can_run && do_run(m, s, &error) == HONE_OK;
    s->can_optimize = true;
    s->can_optimize = do_optimize(m, s, &error) == HONE_OK;
    s->can_quantize = s->can_run && quantize_with(m, s, HONE_QUANTIZE_QDQ, &error) == HONE_OK;
}

/* The names point into the model. */
static void describe_subject(subject *s, hone_model *m) {
    const hone_graph *g = hone_model_graph(m);
    hone_subgraph_info top;
    hone_graph_get_subgraph(g, 0, &top);
    s->n_inputs = list_names(g, top.n_inputs, top.inputs, s->inputs);
    s->n_outputs = list_names(g, top.n_outputs, top.outputs, s->outputs);
    for (uint32_t i = 0; i < top.n_inputs && !s->dim[0]; i++)
        find_free_dim(g, top.inputs[i], s->dim, sizeof s->dim);
    try_running(s, m, &top);
}

static void try_subject(const char *path, const char *folder, bool skips_external) {
    subject s = {.path = path};
    hone_error error;
    hone_model *m;
    size_t n = 0;
    hone_load_options_init(&s.load);
    s.load.skip_external_data = skips_external;
    snprintf(s.folder, sizeof s.folder, "%s", folder);
    snprintf(s.out_path, sizeof s.out_path, "%s/out.onnx", folder);
    if (hone_model_load(path, &s.load, &m, &error) != HONE_OK) {
        complain(&s, "load", 0, error.message);
        return;
    }
    describe_subject(&s, m);
    for (size_t i = 0; i < HN_COUNT(operations); i++)
        n += try_operation(&s, &operations[i]);
    hone_model_free(m);
    for (uint32_t i = 0; i < s.n_inputs; i++)
        hone_value_free(s.values[i]);
    printf("%s: %zu operations%s, %zu allocations failed\n", path, HN_COUNT(operations),
           s.can_run ? "" : " (not run)", n);
}

static void try_external(const char *path, const char *model_folder, const char *folder) {
    hone_error error;
    hone_model *m;
    hone_save_options o;
    char external_path[2 * PATH_BYTES];
    snprintf(external_path, sizeof external_path, "%s/external.onnx", model_folder);
    hone_save_options_init(&o);
    o.external_data = HONE_EXTERNAL_ALWAYS;
    hone_status status = hone_model_load(path, NULL, &m, &error);
    if (status == HONE_OK)
        status = hone_model_save(m, external_path, &o, &error);
    hone_model_free(m);
    if (status == HONE_OK)
        try_subject(external_path, folder, false);
    else
        complain(&(subject){.path = path}, "save with external data", 0, error.message);
    empty_folder(model_folder);
}

int main(int argc, char **argv) {
    char folder[PATH_BYTES], model_folder[PATH_BYTES];
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--all-of-first") == 0) {
        all_of_first = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    if (first >= argc || all_of_first == 0 || !make_folder(folder) || !make_folder(model_folder)) {
        fprintf(stderr, "usage: oom [--all-of-first N] FILE...\n");
        return 2;
    }
    for (int i = first; i < argc; i++)
        try_subject(argv[i], folder, true);
    try_external(argv[first], model_folder, folder);
    rmdir(folder);
    rmdir(model_folder);
    if (n_complaints)
        printf("%u complaints\n", n_complaints);
    return n_complaints ? 1 : 0;
}
