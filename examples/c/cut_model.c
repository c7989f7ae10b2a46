/* Cuts a part out of a model: cut_model MODEL FROM TO BATCH OUTPUT
 * The part computes value TO from value FROM, for a batch of the given size; the new file tells the
 * shape of every value. */
#include <stdio.h>
#include <stdlib.h>

#include <hone/hone.h>

/* Each step leaves its message in `error`; the first that fails ends the work. */
static hone_status cut(hone_model *model, const char *from, const char *to, int64_t batch,
                       hone_error *error) {
    hone_status status = hone_model_extract(model, 1, &from, 1, &to, error);
    if (status == HONE_OK)
        status = hone_model_fix_dim(model, "batch", batch, error);
    if (status == HONE_OK)
        status = hone_model_store_shapes(model, error);
    return status;
}

static void print_type(const hone_model *model, const char *name) {
    const hone_graph *graph = hone_model_graph(model);
    char type[256];
    hone_value_type_text(graph, hone_graph_find_value(graph, name), type, sizeof type);
    printf("%s: %s\n", name, type);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: cut_model MODEL FROM TO BATCH OUTPUT\n");
        return 2;
    }
    hone_model *model;
    hone_error error;
    hone_status status = hone_model_load(argv[1], NULL, &model, &error);
    if (status == HONE_OK)
        status = cut(model, argv[2], argv[3], strtoll(argv[4], NULL, 10), &error);
    if (status == HONE_OK)
        status = hone_model_save(model, argv[5], NULL, &error);
    if (status == HONE_OK) {
        print_type(model, argv[2]);
        print_type(model, argv[3]);
    } else {
        fprintf(stderr, "%s\n", error.message);
    }
    hone_model_free(model);
    return status == HONE_OK ? 0 : 1;
}
