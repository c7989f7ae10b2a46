#include "onnx/file_kind.h"

enum { PEEK_BYTES = 4096 };

/* ---- magic numbers ------------------------------------------------------------------------------------------------------- */

typedef struct magic {
    uint16_t offset;
    uint8_t n;
    const char *bytes;
    const char *kind;
    const char *advice;
} magic;

#define MAGIC(offset, text, kind, advice) \
  { offset, sizeof(text) - 1, text, kind, advice }
#define UNPACK "unpack it first"
#define FROM_TF "convert it with tf2onnx (python -m tf2onnx.convert)"
static const magic magics[] = {
    MAGIC(0, "version https://git-lfs", "a git LFS pointer, not the file itself",
          "fetch the model with 'git lfs pull'"),
    MAGIC(3, "\0TFL3", "a TensorFlow Lite model",
          "convert it with tf2onnx (python -m tf2onnx.convert --tflite)"),
    MAGIC(3, "\0ORTM", "an ONNX Runtime .ort model", "use the .onnx file that it was made from"),
    MAGIC(3, "\0CIR0", "a Circle model", "use the ONNX file that it was made from"),
    MAGIC(0, "GGUF", "a GGUF model (llama.cpp)", "export the original model to ONNX instead"),
    MAGIC(0, "lmgg", "a GGML model", "export the original model to ONNX instead"),
    MAGIC(0, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras weights or model)",
          "load it in Keras and export it with tf2onnx"),
    MAGIC(0, "\x93NUMPY", "a NumPy array", "give the model, not its data"),
    MAGIC(0, "ftrt", "a TensorRT engine", "use the ONNX file that it was built from"),
    MAGIC(0, "ptrt", "a TensorRT engine", "use the ONNX file that it was built from"),
    MAGIC(0, "RKNN", "an RKNN model", "use the ONNX file that it was built from"),
    MAGIC(0, "7767517", "an ncnn model", "use the ONNX file that it was made from"),
    MAGIC(0, "\x80\x02", "a Python pickle (an old PyTorch checkpoint?)",
          "load it in Python and export it with torch.onnx.export"),
    MAGIC(0, "\x80\x03", "a Python pickle", "load it in Python and export the model to ONNX"),
    MAGIC(0, "\x80\x04", "a Python pickle (scikit-learn or joblib?)",
          "load it in Python and export it, for instance with skl2onnx"),
    MAGIC(0, "\x80\x05", "a Python pickle (scikit-learn or joblib?)",
          "load it in Python and export it, for instance with skl2onnx"),
    MAGIC(0, "\x1f\x8b", "compressed (gzip)", UNPACK),
    MAGIC(0,
          "\xfd"
          "7zXZ",
          "compressed (xz)", UNPACK),
    MAGIC(0, "BZh", "compressed (bzip2)", UNPACK),
    MAGIC(0, "\x28\xb5\x2f\xfd", "compressed (zstd)", UNPACK),
    MAGIC(0, "\x04\x22\x4d\x18", "compressed (lz4)", UNPACK),
    MAGIC(0, "7z\xbc\xaf\x27\x1c", "an archive (7z)", UNPACK),
    MAGIC(0, "Rar!", "an archive (rar)", UNPACK),
    MAGIC(257, "ustar", "an archive (tar)", UNPACK),
    MAGIC(0,
          "\x7f"
          "ELF",
          "a program or a library", "give the path of a model"),
    MAGIC(0, "MZ\x90", "a Windows program", "give the path of a model"),
    MAGIC(0, "\x89PNG", "a PNG image", "give the path of a model"),
    MAGIC(0, "\xff\xd8\xff", "a JPEG image", "give the path of a model"),
    MAGIC(0, "%PDF", "a PDF document", "give the path of a model"),
    MAGIC(0, "SQLite format 3", "an SQLite database", "give the path of a model"),
};

/* What a zip archive is shows in the names of its members. */
static const magic zip_members[] = {
    MAGIC(0, "constants.pkl", "a TorchScript archive (zip)",
          "load it with torch.jit.load and export it with torch.onnx.export"),
    MAGIC(0, "data.pkl", "a PyTorch archive (zip)", "export it with torch.onnx.export"),
    MAGIC(0, "serialized_exported_program", "a PyTorch exported program (zip)",
          "export it with torch.onnx.export"),
    MAGIC(0, "model.weights.h5", "a Keras archive (zip)",
          "load it in Keras and export it with tf2onnx"),
    MAGIC(0, "com.apple.CoreML", "a Core ML package (zip)",
          "use the ONNX file that it was made from"),
    MAGIC(0, ".npy", "a NumPy archive (zip)", "give the model, not its data"),
};

/* The first word of text files; white space before it is skipped. */
static const magic text_starts[] = {
    MAGIC(0, "{", "JSON", "give the .onnx file"),
    MAGIC(0, "<!DOCTYPE", "a web page", "the download went wrong: fetch the model again"),
    MAGIC(0, "<html", "a web page", "the download went wrong: fetch the model again"),
    MAGIC(0, "[net]", "a Darknet configuration", "convert it to ONNX first"),
    MAGIC(0, "#!", "a script", "give the path of a model"),
};
#undef MAGIC

