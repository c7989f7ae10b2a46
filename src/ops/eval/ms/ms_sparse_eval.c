/* SparseAttention of com.microsoft, computed: queries see some blocks of keys. */
#include "ops/eval/ms/ms_group_eval.h"

#include <float.h>

/* Rows of blocks in compressed form: row r of a layout has columns columns[rows[r]] ..
 * columns[rows[r + 1]]. */
typedef struct block_layout {
    const hn_group_parts *parts;
    const int32_t *rows, *columns;
    int64_t n_layouts, n_rows, n_columns; /* per layout; n_rows: of blocks */
    int64_t block;
} block_layout;

static hone_status read_blocks(hn_eval *c, const hn_group_parts *g, block_layout *l) {
    const hn_array *rows = hn_arg(c, 5), *columns = hn_arg(c, 6);
    l->block = hn_attr_i(hn_eval_node(c), "sparse_block_size", 0);
    if (l->block < 1 || rows->rank != 2 || columns->rank != 2 || rows->dims[0] < 1 ||
        rows->dims[0] != columns->dims[0] || rows->dims[1] < 2)
        return hn_eval_fail(
            c, HONE_E_SHAPE,
            "block rows [layouts, rows + 1] and block columns [layouts, blocks] do not fit");
    *l = (block_layout){
        g, rows->data, columns->data, rows->dims[0], rows->dims[1] - 1, columns->dims[1], l->block};
    for (int64_t i = 0; i < l->n_layouts * (l->n_rows + 1); i++) {
        int32_t first = i % (l->n_rows + 1) == 0 ? 0 : l->rows[i - 1];
        if (l->rows[i] < first || l->rows[i] > l->n_columns)
            return hn_eval_fail(
                c, HONE_E_INVALID,
                "block row %lld begins at %d, outside the %lld blocks or before the last row",
                (long long)i, l->rows[i], (long long)l->n_columns);
    }
    for (int64_t b = 0; b < g->heads.batch; b++)
        if (g->n_keys[b] > l->n_rows * l->block)
            return hn_eval_fail(c, HONE_E_INVALID, "%lld keys need more than the %lld block rows",
                                (long long)g->n_keys[b], (long long)l->n_rows);
    return HONE_OK;
}

static hn_key_span see_blocks(const void *ctx, int64_t b, int64_t h, int64_t i, int64_t n,
                              float *scores) {
    const block_layout *l = ctx;
    int64_t position = HN_MIN(l->parts->n_past[b] + i, l->n_rows * l->block - 1),
            layout = h % l->n_layouts;
    const int32_t *rows = l->rows + layout * (l->n_rows + 1) + position / l->block,
                  *columns = l->columns + layout * l->n_columns;
    hn_key_span seen = {0, HN_MIN(position + 1, n)};
    for (int64_t k = 0; k < seen.end; k += l->block) {
        bool is_there = false;
        for (int32_t at = rows[0]; at < rows[1] && !is_there; at++)
            is_there = columns[at] == k / l->block;
        for (int64_t e = k; !is_there && e < HN_MIN(k + l->block, seen.end); e++)
            scores[e] = -FLT_MAX;
    }
    return seen;
}

static hone_status eval_sparse_attention(hn_eval *c) {
    hn_group_parts g = {.n_fresh = 0};
    block_layout layout;
    int64_t total = hn_arg_i64_or(c, 7, 0);
    HN_TRY(hn_read_groups(c, &g));
    HN_TRY(hn_read_group_lengths(c, &g, 8, 0, total));
    HN_TRY(hn_turn_groups(c, &g, 9, HN_NO_ARG));
    HN_TRY(read_blocks(c, &g, &layout));
    g.heads.see = see_blocks;
    g.heads.see_ctx = &layout;
    HN_TRY(hn_join_group_side(c, &g, 3, 1, total, &g.keys, &g.heads.k));
    HN_TRY(hn_join_group_side(c, &g, 4, 2, total, &g.values, &g.heads.v));
    return hn_attend_groups(c, &g);
}
const hn_impl hn_impl_sparse_attention[1] = {{.eval = eval_sparse_attention}};
