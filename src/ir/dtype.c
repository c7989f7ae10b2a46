#include "ir/ir.h"

static const struct {
    const char *name;
    int bits;
} dtype_facts[HN_DTYPE_COUNT] = {
#define HN_DTYPE_FACT(id, number, text, n_bits) [number] = {text, n_bits},
    HN_DTYPE_LIST(HN_DTYPE_FACT)
#undef HN_DTYPE_FACT
};

/* A file may hold any number where a type belongs. */
static bool dtype_exists(hn_dtype t) {
    return (int)t >= 0 && (int)t < HN_DTYPE_COUNT;
}

const char *hn_dtype_name(hn_dtype t) {
    return dtype_exists(t) ? dtype_facts[t].name : "?";
}

int hn_dtype_bits(hn_dtype t) {
    return dtype_exists(t) ? dtype_facts[t].bits : 0;
}

hn_dtype hn_dtype_from_name(const char *name, size_t n) {
    for (int t = HN_UNDEFINED + 1; t < HN_DTYPE_COUNT; t++) {
        const char *candidate = dtype_facts[t].name;
        if (strlen(candidate) == n && memcmp(candidate, name, n) == 0)
            return (hn_dtype)t;
    }
    return HN_UNDEFINED;
}

bool hn_dtype_is_int(hn_dtype t) {
    switch (t) {
    case HN_U8:
    case HN_I8:
    case HN_U16:
    case HN_I16:
    case HN_I32:
    case HN_I64:
    case HN_U32:
    case HN_U64:
    case HN_U4:
    case HN_I4:
    case HN_U2:
    case HN_I2:
        return true;
    default:
        return false;
    }
}

bool hn_dtype_is_float(hn_dtype t) {
    switch (t) {
    case HN_F32:
    case HN_F16:
    case HN_F64:
    case HN_BF16:
    case HN_F8E4M3FN:
    case HN_F8E4M3FNUZ:
    case HN_F8E5M2:
    case HN_F8E5M2FNUZ:
    case HN_F4E2M1:
    case HN_F8E8M0:
    case HN_F6E2M3:
    case HN_F6E3M2:
        return true;
    default:
        return false;
    }
}

bool hn_dtype_bytes(hn_dtype t, uint64_t n_elems, uint64_t *bytes) {
    uint64_t bits = (uint64_t)hn_dtype_bits(t);
    if (bits >= 8)
        return hn_mul_u64(n_elems, bits / 8, bytes);
    if (bits == 0) {
        *bytes = 0;
        return true;
    }
    uint64_t n_left = n_elems % 8; /* eight elements fill `bits` bytes */
    *bytes = n_elems / 8 * bits + (n_left * bits + 7) / 8;
    return true;
}
