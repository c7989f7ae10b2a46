/* JSON files as trees of nodes. */
#ifndef HONE_CLI_JSON_TREE_H
#define HONE_CLI_JSON_TREE_H

#include "cli_value.h"

typedef enum json_kind {
    JSON_NULL,
    JSON_BOOL, /* the number is 0 or 1 */
    JSON_NUMBER,
    JSON_TEXT,
    JSON_ARRAY,
    JSON_OBJECT
} json_kind;

typedef struct json_node {
    json_kind kind;
    const char *key;  /* of a member of an object; NULL: it is none */
    const char *text; /* of a text */
    double number;
    uint32_t n, first, next; /* children, the first of them, the next one beside it; 0: none */
} json_node;

typedef struct json_tree {
    json_node *nodes; /* the root is number 0 */
    uint32_t n, cap;
    cli_buffer text; /* what the nodes point to */
} json_tree;

/* Takes the text of the file over. False with the error, which has the byte. */
bool json_tree_parse(cli_buffer *file, const char *path, json_tree *tree, hone_error *error);
void json_tree_free(json_tree *tree);
/* A member of an object; NULL: it has none of that name, or is no object. */
const json_node *json_member(const json_tree *tree, const json_node *object, const char *key);
/* The first child of a node, or the next one beside it; NULL: there is none. */
const json_node *json_first(const json_tree *tree, const json_node *parent);
const json_node *json_next(const json_tree *tree, const json_node *node);
/* A number that is a whole one, 0 or more; false: it is none. */
bool json_count(const json_node *node, uint64_t *count);

#endif /* HONE_CLI_JSON_TREE_H */
