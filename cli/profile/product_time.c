/* Measures matrix products: models of one node, made in memory. */
#include "profile/product_time.h"
#include "profile/profile_run.h"

#include <stdlib.h>
#include <string.h>

enum { ELEM_OF_FLOAT = 1, ELEM_OF_UINT8 = 2, ELEM_OF_INT8 = 3, ELEM_OF_INT32 = 6 };

/* ---- the bytes of a model -------------------------------------------------------------------- */

static void put_pb_text(cli_buffer *b, unsigned number, const char *text) {
    cli_pb_bytes(b, number, text, strlen(text));
}

/* Adds a message and frees it. */
static void put_pb_part(cli_buffer *b, unsigned number, cli_buffer *message) {
    b->failed |= message->failed;
    cli_pb_bytes(b, number, message->at, message->n);
    cli_buffer_free(message);
}

static void put_interface(cli_buffer *graph, unsigned number, const char *name, int32_t elem,
                          int64_t rows, int64_t cols) {
    cli_buffer shape = {0}, tensor = {0}, type = {0}, info = {0};
    const int64_t dims[] = {rows, cols};
    for (int i = 0; i < 2; i++) {
        cli_buffer dim = {0};
        cli_pb_int(&dim, 1, (uint64_t)dims[i]);
        put_pb_part(&shape, 1, &dim);
    }
    cli_pb_int(&tensor, 1, (uint64_t)elem);
    put_pb_part(&tensor, 2, &shape);
    put_pb_part(&type, 1, &tensor);
    put_pb_text(&info, 1, name);
    put_pb_part(&info, 2, &type);
    put_pb_part(graph, number, &info);
}

/* Numbers between -1 and 1, or all bytes. */
static void put_weights(cli_buffer *graph, int64_t rows, int64_t cols, bool is_integer) {
    cli_buffer tensor = {0}, data = {0};
    uint64_t state = 1;
    cli_pb_int(&tensor, 1, (uint64_t)rows);
    cli_pb_int(&tensor, 1, (uint64_t)cols);
    cli_pb_int(&tensor, 2, is_integer ? ELEM_OF_INT8 : ELEM_OF_FLOAT);
    put_pb_text(&tensor, 8, "w");
    for (int64_t i = 0; i < rows * cols; i++) {
        uint64_t bits = cli_random(&state);
        float number = (float)(int8_t)(bits >> 8) / 128;
        cli_buffer_add(&data, is_integer ? (const void *)&bits : &number, is_integer ? 1 : 4);
    }
    tensor.failed |= data.failed;
    cli_pb_bytes(&tensor, 9, data.at, data.n);
    cli_buffer_free(&data);
    put_pb_part(graph, 5, &tensor);
}

static void print_product(cli_buffer *out, int64_t m, int64_t k, int64_t n, bool is_integer) {
    cli_buffer node = {0}, graph = {0}, opset = {0};
    put_pb_text(&node, 1, "x");
    put_pb_text(&node, 1, "w");
    put_pb_text(&node, 2, "y");
    put_pb_text(&node, 4, is_integer ? "MatMulInteger" : "MatMul");
    put_pb_part(&graph, 1, &node);
    put_pb_text(&graph, 2, "product");
    put_weights(&graph, k, n, is_integer);
    put_interface(&graph, 11, "x", is_integer ? ELEM_OF_UINT8 : ELEM_OF_FLOAT, m, k);
    put_interface(&graph, 12, "y", is_integer ? ELEM_OF_INT32 : ELEM_OF_FLOAT, m, n);
    put_pb_text(&opset, 1, "");
    cli_pb_int(&opset, 2, 13);
    cli_pb_int(out, 1, 8);
    put_pb_part(out, 7, &graph);
    put_pb_part(out, 8, &opset);
}

/* ---- its time -------------------------------------------------------------------------------- */

static double fastest_run_us(hone_session *session, const hone_value *x, hone_value *y,
                             double spent_us) {
    double least_us = 0, begin_us = profile_clock_us();
    for (int i = 0; i < 1000 && (i < 5 || profile_clock_us() - begin_us < spent_us); i++) {
        double start_us = profile_clock_us();
        if (hone_session_run(session, NULL, 1, &(const char *){"x"}, &x, 1, &(const char *){"y"},
                             &y, NULL) != HONE_OK)
            return 0;
        double us = profile_clock_us() - start_us;
        least_us = i == 0 || us < least_us ? us : least_us;
    }
    return least_us;
}

double product_seconds(int64_t m, int64_t k, int64_t n, bool is_integer, int n_threads,
                       double spent_seconds) {
    cli_buffer bytes = {0};
    hone_model *model = NULL;
    hone_session *session = NULL;
    hone_session_options options;
    hone_value *x = NULL, *y = NULL;
    double us = 0;
    hone_session_options_init(&options);
    options.n_threads = n_threads;
    print_product(&bytes, m, k, n, is_integer);
    int32_t elem = is_integer ? ELEM_OF_UINT8 : ELEM_OF_FLOAT;
    if (!bytes.failed && hone_model_load_buffer(bytes.at, bytes.n, NULL, &model, NULL) == HONE_OK &&
        hone_session_create(model, &options, &session, NULL) == HONE_OK &&
        hone_value_create(elem, 2, (int64_t[]){m, k}, NULL, &x, NULL) == HONE_OK &&
        hone_value_create(is_integer ? ELEM_OF_INT32 : ELEM_OF_FLOAT, 2, (int64_t[]){m, n}, NULL,
                          &y, NULL) == HONE_OK) {
        hone_tensor_info info;
        hone_value_tensor(x, &info);
        memset((void *)(uintptr_t)info.data, is_integer, (size_t)info.data_bytes);
        us = fastest_run_us(session, x, y, 1e6 * spent_seconds);
    }
    hone_value_free(y);
    hone_value_free(x);
    hone_session_free(session);
    hone_model_free(model);
    cli_buffer_free(&bytes);
    return us * 1e-6;
}
