/* Temporary names of files that are being written. Whoever writes one holds a lock on it, so that
 * what a killed process left is told from what another one is writing now. */
#define _GNU_SOURCE /* openat, O_CLOEXEC */
#include "base/temp_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TEMP_NAME_ATTEMPTS 100
#define TEMP_PREFIX ".hone-"
#define TEMP_SUFFIX ".tmp"
#define TAG_DIGITS 8
#define LOCK_PAUSE_MS 5
#define LOCK_ATTEMPTS 6000 /* 30 seconds */

void hn_temp_name(const char *beside, int attempt, char *out) {
    const char *slash = strrchr(beside, '/');
    size_t n_folder = slash ? (size_t)(slash - beside) + 1 : 0;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t unique[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid(),
                         (uint64_t)(uintptr_t)out, (uint64_t)attempt};
    memcpy(out, beside, n_folder);
    snprintf(out + n_folder, HN_TEMP_NAME_ROOM, TEMP_PREFIX "%08lx" TEMP_SUFFIX,
             (unsigned long)hn_hash32(unique, sizeof unique));
}

/* False when somebody has taken the file for a left one and removed it. A file system without locks
 * removes nothing. */
static bool claim_temp(int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        return errno != EWOULDBLOCK;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

int hn_temp_open(const char *beside, unsigned mode, char *name) {
    int fd = -1;
    for (int attempt = 0; fd < 0 && attempt < TEMP_NAME_ATTEMPTS; attempt++) {
        hn_temp_name(beside, attempt, name);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (mode_t)mode);
        if (fd < 0 && errno != EEXIST && errno != EINTR)
            return -1;
        if (fd >= 0 && !claim_temp(fd)) {
            close(fd);
            fd = -1;
            errno = EEXIST;
        }
    }
    return fd;
}

static bool is_temp_name(const char *name) {
    size_t n_prefix = sizeof TEMP_PREFIX - 1;
    return strlen(name) == n_prefix + TAG_DIGITS + sizeof TEMP_SUFFIX - 1 &&
           strncmp(name, TEMP_PREFIX, n_prefix) == 0 &&
           strspn(name + n_prefix, "0123456789abcdef") == TAG_DIGITS &&
           strcmp(name + n_prefix + TAG_DIGITS, TEMP_SUFFIX) == 0;
}

static void remove_left_temp(int folder, const char *name) {
    struct stat st;
    int fd = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(folder, name, 0);
    close(fd);
}

/* The folder of a path, open for reading; -1 when that is not allowed. */
static int open_folder_of(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    int n = slash ? (int)HN_MIN(slash - path + 1, PATH_MAX) : 1;
    if (n >= PATH_MAX)
        return -1;
    snprintf(folder, sizeof folder, "%.*s", n, slash ? path : ".");
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void hn_temp_remove_left(const char *beside) {
    int fd = open_folder_of(beside);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_temp_name(e->d_name))
            remove_left_temp(dirfd(d), e->d_name);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
}

void hn_folder_sync(const char *inside) {
    int fd = open_folder_of(inside);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

hone_status hn_folder_lock(const char *inside, int *lock, hone_error *err) {
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    *lock = open_folder_of(inside);
    for (int left = LOCK_ATTEMPTS; *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) != 0; left--) {
        if (errno != EWOULDBLOCK)
            break; /* a file system without locks */
        if (left == 0) {
            hn_folder_unlock(*lock);
            return hn_fail(err, HONE_E_IO,
                           "cannot write '%s': another process keeps its folder "
                           "locked",
                           inside);
        }
        nanosleep(&pause, NULL);
    }
    return HONE_OK;
}

void hn_folder_unlock(int lock) {
    if (lock >= 0)
        close(lock);
}
