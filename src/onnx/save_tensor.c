/* TensorProto and SparseTensorProto. An unmodified tensor is saved as the bytes it was read from.
 */
#include "onnx/save_int.h"

#include <inttypes.h>
#include <stdio.h>

static bool becomes_external(const hn_saver *s, const hn_tensor *t, bool is_initializer) {
    if (!t->data || t->dtype == HN_STRING)
        return false;
    switch (s->external) {
    case HN_EXTERNAL_KEEP:
        return t->external != NULL;
    case HN_EXTERNAL_ALWAYS:
        return (is_initializer || t->external) && t->data_bytes >= s->threshold_bytes;
    case HN_EXTERNAL_NEVER:
        break;
    }
    return false;
}

static void save_entry(hn_saver *s, const char *key, const char *value) {
    hn_wire_scope scope = hn_out_begin(&s->out, HN_F_TENSOR_EXTERNAL_DATA);
    hn_out_len(&s->out, HN_F_ENTRY_KEY, key, strlen(key));
    hn_out_len(&s->out, HN_F_ENTRY_VALUE, value, strlen(value));
    hn_out_end(&s->out, scope);
}

static void save_number_entry(hn_saver *s, const char *key, uint64_t v) {
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, v);
    save_entry(s, key, text);
}

static void save_external_entries(hn_saver *s, const hn_tensor *t) {
    save_entry(s, "location", s->data_name);
    save_number_entry(s, "offset", hn_save_data(s, t->data, t->data_bytes));
    save_number_entry(s, "length", t->data_bytes);
    hn_out_varint(&s->out, HN_F_TENSOR_DATA_LOCATION, HN_LOCATION_EXTERNAL);
}

/* A tensor whose data were not loaded keeps its reference. */
static void save_reference(hn_saver *s, const hn_external *e) {
    s->keeps_data_name |= s->data_name && strcmp(hn_s(e->location), s->data_name) == 0;
    save_entry(s, "location", hn_s(e->location));
    if (e->has_offset)
        save_number_entry(s, "offset", e->offset);
    if (e->has_length)
        save_number_entry(s, "length", e->length);
    if (e->checksum)
        save_entry(s, "checksum", e->checksum->s);
    hn_out_varint(&s->out, HN_F_TENSOR_DATA_LOCATION, HN_LOCATION_EXTERNAL);
}

static void save_dims(hn_saver *s, uint32_t tag, int32_t rank, const int64_t *dims) {
    for (int32_t i = 0; i < rank; i++)
        hn_out_varint(&s->out, tag, (uint64_t)dims[i]);
}

static void save_fields(hn_saver *s, const hn_tensor *t, hn_str name, bool is_out) {
    hn_wire_out *w = &s->out;
    save_dims(s, HN_F_TENSOR_DIMS, t->rank, t->dims);
    if (t->dtype != HN_UNDEFINED)
        hn_out_varint(w, HN_F_TENSOR_DATA_TYPE, (uint64_t)t->dtype);
    if (t->dtype == HN_STRING) {
        for (uint64_t i = 0; i < t->n_elems; i++)
            hn_out_len(w, HN_F_TENSOR_STRING_DATA, t->strings[i].at, t->strings[i].n);
    }
    hn_out_str(w, HN_F_TENSOR_NAME, name);
    if (t->data && !is_out && t->dtype != HN_STRING)
        hn_out_len(w, HN_F_TENSOR_RAW_DATA, t->data, t->data_bytes);
    if (t->extra)
        hn_out_str(w, HN_F_TENSOR_DOC_STRING, t->extra->doc);
    if (is_out)
        save_external_entries(s, t);
    else if (t->external && !t->data)
        save_reference(s, t->external);
    if (t->extra)
        hn_save_props(s, HN_F_TENSOR_METADATA_PROPS, &t->extra->props);
    hn_save_unknown(s, t->extra);
}

static bool same_name(hn_str a, hn_str b) {
    return a == b || (hn_str_empty(a) && hn_str_empty(b));
}

void hn_save_tensor(hn_saver *s, uint32_t tag, const hn_tensor *t, hn_str name) {
    bool is_out = becomes_external(s, t, name != NULL);
    bool comes_in = t->external && t->data;
    if (t->wire.n && !is_out && !comes_in && (!name || same_name(name, t->name))) {
        hn_out_len(&s->out, tag, t->wire.at, t->wire.n);
        return;
    }
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    save_fields(s, t, name ? name : t->name, is_out);
    hn_out_end(&s->out, scope);
}

void hn_save_sparse(hn_saver *s, uint32_t tag, const hn_sparse *sparse, hn_str name) {
    hn_wire_scope scope = hn_out_begin(&s->out, tag);
    hn_save_tensor(s, HN_F_SPARSE_VALUES, sparse->values, name);
    hn_save_tensor(s, HN_F_SPARSE_INDICES, sparse->indices, NULL);
    save_dims(s, HN_F_SPARSE_DIMS, sparse->rank, sparse->dims);
    hn_out_raw(&s->out, sparse->unknown.at, sparse->unknown.n);
    hn_out_end(&s->out, scope);
}
