/* What one core could do: prints the peaks that rooflines are drawn with. */
#include "kern/kern.h"

#include <stdio.h>

#include "cpu/kernels/peaks/peaks.h"

#define READ_BYTES ((size_t)256 << 20) /* far beyond what a core may call its own of any cache */

double kern_peak_gflops(void) {
    static double best;
    best = HN_MAX(best, hn_peak_flops(NULL) * 1e-9);
    return best;
}

double kern_read_gbytes(void) {
    return hn_peak_read_bytes(NULL, READ_BYTES, 5) * 1e-9;
}

void kern_print_peaks(void) {
    double read = kern_read_gbytes();
    printf("{\"gflops\": %.1f, \"read_gbytes_per_second\": %.2f}\n", kern_peak_gflops(), read);
}
