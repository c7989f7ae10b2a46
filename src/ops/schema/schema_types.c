/* Reads the types column of ops.def: which types a parameter accepts, by test and by name. */
#include "ops/ops.h"

#include "ops/schema/schema_int.h"

static const struct {
    const char *name;
    const char *members;
} typesets[] = {
#define HN_TYPESET(name, members) {#name, members},
#include "ops/schema/typesets.def"
#undef HN_TYPESET
};

static const char *typeset_members(hn_span name) {
    for (size_t i = 0; i < HN_COUNT(typesets); i++)
        if (hn_span_is(name, typesets[i].name))
            return typesets[i].members;
    return NULL;
}

bool hn_typeset_exists(hn_span name) {
    return typeset_members(name) != NULL;
}

/* The members of "$name", separated by commas; any other term is its only member. */
static hn_span members_of(hn_span term) {
    if (term.n == 0 || term.at[0] != '$')
        return term;
    const char *members = typeset_members((hn_span){term.at + 1, term.n - 1});
    return hn_span_z(members ? members : "");
}

/* The list that the types column has for the variable of a parameter; any other type is its own
 * list. */
static hn_span terms_of(const hn_op *op, const hn_param *p) {
    hn_span wanted = {p->type, p->type_len}, rest = hn_span_z(hn_op_text(op, HN_OP_TYPES)), group;
    while (hn_span_cut(&rest, ';', &group)) {
        hn_span names, name, terms = group;
        hn_span_cut(&terms, '=', &names);
        while (hn_span_cut(&names, ',', &name))
            if (name.n == wanted.n && memcmp(name.at, wanted.at, name.n) == 0)
                return terms;
    }
    return wanted;
}

static bool next_term(hn_span *terms, int version, hn_span *term) {
    while (hn_span_cut(terms, ',', term))
        if (hn_span_take_since(term) <= version)
            return true;
    return false;
}

/* Removes "word(" and ")" from a term of that form. */
static bool unwrap(hn_span *term, const char *word) {
    size_t n = strlen(word);
    if (term->n < n + 2 || memcmp(term->at, word, n) != 0 || term->at[n] != '(')
        return false;
    *term = (hn_span){term->at + n + 1, term->n - n - 2};
    return true;
}

/* An unknown element type matches everything. */
static bool elem_matches(hn_span term, hn_dtype elem) {
    hn_span rest = members_of(term), member;
    const char *name = hn_dtype_name(elem);
    while (hn_span_cut(&rest, ',', &member))
        if (elem == HN_UNDEFINED || hn_span_is(member, name))
            return true;
    return false;
}

/* Recursion follows the nesting of the table's terms, so it is shallow for any model. */
static bool term_matches(hn_span term, const hn_type *t) {
    if (!t || t->kind == HN_TYPE_NONE)
        return true;
    if (unwrap(&term, "seq"))
        return t->kind == HN_TYPE_SEQUENCE && term_matches(term, t->inner);
    if (unwrap(&term, "optional"))
        return t->kind == HN_TYPE_OPTIONAL && term_matches(term, t->inner);
    if (unwrap(&term, "sparse"))
        return t->kind == HN_TYPE_SPARSE && elem_matches(term, t->elem);
    if (unwrap(&term, "map")) {
        hn_span key;
        hn_span_cut(&term, ',', &key);
        return t->kind == HN_TYPE_MAP && elem_matches(key, t->elem) && term_matches(term, t->inner);
    }
    return t->kind == HN_TYPE_TENSOR && elem_matches(term, t->elem);
}

uint32_t hn_walk_tensors(const hn_op *op, int version, const hn_param *p) {
    hn_span terms = terms_of(op, p), term, member;
    uint32_t tensors = 0;
    while (next_term(&terms, version, &term)) {
        hn_span rest = members_of(term);
        while (hn_span_cut(&rest, ',', &member))
            tensors |= 1u << hn_dtype_from_name(member.at, member.n);
    }
    return tensors & ~(1u << HN_UNDEFINED);
}

bool hn_op_type_allowed(const hn_op *op, int version, const hn_param *p, const hn_type *t) {
    if (p->tensors && t && t->kind == HN_TYPE_TENSOR && t->elem != HN_UNDEFINED)
        return t->elem < HN_DTYPE_COUNT && (p->tensors >> t->elem & 1);
    hn_span terms = terms_of(op, p), term;
    while (next_term(&terms, version, &term))
        if (term_matches(term, t))
            return true;
    return false;
}

/* All members of one term in ONNX's spelling: "seq(tensor(float)), seq(tensor(double))". */
static void put_term(hn_strbuf *out, hn_span term) {
    hn_span core = term, member;
    while (unwrap(&core, "seq") || unwrap(&core, "optional"))
        ;
    hn_span before = {term.at, (size_t)(core.at - term.at)};
    hn_span after = {core.at + core.n, term.n - before.n - core.n};
    const char *tensor = unwrap(&core, "sparse") ? "sparse_tensor(" : "tensor(";
    hn_span rest = members_of(core);
    for (const char *comma = ""; hn_span_cut(&rest, ',', &member); comma = ", ") {
        bool is_map = memchr(member.at, '(', member.n) != NULL;
        hn_strbuf_printf(out, "%s%.*s%s%.*s%s%.*s", comma, (int)before.n, before.at,
                         is_map ? "" : tensor, (int)member.n, member.at, is_map ? "" : ")",
                         (int)after.n, after.at);
    }
}

void hn_op_type_text(const hn_op *op, int version, const hn_param *p, hn_strbuf *out) {
    hn_span terms = terms_of(op, p), term;
    for (const char *comma = ""; next_term(&terms, version, &term); comma = ", ") {
        hn_strbuf_puts(out, comma);
        put_term(out, term);
    }
}
