/* hone.h: kernels and their tuning. */
#include "api/session_options.h"
#include "cpu/kernels/kernel_select.h"
#include "cpu/kernels/peaks/peaks.h"
#include "tune/tune.h"

uint32_t hone_kernel_count(void) {
    uint32_t n = 0;
    while (hn_kernel_row(n))
        n++;
    return n;
}

bool hone_kernel_get(uint32_t kernel, hone_kernel_info *info) {
    const hn_kernel *row = hn_kernel_row(kernel);
    if (row)
        *info = (hone_kernel_info){.family = hn_kernel_family_name(row->family),
                                   .name = row->function,
                                   .instruction_set = hn_isa_name(row->isa),
                                   .types = row->types,
                                   .tile = row->tile,
                                   .summary = hn_kernel_family_summary(row->family),
                                   .is_exact = row->flags & HN_KERNEL_EXACT,
                                   .is_picked = hn_kernel_picked(row->family) == row};
    return row != NULL;
}

hone_status hone_model_tune_kernels(const hone_model *model, const hone_session_options *options,
                                    const char *path, hone_tune_fn tell, void *ctx,
                                    hone_error *error) {
    hn_error_clear(error);
    HN_REQUIRE(model, error);
    hone_session_options o;
    HN_TRY(hn_api_session_options(&o, options, error));
    hn_tune_options to = {.n_threads = o.n_threads,
                          .level = (hn_level)o.level,
                          .program = hn_api_program_options(&o),
                          .path = path,
                          .tell = tell,
                          .tell_ctx = ctx};
    return hn_error_complete(error, hn_tune_kernels(model_of(model), &to, error));
}

hone_status hone_measure_peaks(int n_threads, hone_peaks *peaks, hone_error *error) {
    enum { MEMORY_BYTES = 256 << 20, CACHE_BYTES = 256 << 10 };
    hn_error_clear(error);
    HN_REQUIRE(peaks, error);
    hn_pool *pool = hn_pool_new(HN_MAX(n_threads, 0), NULL);
    if (!pool)
        return hn_error_complete(error, HONE_E_NOMEM);
    size_t n = (size_t)hn_pool_threads(pool);
    *peaks = (hone_peaks){.flops = hn_peak_flops(pool),
                          .read_bytes = hn_peak_read_bytes(pool, MEMORY_BYTES, 5),
                          .cache_bytes = hn_peak_read_bytes(pool, n * CACHE_BYTES, 500)};
    hn_pool_free(pool);
    return HONE_OK;
}
