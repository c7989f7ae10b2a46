/* Damages models in thousands of ways and watches what the library does with them.
 *
 * usage: damage [--variants N] [--seed N] [--only N [--dump FILE]] FILE-OR-FOLDER...
 *
 * Each variant is made from one of the given models (*.onnx, *.onnxtxt) by a few changes that
 * depend on the seed and its number alone, and goes through load, check, infer, print, save, runs
 * and edits. No variant may crash, leak, take more than a second or more memory than its size
 * allows.
 * --only repeats one variant, --dump writes it to a file. */
#define _GNU_SOURCE
#include "damage/exercise.h"
#include "damage/mutate.h"
#include "damage/watchdog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_SEED_BYTES ((uint64_t)32 << 10)
#define WATCHDOG_SECONDS 20 /* of processor time: an endless loop, not a slow one */

enum { MAX_CHANGES = 4, MAX_COMPLAINTS = 20, EXIT_SKIPPED = 77 };

typedef struct options {
    uint64_t n_variants, seed;
    uint64_t only; /* UINT64_MAX: all */
    const char *dump;
} options;

typedef struct seed_model {
    const char *path;
    hn_bytes bytes;
} seed_model;

typedef struct corpus {
    hn_arena *arena;
    HN_VEC(seed_model) models;
} corpus;

/* ---- seeds ----------------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what, const char *of) {
    fprintf(stderr, "damage: %s '%s'\n", what, of);
    exit(2);
}

/* As binary ONNX, whatever it was; models whose data lie elsewhere keep the reference. */
static void add_seed(corpus *c, const char *path) {
    hone_load_options o;
    hone_model *m;
    hone_error error;
    void *data;
    size_t n;
    hone_load_options_init(&o);
    o.skip_external_data = true;
    if (hone_model_load(path, &o, &m, &error) != HONE_OK ||
        hone_model_save_buffer(m, &data, &n, &error) != HONE_OK)
        fail(error.message, path);
    seed_model seed = {path, {hn_arena_copy(c->arena, data, n), n}};
    hone_buffer_free(m, data, n);
    hone_model_free(m);
    if (n <= MAX_SEED_BYTES && !(seed.bytes.at && HN_VEC_PUSH(c->arena, &c->models, seed)))
        fail("no memory for", path);
}

static bool is_model_name(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".onnx") == 0 || strcmp(dot, ".onnxtxt") == 0);
}

