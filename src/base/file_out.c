/* Files that are replaced atomically. */
#define _GNU_SOURCE /* realpath, MADV_POPULATE_READ */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OUT_BUFFER_BYTES ((size_t)64 << 10)
#define OUT_LARGEST_WRITE ((size_t)4 << 20) /* larger ones gain nothing */
#define TEMP_NAME_ROOM 40
#define TEMP_NAME_ATTEMPTS 100

struct hn_outfile {
    const hone_allocator *alloc;
    int fd;
    bool failed;
    bool in_place; /* a device or a pipe: nothing to rename */
    uint64_t offset;
    size_t n_buffered;
    size_t bytes; /* size of this allocation, strings included */
    char *given;  /* the path that the caller gave, for messages */
    char *target; /* with links resolved: a link is kept, and its target is replaced */
    char *temp;   /* in the folder of the target */
    unsigned char buffer[OUT_BUFFER_BYTES];
};

static hone_status check_target(const char *path, const struct stat *st, hone_error *err) {
    if (S_ISDIR(st->st_mode))
        return hn_fail(err, HONE_E_IO, "cannot write '%s': it is a folder; give the path of a file",
                       path);
    if (S_ISSOCK(st->st_mode) || S_ISBLK(st->st_mode))
        return hn_fail(err, HONE_E_IO, "cannot write '%s': it is neither a file nor a stream",
                       path);
    /* Renaming over it would succeed, but a read-only file is meant to be kept. */
    if (access(path, W_OK) != 0)
        return hn_fail_errno(err, "cannot write '%s'", path);
    return HONE_OK;
}

static void free_outfile(hn_outfile *f) {
    hn_free(f->alloc, f, f->bytes);
}

static hn_outfile *new_outfile(const char *given, const char *target, const hone_allocator *a) {
    size_t n_given = strlen(given) + 1, n_target = strlen(target) + 1;
    size_t bytes = sizeof(hn_outfile) + n_given + n_target + n_target + TEMP_NAME_ROOM;
    hn_outfile *f = hn_alloc(a, bytes);
    if (!f)
        return NULL;
    memset(f, 0, offsetof(hn_outfile, buffer));
    f->alloc = a;
    f->fd = -1;
    f->bytes = bytes;
    f->given = (char *)(f + 1);
    f->target = f->given + n_given;
    f->temp = f->target + n_target;
    memcpy(f->given, given, n_given);
    memcpy(f->target, target, n_target);
    return f;
}

/* A short name instead of the target's name with a suffix, which could be too long for the file
 * system. */
static void choose_temp_name(hn_outfile *f, int attempt) {
    const char *slash = strrchr(f->target, '/');
    size_t n_folder = slash ? (size_t)(slash - f->target) + 1 : 0;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t unique[] = {(uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, (uint64_t)getpid(),
                         (uint64_t)(uintptr_t)f, (uint64_t)attempt};
    uint32_t tag = hn_hash32(unique, sizeof(unique));
    memcpy(f->temp, f->target, n_folder);
    snprintf(f->temp + n_folder, TEMP_NAME_ROOM, ".hone-%08lx.tmp", (unsigned long)tag);
}

/* `existing` is the file to be replaced, or NULL. */
static hone_status open_temp(hn_outfile *f, const struct stat *existing, hone_error *err) {
    mode_t mode = existing ? 0600 : 0666; /* a private file is private from the start */
    for (int attempt = 0; f->fd < 0 && attempt < TEMP_NAME_ATTEMPTS; attempt++) {
        choose_temp_name(f, attempt);
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (f->fd < 0 && errno != EEXIST && errno != EINTR)
            break;
    }
    if (f->fd < 0)
        return hn_fail_errno(err, "cannot write '%s'", f->given);
    if (existing) /* a file system without modes may refuse it; that is no reason to fail */
        fchmod(f->fd, existing->st_mode & 0777);
    return HONE_OK;
}

static hone_status open_in_place(hn_outfile *f, hone_error *err) {
    f->in_place = true;
    f->fd = open(f->target, O_WRONLY | O_CLOEXEC);
    return f->fd < 0 ? hn_fail_errno(err, "cannot write '%s'", f->given) : HONE_OK;
}

hone_status hn_outfile_open(const char *path, const hone_allocator *a, hn_outfile **out,
                            hone_error *err) {
    *out = NULL;
    struct stat st;
    bool exists = stat(path, &st) == 0;
    /* Reports an impossible path now instead of after all data are written. */
    if (!exists && (errno != ENOENT || path[0] == '\0'))
        return hn_fail_errno(err, "cannot write '%s'", path);
    if (exists)
        HN_TRY(check_target(path, &st, err));
    char real[PATH_MAX];
    const char *target = exists && realpath(path, real) ? real : path;
    hn_outfile *f = new_outfile(path, target, a);
    HN_TRY_PTR(f);
    bool is_stream = exists && !S_ISREG(st.st_mode);
    hone_status status = is_stream ? open_in_place(f, err) : open_temp(f, exists ? &st : NULL, err);
    if (status != HONE_OK) {
        free_outfile(f);
        return status;
    }
    *out = f;
    return HONE_OK;
}

/* Large data are mostly views into a mapped file. Populating their pages in one call, instead of
 * one page fault for every few of them, saves a third of the time of a copy. It is only a hint. */
static void map_pages_ahead(const unsigned char *data, size_t n) {
#ifdef MADV_POPULATE_READ
    long page_bytes = sysconf(_SC_PAGESIZE);
    if (n < OUT_BUFFER_BYTES || page_bytes <= 0)
        return;
    uintptr_t first = (uintptr_t)data / (uintptr_t)page_bytes * (uintptr_t)page_bytes;
    madvise((void *)first, (uintptr_t)data + n - first, MADV_POPULATE_READ);
#else
    (void)data, (void)n;
#endif
}

/* Writes to the file directly, without the buffer. */
static hone_status write_through(hn_outfile *f, const unsigned char *data, uint64_t n,
                                 hone_error *err) {
    while (n > 0) {
        size_t n_next = (size_t)HN_MIN(n, OUT_LARGEST_WRITE);
        map_pages_ahead(data, n_next);
        ssize_t written = write(f->fd, data, n_next);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0) {
            f->failed = true;
            if (written == 0)
                errno = EIO;
            return hn_fail_errno(err, "cannot write '%s'", f->given);
        }
        data += written;
        n -= (uint64_t)written;
    }
    return HONE_OK;
}

