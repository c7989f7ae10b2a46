/* Files that are replaced atomically. */
#define _GNU_SOURCE /* realpath, MADV_POPULATE_READ */
#include "base/temp_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUT_BUFFER_BYTES ((size_t)64 << 10)
#define OUT_LARGEST_WRITE ((size_t)4 << 20) /* larger ones gain nothing */
#define MODE_OF_CACHES 0644 /* whoever may write a file of a cache decides about results */

struct hn_outfile {
    const hone_allocator *alloc;
    int fd;
    bool failed;
    bool in_place;      /* a device or a pipe: nothing to rename */
    bool is_expendable; /* need not survive a crash */
    bool is_finished;   /* nothing more is written */
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
    size_t bytes = sizeof(hn_outfile) + n_given + n_target + n_target + HN_TEMP_NAME_ROOM;
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

/* `existing` is the file to be replaced, or NULL. */
static hone_status open_temp(hn_outfile *f, const struct stat *existing, hone_error *err) {
    mode_t mode = f->is_expendable ? MODE_OF_CACHES
                  : existing       ? 0600 /* a private file is private from the start */
                                   : 0666;
    hn_temp_remove_left(f->target);
    f->fd = hn_temp_open(f->target, mode, f->temp);
    if (f->fd < 0)
        return hn_fail_errno(err, "cannot write '%s'", f->given);
    /* A file system without modes may refuse it; that is no reason to fail. */
    if (existing && !f->is_expendable)
        fchmod(f->fd, existing->st_mode & 0777);
    return HONE_OK;
}

static hone_status open_in_place(hn_outfile *f, hone_error *err) {
    f->in_place = true;
    f->fd = open(f->target, O_WRONLY | O_CLOEXEC);
    return f->fd < 0 ? hn_fail_errno(err, "cannot write '%s'", f->given) : HONE_OK;
}

static hone_status open_new_outfile(hn_outfile *f, const struct stat *existing, hn_outfile **out,
                                    hone_error *err) {
    HN_TRY_PTR(f);
    bool is_stream = existing && !S_ISREG(existing->st_mode);
    hone_status status = is_stream ? open_in_place(f, err) : open_temp(f, existing, err);
    if (status != HONE_OK) {
        free_outfile(f);
        return status;
    }
    *out = f;
    return HONE_OK;
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
    return open_new_outfile(new_outfile(path, target, a), exists ? &st : NULL, out, err);
}

hone_status hn_outfile_open_cache(const char *path, const hone_allocator *a, hn_outfile **out,
                                  hone_error *err) {
    *out = NULL;
    struct stat st;
    bool exists = lstat(path, &st) == 0;
    if (exists && !S_ISREG(st.st_mode))
        return hn_fail(err, HONE_E_IO, "'%s' is %s and stays as it is", path,
                       hn_file_kind_name(st.st_mode));
    hn_outfile *f = new_outfile(path, path, a);
    if (f)
        f->is_expendable = true;
    return open_new_outfile(f, exists ? &st : NULL, out, err);
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

/* Network file systems report a full disk at close; the descriptor that is left holds the lock. */
static bool report_close(int fd) {
    int copy = dup(fd);
    return copy < 0 || close(copy) == 0 || errno == EINTR;
}

/* What a crash must not lose is on the disk before it gets its name. Pipes and devices cannot be
 * asked. */
static bool sync_content(const hn_outfile *f) {
    return f->in_place || f->is_expendable || fsync(f->fd) == 0 || errno == EINVAL ||
           errno == ENOTSUP;
}

hone_status hn_outfile_finish(hn_outfile *f, hone_error *err) {
    if (f->is_finished)
        return HONE_OK;
    HN_TRY(f->failed ? fail_again(f, err) : flush_buffer(f, err));
    if (!sync_content(f) || !report_close(f->fd)) {
        f->failed = true;
        return hn_fail_errno(err, "cannot write '%s'", f->given);
    }
    f->is_finished = true;
    return HONE_OK;
}

hone_status hn_outfile_commit_as(hn_outfile *f, const char *path, hone_error *err) {
    hone_status status = hn_outfile_finish(f, err);
    if (status == HONE_OK && !f->in_place && rename(f->temp, path) != 0)
        status = hn_fail_errno(err, "cannot write '%s'", f->given);
    if (status != HONE_OK) {
        hn_outfile_abort(f);
        return status;
    }
    if (!f->in_place && !f->is_expendable)
        hn_folder_sync(path);
    close(f->fd);
    free_outfile(f);
    return HONE_OK;
}

hone_status hn_outfile_commit(hn_outfile *f, hone_error *err) {
    return hn_outfile_commit_as(f, f->target, err);
}

bool hn_file_link(const char *from, const char *to, const hone_allocator *a) {
    size_t room = strlen(to) + HN_TEMP_NAME_ROOM;
    char *temp = hn_alloc(a, room);
    if (!temp)
        return false;
    hn_temp_name(to, 0, temp);
    bool is_linked = link(from, temp) == 0;
    if (is_linked && rename(temp, to) != 0) {
        unlink(temp);
        is_linked = false;
    }
    hn_free(a, temp, room);
    if (is_linked)
        hn_folder_sync(to);
    return is_linked;
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

bool hn_outfile_equals(const hn_outfile *f, const char *path) {
    hn_filemap ours, theirs = {.mapped_bytes = 0};
    if (f->in_place || hn_filemap_open(f->temp, &ours, NULL) != HONE_OK)
        return false;
    bool is_equal = hn_filemap_open(path, &theirs, NULL) == HONE_OK &&
                    ours.bytes.n == theirs.bytes.n &&
                    memcmp(ours.bytes.at, theirs.bytes.at, (size_t)ours.bytes.n) == 0;
    hn_filemap_close(&theirs);
    hn_filemap_close(&ours);
    return is_equal;
}