static void add_path(corpus *c, const char *path) {
    struct stat info;
    if (stat(path, &info) != 0)
        fail("cannot read", path);
    if (!S_ISDIR(info.st_mode)) {
        add_seed(c, path);
        return;
    }
    struct dirent **entries;
    int n = scandir(path, &entries, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (is_model_name(entries[i]->d_name))
            add_seed(c, hn_arena_printf(c->arena, "%s/%s", path, entries[i]->d_name));
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

/* ---- variants -------------------------------------------------------------------------------- */

typedef struct variant {
    const seed_model *seed;
    const char *changes[MAX_CHANGES]; /* names; NULL ends them early */
    hn_bytes file;
} variant;

static const seed_model *some_seed(const corpus *c, damage *d) {
    return &c->models.at[damage_below(d, c->models.n)];
}

static void change_fields(damage *d, variant *v) {
    uint32_t n = 1 + damage_below(d, MAX_CHANGES);
    for (uint32_t i = 0; i < n; i++) {
        bool is_hostile = damage_chance(d, 10);
        const mutation *m = is_hostile ? &hostile_mutations[damage_below(d, n_hostile_mutations)]
                                       : &field_mutations[damage_below(d, n_field_mutations)];
        m->apply(d);
        v->changes[i] = m->name;
    }
}

/* What still loads and gets as far as a run. */
static void change_numbers(damage *d, variant *v) {
    uint32_t n = damage_below(d, MAX_CHANGES);
    for (uint32_t i = 0; i < n; i++) {
        const mutation *m = &number_mutations[damage_below(d, n_number_mutations)];
        m->apply(d);
        v->changes[i] = m->name;
    }
}

static void change_tree(const corpus *c, damage *d, void (*change)(damage *, variant *),
                        variant *v) {
    d->model = proto_decode(d->arena, v->seed->bytes);
    d->donor = proto_decode(d->arena, some_seed(c, d)->bytes);
    if (!d->model || !d->donor)
        return;
    change(d, v);
    hn_bytes changed;
    if (proto_encode(d->arena, d->model, DAMAGED_MAX_BYTES, &changed))
        v->file = changed;
}

/* A quarter is damaged byte by byte, a quarter field by field, a quarter in both ways, and a
 * quarter only in numbers. */
static void make_variant(const corpus *c, hn_arena *arena, hn_rng *rng, variant *v) {
    damage d = {.arena = arena, .rng = rng};
    *v = (variant){.seed = some_seed(c, &d)};
    v->file = v->seed->bytes;
    uint32_t way = damage_below(&d, 4);
    if (way > 0)
        change_tree(c, &d, way == 3 ? change_numbers : change_fields, v);
    if (way < 2)
        damage_bytes(&d, &v->file);
}

static void dump_variant(const variant *v, const char *path) {
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(v->file.at, 1, (size_t)v->file.n, f) != v->file.n || fclose(f) != 0)
        fail("cannot write", path);
}

static void print_complaint(const options *o, uint64_t number, const variant *v,
                            const exercise_report *r) {
    printf("variant %llu (seed %llu) of %s, %llu bytes", (unsigned long long)number,
           (unsigned long long)o->seed, v->seed->path, (unsigned long long)v->file.n);
    for (int i = 0; i < MAX_CHANGES && v->changes[i]; i++)
        printf(", %s", v->changes[i]);
    printf(": %s\n", r->complaint);
    fflush(stdout);
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef struct campaign {
    const corpus *corpus;
    const options *options;
} campaign;

typedef struct totals {
    uint64_t n_variants, n_loaded, n_sessions, n_runs_completed, n_complaints;
    size_t peak_bytes;
    double peak_seconds, peak_run_seconds;
} totals;

static void run_variant(const corpus *c, const options *o, uint64_t number, totals *t) {
    hn_arena *arena = hn_arena_new(NULL);
    hn_rng rng;
    variant v;
    exercise_report report;
    if (!arena)
        fail("no memory for", "a variant");
    hn_rng_seed(&rng, o->seed + number * UINT64_C(0x9E3779B97F4A7C15));
    make_variant(c, arena, &rng, &v);
    if (o->dump)
        dump_variant(&v, o->dump);
    exercise_model(v.file.at, (size_t)v.file.n, &report);
    t->n_variants++;
    t->n_loaded += report.is_loaded;
    t->n_sessions += report.n_sessions;
    t->n_runs_completed += report.n_runs_completed;
    t->peak_bytes = HN_MAX(t->peak_bytes, report.peak_bytes);
    t->peak_seconds = HN_MAX(t->peak_seconds, report.cpu_seconds);
    t->peak_run_seconds = HN_MAX(t->peak_run_seconds, report.run_seconds);
    if (report.complaint[0]) {
        t->n_complaints++;
        print_complaint(o, number, &v, &report);
    }
    hn_arena_free(arena);
}

static options read_options(int argc, char **argv, corpus *c) {
    options o = {.n_variants = 20000, .seed = 1, .only = UINT64_MAX};
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--variants") == 0)
            o.n_variants = strtoull(argv[++i], NULL, 10);
        else if (has_value && strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(argv[++i], NULL, 10);
        else if (has_value && strcmp(argv[i], "--only") == 0)
            o.only = strtoull(argv[++i], NULL, 10);
        else if (has_value && strcmp(argv[i], "--dump") == 0)
            o.dump = argv[++i];
        else
            add_path(c, argv[i]);
    }
    return o;
}

static int run_variants(void *ctx, watch_progress *p) {
    const corpus *c = ((const campaign *)ctx)->corpus;
    const options *o = ((const campaign *)ctx)->options;
    totals t = {0};
    uint64_t begin = o->only == UINT64_MAX ? 0 : o->only;
    uint64_t end = o->only == UINT64_MAX ? o->n_variants : o->only + 1;
    for (uint64_t i = begin; i < end && t.n_complaints < MAX_COMPLAINTS; i++) {
        watch_begin(p, i, WATCHDOG_SECONDS);
        run_variant(c, o, i, &t);
    }
    printf("%llu damaged models from %u seeds: %llu loaded, %llu made a session, "
           "%llu runs completed, %llu complaints; at most %.1f MB, %.2f s and %.2f s for "
           "runs\n",
           (unsigned long long)t.n_variants, c->models.n, (unsigned long long)t.n_loaded,
           (unsigned long long)t.n_sessions, (unsigned long long)t.n_runs_completed,
           (unsigned long long)t.n_complaints, (double)t.peak_bytes / 1e6, t.peak_seconds,
           t.peak_run_seconds);
    p->is_done = true;
    return t.n_complaints ? 1 : 0;
}

int main(int argc, char **argv) {
    corpus c = {.arena = hn_arena_new(NULL)};
    if (!c.arena)
        return 2;
    options o = read_options(argc, argv, &c);
    int status = EXIT_SKIPPED;
    uint64_t last;
    if (c.models.n == 0)
        fprintf(stderr, "damage: no models to damage\n");
    else
        status = watch_child("variant", o.seed, run_variants, &(campaign){&c, &o}, &last) ? 1 : 0;
    hn_arena_free(c.arena);
    return status;
}
