/* Mapped files, the folder restriction of external data, and atomic writing of files. */
#define _GNU_SOURCE /* mount, mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/mount.h>
#endif

#include "base/base.h"
#include "counting_allocator.h"

/* Each test has an empty folder as its current folder. */
static char test_folder[200];

static int enter_empty_folder(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(test_folder, sizeof(test_folder), "%s/hone-test-files-XXXXXX",
             temporary ? temporary : P_tmpdir);
    return mkdtemp(test_folder) && chdir(test_folder) == 0 ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof(command), "rm -rf '%s'", test_folder);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void put_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void assert_content(const char *path, const char *text) {
    hn_filemap map;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_filemap_open(path, &map, &err), HONE_OK);
    assert_int_equal(map.bytes.n, strlen(text));
    assert_memory_equal(map.bytes.at, text, map.bytes.n);
    hn_filemap_close(&map);
}

static int count_entries(const char *folder) {
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n = -2; /* "." and ".." */
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static int count_open_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += lseek(fd, 0, SEEK_CUR) >= 0;
    return n;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void test_map_content(void **state) {
    (void)state;
    put_file("a", "hello");
    put_file("empty", "");
    assert_content("a", "hello");
    assert_content("empty", "");
    hn_filemap map = {.mapped_bytes = 0};
    hn_filemap_close(&map);
}

static void refuse_map(const char *path, const char *why) {
    hn_filemap map;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_filemap_open(path, &map, &err), HONE_E_IO);
    if (!strstr(err.message, why) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, why);
    assert_int_equal(map.bytes.n, 0);
    hn_filemap_close(&map);
}

static void test_map_refuses_what_is_no_file(void **state) {
    (void)state;
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    refuse_map("missing", "No such file or directory");
    refuse_map(".", "it is a folder");
    refuse_map("pipe", "it is a pipe");
    refuse_map("socket", "it is a socket");
    refuse_map("loop", "symbolic links");
    refuse_map("/dev/null", "it is a character device");
    refuse_map("", "No such file or directory");
    close(fd);
}

static void accept_inside(const char *folder, const char *location, const char *text) {
    hn_filemap map;
    hone_error err;
    hn_error_clear(&err);
    if (hn_filemap_open_inside(folder, location, HN_MAP_FILE, &map, &err) != HONE_OK)
        fail_msg("%s", err.message);
    assert_int_equal(map.bytes.n, strlen(text));
    assert_memory_equal(map.bytes.at, text, map.bytes.n);
    hn_filemap_close(&map);
}

static void refuse_inside(const char *folder, const char *location, hone_status code,
                          const char *why) {
    hn_filemap map;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_filemap_open_inside(folder, location, HN_MAP_FILE, &map, &err), code);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
    hn_filemap_close(&map);
}

static void build_model_folder(void) {
    assert_int_equal(mkdir("model", 0755) | mkdir("model/sub", 0755) | mkdir("model2", 0755), 0);
    put_file("secret", "secret");
    put_file("model2/secret", "secret");
    put_file("model/w", "weights");
    put_file("model/sub/w", "sub weights");
    put_file("model/..w", "dots");
}

static void test_inside_accepts(void **state) {
    (void)state;
    build_model_folder();
    char absolute[300];
    snprintf(absolute, sizeof(absolute), "%s/model/sub/w", test_folder);
    assert_int_equal(symlink("sub/w", "model/link"), 0);
    assert_int_equal(symlink("../w", "model/sub/up"), 0);
    assert_int_equal(symlink("sub", "model/subs"), 0);
    assert_int_equal(symlink("../model/w", "model/around"), 0);
    assert_int_equal(symlink(absolute, "model/absolute"), 0);
    assert_int_equal(symlink("model", "alias"), 0);
    accept_inside("model", "w", "weights");
    accept_inside("model/", "./sub//w", "sub weights");
    accept_inside("model", "..w", "dots");
    accept_inside("model", "link", "sub weights");
    accept_inside("model", "sub/up", "weights");
    accept_inside("model", "subs/up", "weights");
    accept_inside("model", "around", "weights");
    accept_inside("model", "absolute", "sub weights");
    accept_inside("alias", "sub/w", "sub weights");
    accept_inside("", "model/w", "weights");
    accept_inside(".", "secret", "secret");
    accept_inside(test_folder, "model/w", "weights");
    accept_inside("/", absolute + 1, "sub weights");
}