/* ---- looking ---------------------------------------------------------------------------------------------------------------- */

static bool has_at(hn_bytes b, uint64_t offset, const char *text, size_t n) {
    return b.n >= offset + n && memcmp((const uint8_t *)b.at + offset, text, n) == 0;
}

static bool contains(hn_bytes b, const char *text, size_t n) {
    for (uint64_t i = 0; i + n <= b.n; i++) {
        if (has_at(b, i, text, n))
            return true;
    }
    return false;
}

static bool is_text_byte(uint8_t c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t' || c == '\f';
}

bool hn_file_is_text(hn_bytes bytes) {
    const uint8_t *p = bytes.at;
    uint64_t n = HN_MIN(bytes.n, PEEK_BYTES);
    for (uint64_t i = 0; i < n; i++) {
        if (!is_text_byte(p[i]))
            return false;
    }
    return n > 0;
}

/* An 8-byte header length, then JSON. */
static bool is_safetensors(hn_bytes b) {
    const uint8_t *p = b.at;
    if (b.n < 10 || p[8] != '{')
        return false;
    uint64_t header_bytes = 0;
    for (int i = 7; i >= 0; i--)
        header_bytes = header_bytes << 8 | p[i];
    return header_bytes <= b.n - 8;
}

/* GraphDef: a list of nodes, each with a name and an operator. In a ModelProto field 1 is a number,
 * never a message. */
static bool is_tensorflow_graph(hn_bytes b) {
    const uint8_t *p = b.at;
    return b.n > 4 && p[0] == 0x0a && (p[2] == 0x0a || p[3] == 0x0a);
}

/* SavedModel: schema version 1, then a MetaGraphDef, whose first field is a message where a model
 * has text. */
static bool is_saved_model(hn_bytes b) {
    const uint8_t *p = b.at;
    if (b.n < 8 || p[0] != 0x08 || p[1] != 0x01 || p[2] != 0x12)
        return false;
    uint64_t i = 3;
    while (i < 8 && p[i] >= 0x80)
        i++;
    return i < 7 && i > 3 && p[i + 1] == 0x0a;
}

static const magic *find_zip_kind(hn_bytes b) {
    static const magic plain = {.kind = "an archive (zip)", .advice = UNPACK};
    const uint64_t n = HN_MIN(b.n, PEEK_BYTES);
    const hn_bytes head = {b.at, n},
                   tail = {(const uint8_t *)b.at + (b.n - n), n}; /* the directory is at the end */
    for (size_t i = 0; i < HN_COUNT(zip_members); i++) {
        const magic *m = &zip_members[i];
        if (contains(head, m->bytes, m->n) || contains(tail, m->bytes, m->n))
            return m;
    }
    return &plain;
}

static const magic *find_text_kind(hn_bytes b) {
    static const magic plain = {.kind = "plain text that is no ONNX text either",
                                .advice = "give the .onnx file"};
    static const magic xml = {.kind = "XML", .advice = "give the .onnx file"};
    static const magic openvino = {.kind = "an OpenVINO model (XML)",
                                   .advice = "use the ONNX file that it was made from"};
    const hn_bytes head = {b.at, HN_MIN(b.n, PEEK_BYTES)};
    uint64_t start = 0;
    while (start < head.n && strchr(" \t\r\n", ((const char *)b.at)[start]))
        start++;
    for (size_t i = 0; i < HN_COUNT(text_starts); i++) {
        if (has_at(head, start, text_starts[i].bytes, text_starts[i].n))
            return &text_starts[i];
    }
    if (has_at(head, start, "<?xml", 5) || has_at(head, start, "<net", 4))
        return contains(head, "<net ", 5) ? &openvino : &xml;
    return &plain;
}

static const magic *find_kind(hn_bytes b) {
    static const magic empty = {.kind = "empty",
                                .advice = "the export or the download went wrong: make it again"};
    static const magic saved_model = {.kind = "a TensorFlow SavedModel", .advice = FROM_TF};
    static const magic frozen = {.kind = "a TensorFlow graph (frozen .pb)", .advice = FROM_TF};
    static const magic safetensors = {.kind = "a safetensors file: weights without a graph",
                                      .advice =
                                          "load it in its framework and export the model to ONNX"};
    if (b.n == 0)
        return &empty;
    for (size_t i = 0; i < HN_COUNT(magics); i++) {
        if (has_at(b, magics[i].offset, magics[i].bytes, magics[i].n))
            return &magics[i];
    }
    if (has_at(b, 0, "PK\x03\x04", 4) || has_at(b, 0, "PK\x05\x06", 4))
        return find_zip_kind(b);
    if (hn_file_is_text(b))
        return find_text_kind(b);
    return is_safetensors(b)        ? &safetensors
           : is_saved_model(b)      ? &saved_model
           : is_tensorflow_graph(b) ? &frozen
                                    : NULL;
}

hone_status hn_file_kind_check(hn_bytes bytes, const char *name, hone_error *err) {
    const magic *m = find_kind(bytes);
    if (!m)
        return HONE_OK;
    return hn_fail(err, HONE_E_FORMAT, "%s is %s, not an ONNX model: %s", name, m->kind, m->advice);
}
