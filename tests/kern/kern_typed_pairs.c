/* Loops over two integers, doubles or bools, and choices of elements of any size, against one
 * element at a time. */
#include "kern/kern.h"
#include "cpu/kernels/elementwise/typed_pairs.h"

#include <math.h>

enum { MOST = 1200 }; /* more than operands that repeat are laid out for at once */

#define KERN_TYPES(X)      \
  X(HN_PAIR_I8, int8_t)    \
  X(HN_PAIR_I16, int16_t)  \
  X(HN_PAIR_I32, int32_t)  \
  X(HN_PAIR_I64, int64_t)  \
  X(HN_PAIR_U8, uint8_t)   \
  X(HN_PAIR_U16, uint16_t) \
  X(HN_PAIR_U32, uint32_t) \
  X(HN_PAIR_U64, uint64_t) \
  X(HN_PAIR_F64, double)

typedef void (*exact_fn)(const char *op, const void *x, const void *y, void *z);

/* What one element is; false: the operator has none for the type. */
#define EXACT_COMPARISONS(T)                                        \
  else if (strcmp(op, "Equal") == 0) * (uint8_t *)z = a == b;       \
  else if (strcmp(op, "Less") == 0) * (uint8_t *)z = a < b;         \
  else if (strcmp(op, "LessOrEqual") == 0) * (uint8_t *)z = a <= b; \
  else if (strcmp(op, "Greater") == 0) * (uint8_t *)z = a > b;      \
  else if (strcmp(op, "GreaterOrEqual") == 0) * (uint8_t *)z = a >= b;
#define EXACT_INTEGER(T)                                                         \
  static void exact_##T(const char *op, const void *x, const void *y, void *z) { \
    T a = *(const T *)x, b = *(const T *)y, *out = z;                            \
    uint64_t wide_a = (uint64_t)a, wide_b = (uint64_t)b;                         \
    if (strcmp(op, "Add") == 0)                                                  \
      *out = (T)(wide_a + wide_b);                                               \
    else if (strcmp(op, "Sub") == 0)                                             \
      *out = (T)(wide_a - wide_b);                                               \
    else if (strcmp(op, "Mul") == 0)                                             \
      *out = (T)(wide_a * wide_b);                                               \
    else if (strcmp(op, "Div") == 0)                                             \
      *out = (T)(b == (T)-1 && (T)-1 < 1 ? 0 - wide_a : (uint64_t)(a / b));      \
    else if (strcmp(op, "Max") == 0)                                             \
      *out = a > b ? a : b;                                                      \
    else if (strcmp(op, "Min") == 0)                                             \
      *out = a < b ? a : b;                                                      \
    else if (strcmp(op, "BitwiseAnd") == 0)                                      \
      *out = (T)(a & b);                                                         \
    else if (strcmp(op, "BitwiseOr") == 0)                                       \
      *out = (T)(a | b);                                                         \
    else if (strcmp(op, "BitwiseXor") == 0)                                      \
      *out = (T)(a ^ b);                                                         \
    EXACT_COMPARISONS(T)                                                         \
  }
EXACT_INTEGER(int8_t)
EXACT_INTEGER(int16_t)
EXACT_INTEGER(int32_t)
EXACT_INTEGER(int64_t)
EXACT_INTEGER(uint8_t)
EXACT_INTEGER(uint16_t)
EXACT_INTEGER(uint32_t)
EXACT_INTEGER(uint64_t)

static void exact_double(const char *op, const void *x, const void *y, void *z) {
    double a = *(const double *)x, b = *(const double *)y, *out = z;
    if (strcmp(op, "Add") == 0)
        *out = a + b;
    else if (strcmp(op, "Sub") == 0)
        *out = a - b;
    else if (strcmp(op, "Mul") == 0)
        *out = a * b;
    else if (strcmp(op, "Div") == 0)
        *out = a / b;
    else if (strcmp(op, "Max") == 0)
        *out = a > b || a != a ? a : b;
    else if (strcmp(op, "Min") == 0)
        *out = a < b || a != a ? a : b;
    EXACT_COMPARISONS(double)
}

static void exact_bool(const char *op, const void *x, const void *y, void *z) {
    bool a = *(const uint8_t *)x != 0, b = *(const uint8_t *)y != 0;
    *(uint8_t *)z = strcmp(op, "And") == 0   ? a && b
                    : strcmp(op, "Or") == 0  ? a || b
                    : strcmp(op, "Xor") == 0 ? a != b
                                             : a == b;
}

static const struct typed_case {
    hn_pair_type type;
    size_t bytes;
    exact_fn exact;
} typed_cases[] = {
#define TYPED_ROW(id, T) {id, sizeof(T), exact_##T},
    KERN_TYPES(TYPED_ROW){HN_PAIR_BOOL, 1, exact_bool}};

