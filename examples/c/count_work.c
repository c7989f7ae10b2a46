/* Counts the work of one run, operator by operator: count_work MODEL DIMENSION SIZE
 * for example: count_work model.onnx batch 16 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hone/hone.h>

static void print_stats(const hone_stats *stats) {
    hone_stats_totals totals;
    hone_stats_get_totals(stats, &totals);
    printf("%-20s %5s %12s %14s\n", "operator", "nodes", "MACs", "output bytes");
    for (uint32_t i = 0; i < totals.n_ops; i++) {
        hone_stats_op op;
        hone_stats_get_op(stats, i, &op);
        printf("%-20s %5" PRIu32 " %12" PRIu64 " %14" PRIu64 "\n", op.op, op.count, op.macs,
               op.output_bytes);
    }
    printf("%-20s %5" PRIu32 " %12" PRIu64 " %14" PRIu64 "\n", "all", totals.n_nodes, totals.macs,
           totals.activation_bytes);
    if (totals.n_unknown_nodes > 0)
        printf("%" PRIu32 " nodes have free dimensions\n", totals.n_unknown_nodes);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: count_work MODEL DIMENSION SIZE\n");
        return 2;
    }
    hone_model *model;
    hone_stats *stats = NULL;
    hone_error error;
    hone_status status = hone_model_load(argv[1], NULL, &model, &error);
    if (status == HONE_OK)
        status = hone_model_fix_dim(model, argv[2], strtoll(argv[3], NULL, 10), &error);
    if (status == HONE_OK)
        status = hone_model_infer(model, &error);
    if (status == HONE_OK)
        status = hone_model_get_stats(model, &stats, &error);
    if (status == HONE_OK)
        print_stats(stats);
    else
        fprintf(stderr, "%s\n", error.message);
    hone_stats_free(stats);
    hone_model_free(model);
    return status == HONE_OK ? 0 : 1;
}
