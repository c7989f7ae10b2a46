/* Splits text into tokens of a vocabulary, as BERT's tokenizers do: basic tokenization, then
 * WordPiece. */
#ifndef HONE_CLI_WORDPIECE_H
#define HONE_CLI_WORDPIECE_H

#include "cli_value.h"

typedef struct wordpiece wordpiece;
/* Reads a vocabulary of one token per line. text_case is "lower", "keep", or NULL: lower case
 * unless the vocabulary has words with capital letters. NULL with the error. */
wordpiece *wordpiece_open(const char *path, const char *text_case, hone_error *error);
void wordpiece_close(wordpiece *w); /* NULL is fine */

/* Special tokens: -1 when the vocabulary has none. */
typedef struct wordpiece_specials {
    int32_t unknown, begin, separator, pad, mask;
} wordpiece_specials;
const wordpiece_specials *wordpiece_special_tokens(const wordpiece *w);

/* Appends numbers of tokens as int32_t, at most `most`, and returns how many the text has.
 * Thread-safe. */
size_t wordpiece_split(const wordpiece *w, const char *text, size_t n_bytes, size_t most,
                       cli_buffer *tokens);

#endif /* HONE_CLI_WORDPIECE_H */
