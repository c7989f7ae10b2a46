/* Whose data file it is: what a save may replace, and what another model still needs. */
#define _GNU_SOURCE /* PATH_MAX, unlinkat */
#include "onnx/save_int.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEP_MARK ".hone-"
#define STEP_DIGITS 8

/* ---- files of this model --------------------------------------------------------------------- */

/* True when the model's tensors lie in that file; *is_main: it is the model file itself. */
static bool is_read_from(const hn_model *m, const hn_file_stamp *file, bool *is_main) {
    for (; m; m = m->origin)
        for (uint32_t i = 0; i < m->maps.n; i++)
            if (hn_same_file(&m->maps.at[i].stamp, file)) {
                *is_main = i == 0 && m->path;
                return true;
            }
    return false;
}

hone_status hn_check_save_path(const hn_model *m, const char *path, hone_error *err) {
    hn_file_stamp file;
    bool is_main;
    if (!hn_file_stamp_read(path, &file) || !is_read_from(m, &file, &is_main) || is_main)
        return HONE_OK;
    return hn_fail(err, HONE_E_ARGUMENT,
                   "cannot save to '%s': it holds data of the model that is saved; give another "
                   "path",
                   path);
}

/* ---- files of other models ------------------------------------------------------------------- */

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static bool is_step_name(const char *name, const char *data_name) {
    size_t n = strlen(data_name), n_mark = sizeof STEP_MARK - 1;
    return strlen(name) == n + n_mark + STEP_DIGITS && strncmp(name, data_name, n) == 0 &&
           strncmp(name + n, STEP_MARK, n_mark) == 0 &&
           strspn(name + n + n_mark, "0123456789abcdef") == STEP_DIGITS;
}

typedef struct data_search {
    const char *model, *data_name;
    hn_file_stamp data;
    bool is_found;
} data_search;

/* By the file that it leads to, because one file has many paths. A model that was interrupted while
 * it changed to new data has a name made of the data's. */
static void look_at_location(void *ctx, const char *location) {
    data_search *s = ctx;
    char path[PATH_MAX];
    hn_file_stamp file;
    int n = snprintf(path, sizeof path, "%.*s%s", (int)folder_length(s->model), s->model, location);
    if (is_step_name(location, s->data_name) ||
        (n > 0 && n < (int)sizeof path && hn_file_stamp_read(path, &file) &&
         hn_same_file(&file, &s->data)))
        s->is_found = true;
}

/* What is no model refers to nothing. */
static hone_status search_model(const hn_model *m, data_search *s) {
    hn_load_options o = {.alloc = hn_arena_allocator(m->arena),
                         .skip_external = true,
                         .skipped = look_at_location,
                         .skipped_ctx = s};
    hn_model *other;
    hone_status status = hn_load_file(s->model, &o, &other, NULL);
    hn_model_free(other);
    return status == HONE_E_NOMEM ? status : HONE_OK;
}

static bool is_model_name(const char *name) {
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".onnx") == 0;
}

/* Models beside the data file, but not the one at `path`, which is replaced. */
static hone_status search_neighbours(const hn_model *m, const char *path, data_search *s,
                                     char neighbour[PATH_MAX]) {
    hn_file_stamp replaced, file;
    hone_status status = HONE_OK;
    bool has_replaced = hn_file_stamp_read(path, &replaced);
    char folder[PATH_MAX];
    int n_folder = (int)folder_length(path);
    snprintf(folder, sizeof folder, "%.*s", n_folder ? n_folder : 1, n_folder ? path : ".");
    DIR *d = opendir(folder);
    s->model = neighbour;
    for (const struct dirent *e; d && status == HONE_OK && !s->is_found && (e = readdir(d));) {
        int n = snprintf(neighbour, PATH_MAX, "%.*s%s", n_folder, path, e->d_name);
        if (is_model_name(e->d_name) && n < PATH_MAX && hn_file_stamp_read(neighbour, &file) &&
            !(has_replaced && hn_same_file(&file, &replaced)))
            status = search_model(m, s);
    }
    if (d)
        closedir(d);
    return status;
}

/* ---- what may happen to it ------------------------------------------------------------------- */

static hone_status keep_data(hn_data_fate *fate, const char *why) {
    *fate = HN_DATA_KEEP;
    HN_TRY_PTR(why);
    return HONE_OK;
}

hone_status hn_data_file_fate(const hn_model *m, const char *path, const char *data_path,
                              hn_arena *arena, hn_data_fate *fate, const char **why,
                              hone_error *err) {
    data_search s = {.model = path, .data_name = data_path + folder_length(data_path)};
    struct stat st;
    hn_file_stamp model;
    bool is_main;
    char neighbour[PATH_MAX];
    *fate = HN_DATA_NEW;
    *why = "";
    if (lstat(data_path, &st) != 0)
        return HONE_OK;
    if (!S_ISREG(st.st_mode))
        return hn_fail(err, HONE_E_IO, "'%s' cannot be the data file: it is %s", data_path,
                       hn_file_kind_name(st.st_mode));
    if (!hn_file_stamp_read(data_path, &s.data))
        return HONE_OK;
    bool is_in_place = hn_file_stamp_read(path, &model) && is_read_from(m, &model, &is_main);
    if (is_read_from(m, &s.data, &is_main) && (is_main || !is_in_place))
        return keep_data(fate, *why = "the model that is saved is read from it");
    HN_TRY(search_model(m, &s));
    if (!s.is_found)
        return keep_data(fate, *why = "it exists, and is not the data file of the model that is "
                                      "replaced: remove it if nobody needs it");
    s.is_found = false;
    HN_TRY(search_neighbours(m, path, &s, neighbour));
    if (s.is_found)
        return keep_data(fate, *why = hn_arena_printf(arena, "'%s' uses it", neighbour));
    *fate = HN_DATA_REPLACE;
    return HONE_OK;
}

/* ---- the names between ----------------------------------------------------------------------- */

const char *hn_data_step_name(hn_arena *arena, const char *data_path) {
    uint64_t unique[] = {hn_now_ns(), (uint64_t)getpid(), (uint64_t)(uintptr_t)arena};
    hn_file_stamp there;
    const char *name;
    do {
        unique[0]++;
        name = hn_arena_printf(arena, "%s" STEP_MARK "%08lx", data_path,
                               (unsigned long)hn_hash32(unique, sizeof unique));
    } while (name && hn_file_stamp_read(name, &there));
    return name;
}

void hn_data_steps_remove(const char *data_path) {
    size_t n_folder = folder_length(data_path);
    char folder[PATH_MAX];
    if (n_folder >= sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", n_folder ? (int)n_folder : 1,
             n_folder ? data_path : ".");
    DIR *d = opendir(folder);
    for (const struct dirent *e; d && (e = readdir(d)) != NULL;)
        if (is_step_name(e->d_name, data_path + n_folder))
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
}
