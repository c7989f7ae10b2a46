#include "data/wordpiece.h"

#include <stdlib.h>
#include <string.h>

#include "data/text_chars.h"
#include "data/text_utf8.h"

enum { MOST_WORD_CHARS = 100, WORD_BYTES = 4 * MOST_WORD_CHARS };

typedef struct vocabulary_slot {
    const char *token; /* NULL: free */
    uint32_t n_bytes;
    int32_t number;
} vocabulary_slot;

struct wordpiece {
    cli_buffer file;
    vocabulary_slot *slots; /* open addressing, a power of two */
    size_t n_slots, longest;
    bool is_lower;
    wordpiece_specials specials;
    text_chars *chars;
};

/* ---- vocabulary ------------------------------------------------------------------------------ */

static uint64_t token_hash(const char *prefix, const char *token, size_t n) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *prefix; prefix++)
        hash = (hash ^ (unsigned char)*prefix) * UINT64_C(0x100000001b3);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)token[i]) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* The place of prefix and token: taken by it, or free. */
static vocabulary_slot *find_slot(const wordpiece *w, const char *prefix, const char *token,
                                  size_t n) {
    size_t mask = w->n_slots - 1, at = (size_t)token_hash(prefix, token, n) & mask,
           n_prefix = strlen(prefix);
    for (;; at = (at + 1) & mask) {
        vocabulary_slot *s = &w->slots[at];
        if (!s->token || (s->n_bytes == n_prefix + n && memcmp(s->token, prefix, n_prefix) == 0 &&
                          memcmp(s->token + n_prefix, token, n) == 0))
            return s;
    }
}

static int32_t token_number(const wordpiece *w, const char *prefix, const char *token, size_t n) {
    if (n > w->longest)
        return -1;
    const vocabulary_slot *s = find_slot(w, prefix, token, n);
    return s->token ? s->number : -1;
}

static bool has_capital(const char *token, size_t n) {
    for (size_t i = 0; i < n && token[0] != '['; i++)
        if (token[i] >= 'A' && token[i] <= 'Z')
            return true;
    return false;
}

/* The line number is the number of the token; of equal ones the last one counts. */
static void add_tokens(wordpiece *w, bool *has_capitals) {
    const char *line = (const char *)w->file.at, *end = line + w->file.n;
    for (int32_t number = 0; line < end; number++) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        size_t n = (size_t)(stop - line);
        n -= n && line[n - 1] == '\r';
        *has_capitals |= has_capital(line, n);
        *find_slot(w, "", line, n) = (vocabulary_slot){line, (uint32_t)n, number};
        w->longest = n > w->longest ? n : w->longest;
        line = stop + 1;
    }
}

static bool read_vocabulary(wordpiece *w, const char *path, bool *has_capitals, hone_error *error) {
    size_t n_lines = 1;
    if (!cli_file_read(path, &w->file, error))
        return false;
    for (size_t i = 0; i < w->file.n; i++)
        n_lines += w->file.at[i] == '\n';
    if (w->file.n > INT32_MAX)
        return cli_refuse(error, "'%s' is too large for a vocabulary", path);
    for (w->n_slots = 16; w->n_slots < 2 * n_lines;)
        w->n_slots *= 2;
    w->slots = calloc(w->n_slots, sizeof *w->slots);
    w->chars = text_chars_new();
    if (!w->slots || !w->chars)
        return cli_refuse(error, "out of memory");
    add_tokens(w, has_capitals);
    w->specials = (wordpiece_specials){.unknown = token_number(w, "", "[UNK]", 5),
                                       .begin = token_number(w, "", "[CLS]", 5),
                                       .separator = token_number(w, "", "[SEP]", 5),
                                       .pad = token_number(w, "", "[PAD]", 5),
                                       .mask = token_number(w, "", "[MASK]", 6)};
    const wordpiece_specials *s = &w->specials;
    return s->unknown >= 0 && s->begin >= 0 && s->separator >= 0
               ? true
               : cli_refuse(error,
                            "'%s' is no WordPiece vocabulary: one of the lines [UNK], [CLS] and "
                            "[SEP] is missing",
                            path);
}

