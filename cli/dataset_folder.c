/* Datasets: a folder of images, with a folder for each class. */
#define _POSIX_C_SOURCE 200809L
#include "dataset_int.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Entries of a folder, sorted; hidden ones are left out. */
typedef struct folder_entries {
    char **names;
    size_t n;
} folder_entries;

static void free_entries(folder_entries *e) {
    for (size_t i = 0; i < e->n; i++)
        free(e->names[i]);
    free(e->names);
    *e = (folder_entries){0};
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *path_in(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

static bool list_entries(const char *path, folder_entries *e, hone_error *error) {
    DIR *folder = opendir(path);
    if (!folder)
        return cli_refuse(error, "cannot read the folder '%s': %s", path, strerror(errno));
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char **grown = realloc(e->names, (e->n + 1) * sizeof *grown);
        e->names = grown ? grown : e->names;
        char *name = grown ? strdup(entry->d_name) : NULL;
        ok = name ? true : cli_refuse(error, "out of memory");
        if (ok)
            e->names[e->n++] = name;
    }
    closedir(folder);
    if (e->n)
        qsort(e->names, e->n, sizeof *e->names, by_text);
    return ok;
}

static bool has_image_name(const char *name) {
    static const char *const suffixes[] = {".jpg", ".jpeg", ".png",  ".bmp", ".ppm", ".pgm",
                                           ".pnm", ".gif",  ".webp", ".tif", ".tiff"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (cli_has_suffix(name, suffixes[i]))
            return true;
    return false;
}

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Takes ownership of the path. */
static bool add_image(cli_dataset *d, char *path, size_t shown, int64_t label, hone_error *error) {
    dataset_file *grown = path ? realloc(d->files, (d->n_files + 1) * sizeof *grown) : NULL;
    if (!grown) {
        free(path);
        return cli_refuse(error, "out of memory");
    }
    d->files = grown;
    d->files[d->n_files++] = (dataset_file){.path = path, .shown = shown, .label = label};
    d->n_samples = d->n_files;
    return true;
}

static bool add_images_of(cli_dataset *d, const char *folder, size_t shown, int64_t label,
                          hone_error *error) {
    folder_entries e = {0};
    bool ok = list_entries(folder, &e, error);
    for (size_t i = 0; ok && i < e.n; i++)
        if (has_image_name(e.names[i]))
            ok = add_image(d, path_in(folder, e.names[i]), shown, label, error);
    free_entries(&e);
    return ok;
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool is_number_text(const char *text) {
    return *text && strlen(text) < 10 && text[strspn(text, "0123456789")] == '\0';
}

/* A line of the classes is the name, or begins with it ("n01440764 tench"). */
static int64_t find_class(const cli_list *classes, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; i < classes->n; i++) {
        const char *line = classes->at[i];
        if (strncmp(line, name, n) == 0 && (line[n] == '\0' || strchr(" \t,", line[n])))
            return (int64_t)i;
    }
    return -1;
}

/* Labels of the folders: by the names of the classes, or as numbers, or in order. */
static bool label_folders(const cli_dataset *d, const folder_entries *folders, int64_t *labels,
                          hone_error *error) {
    bool are_numbers = true, has_names = d->classes && d->classes->n;
    for (size_t i = 0; i < folders->n; i++)
        are_numbers &= is_number_text(folders->names[i]);
    for (size_t i = 0; i < folders->n; i++) {
        const char *name = folders->names[i];
        labels[i] = has_names     ? find_class(d->classes, name)
                    : are_numbers ? strtoll(name, NULL, 10)
                                  : (int64_t)i;
        if (labels[i] < 0 && are_numbers)
            labels[i] = strtoll(name, NULL, 10);
        if (labels[i] < 0)
            return cli_refuse(error, "the folder '%s' is none of the classes of --labels", name);
    }
    return true;
}

static bool open_classes(cli_dataset *d, const char *path, const folder_entries *folders,
                         hone_error *error) {
    int64_t *labels = calloc(folders->n + 1, sizeof *labels);
    bool ok =
        labels ? label_folders(d, folders, labels, error) : cli_refuse(error, "out of memory");
    for (size_t i = 0; ok && i < folders->n; i++) {
        char *folder = path_in(path, folders->names[i]);
        ok = folder ? add_images_of(d, folder, strlen(path) + 1, labels[i], error)
                    : cli_refuse(error, "out of memory");
        free(folder);
    }
    free(labels);
    return ok;
}

/* Keeps the folders among the entries. */
static bool keep_folders(const char *path, folder_entries *e) {
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++) {
        char *full = path_in(path, e->names[i]);
        bool is_kept = full && is_folder(full);
        free(full);
        if (is_kept)
            e->names[kept++] = e->names[i];
        else
            free(e->names[i]);
    }
    e->n = kept;
    return kept > 0;
}

bool dataset_open_folder(cli_dataset *d, const char *path, hone_error *error) {
    folder_entries e = {0};
    bool ok = list_entries(path, &e, error);
    if (ok)
        ok = keep_folders(path, &e) ? open_classes(d, path, &e, error)
                                    : add_images_of(d, path, strlen(path) + 1, -1, error);
    free_entries(&e);
    if (ok && d->n_files == 0)
        ok = cli_refuse(error, "the folder '%s' has no images, nor folders with images", path);
    return ok;
}

bool dataset_read_image(cli_dataset *d, uint64_t i, cli_sample *sample, hone_error *error) {
    const dataset_file *file = &d->files[i];
    sample->name = file->path + file->shown;
    sample->label = file->label;
    d->values[0] = cli_value_read(file->path, &d->expects[0], &d->image, NULL, error);
    return d->values[0] != NULL;
}

void dataset_close_folder(cli_dataset *d) {
    for (size_t i = 0; i < d->n_files; i++)
        free(d->files[i].path);
    free(d->files);
}
