/* Upper and lower case of UTF-8 text. */
#ifndef HN_TEXT_CASE_H
#define HN_TEXT_CASE_H

#include "base/base.h"

typedef enum hn_text_case { HN_CASE_KEEP, HN_CASE_LOWER, HN_CASE_UPPER } hn_text_case;

/* Converts the letters (Latin, Greek, Cyrillic, Armenian) one by one and leaves other bytes as they
 * are. The result is in the arena, or is the text itself. Independent of the locale. */
hone_status hn_text_change_case(hn_arena *arena, hn_bytes text, hn_text_case to, hn_bytes *out);

#endif /* HN_TEXT_CASE_H */
