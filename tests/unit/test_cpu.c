/* Instruction-set tiers, the limit that HONE_CPU sets, and the number of processors in containers.
 */
#define _GNU_SOURCE /* sched_setaffinity, mkdtemp */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"

/* ---- features -------------------------------------------------------------------------------- */

static const char *const names[HN_CPU_COUNT] = {
#define NAME(id, text) text,
    HN_CPU_LIST(NAME)
#undef NAME
};

/* Features are found once per process, so each cap needs a process of its own. Its exit status
 * tells the verdict. */
static void in_child_with_cap(const char *cap, int (*body)(const char *cap)) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (cap) {
            setenv("HONE_CPU", cap, 1);
        } else {
            unsetenv("HONE_CPU");
        }
        _exit(body(cap));
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int mask_is_within_cap(const char *cap) {
    return (hn_cpu_mask() & ~hn_cpu_tier_mask(cap)) == 0 ? 0 : 1;
}

static int text_matches_mask(const char *cap) {
    (void)cap;
    char expected[HN_CPU_COUNT * 16] = "";
    for (int i = 0; i < HN_CPU_COUNT; i++) {
        if (hn_cpu_has((hn_cpu_feature)i)) {
            strcat(expected, expected[0] ? " " : "");
            strcat(expected, names[i]);
        }
    }
    return strcmp(expected, hone_cpu_features()) == 0 ? 0 : 1;
}

static int has_baseline(const char *cap) {
    (void)cap;
#if defined(__x86_64__)
    return hn_cpu_has(HN_CPU_SSE2) ? 0 : 1;
#elif defined(__aarch64__)
    return hn_cpu_has(HN_CPU_NEON) ? 0 : 1;
#else
    return 0;
#endif
}

static int has_no_feature(const char *cap) {
    (void)cap;
    return hn_cpu_mask() == 0 && strcmp(hone_cpu_features(), "") == 0 ? 0 : 1;
}

static void test_every_tier_caps(void **state) {
    (void)state;
    for (int i = 0; hn_cpu_tier_name(i); i++) {
        in_child_with_cap(hn_cpu_tier_name(i), mask_is_within_cap);
        in_child_with_cap(hn_cpu_tier_name(i), text_matches_mask);
    }
    assert_null(hn_cpu_tier_name(-1));
    in_child_with_cap("scalar", has_no_feature);
}

static void test_no_cap_and_unknown_cap(void **state) {
    (void)state;
    in_child_with_cap(NULL, has_baseline);
    in_child_with_cap(NULL, text_matches_mask);
    in_child_with_cap("pentium", has_baseline);
    assert_true(hn_cpu_tier_mask(NULL) == UINT64_MAX);
    assert_true(hn_cpu_tier_mask("AVX2") == UINT64_MAX);
}

static void test_tiers_nest(void **state) {
    (void)state;
    static const char *const x86[] = {"scalar",     "sse2",       "sse4.1",     "avx",
                                      "avx2",       "avx512",     "avx512vbmi", "avx512vnni",
                                      "avx512bf16", "avx512fp16", "amx"};
    static const char *const arm[] = {"scalar", "neon", "fp16", "dotprod", "i8mm", "bf16", "sve"};
    for (size_t i = 1; i < HN_COUNT(x86); i++) {
        assert_true((hn_cpu_tier_mask(x86[i - 1]) & ~hn_cpu_tier_mask(x86[i])) == 0);
    }
    for (size_t i = 1; i < HN_COUNT(arm); i++) {
        assert_true((hn_cpu_tier_mask(arm[i - 1]) & ~hn_cpu_tier_mask(arm[i])) == 0);
    }
    assert_true((hn_cpu_tier_mask("amx") | hn_cpu_tier_mask("sve")) ==
                (UINT64_C(1) << HN_CPU_COUNT) - 1);
}

static void *ask_for_features(void *arg) {
    (void)arg;
    return (void *)(uintptr_t)hone_cpu_features();
}

