/* Implementation of symbolic dimensions; only the sym_*.c files include it.
 *
 * An expression is a sum of terms, a term an integer times a monomial, a monomial a product of
 * atoms, an atom a symbol or a floor quotient, maximum or minimum of expressions. Atoms, monomials
 * and expressions are interned: equal content has equal ids. Their order depends on names and
 * structure only, never on the order of creation, so the text is the same in every model.
 *
 * Every function that returns bool returns false for "unknown": a limit was reached, a number
 * overflowed, or memory ran out (which also sets `failed`). */
#ifndef HN_SYM_INT_H
#define HN_SYM_INT_H

#include "ir/ir.h"

/* Limits beyond which a result is unknown. They bound time, stack and text for any input. */
enum {
    HN_SYM_MAX_TERMS = 32,
    HN_SYM_MAX_DEGREE = 16, /* factors of one monomial */
    HN_SYM_MAX_ARGS = 8,    /* of one max or min */
    HN_SYM_MAX_DEPTH = 12,  /* of atoms inside atoms */
    HN_SYM_MAX_NODES = 256  /* of an expression written out */
};

#define HN_MONO_ONE 0u /* the empty product: its term is the constant */

typedef enum hn_atom_kind { HN_ATOM_SYMBOL, HN_ATOM_FLOOR, HN_ATOM_MAX, HN_ATOM_MIN } hn_atom_kind;

typedef struct hn_atom {
    hn_atom_kind kind;
    uint32_t n_args;                /* floor: dividend, divisor; max, min: two or more, sorted */
    uint32_t args[HN_SYM_MAX_ARGS]; /* expression ids */
    hn_str name;                    /* symbols only */
    uint32_t nodes, depth;
} hn_atom;

typedef struct hn_mono {
    const uint32_t *atoms; /* sorted; a power is a repetition */
    uint32_t n;
    uint32_t nodes, depth;
} hn_mono;

/* No padding: terms are hashed and compared as bytes. */
typedef struct hn_term {
    int64_t coef; /* never 0 */
    uint64_t mono;
} hn_term;

typedef struct hn_expr {
    const hn_term *terms; /* sorted, so the constant is last */
    uint32_t n;
    uint32_t nodes, depth;
} hn_expr;

/* A polynomial being computed; lives on the stack. No terms means zero. */
typedef struct hn_poly {
    uint32_t n;
    hn_term terms[HN_SYM_MAX_TERMS];
} hn_poly;

struct hn_syms {
    hn_arena *arena;
    hn_strtab *names;
    bool failed;    /* memory ran out once */
    bool is_frozen; /* nothing is added any more */
    HN_VEC(hn_atom) atoms;
    HN_VEC(hn_mono) monos;
    HN_VEC(hn_expr) exprs;
    hn_map atom_ids, mono_ids, expr_ids; /* from content hashes */
};

/* ---- store ---- */

bool hn_atom_intern(hn_syms *s, const hn_atom *atom,
                    uint32_t *id); /* computes nodes and depth itself */
bool hn_mono_intern(hn_syms *s, const uint32_t *sorted_atoms, uint32_t n, uint32_t *id);
bool hn_expr_intern(hn_syms *s, const hn_poly *p, uint32_t *id);
int hn_expr_compare(const hn_syms *s, uint32_t a, uint32_t b);
int hn_mono_compare(const hn_syms *s, uint32_t a, uint32_t b);
bool hn_mono_multiply(hn_syms *s, uint32_t a, uint32_t b, uint32_t *product);
/* a / b when b divides a: false otherwise. */
bool hn_mono_divide(hn_syms *s, uint32_t a, uint32_t b, uint32_t *quotient);
bool hn_mono_common(hn_syms *s, uint32_t a, uint32_t b, uint32_t *common);
/* The atom of a monomial that is exactly one atom; NULL otherwise. */
const hn_atom *hn_mono_single_atom(const hn_syms *s, uint64_t mono);

/* ---- polynomials; `out` never aliases an operand ---- */

void hn_poly_set_const(hn_poly *p, int64_t value);
bool hn_poly_set_atom(hn_syms *s, hn_poly *p, const hn_atom *atom);
bool hn_poly_set_symbol(hn_syms *s, hn_poly *p, hn_str name);
void hn_poly_set_expr(const hn_syms *s, hn_poly *p, uint32_t expr);
bool hn_poly_is_const(const hn_poly *p, int64_t *value);
bool hn_poly_add_term(const hn_syms *s, hn_poly *acc, int64_t coef, uint64_t mono);
bool hn_poly_add_const(const hn_syms *s, hn_poly *acc, int64_t value);
bool hn_poly_add_scaled(const hn_syms *s, hn_poly *acc, const hn_poly *p,
                        int64_t scale); /* acc += scale * p */
bool hn_poly_scale(hn_poly *p, int64_t factor);
bool hn_poly_multiply(hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out);
bool hn_poly_subtract(const hn_syms *s, const hn_poly *a, const hn_poly *b, hn_poly *out);

/* Floor of the quotient. A divisor with symbols is assumed to be nonzero. */
bool hn_poly_floor_div(hn_syms *s, const hn_poly *num, const hn_poly *den, hn_poly *out);
/* The greater (HN_ATOM_MAX) or smaller (HN_ATOM_MIN) of two. */
bool hn_poly_extreme(hn_syms *s, hn_atom_kind kind, const hn_poly *a, const hn_poly *b,
                     hn_poly *out);

/* ---- proofs, with every symbol >= 0 and every divisor nonzero ---- */

bool hn_poly_is_nonneg(const hn_syms *s, const hn_poly *p);

/* ---- conversion ---- */

bool hn_expr_of_dim(const hn_syms *s, hn_dim d, uint32_t *expr);
bool hn_poly_from_dim(const hn_syms *s, hn_dim d, hn_poly *p);
hn_sint hn_poly_to_sint(hn_syms *s, const hn_poly *p);

#endif /* HN_SYM_INT_H */
