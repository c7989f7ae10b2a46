/* Files mapped read-only, and the check that external data stay in the model's folder. */
#define _GNU_SOURCE /* O_PATH, realpath, MAP_ANONYMOUS */
#include "base/file_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/vfs.h>
#endif

/* The folders of a path need search permission only, not read permission. */
#ifdef O_PATH
#  define WALK_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)
#else
#  define WALK_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#endif

/* O_NONBLOCK: opening a pipe must not wait for its writer. It means nothing for regular files. */
#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC)

const char *hn_file_kind_name(unsigned mode) {
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
           : S_ISCHR(mode)  ? "a character device"
           : S_ISBLK(mode)  ? "a block device"
           : S_ISLNK(mode)  ? "a symbolic link"
                            : "not a file";
}

static hone_status refuse_kind(const char *path, mode_t mode, hone_error *err) {
    return hn_fail(err, HONE_E_IO, "cannot read '%s': it is %s; give the path of a file", path,
                   hn_file_kind_name(mode));
}

static hn_file_stamp stamp_of(const struct stat *st) {
    return (hn_file_stamp){.device = (uint64_t)st->st_dev,
                           .inode = (uint64_t)st->st_ino,
                           .bytes = (uint64_t)st->st_size,
                           .changed_s = st->st_mtim.tv_sec,
                           .changed_ns = st->st_mtim.tv_nsec};
}

bool hn_file_stamp_read(const char *path, hn_file_stamp *out) {
    struct stat st;
    if (stat(path, &st) != 0)
        return false;
    *out = stamp_of(&st);
    return true;
}

/* ---- identity -------------------------------------------------------------------------------- */

#define SETTLED_SECONDS 2 /* more than the time stamp resolution of any file system */
/* Whoever has mapped a file for writing changes its time stamp with the first write to a page, and
 * again only after the page was written to the disk: half a minute later. */
#define WRITTEN_BACK_SECONDS 120

static bool is_older(const struct stat *st, time_t seconds) {
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec - st->st_ctim.tv_sec >= seconds;
}

/* Any change of a file changes at least one of these. */
static void identify_file(const struct stat *st, uint64_t identity[2]) {
    uint64_t facts[] = {(uint64_t)st->st_dev,          (uint64_t)st->st_ino,
                        (uint64_t)st->st_size,         (uint64_t)st->st_mtim.tv_sec,
                        (uint64_t)st->st_mtim.tv_nsec, (uint64_t)st->st_ctim.tv_sec,
                        (uint64_t)st->st_ctim.tv_nsec};
    if (!is_older(st, SETTLED_SECONDS))
        return;
    identity[0] = hn_hash64(facts, sizeof facts, 0);
    identity[1] = hn_hash64(facts, sizeof facts, 1);
}

/* File systems that write pages back and tell the time of every change after it. */
static bool tells_changes(const char *path) {
#ifdef __linux__
    static const uint32_t kinds[] = {0xEF53 /* ext2, ext3, ext4 */, 0x58465342 /* xfs */,
                                     0x9123683E /* btrfs */, 0xF2F52010 /* f2fs */};
    struct statfs fs;
    if (statfs(path, &fs) != 0)
        return false;
    for (size_t i = 0; i < HN_COUNT(kinds); i++)
        if ((uint32_t)fs.f_type == kinds[i])
            return true;
#else
    (void)path;
#endif
    return false;
}

static bool is_in_state(const struct stat *st, const hn_file_stamp *stamp) {
    hn_file_stamp now = stamp_of(st);
    return hn_same_file(&now, stamp) && now.bytes == stamp->bytes &&
           now.changed_s == stamp->changed_s && now.changed_ns == stamp->changed_ns;
}

bool hn_filemap_tells_changes(const hn_filemap *map) {
    struct stat st;
    return map->path && stat(map->path, &st) == 0 && is_in_state(&st, &map->stamp) &&
           is_older(&st, WRITTEN_BACK_SECONDS) && tells_changes(map->path);
}

/* ---- opening --------------------------------------------------------------------------------- */

#define SMALL_FILE_BYTES \
  ((uint64_t)256 << 10) /* up to here a copy takes no longer than a mapping */

