/* Manifests and text of datasets: any bytes are parsed as JSON, and split into tokens in both
 * cases. The vocabulary is what stands before the first zero byte. */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "values/json_tree.h"
#include "data/wordpiece.h"

static void parse_manifest(const uint8_t *data, size_t n_bytes) {
    cli_buffer file = {0};
    json_tree tree;
    hone_error error;
    cli_buffer_add(&file, data, n_bytes);
    if (!json_tree_parse(&file, "fuzz", &tree, &error))
        return;
    uint64_t count;
    for (uint32_t i = 0; i < tree.n; i++) {
        json_member(&tree, &tree.nodes[i], "inputs");
        json_count(&tree.nodes[i], &count);
    }
    json_tree_free(&tree);
}

static void split_text(const char *vocabulary, const char *text_case, const char *text, size_t n) {
    enum { MOST = 64 };
    hone_error error;
    wordpiece *w = wordpiece_open(vocabulary, text_case, &error);
    cli_buffer tokens = {0};
    if (w) {
        size_t n_tokens = wordpiece_split(w, text, n, MOST, &tokens);
        if (tokens.n / sizeof(int32_t) != (n_tokens < MOST ? n_tokens : MOST))
            abort();
    }
    cli_buffer_free(&tokens);
    wordpiece_close(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    const uint8_t *zero = memchr(data, 0, n_bytes);
    size_t n_vocabulary = zero ? (size_t)(zero - data) : 0;
    char path[] = P_tmpdir "/hone_fuzz_XXXXXX";
    int file = mkstemp(path);
    FILE *f = file < 0 ? NULL : fdopen(file, "wb");
    parse_manifest(data, n_bytes);
    if (!f)
        return 0;
    fputs("[UNK]\n[CLS]\n[SEP]\n", f);
    fwrite(data, 1, n_vocabulary, f);
    fclose(f);
    const char *text = (const char *)data + n_vocabulary;
    split_text(path, "lower", text, n_bytes - n_vocabulary);
    split_text(path, "keep", text, n_bytes - n_vocabulary);
    unlink(path);
    return 0;
}
