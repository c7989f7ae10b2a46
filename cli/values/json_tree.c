#include "values/json_tree.h"

#include <stdlib.h>
#include <string.h>

#include "data/text_utf8.h"

enum { MOST_JSON_DEPTH = 64 };

typedef struct tree_reader {
    json_tree *tree;
    char *at; /* the text ends with a zero byte; texts are unescaped where they stand */
    int depth;
    const char *problem;
} tree_reader;

static bool tree_stop(tree_reader *r, const char *problem) {
    if (!r->problem)
        r->problem = problem;
    return false;
}

static void skip_json_blanks(tree_reader *r) {
    r->at += strspn(r->at, " \t\r\n");
}

static bool take_json_mark(tree_reader *r, char mark) {
    skip_json_blanks(r);
    if (*r->at != mark)
        return false;
    r->at++;
    return true;
}

/* ---- texts ----------------------------------------------------------------------------------- */

static bool take_json_hex(tree_reader *r, uint32_t *c) {
    *c = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        const char *digits = "0123456789abcdefABCDEF", *digit = strchr(digits, *r->at);
        if (!*r->at || !digit)
            return tree_stop(r, "a \\u escape has four hexadecimal digits");
        uint32_t value = (uint32_t)(digit - digits);
        *c = *c << 4 | (value > 15 ? value - 6 : value);
    }
    return true;
}

/* Two escapes of surrogates are one character. */
static bool take_unicode(tree_reader *r, uint32_t *c) {
    uint32_t low;
    if (!take_json_hex(r, c))
        return false;
    if ((*c & 0xfffffc00) != 0xd800 || r->at[0] != '\\' || r->at[1] != 'u') {
        *c = (*c & 0xfffff800) == 0xd800 ? TEXT_INVALID : *c;
        return true;
    }
    r->at += 2;
    if (!take_json_hex(r, &low))
        return false;
    *c = (low & 0xfffffc00) == 0xdc00 ? 0x10000 + ((*c & 0x3ff) << 10) + (low & 0x3ff)
                                      : TEXT_INVALID;
    return true;
}

/* The text after the opening quote; it becomes no longer by unescaping. */
static bool take_text(tree_reader *r, const char **text) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    char *out = r->at;
    uint32_t c;
    *text = out;
    while (*r->at && *r->at != '"') {
        if (*r->at != '\\') {
            *out++ = *r->at++;
            continue;
        }
        r->at++;
        const char *escape = *r->at ? strchr(escapes, *r->at) : NULL;
        if (escape) {
            *out++ = meanings[escape - escapes];
            r->at++;
        } else if (*r->at != 'u') {
            return tree_stop(r, "an unknown escape in a text");
        } else {
            r->at++;
            if (!take_unicode(r, &c))
                return false;
            out += text_put_utf8(c, out);
        }
    }
    if (!*r->at)
        return tree_stop(r, "a text does not end");
    r->at++;
    *out = '\0';
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* UINT32_MAX: out of memory. */
static uint32_t new_json_node(tree_reader *r) {
    json_tree *t = r->tree;
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? 2 * t->cap : 64;
        json_node *grown = cap > UINT32_MAX / 2 ? NULL : realloc(t->nodes, cap * sizeof *grown);
        if (!grown) {
            tree_stop(r, "out of memory");
            return UINT32_MAX;
        }
        t->nodes = grown;
        t->cap = cap;
    }
    t->nodes[t->n] = (json_node){0};
    return t->n++;
}

static bool take_literal(tree_reader *r, json_node *node) {
    static const struct {
        const char *word;
        json_kind kind;
        double number;
    } words[] = {{"true", JSON_BOOL, 1}, {"false", JSON_BOOL, 0}, {"null", JSON_NULL, 0}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if (strncmp(r->at, words[i].word, n) == 0) {
            node->kind = words[i].kind;
            node->number = words[i].number;
            r->at += n;
            return true;
        }
    }
    size_t n = strspn(r->at, "+-0123456789.eE");
    char *end;
    node->kind = JSON_NUMBER;
    node->number = strtod(r->at, &end);
    if (n == 0 || end != r->at + n)
        return tree_stop(r, "a number, a text, an array or an object belongs here");
    r->at = end;
    return true;
}

