/* The session cache: reused, replaced when damaged or outdated, and never the cause of a
 * failure. */
#include "run_model.h"

#include "counting_allocator.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { N_CLASSES = 10 };

/* The output for a fixed image; the session's note goes to `note`. */
static void run_cached(const char *path, const char *folder, float scores[N_CLASSES],
                       char note[512]) {
    hone_session_options options;
    hone_session *session;
    hone_model *model;
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.cache_dir = folder;
    expect_ok(hone_model_load(path, NULL, &model, &error));
    expect_ok(hone_session_create(model, &options, &session, &error));
    snprintf(note, 512, "%s", hone_session_cache_note(session));
    hone_value *x = counting_floats(DIMS(1, 1, 8, 8)), *y = NULL;
    const char *in = hone_session_input_name(session, 0),
               *out = hone_session_output_name(session, 0);
    expect_ok(
        hone_session_run(session, NULL, 1, &in, (const hone_value *[]){x}, 1, &out, &y, &error));
    hone_tensor_info info;
    assert_true(hone_value_tensor(y, &info));
    memcpy(scores, info.data, N_CLASSES * sizeof *scores);
    hone_value_free(x);
    hone_value_free(y);
    hone_session_free(session);
    hone_model_free(model);
}

/* The only file of a folder whose name does not begin with a dot. */
static bool find_cache(const char *folder, char path[600], struct stat *st) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(path, 600, "%s/%s", folder, e->d_name);
            n++;
        }
    if (d)
        closedir(d);
    assert_true(n <= 1);
    return n == 1 && stat(path, st) == 0;
}

static void expect_same(const float *a, const float *b) {
    assert_memory_equal(a, b, N_CLASSES * sizeof *a);
}

static void weights_are_written_once(void **state) {
    (void)state;
    const char *folder = scratch_path("once");
    float plain[N_CLASSES], first[N_CLASSES], second[N_CLASSES];
    char note[512], path[600];
    struct stat before, after;
    run_cached(DIGITS, NULL, plain, note);
    assert_string_equal(note, "");
    run_cached(DIGITS, folder, first, note);
    assert_string_equal(note, "");
    assert_true(find_cache(folder, path, &before));
    run_cached(DIGITS, folder, second, note);
    assert_string_equal(note, "");
    assert_true(find_cache(folder, path, &after));
    assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
    expect_same(plain, first);
    expect_same(plain, second);
}

/* Changes the byte at `at`, counted from the end when negative; or truncates the file there. */
static void damage(const char *path, long at, bool cuts) {
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    at = ftell(f);
    int byte = fgetc(f);
    fseek(f, at, SEEK_SET);
    fputc(byte ^ 0x5A, f);
    fclose(f);
    if (cuts)
        assert_int_equal(truncate(path, at), 0);
}

static void a_damaged_file_is_replaced(void **state) {
    (void)state;
    static const struct {
        long at;
        bool cuts;
        const char *why;
    } cases[] = {{-1, false, "is damaged"},        {0, false, "no cache of hone"},
                 {0, true, "no cache of hone"},    {40, true, "no cache of hone"},
                 {8, false, "another format"},     {16, false, "header is damaged"},
                 {32, false, "header is damaged"}, {63, false, "header is damaged"},
                 {64, false, "index is damaged"},  {100, false, "index is damaged"},
                 {-1, true, "not whole"},          {80, true, "not whole"}};
    const char *folder = scratch_path("damage");
    float plain[N_CLASSES], scores[N_CLASSES];
    char note[512], path[600];
    struct stat st;
    run_cached(DIGITS, folder, plain, note);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(find_cache(folder, path, &st));
        damage(path, cases[i].at, cases[i].cuts);
        run_cached(DIGITS, folder, scores, note);
        expect_same(plain, scores);
        if (!strstr(note, cases[i].why))
            fail_msg("case %zu: '%s' does not say '%s'", i, note, cases[i].why);
        run_cached(DIGITS, folder, scores, note);
        assert_string_equal(note, "");
        expect_same(plain, scores);
    }
}

/* The model, or one of the same size that differs in a byte of a weight. */
static void copy_model(const char *to, bool changed) {
    hone_model *model;
    expect_ok(hone_model_load(DIGITS, NULL, &model, &error));
    expect_ok(hone_model_save(model, to, NULL, &error));
    hone_model_free(model);
    if (changed)
        damage(to, -2000, false);
}

/* Whatever byte is wrong: it is in what is used, and then it is told and made again, or nobody
 * reads it. */
