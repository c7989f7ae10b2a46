/* Filters of convolutions of bytes as tiles read them, the sums of their columns, and what columns
 * add to results. */
#include "cpu/kernels/conv_int8/conv_int8_form.h"

/* A depthwise convolution has one more panel, of ones for each tap: with it sums of x are made. */
static int64_t packed_panels(const hn_conv_int8_form *f) {
    return f->n_panels + (f->is_depthwise ? 1 : 0);
}

static int64_t padded_columns(const hn_conv_int8_form *f) {
    return f->n_panels * f->width;
}

size_t hn_conv_int8_packed_bytes(const hn_conv_int8_job *job) {
    hn_conv_int8_form f = hn_conv_int8_form_of(job);
    return hn_int8_aligned(packed_panels(&f) * hn_conv_int8_panel_bytes(&f), 1) +
           hn_int8_aligned(padded_columns(&f), sizeof(uint32_t));
}

/* One run of a filter: channel after channel of tap after tap, groups `step` bytes apart. Returns
 * its sum. */
static uint32_t pack_run(const hn_conv_int8_form *f, const uint8_t *taps, int64_t n_taps,
                         uint8_t flip, uint8_t *out, int64_t step) {
    int64_t run_taps = f->run_bytes / HN_MAX(f->group_channels, 1), in_group = 0;
    uint32_t sum = 0;
    for (int64_t tap = 0; tap < run_taps; tap++)
        for (int64_t c = 0; c < f->group_channels; c++) {
            uint8_t byte = taps[c * n_taps + tap] ^ flip;
            int32_t value = (int8_t)byte;
            out[in_group] = byte;
            sum += (uint32_t)value;
            if (++in_group == HN_U8S8_GROUP) {
                in_group = 0;
                out += step;
            }
        }
    return sum;
}

static void pack_panel(const hn_conv_int8_form *f, const uint8_t *w, int64_t panel, bool is_signed,
                       uint8_t *out, uint32_t *sums) {
    int64_t group = panel / f->group_panels, first = panel % f->group_panels * f->width;
    int64_t n_taps = f->lines.kernel * f->cols.kernel, filter_elems = f->group_channels * n_taps;
    int64_t run_taps = f->run_bytes / HN_MAX(f->group_channels, 1);
    const uint8_t *from = w + (group * f->group_filters + first) * filter_elems;
    uint8_t flip = is_signed ? 0 : HN_INT8_SIGN_BIT;
    for (int64_t run = 0; run < f->n_runs; run++) {
        for (int64_t j = 0; j < HN_MIN(f->width, f->group_filters - first); j++)
            sums[j] += pack_run(f, from + j * filter_elems + run * run_taps, n_taps, flip,
                                out + j * HN_U8S8_GROUP, f->width * HN_U8S8_GROUP);
        out += hn_int8_groups(hn_u8s8_pick(), f->run_bytes) * f->width * HN_U8S8_GROUP;
    }
}

static void pack_depthwise_block(const hn_conv_int8_form *f, const uint8_t *w, int64_t block,
                                 int64_t n_channels, bool is_signed, uint8_t *out, uint32_t *sums) {
    const hn_depthwise_int8_set *set = hn_depthwise_int8_pick();
    uint8_t flip = is_signed ? 0 : HN_INT8_SIGN_BIT;
    bool is_paired = hn_depthwise_int8_is_paired(set, n_channels - block * f->width);
    for (int64_t slot = 0; slot < f->width; slot++) {
        int64_t in = set->channel_of((int)slot);
        bool is_second = is_paired && in >= f->width / 2;
        int64_t channel = block * f->width + in - (is_second ? f->width / 2 : 0);
        for (int64_t tap = 0; channel < n_channels && tap < f->n_runs; tap++) {
            uint8_t byte = w[channel * f->n_runs + tap] ^ flip;
            int64_t at = (tap / HN_U8S8_GROUP * f->width + slot) * HN_U8S8_GROUP;
            out[at + tap % HN_U8S8_GROUP] = byte;
            int32_t value = is_second ? 0 : (int8_t)byte;
            sums[in] += (uint32_t)value;
        }
    }
}

static void pack_ones(const hn_conv_int8_form *f, uint8_t *out) {
    for (int64_t tap = 0; tap < f->n_runs; tap++)
        for (int64_t slot = 0; slot < f->width; slot++) {
            int64_t at = (tap / HN_U8S8_GROUP * f->width + slot) * HN_U8S8_GROUP;
            out[at + tap % HN_U8S8_GROUP] = 1;
        }
}

static uint32_t *packed_sums(const hn_conv_int8_form *f, void *packed) {
    size_t panels = hn_int8_aligned(packed_panels(f) * hn_conv_int8_panel_bytes(f), 1);
    return (uint32_t *)(void *)((uint8_t *)packed + panels);
}

void hn_conv_int8_pack(const hn_conv_int8_job *job, const void *w, bool is_signed, void *out) {
    hn_conv_int8_form f = hn_conv_int8_form_of(job);
    int64_t panel_bytes = hn_conv_int8_panel_bytes(&f);
    memset(out, 0, hn_conv_int8_packed_bytes(job));
    for (int64_t panel = 0; panel < f.n_panels; panel++) {
        uint8_t *to = (uint8_t *)out + panel * panel_bytes;
        uint32_t *sums = packed_sums(&f, out) + panel * f.width;
        if (f.is_depthwise)
            pack_depthwise_block(&f, w, panel, job->channels, is_signed, to, sums);
        else
            pack_panel(&f, w, panel, is_signed, to, sums);
    }
    if (f.is_depthwise)
        pack_ones(&f, (uint8_t *)out + f.n_panels * panel_bytes);
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Those of a group stand together: block.col of group g begins at g times what they take. */
size_t hn_conv_int8_columns_bytes(const hn_conv_int8_job *job) {
    hn_conv_int8_form f = hn_conv_int8_form_of(job);
    return (size_t)padded_columns(&f) * HN_INT8_COLUMN_BYTES;
}

void hn_conv_int8_fill_columns(const hn_int8_columns *columns, void *memory,
                               hn_conv_int8_job *job) {
    hn_conv_int8_form f = hn_conv_int8_form_of(job);
    int64_t n_groups = f.n_panels / HN_MAX(f.group_panels, 1), padded = f.group_panels * f.width;
    hn_int8_result first = job->result, *result = &job->result;
    const uint32_t *zeros = NULL;
    for (int64_t g = 0; g < n_groups; g++) {
        hn_int8_columns c = *columns;
        int64_t at = g * f.group_filters;
        c.n = f.is_depthwise ? job->channels : f.group_filters;
        c.padded = padded;
        c.k = f.n_runs * f.run_bytes;
        c.col_sums = packed_sums(&f, (void *)(uintptr_t)job->packed_w) + g * padded;
        c.a_zero = (uint8_t)(job->x_zero ^ (job->x_is_signed ? HN_INT8_SIGN_BIT : 0));
        c.b_zeros += c.n_b_zeros > 1 ? at : 0;
        c.scales += c.n_scales > 1 ? at : 0;
        c.bias = c.bias ? c.bias + at : NULL;
        c.float_bias = c.float_bias ? c.float_bias + at : NULL;
        hn_int8_columns_fill(&c, (uint8_t *)memory + g * padded * HN_INT8_COLUMN_BYTES, result);
        if (g == 0)
            first = *result;
        if (result->zeros)
            zeros = (const uint32_t *)memory + padded;
    }
    *result = first;
    result->zeros = zeros;
}
