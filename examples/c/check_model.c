/* Prints everything that is wrong with a model: check_model MODEL
 * The exit status is 0 for a valid model, 1 for one with errors, 2 when it cannot be read. */
#include <stdio.h>

#include <hone/hone.h>

static void print_problems(const hone_problems *problems) {
    for (uint32_t i = 0; i < hone_problems_listed(problems); i++) {
        hone_problem problem;
        hone_problems_get(problems, i, &problem);
        printf("%s: %s\n", problem.severity == HONE_ERROR ? "error" : "warning", problem.message);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: check_model MODEL\n");
        return 2;
    }
    hone_model *model = NULL;
    hone_problems *problems = NULL;
    hone_error error;
    int verdict = 2;
    if (hone_model_load(argv[1], NULL, &model, &error) == HONE_OK &&
        hone_model_check(model, &problems, &error) == HONE_OK) {
        uint32_t n_errors = hone_problems_count(problems, HONE_ERROR);
        uint32_t n_warnings = hone_problems_count(problems, HONE_WARNING);
        print_problems(problems);
        printf("%u errors, %u warnings\n", (unsigned)n_errors, (unsigned)n_warnings);
        verdict = n_errors > 0 ? 1 : 0;
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    hone_problems_free(problems);
    hone_model_free(model);
    return verdict;
}
