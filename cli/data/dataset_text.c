/* Datasets: lines of text for models like BERT, split into the tokens of a vocabulary. A tab
 * separates the two texts of a pair. */
#include "data/dataset_int.h"
#include "data/wordpiece.h"

#include <stdlib.h>
#include <string.h>

enum { USUAL_MOST_TOKENS = 512 };

/* What an input of such a model has for each token. */
typedef enum token_role {
    ROLE_TOKEN,
    ROLE_MASK,     /* 1; 0 where rows are filled up */
    ROLE_TEXT,     /* 0 in the first text, 1 in the second */
    ROLE_POSITION, /* 0, 1, 2, ... */
    N_ROLES
} token_role;

typedef struct text_line {
    const char *at;
    size_t n;
} text_line;

typedef struct text_lines {
    wordpiece *tokenizer;
    cli_buffer file;
    text_line *lines;
    token_role *roles; /* by input */
    size_t most;       /* tokens of a sample */
    size_t length;     /* that all samples are filled up to; 0: none */
} text_lines;

static void close_text_lines(void *state) {
    text_lines *t = state;
    wordpiece_close(t->tokenizer);
    cli_buffer_free(&t->file);
    free(t->lines);
    free(t->roles);
    free(t);
}

/* ---- a sample -------------------------------------------------------------------------------- */

/* [CLS] first [SEP] second [SEP] */
typedef struct token_row {
    cli_buffer tokens; /* int32_t */
    size_t n, n_first; /* tokens; those of the first text, with [CLS] and [SEP] */
} token_row;

/* Tokens are taken off the longer text until both fit; where both are too long, the second one has
 * the odd token. */
static void fit_pair(size_t room, size_t *first, size_t *second) {
    size_t *shorter = *first > *second ? second : first,
           *longer = *first > *second ? first : second;
    if (*first + *second <= room)
        return;
    if (*shorter <= room / 2) {
        *longer = room - *shorter;
    } else {
        *shorter = room / 2;
        *longer = room - room / 2;
    }
}

static void put_token_number(cli_buffer *out, int32_t number) {
    cli_buffer_add(out, &number, sizeof number);
}

static bool split_line(const text_lines *t, const text_line *line, token_row *row) {
    const wordpiece_specials *special = wordpiece_special_tokens(t->tokenizer);
    const char *tab = memchr(line->at, '\t', line->n);
    size_t n_left = tab ? (size_t)(tab - line->at) : line->n, room = t->most - (tab ? 3 : 2);
    cli_buffer first = {0}, second = {0};
    size_t n_first = wordpiece_split(t->tokenizer, line->at, n_left, room, &first), n_second = 0;
    if (tab)
        n_second = wordpiece_split(t->tokenizer, tab + 1, line->n - n_left - 1, room, &second);
    fit_pair(room, &n_first, &n_second);
    put_token_number(&row->tokens, special->begin);
    cli_buffer_add(&row->tokens, first.at, n_first * sizeof(int32_t));
    put_token_number(&row->tokens, special->separator);
    row->n_first = n_first + 2;
    cli_buffer_add(&row->tokens, second.at, n_second * sizeof(int32_t));
    if (tab)
        put_token_number(&row->tokens, special->separator);
    row->n = row->tokens.n / sizeof(int32_t);
    bool ok = !first.failed && !second.failed && !row->tokens.failed;
    cli_buffer_free(&first);
    cli_buffer_free(&second);
    return ok;
}

static double pad_of(const text_lines *t, token_role role) {
    const wordpiece_specials *special = wordpiece_special_tokens(t->tokenizer);
    return role == ROLE_TOKEN && special->pad >= 0 ? special->pad : 0;
}

static double token_element(const token_row *row, token_role role, size_t i) {
    int32_t token;
    switch (role) {
    case ROLE_TOKEN:
        memcpy(&token, row->tokens.at + i * sizeof token, sizeof token);
        return token;
    case ROLE_TEXT:
        return i >= row->n_first;
    case ROLE_POSITION:
        return (double)i;
    default:
        return 1;
    }
}

static hone_value *row_value(const text_lines *t, const token_row *row, token_role role,
                             const cli_expect *e, hone_error *error) {
    size_t length = t->length > row->n ? t->length : row->n;
    const int64_t dims[2] = {1, (int64_t)length};
    hone_value *v;
    int32_t n_dropped = e->rank == 1;
    if (hone_value_create(e->elem_type, 2 - n_dropped, dims + n_dropped, NULL, &v, error) !=
        HONE_OK)
        return NULL;
    for (size_t i = 0; i < length; i++) {
        double number =
            i < row->n || role == ROLE_POSITION ? token_element(row, role, i) : pad_of(t, role);
        hone_value_set_f64(v, i, 1, &number);
    }
    return v;
}

static bool read_text_line(const cli_dataset *d, uint64_t i, dataset_item *item,
                           hone_error *error) {
    const text_lines *t = d->state;
    token_row row = {0};
    char name[24];
    snprintf(name, sizeof name, "%llu", (unsigned long long)i + 1);
    item->name = dataset_copy_text(name);
    bool ok =
        item->name && split_line(t, &t->lines[i], &row) ? true : cli_refuse(error, "out of memory");
    for (uint32_t k = 0; ok && k < d->n; k++) {
        item->values[k] = row_value(t, &row, t->roles[k], &d->expects[k], error);
        ok = item->values[k] != NULL;
    }
    cli_buffer_free(&row.tokens);
    return ok;
}

