/* Finds an installed onnxruntime and loads it at run time. */
#ifndef HONE_ORT_LIBRARY_H
#define HONE_ORT_LIBRARY_H

#include "bench/ort_api.h"
#include "cli_value.h"

typedef struct ort_library {
    ort_api api;
    char version[32];
    char path[1024];
} ort_library;
/* `given`: a file, or a folder that has it; NULL: HONE_ONNXRUNTIME, then the Python packages, then
 * what the loader finds. Loaded once; it stays loaded. NULL with the error. */
const ort_library *ort_library_load(const char *given, hone_error *error);

#endif /* HONE_ORT_LIBRARY_H */
