/* The table of measured kernels and its file:
 *   # hone kernels 1: NAME OF THE PROCESSOR (features)
 *   conv-last 1x56x56x64 to 56x56x64 kernel 3x3 ... threads 2: winograd (product 52.1,
 * winograd 31.0) The text before the colon is the key, compared letter by letter. */
#include "cpu/kernel_choices.h"

#include <pthread.h>

#define FILE_HEAD "# hone kernels "
#define FILE_VERSION "1: "
#define MOST_FILE_BYTES (UINT64_C(16) << 20)

struct hn_kernel_choices {
    const hone_allocator *alloc;
    hn_arena *arena;
    int n_threads;
    uint32_t n_skipped;
    pthread_mutex_t lock; /* guards all below while nodes ask */
    HN_VEC(hn_kernel_choice *) list;
    hn_map by_sizes; /* hash of the text to place in the list */
};

hn_kernel_choices *hn_kernel_choices_new(const hone_allocator *a, int n_threads) {
    hn_kernel_choices *c = hn_calloc(a, 1, sizeof *c);
    if (!c)
        return NULL;
    c->alloc = a;
    c->n_threads = n_threads;
    c->arena = hn_arena_new(a);
    pthread_mutex_init(&c->lock, NULL);
    if (!c->arena) {
        hn_kernel_choices_free(c);
        return NULL;
    }
    hn_map_init(&c->by_sizes, c->arena);
    return c;
}

