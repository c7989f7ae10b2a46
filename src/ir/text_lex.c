/* Characters, words and strings of the textual syntax, and errors with their positions. */
#include "ir/text_int.h"

#include <stdio.h>

/* ---- errors ---------------------------------------------------------------------------------- */

/* Columns count characters, not bytes, as editors do. */
static void line_and_column(const hn_text *t, const char *at, size_t *line, size_t *column) {
    *line = 1;
    *column = 1;
    for (const char *c = t->start; c < at; c++) {
        if (*c == '\n') {
            ++*line;
            *column = 1;
        } else if (((unsigned char)*c & 0xC0) != 0x80) {
            ++*column;
        }
    }
}

static hone_status fail_at(hn_text *t, hone_status code, const char *at, const char *fmt,
                           va_list args) {
    if (!t->err || t->err->code != HONE_OK)
        return code;
    size_t line, column;
    line_and_column(t, at, &line, &column);
    hn_failv(t->err, code, fmt, args);
    hn_error_prefix(t->err, "line %zu, column %zu", line, column);
    t->err->offset = (int64_t)(at - t->start);
    return code;
}

hone_status hn_text_fail(hn_text *t, const char *at, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hone_status status = fail_at(t, HONE_E_FORMAT, at, fmt, args);
    va_end(args);
    return status;
}

static hone_status fail_depth(hn_text *t, const char *fmt, ...) HN_PRINTF(2, 3);
static hone_status fail_depth(hn_text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hone_status status = fail_at(t, HONE_E_LIMIT, t->at, fmt, args);
    va_end(args);
    return status;
}

hone_status hn_text_descend(hn_text *t) {
    if (t->depth >= HN_TEXT_MAX_DEPTH)
        return fail_depth(t, "graphs and types are nested deeper than %d levels",
                          HN_TEXT_MAX_DEPTH);
    t->depth++;
    return HONE_OK;
}

