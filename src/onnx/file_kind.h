/* Recognizes files that are not ONNX by their first bytes. */
#ifndef HN_FILE_KIND_H
#define HN_FILE_KIND_H

#include "base/base.h"

/* HONE_OK when the bytes may be a serialized model; else HONE_E_FORMAT with a message that names
 * the kind of file and says what to do. `name` is the name of the file in the message. */
hone_status hn_file_kind_check(hn_bytes bytes, const char *name, hone_error *err);
/* The first bytes are printable text, so this is not a serialized model. */
bool hn_file_is_text(hn_bytes bytes);

#endif /* HN_FILE_KIND_H */
