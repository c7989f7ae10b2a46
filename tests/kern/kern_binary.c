/* Loops over two operands, choices, and boxes that overlap, against plain C. */
#include "kern/kern.h"
#include "cpu/kernels/overlap/overlap.h"
#include "cpu/kernels/elementwise/binary.h"

#include <math.h>

/* ---- pairs ---- */

#define KERN_PAIRS(X)               \
  X(Add, x + y)                     \
  X(Sub, x - y)                     \
  X(Mul, x *y)                      \
  X(Div, x / y)                     \
  X(Max, isnan(x) || x > y ? x : y) \
  X(Min, isnan(x) || x < y ? x : y) \
  X(PRelu, x < 0 ? x * y : x)
#define KERN_TESTS(X)    \
  X(Equal, x == y)       \
  X(Less, x < y)         \
  X(LessOrEqual, x <= y) \
  X(Greater, x > y)      \
  X(GreaterOrEqual, x >= y)

#define DEFINE_PAIR(op, expr)                      \
  static float exact_pair_##op(float x, float y) { \
    return (float)(expr);                          \
  }
KERN_PAIRS(DEFINE_PAIR)
KERN_TESTS(DEFINE_PAIR)

static const struct pair_case {
    const char *op;
    bool is_test; /* gives bytes */
    float (*exact)(float x, float y);
} pair_cases[] = {
#define PAIR_ROW(op, expr) {#op, false, exact_pair_##op},
#define TEST_ROW(op, expr) {#op, true, exact_pair_##op},
    KERN_PAIRS(PAIR_ROW) KERN_TESTS(TEST_ROW)};

/* Numbers that are equal, zeros of both signs, infinities and NaN come up. */
static float *odd_floats(int64_t n) {
    static const float odd[] = {0.0f, -0.0f, HUGE_VALF, -HUGE_VALF, NAN, 1.0f};
    float *x = kern_floats(n);
    for (int64_t i = 0; i < n; i++)
        if (kern_random() % 3 == 0)
            x[i] = odd[kern_random() % HN_COUNT(odd)];
    return x;
}

static bool is_same(float a, float b) {
    return isnan(a) ? isnan(b) : memcmp(&a, &b, sizeof a) == 0;
}

/* over: 0 apart, 1 the result lies over x, 2 over y. */
static void check_pair(const struct pair_case *t, hn_binary_fn fn, int64_t n, const int steps[2],
                       int over) {
    float *x = odd_floats(steps[0] ? n : 1), *y = odd_floats(steps[1] ? n : 1);
    float *z = over == 1 ? x : over == 2 ? y : kern_floats(n);
    float expected[128];
    for (int64_t i = 0; i < n; i++)
        expected[i] = t->exact(x[steps[0] ? i : 0], y[steps[1] ? i : 0]);
    uint8_t *bytes = t->is_test ? (uint8_t *)kern_floats((n + 3) / 4) + (-n & 3) : NULL;
    fn(x, steps[0], y, steps[1], t->is_test ? (void *)bytes : z, (uint64_t)n);
    for (int64_t i = 0; i < n; i++)
        KERN_CHECK(t->is_test ? bytes[i] == (uint8_t)expected[i] : is_same(z[i], expected[i]),
                   "%s of %d, steps %d and %d: element %d differs", t->op, (int)n, steps[0],
                   steps[1], (int)i);
    kern_release();
}

static void test_pair(const struct pair_case *t) {
    hn_binary_fn fn = hn_binary_find_f32(t->op);
    for (int64_t n = 0; fn && n < 100; n += n < 36 ? 1 : 21)
        for (int form = 0; form < 4; form++)
            for (int over = 0; over < 3; over++) {
                int steps[2] = {form & 1, form >> 1};
                if (over == 0 || (steps[over - 1] && !t->is_test))
                    check_pair(t, fn, n, steps, over);
            }
}

/* ---- choices ---- */

static void check_choice(hn_select_fn fn, int64_t n, const int steps[3]) {
    int64_t n_flags = steps[0] ? n : 1;
    uint8_t *flags = (uint8_t *)kern_floats((n_flags + 3) / 4) + (-n_flags & 3);
    float *x = odd_floats(steps[1] ? n : 1), *y = odd_floats(steps[2] ? n : 1), *z = kern_floats(n);
    for (int64_t i = 0; i < n_flags; i++)
        flags[i] = (uint8_t)(kern_random() % 2 ? 0 : kern_random() % 256);
    fn(flags, x, y, steps, z, (uint64_t)n);
    for (int64_t i = 0; i < n; i++) {
        const float *from =
            flags[steps[0] ? i : 0] ? x + (steps[1] ? i : 0) : y + (steps[2] ? i : 0);
        KERN_CHECK(memcmp(z + i, from, sizeof *z) == 0, "choice of %d: element %d differs", (int)n,
                   (int)i);
    }
    kern_release();
}

void kern_test_binary(void) {
    hn_select_fn choose = hn_select_find_32();
    for (size_t i = 0; i < HN_COUNT(pair_cases); i++)
        test_pair(&pair_cases[i]);
    for (int64_t n = 0; choose && n < 100; n += n < 36 ? 1 : 21)
        for (int form = 0; form < 8; form++)
            check_choice(choose, n, (int[]){form & 1, (form >> 1) & 1, form >> 2});
}

/* ---- boxes ---- */

static hn_corners random_box(void) {
    float y = (float)kern_between(0, 40), x = (float)kern_between(0, 40);
    hn_corners box = {y, x, y + (float)kern_between(-1, 12), x + (float)kern_between(-1, 12), 0};
    box.area = (box.y2 - box.y1) * (box.x2 - box.x1);
    return box;
}

void kern_test_overlap(void) {
    for (int64_t n = 0; n < 70; n++) {
        int64_t room = (n + HN_OVERLAP_UNIT - 1) / HN_OVERLAP_UNIT * HN_OVERLAP_UNIT;
        hn_corner_lists lists = {kern_floats(room), kern_floats(room), kern_floats(room),
                                 kern_floats(room), kern_floats(room)};
        for (int64_t i = 0; i < room; i++) {
            hn_corners box = random_box();
            lists.y1[i] = box.y1;
            lists.x1[i] = box.x1;
            lists.y2[i] = box.y2;
            lists.x2[i] = box.x2;
            lists.area[i] = i < n ? box.area : 0;
        }
        for (int k = 0; k < 50; k++) {
            hn_corners box = random_box();
            float threshold = (float)kern_between(0, 9) / 10;
            KERN_CHECK(hn_overlap_find()(&lists, n, &box, threshold) ==
                           hn_overlaps__scalar(&lists, n, &box, threshold),
                       "a box among %d overlaps differently", (int)n);
        }
        kern_release();
    }
}