/* Fills `to`; fails when the file ends too early, because somebody truncates it. */
static hone_status read_all(int fd, const char *path, uint8_t *to, uint64_t n, hone_error *err) {
    while (n > 0) {
        ssize_t got = read(fd, to, (size_t)HN_MIN(n, (uint64_t)1 << 30));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hn_fail_errno(err, "cannot read '%s'", path);
        if (got == 0)
            return hn_fail(err, HONE_E_IO, "cannot read '%s': it becomes shorter", path);
        to += got;
        n -= (uint64_t)got;
    }
    return HONE_OK;
}

static hone_status map_bytes(int fd, const char *path, bool copies, hn_filemap *out,
                             hone_error *err) {
    size_t n = (size_t)out->stamp.bytes;
    void *at = copies ? mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                      : mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return hn_fail_errno(err, "cannot map '%s'", path);
    out->bytes = (hn_bytes){at, n};
    out->mapped_bytes = n;
    out->is_copy = copies;
    return copies ? read_all(fd, path, at, n, err) : HONE_OK;
}

static hone_status check_owner(const char *path, const struct stat *st, hone_error *err) {
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return hn_fail(err, HONE_E_IO, "'%s' is not used: it belongs to another user", path);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return hn_fail(err, HONE_E_IO, "'%s' is not used: others may write it", path);
    return HONE_OK;
}

/* Maps the open file; `path` is for messages. The caller still owns the descriptor. */
static hone_status map_descriptor(int fd, const char *path, hn_map_mode mode, hn_filemap *out,
                                  hone_error *err) {
    struct stat st;
    if (fstat(fd, &st) != 0)
        return hn_fail_errno(err, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return refuse_kind(path, st.st_mode, err);
    if (mode == HN_MAP_CACHE)
        HN_TRY(check_owner(path, &st, err));
    *out = (hn_filemap){.bytes = {.at = "", .n = 0}, .stamp = stamp_of(&st)};
    if (st.st_size == 0)
        return HONE_OK;
    if ((uint64_t)st.st_size > SIZE_MAX)
        return hn_fail(err, HONE_E_LIMIT, "cannot read '%s': too large for the address space",
                       path);
    bool copies =
        mode == HN_MAP_COPY || (mode == HN_MAP_FILE && out->stamp.bytes <= SMALL_FILE_BYTES);
    hone_status status = map_bytes(fd, path, copies, out, err);
    if (status != HONE_OK)
        hn_filemap_close(out);
    else
        identify_file(&st, out->identity);
    return status;
}

hone_status hn_filemap_open_as(const char *path, hn_map_mode mode, hn_filemap *out,
                               hone_error *err) {
    *out = (hn_filemap){.mapped_bytes = 0};
    int fd = open(path, READ_FLAGS | (mode == HN_MAP_CACHE ? O_NOFOLLOW : 0));
    if (fd < 0) {
        int number = errno;
        struct stat st;
        /* Sockets cannot be opened at all. */
        if (lstat(path, &st) == 0 &&
            (S_ISSOCK(st.st_mode) || (mode == HN_MAP_CACHE && S_ISLNK(st.st_mode))))
            return refuse_kind(path, st.st_mode, err);
        errno = number;
        return hn_fail_errno(err, "cannot open '%s'", path);
    }
    hone_status status = map_descriptor(fd, path, mode, out, err);
    close(fd);
    return status;
}

hone_status hn_filemap_open(const char *path, hn_filemap *out, hone_error *err) {
    return hn_filemap_open_as(path, HN_MAP_FILE, out, err);
}

hone_status hn_filemap_check(const hn_filemap *map, hone_error *err) {
    struct stat st;
    if (map->is_copy || !map->path || stat(map->path, &st) != 0 || is_in_state(&st, &map->stamp))
        return HONE_OK;
    hn_file_stamp now = stamp_of(&st);
    if (!hn_same_file(&now, &map->stamp))
        return HONE_OK;
    return hn_fail(err, HONE_E_IO,
                   "'%s' was %s while the model is in use: load the model again, or load a copy",
                   map->path, now.bytes < map->stamp.bytes ? "truncated" : "modified");
}

void hn_filemap_forget(const hn_filemap *map, const void *at, uint64_t n_bytes) {
    uintptr_t begin = (uintptr_t)at, start = (uintptr_t)map->bytes.at;
    long page = sysconf(_SC_PAGESIZE);
    if (map->is_copy || page <= 0 || begin < start || begin - start > map->mapped_bytes ||
        n_bytes > map->mapped_bytes - (begin - start))
        return;
    uintptr_t mask = (uintptr_t)page - 1, end = (begin + (uintptr_t)n_bytes) & ~mask;
    begin = (begin + mask) & ~mask;
    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED); /* a hint: failure is harmless */
}

