/* Sums, products and tables of bytes, against plain C. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/quantize/byte_lookup.h"
#include "cpu/kernels/quantize/byte_pairs.h"

static uint8_t *random_bytes(int64_t n) {
    uint8_t *x = kern_bytes(n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint8_t)kern_between(0, 255);
    return x;
}

static void check_byte_pair(hn_byte_pair_fn fast, hn_byte_pair_fn plain, int64_t n,
                            const hn_byte_pair *by, const char *what) {
    for (int steps = 0; steps < 4; steps++) {
        int a_step = steps & 1, b_step = steps >> 1;
        const uint8_t *a = random_bytes(a_step ? n : 1), *b = random_bytes(b_step ? n : 1);
        uint8_t *y = kern_bytes(n), *y_plain = kern_bytes(n);
        fast((uint64_t)n, a, a_step, b, b_step, by, y);
        plain((uint64_t)n, a, a_step, b, b_step, by, y_plain);
        KERN_CHECK(memcmp(y, y_plain, (size_t)n) == 0, "%s of %d bytes, steps %d and %d", what,
                   (int)n, a_step, b_step);
        kern_release();
    }
}

void kern_test_byte_pairs(void) {
    const hn_byte_pair_loops *fast = hn_byte_pair_loops_find(),
                             *plain = &hn_byte_pair_loops__scalar;
    for (int64_t n = 1; n < 70; n++)
        for (int i = 0; i < 4; i++) {
            hn_byte_pair by = {.a_zero = (float)kern_between(-128, 255),
                               .b_zero = (float)kern_between(-128, 255),
                               .by_a = ldexpf(1.0f + (float)i / 3, (int)kern_between(-9, 3)),
                               .by_b = ldexpf(1.0f, (int)kern_between(-6, 2)),
                               .y_zero = (float)kern_between(-128, 255)};
            check_byte_pair(fast->add_u8, plain->add_u8, n, &by, "sum of uint8");
            check_byte_pair(fast->add_s8, plain->add_s8, n, &by, "sum of int8");
            check_byte_pair(fast->mul_u8, plain->mul_u8, n, &by, "product of uint8");
            check_byte_pair(fast->mul_s8, plain->mul_s8, n, &by, "product of int8");
        }
}

void kern_test_byte_lookup(void) {
    for (int64_t n = 0; n < 200; n++) {
        const uint8_t *x = random_bytes(n), *table = random_bytes(256);
        uint8_t *y = kern_bytes(n), *y_plain = kern_bytes(n);
        hn_byte_lookup_find()((uint64_t)n, x, table, y);
        hn_byte_lookup__scalar((uint64_t)n, x, table, y_plain);
        KERN_CHECK(memcmp(y, y_plain, (size_t)n) == 0, "%d bytes by a table", (int)n);
        kern_release();
    }
}
