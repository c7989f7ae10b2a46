/* Types and shapes in traces, and what follows from them: multiply-accumulates. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

/* The i-th "{...}" of the list. */
static const char *find_shape(const char *shapes, int i) {
    for (const char *at = strchr(shapes, '{'); at; at = strchr(at + 1, '{'))
        if (i-- == 0)
            return at;
    return NULL;
}

int trace_dims(const char *shapes, int i, int64_t dims[CLI_MAX_RANK], char type[32]) {
    const char *at = find_shape(shapes, i);
    int rank = 0;
    if (!at || at[1] != '"')
        return -1;
    const char *name = at + 2, *end = strchr(name, '"');
    if (!end || end[1] != ':' || end[2] != '[')
        return -1;
    snprintf(type, 32, "%.*s", (int)(end - name), name);
    for (at = end + 3; *at && *at != ']' && rank < CLI_MAX_RANK; at += *at == ',') {
        char *next;
        dims[rank++] = strtoll(at, &next, 10);
        if (next == at)
            return -1;
        at = next;
    }
    return rank;
}

const char *trace_types_text(profile *p, const char *shapes) {
    int64_t dims[CLI_MAX_RANK];
    char type[32];
    cli_buffer text = {0};
    for (int i = 0, rank; (rank = trace_dims(shapes, i, dims, type)) >= 0; i++) {
        cli_buffer_printf(&text, "%s%s[", i ? ", " : "", type);
        for (int k = 0; k < rank; k++)
            cli_buffer_printf(&text, k ? ",%lld" : "%lld", (long long)dims[k]);
        cli_buffer_printf(&text, "]");
    }
    cli_buffer_add(&text, "", 1);
    const char *kept = text.failed ? "" : profile_text(p, (const char *)text.at);
    cli_buffer_free(&text);
    return kept;
}

static double elements_of(const int64_t *dims, int rank) {
    double n = 1;
    for (int i = 0; i < rank; i++)
        n *= (double)dims[i];
    return n;
}

static bool ends_with_op(const char *op, const char *end) {
    size_t n = strlen(op), m = strlen(end);
    return n >= m && strcmp(op + n - m, end) == 0;
}

/* By the names of operators: those of onnxruntime end in what they compute. */
static double count_macs(const char *op, const int64_t *x, int x_rank, const int64_t *w, int w_rank,
                         double n_out) {
    if (ends_with_op(op, "Conv") || ends_with_op(op, "ConvInteger"))
        return w_rank > 2 && w[0] ? n_out * elements_of(w + 1, w_rank - 1) : 0;
    if (ends_with_op(op, "ConvTranspose"))
        return w_rank > 2 && w[0] ? elements_of(x, x_rank) * elements_of(w + 1, w_rank - 1) : 0;
    if (strstr(op, "MatMul") && !strstr(op, "NBits"))
        return x_rank > 0 ? n_out * (double)x[x_rank - 1] : 0;
    return 0;
}

/* A Gemm that transposes has its sizes the other way round: that one of w which the result does not
 * have is summed over. */
static double gemm_macs(const int64_t *w, const int64_t *y, int y_rank, double n_out) {
    if (y_rank != 2)
        return 0;
    return n_out * (double)(w[1] == y[1] ? w[0] : w[1]);
}

/* Weights that onnxruntime has packed are missing in its profiles: then the last dimension of the
 * left side is what a product sums over. */
uint64_t trace_macs(const char *op, const char *inputs, const char *outputs) {
    int64_t x[CLI_MAX_RANK], w[CLI_MAX_RANK], y[CLI_MAX_RANK];
    char type[32];
    bool is_quantized = strncmp(op, "QLinear", 7) == 0 || strcmp(op, "QGemm") == 0;
    int x_rank = trace_dims(inputs, 0, x, type);
    int w_rank = trace_dims(inputs, is_quantized ? 3 : 1, w, type);
    int y_rank = trace_dims(outputs, 0, y, type);
    bool is_gemm = ends_with_op(op, "Gemm");
    if (x_rank < 0 || y_rank < 0 || x_rank + y_rank == 0)
        return 0;
    double n_out = elements_of(y, y_rank), macs;
    if (is_gemm && w_rank == 2)
        macs = gemm_macs(w, y, y_rank, n_out);
    else
        macs = count_macs(is_gemm ? "MatMul" : op, x, x_rank, w, w_rank, n_out);
    return macs > 0 && macs < 0x1p63 ? (uint64_t)macs : 0;
}
