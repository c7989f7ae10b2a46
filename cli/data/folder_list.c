/* Lists folders for the readers of datasets. */
#define _POSIX_C_SOURCE 200809L
#include "data/dataset_int.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void dataset_free_entries(folder_entries *e) {
    for (size_t i = 0; i < e->n; i++)
        free(e->names[i]);
    free(e->names);
    *e = (folder_entries){0};
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char *dataset_copy_text(const char *text) {
    return strdup(text);
}

char *dataset_path_in(const char *folder, const char *name) {
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path)
        snprintf(path, n, "%s/%s", folder, name);
    return path;
}

bool dataset_list_folder(const char *path, folder_entries *e, hone_error *error) {
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

bool dataset_is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A pipe with the name of an image would block the reader for ever. */
bool dataset_is_file(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}
