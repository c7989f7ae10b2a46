/* Formulas that rules look for, as they are or with something twisted. */
#include "random/grow.h"

#include <ctype.h>
#include <stdlib.h>

typedef struct formula {
    const char *inputs, *term;
} formula;

static const formula formulas[] = {
#define FORMULA(inputs, term) {inputs, term},
#include "random/formulas.def"
#undef FORMULA
};

#define MAX_NAMES 48
#define MAX_NAME 24
#define MAX_LIST 16

typedef struct named {
    char name[MAX_NAME];
    uint32_t slot; /* which output of the term, or CONSTANT */
    hn_id value;
} named;
#define CONSTANT UINT32_MAX

/* A formula on its way into the graph. */
typedef struct reader {
    grower *w;
    const char *at;
    hn_dtype type;
    hn_id first; /* the first value that is read: constants fit it */
    uint32_t percent_twisted;
    named names[MAX_NAMES];
    uint32_t n_names;
} reader;

static hn_id read_term(reader *r);

/* ---- words ----------------------------------------------------------------------------------- */

static bool take(reader *r, char c) {
    while (*r->at == ' ')
        r->at++;
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static void expect(reader *r, char c) {
    if (!take(r, c))
        grow_fail("a formula cannot be read");
}

static void read_name(reader *r, char name[MAX_NAME]) {
    size_t n = 0;
    take(r, ' ');
    while (isalnum((unsigned char)*r->at)) {
        if (n + 1 == MAX_NAME)
            grow_fail("a name in a formula is too long");
        name[n++] = *r->at++;
    }
    name[n] = '\0';
}

static uint32_t read_list(reader *r, int64_t *list) {
    uint32_t n = 0;
    do {
        char *end;
        list[n++] = strtoll(r->at, &end, 10);
        r->at = end;
    } while (take(r, ',') && n < MAX_LIST);
    return n;
}

static bool is_twisted(reader *r) {
    return grow_chance(r->w, r->percent_twisted);
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool find_named(const reader *r, const char *name, uint32_t slot, hn_id *value) {
    for (uint32_t i = 0; i < r->n_names; i++)
        if (r->names[i].slot == slot && strcmp(r->names[i].name, name) == 0) {
            *value = r->names[i].value;
            return true;
        }
    return false;
}

static void keep_named(reader *r, const char *name, uint32_t slot, hn_id value) {
    if (r->n_names == MAX_NAMES)
        grow_fail("a formula has too many names");
    named *n = &r->names[r->n_names++];
    strcpy(n->name, name);
    n->slot = slot;
    n->value = value;
}

/* A value of the graph, or a new input when there is none. */
static hn_id some_value(reader *r) {
    int64_t dims[] = {2, 3, 4};
    hn_id value = grow_pick(r->w, r->type, 1, 4);
    if (value == HN_NONE || grow_chance(r->w, 30))
        value = grow_input(r->w, r->type, 3, dims);
    return value;
}

/* The second of two values has the shape of the first: a formula that adds them finds sense in it.
 */
static hn_id value_like_first(reader *r) {
    const hn_array *a = grow_array(r->w, r->first);
    return grow_input(r->w, r->type, a->rank, a->dims);
}

static hn_id read_value(reader *r) {
    char name[MAX_NAME];
    hn_id value;
    read_name(r, name);
    uint32_t slot = take(r, '.') ? (uint32_t)strtol(r->at, (char **)(uintptr_t)&r->at, 10) : 0;
    if (!find_named(r, name, slot, &value)) {
        value = r->first == HN_NONE || is_twisted(r) ? some_value(r) : value_like_first(r);
        keep_named(r, name, slot, value);
    }
    if (r->first == HN_NONE)
        r->first = value;
    return value;
}

static void read_inputs(reader *r) {
    while (*r->at) {
        char name[MAX_NAME];
        int64_t dims[MAX_LIST];
        read_name(r, name);
        expect(r, ':');
        uint32_t rank = read_list(r, dims);
        hn_id value = grow_input(r->w, r->type, (int32_t)rank, dims);
        keep_named(r, name, 0, value);
        r->first = r->first == HN_NONE ? value : r->first;
    }
}

/* ---- constants ------------------------------------------------------------------------------- */

static hn_id read_constant(reader *r) {
    char name[MAX_NAME];
    hn_id value;
    int64_t dims[MAX_LIST] = {HN_MAX(grow_dim(r->w, r->first, -1), 1)};
    uint32_t rank = 1;
    hn_dtype type = r->type;
    expect(r, '#');
    read_name(r, name);
    if (take(r, '@'))
        type = (hn_dtype)strtol(r->at, (char **)(uintptr_t)&r->at, 10);
    if (take(r, '[')) {
        rank = read_list(r, dims);
        expect(r, ']');
    }
    if (find_named(r, name, CONSTANT, &value))
        return value;
    if (is_twisted(r))
        dims[grow_below(r->w, rank)] = 1;
    value = grow_const(r->w, type, (int32_t)rank, dims);
    keep_named(r, name, CONSTANT, value);
    return value;
}

static double twisted_number(reader *r, double v) {
    static const double factors[] = {1.01, 1.1, 2, 0, -1}; /* rules forgive 1e-4 */
    return v * GROW_ONE_OF(r->w, factors);
}

static hn_id read_number(reader *r) {
    char *end;
    double v = strtod(r->at, &end);
    r->at = end;
    if (*r->at == 'i') {
        r->at++;
        return grow_numbers(r->w, HN_I64, 0, NULL, &v);
    }
    if (is_twisted(r))
        v = twisted_number(r, v);
    if (!is_twisted(r))
        return grow_number(r->w, r->type, v);
    int32_t rank;
    int64_t dims[GROWN_MAX_RANK];
    double all[GROWN_MAX_ELEMS];
    for (uint32_t i = 0; i < GROWN_MAX_ELEMS; i++)
        all[i] = v;
    grow_beside(r->w, r->first, &rank, dims);
    return hn_count(rank, dims) > GROWN_MAX_ELEMS ? HN_NONE
                                                  : grow_numbers(r->w, r->type, rank, dims, all);
}

static hn_id read_ints(reader *r) {
    int64_t list[MAX_LIST];
    expect(r, '{');
    uint32_t n = read_list(r, list);
    expect(r, '}');
    return grow_ints(r->w, n, list);
}

/* ---- operators ------------------------------------------------------------------------------- */

typedef struct call {
    char op[MAX_NAME];
    hn_id args[8];
    uint32_t n_args, n_outputs;
    hn_attr attrs[8];
    uint32_t n_attrs;
    hn_id later[4]; /* attributes that are inputs by now: they come last */
    uint32_t n_later;
} call;

static bool is_attribute(const reader *r, const call *c, const char *name, hn_attr_kind *kind) {
    int since;
    bool is_deprecated;
    hn_attr_spec spec;
    const hn_op *op = hn_op_find(NULL, HN_DOMAIN_ONNX, c->op, r->w->opset, &since, &is_deprecated);
    *kind = HN_ATTR_UNDEFINED;
    if (op && hn_op_attr_find(op, since, name, strlen(name), &spec))
        *kind = spec.kind;
    return *kind != HN_ATTR_UNDEFINED;
}

static void read_text_attribute(reader *r, call *c, const char *name) {
    char text[64];
    size_t n = 0;
    while (*r->at && *r->at != '\'' && n + 1 < sizeof text)
        text[n++] = *r->at++;
    text[n] = '\0';
    expect(r, '\'');
    c->attrs[c->n_attrs++] = grow_attr_s(r->w, name, text);
}

/* Numbers with a point are bounds; without, sizes and axes. */
static void read_attribute(reader *r, call *c) {
    char name[MAX_NAME];
    hn_attr_kind kind;
    int64_t list[MAX_LIST];
    read_name(r, name);
    expect(r, '=');
    if (take(r, '\'')) {
        read_text_attribute(r, c, name);
        return;
    }
    bool is_known = is_attribute(r, c, name, &kind);
    if (kind == HN_ATTR_FLOAT || strcmp(name, "min") == 0 || strcmp(name, "max") == 0) {
        double v = strtod(r->at, (char **)(uintptr_t)&r->at);
        if (is_known)
            c->attrs[c->n_attrs++] = grow_attr_f(r->w, name, (float)v);
        else
            c->later[c->n_later++] = grow_number(r->w, r->type, v);
        return;
    }
    uint32_t n = read_list(r, list);
    if (is_twisted(r))
        list[0] += grow_chance(r->w, 50) ? 1 : -1;
    if (kind == HN_ATTR_INT)
        c->attrs[c->n_attrs++] = grow_attr_i(r->w, name, list[0]);
    else if (is_known)
        c->attrs[c->n_attrs++] = grow_attr_ints(r->w, name, n, list);
    else
        c->later[c->n_later++] = grow_ints(r->w, n, list);
}

static bool read_call(reader *r, call *c) {
    bool ok = true;
    *c = (call){.n_outputs = 1};
    read_name(r, c->op);
    if (take(r, '/'))
        c->n_outputs = (uint32_t)strtol(r->at, (char **)(uintptr_t)&r->at, 10);
    if (take(r, '[')) {
        do
            read_attribute(r, c);
        while (take(r, ';'));
        expect(r, ']');
    }
    expect(r, '(');
    do {
        hn_id arg = read_term(r);
        ok &= arg != HN_NONE;
        c->args[c->n_args++] = arg;
    } while (take(r, ','));
    expect(r, ')');
    for (uint32_t i = 0; i < c->n_later; i++)
        c->args[c->n_args++] = c->later[i];
    return ok;
}

static void twist_call(reader *r, call *c) {
    static const char *const pairs[] = {"Add", "Sub", "Mul", "Div", "Max", "Min"};
    static const char *const functions[] = {"Sigmoid", "Tanh", "Erf", "Relu", "Exp", "Neg"};
    if (c->n_args == 2 && grow_chance(r->w, 50)) {
        hn_id kept = c->args[0];
        c->args[0] = c->args[1];
        c->args[1] = kept;
        return;
    }
    bool is_plain = c->n_attrs == 0 && c->n_outputs == 1;
    if (is_plain && c->n_args <= 2)
        strcpy(c->op, c->n_args == 2 ? GROW_ONE_OF(r->w, pairs) : GROW_ONE_OF(r->w, functions));
}

/* Something between a value and who reads it, or one more who reads it. */
static hn_id twist_value(reader *r, hn_id value) {
    static const char *const between[] = {"Identity", "Dropout", "Neg", "Relu"};
    if (value == HN_NONE || grow_chance(r->w, 40)) {
        if (value != HN_NONE)
            grow_show(r->w, value);
        return value;
    }
    hn_id other = grow_unary(r->w, GROW_ONE_OF(r->w, between), value);
    return other == HN_NONE ? value : other;
}

static void name_outputs(reader *r, const call *c, hn_id node, hn_id first) {
    char name[MAX_NAME];
    if (!take(r, ':'))
        return;
    read_name(r, name);
    keep_named(r, name, 0, first);
    for (uint32_t i = 1; i < c->n_outputs; i++)
        keep_named(r, name, i, grow_out(r->w, node, i));
}

static hn_id read_operator(reader *r) {
    call c;
    hn_id node = HN_NONE;
    if (read_call(r, &c)) {
        if (is_twisted(r))
            twist_call(r, &c);
        node = grow_node(r->w, c.op, c.n_args, c.args, c.n_outputs, c.n_attrs, c.attrs);
    }
    hn_id value = grow_out(r->w, node, 0);
    if (is_twisted(r))
        value = twist_value(r, value);
    name_outputs(r, &c, node, value);
    return value;
}

static hn_id read_term(reader *r) {
    while (*r->at == ' ')
        r->at++;
    if (*r->at == '#')
        return read_constant(r);
    if (*r->at == '{')
        return read_ints(r);
    if (isdigit((unsigned char)*r->at) || *r->at == '-')
        return read_number(r);
    return isupper((unsigned char)*r->at) ? read_operator(r) : read_value(r);
}

void grow_formula(grower *w) {
    const formula *f = &GROW_ONE_OF(w, formulas);
    reader r = {.w = w,
                .at = f->inputs,
                .type = grow_some_real(w),
                .first = HN_NONE,
                .percent_twisted = grow_chance(w, 50) ? 0 : 4};
    read_inputs(&r);
    r.at = f->term;
    read_term(&r);
}
