/* Inside ops/: upper and lower case of UTF-8 text. */
#ifndef HN_TEXT_CASE_H
#define HN_TEXT_CASE_H

#include "base/base.h"

typedef enum hn_text_case { HN_CASE_KEEP, HN_CASE_LOWER, HN_CASE_UPPER } hn_text_case;

/* The text with its letters changed one by one (Latin, Greek, Cyrillic, Armenian); other bytes
 * stay. The result lies in the arena, or is the text itself. Independent of the locale. */
hone_status hn_text_change_case(hn_arena *arena, hn_bytes text, hn_text_case to, hn_bytes *out);

#endif /* HN_TEXT_CASE_H */
