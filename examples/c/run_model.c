/* Runs a model that reads digits on two drawings, for no longer than a second: run_model MODEL
 * for example: run_model digits.onnx */
#include <inttypes.h>
#include <stdio.h>

#include <hone/hone.h>

enum { FLOAT = 1, N_IMAGES = 2, SIDE = 8 };

static const char *const drawings[N_IMAGES] = {
    "...##..."
    "..###..."
    "...##..."
    "...##..."
    "...##..."
    "...##..."
    "...##..."
    "...##...",
    "..####.."
    ".##..##."
    ".##..##."
    ".##..##."
    ".##..##."
    ".##..##."
    ".##..##."
    "..####..",
};

static void count_nodes(void *ctx, const hone_step *step) {
    (void)step;
    ++*(int *)ctx;
}

static void print_digits(const hone_value *logits) {
    for (uint64_t image = 0; image < N_IMAGES; image++) {
        double score[10];
        int best = 0;
        hone_value_get_f64(logits, image * 10, 10, score);
        for (int digit = 1; digit < 10; digit++)
            best = score[digit] > score[best] ? digit : best;
        printf("drawing %" PRIu64 " shows a %d\n", image + 1, best);
    }
}

static hone_status read_digits(hone_session *session, float *pixels, hone_error *error) {
    const int64_t dims[] = {N_IMAGES, 1, SIDE, SIDE};
    const char *in = "image", *out = "logits";
    hone_value *image, *logits = NULL;
    hone_run_options options;
    int n_nodes = 0;
    hone_run_options_init(&options);
    options.timeout_seconds = 1;
    options.observe = count_nodes;
    options.observe_ctx = &n_nodes;
    hone_status status = hone_value_borrow(FLOAT, 4, dims, pixels,
                                           N_IMAGES * SIDE * SIDE * sizeof *pixels, &image, error);
    if (status == HONE_OK)
        status = hone_session_run(session, &options, 1, &in, (const hone_value *const *)&image, 1,
                                  &out, &logits, error);
    if (status == HONE_OK) {
        print_digits(logits);
        printf("%d nodes\n", n_nodes);
    }
    hone_value_free(logits);
    hone_value_free(image);
    return status;
}

int main(int argc, char **argv) {
    float pixels[N_IMAGES * SIDE * SIDE];
    if (argc != 2) {
        fprintf(stderr, "usage: run_model MODEL\n");
        return 2;
    }
    for (int i = 0; i < N_IMAGES * SIDE * SIDE; i++)
        pixels[i] = drawings[i / (SIDE * SIDE)][i % (SIDE * SIDE)] == '#' ? 1.0f : 0.0f;
    hone_model *model;
    hone_session *session = NULL;
    hone_error error;
    hone_session_options options;
    hone_session_options_init(&options);
    options.n_threads = 2;
    options.memory_limit_bytes = 1 << 20;
    hone_status status = hone_model_load(argv[1], NULL, &model, &error);
    if (status == HONE_OK)
        status = hone_session_create(model, &options, &session, &error);
    if (status == HONE_OK)
        status = read_digits(session, pixels, &error);
    if (status != HONE_OK)
        fprintf(stderr, "%s\n", error.message);
    hone_session_free(session);
    hone_model_free(model);
    return status == HONE_OK ? 0 : 1;
}
