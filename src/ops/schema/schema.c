/* Reads the rows of ops.def: which row is in force at an opset version, and what it says of
 * parameters and attributes. */
#include "ops/ops.h"

#include "ops/eval.h"
#include "ops/infer/infer_int.h"
#include "ops/schema/registry.h"
#include "ops/schema/schema_int.h"

#define hn_macs_none NULL
#define hn_impl_none NULL
#define HN_OP HN_OP_ROW

static const hn_op op_rows[] = {
#include "ops/ops.def"
};

#undef HN_OP
#undef hn_macs_none
#undef hn_impl_none

static const char *const domain_texts[] = {
#define HN_DOMAIN_TEXT(id, text) text,
    HN_DOMAIN_LIST(HN_DOMAIN_TEXT)
#undef HN_DOMAIN_TEXT
};

const char *hn_op_text(const hn_op *op, hn_op_column column) {
    const char *text = op->text;
    for (int i = 0; i < (int)column; i++)
        text += strlen(text) + 1;
    return text;
}

/* ---- domains and rows ------------------------------------------------------------------------ */

const char *hn_domain_text(const hn_op_registry *r, hn_domain d) {
    if ((size_t)d < HN_COUNT(domain_texts))
        return domain_texts[d];
    const char *text =
        r && d >= HN_DOMAIN_CUSTOM ? hn_registry_domain(r, d - HN_DOMAIN_CUSTOM) : NULL;
    return text ? text : "?";
}

hn_domain hn_domain_find(const hn_op_registry *r, const char *text, size_t n) {
    hn_span wanted = {text, n};
    const char *other;
    if (hn_span_is(wanted, "ai.onnx"))
        return HN_DOMAIN_ONNX;
    for (size_t i = 0; i < HN_COUNT(domain_texts); i++)
        if (hn_span_is(wanted, domain_texts[i]))
            return (hn_domain)i;
    for (uint32_t i = 0; r && (other = hn_registry_domain(r, i)) != NULL; i++)
        if (hn_span_is(wanted, other))
            return (hn_domain)(HN_DOMAIN_CUSTOM + i);
    return HN_DOMAIN_COUNT;
}

#define N_TABLE_ROWS ((uint32_t)HN_COUNT(op_rows))

uint32_t hn_op_count(const hn_op_registry *r) {
    return N_TABLE_ROWS + (r ? hn_registry_count(r) : 0);
}

const hn_op *hn_op_row(const hn_op_registry *r, uint32_t i) {
    if (i < N_TABLE_ROWS)
        return &op_rows[i];
    return i < hn_op_count(r) ? hn_registry_row(r, i - N_TABLE_ROWS) : NULL;
}

int hn_op_compare(const hn_op *op, hn_domain d, const char *name) {
    return op->domain != d ? (op->domain < d ? -1 : 1) : strcmp(hn_op_name(op), name);
}

