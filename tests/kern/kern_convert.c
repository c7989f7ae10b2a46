/* Conversions of runs, against those of single elements. */
#include "kern/kern.h"
#include "cpu/kernels/convert/convert.h"

#include <math.h>

typedef struct half_format {
    const char *name;
    void (*widen)(uint64_t n, const uint16_t *x, float *y);
    void (*narrow)(uint64_t n, const float *x, uint16_t *y);
    float (*widen_one)(uint16_t h);
    uint16_t (*narrow_one)(float f);
} half_format;

static half_format format_at(int i) {
    const hn_conversions *by = hn_conversions_find();
    return i == 0 ? (half_format){"half", by->halves_to_floats, by->floats_to_halves, hn_f16_to_f32,
                                  hn_f32_to_f16}
                  : (half_format){"bfloat", by->bfloats_to_floats, by->floats_to_bfloats,
                                  hn_bf16_to_f32, hn_f32_to_bf16};
}

static void check_halves(const half_format *f, uint32_t first, int64_t n) {
    uint16_t *x = kern_bytes(n * 2), *back = kern_bytes(n * 2);
    float *y = kern_floats(n);
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint16_t)(first + i);
    f->widen((uint64_t)n, x, y);
    f->narrow((uint64_t)n, y, back);
    for (int64_t i = 0; i < n; i++) {
        float exact = f->widen_one(x[i]);
        KERN_CHECK(memcmp(&exact, y + i, sizeof exact) == 0, "%s %04x is %g, not %g", f->name, x[i],
                   (double)y[i], (double)exact);
        KERN_CHECK(back[i] == f->narrow_one(exact), "%s %04x comes back as %04x", f->name, x[i],
                   back[i]);
    }
    kern_release();
}

/* Bits in steps through all floats: ties, numbers too large and too small for halves, NaN. */
static void check_floats(const half_format *f, uint32_t first, uint32_t step, int64_t n) {
    float *x = kern_floats(n);
    uint16_t *y = kern_bytes(n * 2);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits = first + (uint32_t)i * step;
        memcpy(x + i, &bits, sizeof bits);
    }
    f->narrow((uint64_t)n, x, y);
    for (int64_t i = 0; i < n; i++)
        KERN_CHECK(y[i] == f->narrow_one(x[i]), "%a becomes %s %04x, not %04x", (double)x[i],
                   f->name, y[i], f->narrow_one(x[i]));
    kern_release();
}

static void check_bytes(int64_t n) {
    uint8_t *x = kern_bytes(n);
    float *y = kern_floats(n);
    hn_conversions_find()->bytes_to_floats((uint64_t)n, x, y);
    for (int64_t i = 0; i < n; i++)
        KERN_CHECK(y[i] == (float)x[i], "byte %d becomes %g", x[i], (double)y[i]);
    kern_release();
}

void kern_test_convert(void) {
    for (int i = 0; i < 2; i++) {
        half_format f = format_at(i);
        for (uint32_t first = 0; first < 1 << 16; first += 1009)
            check_halves(&f, first, 1009);
        for (int64_t n = 0; n < 70; n++) {
            check_halves(&f, kern_random(), n);
            check_floats(&f, kern_random(), 0x1000, n);
        }
        for (uint32_t k = 0; k < 64; k++)
            check_floats(&f, k * 0x4001000, 0x1000, 16411);
    }
    for (int64_t n = 0; n < 70; n++)
        check_bytes(n);
}
