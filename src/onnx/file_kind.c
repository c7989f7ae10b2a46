#include "onnx/file_kind.h"

enum { PEEK_BYTES = 4096 };

/* ---- marks ----------------------------------------------------------------------------------- */

typedef struct file_mark {
    uint16_t offset;
    uint8_t n;
    const char *bytes;
    const char *kind;
    const char *advice;
} file_mark;

/* clang-format off */
#define MARK(offset, text, kind, advice) {offset, sizeof(text) - 1, text, kind, advice}
/* clang-format on */
#define NOT_A_MODEL "give the path of a model"
#define UNPACK "unpack it first"
#define FROM_TF "convert it with tf2onnx (python -m tf2onnx.convert)"
static const file_mark file_marks[] = {
    MARK(0, "version https://git-lfs", "a git LFS pointer, not the file itself",
         "fetch the model with 'git lfs pull'"),
    MARK(3, "\0TFL3", "a TensorFlow Lite model",
         "convert it with tf2onnx (python -m tf2onnx.convert --tflite)"),
    MARK(3, "\0ORTM", "an ONNX Runtime .ort model", "use the .onnx file that it was made from"),
    MARK(3, "\0CIR0", "a Circle model", "use the ONNX file that it was made from"),
    MARK(0, "GGUF", "a GGUF model (llama.cpp)", "export the original model to ONNX instead"),
    MARK(0, "lmgg", "a GGML model", "export the original model to ONNX instead"),
    MARK(0, "\x89HDF\r\n\x1a\n", "an HDF5 file (Keras weights or model)",
         "load it in Keras and export it with tf2onnx"),
    MARK(0, "\x93NUMPY", "a NumPy array", "give the model, not its data"),
    MARK(0, "ftrt", "a TensorRT engine", "use the ONNX file that it was built from"),
    MARK(0, "ptrt", "a TensorRT engine", "use the ONNX file that it was built from"),
    MARK(0, "RKNN", "an RKNN model", "use the ONNX file that it was built from"),
    MARK(0, "7767517", "an ncnn model", "use the ONNX file that it was made from"),
    MARK(0, "\x80\x02", "a Python pickle (an old PyTorch checkpoint?)",
         "load it in Python and export it with torch.onnx.export"),
    MARK(0, "\x80\x03", "a Python pickle", "load it in Python and export the model to ONNX"),
    MARK(0, "\x80\x04", "a Python pickle (scikit-learn or joblib?)",
         "load it in Python and export it, for instance with skl2onnx"),
    MARK(0, "\x80\x05", "a Python pickle (scikit-learn or joblib?)",
         "load it in Python and export it, for instance with skl2onnx"),
    MARK(0, "\x1f\x8b", "compressed (gzip)", UNPACK),
    MARK(0, "\3757zXZ", "compressed (xz)", UNPACK),
    MARK(0, "BZh", "compressed (bzip2)", UNPACK),
    MARK(0, "\x28\xb5\x2f\xfd", "compressed (zstd)", UNPACK),
    MARK(0, "\x04\x22\x4d\x18", "compressed (lz4)", UNPACK),
    MARK(0, "7z\xbc\xaf\x27\x1c", "an archive (7z)", UNPACK),
    MARK(0, "Rar!", "an archive (rar)", UNPACK),
    MARK(257, "ustar", "an archive (tar)", UNPACK),
    MARK(0, "\177ELF", "a program or a library", NOT_A_MODEL),
    MARK(0, "MZ\x90", "a Windows program", NOT_A_MODEL),
    MARK(0, "\x89PNG", "a PNG image", NOT_A_MODEL),
    MARK(0, "\xff\xd8\xff", "a JPEG image", NOT_A_MODEL),
    MARK(0, "%PDF", "a PDF document", NOT_A_MODEL),
    MARK(0, "SQLite format 3", "an SQLite database", NOT_A_MODEL),
};

/* What a zip archive is shows in the names of its members. */
static const file_mark zip_members[] = {
    MARK(0, "constants.pkl", "a TorchScript archive (zip)",
         "load it with torch.jit.load and export it with torch.onnx.export"),
    MARK(0, "data.pkl", "a PyTorch archive (zip)", "export it with torch.onnx.export"),
    MARK(0, "serialized_exported_program", "a PyTorch exported program (zip)",
         "export it with torch.onnx.export"),
    MARK(0, "model.weights.h5", "a Keras archive (zip)",
         "load it in Keras and export it with tf2onnx"),
    MARK(0, "com.apple.CoreML", "a Core ML package (zip)",
         "use the ONNX file that it was made from"),
    MARK(0, ".npy", "a NumPy archive (zip)", "give the model, not its data"),
};