/* First row of [lo, hi), which is sorted, that does not stand before that operator. */
static uint32_t first_row(const hn_op_registry *r, uint32_t lo, uint32_t hi, hn_domain d,
                          const char *name) {
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (hn_op_compare(hn_op_row(r, mid), d, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* The rows of one operator: all in the table, or all in the registry. */
typedef struct op_range {
    uint32_t begin, end;
} op_range;

static op_range rows_of(const hn_op_registry *r, hn_domain d, const char *name) {
    op_range found = {0, 0};
    const uint32_t limits[] = {0, N_TABLE_ROWS, hn_op_count(r)};
    for (int i = 0; i < 2 && found.begin == found.end; i++) {
        found.begin = found.end = first_row(r, limits[i], limits[i + 1], d, name);
        while (found.end < limits[i + 1] && hn_op_compare(hn_op_row(r, found.end), d, name) == 0)
            found.end++;
    }
    return found;
}

const hn_op *hn_walk_find(const hn_op_registry *r, hn_domain d, const char *name, int64_t opset,
                          uint32_t *found_row, int *since, bool *deprecated) {
    const hn_op *found = NULL;
    op_range rows = rows_of(r, d, name);
    for (uint32_t row = rows.begin; row < rows.end; row++) {
        const hn_op *op = hn_op_row(r, row);
        bool is_deprecated = false;
        int version;
        for (uint32_t i = 0; (version = hn_op_version(op, i, &is_deprecated)) != 0; i++) {
            if (version > opset)
                return found;
            found = op;
            *found_row = row;
            *since = version;
            *deprecated = is_deprecated;
        }
    }
    return found;
}

const hn_op *hn_node_op(const hn_graph *g, const hn_node *n, int *since, bool *deprecated) {
    const hn_op_registry *r = hn_model_ops(g->model);
    hn_domain d = hn_domain_find(r, hn_s(n->domain), n->domain ? n->domain->n : 0);
    return hn_op_find(r, d, hn_s(n->op), hn_node_opset(g, n), since, deprecated);
}

bool hn_same_op(const hn_model *m, hn_str domain, hn_str op, int64_t a, int64_t b) {
    const hn_op_registry *r = hn_model_ops(m);
    hn_domain d = hn_domain_find(r, hn_s(domain), domain ? domain->n : 0);
    int since_a, since_b;
    bool deprecated;
    return hn_op_find(r, d, hn_s(op), a, &since_a, &deprecated) &&
           hn_op_find(r, d, hn_s(op), b, &since_b, &deprecated) && since_a == since_b;
}

int hn_op_introduced(const hn_op_registry *r, hn_domain d, const char *name) {
    op_range rows = rows_of(r, d, name);
    bool deprecated;
    return rows.begin < rows.end ? hn_op_version(hn_op_row(r, rows.begin), 0, &deprecated) : 0;
}

/* ---- the small language of the rows ---------------------------------------------------------- */

bool hn_span_is(hn_span s, const char *text) {
    return strlen(text) == s.n && memcmp(text, s.at, s.n) == 0;
}

bool hn_span_cut(hn_span *rest, char separator, hn_span *token) {
    if (rest->n == 0)
        return false;
    size_t n = 0;
    for (int depth = 0; n < rest->n && (depth > 0 || rest->at[n] != separator); n++)
        depth += (rest->at[n] == '(') - (rest->at[n] == ')');
    *token = (hn_span){rest->at, n};
    size_t skip = n < rest->n ? n + 1 : n;
    *rest = (hn_span){rest->at + skip, rest->n - skip};
    return true;
}

/* Digits at the start of a span, which it loses. Numbers of the table are small. */
static int take_number(hn_span *s) {
    int value = 0;
    while (s->n > 0 && s->at[0] >= '0' && s->at[0] <= '9') {
        value = value * 10 + (s->at[0] - '0');
        *s = (hn_span){s->at + 1, s->n - 1};
    }
    return value;
}

int hn_span_take_since(hn_span *token) {
    for (size_t i = token->n; i > 0; i--) {
        if (token->at[i - 1] != '@')
            continue;
        hn_span digits = {token->at + i, token->n - i};
        token->n = i - 1;
        return take_number(&digits);
    }
    return 0;
}

/* Next token of a list that exists at a version. */
static bool next_in_force(hn_span *rest, int version, hn_span *token) {
    while (hn_span_cut(rest, ' ', token))
        if (hn_span_take_since(token) <= version)
            return true;
    return false;
}

/* Splits "name:rest". */
static hn_span take_name(hn_span *token) {
    hn_span name, after = *token;
    hn_span_cut(&after, ':', &name);
    *token = after;
    return name;
}

static bool has_mark(hn_span s, char mark) {
    return memchr(s.at, mark, s.n) != NULL;
}

int hn_op_version(const hn_op *op, uint32_t i, bool *deprecated) {
    hn_span rest = hn_span_z(hn_op_text(op, HN_OP_VERSIONS)), token;
    for (uint32_t k = 0; hn_span_cut(&rest, ' ', &token); k++) {
        if (k < i)
            continue;
        *deprecated = has_mark(token, 'd');
        return take_number(&token);
    }
    return 0;
}

bool hn_op_is_extension(const hn_op *op) {
    return strchr(hn_op_text(op, HN_OP_VERSIONS), 'x') != NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static hn_param parse_param(hn_span token) {
    hn_span name = take_name(&token);
    size_t type_len = 0;
    while (type_len < token.n && !strchr("?*~", token.at[type_len]))
        type_len++;
    hn_param p = {.name = name.at,
                  .name_len = (uint32_t)name.n,
                  .type = token.at,
                  .type_len = (uint32_t)type_len};
    if (type_len < token.n) {
        hn_span digits = {token.at + type_len + 1, token.n - type_len - 1};
        char mark = token.at[type_len];
        p.optional = mark == '?';
        p.variadic = mark != '?';
        p.heterogeneous = mark == '~';
        p.min_arity = take_number(&digits);
    }
    return p;
}

bool hn_op_formal(const char *list, int version, uint32_t i, hn_param *out) {
    hn_span rest = hn_span_z(list), token;
    for (uint32_t k = 0; next_in_force(&rest, version, &token); k++) {
        if (k < i)
            continue;
        *out = parse_param(token);
        return true;
    }
    return false;
}

bool hn_op_param(const char *list, int version, uint32_t i, hn_param *out) {
    hn_span rest = hn_span_z(list), token;
    for (uint32_t k = 0; next_in_force(&rest, version, &token); k++) {
        *out = parse_param(token);
        if (k == i || out->variadic)
            return true;
    }
    return false;
}

void hn_op_arity(const char *list, int version, uint32_t *min, uint32_t *max) {
    hn_span rest = hn_span_z(list), token;
    uint32_t n = 0;
    *min = 0;
    *max = 0;
    while (next_in_force(&rest, version, &token)) {
        hn_param p = parse_param(token);
        if (p.variadic) {
            *min = n + (uint32_t)p.min_arity;
            *max = UINT32_MAX;
            return;
        }
        n++;
        if (!p.optional)
            *min = n;
    }
    *max = n;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static hn_attr_kind attr_kind_from_word(hn_span word) {
    static const char *const words[] = {
        [HN_ATTR_FLOAT] = "f",       [HN_ATTR_INT] = "i",           [HN_ATTR_STRING] = "s",
        [HN_ATTR_TENSOR] = "t",      [HN_ATTR_GRAPH] = "g",         [HN_ATTR_FLOATS] = "floats",
        [HN_ATTR_INTS] = "ints",     [HN_ATTR_STRINGS] = "strings", [HN_ATTR_TENSORS] = "tensors",
        [HN_ATTR_GRAPHS] = "graphs", [HN_ATTR_SPARSE] = "sparse",   [HN_ATTR_SPARSES] = "sparses",
        [HN_ATTR_TYPE] = "type",     [HN_ATTR_TYPES] = "types",
    };
    for (size_t i = 1; i < HN_COUNT(words); i++)
        if (hn_span_is(word, words[i]))
            return (hn_attr_kind)i;
    return HN_ATTR_UNDEFINED;
}

static hn_attr_spec parse_attr_spec(hn_span token) {
    hn_span name = take_name(&token);
    size_t kind_len = 0;
    while (kind_len < token.n && !strchr("!=", token.at[kind_len]))
        kind_len++;
    hn_attr_spec spec = {.name = name.at,
                         .name_len = (uint32_t)name.n,
                         .kind = attr_kind_from_word((hn_span){token.at, kind_len})};
    if (kind_len < token.n && token.at[kind_len] == '!')
        spec.required = true;
    if (kind_len < token.n && token.at[kind_len] == '=') {
        spec.def = token.at + kind_len + 1;
        spec.def_len = (uint32_t)(token.n - kind_len - 1);
    }
    return spec;
}

bool hn_walk_attr(const hn_op *op, int version, uint32_t i, hn_attr_spec *out) {
    hn_span rest = hn_span_z(hn_op_text(op, HN_OP_ATTRS)), token;
    for (uint32_t k = 0; next_in_force(&rest, version, &token); k++) {
        if (k < i)
            continue;
        *out = parse_attr_spec(token);
        return true;
    }
    return false;
}

bool hn_walk_attr_find(const hn_op *op, int version, const char *name, size_t n,
                       hn_attr_spec *out) {
    hn_span rest = hn_span_z(hn_op_text(op, HN_OP_ATTRS)), token;
    while (next_in_force(&rest, version, &token)) {
        if (token.n <= n || token.at[n] != ':' || memcmp(token.at, name, n) != 0)
            continue;
        *out = parse_attr_spec(token);
        return true;
    }
    return false;
}

/* i-th item of a default that is a list (a scalar is a list of one). */
static bool default_item(const hn_attr_spec *spec, uint32_t i, hn_span *item) {
    hn_span rest = {spec->def, spec->def_len};
    for (uint32_t k = 0; hn_span_cut(&rest, ',', item); k++)
        if (k == i)
            return true;
    return false;
}

static bool take_minus(hn_span *s) {
    if (s->n == 0 || s->at[0] != '-')
        return false;
    *s = (hn_span){s->at + 1, s->n - 1};
    return true;
}

bool hn_attr_spec_i64(const hn_attr_spec *spec, uint32_t i, int64_t *out) {
    hn_span item;
    if (!default_item(spec, i, &item))
        return false;
    bool negative = take_minus(&item);
    int64_t value = take_number(&item);
    *out = negative ? -value : value;
    return true;
}

/* By hand, because strtof follows the program's locale. Table numbers have at most nine digits, so
 * double rounds them right. */
bool hn_attr_spec_f32(const hn_attr_spec *spec, uint32_t i, float *out) {
    hn_span item;
    if (!default_item(spec, i, &item))
        return false;
    bool negative = take_minus(&item);
    double value = 0;
    int exponent = 0;
    bool in_fraction = false;
    for (; item.n > 0 && item.at[0] != 'e'; item = (hn_span){item.at + 1, item.n - 1}) {
        if (item.at[0] == '.') {
            in_fraction = true;
            continue;
        }
        value = value * 10 + (item.at[0] - '0');
        exponent -= in_fraction;
    }
    if (item.n > 0) {
        item = (hn_span){item.at + 1, item.n - 1};
        bool negative_exponent = take_minus(&item);
        int written = take_number(&item);
        exponent += negative_exponent ? -written : written;
    }
    double scale = 1;
    for (int k = 0; k < (exponent < 0 ? -exponent : exponent); k++)
        scale *= 10;
    value = exponent < 0 ? value / scale : value * scale;
    *out = (float)(negative ? -value : value);
    return true;
}
