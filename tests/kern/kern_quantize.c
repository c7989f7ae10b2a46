/* Quantization to bytes and back, against plain C. */
#include "kern/kern.h"

#include <math.h>

#include "cpu/kernels/quantize/quantize.h"

/* Ties, numbers past both ends, NaN and infinities. */
static float *hostile_floats(int64_t n, float scale) {
    float *x = kern_floats(n);
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e30f, -1e30f, 1e-40f};
    for (int64_t i = 0; i < n; i++)
        switch (kern_between(0, 4)) {
        case 0:
            x[i] = odd[kern_between(0, HN_COUNT(odd) - 1)];
            break;
        case 1:
            x[i] = ((float)kern_between(-300, 300) + 0.5f) * scale;
            break;
        default:
            x[i] *= 200 * scale;
        }
    return x;
}

static void check_quantize(int64_t n, float scale, float zero) {
    const hn_quantize_loops *fast = hn_quantize_loops_find(), *plain = &hn_quantize_loops__scalar;
    const float *x = hostile_floats(n, scale);
    uint64_t size = (uint64_t)n;
    uint8_t *u = kern_bytes(n), *u_plain = kern_bytes(n);
    int8_t *s = kern_bytes(n), *s_plain = kern_bytes(n);
    float *y = kern_floats(n), *y_plain = kern_floats(n);
    fast->to_u8(size, x, scale, zero, u);
    plain->to_u8(size, x, scale, zero, u_plain);
    KERN_CHECK(memcmp(u, u_plain, size) == 0, "%d numbers become other uint8", (int)n);
    fast->to_s8(size, x, scale, zero - 128, s);
    plain->to_s8(size, x, scale, zero - 128, s_plain);
    KERN_CHECK(memcmp(s, s_plain, size) == 0, "%d numbers become other int8", (int)n);
    fast->from_u8(size, u, scale, zero, y);
    plain->from_u8(size, u, scale, zero, y_plain);
    KERN_CHECK(memcmp(y, y_plain, size * sizeof *y) == 0, "%d uint8 become others", (int)n);
    fast->from_s8(size, s, scale, zero - 128, y);
    plain->from_s8(size, s, scale, zero - 128, y_plain);
    KERN_CHECK(memcmp(y, y_plain, size * sizeof *y) == 0, "%d int8 become others", (int)n);
    float lo, hi, lo_plain, hi_plain;
    fast->range(size, x, &lo, &hi);
    plain->range(size, x, &lo_plain, &hi_plain);
    KERN_CHECK(lo == lo_plain && hi == hi_plain, "%d numbers have another range", (int)n);
    kern_release();
}

void kern_test_quantize(void) {
    for (int64_t n = 0; n < 70; n++)
        for (int i = 0; i < 8; i++)
            check_quantize(n, ldexpf(1.0f + (float)i / 7, (int)kern_between(-20, 10)),
                           (float)kern_between(0, 255));
}
