/* Helpers of api/. The public handles are the internal objects under other names. */
#ifndef HN_API_INT_H
#define HN_API_INT_H

#include "ir/ir.h"

static inline hn_model *model_of(const hone_model *m) {
    return (hn_model *)(uintptr_t)m;
}
/* The model behind a handle, for functions that change it. */
static inline hn_model *model_to_edit(hone_model *m) {
    model_of(m)->n_edits++;
    return model_of(m);
}
static inline const hn_graph *graph_of(const hone_graph *g) {
    return (const hn_graph *)(const void *)g;
}

/* Fails with HONE_E_ARGUMENT and the name of the argument when a required pointer is NULL. */
hone_status hn_api_require(bool is_there, const char *argument, hone_error *error);
#define HN_REQUIRE(argument, error) HN_TRY(hn_api_require((argument) != NULL, #argument, error))

const hn_problems *hn_api_problems(const hone_problems *problems);

/* Copies into a caller's buffer as snprintf does; frees the strbuf. */
size_t hn_api_give_text(hn_strbuf *b, char *text, size_t text_size);

/* Updates quantization annotations, which refer to tensors by name, when a value is renamed. */
void hn_api_rename_annotated(hn_graph *g, hn_str from, hn_str to);

/* Copies the members of the caller's option struct that both sides know; the others keep their
 * defaults. False when it was not initialized. */
bool hn_api_read_options(void *ours, const void *theirs, size_t ours_bytes);
hone_status hn_api_fail_options(hone_error *error, const char *name);

hone_status hn_api_check_level(hone_level level, hone_error *error);

/* Passes finished JSON to the caller; frees the strbuf. */
hone_status hn_api_give_json(hn_strbuf *text, hone_write_fn write, void *ctx, hone_error *error);

#endif /* HN_API_INT_H */
