/* Finds ONNX test cases in folders, and reads the manifest of known failures. */
#define _POSIX_C_SOURCE 200809L
#include "data/test_sets.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_FOLDER_DEPTH 16

static char *joined(const char *a, const char *b, const char *c) {
    size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s%s", a, b, c);
    return text;
}

static bool out_of_memory(hone_error *error) {
    return cli_refuse(error, "out of memory");
}

/* The last part of the path, without ".onnx". */
static char *case_name(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    char *name = malloc(n - begin + 1);
    if (!name)
        return NULL;
    memcpy(name, path + begin, n - begin);
    name[n - begin] = '\0';
    if (cli_has_suffix(name, ".onnx"))
        name[strlen(name) - strlen(".onnx")] = '\0';
    return name;
}

/* Takes ownership of `model` and `folder`. */
static bool push_case(test_case_list *list, char *model, char *folder, hone_error *error) {
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 256;
        test_case *grown = realloc(list->at, cap * sizeof *grown);
        if (grown) {
            list->at = grown;
            list->cap = cap;
        }
    }
    char *name = case_name(folder ? folder : model);
    if (list->n == list->cap || !name) {
        free(name);
        free(model);
        free(folder);
        return out_of_memory(error);
    }
    list->at[list->n++] = (test_case){.name = name,
                                      .model = model,
                                      .folder = folder,
                                      .tolerance = {.absolute = 1e-7, .relative = 1e-3}};
    return true;
}

typedef struct folder_scan {
    const char *path;
    test_case_list *list;
    int depth;
    bool has_sets;
    char *model; /* the first .onnx file, for a folder with data sets */
    hone_error *error;
} folder_scan;

static bool scan_folder(const char *path, int depth, test_case_list *list, hone_error *error);

/* A model with its outputs beside it. */
static bool scan_model(folder_scan *s, char *path) {
    struct stat info;
    char *stem = joined(path, "", "");
    if (!stem)
        return out_of_memory(s->error);
    stem[strlen(stem) - strlen(".onnx")] = '\0';
    char *output = joined(stem, "_output_0.pb", "");
    free(stem);
    bool ok = output ? true : out_of_memory(s->error);
    if (output && stat(output, &info) == 0) {
        char *copy = joined(path, "", "");
        ok = copy ? push_case(s->list, copy, NULL, s->error) : out_of_memory(s->error);
    }
    free(output);
    return ok;
}

static bool scan_entry(folder_scan *s, const char *name) {
    struct stat info;
    char *path = joined(s->path, "/", name);
    bool ok = path ? true : out_of_memory(s->error);
    if (path && stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode) && strncmp(name, "test_data_set_", 14) == 0) {
            s->has_sets = true;
        } else if (S_ISDIR(info.st_mode)) {
            ok = scan_folder(path, s->depth + 1, s->list, s->error);
        } else if (cli_has_suffix(name, ".onnx")) {
            ok = scan_model(s, path);
            if (!s->model || strcmp(path, s->model) < 0) {
                free(s->model);
                s->model = path;
                return ok;
            }
        }
    }
    free(path);
    return ok;
}

static bool scan_folder(const char *path, int depth, test_case_list *list, hone_error *error) {
    folder_scan s = {.path = path, .list = list, .depth = depth, .error = error};
    DIR *folder = depth < MAX_FOLDER_DEPTH ? opendir(path) : NULL;
    if (!folder)
        return cli_refuse(error, "cannot read the folder '%s': %s", path,
                          depth < MAX_FOLDER_DEPTH ? strerror(errno) : "too deep");
    bool ok = true;
    for (struct dirent *entry; ok && (entry = readdir(folder)) != NULL;)
        ok = entry->d_name[0] == '.' || scan_entry(&s, entry->d_name);
    closedir(folder);
    if (ok && s.has_sets && s.model) {
        char *copy = joined(path, "", "");
        ok = copy ? push_case(list, s.model, copy, error) : out_of_memory(error);
        if (copy)
            s.model = NULL;
    }
    free(s.model);
    return ok;
}

static int by_model(const void *a, const void *b) {
    return strcmp(((const test_case *)a)->model, ((const test_case *)b)->model);
}

bool test_cases_find(const char *folder, test_case_list *list, hone_error *error) {
    size_t before = list->n;
    if (!scan_folder(folder, 0, list, error))
        return false;
    if (list->n > before)
        qsort(list->at + before, list->n - before, sizeof *list->at, by_model);
    return true;
}

void test_cases_free(test_case_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        free(list->at[i].name);
        free(list->at[i].model);
        free(list->at[i].folder);
    }
    free(list->at);
    *list = (test_case_list){0};
}

/* ---- manifest -------------------------------------------------------------------------------- */

/* Parses "rtol=1e-2 atol=1e-5"; true for an empty text, too. */
static bool read_tolerances(char *words, cli_tolerance *t, bool *has_any) {
    for (char *word = strtok(words, " \t"); word; word = strtok(NULL, " \t")) {
        double *target = strncmp(word, "rtol=", 5) == 0   ? &t->relative
                         : strncmp(word, "atol=", 5) == 0 ? &t->absolute
                                                          : NULL;
        if (!target || !cli_parse_number(word + 5, target))
            return false;
        *has_any = true;
    }
    return true;
}

/* Parses one line. Lines about other cases are ignored. */
static bool apply_line(char *line, test_case_list *list) {
    line += strspn(line, " \t");
    if (*line == '\0' || *line == '#')
        return true;
    char *colon = strchr(line, ':');
    if (!colon || colon[1] == '\0')
        return false;
    *colon = '\0';
    char *name = line, *words = line + strcspn(line, " \t");
    if (*words)
        *words++ = '\0';
    cli_tolerance tolerance = {.absolute = 1e-7, .relative = 1e-3};
    bool has_tolerance = false;
    if (!read_tolerances(words, &tolerance, &has_tolerance))
        return false;
    for (size_t i = 0; i < list->n; i++) {
        if (strcmp(list->at[i].name, name) != 0)
            continue;
        list->at[i].tolerance = tolerance;
        list->at[i].excuse = has_tolerance ? NULL : colon + 1 + strspn(colon + 1, " ");
    }
    return true;
}

bool test_manifest_apply(char *text, const char *path, test_case_list *list, hone_error *error) {
    for (int number = 1; *text; number++) {
        size_t n = strcspn(text, "\n");
        bool is_last = text[n] == '\0';
        text[n] = '\0';
        if (!apply_line(text, list))
            return cli_refuse(error, "%s:%d: write 'NAME: reason' or 'NAME rtol=1e-2: reason'",
                              path, number);
        text += is_last ? n : n + 1;
    }
    return true;
}
