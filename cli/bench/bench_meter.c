#ifndef _DEFAULT_SOURCE
#  define _DEFAULT_SOURCE /* syscall */
#endif
#include "bench/bench_meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Some C libraries come without the headers of the kernel. */
#if defined(__linux__) && defined(__has_include)
#  if __has_include(<linux/perf_event.h>)
#    include <linux/perf_event.h>
#    include <sys/syscall.h>
#    define BENCH_HAS_PERF_EVENT
#  endif
#endif

/* ---- energy ---------------------------------------------------------------------------------- */

static bool read_counter_file(const char *path, double *value) {
    FILE *f = fopen(path, "r");
    bool ok = f && fscanf(f, "%lf", value) == 1;
    if (f)
        fclose(f);
    return ok;
}

/* Packages are intel-rapl:0, intel-rapl:1 ...; AMD processors have the same names. Their parts
 * (intel-rapl:0:0) are contained in them. */
static void find_packages(bench_meter *m) {
    const char *given = getenv("HONE_POWERCAP");
    const char *folder = given ? given : "/sys/class/powercap";
    char path[300];
    double value;
    for (int i = 0; i < BENCH_MOST_PACKAGES; i++) {
        snprintf(path, sizeof path, "%.200s/intel-rapl:%d/max_energy_range_uj", folder, i);
        double range = read_counter_file(path, &value) ? value : 0;
        snprintf(path, sizeof path, "%.200s/intel-rapl:%d/energy_uj", folder, i);
        bool exists = access(path, F_OK) == 0;
        if (exists && read_counter_file(path, &value)) {
            memcpy(m->packages[m->n_packages].path, path, sizeof path);
            m->packages[m->n_packages++].range = range;
        } else if (exists) {
            snprintf(m->energy_note, sizeof m->energy_note, "not available: '%.90s' cannot be read",
                     path);
        }
    }
    if (m->n_packages)
        m->energy_note[0] = '\0';
    else if (!m->energy_note[0])
        snprintf(m->energy_note, sizeof m->energy_note, "not available: no RAPL counters in %.100s",
                 folder);
}

/* ---- counters of the processor --------------------------------------------------------------- */

#ifdef BENCH_HAS_PERF_EVENT
static int open_counter(uint64_t config) {
    struct perf_event_attr a = {.type = PERF_TYPE_HARDWARE,
                                .size = sizeof a,
                                .config = config,
                                .inherit = 1,
                                .exclude_kernel = 1,
                                .exclude_hv = 1};
    return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
}

static void open_counters(bench_meter *m) {
    m->instructions = open_counter(PERF_COUNT_HW_INSTRUCTIONS);
    int error = errno;
    m->misses = open_counter(PERF_COUNT_HW_CACHE_MISSES);
    if (m->instructions >= 0 || m->misses >= 0)
        return;
    const char *why = error == EACCES || error == EPERM ? "see kernel.perf_event_paranoid"
                      : error == ENOENT || error == ENODEV || error == EOPNOTSUPP
                          ? "the processor, or the virtual machine, has none"
                          : strerror(error);
    snprintf(m->counters_note, sizeof m->counters_note, "not available: %.100s", why);
}
#else
static void open_counters(bench_meter *m) {
    m->instructions = m->misses = -1;
    snprintf(m->counters_note, sizeof m->counters_note, "not available: built without perf_event");
}
#endif

static double read_counter(int fd) {
    uint64_t count = 0;
    return fd >= 0 && read(fd, &count, sizeof count) == (ssize_t)sizeof count ? (double)count : 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

void bench_meter_open(bench_meter *m) {
    *m = (bench_meter){.instructions = -1, .misses = -1};
    find_packages(m);
    open_counters(m);
}

void bench_meter_close(bench_meter *m) {
    if (m->instructions >= 0)
        close(m->instructions);
    if (m->misses >= 0)
        close(m->misses);
    m->instructions = m->misses = -1;
}

static double seconds_of(const struct timeval *t) {
    return (double)t->tv_sec + 1e-6 * (double)t->tv_usec;
}

void bench_meter_read(const bench_meter *m, bench_reading *r) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    *r = (bench_reading){.cpu_seconds = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime)};
    for (size_t i = 0; i < m->n_packages; i++) {
        double microjoules = 0;
        read_counter_file(m->packages[i].path, &microjoules);
        r->joules[i] = 1e-6 * microjoules;
    }
    r->instructions = read_counter(m->instructions);
    r->misses = read_counter(m->misses);
}

void bench_meter_add(const bench_meter *m, const bench_reading *before, const bench_reading *after,
                     bench_reading *sum) {
    sum->cpu_seconds += after->cpu_seconds - before->cpu_seconds;
    sum->instructions += after->instructions - before->instructions;
    sum->misses += after->misses - before->misses;
    for (size_t i = 0; i < m->n_packages; i++) {
        double used = after->joules[i] - before->joules[i];
        sum->joules[i] += used < 0 ? used + 1e-6 * m->packages[i].range : used;
    }
}

double bench_meter_joules(const bench_meter *m, const bench_reading *r) {
    double sum = 0;
    for (size_t i = 0; i < m->n_packages; i++)
        sum += r->joules[i];
    return sum;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int64_t status_bytes(const char *key) {
    char line[256];
    long long kilobytes = -1;
    size_t n = strlen(key);
    FILE *f = fopen("/proc/self/status", "r");
    while (f && kilobytes < 0 && fgets(line, sizeof line, f))
        if (strncmp(line, key, n) == 0)
            kilobytes = strtoll(line + n, NULL, 10);
    if (f)
        fclose(f);
    return kilobytes < 0 ? -1 : kilobytes * 1024;
}

int64_t bench_resident_bytes(void) {
    return status_bytes("VmRSS:");
}

int64_t bench_peak_bytes(void) {
    return status_bytes("VmHWM:");
}
