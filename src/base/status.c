/* Status texts and the error record. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>

const char *hone_status_text(hone_status status) {
    static const char *const texts[] = {
#define STATUS_TEXT(code, text) text,
        HONE_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    };
    size_t i = (size_t)status;
    return i < HN_COUNT(texts) ? texts[i] : "unknown status";
}

void hn_error_clear(hone_error *err) {
    if (!err)
        return;
    memset(err, 0, sizeof(*err));
    err->offset = -1;
}

/* Truncation inside a UTF-8 sequence would make the whole message invalid UTF-8. */
static void drop_partial_utf8(char *text) {
    size_t n = strlen(text);
    size_t lead = n;
    while (lead > 0 && n - lead < 3 && ((unsigned char)text[lead - 1] & 0xC0) == 0x80)
        lead--;
    if (lead == 0)
        return;
    unsigned char first = (unsigned char)text[lead - 1];
    size_t want = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    if (n - (lead - 1) < want)
        text[lead - 1] = '\0';
}

/* Names come from the model file; they must not send control codes to the terminal. */
static void hide_control_characters(char *text) {
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = '?';
}

static void format_message(char *out, size_t cap, const char *fmt, va_list args) {
    int n = vsnprintf(out, cap, fmt, args);
    if (n < 0)
        out[0] = '\0';
    else if ((size_t)n >= cap)
        drop_partial_utf8(out);
    hide_control_characters(out);
}

hone_status hn_failv(hone_error *err, hone_status code, const char *fmt, va_list args) {
    if (err && err->code == HONE_OK) {
        err->code = code;
        format_message(err->message, sizeof(err->message), fmt, args);
    }
    return code;
}

hone_status hn_fail(hone_error *err, hone_status code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    hn_failv(err, code, fmt, args);
    va_end(args);
    return code;
}

hone_status hn_fail_errno(hone_error *err, const char *fmt, ...) {
    int number = errno;
    char what[sizeof(err->message)];
    va_list args;
    va_start(args, fmt);
    format_message(what, sizeof(what), fmt, args);
    va_end(args);
    return hn_fail(err, number == ENOMEM ? HONE_E_NOMEM : HONE_E_IO, "%s: %s", what,
                   strerror(number));
}

void hn_error_prefix(hone_error *err, const char *fmt, ...) {
    if (!err || err->code == HONE_OK)
        return;
    /* The cause matters more than the context: however long the context is, half of the buffer is
     * kept for the message. */
    char context[sizeof(err->message) / 2];
    va_list args;
    va_start(args, fmt);
    format_message(context, sizeof(context), fmt, args);
    va_end(args);

    size_t n_context = strlen(context);
    size_t room = sizeof(err->message) - n_context - sizeof(": ");
    size_t n_message = strlen(err->message);
    bool cut = n_message > room;
    if (cut)
        n_message = room;
    memmove(err->message + n_context + 2, err->message, n_message);
    memcpy(err->message, context, n_context);
    memcpy(err->message + n_context, ": ", 2);
    err->message[n_context + 2 + n_message] = '\0';
    if (cut)
        drop_partial_utf8(err->message);
}

hone_status hn_status_from_outside(hone_status status) {
    return status >= HONE_OK && status <= HONE_E_INTERNAL ? status : HONE_E_INTERNAL;
}

hone_status hn_error_complete(hone_error *err, hone_status status) {
    return status == HONE_OK ? status : hn_fail(err, status, "%s", hone_status_text(status));
}
