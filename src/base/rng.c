/* xoshiro256** (Blackman and Vigna), seeded by splitmix64. */
#include "base/base.h"

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

void hn_rng_seed(hn_rng *r, uint64_t seed) {
    for (size_t i = 0; i < HN_COUNT(r->s); i++) {
        r->s[i] = splitmix64(&seed);
    }
}

static inline uint64_t rotate_left64(uint64_t v, int bits) {
    return v << bits | v >> (64 - bits);
}

uint64_t hn_rng_u64(hn_rng *r) {
    uint64_t *s = r->s;
    uint64_t result = rotate_left64(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left64(s[3], 45);
    return result;
}

uint64_t hn_rng_below(hn_rng *r, uint64_t n) {
    /* 2^64 mod n draws are surplus: without them every remainder is equally frequent. */
    uint64_t n_surplus = (0 - n) % n;
    uint64_t v;
    do {
        v = hn_rng_u64(r);
    } while (v < n_surplus);
    return v % n;
}

double hn_rng_f64(hn_rng *r) {
    return (double)(hn_rng_u64(r) >> 11) * 0x1p-53;
}

/* The normal deviate must have the same bits on every machine, which rules out log and cos of the C
 * library (and fused multiply-adds). Karney's method ("Sampling exactly from the normal
 * distribution", 2016) only compares uniform deviates: the length of a falling run of them is even
 * with probability exp(-x), x being the starting height. */

/* True with probability exp(-1/2). */
static bool chance_exp_half(hn_rng *r) {
    uint64_t height = UINT64_C(1) << 63;
    for (bool is_even = true;; is_even = !is_even) {
        uint64_t u = hn_rng_u64(r);
        if (u >= height) {
            return is_even;
        }
        height = u;
    }
}

/* True with probability exp(-x (2k + x) / (2k + 2)). */
static bool chance_exp_wedge(hn_rng *r, int k, double x) {
    double keep = (2 * k + x) / (2 * k + 2);
    double height = x;
    for (bool is_even = true;; is_even = !is_even) {
        double u = hn_rng_f64(r);
        if (u >= height || hn_rng_f64(r) >= keep) {
            return is_even;
        }
        height = u;
    }
}

/* The integer part of |deviate|: k with probability proportional to exp(-k^2 / 2), or -1 to try
 * again. */
static int draw_normal_integer(hn_rng *r) {
    int k = 0;
    while (chance_exp_half(r)) {
        k++;
    }
    for (int i = 0; i < k * (k - 1); i++) {
        if (!chance_exp_half(r)) {
            return -1;
        }
    }
    return k;
}

static bool accept_normal_fraction(hn_rng *r, int k, double x) {
    for (int i = 0; i <= k; i++) {
        if (!chance_exp_wedge(r, k, x)) {
            return false;
        }
    }
    return true;
}

float hn_rng_normal(hn_rng *r) {
    int k;
    double x;
    do {
        k = draw_normal_integer(r);
        x = hn_rng_f64(r);
    } while (k < 0 || !accept_normal_fraction(r, k, x));
    float magnitude = (float)(k + x);
    return hn_rng_u64(r) >> 63 ? -magnitude : magnitude;
}