static hone_status flush_buffer(hn_outfile *f, hone_error *err) {
    size_t n = f->n_buffered;
    f->n_buffered = 0;
    return write_through(f, f->buffer, n, err);
}

static hone_status fail_again(const hn_outfile *f, hone_error *err) {
    return hn_fail(err, HONE_E_IO, "cannot write '%s': an earlier write failed", f->given);
}

hone_status hn_outfile_write(hn_outfile *f, const void *data, uint64_t n, hone_error *err) {
    if (f->failed)
        return fail_again(f, err);
    if (n == 0)
        return HONE_OK;
    if (n > OUT_BUFFER_BYTES - f->n_buffered)
        HN_TRY(flush_buffer(f, err));
    if (n >= OUT_BUFFER_BYTES) {
        HN_TRY(write_through(f, data, n, err));
    } else {
        memcpy(f->buffer + f->n_buffered, data, (size_t)n);
        f->n_buffered += (size_t)n;
    }
    f->offset += n;
    return HONE_OK;
}

hone_status hn_outfile_pad_to(hn_outfile *f, uint64_t alignment, hone_error *err) {
    static const unsigned char zeros[4096];
    uint64_t past = alignment > 1 ? f->offset % alignment : 0;
    uint64_t left = past ? alignment - past : 0;
    while (left > 0) {
        uint64_t n = HN_MIN(left, sizeof(zeros));
        HN_TRY(hn_outfile_write(f, zeros, n, err));
        left -= n;
    }
    return HONE_OK;
}

uint64_t hn_outfile_offset(const hn_outfile *f) {
    return f->offset;
}

/* All steps that can fail before the rename. Closes the descriptor in every case. */
static hone_status finish_content(hn_outfile *f, hone_error *err) {
    hone_status status = f->failed ? fail_again(f, err) : flush_buffer(f, err);
    /* Network file systems report a full disk at close. */
    if (close(f->fd) != 0 && errno != EINTR && status == HONE_OK)
        status = hn_fail_errno(err, "cannot write '%s'", f->given);
    f->fd = -1;
    return status;
}

hone_status hn_outfile_commit(hn_outfile *f, hone_error *err) {
    hone_status status = finish_content(f, err);
    if (status == HONE_OK && !f->in_place && rename(f->temp, f->target) != 0)
        status = hn_fail_errno(err, "cannot write '%s'", f->given);
    if (status != HONE_OK)
        hn_outfile_abort(f);
    else
        free_outfile(f);
    return status;
}

void hn_outfile_abort(hn_outfile *f) {
    if (!f)
        return;
    if (f->fd >= 0)
        close(f->fd);
    if (!f->in_place)
        unlink(f->temp);
    free_outfile(f);
}
