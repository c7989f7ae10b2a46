#include "data/text_chars.h"

#include <stdlib.h>
#include <string.h>

#include "data/text_utf8.h"
#include "data/unicode_data.h"

enum { N_CHARACTERS = 0x110000, FIRST_IN_TABLES = 0x80 };

typedef struct char_fold {
    uint32_t from, to;
} char_fold;

struct text_chars {
    unsigned char kinds[N_CHARACTERS];
    size_t n_folds;
    char_fold folds[]; /* sorted */
};

/* ---- making ---------------------------------------------------------------------------------- */

static void mark_range(text_chars *t, uint32_t first, uint32_t last, unsigned kind) {
    for (uint32_t c = first; c <= last; c++)
        t->kinds[c] |= (unsigned char)kind;
}

static void mark_runs(text_chars *t, const uint32_t *runs, size_t n, unsigned kind) {
    uint32_t at = FIRST_IN_TABLES;
    for (size_t i = 0; i + 1 < n; i += 2) {
        at += runs[i];
        mark_range(t, at, at + runs[i + 1] - 1, kind);
        at += runs[i + 1];
    }
}

static void mark_ascii(text_chars *t) {
    mark_range(t, 0, 0x1f, TEXT_CONTROL);
    t->kinds[0x7f] = TEXT_CONTROL;
    for (const char *c = "\t\n\r "; *c; c++)
        t->kinds[(unsigned char)*c] = TEXT_SPACE;
    mark_range(t, '!', '/', TEXT_PUNCTUATION);
    mark_range(t, ':', '@', TEXT_PUNCTUATION);
    mark_range(t, '[', '`', TEXT_PUNCTUATION);
    mark_range(t, '{', '~', TEXT_PUNCTUATION);
}

text_chars *text_chars_new(void) {
    size_t n_folds = n_unicode_folds / 2;
    text_chars *t = calloc(1, sizeof *t + n_folds * sizeof *t->folds);
    if (!t)
        return NULL;
    mark_ascii(t);
    mark_runs(t, unicode_punctuation, n_unicode_punctuation, TEXT_PUNCTUATION);
    mark_runs(t, unicode_marks, n_unicode_marks, TEXT_MARK);
    mark_runs(t, unicode_controls, n_unicode_controls, TEXT_CONTROL);
    mark_runs(t, unicode_spaces, n_unicode_spaces, TEXT_SPACE);
    t->kinds[TEXT_INVALID] = TEXT_CONTROL;
    uint32_t from = FIRST_IN_TABLES;
    for (; t->n_folds < n_folds; t->n_folds++) {
        from += unicode_folds[2 * t->n_folds];
        t->folds[t->n_folds] = (char_fold){from, unicode_folds[2 * t->n_folds + 1]};
    }
    return t;
}

void text_chars_free(text_chars *t) {
    free(t);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Long ranges are not worth marks. */
static unsigned kind_by_range(uint32_t c) {
    static const struct {
        uint32_t first, last;
        unsigned kind;
    } ranges[] = {
        {0x3400, 0x4dbf, TEXT_IDEOGRAPH},   {0x4e00, 0x9fff, TEXT_IDEOGRAPH},
        {0xe000, 0xf8ff, TEXT_CONTROL},     {0xf900, 0xfaff, TEXT_IDEOGRAPH},
        {0x20000, 0x2a6df, TEXT_IDEOGRAPH}, {0x2a700, 0x2ceaf, TEXT_IDEOGRAPH},
        {0x2f800, 0x2fa1f, TEXT_IDEOGRAPH}, {0xf0000, 0x10ffff, TEXT_CONTROL},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].first && c <= ranges[i].last)
            return ranges[i].kind;
    return 0;
}

unsigned text_kind(const text_chars *t, uint32_t c) {
    if (c >= N_CHARACTERS)
        return TEXT_CONTROL;
    return c < 0x3400 ? t->kinds[c] : t->kinds[c] | kind_by_range(c);
}

/* Syllables of Hangul are decomposed by arithmetic. */
static size_t fold_hangul(uint32_t c, uint32_t out[3]) {
    enum { SYLLABLES = 0xac00, LEADS = 0x1100, VOWELS = 0x1161, TAILS = 0x11a7 };
    enum { N_VOWELS = 21, N_TAILS = 28 };
    uint32_t i = c - SYLLABLES, tail = i % N_TAILS;
    out[0] = LEADS + i / (N_VOWELS * N_TAILS);
    out[1] = VOWELS + i / N_TAILS % N_VOWELS;
    out[2] = TAILS + tail;
    return tail ? 3 : 2;
}

static size_t fold_long(uint32_t c, uint32_t out[3]) {
    for (size_t i = 0; i < n_unicode_long_folds; i += 4)
        if (unicode_long_folds[i] == c) {
            memcpy(out, &unicode_long_folds[i + 1], 3 * sizeof *out);
            return out[2] ? 3 : 2;
        }
    out[0] = c;
    return 1;
}

static int by_source(const void *key, const void *fold) {
    uint32_t c = *(const uint32_t *)key, from = ((const char_fold *)fold)->from;
    return c < from ? -1 : c > from;
}

size_t text_fold(const text_chars *t, uint32_t c, uint32_t out[3]) {
    out[0] = c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
    if (c < FIRST_IN_TABLES)
        return 1;
    if (text_kind(t, c) & TEXT_MARK)
        return 0;
    if (c >= 0xac00 && c <= 0xd7a3)
        return fold_hangul(c, out);
    const char_fold *fold = bsearch(&c, t->folds, t->n_folds, sizeof *fold, by_source);
    if (!fold)
        return fold_long(c, out);
    out[0] = fold->to;
    return 1;
}
