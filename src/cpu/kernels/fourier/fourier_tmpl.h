/* Fourier transforms for one instruction set: butterflies of two, of which the first two rounds are
 * one without products. The compiler makes the vectors. 256 complex numbers with AVX-512: 0.5 us.
 */

/* Groups of two and then of four. */
V_INLINE void V_NAME(fourier_first)(int64_t n, double *restrict re, double *restrict im) {
    for (int64_t i = 0; i + 4 <= n; i += 4) {
        double *r = re + i, *m = im + i;
        double ar = r[0] + r[1], ai = m[0] + m[1], br = r[0] - r[1], bi = m[0] - m[1];
        double cr = r[2] + r[3], ci = m[2] + m[3], dr = r[2] - r[3], di = m[2] - m[3];
        r[0] = ar + cr;
        m[0] = ai + ci;
        r[1] = br + di;
        m[1] = bi - dr;
        r[2] = ar - cr;
        m[2] = ai - ci;
        r[3] = br - di;
        m[3] = bi + dr;
    }
    if (n == 2) {
        double r = re[0], m = im[0];
        re[0] = r + re[1];
        im[0] = m + im[1];
        re[1] = r - re[1];
        im[1] = m - im[1];
    }
}

V_INLINE void V_NAME(fourier_group)(int64_t half, const double *restrict wr,
                                    const double *restrict wi, double *restrict ar,
                                    double *restrict ai, double *restrict br, double *restrict bi) {
    for (int64_t k = 0; k < half; k++) {
        double tr = br[k] * wr[k] - bi[k] * wi[k], ti = br[k] * wi[k] + bi[k] * wr[k];
        br[k] = ar[k] - tr;
        bi[k] = ai[k] - ti;
        ar[k] += tr;
        ai[k] += ti;
    }
}

hn_fourier_fn V_NAME(hn_fourier);
V_TARGET void V_NAME(hn_fourier)(int64_t n, const double *roots, double *re, double *im) {
    V_NAME(fourier_first)(n, re, im);
    for (int64_t half = 4; half < n && !hn_spent((uint64_t)n); roots += 2 * half, half *= 2)
        for (int64_t i = 0; i < n; i += 2 * half)
            V_NAME(fourier_group)
    (half, roots, roots + half, re + i, im + i, re + i + half, im + i + half);
}