static void no_damage_changes_results(void **state) {
    (void)state;
    enum { STEP = 997 };
    const char *folder = scratch_path("bytes");
    float plain[N_CLASSES], scores[N_CLASSES];
    char note[512], path[600];
    struct stat st;
    int n_told = 0, n_all = 0;
    run_cached(DIGITS, folder, plain, note);
    assert_true(find_cache(folder, path, &st));
    for (long at = 0; at < st.st_size; at += STEP) {
        damage(path, at, false);
        run_cached(DIGITS, folder, scores, note);
        expect_same(plain, scores);
        n_told += *note != 0;
        n_all++;
        assert_true(find_cache(folder, path, &st));
    }
    assert_true(n_all > 100 && n_told > n_all * 9 / 10);
}

static void expect_refused(const char *folder, const float *plain, const char *why) {
    float scores[N_CLASSES];
    char note[512];
    run_cached(DIGITS, folder, scores, note);
    expect_same(plain, scores);
    if (!strstr(note, why))
        fail_msg("'%s' does not say '%s'", note, why);
}

/* What others put in the folder is neither read nor written, and nobody waits for it. */
static void only_files_of_the_user_are_used(void **state) {
    (void)state;
    const char *folder = scratch_path("strange");
    float plain[N_CLASSES];
    char note[512], path[600], victim[600];
    struct stat st, kept;
    run_cached(DIGITS, folder, plain, note);
    assert_true(find_cache(folder, path, &st));
    assert_int_equal(st.st_mode & 022, 0);
    snprintf(victim, sizeof victim, "%s", scratch_path("victim"));
    assert_int_equal(rename(path, victim), 0);
    assert_int_equal(symlink(victim, path), 0);
    damage(victim, 16, false);
    assert_int_equal(stat(victim, &st), 0);
    expect_refused(folder, plain, "symbolic link");
    assert_int_equal(stat(victim, &kept), 0);
    assert_true(kept.st_ino == st.st_ino && kept.st_mtime == st.st_mtime);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    alarm(3000); /* of the clock: only for what hangs */
    expect_refused(folder, plain, "a pipe");
    alarm(0);
    assert_int_equal(unlink(path), 0);
    run_cached(DIGITS, folder, plain, note);
    assert_int_equal(chmod(path, 0666), 0);
    expect_refused(folder, plain, "others may write it");
    run_cached(DIGITS, folder, plain, note);
    assert_string_equal(note, "");
    if (getuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        expect_refused(folder, plain, "another user");
    }
}

