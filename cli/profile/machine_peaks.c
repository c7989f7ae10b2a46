/* The peaks of this machine: measured once, kept in the user's cache folder. */
#define _POSIX_C_SOURCE 200809L
#include "profile/product_time.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* ---- the processor --------------------------------------------------------------------------- */

static bool read_model_name(char *name, size_t size) {
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        found = colon && strncmp(line, "model name", 10) == 0;
        if (found)
            snprintf(name, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    }
    if (file)
        fclose(file);
    return found;
}

/* Its name, and what HONE_CPU leaves of it: other kernels, other peaks. */
static void name_cpu(char *name, size_t size) {
    struct utsname machine;
    char model[96];
    const char *tier = getenv("HONE_CPU");
    if (!read_model_name(model, sizeof model))
        snprintf(model, sizeof model, "%.90s", uname(&machine) == 0 ? machine.machine : "unknown");
    snprintf(name, size, "%s%s%.20s", model, tier && *tier ? ", HONE_CPU=" : "",
             tier && *tier ? tier : "");
}

/* ---- the file -------------------------------------------------------------------------------- */

static bool name_peaks_file(int n_threads, bool makes_folder, char *path, size_t size) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char folder[3900];
    if (cache && *cache)
        snprintf(folder, sizeof folder, "%.3800s", cache);
    else if (home && *home)
        snprintf(folder, sizeof folder, "%.3800s/.cache", home);
    else
        return false;
    if (makes_folder)
        mkdir(folder, 0777);
    size_t n = strlen(folder);
    snprintf(folder + n, sizeof folder - n, "/hone");
    if (makes_folder)
        mkdir(folder, 0777);
    return (size_t)snprintf(path, size, "%s/peaks-%d.txt", folder, n_threads) < size;
}

/* FNV-1a: a file that was cut or edited is measured again. */
static uint64_t sum_of_text(const char *text, size_t n) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 1099511628211u;
    return h;
}

static void print_peaks(const profile_peaks *p, cli_buffer *out) {
    cli_buffer_printf(out, "hone peaks 1\ncpu %s\nthreads %d\n", p->cpu, p->n_threads);
    cli_buffer_printf(out, "flops %.6g\nint8 %.6g\nread %.6g\ncache %.6g\n", p->flops, p->int8_ops,
                      p->read_bytes, p->cache_bytes);
    cli_buffer_printf(out, "checksum %016llx\n",
                      (unsigned long long)sum_of_text((const char *)out->at, out->n));
}

/* The whole file must be what would be written of its numbers. */
static bool parse_peaks(const cli_buffer *file, profile_peaks *p) {
    profile_peaks read = *p;
    cli_buffer again = {0};
    const char *numbers = strstr((const char *)file->at, "\nflops ");
    if (!numbers || sscanf(numbers, "\nflops %lf\nint8 %lf\nread %lf\ncache %lf", &read.flops,
                           &read.int8_ops, &read.read_bytes, &read.cache_bytes) != 4)
        return false;
    print_peaks(&read, &again);
    bool is_same = !again.failed && again.n == file->n - 1 && /* its zero at the end */
                   memcmp(again.at, file->at, again.n) == 0;
    cli_buffer_free(&again);
    if (is_same)
        *p = read;
    return is_same;
}

static bool read_peaks(const char *path, profile_peaks *p) {
    cli_buffer file = {0};
    hone_error error;
    struct stat info;
    if (stat(path, &info) != 0 || !cli_file_read(path, &file, &error))
        return false;
    cli_buffer_add(&file, "", 1);
    bool ok = !file.failed && parse_peaks(&file, p);
    cli_buffer_free(&file);
    return ok;
}

static void measure_peaks(profile_peaks *p) {
    enum { SIDE = 1024 };
    hone_peaks peaks = {0};
    hone_measure_peaks(p->n_threads, &peaks, NULL);
    double seconds = product_seconds(SIDE, SIDE, SIDE, true, p->n_threads, 0.3);
    p->flops = peaks.flops;
    p->read_bytes = peaks.read_bytes;
    p->cache_bytes = peaks.cache_bytes;
    p->int8_ops = seconds > 0 ? 2.0 * SIDE * SIDE * SIDE / seconds : 0;
}

void peaks_get(int n_threads, bool measure_again, profile_peaks *peaks) {
    char path[4096];
    cli_buffer text = {0};
    hone_error error;
    *peaks = (profile_peaks){.n_threads = n_threads};
    name_cpu(peaks->cpu, sizeof peaks->cpu);
    if (!measure_again && name_peaks_file(n_threads, false, path, sizeof path) &&
        read_peaks(path, peaks))
        return;
    measure_peaks(peaks);
    print_peaks(peaks, &text);
    if (!text.failed && name_peaks_file(n_threads, true, path, sizeof path))
        cli_file_write(path, &text, &error); /* a cache: without it they are measured next time */
    cli_buffer_free(&text);
}
