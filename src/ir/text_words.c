/* Keywords shared by the printer and the parser of the textual syntax. */
#include "ir/text_int.h"

static const char *const attr_kind_names[] = {
    [HN_ATTR_UNDEFINED] = "undefined",
    [HN_ATTR_FLOAT] = "float",
    [HN_ATTR_INT] = "int",
    [HN_ATTR_STRING] = "string",
    [HN_ATTR_TENSOR] = "tensor",
    [HN_ATTR_GRAPH] = "graph",
    [HN_ATTR_FLOATS] = "floats",
    [HN_ATTR_INTS] = "ints",
    [HN_ATTR_STRINGS] = "strings",
    [HN_ATTR_TENSORS] = "tensors",
    [HN_ATTR_GRAPHS] = "graphs",
    [HN_ATTR_SPARSE] = "sparse_tensor",
    [HN_ATTR_SPARSES] = "sparse_tensors",
    [HN_ATTR_TYPE] = "type_proto",
    [HN_ATTR_TYPES] = "type_protos",
};

const char *hn_text_attr_kind_name(hn_attr_kind kind) {
    size_t i = (size_t)kind;
    return attr_kind_names[i < HN_COUNT(attr_kind_names) ? i : HN_ATTR_UNDEFINED];
}

static bool is_same_text(const char *s, size_t n, const char *text) {
    return strlen(text) == n && memcmp(s, text, n) == 0;
}

bool hn_text_attr_kind_from_name(hn_bytes name, hn_attr_kind *out) {
    for (size_t i = 0; i < HN_COUNT(attr_kind_names); i++) {
        if (is_same_text(name.at, name.n, attr_kind_names[i])) {
            *out = (hn_attr_kind)i;
            return true;
        }
    }
    return false;
}

bool hn_text_is_identifier(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return n > 0;
}

bool hn_text_is_type_word(const char *s, size_t n) {
    static const char *const others[] = {"seq",           "map",    "optional",
                                         "sparse_tensor", "opaque", "undefined"};
    for (size_t i = 0; i < HN_COUNT(others); i++) {
        if (is_same_text(s, n, others[i]))
            return true;
    }
    return hn_dtype_from_name(s, n) != HN_UNDEFINED;
}

bool hn_text_is_float_word(const char *s, size_t n) {
    static const char *const words[] = {"inf", "infinity", "nan"};
    for (size_t i = 0; i < HN_COUNT(words); i++) {
        size_t k = 0;
        while (k < n && words[i][k] && (s[k] | 0x20) == words[i][k])
            k++;
        if (k == n && !words[i][k])
            return true;
    }
    return false;
}

uint64_t hn_text_n_literals(hn_dtype t, uint64_t n_elems, uint64_t data_bytes) {
    if (t == HN_C64 || t == HN_C128)
        return data_bytes / (t == HN_C64 ? 4 : 8);
    int bits = hn_dtype_bits(t);
    return bits > 0 && bits < 8 ? data_bytes : n_elems;
}