void hn_filemap_close(hn_filemap *map) {
    if (map->mapped_bytes)
        munmap((void *)(uintptr_t)map->bytes.at, (size_t)map->mapped_bytes);
    *map = (hn_filemap){.mapped_bytes = 0};
}

/* ---- external data --------------------------------------------------------------------------- */

static bool has_parent_component(const char *path) {
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 2 && at[0] == '.' && at[1] == '.')
            return true;
        at += n;
        at += strspn(at, "/");
    }
    return false;
}

static hone_status check_location(const char *location, hone_error *err) {
    const char *why = NULL;
    if (location[0] == '\0')
        why = "it is empty";
    else if (location[0] == '/')
        why = "it is an absolute path";
    else if (has_parent_component(location))
        why = "it contains '..'";
    if (!why)
        return HONE_OK;
    return hn_fail(
        err, HONE_E_INVALID,
        "external data location '%s' is refused: %s; the file must lie in the model's folder",
        location, why);
}

/* Resolves all symbolic links and ".." of `location` below `folder`. *inside points into `real`,
 * after the folder. */
static hone_status resolve_inside(const char *folder, const char *location, char real[PATH_MAX],
                                  char **inside, hone_error *err) {
    char joined[PATH_MAX], fence[PATH_MAX];
    int n = snprintf(joined, sizeof(joined), "%s/%s", folder, location);
    if (n < 0 || (size_t)n >= sizeof(joined))
        return hn_fail(err, HONE_E_LIMIT, "external data location '%.200s...' is too long",
                       location);
    if (!realpath(folder, fence))
        return hn_fail_errno(err, "cannot open the folder '%s'", folder);
    if (!realpath(joined, real))
        return hn_fail_errno(err, "cannot open external data '%s'", joined);
    size_t n_fence = strcmp(fence, "/") == 0 ? 0 : strlen(fence);
    bool is_inside = strncmp(real, fence, n_fence) == 0 && (real[n_fence] == '/' || !real[n_fence]);
    if (!is_inside)
        return hn_fail(err, HONE_E_INVALID,
                       "external data location '%s' is refused: a symbolic link leads out of the "
                       "model's folder, to '%s'; copy the file into the folder",
                       location, real);
    *inside = real + n_fence + strspn(real + n_fence, "/");
    return HONE_OK;
}

/* Opens a resolved path one component at a time without following links. This closes the race with
 * a concurrent change: whatever was replaced since the path was resolved, the walk cannot leave the
 * folder. */
static int open_without_links(const char *folder, char *path) {
    int at = open(folder, WALK_FLAGS);
    for (char *slash = strchr(path, '/'); at >= 0 && slash; slash = strchr(path, '/')) {
        *slash = '\0';
        int next = openat(at, path, WALK_FLAGS | O_NOFOLLOW);
        int number = errno;
        close(at);
        errno = number;
        at = next;
        path = slash + 1;
    }
    if (at < 0)
        return -1;
    int fd = openat(at, *path ? path : ".", READ_FLAGS | O_NOFOLLOW);
    int number = errno;
    close(at);
    errno = number;
    return fd;
}

hone_status hn_filemap_open_inside(const char *folder, const char *location, hn_map_mode mode,
                                   hn_filemap *out, hone_error *err) {
    *out = (hn_filemap){.mapped_bytes = 0};
    if (folder[0] == '\0')
        folder = ".";
    HN_TRY(check_location(location, err));
    char real[PATH_MAX];
    char *inside = NULL;
    HN_TRY(resolve_inside(folder, location, real, &inside, err));
    int fd = open_without_links(folder, inside);
    if (fd < 0)
        return hn_fail_errno(err, "cannot open external data '%s' in '%s'", location, folder);
    hone_status status = map_descriptor(fd, location, mode, out, err);
    close(fd);
    return status;
}
