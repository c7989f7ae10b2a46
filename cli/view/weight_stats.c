/* Statistics and the histogram of a constant, in two passes over its data. */
#include "view/graph_view.h"

#include <math.h>
#include <string.h>

enum { PIECE = 4096 };

typedef struct stats_pass {
    view_stats *s;
    double sum, squares, tiny; /* tiny: smallest magnitude that is not denormal; 0: none are */
    double scale;              /* bins per unit */
    bool counts_bins;          /* the second pass */
} stats_pass;

static void see_number(stats_pass *p, double x) {
    view_stats *s = p->s;
    if (isnan(x) || isinf(x)) {
        ++*(isnan(x) ? &s->n_nan : &s->n_inf);
        return;
    }
    s->n_zeros += x == 0;
    s->n_denormals += x != 0 && fabs(x) < p->tiny;
    s->min = x < s->min ? x : s->min;
    s->max = x > s->max ? x : s->max;
    p->sum += x;
    p->squares += x * x;
}

static void see_piece(stats_pass *p, const double *x, size_t n) {
    for (size_t i = 0; i < n && !p->counts_bins; i++)
        see_number(p, x[i]);
    for (size_t i = 0; i < n && p->counts_bins; i++) {
        if (isnan(x[i]) || isinf(x[i]))
            continue;
        double bin = (x[i] - p->s->min) * p->scale;
        p->s->bins[bin < VIEW_BINS ? (int)bin : VIEW_BINS - 1]++;
    }
}

/* The data need not be aligned, so pieces of it are copied. */
static bool see_tensor(stats_pass *p, const hone_tensor_info *t, const volatile int *stop) {
    int bits = hone_elem_type_bits(t->elem_type);
    union {
        double aligned;
        unsigned char bytes[PIECE * 16];
    } piece;
    double x[PIECE];
    if (bits == 0 || bits > 64 || !t->data)
        return false;
    for (uint64_t done = 0; done < t->n_elements; done += PIECE) {
        uint64_t left = t->n_elements - done;
        int64_t n = left < PIECE ? (int64_t)left : PIECE;
        size_t begin = (size_t)(done * (uint64_t)bits / 8);
        size_t n_bytes = ((size_t)n * (size_t)bits + 7) / 8;
        hone_value *v;
        if ((stop && *stop) || begin + n_bytes > t->data_bytes)
            return false;
        memcpy(piece.bytes, (const unsigned char *)t->data + begin, n_bytes);
        if (hone_value_borrow(t->elem_type, 1, &n, piece.bytes, n_bytes, &v, NULL) != HONE_OK)
            return false;
        bool ok = hone_value_get_f64(v, 0, (uint64_t)n, x);
        hone_value_free(v);
        if (!ok)
            return false;
        see_piece(p, x, (size_t)n);
    }
    return true;
}

static double smallest_normal(int32_t elem_type) {
    const char *name = hone_elem_type_name(elem_type);
    static const struct {
        const char *name;
        double tiny;
    } types[] = {
        {"float", 0x1p-126}, {"double", 0x1p-1022}, {"float16", 0x1p-14}, {"bfloat16", 0x1p-126}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].tiny;
    return 0;
}

bool view_stats_make(const hone_tensor_info *t, view_stats *s, const volatile int *is_interrupted) {
    *s = (view_stats){.min = INFINITY, .max = -INFINITY, .n = t->n_elements};
    stats_pass p = {.s = s, .tiny = smallest_normal(t->elem_type)};
    if (!see_tensor(&p, t, is_interrupted))
        return false;
    double n = (double)(s->n - s->n_nan - s->n_inf);
    if (n == 0)
        return true;
    s->mean = p.sum / n;
    double variance = p.squares / n - s->mean * s->mean;
    s->std = variance > 0 ? sqrt(variance) : 0;
    p.counts_bins = true;
    p.scale = VIEW_BINS / (s->max - s->min);
    if (s->max > s->min && isfinite(p.scale) && !see_tensor(&p, t, is_interrupted))
        return false;
    return true;
}