static bool take_value(tree_reader *r, uint32_t node);

static bool take_children(tree_reader *r, uint32_t parent, char end) {
    bool is_object = end == '}';
    uint32_t last = 0;
    if (r->depth == MOST_JSON_DEPTH)
        return tree_stop(r, "arrays and objects are nested too deep");
    r->depth++;
    if (!take_json_mark(r, end)) {
        do {
            const char *key = NULL;
            if (is_object &&
                (!take_json_mark(r, '"') || !take_text(r, &key) || !take_json_mark(r, ':')))
                return tree_stop(r, "a member \"name\": is missing");
            uint32_t child = new_json_node(r);
            if (child == UINT32_MAX || !take_value(r, child))
                return false;
            json_node *nodes = r->tree->nodes;
            nodes[child].key = key;
            *(last ? &nodes[last].next : &nodes[parent].first) = child;
            nodes[parent].n++;
            last = child;
        } while (take_json_mark(r, ','));
        if (!take_json_mark(r, end))
            return tree_stop(r, is_object ? "a comma or } is missing" : "a comma or ] is missing");
    }
    r->depth--;
    return true;
}

static bool take_value(tree_reader *r, uint32_t node) {
    json_node *nodes = r->tree->nodes;
    if (take_json_mark(r, '{') || take_json_mark(r, '[')) {
        bool is_object = r->at[-1] == '{';
        nodes[node].kind = is_object ? JSON_OBJECT : JSON_ARRAY;
        return take_children(r, node, is_object ? '}' : ']');
    }
    if (!take_json_mark(r, '"'))
        return take_literal(r, &nodes[node]);
    nodes[node].kind = JSON_TEXT;
    return take_text(r, &nodes[node].text);
}

/* ---- all ------------------------------------------------------------------------------------- */

bool json_tree_parse(cli_buffer *file, const char *path, json_tree *tree, hone_error *error) {
    cli_buffer_add(file, "", 1);
    *tree = (json_tree){.text = *file};
    *file = (cli_buffer){0};
    if (tree->text.failed) {
        json_tree_free(tree);
        return cli_refuse(error, "out of memory");
    }
    tree_reader r = {.tree = tree, .at = (char *)tree->text.at};
    uint32_t root = new_json_node(&r);
    bool ok = root != UINT32_MAX && take_value(&r, root);
    skip_json_blanks(&r);
    size_t byte = (size_t)(r.at - (char *)tree->text.at);
    if (ok && byte != tree->text.n - 1)
        ok = tree_stop(&r, "something follows the end");
    if (!ok) {
        cli_refuse(error, "'%s', byte %zu: %s", path, byte, r.problem);
        json_tree_free(tree);
    }
    return ok;
}

void json_tree_free(json_tree *tree) {
    free(tree->nodes);
    cli_buffer_free(&tree->text);
    *tree = (json_tree){0};
}

const json_node *json_first(const json_tree *tree, const json_node *parent) {
    return parent->first ? &tree->nodes[parent->first] : NULL;
}

const json_node *json_next(const json_tree *tree, const json_node *node) {
    return node->next ? &tree->nodes[node->next] : NULL;
}

const json_node *json_member(const json_tree *tree, const json_node *object, const char *key) {
    if (!object || object->kind != JSON_OBJECT)
        return NULL;
    for (uint32_t i = object->first; i; i = tree->nodes[i].next)
        if (strcmp(tree->nodes[i].key, key) == 0)
            return &tree->nodes[i];
    return NULL;
}

bool json_count(const json_node *node, uint64_t *count) {
    bool ok = node && node->kind == JSON_NUMBER && node->number >= 0 && node->number < 0x1p53;
    if (ok)
        *count = (uint64_t)node->number;
    return ok && (double)*count == node->number;
}
