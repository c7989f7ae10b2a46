/* What runs take beside time: processor time, energy, instructions, cache misses, memory. */
#ifndef HONE_BENCH_METER_H
#define HONE_BENCH_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MOST_PACKAGES = 16 };

typedef struct bench_meter {
    struct {
        char path[300]; /* its counter of microjoules */
        double range;   /* after which the counter begins again */
    } packages[BENCH_MOST_PACKAGES];
    size_t n_packages;
    char energy_note[160];    /* why there is no energy; "": there is */
    int instructions, misses; /* file descriptors; -1: none */
    char counters_note[160];
} bench_meter;

/* A state of the counters, or what was used between two. */
typedef struct bench_reading {
    double cpu_seconds; /* of all threads of this process */
    double joules[BENCH_MOST_PACKAGES];
    double instructions, misses;
} bench_reading;

/* Before threads are started, which are counted with the one that starts them. */
void bench_meter_open(bench_meter *m);
void bench_meter_close(bench_meter *m);
void bench_meter_read(const bench_meter *m, bench_reading *r);
/* Adds what was used from `before` to `after`. */
void bench_meter_add(const bench_meter *m, const bench_reading *before, const bench_reading *after,
                     bench_reading *sum);
double bench_meter_joules(const bench_meter *m, const bench_reading *r);
/* Resident memory of this process, now and at most; -1: not available. */
int64_t bench_resident_bytes(void);
int64_t bench_peak_bytes(void);

#endif /* HONE_BENCH_METER_H */
