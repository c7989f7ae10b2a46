/* Dimensions as text. The grammar, without spaces other than those shown:
 *     sum     = ["-"] product { (" + " | " - ") product }
 *     product = power { "*" power }
 *     power   = factor [ "**" number ]
 *     factor  = number | name | quoted | "floor(" group "/" group ")" | ("max(" | "min(") sum { ",
 * " sum } ")" group   = "(" sum ")" | product Names that are no identifiers stand in double quotes
 * (doubled inside) when they are part of something larger, so that no name can pass for an
 * expression. */
#include <inttypes.h>

#include "ir/sym_int.h"

enum { MAX_PARSED_DIM_BYTES = 4096 };

static bool is_name_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_decimal_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Length of the identifier that begins here; 0 when none does. */
static size_t identifier_bytes(const char *text, const char *end) {
    const char *p = text;
    if (p == end || !is_name_letter(*p))
        return 0;
    while (p < end && (is_name_letter(*p) || is_decimal_digit(*p) || *p == '.' || *p == ':'))
        p++;
    return (size_t)(p - text);
}

static bool is_identifier(hn_str name) {
    return name->n > 0 && identifier_bytes(name->s, name->s + name->n) == name->n;
}

/* ---- printing ---- */

static void put_dim_sum(const hn_syms *s, uint32_t expr, hn_strbuf *out);

static void put_dim_name(hn_str name, hn_strbuf *out) {
    if (is_identifier(name)) {
        hn_strbuf_put(out, name->s, name->n);
        return;
    }
    hn_strbuf_puts(out, "\"");
    for (uint32_t i = 0; i < name->n; i++)
        hn_strbuf_put(out, name->s[i] == '"' ? "\"\"" : &name->s[i], name->s[i] == '"' ? 2 : 1);
    hn_strbuf_puts(out, "\"");
}

/* A dividend may be a product as it stands, a divisor only a single factor: a/b*c would mean
 * something else. */
static void put_dim_group(const hn_syms *s, uint32_t expr, bool is_divisor, hn_strbuf *out) {
    const hn_expr *e = &s->exprs.at[expr];
    bool bare = e->n == 1 && e->terms[0].coef > 0;
    if (bare && is_divisor) {
        uint32_t n_factors = s->monos.at[e->terms[0].mono].n;
        bare = n_factors == 0 || (n_factors == 1 && e->terms[0].coef == 1);
    }
    if (!bare)
        hn_strbuf_puts(out, "(");
    put_dim_sum(s, expr, out);
    if (!bare)
        hn_strbuf_puts(out, ")");
}

static void put_dim_atom(const hn_syms *s, const hn_atom *atom, hn_strbuf *out) {
    if (atom->kind == HN_ATOM_SYMBOL) {
        put_dim_name(atom->name, out);
        return;
    }
    if (atom->kind == HN_ATOM_FLOOR) {
        hn_strbuf_puts(out, "floor(");
        put_dim_group(s, atom->args[0], false, out);
        hn_strbuf_puts(out, "/");
        put_dim_group(s, atom->args[1], true, out);
    } else {
        hn_strbuf_puts(out, atom->kind == HN_ATOM_MAX ? "max(" : "min(");
        for (uint32_t i = 0; i < atom->n_args; i++) {
            if (i > 0)
                hn_strbuf_puts(out, ", ");
            put_dim_sum(s, atom->args[i], out);
        }
    }
    hn_strbuf_puts(out, ")");
}

static void put_dim_product(const hn_syms *s, uint64_t coef, const hn_mono *m, hn_strbuf *out) {
    if (coef != 1 || m->n == 0)
        hn_strbuf_printf(out, m->n == 0 ? "%" PRIu64 : "%" PRIu64 "*", coef);
    for (uint32_t i = 0; i < m->n;) {
        uint32_t power = 1;
        while (i + power < m->n && m->atoms[i + power] == m->atoms[i])
            power++;
        if (i > 0)
            hn_strbuf_puts(out, "*");
        put_dim_atom(s, &s->atoms.at[m->atoms[i]], out);
        if (power > 1)
            hn_strbuf_printf(out, "**%" PRIu32, power);
        i += power;
    }
}

/* Recursion ends with the depth limit of atoms. */
static void put_dim_sum(const hn_syms *s, uint32_t expr, hn_strbuf *out) {
    const hn_expr *e = &s->exprs.at[expr];
    if (e->n == 0)
        hn_strbuf_puts(out, "0");
    for (uint32_t i = 0; i < e->n; i++) {
        int64_t coef = e->terms[i].coef;
        bool negative = coef < 0;
        if (i > 0)
            hn_strbuf_puts(out, negative ? " - " : " + ");
        else if (negative)
            hn_strbuf_puts(out, "-");
        put_dim_product(s, negative ? 0 - (uint64_t)coef : (uint64_t)coef,
                        &s->monos.at[e->terms[i].mono], out);
    }
}

void hn_dim_text(const hn_syms *s, hn_dim d, hn_strbuf *out) {
    uint32_t expr;
    hn_str name;
    if (hn_dim_is_known(d))
        hn_strbuf_printf(out, "%" PRId64, d);
    else if (!hn_expr_of_dim(s, d, &expr))
        hn_strbuf_puts(out, "?");
    else if (hn_dim_is_symbol(s, d, &name))
        hn_strbuf_put(out, name->s, name->n);
    else
        put_dim_sum(s, expr, out);
}

/* ---- parsing: lenient, because the caller compares the printed result with the text ---- */

typedef struct dim_parser {
    hn_syms *s;
    const char *at, *end;
    int depth;
} dim_parser;

static bool parse_dim_sum(dim_parser *p, hn_poly *out);

static bool accept_dim_text(dim_parser *p, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0)
        return false;
    p->at += n;
    return true;
}

