/* Kinds of characters, and characters in lower case without accents, as BERT's tokenizer has them.
 */
#ifndef HONE_CLI_TEXT_CHARS_H
#define HONE_CLI_TEXT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { /* bits of a kind */
       TEXT_PUNCTUATION = 1,
       TEXT_MARK = 2,    /* nonspacing */
       TEXT_CONTROL = 4, /* left out */
       TEXT_SPACE = 8,
       TEXT_IDEOGRAPH = 16 /* a word of its own */
};

typedef struct text_chars text_chars;
text_chars *text_chars_new(void); /* NULL: out of memory */
void text_chars_free(text_chars *t);
unsigned text_kind(const text_chars *t, uint32_t c);
/* The character in lower case and without accents: up to 3; returns how many. */
size_t text_fold(const text_chars *t, uint32_t c, uint32_t out[3]);

#endif /* HONE_CLI_TEXT_CHARS_H */
