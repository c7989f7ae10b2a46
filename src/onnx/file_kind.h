/* Tells files that are not ONNX by their first bytes. */
#ifndef HN_FILE_KIND_H
#define HN_FILE_KIND_H

#include "base/base.h"

/* HONE_OK when the bytes may be a serialized model; else HONE_E_FORMAT with a sentence that names
 * the kind of file and what to do. `name` stands in the sentence. */
hone_status hn_file_kind_check(hn_bytes bytes, const char *name, hone_error *err);
/* The beginning is printable text, which no serialized model is. */
bool hn_file_is_text(hn_bytes bytes);

#endif /* HN_FILE_KIND_H */