static int threads_agree(const char *cap) {
    (void)cap;
    pthread_t threads[4];
    for (size_t i = 0; i < HN_COUNT(threads); i++) {
        if (pthread_create(&threads[i], NULL, ask_for_features, NULL) != 0) {
            return 1;
        }
    }
    for (size_t i = 0; i < HN_COUNT(threads); i++) {
        void *text = NULL;
        pthread_join(threads[i], &text);
        if (text != (void *)(uintptr_t)hone_cpu_features()) {
            return 1;
        }
    }
    return 0;
}

static void test_first_use_from_many_threads(void **state) {
    (void)state;
    in_child_with_cap(NULL, threads_agree);
}

/* ---- count ----------------------------------------------------------------------------------- */

static char root[64]; /* of a pretended system */

static void write_file(const char *path, const char *text) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
    FILE *f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int make_root(void **state) {
    (void)state;
    const char *folder = getenv("TMPDIR");
    snprintf(root, sizeof root, "%.40s/hone-cpu-XXXXXX", folder && *folder ? folder : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void test_no_cgroup(void **state) {
    (void)state;
    assert_int_equal(hn_cgroup_cpu_limit(root), INT_MAX);
    write_file("/proc/self/cgroup", "nonsense\n\n0:\n:::\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), INT_MAX);
}

static void test_cgroup_v2(void **state) {
    (void)state;
    write_file("/proc/self/cgroup", "0::/machine/service\n");
    write_file("/sys/fs/cgroup/machine/service/cpu.max", "max 100000\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), INT_MAX);
    write_file("/sys/fs/cgroup/machine/cpu.max",
               "350000 100000\n"); /* an outer group limits, too */
    assert_int_equal(hn_cgroup_cpu_limit(root), 4);
    write_file("/sys/fs/cgroup/machine/service/cpu.max", "50000 100000\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), 1);
    write_file("/sys/fs/cgroup/machine/service/cpu.max", "0 0\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), 4);
}

static void test_cgroup_v2_of_a_container(void **state) {
    (void)state;
    write_file("/proc/self/cgroup", "0::/not/visible/here\n");
    write_file("/sys/fs/cgroup/cpu.max", "200000 100000");
    assert_int_equal(hn_cgroup_cpu_limit(root), 2);
}

static void test_cgroup_v1(void **state) {
    (void)state;
    write_file("/proc/self/cgroup",
               "5:memory:/a\n4:cpu,cpuacct:/a/b\n3:cpuset:/\n1:name=systemd:/x\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), INT_MAX);
    write_file("/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "300000\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), 3);
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
    write_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(hn_cgroup_cpu_limit(root), 2);
    write_file("/proc/self/cgroup", "4:cpuacct,cpuset:/a/b\n"); /* no cpu controller among them */
    assert_int_equal(hn_cgroup_cpu_limit(root), INT_MAX);
}

static void test_count(void **state) {
    (void)state;
    assert_true(hn_cpu_count() >= 1);
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    size_t first = 0;
    while (!CPU_ISSET(first, &before)) {
        first++;
    }
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(hn_cpu_count(), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
}

static void the_values_of_the_variable_are_listed(void **state) {
    (void)state;
    uint32_t n = 0;
    for (; *hone_cpu_tier(n); n++)
        assert_string_equal(hone_cpu_tier(n), hn_cpu_tier_name((int)n));
    assert_true(n > 0 && !hn_cpu_tier_name((int)n));
    assert_string_equal(hone_cpu_tier(UINT32_MAX), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_values_of_the_variable_are_listed),
        cmocka_unit_test(test_every_tier_caps),
        cmocka_unit_test(test_no_cap_and_unknown_cap),
        cmocka_unit_test(test_tiers_nest),
        cmocka_unit_test(test_first_use_from_many_threads),
        cmocka_unit_test_setup_teardown(test_no_cgroup, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_cgroup_v2, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_cgroup_v2_of_a_container, make_root, remove_root),
        cmocka_unit_test_setup_teardown(test_cgroup_v1, make_root, remove_root),
        cmocka_unit_test(test_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