static void test_inside_refuses(void **state) {
    (void)state;
    build_model_folder();
    char absolute[300];
    static char endless[10000];
    snprintf(absolute, sizeof(absolute), "%s/model/w", test_folder);
    memset(endless, 'a', sizeof(endless) - 1);
    assert_int_equal(symlink("../secret", "model/out"), 0);
    assert_int_equal(symlink("../model2/secret", "model/out2"), 0);
    assert_int_equal(symlink("..", "model/parent"), 0);
    assert_int_equal(symlink("out", "model/chain"), 0);
    assert_int_equal(symlink("/etc", "model/etc"), 0);
    assert_int_equal(symlink("self", "model/self"), 0);
    assert_int_equal(symlink("nowhere", "model/dangling"), 0);
    assert_int_equal(mkfifo("model/pipe", 0600), 0);
    refuse_inside("model", "", HONE_E_INVALID, "empty");
    refuse_inside("model", absolute, HONE_E_INVALID, "absolute");
    refuse_inside("model", "/etc/passwd", HONE_E_INVALID, "absolute");
    refuse_inside("model", "..", HONE_E_INVALID, "'..'");
    refuse_inside("model", "../secret", HONE_E_INVALID, "'..'");
    refuse_inside("model", "sub/../w", HONE_E_INVALID, "'..'");
    refuse_inside("model", "sub//..", HONE_E_INVALID, "'..'");
    refuse_inside("model", "out", HONE_E_INVALID, "leads out");
    refuse_inside("model", "out2", HONE_E_INVALID, "leads out");
    refuse_inside("model", "chain", HONE_E_INVALID, "leads out");
    refuse_inside("model", "parent/secret", HONE_E_INVALID, "leads out");
    refuse_inside("model", "parent", HONE_E_INVALID, "leads out");
    refuse_inside("model", "etc/passwd", HONE_E_INVALID, "leads out");
    refuse_inside("model", "self", HONE_E_IO, "symbolic links");
    refuse_inside("model", "dangling", HONE_E_IO, "No such file");
    refuse_inside("model", "missing", HONE_E_IO, "No such file");
    refuse_inside("model", "w/x", HONE_E_IO, "Not a directory");
    refuse_inside("model", "pipe", HONE_E_IO, "a pipe");
    refuse_inside("model", "sub", HONE_E_IO, "a folder");
    refuse_inside("model", ".", HONE_E_IO, "a folder");
    refuse_inside("model", endless, HONE_E_LIMIT, "too long");
    refuse_inside("nowhere", "w", HONE_E_IO, "cannot open the folder");
}

static void test_no_descriptor_leaks(void **state) {
    (void)state;
    int before = count_open_descriptors();
    test_inside_refuses(NULL);
    accept_inside("model", "sub/w", "sub weights");
    assert_int_equal(count_open_descriptors(), before);
}

/* ---- writing --------------------------------------------------------------------------------- */

static hn_outfile *open_out(const char *path) {
    hn_outfile *f;
    hone_error err;
    hn_error_clear(&err);
    if (hn_outfile_open(path, NULL, &f, &err) != HONE_OK)
        fail_msg("%s", err.message);
    return f;
}

static void test_out_sizes(void **state) {
    (void)state;
    /* Around the size of the buffer, mixed, so that every path between buffer and file is taken. */
    static const size_t sizes[] = {1,     65535, 65536,  65537, 0,  3,     65533,
                                   65536, 10,    200000, 65526, 11, 40000, 40000};
    static char data[200100], all[1000000];
    size_t n = 0;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)('a' + i * i % 23);
    hn_outfile *f = open_out("out");
    for (size_t i = 0; i < HN_COUNT(sizes); i++) {
        assert_int_equal(hn_outfile_write(f, data + i, sizes[i], NULL), HONE_OK);
        memcpy(all + n, data + i, sizes[i]);
        n += sizes[i];
        assert_int_equal(hn_outfile_offset(f), n);
    }
    assert_int_equal(access("out", F_OK), -1);
    assert_int_equal(count_entries("."), 1);
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    assert_int_equal(count_entries("."), 1);
    assert_content("out", all);
}