/* Ends of the ranges, equal numbers and small ones come up. */
static void *odd_elements(const struct typed_case *t, int64_t n, bool has_zeros) {
    uint8_t *data = kern_bytes(n * (int64_t)t->bytes);
    for (int64_t i = 0; i < n; i++) {
        uint64_t kind = kern_random() % 4;
        uint64_t bits = kind == 0   ? (uint64_t)0 - kern_random() % 3
                        : kind == 1 ? (uint64_t)1 << (8 * t->bytes - 1)
                        : kind == 2 ? (uint64_t)kern_random() % 4
                                    : kern_random();
        double number = kind == 0 ? (double)NAN : kind == 1 ? -0.0 : (double)(int64_t)bits;
        if (t->type == HN_PAIR_F64)
            memcpy(&bits, &number, sizeof bits);
        memcpy(data + i * (int64_t)t->bytes, &bits, t->bytes);
        static const uint8_t nothing[8];
        if (!has_zeros && memcmp(data + i * (int64_t)t->bytes, nothing, t->bytes) == 0)
            data[i * (int64_t)t->bytes] = 1;
    }
    return data;
}

static bool is_truth_of(const char *op) {
    return strstr("Equal LessOrEqual GreaterOrEqual", op) != NULL;
}

static void check_typed(const struct typed_case *t, const char *op, hn_binary_fn fn, int64_t n,
                        const int steps[2], int over) {
    size_t bytes = t->bytes, out_bytes = is_truth_of(op) ? 1 : bytes;
    bool has_zeros = strcmp(op, "Div") != 0 || t->type == HN_PAIR_F64;
    uint8_t *x = odd_elements(t, steps[0] ? n : 1, true);
    uint8_t *y = odd_elements(t, steps[1] ? n : 1, has_zeros);
    uint8_t *z = over == 1 ? x : over == 2 ? y : kern_bytes(n * (int64_t)out_bytes);
    static uint8_t expected[MOST * 8];
    for (int64_t i = 0; i < n; i++)
        t->exact(op, x + (steps[0] ? i : 0) * (int64_t)bytes,
                 y + (steps[1] ? i : 0) * (int64_t)bytes, expected + i * (int64_t)out_bytes);
    fn(x, steps[0], y, steps[1], z, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *is = z + i * (int64_t)out_bytes, *want = expected + i * (int64_t)out_bytes;
        bool are_nan = t->type == HN_PAIR_F64 && out_bytes == 8 &&
                       *(const double *)is != *(const double *)is &&
                       *(const double *)(const void *)want != *(const double *)(const void *)want;
        KERN_CHECK(are_nan || memcmp(is, want, out_bytes) == 0,
                   "%s of type %d, %d elements, steps %d and %d: element %d differs", op,
                   (int)t->type, (int)n, steps[0], steps[1], (int)i);
    }
    kern_release();
}

static void check_typed_choice(hn_select_fn fn, int64_t bytes, int64_t n, const int steps[3]) {
    struct typed_case t = {HN_PAIR_U8, (size_t)bytes, NULL};
    uint8_t *flags = kern_bytes(steps[0] ? n : 1);
    uint8_t *x = odd_elements(&t, steps[1] ? n : 1, true);
    uint8_t *y = odd_elements(&t, steps[2] ? n : 1, true), *z = kern_bytes(n * bytes);
    for (int64_t i = 0; i < (steps[0] ? n : 1); i++)
        flags[i] = (uint8_t)(kern_random() % 2 ? 0 : kern_random() % 256);
    fn(flags, x, y, steps, z, (uint64_t)n);
    for (int64_t i = 0; i < n; i++)
        KERN_CHECK(memcmp(z + i * bytes,
                          flags[steps[0] ? i : 0] ? x + (steps[1] ? i : 0) * bytes
                                                  : y + (steps[2] ? i : 0) * bytes,
                          (size_t)bytes) == 0,
                   "choice of %d elements of %d bytes: element %d differs", (int)n, (int)bytes,
                   (int)i);
    kern_release();
}

static int64_t next_size(int64_t n) {
    return n < 70 ? n + 1 : n + 557;
}

void kern_test_typed_pairs(void) {
    const hn_typed_pairs *best = hn_typed_pairs_pick();
    for (const hn_typed_pair *p = best ? best->pairs : NULL; p && p->op; p++)
        for (size_t k = 0; k < HN_COUNT(typed_cases); k++)
            for (int64_t n = 0; p->by_type[typed_cases[k].type] && n < MOST; n = next_size(n))
                for (int form = 0; form < 12; form++) {
                    int steps[2] = {form & 1, form >> 1 & 1}, over = form >> 2;
                    bool fits = over == 0 || (steps[over - 1] && !is_truth_of(p->op));
                    if (fits)
                        check_typed(&typed_cases[k], p->op, p->by_type[typed_cases[k].type], n,
                                    steps, over);
                }
    for (int64_t bytes = 1; best && bytes <= 8; bytes *= 2)
        for (int64_t n = 0; n < MOST; n = next_size(n))
            for (int form = 0; form < 8; form++)
                check_typed_choice(hn_select_find((size_t)bytes), bytes, n,
                                   (int[]){form & 1, form >> 1 & 1, form >> 2});
}