/* A write through a mapping changes the time stamp of the file once, and then not for a while. */
static void a_change_through_a_mapping_is_noticed(void **state) {
    (void)state;
    char model[600], folder[600], note[512];
    float plain[N_CLASSES], cached[N_CLASSES];
    struct stat st;
    snprintf(model, sizeof model, "%s", scratch_path("mapped.onnx"));
    snprintf(folder, sizeof folder, "%s", scratch_path("mapped"));
    copy_model(model, false);
    int fd = open(model, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    unsigned char *bytes =
        mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(bytes != MAP_FAILED);
    for (int i = 0; i < 3; i++) {
        sleep(i == 1 ? 3 : 0); /* longer than time stamps are exact */
        bytes[st.st_size - 2000] ^= 0x40;
        run_cached(model, folder, cached, note);
        run_cached(model, NULL, plain, note);
        expect_same(plain, cached);
    }
    munmap(bytes, (size_t)st.st_size);
    close(fd);
}

/* What a process leaves that is killed while it writes goes with the next session. */
static void left_temporary_files_are_removed(void **state) {
    (void)state;
    const char *folder = scratch_path("left");
    float scores[N_CLASSES];
    char note[512], left[600], other[600];
    run_cached(DIGITS, folder, scores, note);
    snprintf(left, sizeof left, "%s/.hone-0123abcd.tmp", folder);
    snprintf(other, sizeof other, "%s/.hone-notes.tmp", folder);
    fclose(fopen(left, "wb"));
    fclose(fopen(other, "wb"));
    run_cached(DIGITS, folder, scores, note);
    assert_int_equal(access(left, F_OK), -1);
    assert_int_equal(access(other, F_OK), 0);
}

static void another_model_at_the_path_has_its_own_weights(void **state) {
    (void)state;
    char model[600], folder[600], note[512];
    float scores[N_CLASSES], plain[N_CLASSES], cached[N_CLASSES];
    snprintf(model, sizeof model, "%s", scratch_path("model.onnx"));
    snprintf(folder, sizeof folder, "%s", scratch_path("changing"));
    for (int i = 0; i < 4; i++) {
        copy_model(model, i % 2);
        run_cached(model, folder, scores, note);
        run_cached(model, folder, cached, note);
        run_cached(model, NULL, plain, note);
        expect_same(plain, scores);
        expect_same(plain, cached);
    }
}

static void processes_may_write_at_once(void **state) {
    (void)state;
    const char *folder = scratch_path("race");
    float plain[N_CLASSES], scores[N_CLASSES];
    char note[512], path[600];
    struct stat st;
    run_cached(DIGITS, NULL, plain, note);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            run_cached(DIGITS, folder, scores, note);
            _exit(memcmp(plain, scores, sizeof plain) == 0 && !*note ? 0 : 1);
        }
    for (int i = 0, status; i < 4; i++)
        assert_true(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(find_cache(folder, path, &st));
    run_cached(DIGITS, folder, scores, note);
    assert_string_equal(note, "");
    expect_same(plain, scores);
}

static void a_cache_keeps_nobody_from_running(void **state) {
    (void)state;
    float plain[N_CLASSES], scores[N_CLASSES];
    char note[512];
    run_cached(DIGITS, NULL, plain, note);
    run_cached(DIGITS, "/dev/null/folder", scores, note);
    assert_non_null(strstr(note, "cannot be made"));
    expect_same(plain, scores);
    run_cached(DIGITS, "/dev/null", scores, note);
    assert_true(*note);
    expect_same(plain, scores);
}

static void a_model_without_a_file_has_no_cache(void **state) {
    (void)state;
    static unsigned char bytes[1 << 20];
    hone_session_options options;
    runner r;
    FILE *f = fopen(DIGITS, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    hone_session_options_init(&options);
    options.cache_dir = scratch_folder;
    expect_ok(hone_model_load_buffer(bytes, n, NULL, &r.model, &error));
    expect_ok(hone_session_create(r.model, &options, &r.session, &error));
    assert_non_null(strstr(hone_session_cache_note(r.session), "does not come from a file"));
    runner_free(&r);
}

/* True when the Nth request was made, and failed: a session is made without it, or not at all. */
static bool fails_request(const char *folder, size_t n) {
    counting_allocator memory;
    hone_load_options load;
    hone_session_options options;
    hone_model *model = NULL;
    hone_session *session = NULL;
    hone_error failure;
    counting_init(&memory, n);
    hone_load_options_init(&load);
    load.allocator = &memory.hook;
    hone_session_options_init(&options);
    options.n_threads = 1;
    options.cache_dir = folder;
    hone_status status = hone_model_load(DIGITS, &load, &model, &failure);
    if (status == HONE_OK)
        status = hone_session_create(model, &options, &session, &failure);
    assert_true(status == HONE_OK || (status == HONE_E_NOMEM && memory.n_refused));
    hone_session_free(session);
    hone_model_free(model);
    assert_true(counting_is_clean(&memory));
    return memory.n_refused > 0;
}

static void missing_memory_is_told(void **state) {
    (void)state;
    float plain[N_CLASSES], scores[N_CLASSES];
    char note[512], path[600];
    struct stat st;
    run_cached(DIGITS, NULL, plain, note);
    for (int is_warm = 0; is_warm < 2; is_warm++) {
        const char *folder = scratch_path(is_warm ? "scarce-warm" : "scarce-cold");
        if (is_warm)
            run_cached(DIGITS, folder, scores, note);
        for (size_t n = 1; fails_request(folder, n); n++)
            if (!is_warm && find_cache(folder, path, &st))
                assert_int_equal(unlink(path), 0);
        run_cached(DIGITS, folder, scores, note);
        expect_same(plain, scores);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_are_written_once),
        cmocka_unit_test(a_damaged_file_is_replaced),
        cmocka_unit_test(another_model_at_the_path_has_its_own_weights),
        cmocka_unit_test(no_damage_changes_results),
        cmocka_unit_test(only_files_of_the_user_are_used),
        cmocka_unit_test(a_change_through_a_mapping_is_noticed),
        cmocka_unit_test(left_temporary_files_are_removed),
        cmocka_unit_test(processes_may_write_at_once),
        cmocka_unit_test(a_cache_keeps_nobody_from_running),
        cmocka_unit_test(a_model_without_a_file_has_no_cache),
        cmocka_unit_test(missing_memory_is_told),
    };
    return cmocka_run_group_tests(tests, enter_scratch, leave_scratch);
}
