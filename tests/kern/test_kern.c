/* Every kernel against slow sums in double, on sizes around the edges of tiles, between pages that
 * cannot be touched, with one to three threads. HONE_CPU chooses the tier.
 *   test_kern            all tests
 *   test_kern --errors   largest errors of functions
 *   test_kern --bench    GFLOP/s and shares of the peak */
#define _GNU_SOURCE /* mmap with MAP_ANONYMOUS */
#include "kern/kern.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cpu/kernels/kernel_sets.h"
#include "cpu/kernels/kernel_select.h"

/* ---- verdicts ---- */

static int n_failures;

void kern_fail(const char *file, int line, const char *format, ...) {
    va_list args;
    if (n_failures++ >= 20)
        return;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

/* ---- numbers ---- */

uint32_t kern_random(void) {
    static uint64_t state = 0x9E3779B97F4A7C15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

int64_t kern_between(int64_t least, int64_t most) {
    return least + (int64_t)(kern_random() % (uint32_t)(most - least + 1));
}

bool kern_at_start;

enum { MOST_BUFFERS = 32, CANARY = 0xC5 };
static struct guarded {
    unsigned char *map, *room;
    size_t map_bytes, room_bytes;
    unsigned char *at;
    size_t bytes;
} buffers[MOST_BUFFERS];
static int n_buffers;

float *kern_floats(int64_t n) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (size_t)n * sizeof(float);
    size_t room = (bytes + page - 1) / page * page + (bytes == 0) * page;
    struct guarded *g = &buffers[n_buffers++];
    unsigned char *map = n_buffers > MOST_BUFFERS ? MAP_FAILED
                                                  : mmap(NULL, room + 2 * page, PROT_NONE,
                                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + page, room, PROT_READ | PROT_WRITE) != 0) {
        fputs("no memory for tests\n", stderr);
        exit(2);
    }
    *g = (struct guarded){map, map + page, room + 2 * page, room, NULL, bytes};
    g->at = g->room + (kern_at_start ? 0 : room - bytes);
    memset(g->room, CANARY, room);
    float *numbers = (float *)(void *)g->at;
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (float)((int32_t)kern_random() * (1.0 / 2147483648.0));
    return numbers;
}

static bool is_untouched(const unsigned char *from, const unsigned char *to) {
    while (from < to && *from == CANARY)
        from++;
    return from == to;
}

void kern_release(void) {
    for (; n_buffers > 0; n_buffers--) {
        struct guarded *g = &buffers[n_buffers - 1];
        KERN_CHECK(is_untouched(g->room, g->at) &&
                       is_untouched(g->at + g->bytes, g->room + g->room_bytes),
                   "something was written beside %zu bytes", g->bytes);
        munmap(g->map, g->map_bytes);
    }
}

enum { ONE_OF_FEW = 5 };
static bool has_few;

bool kern_leaves_out(void) {
    static unsigned n_asked;
    return has_few && n_asked++ % ONE_OF_FEW != 0;
}

static hn_pool *pools[KERN_POOLS];

hn_pool *kern_pool(int i) {
    return pools[i];
}

/* ---- tiers ---- */

/* The tier is what HONE_CPU names where the processor has it, and every row has a version for it.
 */
static void test_tiers(void) {
    const char *cap = getenv("HONE_CPU");
    hn_kernel_tier tier = hn_kernel_tier_of_cpu();
    uint64_t named = hn_cpu_tier_mask(cap);
    if (cap && (hn_cpu_mask() & named) == named)
        KERN_CHECK(strcmp(hn_kernel_tier_name(tier), cap) == 0, "%s instead of %s",
                   hn_kernel_tier_name(tier), cap);
#define HN_KERNEL(name, type, set, plain, pick, tiles, summary) \
  KERN_CHECK((pick() == (plain)) == (tier == HN_TIER_SCALAR), "%s has another tier", #name);
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL
}

/* ---- running ---- */

/* One for each row of kernels.def, and what is made of several. */
static const struct kern_test {
    const char *name;
    void (*run)(void);
} kern_tests[] = {
#define HN_KERNEL(name, type, set, plain, pick, tiles, summary) {#name, kern_test_##name},
#include "cpu/kernels/kernels.def"
#undef HN_KERNEL
    {"conv", kern_test_conv},
    {"conv_chain", kern_test_conv_chain},
    {"conv_transpose_nhwc", kern_test_conv_transpose_nhwc},
    {"pool_max", kern_test_pool_max},
    {"row_strides", kern_test_row_strides},
    {"tiers", test_tiers},
};

static int run_tests(const char *only) {
    for (size_t i = 0; i < HN_COUNT(kern_tests); i++) {
        int before = n_failures;
        if (only && strcmp(only, kern_tests[i].name) != 0)
            continue;
        for (int side = 0; side < 2; side++) {
            kern_at_start = side == 1;
            kern_tests[i].run();
        }
        printf("%-15s %s\n", kern_tests[i].name, n_failures == before ? "ok" : "FAILED");
        fflush(stdout);
    }
    return n_failures ? 1 : 0;
}

int main(int argc, char **argv) {
    has_few = argc > 1 && strcmp(argv[1], "--few") == 0;
    const char *what = argc > 1 + has_few ? argv[1 + has_few] : NULL;
    int status = 0;
    for (int i = 0; i < KERN_POOLS; i++)
        pools[i] = i ? hn_pool_new(i + 1, NULL) : NULL;
    if (what && strcmp(what, "--bench") == 0)
        kern_bench();
    else if (what && strcmp(what, "--peaks") == 0)
        kern_print_peaks();
    else if (what && strcmp(what, "--errors") == 0)
        kern_print_errors();
    else
        status = run_tests(what);
    for (int i = 0; i < KERN_POOLS; i++)
        hn_pool_free(pools[i]);
    return status;
}
