/* ONNX test data sets: `hone run --test`. */
#ifndef HONE_TEST_SETS_H
#define HONE_TEST_SETS_H

#include "cli_value.h"

/* A model with inputs and expected outputs. */
typedef struct test_case {
    char *name;   /* of its folder, or of the model without ".onnx" */
    char *model;  /* path */
    char *folder; /* holds test_data_set_*; NULL: the outputs stand beside the model as
                     <model>_output_N.pb, and element i of an input with n elements is i / n */
    cli_tolerance tolerance;
    const char *excuse; /* why it is known to fail; NULL: it must pass */
} test_case;

typedef struct test_case_list {
    test_case *at;
    size_t n, cap;
} test_case_list;
/* Finds every case under the folder, sorted by path. */
bool test_cases_find(const char *folder, test_case_list *list, hone_error *error);
void test_cases_free(test_case_list *list);

/* The result of one case; small enough to be written to a pipe atomically. */
typedef struct test_result {
    bool passed;
    double seconds;
    char message[768]; /* the first difference */
} test_result;

typedef struct test_options {
    const cli_list *folders;
    const cli_list *custom_ops; /* libraries */
    const char
        *manifest; /* cases that are known to fail, or have tolerances of their own; may be NULL */
    int n_jobs, n_threads;
    hone_level level;
    double timeout_seconds; /* of one case */
    bool json;
} test_options;
int test_sets_run(const test_options *o);
void test_case_run(const test_case *c, const test_options *o, test_result *result);

/* Reads a manifest: a line "NAME: reason" marks a known failure; "NAME rtol=1e-2 atol=1e-5: reason"
 * sets a tolerance. '#' begins a comment. The text must live as long as the cases. */
bool test_manifest_apply(char *text, const char *path, test_case_list *list, hone_error *error);

#endif /* HONE_TEST_SETS_H */
