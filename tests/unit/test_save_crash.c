/* Saving in place with external data, interrupted at every system call, or by a full disk: the path
 * leads to the whole old model or to the whole new one, each with its own data. */
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE 1 /* mkdtemp, PTRACE_O_EXITKILL */
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#ifdef __linux__
#  include <sys/ptrace.h>
#endif

#include "onnx/onnx.h"
#include "proto_builder.h"

enum { N_ELEMS = 30000, MOST_CALLS = 5000 };

static char folder[256];

static int enter_folder(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/hone-test-crash-XXXXXX", temporary ? temporary : P_tmpdir);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state) {
    (void)state;
    char command[300];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return chdir("/") == 0 ? system(command) : -1;
}

/* A weight whose elements are all `mark`; so is the version of the model. */
static hn_model *marked_model(float mark) {
    hn_model *m = hn_model_new(NULL);
    assert_non_null(m);
    m->has_ir_version = m->has_model_version = true;
    m->ir_version = 8;
    m->model_version = (int64_t)mark;
    m->graph = hn_graph_new(m, &m->opsets);
    int64_t dims[1] = {N_ELEMS};
    void *data;
    hn_tensor *t = hn_tensor_blank(m->arena, HN_F32, 1, dims, &data);
    for (int i = 0; i < N_ELEMS; i++)
        ((float *)data)[i] = mark;
    hn_id value = hn_graph_add_value(m->graph, 0, hn_intern_z(m->names, "w"));
    assert_true(hn_graph_add_init(m->graph, value, t));
    return m;
}

static hone_status save_marked(float mark, hone_error *err) {
    hn_save_options o = {.external = HN_EXTERNAL_ALWAYS};
    hn_model *m = marked_model(mark);
    hone_status status = hn_save_file(m, "m.onnx", &o, err);
    hn_model_free(m);
    return status;
}

/* The mark of the model at the path, whose data must have the same. */
static int mark_on_disk(void) {
    hn_model *m;
    hone_error err;
    hn_error_clear(&err);
    if (hn_load_file("m.onnx", NULL, &m, &err) != HONE_OK)
        fail_msg("%s", err.message);
    const hn_tensor *t = hn_value_at(m->graph, hn_block_at(m->graph, 0)->inits.at[0])->init;
    int mark = (int)m->model_version;
    assert_int_equal(t->data_bytes, N_ELEMS * sizeof(float));
    for (int i = 0; i < N_ELEMS; i++)
        assert_true(((const float *)t->data)[i] == (float)mark);
    hn_model_free(m);
    return mark;
}

static int n_entries(void) {
    DIR *d = opendir(".");
    int n = -2;
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

#ifdef __linux__
/* Lets a child save, and kills it at its nth stop before or after a system call. False when it was
 * done before. *is_possible: the child could be traced. */
static bool kill_at_stop(int n, float mark, bool *is_possible) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        _exit(save_marked(mark, NULL) == HONE_OK ? 0 : 1);
    }
    int status = 0;
    assert_true(waitpid(child, &status, 0) == child);
    *is_possible = WIFSTOPPED(status);
    if (!*is_possible)
        return false;
    for (int i = 0; i < n && WIFSTOPPED(status); i++) {
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
        assert_true(waitpid(child, &status, 0) == child);
    }
    if (!WIFSTOPPED(status)) {
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        return false;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
}

static void a_kill_at_any_time_leaves_a_whole_model(void **state) {
    (void)state;
    bool is_possible = true, goes_on = true;
    int n_old = 0, n_new = 0, mark = 1;
    assert_int_equal(save_marked(1, NULL), HONE_OK);
    for (int n = 1; goes_on; n++) {
        assert_true(n < MOST_CALLS);
        goes_on = kill_at_stop(n, (float)(mark + 1), &is_possible);
        if (!is_possible)
            skip();
        int now = mark_on_disk();
        assert_true(now == mark || now == mark + 1);
        n_old += now == mark;
        n_new += now != mark;
        mark = now;
    }
    assert_true(n_old > 20 && n_new > 5);
    /* The next save removes what the others left. */
    assert_int_equal(save_marked(3, NULL), HONE_OK);
    assert_int_equal(mark_on_disk(), 3);
    assert_int_equal(n_entries(), 2);
}
#endif

