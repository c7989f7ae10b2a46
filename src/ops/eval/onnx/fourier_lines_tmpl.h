/* Lines of DFT and STFT for one type of element: T, and NAME(x) that appends the type's name. */

/* The numbers that the transform sees: cut or filled with zeros; half a spectrum gets its mirror
 * image. */
static void NAME(load_dft_line)(const hn_fourier_form *f, const T *x, double *re, double *im) {
    int64_t n = f->plan.n, half = f->is_onesided && f->is_inverse ? n / 2 + 1 : n;
    int64_t there = HN_MIN(f->in, half), step = f->inner * f->in_parts;
    for (int64_t k = 0; k < there; k++)
        re[k] = (double)x[k * step];
    for (int64_t k = 0; k < there; k++)
        im[k] = f->in_parts == 2 ? (double)x[k * step + 1] : 0;
    for (int64_t k = there; k < n; k++)
        re[k] = im[k] = 0;
    for (int64_t k = half; k < n; k++) {
        re[k] = re[n - k];
        im[k] = -im[n - k];
    }
}

static void NAME(dft_lines)(void *ctx, int lane, int64_t begin, int64_t end) {
    const fourier_job *j = ctx;
    const hn_fourier_form *f = j->form;
    double *re = j->io->room + (uint64_t)lane * hn_fourier_room(f), *im = re + f->plan.n;
    int64_t step = f->inner * f->out_parts;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(j->pool); i++) {
        int64_t o = i / f->inner, in = i % f->inner;
        T *y = (T *)j->io->y + (o * f->out * f->inner + in) * f->out_parts;
        NAME(load_dft_line)
        (f, (const T *)j->io->x + (o * f->in * f->inner + in) * f->in_parts, re, im);
        fourier_run(&f->plan, f->is_inverse, re, im, im + f->plan.n);
        for (int64_t k = 0; k < HN_MIN(f->out, f->plan.n); k++) {
            y[k * step] = (T)re[k];
            if (f->out_parts == 2)
                y[k * step + 1] = (T)im[k];
        }
    }
}

static void NAME(stft_frames)(void *ctx, int lane, int64_t begin, int64_t end) {
    const fourier_job *j = ctx;
    const hn_fourier_form *f = j->form;
    double *re = j->io->room + (uint64_t)lane * hn_fourier_room(f), *im = re + f->plan.n;
    const T *window = j->io->window;
    int64_t parts = f->in_parts;
    for (int64_t i = begin; i < end && !hn_pool_is_stopped(j->pool); i++) {
        const T *x =
            (const T *)j->io->x + (i / f->frames * f->samples + i % f->frames * f->step) * parts;
        T *y = (T *)j->io->y + i * f->out * 2;
        for (int64_t k = 0; k < f->plan.n; k++) {
            double w = window ? (double)window[k] : 1;
            re[k] = w * (double)x[k * parts];
            im[k] = parts == 2 ? w * (double)x[k * parts + 1] : 0;
        }
        fourier_run(&f->plan, false, re, im, im + f->plan.n);
        for (int64_t k = 0; k < f->out; k++) {
            y[2 * k] = (T)re[k];
            y[2 * k + 1] = (T)im[k];
        }
    }
}
