/* Shared by the text printer and parser. text_print.c describes the extensions to ONNX's syntax. */
#ifndef HN_TEXT_INT_H
#define HN_TEXT_INT_H

#include "ir/ir.h"

/* Prefix of comments that carry what ONNX's syntax cannot express; other readers skip them. */
#define HN_TEXT_NOTE "#hone "
#define HN_TEXT_MAX_DEPTH HN_MAX_BLOCK_DEPTH /* nesting of graphs and types together */

/* ---- words of the syntax --------------------------------------------------------------------- */

bool hn_text_is_identifier(const char *s, size_t n);
/* The first word of a type: "float", "seq", ...: a value of that name must be quoted. */
bool hn_text_is_type_word(const char *s, size_t n);
/* "inf", "infinity", "nan" in any case. */
bool hn_text_is_float_word(const char *s, size_t n);
const char *hn_text_attr_kind_name(hn_attr_kind kind);
bool hn_text_attr_kind_from_name(hn_bytes name, hn_attr_kind *out);
/* Sub-byte types are written as whole bytes, complex ones as two numbers per element. */
uint64_t hn_text_n_literals(hn_dtype t, uint64_t n_elems, uint64_t data_bytes);

/* ---- reading --------------------------------------------------------------------------------- */

/* Names may be used before the text defines them, and outer values may be defined after an inner
 * graph that reads them. So references are recorded, and resolved when the whole graph with its
 * inner blocks has been parsed. */
typedef struct hn_text_reader {
    enum { HN_READS_INPUT, HN_READS_OUTPUT, HN_READS_VALUE_INFO, HN_READS_NOTE } kind;
    hn_id at; /* node for inputs, else block */
    uint32_t slot;
    hn_str name;
    bool is_declaration;   /* declares the value's type, possibly as unknown */
    const hn_type *type;   /* declared there, or NULL */
    const hn_extra *extra; /* notes */
    hn_str denotation;
    const hn_str *dim_denotations;
    uint32_t n_dim_denotations;
} hn_text_reader;

typedef struct hn_text {
    const char *start, *at, *end;
    const char *text_end; /* in a note: where `end` goes back to */
    bool in_note; /* between HN_TEXT_NOTE and the end of its line, which is `end` for that time */
    uint32_t depth;
    hone_error *err;
    hn_model *model;
    hn_graph *graph;   /* the one being read, with all its inner blocks */
    hn_arena *scratch; /* dies with the parser */
    HN_VEC(hn_text_reader) readers;
} hn_text;

/* text_lex.c: characters, words, strings. All skip space and comments first. */
hone_status hn_text_fail(hn_text *t, const char *at, const char *fmt, ...) HN_PRINTF(3, 4);
/* "expected <what>, found '}'" at the next character that is not white space. */
hone_status hn_text_expected(hn_text *t, const char *fmt, ...) HN_PRINTF(2, 3);
int hn_text_peek(hn_text *t); /* next character, -1 at the end */
bool hn_text_accept(hn_text *t, char c);
/* `fmt` says where: "after the inputs of node 'Relu'". */
hone_status hn_text_expect(hn_text *t, char c, const char *fmt, ...) HN_PRINTF(3, 4);
hone_status hn_text_expect_arrow(hn_text *t, const char *after);
bool hn_text_peek_word(hn_text *t, hn_bytes *word); /* an identifier follows */
bool hn_text_word(hn_text *t, hn_bytes *word);      /* the same, and consumes it */
bool hn_text_accept_word(hn_text *t, const char *word);
/* A quoted string: a view into the text or the scratch arena. */
hone_status hn_text_string(hn_text *t, const char *what, hn_bytes *out);
/* The same, copied into the model's arena, or interned. */
hone_status hn_text_string_copy(hn_text *t, const char *what, hn_bytes *out);
hone_status hn_text_string_name(hn_text *t, const char *what, hn_str *out);
hone_status hn_text_name(hn_text *t, const char *what, hn_str *out); /* identifier or string */
/* "a.b.c": the text before the last dot (NULL when there is none) and the text after it. */
hone_status hn_text_dotted_name(hn_text *t, const char *what, hn_str *before, hn_str *last);
hone_status hn_text_intern(hn_text *t, hn_bytes text, hn_str *out);
/* Moves to the next note if only white space and other comments precede it. Leave every note with
 * hn_text_note_end, which requires that the whole line was parsed. */
bool hn_text_note_begin(hn_text *t);
hone_status hn_text_note_end(hn_text *t);
hone_status hn_text_descend(hn_text *t); /* one level deeper; t->depth-- on the way back */