/* Room for less than the data, for the data alone, and for all but the end of the model. */
static void a_full_disk_changes_nothing(void **state) {
    (void)state;
    struct rlimit all, few;
    getrlimit(RLIMIT_FSIZE, &all);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(save_marked(1, NULL), HONE_OK);
    for (rlim_t room = 0; room < N_ELEMS * sizeof(float); room += 7919) {
        few = all;
        few.rlim_cur = room;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
        hone_status status = save_marked(2, NULL);
        setrlimit(RLIMIT_FSIZE, &all);
        assert_int_equal(status, HONE_E_IO);
        assert_int_equal(mark_on_disk(), 1);
        assert_int_equal(n_entries(), 2);
    }
}

static void data_keep_their_name(void **state) {
    (void)state;
    struct stat before, after;
    for (int mark = 1; mark < 4; mark++) {
        assert_int_equal(save_marked((float)mark, NULL), HONE_OK);
        assert_int_equal(mark_on_disk(), mark);
        assert_int_equal(n_entries(), 2);
        assert_int_equal(stat("m.onnx.data", &before), 0);
    }
    /* Equal data stay where they are. */
    assert_int_equal(save_marked(3, NULL), HONE_OK);
    assert_int_equal(stat("m.onnx.data", &after), 0);
    assert_true(before.st_ino == after.st_ino);
}

static void copy_file(const char *from, const char *to) {
    char command[100];
    snprintf(command, sizeof command, "cp %s %s", from, to);
    assert_int_equal(system(command), 0);
}

/* Saves the model at `from`, perhaps changed in a way that changes its data. */
static void refuse_save(const char *from, const char *to, const char *data_name, const char *why) {
    hn_model *m;
    hone_error err;
    hn_save_options o = {.external = HN_EXTERNAL_ALWAYS, .data_name = data_name};
    hn_error_clear(&err);
    assert_int_equal(hn_load_file(from, NULL, &m, &err), HONE_OK);
    assert_int_equal(hn_save_file(m, to, &o, &err), HONE_E_ARGUMENT);
    if (!strstr(err.message, why))
        fail_msg("'%s' does not say '%s'", err.message, why);
    hn_model_free(m);
}

static void files_that_somebody_needs_are_kept(void **state) {
    (void)state;
    assert_int_equal(save_marked(1, NULL), HONE_OK);
    rename("m.onnx", "one.onnx");
    rename("m.onnx.data", "m.onnx.data.one");
    copy_file("m.onnx.data.one", "m.onnx.data"); /* one.onnx refers to this name */
    int n_before = n_entries();
    hn_model *two = marked_model(2);
    hn_save_options inside = {.external = HN_EXTERNAL_NEVER};
    assert_int_equal(hn_save_file(two, "two.onnx", &inside, NULL), HONE_OK);
    hn_model_free(two);
    refuse_save("two.onnx", "three.onnx", "two.onnx", "read from it");
    refuse_save("two.onnx", "three.onnx", "one.onnx", "not the data file");
    refuse_save("two.onnx", "three.onnx", "m.onnx.data", "not the data file");
    refuse_save("two.onnx", "one.onnx", "m.onnx.data.one", "not the data file");
    refuse_save("one.onnx", "m.onnx.data", NULL, "holds data of the model");
    copy_file("one.onnx", "four.onnx"); /* shares its data with one.onnx */
    refuse_save("two.onnx", "four.onnx", "m.onnx.data", "'one.onnx' uses it");
    unlink("four.onnx");
    unlink("two.onnx");
    assert_int_equal(n_entries(), n_before);
    rename("one.onnx", "m.onnx");
    assert_int_equal(mark_on_disk(), 1);
}

int main(void) {
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
#ifdef __linux__
        IN_FOLDER(a_kill_at_any_time_leaves_a_whole_model),
#endif
        IN_FOLDER(a_full_disk_changes_nothing),
        IN_FOLDER(data_keep_their_name),
        IN_FOLDER(files_that_somebody_needs_are_kept),
    };
#undef IN_FOLDER
    return cmocka_run_group_tests(tests, NULL, NULL);
}
