/* JSON writer. */
#include "base/base.h"

#include <inttypes.h>
#include <math.h>

void hn_json_init(hn_json *j, hn_strbuf *out, bool pretty) {
    *j = (hn_json){.out = out, .pretty = pretty};
}

static void json_newline(hn_json *j) {
    if (!j->pretty)
        return;
    hn_strbuf_put(j->out, "\n", 1);
    for (int i = 0; i < j->depth; i++)
        hn_strbuf_put(j->out, "  ", 2);
}

/* Writes the separator between two items: nothing, a comma, a line break. */
static void json_separate(hn_json *j) {
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    bool *has_item = &j->has_item[j->depth];
    if (*has_item)
        hn_strbuf_put(j->out, ",", 1);
    if (j->depth > 0 || *has_item)
        json_newline(j);
    *has_item = true;
}

static void json_open(hn_json *j, const char *bracket) {
    json_separate(j);
    if (j->depth >= HN_JSON_MAX_DEPTH) {
        j->out->failed = true;
        return;
    }
    hn_strbuf_put(j->out, bracket, 1);
    j->depth++;
    j->has_item[j->depth] = false;
}

static void json_close(hn_json *j, const char *bracket) {
    if (j->depth == 0 || j->after_key) {
        j->out->failed = true;
        return;
    }
    bool is_empty = !j->has_item[j->depth];
    j->depth--;
    if (!is_empty)
        json_newline(j);
    hn_strbuf_put(j->out, bracket, 1);
}

void hn_json_object(hn_json *j) {
    json_open(j, "{");
}

void hn_json_object_end(hn_json *j) {
    json_close(j, "}");
}

void hn_json_array(hn_json *j) {
    json_open(j, "[");
}

void hn_json_array_end(hn_json *j) {
    json_close(j, "]");
}

/* Length of the UTF-8 sequence at `at`; when it is invalid, *valid is false and the length is that
 * of its longest valid prefix, at least 1. */
static size_t utf8_sequence(const unsigned char *at, size_t n, bool *valid) {
    unsigned char lead = at[0];
    size_t want = lead < 0x80                   ? 1
                  : lead >= 0xC2 && lead < 0xE0 ? 2
                  : lead >= 0xE0 && lead < 0xF0 ? 3
                  : lead >= 0xF0 && lead < 0xF5 ? 4
                                                : 0;
    /* The second byte of some leads is limited: no overlong forms, no surrogates, nothing above
     * U+10FFFF. */
    unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    size_t have = 1;
    while (have < want && have < n && at[have] >= low && at[have] <= high) {
        have++;
        low = 0x80;
        high = 0xBF;
    }
    *valid = have == want;
    return have;
}

static void json_escape(hn_strbuf *out, unsigned char c) {
    static const char special[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *found = c ? strchr(special, c) : NULL;
    if (found)
        hn_strbuf_printf(out, "\\%c", letters[found - special]);
    else
        hn_strbuf_printf(out, "\\u%04x", c);
}

static void json_quoted(hn_strbuf *out, const char *text, size_t n) {
    const unsigned char *bytes = (const unsigned char *)text;
    hn_strbuf_put(out, "\"", 1);
    size_t plain = 0; /* start of the bytes that need no escape */
    for (size_t i = 0; i < n;) {
        bool valid;
        size_t length = utf8_sequence(bytes + i, n - i, &valid);
        bool escape = bytes[i] < 0x20 || bytes[i] == 0x7F || bytes[i] == '"' || bytes[i] == '\\';
        if (escape || !valid) {
            hn_strbuf_put(out, text + plain, i - plain);
            if (escape)
                json_escape(out, bytes[i]);
            else
                hn_strbuf_put(out, "\xEF\xBF\xBD", 3);
            plain = i + length;
        }
        i += length;
    }
    if (plain < n)
        hn_strbuf_put(out, text + plain, n - plain);
    hn_strbuf_put(out, "\"", 1);
}

void hn_json_key(hn_json *j, const char *key) {
    json_separate(j);
    json_quoted(j->out, key, strlen(key));
    hn_strbuf_puts(j->out, j->pretty ? ": " : ":");
    j->after_key = true;
}

void hn_json_strn(hn_json *j, const char *text, size_t n) {
    json_separate(j);
    json_quoted(j->out, text, n);
}

void hn_json_str(hn_json *j, const char *text) {
    if (text)
        hn_json_strn(j, text, strlen(text));
    else
        hn_json_null(j);
}

void hn_json_i64(hn_json *j, int64_t v) {
    json_separate(j);
    hn_strbuf_printf(j->out, "%" PRId64, v);
}

void hn_json_u64(hn_json *j, uint64_t v) {
    json_separate(j);
    hn_strbuf_printf(j->out, "%" PRIu64, v);
}

static void json_number(hn_json *j, bool is_finite, const char *text, int n) {
    json_separate(j);
    if (is_finite)
        hn_strbuf_put(j->out, text, (size_t)n);
    else
        json_quoted(j->out, text, (size_t)n);
}

void hn_json_f64(hn_json *j, double v) {
    char text[32];
    int n = hn_format_f64(text, v);
    json_number(j, isfinite(v), text, n);
}

void hn_json_f32(hn_json *j, float v) {
    char text[32];
    int n = hn_format_f32(text, v);
    json_number(j, isfinite(v), text, n);
}

void hn_json_bool(hn_json *j, bool v) {
    json_separate(j);
    hn_strbuf_puts(j->out, v ? "true" : "false");
}

void hn_json_null(hn_json *j) {
    json_separate(j);
    hn_strbuf_puts(j->out, "null");
}
