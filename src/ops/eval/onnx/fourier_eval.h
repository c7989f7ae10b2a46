/* Fourier transforms in two steps: tables that lengths decide, and lines of numbers. */
#ifndef HN_FOURIER_EVAL_H
#define HN_FOURIER_EVAL_H

#include "cpu/kernels/fourier/fourier.h"
#include "ops/eval/eval_int.h"

/* Transforms of n numbers. Real ones of even length are n / 2 complex ones. */
typedef struct hn_fourier_plan {
    int64_t n, length;     /* of a line; numbers that are transformed */
    int64_t padded;        /* a power of two: length itself, or enough for the convolution that
                              stands for the transform */
    const double *roots;   /* of hn_fourier_roots */
    const int32_t *places; /* of hn_fourier_reversed */
    /* Real parts, then imaginary ones. */
    const double *chirp;  /* [length]: exp(-pi i k^2 / length); NULL: length is a power of two */
    const double *filter; /* [padded] */
    const double *halves; /* [length]: exp(-2 pi i k / n); NULL: n is not two times length */
    hn_fourier_fn *transform;
} hn_fourier_plan;
/* What it refers to lives as long as the evaluation, or the plan. */
hone_status hn_fourier_plan_new(hn_eval *c, int64_t n, bool is_real, hn_fourier_plan *f);

/* What attributes and shapes say of DFT and STFT. */
typedef struct hn_fourier_form {
    hn_fourier_plan plan;
    int64_t n_lines, in_parts, out_parts;
    int64_t in, out, inner; /* DFT: numbers of a line; elements between neighbours, in numbers */
    bool is_inverse, is_onesided;
    int64_t frames, samples, step; /* STFT: of a signal, whose windows begin `step` apart */
    bool has_window;
} hn_fourier_form;
hone_status hn_dft_read(hn_eval *c, hn_fourier_form *f);
hone_status hn_stft_read(hn_eval *c, hn_fourier_form *f);
/* Doubles that one thread works with. */
uint64_t hn_fourier_room(const hn_fourier_form *f);

/* Data of float32, or of float64; `room` is for all threads of the pool. */
typedef struct hn_fourier_io {
    bool is_double;
    const void *x, *window;
    void *y;
    double *room;
} hn_fourier_io;
void hn_dft_run(hn_pool *pool, const hn_fourier_form *f, const hn_fourier_io *io);
void hn_stft_run(hn_pool *pool, const hn_fourier_form *f, const hn_fourier_io *io);

#endif /* HN_FOURIER_EVAL_H */