wordpiece *wordpiece_open(const char *path, const char *text_case, hone_error *error) {
    bool has_capitals = false, is_lower = text_case && strcmp(text_case, "lower") == 0;
    if (text_case && !is_lower && strcmp(text_case, "keep") != 0) {
        cli_refuse(error, "--text-case %s: write lower or keep", text_case);
        return NULL;
    }
    wordpiece *w = calloc(1, sizeof *w);
    if (!w) {
        cli_refuse(error, "out of memory");
        return NULL;
    }
    if (!read_vocabulary(w, path, &has_capitals, error)) {
        wordpiece_close(w);
        return NULL;
    }
    w->is_lower = text_case ? is_lower : !has_capitals;
    return w;
}

void wordpiece_close(wordpiece *w) {
    if (!w)
        return;
    cli_buffer_free(&w->file);
    text_chars_free(w->chars);
    free(w->slots);
    free(w);
}

const wordpiece_specials *wordpiece_special_tokens(const wordpiece *w) {
    return &w->specials;
}

/* ---- words to tokens ------------------------------------------------------------------------- */

typedef struct text_splitter {
    const wordpiece *w;
    size_t n_tokens, most;
    cli_buffer *tokens;
    size_t n_chars, n_bytes; /* of the word that has begun; it may be longer than what is kept */
    char word[WORD_BYTES];
} text_splitter;

static void put_token(text_splitter *s, int32_t number) {
    if (s->n_tokens++ < s->most)
        cli_buffer_add(s->tokens, &number, sizeof number);
}

/* The longest token that the word begins with, then the longest of the rest with "##" before it.
 * Where there is none, the whole word is unknown. */
static void end_word(text_splitter *s) {
    int32_t pieces[WORD_BYTES];
    size_t n_pieces = 0, begin = 0, n_bytes = s->n_bytes;
    bool is_known = s->n_chars <= MOST_WORD_CHARS;
    if (s->n_chars == 0)
        return;
    s->n_chars = s->n_bytes = 0;
    while (is_known && begin < n_bytes) {
        size_t end = n_bytes;
        int32_t number = -1;
        for (; end > begin; end--) {
            if (end < n_bytes && ((unsigned char)s->word[end] & 0xc0) == 0x80)
                continue; /* inside a character */
            number = token_number(s->w, begin ? "##" : "", s->word + begin, end - begin);
            if (number >= 0)
                break;
        }
        is_known = number >= 0;
        pieces[n_pieces++] = number;
        begin = end;
    }
    if (!is_known)
        put_token(s, s->w->specials.unknown);
    for (size_t i = 0; is_known && i < n_pieces; i++)
        put_token(s, pieces[i]);
}

static void add_to_word(text_splitter *s, uint32_t c) {
    char bytes[4];
    size_t n = text_put_utf8(c, bytes);
    if (s->n_chars++ < MOST_WORD_CHARS) {
        memcpy(s->word + s->n_bytes, bytes, n);
        s->n_bytes += n;
    }
}

static void add_char(text_splitter *s, uint32_t c) {
    bool is_alone = text_kind(s->w->chars, c) & TEXT_PUNCTUATION;
    if (is_alone)
        end_word(s);
    add_to_word(s, c);
    if (is_alone)
        end_word(s);
}

/* Special tokens may be written in the text. */
static bool take_special(text_splitter *s, const char **at, const char *end) {
    static const char *const names[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
    for (size_t i = 0; **at == '[' && i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if ((size_t)(end - *at) < n || memcmp(*at, names[i], n) != 0)
            continue;
        int32_t number = token_number(s->w, "", names[i], n);
        if (number < 0)
            return false;
        end_word(s);
        put_token(s, number);
        *at += n;
        return true;
    }
    return false;
}

size_t wordpiece_split(const wordpiece *w, const char *text, size_t n_bytes, size_t most,
                       cli_buffer *tokens) {
    text_splitter s = {.w = w, .most = most, .tokens = tokens};
    const char *end = text + n_bytes;
    while (text < end) {
        if (take_special(&s, &text, end))
            continue;
        uint32_t c = text_next(&text, end), folded[3] = {c};
        unsigned kind = text_kind(w->chars, c);
        if (kind & TEXT_CONTROL)
            continue;
        if (kind & (TEXT_SPACE | TEXT_IDEOGRAPH))
            end_word(&s);
        size_t n = kind & TEXT_SPACE ? 0 : w->is_lower ? text_fold(w->chars, c, folded) : 1;
        for (size_t i = 0; i < n; i++)
            add_char(&s, folded[i]);
        if (kind & TEXT_IDEOGRAPH)
            end_word(&s);
    }
    end_word(&s);
    return s.n_tokens;
}
