/* Checks the notation of registered operators, which is that of ops.def. Rows of the table are
 * trusted; rows of a registry are validated once, before any other code reads them. Registered
 * operators have tensors only, and no subgraphs. */
#include "ops/schema/registry.h"
#include "ops/schema/schema_int.h"

#define LONGEST_WORD 63 /* space for names in hone_op_parameter */
#define MOST_DIGITS 9   /* of numbers, so that they fit an int */

typedef struct column_check {
    const hone_op_def *def;
    const char *column; /* for messages: "inputs" */
    hone_error *err;
} column_check;

static hone_status refuse_notation(const column_check *c, hn_span text, const char *why) {
    return hn_fail(c->err, HONE_E_ARGUMENT,
                   "operator %s.%s cannot be registered: '%.*s' in its %s %s", c->def->domain,
                   c->def->name, (int)HN_MIN(text.n, 80), text.at, c->column, why);
}

/* ---- words and numbers ----------------------------------------------------------------------- */

static bool is_digit_char(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_notation_word(hn_span s, const char *others) {
    if (s.n == 0 || s.n > LONGEST_WORD || !is_letter_char(s.at[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!is_letter_char(s.at[i]) && !is_digit_char(s.at[i]) && !strchr(others, s.at[i]))
            return false;
    return true;
}

static size_t count_digits(hn_span s) {
    size_t n = 0;
    while (n < s.n && is_digit_char(s.at[n]))
        n++;
    return n;
}

static hn_span skip_chars(hn_span s, size_t n) {
    return (hn_span){s.at + n, s.n - n};
}

static bool is_plain_number(hn_span s) {
    size_t n = count_digits(s);
    return n > 0 && n == s.n && n <= MOST_DIGITS;
}

static bool is_integer_text(hn_span s) {
    return is_plain_number(s.n > 0 && s.at[0] == '-' ? skip_chars(s, 1) : s);
}

/* -1.5e-3 */
static bool is_float_text(hn_span s) {
    if (s.n > 0 && s.at[0] == '-')
        s = skip_chars(s, 1);
    size_t whole = count_digits(s), fraction = 0;
    s = skip_chars(s, whole);
    if (s.n > 0 && s.at[0] == '.') {
        s = skip_chars(s, 1);
        fraction = count_digits(s);
        s = skip_chars(s, fraction);
    }
    if (whole + fraction == 0 || whole + fraction > MOST_DIGITS)
        return false;
    if (s.n == 0)
        return true;
    hn_span exponent = skip_chars(s, 1);
    return s.at[0] == 'e' && is_integer_text(exponent) && exponent.n <= 3;
}

/* 0 when it is not a version. */
static int version_of(hn_span s) {
    int version = 0;
    for (size_t i = 0; is_plain_number(s) && i < s.n; i++)
        version = version * 10 + (s.at[i] - '0');
    return version;
}

/* Removes a trailing "@V"; false when V is not a version. */
static bool take_mark(hn_span *token) {
    for (size_t i = token->n; i > 0; i--) {
        if (token->at[i - 1] != '@')
            continue;
        hn_span version = skip_chars(*token, i);
        token->n = i - 1;
        return version_of(version) > 0;
    }
    return true;
}

/* Splits at the first `separator`; false when there is none. */
static bool split_notation(hn_span whole, char separator, hn_span *before, hn_span *after) {
    const char *at = whole.n ? memchr(whole.at, separator, whole.n) : NULL;
    if (!at)
        return false;
    *before = (hn_span){whole.at, (size_t)(at - whole.at)};
    *after = skip_chars(whole, before->n + 1);
    return true;
}

/* ---- columns --------------------------------------------------------------------------------- */

static hone_status check_versions(const column_check *c, const char *text) {
    hn_span rest = hn_span_z(text), token;
    int last = 0;
    while (hn_span_cut(&rest, ' ', &token)) {
        hn_span number = token;
        if (number.n > 0 && number.at[number.n - 1] == 'd')
            number.n--;
        if (version_of(number) <= last)
            return refuse_notation(c, token, "must be a version, greater than the one before it");
        last = version_of(number);
    }
    return last ? HONE_OK : refuse_notation(c, hn_span_z(text), "must name a version");
}

static bool is_elem_term(hn_span term) {
    if (term.n > 0 && term.at[0] == '$')
        return hn_typeset_exists(skip_chars(term, 1));
    return hn_dtype_from_name(term.at, term.n) != HN_UNDEFINED;
}

static bool names_variable(const char *types, hn_span wanted) {
    hn_span rest = hn_span_z(types), group, names, terms, name;
    while (hn_span_cut(&rest, ';', &group)) {
        if (!split_notation(group, '=', &names, &terms))
            continue;
        while (hn_span_cut(&names, ',', &name))
            if (name.n == wanted.n && memcmp(name.at, wanted.at, name.n) == 0)
                return true;
    }
    return false;
}

static hone_status check_types(const column_check *c, const char *text) {
    hn_span rest = hn_span_z(text), group;
    while (hn_span_cut(&rest, ';', &group)) {
        hn_span names, terms, token;
        if (!split_notation(group, '=', &names, &terms) || !names.n || !terms.n)
            return refuse_notation(c, group, "must look like T=float,double");
        while (hn_span_cut(&names, ',', &token))
            if (!is_notation_word(token, ""))
                return refuse_notation(c, token, "is not a name for a type variable");
        while (hn_span_cut(&terms, ',', &token))
            if (!take_mark(&token) || !is_elem_term(token))
                return refuse_notation(c, token,
                                       "is neither an element type nor a set of them ($num)");
    }
    return HONE_OK;
}

/* The marks after a parameter's type: ?, *N or ~N. */
static bool is_arity_mark(hn_span mark, bool *is_variadic) {
    *is_variadic = mark.n > 0 && mark.at[0] != '?';
    if (mark.n < 2)
        return true;
    return *is_variadic && is_plain_number(skip_chars(mark, 1));
}

static hone_status check_params(const column_check *c, const char *text, const char *types) {
    hn_span rest = hn_span_z(text), whole;
    bool is_variadic = false;
    while (hn_span_cut(&rest, ' ', &whole)) {
        hn_span token = whole, name, type;
        if (is_variadic)
            return refuse_notation(c, whole, "follows a variadic parameter");
        if (!take_mark(&token) || !split_notation(token, ':', &name, &type) ||
            !is_notation_word(name, "."))
            return refuse_notation(c, whole, "must look like name:type");
        size_t n = 0;
        while (n < type.n && !strchr("?*~", type.at[n]))
            n++;
        if (!is_arity_mark(skip_chars(type, n), &is_variadic))
            return refuse_notation(c, whole, "ends in an unknown mark; use ?, *N or ~N");
        type.n = n;
        if (!names_variable(types, type) && !is_elem_term(type))
            return refuse_notation(c, whole,
                                   "has a type that is neither a variable nor an element type");
    }
    return HONE_OK;
}

static bool is_default_list(hn_span list, bool (*is_item)(hn_span)) {
    hn_span item;
    while (hn_span_cut(&list, ',', &item))
        if (!is_item(item))
            return false;
    return true;
}

static bool is_attr_default(hn_span kind, hn_span text) {
    if (hn_span_is(kind, "i"))
        return is_integer_text(text);
    if (hn_span_is(kind, "f"))
        return is_float_text(text);
    if (hn_span_is(kind, "ints"))
        return is_default_list(text, is_integer_text);
    if (hn_span_is(kind, "floats"))
        return is_default_list(text, is_float_text);
    return hn_span_is(kind, "s") || hn_span_is(kind, "strings");
}

static bool is_attr_kind(hn_span kind) {
    static const char *const kinds[] = {"i", "f", "s", "t", "ints", "floats", "strings"};
    for (size_t i = 0; i < HN_COUNT(kinds); i++)
        if (hn_span_is(kind, kinds[i]))
            return true;
    return false;
}

static hone_status check_attrs(const column_check *c, const char *text) {
    hn_span rest = hn_span_z(text), whole;
    while (hn_span_cut(&rest, ' ', &whole)) {
        hn_span token = whole, name, kind, def;
        if (!take_mark(&token) || !split_notation(token, ':', &name, &kind) ||
            !is_notation_word(name, ""))
            return refuse_notation(c, whole, "must look like name:kind");
        bool has_default = split_notation(kind, '=', &token, &def);
        if (has_default)
            kind = token;
        else if (kind.n > 0 && kind.at[kind.n - 1] == '!')
            kind.n--;
        if (!is_attr_kind(kind))
            return refuse_notation(c, whole,
                                   "has an unknown kind; use i f s t ints floats strings");
        if (has_default && !is_attr_default(kind, def))
            return refuse_notation(c, whole, "has a default that cannot be read");
    }
    return HONE_OK;
}

hone_status hn_op_columns_ok(const hone_op_def *def, hone_error *err) {
    const char *texts[] = {def->versions, def->inputs, def->outputs, def->types, def->attributes};
    static const char *const columns[] = {"versions", "inputs", "outputs", "types", "attributes"};
    column_check c = {.def = def, .column = "name", .err = err};
    if (!is_notation_word(hn_span_z(def->name), ""))
        return refuse_notation(&c, hn_span_z(def->name), "is not a name for an operator");
    c.column = "domain";
    if (*def->domain && !is_notation_word(hn_span_z(def->domain), ".-"))
        return refuse_notation(&c, hn_span_z(def->domain), "is not a name for an operator set");
    /* other readers of the notation give them a meaning */
    for (size_t i = 0; i < HN_COUNT(texts); i++) {
        c.column = columns[i];
        if (strpbrk(texts[i], "()"))
            return refuse_notation(&c, hn_span_z(texts[i]),
                                   "has parentheses, but only tensor types are supported");
    }
    c.column = columns[0];
    HN_TRY(check_versions(&c, def->versions));
    c.column = columns[3];
    HN_TRY(check_types(&c, def->types));
    c.column = columns[1];
    HN_TRY(check_params(&c, def->inputs, def->types));
    c.column = columns[2];
    HN_TRY(check_params(&c, def->outputs, def->types));
    c.column = columns[4];
    return check_attrs(&c, def->attributes);
}
