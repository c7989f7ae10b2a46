/* Datasets: a folder of images, with a folder for each class. */
#define _POSIX_C_SOURCE 200809L
#include "data/dataset_int.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_FOLDER_DEPTH = 16 };

typedef struct image_path {
    char *path;
    int64_t label; /* -1: none */
} image_path;

typedef struct image_folder {
    image_path *images;
    size_t n, shown; /* the part of a path from `shown` on is the name of the sample */
} image_folder;

static void close_image_folder(void *state) {
    image_folder *f = state;
    for (size_t i = 0; i < f->n; i++)
        free(f->images[i].path);
    free(f->images);
    free(f);
}

static hone_value *read_image(const char *path, const cli_expect *e, const cli_image_options *o,
                              hone_error *error) {
    cli_buffer file;
    cli_image image;
    hone_value *v = NULL;
    if (!cli_file_read(path, &file, error))
        return NULL;
    if (cli_image_decode(&file, path, &image, error)) {
        v = cli_image_to_value(&image, o, e, error);
        cli_image_free(&image);
    }
    cli_buffer_free(&file);
    return v;
}

static bool read_image_sample(const cli_dataset *d, uint64_t i, dataset_item *item,
                              hone_error *error) {
    const image_folder *f = d->state;
    const image_path *image = &f->images[i];
    item->label = image->label;
    item->name = dataset_copy_text(image->path + f->shown);
    if (!item->name)
        return cli_refuse(error, "out of memory");
    item->values[0] = read_image(image->path, &d->expects[0], &d->o.image, error);
    return item->values[0] != NULL;
}

static const dataset_reader image_reader = {.read = read_image_sample, .close = close_image_folder};

/* ---- finding images -------------------------------------------------------------------------- */

bool dataset_is_image(const char *name) {
    static const char *const suffixes[] = {".jpg", ".jpeg", ".png",  ".bmp", ".ppm", ".pgm",
                                           ".pnm", ".gif",  ".webp", ".tif", ".tiff"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (cli_has_suffix(name, suffixes[i]))
            return true;
    return false;
}

/* Takes ownership of the path. */
static bool add_image(image_folder *f, char *path, int64_t label, hone_error *error) {
    bool is_grown = (f->n & (f->n - 1)) != 0; /* room for the next power of two */
    image_path *grown =
        is_grown ? f->images : realloc(f->images, (f->n ? 2 * f->n : 1) * sizeof *grown);
    if (!grown) {
        free(path);
        return cli_refuse(error, "out of memory");
    }
    f->images = grown;
    f->images[f->n++] = (image_path){.path = path, .label = label};
    return true;
}

typedef struct folder_above { /* a link to one of them would never end */
    struct folder_above *above;
    dev_t device;
    ino_t inode;
    int depth;
} folder_above;

static bool enter_folder(const char *path, folder_above *here, hone_error *error) {
    struct stat info;
    if (stat(path, &info) != 0)
        return cli_refuse(error, "cannot read the folder '%s'", path);
    here->device = info.st_dev;
    here->inode = info.st_ino;
    here->depth = here->above ? here->above->depth + 1 : 0;
    for (const folder_above *a = here->above; a; a = a->above)
        if (a->device == info.st_dev && a->inode == info.st_ino)
            return cli_refuse(error, "the folder '%s' is a link to a folder that contains it",
                              path);
    return here->depth < MOST_FOLDER_DEPTH
               ? true
               : cli_refuse(error, "the folder '%s' is too deep: images may lie %d folders deep",
                            path, MOST_FOLDER_DEPTH);
}

/* All images of a folder and of those in it. */
static bool add_images_of(image_folder *f, const char *folder, int64_t label, folder_above *above,
                          hone_error *error) {
    folder_entries e = {0};
    folder_above here = {.above = above};
    bool ok = enter_folder(folder, &here, error) && dataset_list_folder(folder, &e, error);
    for (size_t i = 0; ok && i < e.n; i++) {
        char *path = dataset_path_in(folder, e.names[i]);
        if (!path)
            ok = cli_refuse(error, "out of memory");
        else if (dataset_is_image(e.names[i]) && dataset_is_file(path)) {
            ok = add_image(f, path, label, error);
            path = NULL;
        } else if (dataset_is_folder(path))
            ok = add_images_of(f, path, label, &here, error);
        free(path);
    }
    dataset_free_entries(&e);
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
    bool are_numbers = true, has_names = d->o.classes && d->o.classes->n;
    for (size_t i = 0; i < folders->n; i++)
        are_numbers &= is_number_text(folders->names[i]);
    for (size_t i = 0; i < folders->n; i++) {
        const char *name = folders->names[i];
        labels[i] = has_names     ? find_class(d->o.classes, name)
                    : are_numbers ? strtoll(name, NULL, 10)
                                  : (int64_t)i;
        if (labels[i] < 0 && are_numbers)
            labels[i] = strtoll(name, NULL, 10);
        if (labels[i] < 0)
            return cli_refuse(error, "the folder '%s' is none of the classes of --labels", name);
    }
    return true;
}

static bool open_classes(const cli_dataset *d, const folder_entries *folders, hone_error *error) {
    int64_t *labels = calloc(folders->n + 1, sizeof *labels);
    folder_above top = {0};
    bool ok = labels
                  ? enter_folder(d->path, &top, error) && label_folders(d, folders, labels, error)
                  : cli_refuse(error, "out of memory");
    for (size_t i = 0; ok && i < folders->n; i++) {
        char *folder = dataset_path_in(d->path, folders->names[i]);
        ok = folder ? add_images_of(d->state, folder, labels[i], &top, error)
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
        char *full = dataset_path_in(path, e->names[i]);
        bool is_kept = full && dataset_is_folder(full);
        free(full);
        if (is_kept)
            e->names[kept++] = e->names[i];
        else
            free(e->names[i]);
    }
    e->n = kept;
    return kept > 0;
}

static bool find_images(cli_dataset *d, image_folder *f, hone_error *error) {
    folder_entries e = {0};
    f->shown = strlen(d->path) + 1;
    bool ok = dataset_list_folder(d->path, &e, error);
    if (ok) {
        d->is_sorted_by_class = keep_folders(d->path, &e);
        ok = d->is_sorted_by_class ? open_classes(d, &e, error)
                                   : add_images_of(f, d->path, -1, NULL, error);
    }
    dataset_free_entries(&e);
    return ok && f->n == 0
               ? cli_refuse(error, "the folder '%s' has no images, nor folders with images",
                            d->path)
               : ok;
}

static bool take_one_image(const cli_dataset *d, image_folder *f, hone_error *error) {
    const char *slash = strrchr(d->path, '/');
    char *path = dataset_copy_text(d->path);
    f->shown = slash ? (size_t)(slash + 1 - d->path) : 0;
    return path ? add_image(f, path, -1, error) : cli_refuse(error, "out of memory");
}

bool dataset_open_images(cli_dataset *d, hone_error *error) {
    image_folder *f = calloc(1, sizeof *f);
    if (!f)
        return cli_refuse(error, "out of memory");
    d->state = f;
    d->reader = &image_reader;
    d->are_rows[0] = d->expects[0].rank == 4;
    bool ok = cli_image_check(&d->o.image, &d->expects[0], error) &&
              (dataset_is_folder(d->path) ? find_images(d, f, error) : take_one_image(d, f, error));
    d->n_stored = f->n;
    return ok;
}
