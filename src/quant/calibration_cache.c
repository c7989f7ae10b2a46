/* Calibration caches: ranges of activations as JSON that people can read and edit. */
#include "quant/quant_int.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

/* ---- reading -------------------------------------------------------------------------------------- */

static bool finite_member(const hn_json_value *object, const char *key, double *out) {
    const hn_json_value *m = hn_json_member(object, key);
    *out = m ? m->number : 0;
    return m && m->kind == HN_JSON_NUMBER && isfinite(m->number);
}

static hone_status take_ranges(hn_quant_plan *p, const hn_json_value *tensors, hone_error *err) {
    uint32_t n_missing = 0, n_known = 0;
    for (hn_id id = 0; id < p->n_values; id++) {
        hn_quant_value *v = &p->values[id];
        if (!v->is_quantized || v->has_params || v->has_range || v->tied_to != id)
            continue;
        const char *name = hn_s(hn_value_at(p->g, id)->name);
        const hn_json_value *range = hn_json_member(tensors, name);
        double low, high;
        n_missing += !range;
        if (!range)
            continue;
        if (!finite_member(range, "low", &low) || !finite_member(range, "high", &high) ||
            low > high)
            return hn_fail(err, HONE_E_FORMAT, "tensor '%s' has no range: \"low\" <= \"high\"",
                           name);
        v->low = low;
        v->high = high;
        v->has_range = true;
        v->method = "cache";
        n_known++;
    }
    if (n_missing &&
        !hn_quant_report_note(p->report,
                              "the calibration cache has ranges of %u tensors, %u were "
                              "missing in it",
                              n_known, n_missing))
        return HONE_E_NOMEM;
    return HONE_OK;
}

static hone_status parse_cache(hn_quant_plan *p, const hn_filemap *file, hone_error *err) {
    const hn_json_value *root, *tensors, *format;
    HN_TRY(hn_json_parse(file->bytes.at, file->bytes.n, p->arena, &root, err));
    format = hn_json_member(root, "format");
    tensors = hn_json_member(root, "tensors");
    if (!format || format->kind != HN_JSON_STRING ||
        strcmp(format->text, "hone calibration") != 0 || !tensors ||
        tensors->kind != HN_JSON_OBJECT)
        return hn_fail(err, HONE_E_FORMAT, "this is not a calibration cache of hone");
    return take_ranges(p, tensors, err);
}

hone_status hn_quant_read_cache(hn_quant_plan *p, const char *path, bool *is_read,
                                hone_error *err) {
    struct stat s;
    hn_filemap file;
    *is_read = stat(path, &s) == 0 || errno != ENOENT;
    if (!*is_read)
        return HONE_OK;
    HN_TRY(hn_filemap_open_as(path, HN_MAP_COPY, &file, err));
    hone_status status = parse_cache(p, &file, err);
    hn_filemap_close(&file);
    if (status != HONE_OK)
        hn_error_prefix(err, "calibration cache '%s'", path);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------- */

static void put_cached_value(const hn_quant_plan *p, hn_id id, hn_json *j) {
    const hn_quant_value *v = &p->values[id];
    hn_json_key(j, hn_s(hn_value_at(p->g, id)->name));
    hn_json_object(j);
    hn_json_key(j, "low");
    hn_json_f64(j, v->low);
    hn_json_key(j, "high");
    hn_json_f64(j, v->high);
    if (v->observer) {
        hn_json_key(j, "min");
        hn_json_f64(j, v->observer->min);
        hn_json_key(j, "max");
        hn_json_f64(j, v->observer->max);
        hn_json_key(j, "method");
        hn_json_str(j, v->method);
    }
    hn_json_object_end(j);
}

hone_status hn_quant_write_cache(const hn_quant_plan *p, const char *path, hone_error *err) {
    hn_strbuf text;
    hn_json j;
    hn_strbuf_init(&text, hn_arena_allocator(p->arena));
    hn_json_init(&j, &text, true);
    hn_json_object(&j);
    hn_json_key(&j, "format");
    hn_json_str(&j, "hone calibration");
    hn_json_key(&j, "samples");
    hn_json_u64(&j, p->report->n_samples);
    hn_json_key(&j, "tensors");
    hn_json_object(&j);
    for (hn_id id = 0; id < p->n_values; id++)
        if (p->values[id].is_quantized && p->values[id].tied_to == id && !p->values[id].has_params)
            put_cached_value(p, id, &j);
    hn_json_object_end(&j);
    hn_json_object_end(&j);
    hn_strbuf_puts(&text, "\n");
    hone_status status = text.failed ? HONE_E_NOMEM : HONE_OK;
    hn_outfile *file = NULL;
    if (status == HONE_OK)
        status = hn_outfile_open(path, hn_arena_allocator(p->arena), &file, err);
    if (status == HONE_OK)
        status = hn_outfile_write(file, text.at, text.n, err);
    if (status == HONE_OK)
        status = hn_outfile_commit(file, err);
    else
        hn_outfile_abort(file);
    hn_strbuf_free(&text);
    return status;
}
