/* Summarizes a tensor: minimum, maximum, mean. */
#include "cli_value.h"

#include <math.h>

bool cli_summarize(const hone_value *v, cli_summary *s) {
    enum { PIECE = 512 };
    hone_tensor_info t;
    double numbers[PIECE], sum = 0;
    uint64_t n_finite = 0;
    *s = (cli_summary){.min = (double)NAN, .max = (double)NAN, .mean = (double)NAN};
    if (!hone_value_tensor(v, &t) || !hone_elem_type_bits(t.elem_type))
        return false;
    for (uint64_t begin = 0; begin < t.n_elements; begin += PIECE) {
        uint64_t n = t.n_elements - begin < PIECE ? t.n_elements - begin : PIECE;
        hone_value_get_f64(v, begin, n, numbers);
        for (uint64_t i = 0; i < n; i++) {
            s->n_nan += isnan(numbers[i]) != 0;
            s->n_inf += isinf(numbers[i]) != 0;
            if (!isfinite(numbers[i]))
                continue;
            s->min = numbers[i] >= s->min
                         ? s->min
                         : numbers[i]; /* false for NaN, so that the first number is taken */
            s->max = numbers[i] <= s->max ? s->max : numbers[i];
            sum += numbers[i];
            n_finite++;
        }
    }
    if (n_finite)
        s->mean = sum / (double)n_finite;
    return true;
}

uint64_t cli_top(const hone_value *v, uint64_t begin, uint64_t n, uint64_t k, cli_rank *out) {
    uint64_t n_out = 0;
    for (uint64_t i = 0; i < n; i++) {
        double number;
        if (!hone_value_get_f64(v, begin + i, 1, &number))
            return n_out;
        uint64_t at = n_out;
        while (at > 0 &&
               (number > out[at - 1].value || (isnan(out[at - 1].value) && !isnan(number))))
            at--;
        if (at == k)
            continue;
        for (uint64_t shift = n_out < k ? n_out : k - 1; shift > at; shift--)
            out[shift] = out[shift - 1];
        out[at] = (cli_rank){i, number};
        n_out += n_out < k;
    }
    return n_out;
}
