/* Characters of UTF-8 text. */
#ifndef HONE_CLI_TEXT_UTF8_H
#define HONE_CLI_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_INVALID UINT32_C(0xfffd) /* stands for bytes that are no UTF-8 */

/* The character at *at, which is before `end`; moves on. */
uint32_t text_next(const char **at, const char *end);
/* Writes up to 4 bytes; returns how many. */
size_t text_put_utf8(uint32_t c, char out[4]);

#endif /* HONE_CLI_TEXT_UTF8_H */
