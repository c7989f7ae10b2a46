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

void *kern_bytes(int64_t n) {
    return (uint8_t *)kern_floats((n + 3) / 4) + (kern_at_start ? 0 : -n & 3);
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

/* What a processor with these features gets of each family is the first row that it can run. */
static void check_picks(uint64_t cpu_mask) {
    const hn_kernel *first[HN_FAMILY_COUNT] = {NULL}, *k;
    for (uint32_t row = 0; (k = hn_kernel_row(row)); row++)
        if (!first[k->family] && hn_isa_is_in(k->isa, cpu_mask))
            first[k->family] = k;
    for (hn_kernel_family f = 0; f < HN_FAMILY_COUNT; f++)
        KERN_CHECK(hn_kernel_picked(f) == first[f], "%s: another kernel is picked",
                   hn_kernel_family_name(f));
}

/* Kernels are those of the cap where the processor has it, and of each lower one when asked. */
static void test_tiers(void) {
    const char *cap = getenv("HONE_CPU");
    uint64_t mask = hn_cpu_mask();
    check_picks(mask);
    for (hn_isa isa = 0; isa < HN_ISA_COUNT; isa++) {
        const char *name = hn_isa_name(isa);
        bool is_cap = cap && strcmp(cap, name) == 0;
        KERN_CHECK(!is_cap || hn_isa_is_available(isa) || hn_cpu_tier_mask(cap) & ~mask,
                   "%s admits no kernels of its own", cap);
        KERN_CHECK(hn_cpu_tier_mask(name) != UINT64_MAX, "HONE_CPU does not know %s", name);
        hn_kernels_pick_for(mask & hn_cpu_tier_mask(name));
        check_picks(mask & hn_cpu_tier_mask(name));
    }
    hn_kernels_pick_for(mask);
}

/* ---- running ---- */

/* One for each row of kernel_families.def, and what is made of several. */
static const struct kern_test {
    const char *name;
    void (*run)(void);
} kern_tests[] = {
#define HN_KERNEL_FAMILY(family, type, pick, summary) {#family, kern_test_##family},
#include "cpu/kernels/kernel_families.def"
#undef HN_KERNEL_FAMILY
    {"conv", kern_test_conv},
    {"conv_chain", kern_test_conv_chain},
    {"conv_transpose_nhwc", kern_test_conv_transpose_nhwc},
    {"pool_bytes", kern_test_pool_bytes},
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
