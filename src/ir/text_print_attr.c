/* Attributes in the textual syntax. */
#include "ir/text_int.h"

#define SHORT_LIST 16 /* lists up to this length print in full whatever the limit */

/* The name of a tensor attribute must be an identifier; other names go to a note. */
static void put_attr_tensor(hn_text_out *o, const hn_tensor *t) {
    bool is_plain = t->name && hn_text_is_identifier(t->name->s, t->name->n);
    bool is_type = is_plain && hn_text_is_type_word(t->name->s, t->name->n);
    hn_text_put_tensor(o, t, is_plain && !is_type ? t->name : NULL);
}

static void put_element(hn_text_out *o, const hn_attr *a, uint32_t i) {
    switch (a->kind) {
    case HN_ATTR_FLOATS:
        hn_text_put_f32(o, a->v.floats[i]);
        break;
    case HN_ATTR_INTS:
        hn_strbuf_printf(o->b, "%lld", (long long)a->v.ints[i]);
        break;
    case HN_ATTR_STRINGS:
        hn_text_put_string(o, a->v.strings[i].at, a->v.strings[i].n);
        break;
    case HN_ATTR_TENSORS:
        hn_text_put_tensor(o, a->v.tensors[i],
                           hn_str_empty(a->v.tensors[i]->name) ? NULL : a->v.tensors[i]->name);
        break;
    case HN_ATTR_GRAPHS:
        hn_text_put_block(o, a->v.blocks[i]);
        break;
    case HN_ATTR_SPARSES:
        hn_text_put_sparse(o, a->v.sparses[i]);
        break;
    case HN_ATTR_TYPES:
        hn_text_put_type(o, a->v.types[i]);
        break;
    default:
        break;
    }
}

static void put_list(hn_text_out *o, const hn_attr *a) {
    hn_strbuf_puts(o->b, "[");
    if (a->n > SHORT_LIST && a->n > o->max_elems) {
        hn_strbuf_puts(o->b, "...");
        o->n_left_out += a->n;
    } else {
        for (uint32_t i = 0; i < a->n && !o->b->failed; i++) {
            hn_strbuf_puts(o->b, i > 0 ? ", " : "");
            put_element(o, a, i);
        }
    }
    hn_strbuf_puts(o->b, "]");
}

static void put_attr_value(hn_text_out *o, const hn_attr *a) {
    switch (a->kind) {
    case HN_ATTR_FLOAT:
        hn_text_put_f32(o, a->v.f);
        break;
    case HN_ATTR_INT:
        hn_strbuf_printf(o->b, "%lld", (long long)a->v.i);
        break;
    case HN_ATTR_STRING:
        hn_text_put_string(o, a->v.s.at, a->v.s.n);
        break;
    case HN_ATTR_TENSOR:
        put_attr_tensor(o, a->v.tensor);
        break;
    case HN_ATTR_GRAPH:
        hn_text_put_block(o, a->v.block);
        break;
    case HN_ATTR_SPARSE:
        hn_text_put_sparse(o, a->v.sparse);
        break;
    case HN_ATTR_TYPE:
        hn_text_put_type(o, a->v.type);
        break;
    default:
        put_list(o, a);
        break;
    }
}

void hn_text_put_attr(hn_text_out *o, const hn_attr *a) {
    hn_text_put_word(o, a->name);
    bool has_kind = a->kind != HN_ATTR_UNDEFINED;
    if (has_kind || !a->ref)
        hn_strbuf_printf(o->b, ": %s", hn_text_attr_kind_name(a->kind));
    if (!has_kind && !a->ref)
        return;
    hn_strbuf_puts(o->b, " = ");
    if (a->ref) {
        hn_strbuf_puts(o->b, "@");
        hn_text_put_word(o, a->ref);
    } else {
        put_attr_value(o, a);
    }
}
