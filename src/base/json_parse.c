/* JSON texts that people may have edited: calibration caches, lists of overrides. */
#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_JSON_DEPTH = 64 };

typedef struct json_text {
    const char *at, *end;
    unsigned line;
    int depth;
    hn_arena *arena;
    hone_error *err;
} json_text;

static hone_status fail_json(json_text *t, const char *what) {
    return hn_fail(t->err, HONE_E_FORMAT, "line %u: %s", t->line, what);
}

static void skip_json_space(json_text *t) {
    for (; t->at < t->end && strchr(" \t\r\n", *t->at) && *t->at; t->at++)
        t->line += *t->at == '\n';
}

static bool take_json_char(json_text *t, char c) {
    skip_json_space(t);
    bool is_there = t->at < t->end && *t->at == c;
    t->at += is_there;
    return is_there;
}

/* ---- strings ------------------------------------------------------------------------------------ */

static bool read_hex4(const char *at, const char *end, unsigned *out) {
    if (end - at < 4)
        return false;
    *out = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF", *found = strchr(digits, at[i]);
        if (!found || !at[i])
            return false;
        unsigned digit = (unsigned)(found - digits);
        *out = *out * 16 + (digit > 15 ? digit - 6 : digit);
    }
    return true;
}

static char *put_utf8(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

/* Characters beyond the first 65,536 stand in such texts as they are, not as pairs of escapes. */
static hone_status read_json_escape(json_text *t, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = t->at < t->end ? *t->at++ : '\0';
    const char *found = c ? strchr(names, c) : NULL;
    unsigned code;
    if (found) {
        *(*to)++ = values[found - names];
    } else if (c == 'u' && read_hex4(t->at, t->end, &code) && code != 0) {
        t->at += 4;
        *to = put_utf8(*to, code);
    } else {
        return fail_json(t, "unknown escape in a string");
    }
    return HONE_OK;
}

static hone_status read_json_string(json_text *t, const char **out) {
    if (!take_json_char(t, '"'))
        return fail_json(t, "a string is missing");
    const char *close = t->at;
    while (close < t->end && *close != '"')
        close += *close == '\\' ? 2 : 1;
    char *text = hn_arena_alloc(t->arena, (size_t)(close - t->at) + 1), *to = text;
    HN_TRY_PTR(text);
    while (t->at < t->end && *t->at != '"') {
        if ((unsigned char)*t->at < 0x20)
            return fail_json(t, "a string does not end");
        if (*t->at == '\\') {
            t->at++;
            HN_TRY(read_json_escape(t, &to));
        } else {
            *to++ = *t->at++;
        }
    }
    if (!take_json_char(t, '"'))
        return fail_json(t, "a string does not end");
    *to = '\0';
    *out = text;
    return HONE_OK;
}

/* ---- values ------------------------------------------------------------------------------------- */

static hone_status read_json_value(json_text *t, hn_json_value *out);

/* Items of an array, or members of an object. */
static hone_status read_json_items(json_text *t, bool has_keys, hn_json_value *out) {
    const hn_json_value **link = &out->first;
    char close = has_keys ? '}' : ']';
    if (++t->depth > MOST_JSON_DEPTH)
        return fail_json(t, "too many levels");
    for (bool is_first = true; !take_json_char(t, close); is_first = false) {
        hn_json_value *item = HN_NEW(t->arena, hn_json_value);
        HN_TRY_PTR(item);
        if (!is_first && !take_json_char(t, ','))
            return fail_json(t, "a comma is missing");
        if (has_keys)
            HN_TRY(read_json_string(t, &item->key));
        if (has_keys && !take_json_char(t, ':'))
            return fail_json(t, "a colon is missing");
        HN_TRY(read_json_value(t, item));
        *link = item;
        link = &item->next;
    }
    t->depth--;
    return HONE_OK;
}

static bool take_json_word(json_text *t, const char *word) {
    size_t n = strlen(word);
    bool is_there = (size_t)(t->end - t->at) >= n && memcmp(t->at, word, n) == 0;
    t->at += is_there ? n : 0;
    return is_there;
}

/* Without a decimal point, which depends on the locale: "-12.5e3" is read as "-125e2". */
static hone_status read_json_number(json_text *t, double *out) {
    char digits[80];
    size_t n = 0;
    long n_fraction = 0, exponent = 0;
    bool is_fraction = false;
    const char *at = t->at;
    for (; at < t->end && n < 60 && *at && strchr("+-.0123456789", *at); at++) {
        if (*at != '.')
            digits[n++] = *at;
        n_fraction += is_fraction;
        is_fraction = is_fraction || *at == '.';
    }
    if (at < t->end && (*at == 'e' || *at == 'E')) {
        char power[16] = "";
        at++;
        for (size_t k = 0; at < t->end && k < 15 && *at && strchr("+-0123456789", *at); k++)
            power[k] = *at++;
        exponent = strtol(power, NULL, 10);
    }
    snprintf(digits + n, sizeof digits - n, "e%ld", exponent - n_fraction);
    char *end;
    *out = strtod(digits, &end);
    if (n == 0 || *end)
        return fail_json(t, "a value is missing");
    t->at = at;
    return HONE_OK;
}

static hone_status read_json_value(json_text *t, hn_json_value *out) {
    skip_json_space(t);
    if (t->at < t->end && *t->at == '"') {
        out->kind = HN_JSON_STRING;
        return read_json_string(t, &out->text);
    }
    if (take_json_char(t, '{')) {
        out->kind = HN_JSON_OBJECT;
        return read_json_items(t, true, out);
    }
    if (take_json_char(t, '[')) {
        out->kind = HN_JSON_ARRAY;
        return read_json_items(t, false, out);
    }
    out->boolean = take_json_word(t, "true");
    if (out->boolean || take_json_word(t, "false")) {
        out->kind = HN_JSON_BOOL;
        return HONE_OK;
    }
    if (take_json_word(t, "null"))
        return HONE_OK;
    out->kind = HN_JSON_NUMBER;
    return read_json_number(t, &out->number);
}

hone_status hn_json_parse(const char *text, size_t n, hn_arena *arena, const hn_json_value **out,
                          hone_error *err) {
    json_text t = {.at = text, .end = text + n, .line = 1, .arena = arena, .err = err};
    hn_json_value *value = HN_NEW(arena, hn_json_value);
    *out = value;
    HN_TRY_PTR(value);
    HN_TRY(read_json_value(&t, value));
    skip_json_space(&t);
    return t.at == t.end ? HONE_OK : fail_json(&t, "text behind the end");
}

const hn_json_value *hn_json_member(const hn_json_value *object, const char *key) {
    for (const hn_json_value *m = object->kind == HN_JSON_OBJECT ? object->first : NULL; m;
         m = m->next)
        if (strcmp(m->key, key) == 0)
            return m;
    return NULL;
}
