/* Findings by measurement: float layers whose product would be faster in 8-bit integers here. */
#include "profile/findings.h"
#include "profile/product_time.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PRODUCTS = 6 };

/* A layer as a matrix product. */
typedef struct layer_sizes {
    int64_t m, k, n;
} layer_sizes;

static bool ends_with_word(const char *op, const char *word) {
    size_t n = strlen(op), m = strlen(word);
    return n >= m && strcmp(op + n - m, word) == 0;
}

/* By bytes of the result: rows times columns; what each is summed over follows from the count. */
static bool sizes_of_layer(const profile_node *node, layer_sizes *s) {
    int64_t w[CLI_MAX_RANK], y[CLI_MAX_RANK];
    char type[32] = "";
    bool is_conv = ends_with_word(node->op, "Conv"),
         is_product = ends_with_word(node->op, "MatMul") || ends_with_word(node->op, "Gemm");
    int w_rank = trace_dims(node->inputs, 1, w, type), rank;
    if ((!is_conv && !is_product) || node->is_integer || !node->macs || !node->parameter_bytes ||
        w_rank < 2 || strcmp(type, "float") != 0)
        return false;
    rank = trace_dims(node->outputs, 0, y, type);
    double n_out = 1;
    for (int i = 0; i < rank; i++)
        n_out *= (double)y[i];
    s->n = is_conv ? w[0] : rank > 0 ? y[rank - 1] : 0;
    if (s->n <= 0 || n_out < (double)s->n)
        return false;
    s->m = (int64_t)(n_out / (double)s->n);
    s->k = (int64_t)((double)node->macs / n_out);
    return s->m > 0 && s->k >= 16 && s->n >= 8 && (double)s->k * (double)s->n < 0x1p27 &&
           (double)s->m * (double)s->k < 0x1p27;
}

typedef struct int8_gain {
    layer_sizes sizes;
    double float_s, int8_s, us; /* us: of the layers that have these sizes */
    uint32_t n;
    const char *first;
    bool is_conv;
} int8_gain;

static void add_layer(int8_gain *gains, uint32_t *n_gains, const layer_sizes *s,
                      const profile_node *node, double us) {
    uint32_t at = 0;
    while (at < *n_gains && memcmp(&gains[at].sizes, s, sizeof *s) != 0)
        at++;
    if (at == MOST_PRODUCTS)
        return;
    if (at == *n_gains)
        gains[(*n_gains)++] = (int8_gain){
            .sizes = *s, .first = node->label, .is_conv = ends_with_word(node->op, "Conv")};
    gains[at].n++;
    gains[at].us += us;
}

void findings_of_int8(const finding_input *in) {
    profile *p = in->p;
    int8_gain gains[MOST_PRODUCTS];
    uint32_t n_gains = 0, n_ordered, n_layers = 0, *order = profile_order(p, &n_ordered);
    double saved_us = 0, layers_us = 0, run_us = p->median_run_us;
    const int8_gain *best = NULL;
    for (uint32_t i = 0; order && i < n_ordered; i++) {
        layer_sizes s;
        double us = profile_node_us(p, &p->nodes[order[i]]);
        if (us > 0.01 * run_us && sizes_of_layer(&p->nodes[order[i]], &s))
            add_layer(gains, &n_gains, &s, &p->nodes[order[i]], us);
    }
    free(order);
    for (uint32_t i = 0; i < n_gains; i++) {
        int8_gain *g = &gains[i];
        g->float_s =
            product_seconds(g->sizes.m, g->sizes.k, g->sizes.n, false, in->n_threads, 0.03);
        g->int8_s = product_seconds(g->sizes.m, g->sizes.k, g->sizes.n, true, in->n_threads, 0.03);
        if (g->int8_s <= 0 || g->float_s < 1.3 * g->int8_s)
            continue;
        saved_us += g->us * (1 - g->int8_s / g->float_s);
        layers_us += g->us;
        n_layers += g->n;
        if (!best || g->us > best->us)
            best = g;
    }
    profile_finding *f =
        best && saved_us > 0.05 * run_us ? profile_add_finding(p, "int8", saved_us) : NULL;
    if (!f)
        return;
    f->title = profile_printf(p, "%u float layer%s would be faster in int8 on this machine",
                              n_layers, n_layers == 1 ? "" : "s");
    f->evidence = profile_printf(
        p,
        "they take %.3f ms; measured as a product of %lld x %lld x %lld, the size of '%s': %.3f ms "
        "in float, %.3f ms in int8",
        1e-3 * layers_us, (long long)best->sizes.m, (long long)best->sizes.k,
        (long long)best->sizes.n, best->first, 1e3 * best->float_s, 1e3 * best->int8_s);
    f->command = profile_printf(p,
                                best->is_conv ? "hone quantize %s -o int8.onnx --calib SAMPLES"
                                              : "hone quantize %s -o int8.onnx --mode dynamic",
                                in->path);
}