static bool is_text_letter(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_char(int c) {
    return is_text_letter(c) || (c >= '0' && c <= '9');
}

static size_t word_length(const char *at, const char *end) {
    size_t n = 0;
    while (at + n < end && is_word_char(at[n]))
        n++;
    return n;
}

/* Describes the next token for "found ...": a word, a number, a character or a byte. */
static void describe_found(hn_text *t, char *out, size_t out_bytes) {
    int c = hn_text_peek(t);
    if (c < 0) {
        snprintf(out, out_bytes, t->in_note ? "the end of the line" : "the end of the text");
        return;
    }
    size_t n = word_length(t->at, t->end);
    if (n > 0)
        snprintf(out, out_bytes, "'%.*s'", (int)HN_MIN(n, (size_t)40), t->at);
    else if (c == '"')
        snprintf(out, out_bytes, "a string");
    else if (c > 0x20 && c < 0x7F)
        snprintf(out, out_bytes, "'%c'", c);
    else
        snprintf(out, out_bytes, "byte 0x%02X", (unsigned)c);
}

hone_status hn_text_expected(hn_text *t, const char *fmt, ...) {
    char what[192], found[64];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    describe_found(t, found, sizeof(found));
    return hn_text_fail(t, t->at, "expected %s, found %s", what, found);
}

/* ---- characters and words -------------------------------------------------------------------- */

static bool is_text_space(int c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_spaces(hn_text *t) {
    while (t->at < t->end && is_text_space(*t->at))
        t->at++;
}

static void skip_line(hn_text *t) {
    while (t->at < t->end && *t->at != '\n')
        t->at++;
}

int hn_text_peek(hn_text *t) {
    for (;;) {
        skip_spaces(t);
        if (t->at == t->end)
            return -1;
        if (*t->at != '#')
            return (unsigned char)*t->at;
        skip_line(t);
    }
}

/* Does not consume the white space unless the character follows, because a note may be there. */
bool hn_text_accept(hn_text *t, char c) {
    const char *before = t->at;
    bool found = hn_text_peek(t) == (unsigned char)c;
    t->at = found ? t->at + 1 : before;
    return found;
}

hone_status hn_text_expect(hn_text *t, char c, const char *fmt, ...) {
    if (hn_text_accept(t, c))
        return HONE_OK;
    char where[160];
    va_list args;
    va_start(args, fmt);
    vsnprintf(where, sizeof(where), fmt, args);
    va_end(args);
    return hn_text_expected(t, "'%c' %s", c, where);
}

hone_status hn_text_expect_arrow(hn_text *t, const char *after) {
    if (hn_text_peek(t) != '=' || t->end - t->at < 2 || t->at[1] != '>')
        return hn_text_expected(t, "'=>' after %s", after);
    t->at += 2;
    return HONE_OK;
}

bool hn_text_peek_word(hn_text *t, hn_bytes *word) {
    if (!is_text_letter(hn_text_peek(t)))
        return false;
    *word = (hn_bytes){t->at, word_length(t->at, t->end)};
    return true;
}

bool hn_text_word(hn_text *t, hn_bytes *word) {
    if (!hn_text_peek_word(t, word))
        return false;
    t->at += word->n;
    return true;
}

bool hn_text_accept_word(hn_text *t, const char *word) {
    hn_bytes found;
    if (!hn_text_peek_word(t, &found) || found.n != strlen(word) ||
        memcmp(found.at, word, found.n) != 0)
        return false;
    t->at += found.n;
    return true;
}

/* ---- strings and names ----------------------------------------------------------------------- */

/* A backslash escapes the character after it. In notes, which must stay on one line, \n and \r are
 * line breaks. */
static char escaped_char(const hn_text *t, char c) {
    if (t->in_note && c == 'n')
        return '\n';
    if (t->in_note && c == 'r')
        return '\r';
    return c;
}

static hone_status unescape(hn_text *t, hn_bytes raw, hn_bytes *out) {
    const char *from = raw.at;
    char *to = hn_arena_alloc(t->scratch, raw.n);
    HN_TRY_PTR(to);
    size_t n = 0;
    for (uint64_t i = 0; i < raw.n; i++)
        to[n++] = from[i] == '\\' ? escaped_char(t, from[++i]) : from[i];
    *out = (hn_bytes){to, n};
    return HONE_OK;
}

hone_status hn_text_string(hn_text *t, const char *what, hn_bytes *out) {
    if (hn_text_peek(t) != '"')
        return hn_text_expected(t, "%s in quotes", what);
    const char *open = t->at, *c = open + 1;
    bool has_escape = false;
    for (; c < t->end && *c != '"'; c++) {
        if (*c == '\\') {
            has_escape = true;
            if (++c == t->end)
                break;
        }
    }
    if (c >= t->end)
        return hn_text_fail(t, open, "the string that begins here has no closing quote");
    t->at = c + 1;
    *out = (hn_bytes){open + 1, (uint64_t)(c - open - 1)};
    return has_escape ? unescape(t, *out, out) : HONE_OK;
}

hone_status hn_text_string_copy(hn_text *t, const char *what, hn_bytes *out) {
    hn_bytes view;
    HN_TRY(hn_text_string(t, what, &view));
    *out = (hn_bytes){NULL, 0};
    if (view.n == 0)
        return HONE_OK;
    void *copy = hn_arena_copy(t->model->arena, view.at, view.n);
    HN_TRY_PTR(copy);
    *out = (hn_bytes){copy, view.n};
    return HONE_OK;
}

hone_status hn_text_intern(hn_text *t, hn_bytes text, hn_str *out) {
    *out = hn_intern(t->model->names, text.at, text.n);
    HN_TRY_PTR(*out);
    return HONE_OK;
}

hone_status hn_text_string_name(hn_text *t, const char *what, hn_str *out) {
    hn_bytes text;
    HN_TRY(hn_text_string(t, what, &text));
    return hn_text_intern(t, text, out);
}

hone_status hn_text_name(hn_text *t, const char *what, hn_str *out) {
    hn_bytes text;
    if (hn_text_peek(t) == '"')
        return hn_text_string_name(t, what, out);
    if (!hn_text_word(t, &text))
        return hn_text_expected(t, "%s", what);
    return hn_text_intern(t, text, out);
}

typedef HN_VEC(char) text_chars;

static bool append_part(hn_arena *a, text_chars *to, hn_str part) {
    bool has_point = to->n > 0;
    if (part->n >= UINT32_MAX - to->n || !HN_VEC_RESERVE(a, to, part->n + 1))
        return false;
    if (has_point)
        to->at[to->n++] = '.';
    memcpy(to->at + to->n, part->s, part->n);
    to->n += part->n;
    return true;
}

/* Joined once, at the end: a prefix for every dot would take quadratic memory. */
hone_status hn_text_dotted_name(hn_text *t, const char *what, hn_str *before, hn_str *last) {
    text_chars joined = {0};
    *before = NULL;
    HN_TRY(hn_text_name(t, what, last));
    while (hn_text_accept(t, '.')) {
        HN_TRY_PTR(append_part(t->scratch, &joined, *last));
        HN_TRY(hn_text_name(t, what, last));
    }
    return joined.n > 0 ? hn_text_intern(t, (hn_bytes){joined.at, joined.n}, before) : HONE_OK;
}

/* ---- notes ----------------------------------------------------------------------------------- */

bool hn_text_note_begin(hn_text *t) {
    const size_t n_prefix = sizeof(HN_TEXT_NOTE) - 1;
    for (;;) {
        skip_spaces(t);
        if (t->at == t->end || *t->at != '#')
            return false;
        if ((size_t)(t->end - t->at) >= n_prefix && memcmp(t->at, HN_TEXT_NOTE, n_prefix) == 0)
            break;
        skip_line(t);
    }
    t->at += n_prefix;
    t->text_end = t->end;
    const char *line_end = memchr(t->at, '\n', (size_t)(t->end - t->at));
    if (line_end)
        t->end = line_end;
    t->in_note = true;
    return true;
}

hone_status hn_text_note_end(hn_text *t) {
    if (hn_text_peek(t) >= 0)
        return hn_text_expected(t, "the end of the line");
    t->end = t->text_end;
    t->in_note = false;
    return HONE_OK;
}
