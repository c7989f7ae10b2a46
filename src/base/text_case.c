/* Upper and lower case without a locale. */
#include "base/text_case.h"

/* Upper-case letters first .. last; their lower-case letters are `shift` higher. With a step of 2
 * both alternate. */
typedef struct case_range {
    uint32_t first, last, shift, step;
} case_range;

static const case_range case_ranges[] = {
    {'A', 'Z', 32, 1},       {0xC0, 0xD6, 32, 1},    {0xD8, 0xDE, 32, 1}, /* Latin-1 */
    {0x100, 0x12E, 1, 2},    {0x132, 0x136, 1, 2},   {0x139, 0x147, 1, 2},  {0x14A, 0x176, 1, 2},
    {0x179, 0x17D, 1, 2},    {0x1CD, 0x1DB, 1, 2},   {0x1DE, 0x1EE, 1, 2},  {0x1F8, 0x21E, 1, 2},
    {0x222, 0x232, 1, 2}, /* Latin extended */
    {0x388, 0x38A, 37, 1},   {0x391, 0x3A1, 32, 1},  {0x3A3, 0x3AB, 32, 1}, {0x386, 0x386, 38, 1},
    {0x38E, 0x38F, 63, 1},   {0x38C, 0x38C, 64, 1},  {0x3D8, 0x3EE, 1, 2}, /* Greek */
    {0x400, 0x40F, 80, 1},   {0x410, 0x42F, 32, 1},  {0x460, 0x480, 1, 2},  {0x48A, 0x4BE, 1, 2},
    {0x4C1, 0x4CD, 1, 2},    {0x4D0, 0x52E, 1, 2},   /* Cyrillic */
    {0x531, 0x556, 48, 1},                           /* Armenian */
    {0x1E00, 0x1E94, 1, 2},  {0x1EA0, 0x1EFE, 1, 2}, /* Latin extended additional */
    {0xFF21, 0xFF3A, 32, 1},                         /* full width */
};

/* All pairs have UTF-8 forms of one length, so a text keeps its size; the two exceptions of Unicode
 * are not in the table. */
static uint32_t changed_case(uint32_t code, hn_text_case to) {
    for (size_t i = 0; i < HN_COUNT(case_ranges); i++) {
        const case_range *r = &case_ranges[i];
        uint32_t from = to == HN_CASE_LOWER ? r->first : r->first + r->shift;
        if (code >= from && code - from <= r->last - r->first && (code - from) % r->step == 0)
            return to == HN_CASE_LOWER ? code + r->shift : code - r->shift;
    }
    return code;
}

/* Converts the character at s, of which n bytes remain; returns its length in bytes. */
static size_t change_one(uint8_t *s, size_t n, hn_text_case to) {
    bool is_two = n >= 2 && (s[0] & 0xE0) == 0xC0 && (s[1] & 0xC0) == 0x80;
    bool is_three =
        n >= 3 && (s[0] & 0xF0) == 0xE0 && (s[1] & 0xC0) == 0x80 && (s[2] & 0xC0) == 0x80;
    if (is_two) {
        uint32_t code = changed_case((s[0] & 31u) << 6 | (s[1] & 63u), to);
        s[0] = (uint8_t)(0xC0 | code >> 6);
        s[1] = (uint8_t)(0x80 | (code & 63));
        return 2;
    }
    if (is_three) {
        uint32_t code = changed_case((s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u), to);
        s[0] = (uint8_t)(0xE0 | code >> 12);
        s[1] = (uint8_t)(0x80 | (code >> 6 & 63));
        s[2] = (uint8_t)(0x80 | (code & 63));
        return 3;
    }
    if (s[0] < 0x80)
        s[0] = (uint8_t)changed_case(s[0], to);
    return 1;
}

hone_status hn_text_change_case(hn_arena *arena, hn_bytes text, hn_text_case to, hn_bytes *out) {
    *out = text;
    if (to == HN_CASE_KEEP || text.n == 0)
        return HONE_OK;
    uint8_t *copy = hn_arena_copy(arena, text.at, (size_t)text.n);
    HN_TRY_PTR(copy);
    for (size_t i = 0; i < text.n;)
        i += change_one(copy + i, (size_t)text.n - i, to);
    *out = (hn_bytes){copy, text.n};
    return HONE_OK;
}
