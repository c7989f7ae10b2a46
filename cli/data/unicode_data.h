/* Tables of Unicode's characters, made by tools/gen_unicode. */
#ifndef HONE_CLI_UNICODE_DATA_H
#define HONE_CLI_UNICODE_DATA_H

#include <stddef.h>
#include <stdint.h>

/* Pairs: how many other characters come before, how many of the kind follow each other. */
extern const uint32_t unicode_punctuation[], unicode_marks[], unicode_controls[], unicode_spaces[];
extern const size_t n_unicode_punctuation, n_unicode_marks, n_unicode_controls, n_unicode_spaces;
/* Characters that are others in lower case and without nonspacing marks. Pairs: the difference to
 * the one before, what it becomes; fours: the character, two or three others, 0. */
extern const uint32_t unicode_folds[], unicode_long_folds[];
extern const size_t n_unicode_folds, n_unicode_long_folds;

#endif /* HONE_CLI_UNICODE_DATA_H */
