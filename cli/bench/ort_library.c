#define _POSIX_C_SOURCE 200809L
#include "bench/ort_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- places ---------------------------------------------------------------------------------- */

/* The last file that matches, which is the newest version of Python or of the library. */
static bool find_by_pattern(const char *pattern, char *path, size_t size) {
    glob_t found = {0};
    bool ok = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
    if (ok)
        snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    return ok;
}

static bool find_in_folder(const char *folder, char *path, size_t size) {
    char pattern[2048];
    snprintf(pattern, sizeof pattern, "%.1500s/libonnxruntime.so*", folder);
    return find_by_pattern(pattern, path, size);
}

/* The packages of an installation of Python: PREFIX/lib/python3.11/site-packages. */
static bool find_in_prefix(const char *prefix, char *path, size_t size) {
    static const char *const kinds[] = {"python3*/site-packages", "python3*/dist-packages",
                                        "python3/dist-packages"};
    char pattern[2048];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(pattern, sizeof pattern, "%.1500s/lib/%s/onnxruntime/capi/libonnxruntime.so*",
                 prefix, kinds[i]);
        if (find_by_pattern(pattern, path, size))
            return true;
    }
    return false;
}

/* Calls `find` with the parts of a list such as PATH until one has it. */
static bool find_in_list(const char *list, const char *behind,
                         bool (*find)(const char *folder, char *path, size_t size), char *path,
                         size_t size) {
    char folder[1024];
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(folder, sizeof folder, "%.*s%s", (int)n, list, behind);
        if (n > 0 && n < 900 && find(folder, path, size))
            return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static bool find_python_package(char *path, size_t size) {
    const char *environment = getenv("VIRTUAL_ENV"), *home = getenv("HOME");
    char local[1024];
    snprintf(local, sizeof local, "%.900s/.local", home ? home : "");
    return (environment && find_in_prefix(environment, path, size)) ||
           find_in_list(getenv("PYTHONPATH"), "/onnxruntime/capi", find_in_folder, path, size) ||
           find_in_list(getenv("PATH"), "/..", find_in_prefix, path, size) ||
           find_in_prefix(local, path, size) || find_in_prefix("/usr/local", path, size) ||
           find_in_prefix("/usr", path, size);
}

/* ---- loading --------------------------------------------------------------------------------- */

/* A folder stands for the library in it, or in the Python package in it. */
static bool locate_given(const char *given, const char *what, char *path, size_t size,
                         hone_error *error) {
    struct stat info;
    char package[1024];
    if (stat(given, &info) != 0)
        return cli_refuse(error, "%s '%s': there is no such file or folder", what, given);
    snprintf(path, size, "%s%s", strchr(given, '/') ? "" : "./", given);
    snprintf(package, sizeof package, "%.900s/capi", given);
    if (!S_ISDIR(info.st_mode) || find_in_folder(given, path, size) ||
        find_in_folder(package, path, size))
        return true;
    return cli_refuse(error, "%s '%s': there is no libonnxruntime.so in this folder", what, given);
}

static void *open_library(const char *given, char *path, size_t size, hone_error *error) {
    const char *named = getenv("HONE_ONNXRUNTIME");
    const char *what = given ? "--library" : "HONE_ONNXRUNTIME";
    const char *chosen = given ? given : named && *named ? named : NULL;
    if (chosen && !locate_given(chosen, what, path, size, error))
        return NULL;
    bool is_found = chosen || find_python_package(path, size);
    void *library = is_found ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (is_found && !library)
        cli_refuse(error, "cannot load '%s': %s", path, dlerror());
    if (is_found)
        return library;
    static const char *const names[] = {"libonnxruntime.so.1", "libonnxruntime.so"};
    for (size_t i = 0; !library && i < 2; i++) {
        snprintf(path, size, "%s", names[i]);
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    if (!library)
        cli_refuse(error,
                   "there is no libonnxruntime.so in the Python packages or where the loader "
                   "looks; give --library PATH or set HONE_ONNXRUNTIME, or `pip install "
                   "onnxruntime`");
    return library;
}

static bool read_table(void *library, ort_library *l, hone_error *error) {
    union {
        void *symbol;
        const ort_base *(*get)(void);
    } entry = {dlsym(library, "OrtGetApiBase")};
    if (!entry.symbol)
        return cli_refuse(error, "'%s' is not onnxruntime: it has no function OrtGetApiBase",
                          l->path);
    const ort_base *base = entry.get();
    const char *version = base && base->version_text ? base->version_text() : NULL;
    const void *const *table = base && base->get_api ? base->get_api(ORT_API_VERSION) : NULL;
    if (!version || !table)
        return cli_refuse(error,
                          "'%s' is onnxruntime %s, which lacks version %d of its C interface",
                          l->path, version ? version : "of an unknown version", ORT_API_VERSION);
    snprintf(l->version, sizeof l->version, "%s", version);
    memset(&l->api, 0, sizeof l->api);
#define ORT_READ(name, position, result, arguments) \
  memcpy(&l->api.name, &table[position], sizeof l->api.name);
    ORT_FUNCTIONS(ORT_READ)
#undef ORT_READ
    return true;
}

const ort_library *ort_library_load(const char *given, hone_error *error) {
    static ort_library loaded;
    static bool is_loaded;
    if (is_loaded)
        return &loaded;
    void *library = open_library(given, loaded.path, sizeof loaded.path, error);
    is_loaded = library && read_table(library, &loaded, error);
    if (library && !is_loaded)
        dlclose(library);
    return is_loaded ? &loaded : NULL;
}
