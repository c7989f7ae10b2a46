/* Datasets: changes samples at random, for calibration with few of them. What a sample becomes
 * depends on its number alone, not on threads or the order of reading. */
#include "data/dataset_int.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 1000 };

/* ---- options --------------------------------------------------------------------------------- */

static bool parse_augment_part(const char *part, dataset_augment *a) {
    const char *equals = strchr(part, '=');
    double number = 0;
    if (strcmp(part, "flip") == 0)
        return a->flips = true;
    if (!equals || !cli_parse_number(equals + 1, &number) || number < 0)
        return false;
    size_t n = (size_t)(equals - part);
    bool is_noise = n == 5 && strncmp(part, "noise", n) == 0,
         is_scale = n == 5 && strncmp(part, "scale", n) == 0,
         is_copies = n == 6 && strncmp(part, "copies", n) == 0;
    if (is_noise)
        a->noise = number;
    if (is_scale)
        a->scale = number;
    if (is_copies)
        a->n_copies = number >= 1 && number <= MOST_COPIES ? (uint64_t)number : 0;
    return (is_noise || is_scale || is_copies) && a->n_copies > 0;
}

bool dataset_parse_augment(const char *text, dataset_augment *a, hone_error *error) {
    *a = (dataset_augment){.n_copies = 1};
    for (const char *at = text; at && *at;) {
        char part[64];
        size_t n = strcspn(at, ",");
        snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : 0), at);
        if (!parse_augment_part(part, a))
            return cli_refuse(
                error, "--augment %s: write for example noise=0.02,scale=0.1,flip,copies=4", text);
        at += n + (at[n] == ',');
    }
    return true;
}

/* Some input must be changed by each of them, or the option would do nothing. */
bool dataset_check_augment(const cli_dataset *d, hone_error *error) {
    const dataset_augment *a = &d->augment;
    bool has_float = false, has_image = false;
    for (uint32_t k = 0; k < d->n; k++) {
        has_float |= cli_is_float(d->expects[k].elem_type);
        has_image |= cli_image_width_axis(&d->o.image, &d->expects[k], error) >= 0;
    }
    if ((a->noise > 0 || a->scale > 0) && !has_float)
        return cli_refuse(error, "--augment %s: the inputs of the dataset are not float",
                          d->o.augment);
    return a->flips && !has_image ? false : true;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static double random_share(uint64_t *state) { /* 0 to 1 */
    return (double)(cli_random(state) >> 11) * 0x1p-53;
}

static double random_normal(uint64_t *state) {
    double radius = sqrt(-2 * log(1 - random_share(state)));
    return radius * cos(6.283185307179586 * random_share(state));
}

/* Scales all elements by one factor; noise is measured in standard deviations of the sample. */
static bool change_numbers(const dataset_augment *a, uint64_t *state, hone_value *v) {
    hone_tensor_info t;
    hone_value_tensor(v, &t);
    double *numbers = malloc((size_t)(t.n_elements + 1) * sizeof *numbers), sum = 0, squares = 0;
    if (!numbers)
        return false;
    hone_value_get_f64(v, 0, t.n_elements, numbers);
    for (uint64_t i = 0; i < t.n_elements; i++)
        sum += numbers[i];
    double n = (double)(t.n_elements ? t.n_elements : 1), mean = sum / n;
    for (uint64_t i = 0; i < t.n_elements; i++)
        squares += (numbers[i] - mean) * (numbers[i] - mean);
    double factor = 1 + a->scale * (2 * random_share(state) - 1),
           noise = a->noise * sqrt(squares / n);
    for (uint64_t i = 0; i < t.n_elements; i++)
        numbers[i] = (numbers[i] + (noise > 0 ? noise * random_normal(state) : 0)) * factor;
    hone_value_set_f64(v, 0, t.n_elements, numbers);
    free(numbers);
    return true;
}

/* ---- mirror images --------------------------------------------------------------------------- */

static bool flip_image(hone_value **v, int32_t width_axis, hone_error *error) {
    hone_tensor_info t;
    if (!hone_value_tensor(*v, &t) || width_axis >= t.rank || hone_elem_type_bits(t.elem_type) < 8)
        return true;
    size_t pixel = (size_t)hone_elem_type_bits(t.elem_type) / 8, width = (size_t)t.dims[width_axis];
    for (int32_t axis = width_axis + 1; axis < t.rank; axis++)
        pixel *= (size_t)t.dims[axis];
    size_t row = pixel * width, n_bytes = (size_t)t.data_bytes;
    char *mirrored = malloc(n_bytes + 1);
    hone_value *flipped = NULL;
    if (!mirrored)
        return cli_refuse(error, "out of memory");
    for (size_t at = 0; row && at < n_bytes; at += row)
        for (size_t x = 0; x < width; x++)
            memcpy(mirrored + at + x * pixel, (const char *)t.data + at + (width - 1 - x) * pixel,
                   pixel);
    hone_value_create(t.elem_type, t.rank, t.dims, mirrored, &flipped, error);
    free(mirrored);
    if (!flipped)
        return false;
    hone_value_free(*v);
    *v = flipped;
    return true;
}

bool dataset_apply_augment(const cli_dataset *d, uint64_t key, dataset_item *item,
                           hone_error *error) {
    const dataset_augment *a = &d->augment;
    hone_error ignored;
    uint64_t state = a->seed + key * UINT64_C(0x9FB21C651E98DF25);
    bool is_flipped = a->flips && cli_random(&state) & 1, ok = true;
    for (uint32_t k = 0; ok && k < d->n; k++) {
        int32_t width_axis =
            is_flipped ? cli_image_width_axis(&d->o.image, &d->expects[k], &ignored) : -1;
        ok = width_axis < 0 || flip_image(&item->values[k], width_axis, error);
        if (ok && (a->noise > 0 || a->scale > 0) && cli_is_float(d->expects[k].elem_type))
            ok = change_numbers(a, &state, item->values[k]) ? true
                                                            : cli_refuse(error, "out of memory");
    }
    return ok;
}
