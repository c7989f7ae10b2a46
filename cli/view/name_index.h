/* Numbers by name: a hash table over texts that others own. */
#ifndef HONE_CLI_NAME_INDEX_H
#define HONE_CLI_NAME_INDEX_H

#include <stdbool.h>
#include <stdint.h>

typedef struct name_index {
    struct name_entry *entries;
    uint32_t n, cap; /* cap is a power of two, or 0 */
} name_index;

/* The first number that is given for a name stays. Empty names are left out. False: no memory. */
bool name_index_add(name_index *index, const char *name, uint32_t number);
uint32_t name_index_find(const name_index *index, const char *name); /* UINT32_MAX: none */
void name_index_free(name_index *index);

#endif /* HONE_CLI_NAME_INDEX_H */