void hn_kernel_choices_free(hn_kernel_choices *c) {
    if (!c)
        return;
    pthread_mutex_destroy(&c->lock);
    hn_arena_free(c->arena);
    hn_free(c->alloc, c, sizeof *c);
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Of two texts with one hash the second stays outside: its convolutions are not tuned. */
static hone_status choice_of(hn_kernel_choices *c, const char *sizes, size_t n,
                             hn_kernel_choice **out) {
    uint64_t hash = hn_hash64(sizes, n, 0);
    uint32_t at = hn_map_get(&c->by_sizes, hash);
    if (at != HN_MAP_NONE) {
        const char *known = c->list.at[at]->sizes;
        *out = strlen(known) == n && memcmp(known, sizes, n) == 0 ? c->list.at[at] : NULL;
        return HONE_OK;
    }
    hn_kernel_choice *fresh = HN_NEW(c->arena, hn_kernel_choice);
    HN_TRY_PTR(fresh);
    *fresh = (hn_kernel_choice){.sizes = hn_arena_printf(c->arena, "%.*s", (int)n, sizes),
                                .method = HN_NO_METHOD,
                                .times = ""};
    if (!fresh->sizes || !hn_map_put(&c->by_sizes, hash, c->list.n) ||
        !HN_VEC_PUSH(c->arena, &c->list, fresh))
        return HONE_E_NOMEM;
    *out = fresh;
    return HONE_OK;
}

static void put_key_sizes(hn_strbuf *b, const char *what, const int64_t *sizes, int32_t n) {
    hn_strbuf_puts(b, what);
    for (int32_t i = 0; i < n; i++)
        hn_strbuf_printf(b, i ? "x%lld" : "%lld", (long long)sizes[i]);
}

static void put_conv_sizes(const hn_conv_nhwc_job *job, int n_threads, hn_strbuf *b) {
    const hn_window *s = job->window;
    hn_strbuf_printf(b, "conv-last %lldx", (long long)job->batch);
    put_key_sizes(b, "", s->in, s->n_axes);
    put_key_sizes(b, "x", &job->channels, 1);
    put_key_sizes(b, " to ", s->out, s->n_axes);
    put_key_sizes(b, "x", &job->filters, 1);
    put_key_sizes(b, " kernel ", s->kernel, s->n_axes);
    put_key_sizes(b, " stride ", s->stride, s->n_axes);
    put_key_sizes(b, " dilation ", s->dilation, s->n_axes);
    put_key_sizes(b, " pad ", s->pad, s->n_axes);
    hn_strbuf_printf(b, " groups %lld threads %d", (long long)job->groups, n_threads);
}

static hone_status remember_asker(hn_kernel_choices *c, hn_kernel_choice *choice, hn_id node,
                                  const char *name, const hn_conv_nhwc_job *job) {
    if (choice->n_nodes++ == 0) {
        choice->window = *job->window;
        choice->job = (hn_conv_nhwc_job){.window = &choice->window,
                                         .batch = job->batch,
                                         .channels = job->channels,
                                         .filters = job->filters,
                                         .groups = job->groups,
                                         .method = job->method};
    } else if (node > choice->first_node) {
        return HONE_OK;
    }
    choice->first_node = node;
    choice->first_name = hn_arena_printf(c->arena, "%s", name);
    return choice->first_name ? HONE_OK : HONE_E_NOMEM;
}

hone_status hn_kernel_choices_ask(hn_kernel_choices *c, hn_id node, const char *name,
                                  hn_conv_nhwc_job *job) {
    hn_kernel_choice *choice = NULL;
    hn_strbuf sizes;
    hn_strbuf_init(&sizes, c->alloc);
    put_conv_sizes(job, c->n_threads, &sizes);
    pthread_mutex_lock(&c->lock);
    hone_status status = sizes.failed ? HONE_E_NOMEM : choice_of(c, sizes.at, sizes.n, &choice);
    if (status == HONE_OK && choice)
        status = remember_asker(c, choice, node, name, job);
    if (status == HONE_OK && choice && choice->method != HN_NO_METHOD &&
        hn_conv_nhwc_fits(job, (hn_conv_nhwc_method)choice->method))
        job->method = (hn_conv_nhwc_method)choice->method;
    pthread_mutex_unlock(&c->lock);
    hn_strbuf_free(&sizes);
    return status;
}

uint32_t hn_kernel_choices_n(const hn_kernel_choices *c) {
    return c->list.n;
}

hn_kernel_choice *hn_kernel_choices_at(const hn_kernel_choices *c, uint32_t i) {
    return c->list.at[i];
}

hone_status hn_kernel_choices_set(hn_kernel_choices *c, hn_kernel_choice *choice, int method,
                                  const char *times) {
    choice->method = method;
    choice->times = hn_arena_printf(c->arena, "%s", times);
    return choice->times ? HONE_OK : HONE_E_NOMEM;
}

uint32_t hn_kernel_choices_n_skipped(const hn_kernel_choices *c) {
    return c->n_skipped;
}

uint64_t hn_kernel_choices_hash(const hn_kernel_choices *c) {
    uint64_t hash = (uint64_t)c->n_threads;
    for (uint32_t i = 0; i < c->list.n; i++) {
        const hn_kernel_choice *choice = c->list.at[i];
        if (choice->method != HN_NO_METHOD)
            hash = hn_hash64(choice->sizes, strlen(choice->sizes),
                             hash ^ (uint64_t)(choice->method + 1));
    }
    return hash;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_file_head(hn_strbuf *b) {
    char name[64];
    hn_cpu_name(name, sizeof name);
    hn_strbuf_printf(b, FILE_HEAD FILE_VERSION "%s (%s)", name, hone_cpu_features());
}

typedef struct text_span {
    const char *at;
    size_t n;
} text_span;

static bool begins_with(text_span text, const char *head) {
    return text.n >= strlen(head) && memcmp(text.at, head, strlen(head)) == 0;
}

/* Cuts the text before the mark off; without a mark all of it. False: there was no mark. */
static bool cut_text(text_span *text, const char *mark, text_span *head) {
    size_t n_mark = strlen(mark);
    for (size_t i = 0; i + n_mark <= text->n; i++)
        if (memcmp(text->at + i, mark, n_mark) == 0) {
            *head = (text_span){text->at, i};
            *text = (text_span){text->at + i + n_mark, text->n - i - n_mark};
            return true;
        }
    *head = *text;
    *text = (text_span){text->at + text->n, 0};
    return false;
}

static bool is_printable(text_span text) {
    for (size_t i = 0; i < text.n; i++)
        if (text.at[i] < ' ' || text.at[i] > '~')
            return false;
    return true;
}

static int method_named(text_span name) {
    for (int m = 0; hn_conv_nhwc_method_name(m); m++)
        if (name.n == strlen(hn_conv_nhwc_method_name(m)) &&
            memcmp(name.at, hn_conv_nhwc_method_name(m), name.n) == 0)
            return m;
    return HN_NO_METHOD;
}

/* "SIZES: METHOD (TIMES)" */
static hone_status read_choice_line(hn_kernel_choices *c, text_span line) {
    text_span sizes, method, times;
    hn_kernel_choice *choice;
    bool is_whole = is_printable(line) && line.n < 4096 && begins_with(line, "conv-last ") &&
                    cut_text(&line, ": ", &sizes) && cut_text(&line, " (", &method) &&
                    cut_text(&line, ")", &times) && line.n == 0;
    int known = is_whole ? method_named(method) : HN_NO_METHOD;
    if (known == HN_NO_METHOD) {
        c->n_skipped++;
        return HONE_OK;
    }
    HN_TRY(choice_of(c, sizes.at, sizes.n, &choice));
    if (!choice)
        return HONE_OK;
    choice->method = known;
    choice->times = hn_arena_printf(c->arena, "%.*s", (int)times.n, times.at);
    return choice->times ? HONE_OK : HONE_E_NOMEM;
}

static hone_status read_lines(hn_kernel_choices *c, text_span text, const char *path,
                              hone_error *err) {
    text_span line;
    hn_strbuf head;
    hn_strbuf_init(&head, c->alloc);
    put_file_head(&head);
    cut_text(&text, "\n", &line);
    bool is_ours = begins_with(line, FILE_HEAD), has_failed = head.failed;
    bool is_for_us = !has_failed && line.n == head.n && memcmp(line.at, head.at, line.n) == 0;
    hn_strbuf_free(&head);
    if (has_failed)
        return HONE_E_NOMEM;
    if (!is_ours)
        return hn_fail(err, HONE_E_FORMAT, "'%s' is no list of kernels as `hone tune` writes it",
                       path);
    if (!is_for_us)
        return hn_fail(err, HONE_E_UNSUPPORTED,
                       "'%s' was measured on another processor or by another version of hone",
                       path);
    while (text.n > 0) {
        cut_text(&text, "\n", &line);
        if (line.n > 0)
            HN_TRY(read_choice_line(c, line));
    }
    return HONE_OK;
}

hone_status hn_kernel_choices_read(hn_kernel_choices *c, const char *path, hone_error *err) {
    hn_filemap map;
    HN_TRY(hn_filemap_open(path, &map, err));
    text_span text = {map.bytes.at, (size_t)map.bytes.n};
    hone_status status = map.bytes.n == 0 || map.bytes.n > MOST_FILE_BYTES
                             ? hn_fail(err, HONE_E_FORMAT, "'%s' is no list of kernels: it is %s",
                                       path, map.bytes.n == 0 ? "empty" : "too large")
                             : read_lines(c, text, path, err);
    hn_filemap_close(&map);
    return status;
}

hone_status hn_kernel_choices_write(const hn_kernel_choices *c, const char *path, hone_error *err) {
    hn_outfile *f;
    hn_strbuf text;
    hn_strbuf_init(&text, c->alloc);
    put_file_head(&text);
    hn_strbuf_puts(&text, "\n");
    for (uint32_t i = 0; i < c->list.n; i++) {
        const hn_kernel_choice *choice = c->list.at[i];
        if (choice->method != HN_NO_METHOD)
            hn_strbuf_printf(&text, "%s: %s (%s)\n", choice->sizes,
                             hn_conv_nhwc_method_name(choice->method), choice->times);
    }
    hone_status status = text.failed ? HONE_E_NOMEM : hn_outfile_open(path, c->alloc, &f, err);
    if (status == HONE_OK) {
        status = hn_outfile_write(f, text.at, text.n, err);
        if (status == HONE_OK)
            status = hn_outfile_commit(f, err);
        else
            hn_outfile_abort(f);
    }
    hn_strbuf_free(&text);
    return status;
}