static const dataset_reader text_reader = {.read = read_text_line, .close = close_text_lines};

/* ---- inputs ---------------------------------------------------------------------------------- */

/* Names may end in ":0", as TensorFlow writes them. */
static token_role role_of(const char *name) {
    static const struct {
        const char *name;
        token_role role;
    } known[] = {
        {"input_ids", ROLE_TOKEN},     {"input_word_ids", ROLE_TOKEN}, {"token_ids", ROLE_TOKEN},
        {"tokens", ROLE_TOKEN},        {"attention_mask", ROLE_MASK},  {"input_mask", ROLE_MASK},
        {"mask", ROLE_MASK},           {"token_type_ids", ROLE_TEXT},  {"segment_ids", ROLE_TEXT},
        {"input_type_ids", ROLE_TEXT}, {"position_ids", ROLE_POSITION}};
    size_t n = strcspn(name, ":");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0)
            return known[i].role;
    return N_ROLES;
}

static bool add_role(cli_dataset *d, uint32_t value, token_role role, hone_error *error) {
    text_lines *t = d->state;
    uint32_t k = d->n;
    if (!dataset_add_input(d, value, error))
        return false;
    const cli_expect *e = &d->expects[k];
    t->roles[k] = role;
    d->are_rows[k] = e->rank != 1;
    d->pads[k] = pad_of(t, role);
    bool is_row = e->kind == HONE_TYPE_TENSOR && (e->rank < 0 || e->rank == 1 || e->rank == 2) &&
                  hone_elem_type_bits(e->elem_type) > 0;
    return is_row ? true
                  : cli_refuse(error, "input '%s' is %s: tokens need one row of numbers per sample",
                               e->name, e->text);
}

/* `tokens` is the input that was named for the tokens, or HONE_NONE. */
static bool find_text_inputs(cli_dataset *d, uint32_t tokens, hone_error *error) {
    text_lines *t = d->state;
    hone_subgraph_info graph;
    hone_value_info info;
    char names[512];
    bool ok = true, has_tokens = false;
    hone_graph_get_subgraph(d->g, 0, &graph);
    t->roles = calloc((size_t)graph.n_inputs + 1, sizeof *t->roles);
    if (!t->roles)
        return cli_refuse(error, "out of memory");
    if (tokens == HONE_NONE)
        tokens = dataset_only_input(d);
    for (uint32_t i = 0; ok && i < graph.n_inputs; i++) {
        hone_graph_get_value(d->g, graph.inputs[i], &info);
        token_role role = graph.inputs[i] == tokens ? ROLE_TOKEN : role_of(info.name);
        if (role == N_ROLES || info.is_initializer ||
            (role == ROLE_TOKEN && tokens != HONE_NONE && graph.inputs[i] != tokens))
            continue;
        has_tokens |= role == ROLE_TOKEN;
        ok = add_role(d, graph.inputs[i], role, error);
    }
    return ok && !has_tokens
               ? cli_refuse(error,
                            "'%s': write NAME=PATH with the name of the input that takes the "
                            "tokens; the model has %s",
                            d->o.source, cli_list_names(d->g, false, names, sizeof names))
               : ok;
}

/* The tokens of a sample: --max-length, or the length that the inputs declare. */
static bool find_lengths(cli_dataset *d, hone_error *error) {
    text_lines *t = d->state;
    t->most = d->o.max_length ? (size_t)d->o.max_length : 0;
    for (uint32_t k = 0; k < d->n; k++) {
        const cli_expect *e = &d->expects[k];
        int64_t declared = e->rank > 0 ? e->dims[e->rank - 1] : -1;
        if (declared < 0)
            continue;
        t->length = (size_t)declared;
        if (t->most > t->length)
            return cli_refuse(error, "--max-length %zu: input '%s' takes %s", t->most, e->name,
                              e->text);
    }
    t->most = t->most ? t->most : t->length ? t->length : USUAL_MOST_TOKENS;
    return t->most >= 3 ? true
                        : cli_refuse(error, "%zu tokens are too few: [CLS] and two [SEP] are added",
                                     t->most);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Lines of blanks are no samples. */
static bool find_lines(cli_dataset *d, hone_error *error) {
    text_lines *t = d->state;
    size_t cap = 0;
    if (!cli_file_read(d->path, &t->file, error))
        return false;
    const char *at = (const char *)t->file.at, *end = at + t->file.n;
    for (const char *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *last = stop;
        while (last > at && strchr(" \t\r\v\f", last[-1]) && last[-1])
            last--;
        if (last == at)
            continue;
        if (d->n_stored == cap) {
            cap = cap ? 2 * cap : 256;
            text_line *grown = realloc(t->lines, cap * sizeof *grown);
            if (!grown)
                return cli_refuse(error, "out of memory");
            t->lines = grown;
        }
        t->lines[d->n_stored++] = (text_line){at, (size_t)(last - at)};
    }
    return d->n_stored ? true : cli_refuse(error, "'%s' has no lines of text", d->path);
}

bool dataset_open_text(cli_dataset *d, uint32_t tokens, hone_error *error) {
    text_lines *t = calloc(1, sizeof *t);
    if (!t)
        return cli_refuse(error, "out of memory");
    d->state = t;
    d->reader = &text_reader;
    t->tokenizer = wordpiece_open(d->o.vocab, d->o.text_case, error);
    return t->tokenizer && find_text_inputs(d, tokens, error) && find_lengths(d, error) &&
           find_lines(d, error);
}