/* text_number.c */
typedef struct hn_literal {
    enum { HN_LITERAL_INT, HN_LITERAL_FLOAT, HN_LITERAL_HEX } kind;
    const char *at;
    size_t n;
} hn_literal;
hone_status hn_text_literal(hn_text *t, const char *what, hn_literal *out);
/* The two's complement of a number within [min, max]. */
hone_status hn_text_integer(hn_text *t, const hn_literal *l, int64_t min, uint64_t max,
                            uint64_t *out);
hone_status hn_text_i64(hn_text *t, const char *what, int64_t *out);
hone_status hn_text_f32(hn_text *t, const hn_literal *l, float *out);
hone_status hn_text_f64(hn_text *t, const hn_literal *l, double *out);

/* text_type.c */
bool hn_text_next_is_type(hn_text *t);
hone_status hn_text_type(hn_text *t, const hn_type **out);

/* text_tensor.c */
/* What follows type, name and '=' of a tensor: "{1, 2}" or external data ["location": "file"]. */
hone_status hn_text_tensor_data(hn_text *t, const hn_type *type, hn_str name,
                                const hn_tensor **out);
/* What follows the type of a tensor that is a value: [name] ['='] data. */
hone_status hn_text_tensor(hn_text *t, const hn_type *type, const hn_tensor **out);
bool hn_text_next_is_tensor_data(hn_text *t); /* after a type */
hone_status hn_text_sparse(hn_text *t, const hn_type *type,
                           const hn_sparse **out); /* after the type */

/* text_attr.c */
typedef HN_VEC(hn_attr) hn_text_attrs;
/* "<axis: int = 1, ...>" if present; inner graphs become blocks below `block`, without an owner
 * yet. */
hone_status hn_text_attr_list(hn_text *t, hn_id block, hn_text_attrs *out);
/* What follows the name of an attribute: [: kind] = value. */
hone_status hn_text_attr_rest(hn_text *t, hn_id block, hn_attr *attr);

/* text_graph.c */
/* Inputs to the closing brace of the nodes; the block exists and its name was read. */
hone_status hn_text_graph_rest(hn_text *t, hn_id block);
hone_status hn_text_function_rest(hn_text *t, hn_function *f);
hone_status hn_text_resolve(
    hn_text *t); /* all names of t->graph, after its last character was read */

/* text_node.c */
hone_status hn_text_node(hn_text *t, hn_id block);

/* text_notes.c */
hone_status hn_text_props(hn_text *t, hn_props *out);                    /* ["key": "value", ...] */
hone_status hn_text_body_notes(hn_text *t, hn_id block, hn_function *f); /* f NULL: of a graph */
hone_status hn_text_node_notes(hn_text *t, hn_id node);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct hn_text_out {
    hn_strbuf *b;
    const hn_model *model;
    const hn_graph *graph; /* the one being printed */
    uint64_t max_elems;
    uint64_t n_left_out; /* elements cut from the line being printed */
    int indent;
    bool in_note; /* strings must stay on the line */
} hn_text_out;

/* text_print_value.c */
void hn_text_put_string(hn_text_out *o, const char *s, uint64_t n); /* quoted */
void hn_text_put_str(hn_text_out *o, hn_str s);                     /* quoted */
void hn_text_put_word(hn_text_out *o, hn_str s); /* quoted unless an identifier */
void hn_text_put_name(hn_text_out *o,
                      hn_str s); /* the same, and quoted where a type would be accepted, too */
void hn_text_put_dotted(hn_text_out *o,
                        hn_str s); /* identifiers with points between, else quoted */
void hn_text_put_f32(hn_text_out *o, float v);
void hn_text_put_type(hn_text_out *o, const hn_type *type);
/* "float[2] name" and then " = {..}"; without a name "float[2] {..}". */
void hn_text_put_tensor(hn_text_out *o, const hn_tensor *t, hn_str name);
void hn_text_put_sparse(hn_text_out *o, const hn_sparse *s);

/* text_print_attr.c */
void hn_text_put_attr(hn_text_out *o, const hn_attr *a);

/* text_print_note.c */
void hn_text_put_props(hn_text_out *o, const hn_props *props);
void hn_text_put_body_notes(hn_text_out *o, hn_id block, const hn_function *f);
void hn_text_put_node_notes(hn_text_out *o, const hn_node *node);

/* text_print.c */
void hn_text_put_block(hn_text_out *o, hn_id block);
void hn_text_put_indent(hn_text_out *o);
void hn_text_end_line(hn_text_out *o);
/* True when ONNX's syntax can express this name of a graph attribute. */
bool hn_text_is_plain_graph_name(hn_str name);

#endif /* HN_TEXT_INT_H */