/* The first word of text files; white space before it is skipped. */
static const file_mark text_starts[] = {
    MARK(0, "{", "JSON", "give the .onnx file"),
    MARK(0, "<!DOCTYPE", "a web page", "the download failed: fetch the model again"),
    MARK(0, "<html", "a web page", "the download failed: fetch the model again"),
    MARK(0, "[net]", "a Darknet configuration", "convert it to ONNX first"),
    MARK(0, "#!", "a script", NOT_A_MODEL),
};
#undef MARK

/* ---- looking --------------------------------------------------------------------------------- */

static bool bytes_match_at(hn_bytes b, uint64_t offset, const char *text, size_t n) {
    return b.n >= offset + n && memcmp((const uint8_t *)b.at + offset, text, n) == 0;
}

static bool bytes_contain(hn_bytes b, const char *text, size_t n) {
    for (uint64_t i = 0; i + n <= b.n; i++) {
        if (bytes_match_at(b, i, text, n))
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

static const file_mark *find_zip_kind(hn_bytes b) {
    static const file_mark plain = {.kind = "an archive (zip)", .advice = UNPACK};
    const uint64_t n = HN_MIN(b.n, PEEK_BYTES);
    const hn_bytes head = {b.at, n},
                   tail = {(const uint8_t *)b.at + (b.n - n), n}; /* the directory is at the end */
    for (size_t i = 0; i < HN_COUNT(zip_members); i++) {
        const file_mark *m = &zip_members[i];
        if (bytes_contain(head, m->bytes, m->n) || bytes_contain(tail, m->bytes, m->n))
            return m;
    }
    return &plain;
}

static const file_mark *find_text_kind(hn_bytes b) {
    static const file_mark plain = {.kind = "plain text, but not in ONNX text syntax",
                                    .advice = "give the .onnx file"};
    static const file_mark xml = {.kind = "XML", .advice = "give the .onnx file"};
    static const file_mark openvino = {.kind = "an OpenVINO model (XML)",
                                       .advice = "use the ONNX file that it was made from"};
    const hn_bytes head = {b.at, HN_MIN(b.n, PEEK_BYTES)};
    uint64_t start = 0;
    while (start < head.n && strchr(" \t\r\n", ((const char *)b.at)[start]))
        start++;
    for (size_t i = 0; i < HN_COUNT(text_starts); i++) {
        if (bytes_match_at(head, start, text_starts[i].bytes, text_starts[i].n))
            return &text_starts[i];
    }
    if (bytes_match_at(head, start, "<?xml", 5) || bytes_match_at(head, start, "<net", 4))
        return bytes_contain(head, "<net ", 5) ? &openvino : &xml;
    return &plain;
}

static const file_mark *find_file_kind(hn_bytes b) {
    static const file_mark empty = {
        .kind = "empty", .advice = "the export or the download went wrong: make it again"};
    static const file_mark saved_model = {.kind = "a TensorFlow SavedModel", .advice = FROM_TF};
    static const file_mark frozen = {.kind = "a TensorFlow graph (frozen .pb)", .advice = FROM_TF};
    static const file_mark safetensors = {
        .kind = "a safetensors file: weights without a graph",
        .advice = "load it in its framework and export the model to ONNX"};
    if (b.n == 0)
        return &empty;
    for (size_t i = 0; i < HN_COUNT(file_marks); i++) {
        if (bytes_match_at(b, file_marks[i].offset, file_marks[i].bytes, file_marks[i].n))
            return &file_marks[i];
    }
    if (bytes_match_at(b, 0, "PK\x03\x04", 4) || bytes_match_at(b, 0, "PK\x05\x06", 4))
        return find_zip_kind(b);
    if (hn_file_is_text(b))
        return find_text_kind(b);
    return is_safetensors(b)        ? &safetensors
           : is_saved_model(b)      ? &saved_model
           : is_tensorflow_graph(b) ? &frozen
                                    : NULL;
}

hone_status hn_file_kind_check(hn_bytes bytes, const char *name, hone_error *err) {
    const file_mark *m = find_file_kind(bytes);
    if (!m)
        return HONE_OK;
    return hn_fail(err, HONE_E_FORMAT, "%s is %s, not an ONNX model: %s", name, m->kind, m->advice);
}
