#define _GNU_SOURCE /* sched_getaffinity */
#include "base/base.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

/* ---- control groups ----
 *
 * A quota may be set at any level between the group of this process and the root of the hierarchy;
 * the smallest one applies. The usual mount points are searched. In a container without its own
 * cgroup namespace the path of the group names folders that are not visible; walking up from it
 * ends at the mount point, which then is the group. */

enum { CGROUP_PATH_CHARS = 4096 };

/* Reads up to two numbers; "max" reads as -1. Returns how many there were. */
static int read_quota_file(const char *folder, const char *file, long long out[2]) {
    char path[CGROUP_PATH_CHARS + 64];
    char text[64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    bool has_line = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    if (!has_line) {
        return 0;
    }
    if (strncmp(text, "max", 3) == 0) {
        out[0] = -1;
        return 1;
    }
    return sscanf(text, "%lld %lld", &out[0], &out[1]);
}

/* Number of processors that a quota (microseconds per period) allows, rounded up; INT_MAX: no
 * limit. */
static int quota_cpus(long long quota, long long period) {
    if (quota <= 0 || period <= 0) {
        return INT_MAX;
    }
    long long n = quota / period + (quota % period != 0);
    return n < INT_MAX ? (int)n : INT_MAX;
}

static int group_cpus_v2(const char *folder) {
    long long v[2];
    return read_quota_file(folder, "cpu.max", v) == 2 ? quota_cpus(v[0], v[1]) : INT_MAX;
}

static int group_cpus_v1(const char *folder) {
    long long quota[2], period[2];
    if (read_quota_file(folder, "cpu.cfs_quota_us", quota) < 1 ||
        read_quota_file(folder, "cpu.cfs_period_us", period) < 1) {
        return INT_MAX;
    }
    return quota_cpus(quota[0], period[0]);
}

/* Lowers *limit to what the groups from `mount`/`group` up to `mount` itself allow. */
static void tighten_limit(const char *root, const char *mount, const char *group,
                          int (*group_cpus)(const char *folder), int *limit) {
    char folder[CGROUP_PATH_CHARS];
    int n_mount = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
    if (n_mount < 0 || (size_t)n_mount + strlen(group) >= sizeof folder) {
        return;
    }
    strcpy(folder + n_mount, group);
    for (;;) {
        int n_cpus = group_cpus(folder);
        *limit = HN_MIN(*limit, n_cpus);
        char *slash = strrchr(folder + n_mount, '/');
        if (!slash) {
            return;
        }
        *slash = '\0';
    }
}

static bool list_has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n) {
        bool starts = at == list || at[-1] == ',';
        if (starts && (at[n] == ',' || at[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* `line` is "4:cpu,cpuacct:/group" (version 1) or "0::/group" (version 2). */
static void tighten_by_cgroup_line(const char *root, char *line, int *limit) {
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group) {
        return;
    }
    *controllers++ = '\0';
    *group++ = '\0';
    if (*controllers == '\0') {
        tighten_limit(root, "", group, group_cpus_v2, limit);
        tighten_limit(root, "/unified", group, group_cpus_v2, limit);
    } else if (list_has_word(controllers, "cpu")) {
        char mount[128];
        snprintf(mount, sizeof mount, "/%s", controllers);
        tighten_limit(root, "/cpu", group, group_cpus_v1, limit);
        tighten_limit(root, mount, group, group_cpus_v1, limit);
    }
}

int hn_cgroup_cpu_limit(const char *root) {
    char line[CGROUP_PATH_CHARS];
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *f = fopen(line, "re");
    if (!f) {
        return INT_MAX;
    }
    int limit = INT_MAX;
    while (fgets(line, sizeof line, f)) {
        tighten_by_cgroup_line(root, line, &limit);
    }
    fclose(f);
    return limit;
}

/* ---- affinity ---- */

static int count_of_affinity(void) {
#if defined(__linux__)
    cpu_set_t sets[64]; /* 65,536 processors: the kernel refuses a set smaller than its own */
    if (sched_getaffinity(0, sizeof sets, sets) == 0) {
        return CPU_COUNT_S(sizeof sets, sets);
    }
#endif
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

int hn_cpu_count(void) {
    int n_allowed = count_of_affinity();
    int n_paid = hn_cgroup_cpu_limit("");
    return HN_MAX(1, HN_MIN(n_allowed, n_paid));
}
