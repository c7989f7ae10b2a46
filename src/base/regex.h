/* Regular expressions in the syntax of RE2, matched in time linear in the length of the text. */
#ifndef HN_REGEX_H
#define HN_REGEX_H

#include "base/base.h"

typedef struct hn_regex hn_regex;

/* Compiles a pattern (UTF-8) into the arena. HONE_E_INVALID: *why says what is wrong with it;
 * HONE_E_LIMIT: it is too large. */
hone_status hn_regex_compile(hn_arena *arena, hn_bytes pattern, hn_regex **out, const char **why);
/* Does the whole text match? */
bool hn_regex_matches(hn_regex *re, hn_bytes text);
/* The end of the longest match that begins at this byte of the text; false when there is none. */
bool hn_regex_longest(hn_regex *re, hn_bytes text, uint64_t begin, uint64_t *end);

#endif /* HN_REGEX_H */