static bool parse_dim_number(dim_parser *p, int64_t *out) {
    if (p->at == p->end || !is_decimal_digit(*p->at))
        return false;
    for (*out = 0; p->at < p->end && is_decimal_digit(*p->at); p->at++) {
        if (!hn_mul_i64(*out, 10, out) || !hn_add_i64(*out, *p->at - '0', out))
            return false;
    }
    return true;
}

static bool parse_dim_symbol(dim_parser *p, const char *name, size_t n, hn_poly *out) {
    hn_str interned = hn_intern(p->s->names, name, n);
    if (!interned) {
        p->s->failed = true;
        return false;
    }
    return hn_poly_set_symbol(p->s, out, interned);
}

/* The opening quote was accepted. */
static bool parse_dim_quoted(dim_parser *p, hn_poly *out) {
    char name[MAX_PARSED_DIM_BYTES];
    size_t n = 0;
    for (; p->at < p->end; name[n++] = *p->at++) {
        if (*p->at != '"')
            continue;
        p->at++;
        if (p->at == p->end || *p->at != '"')
            return parse_dim_symbol(p, name, n, out);
    }
    return false;
}

static bool parse_dim_product(dim_parser *p, hn_poly *out);

static bool parse_dim_group(dim_parser *p, hn_poly *out) {
    if (!accept_dim_text(p, "("))
        return parse_dim_product(p, out);
    return parse_dim_sum(p, out) && accept_dim_text(p, ")");
}

static bool parse_dim_floor(dim_parser *p, hn_poly *out) {
    hn_poly num, den;
    return parse_dim_group(p, &num) && accept_dim_text(p, "/") && parse_dim_group(p, &den) &&
           accept_dim_text(p, ")") && hn_poly_floor_div(p->s, &num, &den, out);
}

static bool parse_dim_extreme(dim_parser *p, hn_atom_kind kind, hn_poly *out) {
    if (!parse_dim_sum(p, out))
        return false;
    while (accept_dim_text(p, ", ")) {
        hn_poly left = *out, right;
        if (!parse_dim_sum(p, &right) || !hn_poly_extreme(p->s, kind, &left, &right, out))
            return false;
    }
    return accept_dim_text(p, ")");
}

static bool parse_dim_factor(dim_parser *p, hn_poly *out) {
    int64_t number;
    if (p->at < p->end && is_decimal_digit(*p->at)) {
        if (!parse_dim_number(p, &number))
            return false;
        hn_poly_set_const(out, number);
        return true;
    }
    if (accept_dim_text(p, "\""))
        return parse_dim_quoted(p, out);
    if (accept_dim_text(p, "floor("))
        return parse_dim_floor(p, out);
    if (accept_dim_text(p, "max("))
        return parse_dim_extreme(p, HN_ATOM_MAX, out);
    if (accept_dim_text(p, "min("))
        return parse_dim_extreme(p, HN_ATOM_MIN, out);
    const char *name = p->at;
    size_t n = identifier_bytes(name, p->end);
    p->at += n;
    return n > 0 && parse_dim_symbol(p, name, n, out);
}

static bool parse_dim_power(dim_parser *p, hn_poly *out) {
    hn_poly base;
    int64_t power = 1;
    if (!parse_dim_factor(p, &base))
        return false;
    if (accept_dim_text(p, "**") && (!parse_dim_number(p, &power) || power > HN_SYM_MAX_DEGREE))
        return false;
    hn_poly_set_const(out, 1);
    for (; power > 0; power--) {
        hn_poly left = *out;
        if (!hn_poly_multiply(p->s, &left, &base, out))
            return false;
    }
    return true;
}

static bool parse_dim_product(dim_parser *p, hn_poly *out) {
    if (!parse_dim_power(p, out))
        return false;
    while (accept_dim_text(p, "*")) {
        hn_poly left = *out, right;
        if (!parse_dim_power(p, &right) || !hn_poly_multiply(p->s, &left, &right, out))
            return false;
    }
    return true;
}

static bool parse_dim_sum(dim_parser *p, hn_poly *out) {
    if (++p->depth > HN_SYM_MAX_DEPTH + 1)
        return false;
    int64_t sign = accept_dim_text(p, "-") ? -1 : 1;
    out->n = 0;
    do {
        hn_poly term;
        if (!parse_dim_product(p, &term) || !hn_poly_add_scaled(p->s, out, &term, sign))
            return false;
        sign = accept_dim_text(p, " + ") ? 1 : accept_dim_text(p, " - ") ? -1 : 0;
    } while (sign != 0);
    p->depth--;
    return true;
}

static bool dim_prints_as(hn_syms *s, hn_dim d, hn_str text) {
    hn_strbuf printed;
    hn_strbuf_init(&printed, hn_arena_allocator(s->arena));
    hn_dim_text(s, d, &printed);
    bool same =
        !printed.failed && printed.n == text->n && memcmp(printed.at, text->s, text->n) == 0;
    s->failed = s->failed || printed.failed;
    hn_strbuf_free(&printed);
    return same;
}

hn_dim hn_dim_parse(hn_syms *s, hn_str text) {
    if (hn_str_empty(text))
        return HN_DIM_UNKNOWN;
    dim_parser p = {.s = s, .at = text->s, .end = text->s + text->n};
    hn_poly parsed;
    if (!is_identifier(text) && text->n <= MAX_PARSED_DIM_BYTES && parse_dim_sum(&p, &parsed) &&
        p.at == p.end) {
        hn_dim d = hn_sint_to_dim(hn_poly_to_sint(s, &parsed));
        if (hn_dim_is_symbolic(d) && dim_prints_as(s, d, text))
            return d;
    }
    return hn_dim_symbol(s, text);
}