static void test_out_padding(void **state) {
    (void)state;
    hn_outfile *f = open_out("out");
    assert_int_equal(hn_outfile_pad_to(f, 4096, NULL), HONE_OK);
    assert_int_equal(hn_outfile_offset(f), 0);
    hn_outfile_write(f, "x", 1, NULL);
    assert_int_equal(hn_outfile_pad_to(f, 0, NULL) | hn_outfile_pad_to(f, 1, NULL), HONE_OK);
    assert_int_equal(hn_outfile_offset(f), 1);
    assert_int_equal(hn_outfile_pad_to(f, 64, NULL), HONE_OK);
    assert_int_equal(hn_outfile_offset(f), 64);
    assert_int_equal(hn_outfile_pad_to(f, 100000, NULL), HONE_OK);
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    hn_filemap map;
    assert_int_equal(hn_filemap_open("out", &map, NULL), HONE_OK);
    assert_int_equal(map.bytes.n, 100000);
    for (size_t i = 1; i < 100000; i++)
        assert_int_equal(((const char *)map.bytes.at)[i], 0);
    hn_filemap_close(&map);
}

static mode_t mode_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static void test_out_modes(void **state) {
    (void)state;
    mode_t old = umask(027);
    assert_int_equal(hn_outfile_commit(open_out("new"), NULL), HONE_OK);
    assert_int_equal(mode_of("new"), 0640);
    put_file("old", "old");
    assert_int_equal(chmod("old", 0754), 0);
    hn_outfile *f = open_out("old");
    hn_outfile_write(f, "fresh", 5, NULL);
    assert_content("old", "old");
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    assert_content("old", "fresh");
    assert_int_equal(mode_of("old"), 0754);
    umask(old);
}

static void test_out_abort(void **state) {
    (void)state;
    put_file("old", "old");
    hn_outfile *f = open_out("old");
    hn_outfile_write(f, "fresh", 5, NULL);
    hn_outfile_abort(f);
    hn_outfile_abort(NULL);
    assert_content("old", "old");
    assert_int_equal(count_entries("."), 1);
}

/* The file may be replaced while it is mapped: the map keeps the old content. */
static void test_out_over_mapped_file(void **state) {
    (void)state;
    put_file("model", "old");
    hn_filemap map;
    assert_int_equal(hn_filemap_open("model", &map, NULL), HONE_OK);
    hn_outfile *f = open_out("model");
    hn_outfile_write(f, map.bytes.at, map.bytes.n, NULL);
    hn_outfile_write(f, "+new", 4, NULL);
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    assert_memory_equal(map.bytes.at, "old", 3);
    hn_filemap_close(&map);
    assert_content("model", "old+new");
}

static void test_out_through_link(void **state) {
    (void)state;
    assert_int_equal(mkdir("store", 0755), 0);
    put_file("store/real", "old");
    assert_int_equal(symlink("store/real", "link"), 0);
    hn_outfile *f = open_out("link");
    hn_outfile_write(f, "new", 3, NULL);
    assert_int_equal(count_entries("store"), 2);
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    struct stat st;
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_content("store/real", "new");
}

static void test_out_longest_name(void **state) {
    (void)state;
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    assert_int_equal(hn_outfile_commit(open_out(name), NULL), HONE_OK);
    assert_content(name, "");
}

static void refuse_out(const char *path, const char *why) {
    hn_outfile *f;
    hone_error err;
    hn_error_clear(&err);
    assert_int_equal(hn_outfile_open(path, NULL, &f, &err), HONE_E_IO);
    assert_null(f);
    if (!strstr(err.message, why) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, why);
}

static void test_out_refuses(void **state) {
    (void)state;
    put_file("file", "x");
    assert_int_equal(mkdir("folder", 0755), 0);
    refuse_out("", "No such file");
    refuse_out("folder", "it is a folder");
    refuse_out("missing/out", "No such file");
    refuse_out("missing/", "No such file");
    refuse_out("file/out", "Not a directory");
    char name[300];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    refuse_out(name, "File name too long");
    assert_int_equal(count_entries("."), 2);
}

/* Runs as an ordinary user in a child, for root may write everywhere. */
static void test_out_without_permission(void **state) {
    (void)state;
    put_file("readonly", "x");
    assert_int_equal(mkdir("closed", 0555) | chmod("readonly", 0444) | chmod(".", 0777), 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setuid(65534) != 0)
            _exit(0);
        hn_outfile *f;
        hone_error err;
        hn_error_clear(&err);
        bool ok = hn_outfile_open("readonly", NULL, &f, &err) == HONE_E_IO &&
                  strstr(err.message, "Permission denied");
        hn_error_clear(&err);
        ok = ok && hn_outfile_open("closed/out", NULL, &f, &err) == HONE_E_IO &&
             strcmp(err.message, "cannot write 'closed/out': Permission denied") == 0;
        _exit(ok ? 0 : 1);
    }
    int result = -1;
    waitpid(child, &result, 0);
    assert_int_equal(result, 0);
    assert_content("readonly", "x");
}

