/* Name of the processor, for reports and for distinguishing machines. */
#include "base/base.h"

#include <stdio.h>

#if defined(__x86_64__) || defined(__i386__)
#  include <cpuid.h>

/* Three leaves of 16 letters each, padded with spaces or zeros. */
static void read_cpu_name(char raw[64]) {
    const unsigned first_leaf = 0x80000002U, n_leaves = 3;
    for (unsigned i = 0; i < n_leaves; i++) {
        unsigned r[4] = {0};
        if (__get_cpuid(first_leaf + i, &r[0], &r[1], &r[2], &r[3]))
            memcpy(raw + i * sizeof r, r, sizeof r);
    }
}

#else

/* The main ID register, which Linux exposes. */
static void read_cpu_name(char raw[64]) {
    FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
    if (f && !fgets(raw, 63, f))
        raw[0] = '\0';
    if (f)
        fclose(f);
}

#endif

void hn_cpu_name(char *out, size_t size) {
    char raw[64] = {0};
    size_t n = 0;
    read_cpu_name(raw);
    for (const char *c = raw; *c && n + 1 < size; c++) {
        bool is_gap = *c <= ' ' || *c > '~';
        if (!is_gap || (n > 0 && out[n - 1] != ' '))
            out[n++] = is_gap ? ' ' : *c;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    if (size > 0)
        out[n] = '\0';
}
