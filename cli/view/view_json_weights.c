/* Weights in the data of the page: "weights" maps ids of values to statistics and a histogram. */
#include "view/graph_view.h"

enum { MOST_SHOWN = 16 };

/* Few elements are shown themselves. */
static void put_elements(const hone_tensor_info *t, cli_buffer *out) {
    union {
        double aligned;
        unsigned char bytes[MOST_SHOWN * 16];
    } copy;
    int64_t n = (int64_t)t->n_elements;
    double x[MOST_SHOWN];
    hone_value *v;
    if (n > MOST_SHOWN || n == 0 || !t->data || t->data_bytes > sizeof copy.bytes)
        return;
    for (uint64_t i = 0; i < t->data_bytes; i++)
        copy.bytes[i] = ((const unsigned char *)t->data)[i];
    if (hone_value_borrow(t->elem_type, 1, &n, copy.bytes, (size_t)t->data_bytes, &v, NULL) !=
        HONE_OK)
        return;
    if (hone_elem_type_bits(t->elem_type) <= 64 && hone_value_get_f64(v, 0, (uint64_t)n, x)) {
        cli_buffer_printf(out, ",\"data\":[");
        for (int64_t i = 0; i < n; i++) {
            cli_buffer_printf(out, "%s", i ? "," : "");
            cli_json_number(out, x[i], hone_elem_type_bits(t->elem_type) <= 32);
        }
        cli_buffer_printf(out, "]");
    }
    hone_value_free(v);
}

static void put_statistics(const view_stats *s, cli_buffer *out) {
    const double numbers[] = {s->min, s->max, s->mean, s->std};
    static const char *const keys[] = {"min", "max", "mean", "std"};
    bool has_bins = false;
    for (int i = 0; i < 4; i++) {
        cli_buffer_printf(out, ",\"%s\":", keys[i]);
        cli_json_number(out, numbers[i], true);
    }
    cli_buffer_printf(out, ",\"zeros\":%llu,\"denormals\":%llu,\"nan\":%llu,\"inf\":%llu",
                      (unsigned long long)s->n_zeros, (unsigned long long)s->n_denormals,
                      (unsigned long long)s->n_nan, (unsigned long long)s->n_inf);
    for (int i = 0; i < VIEW_BINS; i++)
        has_bins = has_bins || s->bins[i];
    if (!has_bins)
        return;
    cli_buffer_printf(out, ",\"bins\":[");
    for (int i = 0; i < VIEW_BINS; i++)
        cli_buffer_printf(out, "%s%llu", i ? "," : "", (unsigned long long)s->bins[i]);
    cli_buffer_printf(out, "]");
}

static void put_weight_row(const hone_tensor_info *t, const view_scene *s, cli_buffer *out) {
    view_stats stats;
    cli_buffer_printf(out, "{\"n\":%llu,\"bytes\":%llu", (unsigned long long)t->n_elements,
                      (unsigned long long)(t->data ? t->data_bytes
                                                   : (t->n_elements * (uint64_t)hone_elem_type_bits(
                                                                          t->elem_type) +
                                                      7) /
                                                         8));
    if (t->external_location) {
        cli_buffer_printf(out, ",");
        cli_json_member(out, "file", t->external_location);
    }
    put_elements(t, out);
    if (s->has_statistics && t->n_elements > 0 && view_stats_make(t, &stats, s->is_interrupted))
        put_statistics(&stats, out);
    cli_buffer_printf(out, "}");
}

void view_json_weights(const view_model *v, const view_scene *s, cli_buffer *out) {
    bool has_any = false;
    cli_buffer_printf(out, "\"weights\":{");
    for (uint32_t k = 0; k < v->n_sources; k++) {
        const view_source *source = &v->sources[k];
        for (uint32_t i = 0; i < hone_graph_n_values(source->graph); i++) {
            hone_tensor_info t;
            if (!view_constant(source->graph, i, &t))
                continue;
            cli_buffer_printf(out, "%s\"%u\":", has_any ? ",\n" : "", source->first_value + i);
            put_weight_row(&t, s, out);
            has_any = true;
        }
    }
    cli_buffer_printf(out, "},");
}
