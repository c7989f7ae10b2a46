/* Compares a value with its reference. */
#include "cli_value.h"

#include <math.h>
#include <string.h>

enum { COMPARE_PIECE = 512 };

typedef struct measure { /* sums over all tensors of a value */
    const cli_tolerance *tolerance;
    cli_comparison *c;
    double dot, reference_square, value_square, error_square;
} measure;

static void note_problem(cli_comparison *c, const char *fmt, const char *a, const char *b) {
    if (c->equal)
        snprintf(c->problem, sizeof c->problem, fmt, a, b);
    c->equal = false;
}

static double largest_magnitude(const hone_value *v, uint64_t n_elements) {
    double numbers[COMPARE_PIECE], largest = 0;
    for (uint64_t begin = 0; begin < n_elements; begin += COMPARE_PIECE) {
        uint64_t n = n_elements - begin < COMPARE_PIECE ? n_elements - begin : COMPARE_PIECE;
        hone_value_get_f64(v, begin, n, numbers);
        for (uint64_t i = 0; i < n; i++)
            if (isfinite(numbers[i]) && fabs(numbers[i]) > largest)
                largest = fabs(numbers[i]);
    }
    return largest;
}

/* 0 for equal numbers, also for two NaN; infinite when only one of them is finite. */
static double distance_of(double r, double v) {
    if (r == v || (isnan(r) && isnan(v)))
        return 0;
    return isfinite(r) && isfinite(v) ? fabs(v - r) : (double)INFINITY;
}

static void note_element(measure *m, const hone_tensor_info *t, uint64_t i, double r, double v) {
    char text[sizeof m->c->problem], index[256];
    snprintf(text, sizeof text, "%.9g instead of %.9g at %s", v, r,
             cli_index_text(t, i, index, sizeof index));
    note_problem(m->c, "%s%s", text, "");
    m->c->n_different++;
}

static void measure_element(measure *m, double r, double v, double distance) {
    cli_comparison *c = m->c;
    c->max_abs = distance > c->max_abs ? distance : c->max_abs;
    if (distance > 0 && r != 0)
        c->max_rel = fmax(c->max_rel, distance / fabs(r));
    if (!isfinite(r) || !isfinite(v))
        return;
    m->dot += r * v;
    m->reference_square += r * r;
    m->value_square += v * v;
    m->error_square += (v - r) * (v - r);
}

static void compare_numbers(measure *m, const hone_value *reference, const hone_value *v,
                            const hone_tensor_info *t) {
    double from_reference[COMPARE_PIECE], from_value[COMPARE_PIECE];
    uint64_t n_elements = strncmp(hone_elem_type_name(t->elem_type), "complex", 7) == 0
                              ? 2 * t->n_elements
                              : t->n_elements;
    double base = m->tolerance->absolute;
    if (m->tolerance->of_largest > 0)
        base += m->tolerance->of_largest * largest_magnitude(reference, n_elements);
    for (uint64_t begin = 0; begin < n_elements; begin += COMPARE_PIECE) {
        uint64_t n = n_elements - begin < COMPARE_PIECE ? n_elements - begin : COMPARE_PIECE;
        hone_value_get_f64(reference, begin, n, from_reference);
        hone_value_get_f64(v, begin, n, from_value);
        for (uint64_t i = 0; i < n; i++) {
            double distance = distance_of(from_reference[i], from_value[i]);
            measure_element(m, from_reference[i], from_value[i], distance);
            if (distance > 0 &&
                !(distance <= base + m->tolerance->relative * fabs(from_reference[i])))
                note_element(m, t, begin + i, from_reference[i], from_value[i]);
        }
    }
    m->c->n += t->n_elements;
    m->c->has_numbers = true;
}

static void compare_texts(measure *m, const hone_value *reference, const hone_value *v,
                          const hone_tensor_info *t) {
    const char *a, *b;
    size_t n_a, n_b;
    for (uint64_t i = 0;
         hone_value_string(reference, i, &a, &n_a) && hone_value_string(v, i, &b, &n_b); i++) {
        if (n_a == n_b && (n_a == 0 || memcmp(a, b, n_a) == 0))
            continue;
        char text[sizeof m->c->problem], index[256];
        snprintf(text, sizeof text, "\"%.*s\" instead of \"%.*s\" at %s",
                 (int)(n_b < 64 ? n_b : 64), b, (int)(n_a < 64 ? n_a : 64), a,
                 cli_index_text(t, i, index, sizeof index));
        note_problem(m->c, "%s%s", text, "");
        m->c->n_different++;
    }
    m->c->n += t->n_elements;
}

static bool same_shape(const hone_tensor_info *a, const hone_tensor_info *b, bool any_float) {
    bool both_float = cli_is_float(a->elem_type) && cli_is_float(b->elem_type);
    bool same = a->rank == b->rank && (a->elem_type == b->elem_type || (any_float && both_float));
    for (int32_t i = 0; same && i < a->rank; i++)
        same = a->dims[i] == b->dims[i];
    return same;
}

static void compare_value(measure *m, const hone_value *reference, const hone_value *v) {
    char a[256], b[256];
    hone_tensor_info r, t;
    bool is_tensor = hone_value_tensor(reference, &r);
    bool fits = hone_value_kind(reference) == hone_value_kind(v);
    fits =
        fits && (is_tensor ? hone_value_tensor(v, &t) && same_shape(&r, &t, m->tolerance->any_float)
                           : hone_value_n_items(reference) == hone_value_n_items(v));
    if (!fits) {
        note_problem(m->c, "%s instead of %s", cli_value_text(v, b, sizeof b),
                     cli_value_text(reference, a, sizeof a));
        return;
    }
    if (is_tensor && hone_elem_type_bits(r.elem_type))
        compare_numbers(m, reference, v, &r);
    else if (is_tensor)
        compare_texts(m, reference, v, &r);
    for (uint32_t i = 0; !is_tensor && i < hone_value_n_items(reference); i++)
        compare_value(m, hone_value_item(reference, i), hone_value_item(v, i));
}

void cli_compare(const hone_value *reference, const hone_value *v, const cli_tolerance *t,
                 cli_comparison *c) {
    measure m = {.tolerance = t, .c = c};
    *c = (cli_comparison){.equal = true};
    compare_value(&m, reference, v);
    double product = sqrt(m.reference_square) * sqrt(m.value_square);
    bool both_zero = m.reference_square == 0 && m.value_square == 0;
    c->cosine = both_zero ? 1 : product > 0 ? fmin(m.dot / product, 1) : 0;
    c->sqnr_db =
        m.error_square > 0 ? 10 * log10(m.reference_square / m.error_square) : (double)INFINITY;
}