/* Writes until it fails, then looks at what the failure left behind. */
static void fail_while_writing(const char *path, const char *why) {
    static const char data[100000];
    hone_error err;
    hn_error_clear(&err);
    hn_outfile *f = open_out(path);
    hone_status status = HONE_OK;
    for (int i = 0; i < 100 && status == HONE_OK; i++)
        status = hn_outfile_write(f, data, sizeof(data), &err);
    assert_int_equal(status, HONE_E_IO);
    if (!strstr(err.message, why) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, why);
    hone_error later;
    hn_error_clear(&later);
    assert_int_equal(hn_outfile_write(f, "x", 1, &later), HONE_E_IO);
    hn_error_clear(&later);
    assert_int_equal(hn_outfile_commit(f, &later), HONE_E_IO);
    assert_non_null(strstr(later.message, "earlier write failed"));
}

static void test_out_file_size_limit(void **state) {
    (void)state;
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 250000;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    put_file("old", "old");
    fail_while_writing("old", "File too large");
    setrlimit(RLIMIT_FSIZE, &old);
    assert_content("old", "old");
    assert_int_equal(count_entries("."), 1);
}

static void test_out_device_full(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    fail_while_writing("/dev/full", "No space left on device");
    /* Small data meet the error no later than commit. */
    hone_error err;
    hn_error_clear(&err);
    hn_outfile *f = open_out("/dev/full");
    assert_int_equal(hn_outfile_write(f, "x", 1, &err), HONE_OK);
    assert_int_equal(hn_outfile_commit(f, &err), HONE_E_IO);
    assert_string_equal(err.message, "cannot write '/dev/full': No space left on device");
    assert_int_equal(access("/dev/full", W_OK), 0);
}

#ifdef __linux__
static int unmount_disk(void **state) {
    umount2("disk", MNT_DETACH);
    return remove_folder(state);
}

static void test_out_disk_full(void **state) {
    (void)state;
    assert_int_equal(mkdir("disk", 0755), 0);
    if (mount("none", "disk", "tmpfs", 0, "size=300k") != 0)
        skip();
    put_file("disk/old", "old");
    fail_while_writing("disk/old", "No space left on device");
    assert_content("disk/old", "old");
    assert_int_equal(count_entries("disk"), 1);
}
#endif

static void test_out_target_becomes_folder(void **state) {
    (void)state;
    hone_error err;
    hn_error_clear(&err);
    hn_outfile *f = open_out("out");
    assert_int_equal(mkdir("out", 0755), 0);
    assert_int_equal(hn_outfile_commit(f, &err), HONE_E_IO);
    assert_non_null(strstr(err.message, "Is a directory"));
    assert_int_equal(count_entries("."), 1);
}

static void test_out_allocation_fails(void **state) {
    (void)state;
    counting_allocator c;
    counting_init(&c, 1);
    hn_outfile *f;
    assert_int_equal(hn_outfile_open("out", &c.hook, &f, NULL), HONE_E_NOMEM);
    assert_null(f);
    assert_int_equal(count_entries("."), 0);
    assert_int_equal(hn_outfile_open("out", &c.hook, &f, NULL), HONE_OK);
    assert_int_equal(hn_outfile_commit(f, NULL), HONE_OK);
    assert_true(counting_is_clean(&c));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_empty_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_map_content),
        IN_FOLDER(test_map_refuses_what_is_no_file),
        IN_FOLDER(test_inside_accepts),
        IN_FOLDER(test_inside_refuses),
        IN_FOLDER(test_no_descriptor_leaks),
        IN_FOLDER(test_out_sizes),
        IN_FOLDER(test_out_padding),
        IN_FOLDER(test_out_modes),
        IN_FOLDER(test_out_abort),
        IN_FOLDER(test_out_over_mapped_file),
        IN_FOLDER(test_out_through_link),
        IN_FOLDER(test_out_longest_name),
        IN_FOLDER(test_out_refuses),
        IN_FOLDER(test_out_without_permission),
        IN_FOLDER(test_out_file_size_limit),
        IN_FOLDER(test_out_device_full),
#ifdef __linux__
        cmocka_unit_test_setup_teardown(test_out_disk_full, enter_empty_folder, unmount_disk),
#endif
        IN_FOLDER(test_out_target_becomes_folder),
        IN_FOLDER(test_out_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
