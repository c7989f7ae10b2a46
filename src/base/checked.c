/* Arithmetic with overflow checks. */
#include "base/base.h"

bool hn_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    if (b > UINT64_MAX - a)
        return false;
    *out = a + b;
    return true;
}

bool hn_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

bool hn_add_i64(int64_t a, int64_t b, int64_t *out) {
    if (b >= 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *out = a + b;
    return true;
}

bool hn_sub_i64(int64_t a, int64_t b, int64_t *out) {
    if (b >= 0 ? a < INT64_MIN + b : a > INT64_MAX + b)
        return false;
    *out = a - b;
    return true;
}

static uint64_t magnitude_i64(int64_t v) {
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

bool hn_mul_i64(int64_t a, int64_t b, int64_t *out) {
    bool negative = (a < 0) != (b < 0);
    uint64_t limit = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX;
    uint64_t product;
    if (!hn_mul_u64(magnitude_i64(a), magnitude_i64(b), &product) || product > limit)
        return false;
    *out = a * b;
    return true;
}

bool hn_add_size(size_t a, size_t b, size_t *out) {
    if (b > SIZE_MAX - a)
        return false;
    *out = a + b;
    return true;
}

bool hn_mul_size(size_t a, size_t b, size_t *out) {
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *out = a * b;
    return true;
}

int64_t hn_floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

int64_t hn_floor_mod(int64_t a, int64_t b) {
    int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}
