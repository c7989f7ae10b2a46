/* Makes tensors of tensors: of another type, or a batch of samples. */
#include "cli_value.h"

hone_value *cli_value_cast(const hone_value *v, int32_t elem_type, hone_error *error) {
    enum { PIECE = 256 };
    double numbers[PIECE];
    hone_tensor_info t;
    hone_value *cast = NULL;
    if (!hone_value_tensor(v, &t) ||
        hone_value_create(elem_type, t.rank, t.dims, NULL, &cast, error) != HONE_OK)
        return NULL;
    for (uint64_t i = 0; i < t.n_elements; i += PIECE) {
        uint64_t n = t.n_elements - i < PIECE ? t.n_elements - i : PIECE;
        hone_value_get_f64(v, i, n, numbers);
        hone_value_set_f64(cast, i, n, numbers);
    }
    return cast;
}

static bool fits_batch(const hone_tensor_info *first, const hone_tensor_info *t) {
    bool fits = t->rank == first->rank && t->elem_type == first->elem_type;
    for (int32_t axis = 1; fits && axis < t->rank; axis++)
        fits = t->dims[axis] == first->dims[axis];
    return fits;
}

hone_value *cli_batch(hone_value *const *samples, size_t n, const cli_expect *e,
                      hone_error *error) {
    hone_tensor_info first, t;
    char one[256], other[256];
    int64_t dims[CLI_MAX_RANK] = {0};
    cli_buffer data = {0};
    hone_value *v = NULL;
    bool ok = hone_value_tensor(samples[0], &first) && first.rank > 0;
    if (!ok)
        cli_refuse(error, "'%s' is %s: it takes one sample, not a batch of %zu", e->name, e->text,
                   n);
    for (size_t i = 0; ok && i < n; i++) {
        ok = hone_value_tensor(samples[i], &t) && fits_batch(&first, &t);
        if (!ok)
            cli_refuse(error, "the samples of a batch have different sizes: %s and %s%s",
                       cli_value_text(samples[0], one, sizeof one),
                       cli_value_text(samples[i], other, sizeof other),
                       first.rank == 4 ? "; images need --resize HEIGHTxWIDTH" : "");
        else
            cli_buffer_add(&data, t.data, (size_t)t.data_bytes);
        dims[0] += t.dims[0];
    }
    for (int32_t axis = 1; ok && axis < first.rank; axis++)
        dims[axis] = first.dims[axis];
    if (ok && data.failed)
        ok = cli_refuse(error, "out of memory");
    if (ok)
        hone_value_create(first.elem_type, first.rank, dims, data.at, &v, error);
    cli_buffer_free(&data);
    return v;
}
