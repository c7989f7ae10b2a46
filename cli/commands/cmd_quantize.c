/* hone quantize: float models to integers. */
#include "data/dataset_samples.h"
#include "commands/quantize_report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct quantize_options {
    cli_model_options model;
    cli_input_options input;
    cli_dataset_options data;
    cli_save_options save;
    const char *mode, *format, *activations, *weights, *method, *percentile, *level;
    const char *calib_cache, *weight_symmetric, *alpha, *minimum_range, *average_constant;
    uint64_t block, threads, keep_sensitive, accuracy_level;
    cli_list ops, excluded_ops, float_outputs, nodes, excluded_nodes, overrides, choices, axes;
    bool per_tensor, symmetric, range_symmetric, reduce_range, keep_first, keep_last, all_products;
    bool restricted, no_bias_adjust, dedicated_pairs, contrib_qdq, gptq, keep_outliers;
    bool standard_ops;
    bool force, keep_activations, float_bias, qdq_weights, equalize, correct_bias, search;
    bool explain, json;
} quantize_options;

#define QUANTIZE_ROW(name, letter, kind, member, value, help) \
  { name, letter, kind, offsetof(quantize_options, member), value, help }

static const cli_option quantize_option_table[] = {
    CLI_SAVE_OPTIONS(quantize_options),
    QUANTIZE_ROW("mode", 0, CLI_TEXT, mode, "static|dynamic|weight-only",
                 "ranges of activations from --calib (default), from each run, or float"),
    QUANTIZE_ROW("format", 0, CLI_TEXT, format, "qdq|qoperator",
                 "QuantizeLinear/DequantizeLinear (default), or operators on integers"),
    QUANTIZE_ROW("standard-ops", 0, CLI_FLAG, standard_ops, NULL,
                 "qoperator: operators of ONNX only, none of com.microsoft"),
    QUANTIZE_ROW("calib", 'c', CLI_TEXT, data.source, "[NAME=]PATH",
                 "calibration samples: a folder of images or of test data sets, rows of .npy or "
                 ".npz, raw files with a manifest, lines of text (docs/data.md)"),
    QUANTIZE_ROW("method", 0, CLI_TEXT, method, "METHOD",
                 "minmax, moving-average, percentile, entropy, mse, or auto (default: the one "
                 "with the least error, per tensor)"),
    QUANTIZE_ROW("percentile", 0, CLI_TEXT, percentile, "P",
                 "share of numbers inside the range (default 99.999)"),
    QUANTIZE_ROW("average-constant", 0, CLI_TEXT, average_constant, "C",
                 "moving-average: weight of a new sample (default 0.01)"),
    QUANTIZE_ROW("calib-cache", 0, CLI_TEXT, calib_cache, "FILE",
                 "JSON with the ranges: read if it exists, else written"),
    QUANTIZE_ROW("activations", 0, CLI_TEXT, activations, "TYPE",
                 "uint8 (default), int8, uint16, int16"),
    QUANTIZE_ROW("weights", 0, CLI_TEXT, weights, "TYPE",
                 "int8 (default), uint8, int4, uint4, int16, float8e4m3fn, ..."),
    QUANTIZE_ROW("per-tensor", 0, CLI_FLAG, per_tensor, NULL,
                 "one scale per weight instead of one per output channel"),
    QUANTIZE_ROW("channel-axis", 0, CLI_TEXTS, axes, "OP=AXIS",
                 "axis of the scales of an operator's weights (repeatable)"),
    QUANTIZE_ROW("block", 0, CLI_COUNT, block, "N", "one scale per N weights of a channel"),
    QUANTIZE_ROW("symmetric", 0, CLI_FLAG, symmetric, NULL,
                 "activations without zero point, or with the middle one"),
    QUANTIZE_ROW("restricted-asymmetric", 0, CLI_FLAG, restricted, NULL,
                 "uint8 activations have zero point 0 or 128"),
    QUANTIZE_ROW("weight-symmetric", 0, CLI_TEXT, weight_symmetric, "yes|no",
                 "weights without zero point (default: where the type is signed)"),
    QUANTIZE_ROW("range-symmetric", 0, CLI_FLAG, range_symmetric, NULL,
                 "extend ranges to [-m, m] before scales are computed"),
    QUANTIZE_ROW("minimum-range", 0, CLI_TEXT, minimum_range, "X",
                 "extend shorter ranges of activations to this length"),
    QUANTIZE_ROW("reduce-range", 0, CLI_FLAG, reduce_range, NULL,
                 "7 bits for weights: for onnxruntime on processors without VNNI"),
    QUANTIZE_ROW("op", 0, CLI_TEXTS, ops, "OP", "quantize these operators only (repeatable)"),
    QUANTIZE_ROW("exclude-op", 0, CLI_TEXTS, excluded_ops, "OP",
                 "operators that stay float (repeatable)"),
    QUANTIZE_ROW("float-output", 0, CLI_TEXTS, float_outputs, "OP",
                 "operators whose output is quantized only for quantized readers (repeatable)"),
    QUANTIZE_ROW("node", 0, CLI_TEXTS, nodes, "NAME",
                 "quantize these layers only; * and ? are patterns (repeatable)"),
    QUANTIZE_ROW("exclude-node", 0, CLI_TEXTS, excluded_nodes, "NAME",
                 "nodes that stay float; * and ? are patterns (repeatable)"),
    QUANTIZE_ROW("override", 0, CLI_TEXTS, overrides, "TENSOR=WISH,...",
                 "of one tensor: a type, float, symmetric, asymmetric, range=LOW:HIGH, "
                 "scale=S, zero=Z (repeatable)"),
    QUANTIZE_ROW("type", 0, CLI_TEXTS, choices, "NODE=TYPE",
                 "type of the weights of layers; * and ? are patterns, float keeps them; the "
                 "first that fits decides (repeatable)"),
    QUANTIZE_ROW("keep-first", 0, CLI_FLAG, keep_first, NULL, "the first layers stay float"),
    QUANTIZE_ROW("keep-last", 0, CLI_FLAG, keep_last, NULL, "the last layers stay float"),
    QUANTIZE_ROW("keep-sensitive", 0, CLI_COUNT, keep_sensitive, "N",
                 "the N layers with the largest errors stay float"),
    QUANTIZE_ROW("all-products", 0, CLI_FLAG, all_products, NULL,
                 "also products of two activations, as in attention"),
    QUANTIZE_ROW("force", 0, CLI_FLAG, force, NULL, "quantize operators even between float ones"),
    QUANTIZE_ROW("keep-activations", 0, CLI_FLAG, keep_activations, NULL,
                 "leave Relu and Clip in the graph that quantization implies"),
    QUANTIZE_ROW("float-bias", 0, CLI_FLAG, float_bias, NULL, "biases stay float"),
    QUANTIZE_ROW("no-bias-adjust", 0, CLI_FLAG, no_bias_adjust, NULL,
                 "never raise scales of weights so that int32 holds the bias"),
    QUANTIZE_ROW("dedicated-pairs", 0, CLI_FLAG, dedicated_pairs, NULL,
                 "a QuantizeLinear/DequantizeLinear pair for each reader of an activation"),
    QUANTIZE_ROW("contrib-qdq", 0, CLI_FLAG, contrib_qdq, NULL,
                 "pairs are operators of com.microsoft: 16 and 4 bits in every opset"),
    QUANTIZE_ROW("qdq-weights", 0, CLI_FLAG, qdq_weights, NULL,
                 "weights stay float in the file, with a QuantizeLinear behind them"),
    QUANTIZE_ROW("equalize", 0, CLI_FLAG, equalize, NULL,
                 "rescue accuracy: balance channels between layers (equalization, SmoothQuant)"),
    QUANTIZE_ROW("alpha", 0, CLI_TEXT, alpha, "A",
                 "with --equalize: how much moves into weights, 0 to 1 (default: searched)"),
    QUANTIZE_ROW("correct-bias", 0, CLI_FLAG, correct_bias, NULL,
                 "rescue accuracy: biases make up for the mean error of their layer"),
    QUANTIZE_ROW("gptq", 0, CLI_FLAG, gptq, NULL,
                 "rescue accuracy: round weights so that they make up for each other's errors"),
    QUANTIZE_ROW("keep-outliers", 0, CLI_FLAG, keep_outliers, NULL,
                 "rescue accuracy: input channels of products with far larger numbers stay float"),
    QUANTIZE_ROW("search-scales", 0, CLI_FLAG, search, NULL,
                 "weight-only: scales with the least squared error"),
    QUANTIZE_ROW("accuracy-level", 0, CLI_COUNT, accuracy_level, "N",
                 "of MatMulNBits: 4 lets runtimes compute with int8"),
    QUANTIZE_ROW("explain", 'e', CLI_FLAG, explain, NULL,
                 "errors of weights, activations and outputs, layer by layer"),
    QUANTIZE_ROW("json", 0, CLI_FLAG, json, NULL, "the report as one JSON object"),
    QUANTIZE_ROW("level", 'l', CLI_TEXT, level, "LEVEL",
                 "of optimization before: basic, extended (default)"),
    QUANTIZE_ROW("threads", 't', CLI_COUNT, threads, "N", "default: all processors"),
    QUANTIZE_ROW("dim", 'd', CLI_TEXTS, model.dims, "NAME=SIZE",
                 "fix a symbolic dimension (repeatable)"),
    QUANTIZE_ROW("shape", 's', CLI_TEXTS, model.shapes, "INPUT=1x3x8x8",
                 "fix the shape of an input (repeatable)"),
    CLI_CUSTOM_OPS(quantize_options),
    CLI_COPY(quantize_options),
    CLI_INPUT_OPTIONS(quantize_options),
    CLI_DATASET_OPTIONS(quantize_options, data),
};

/* ---- options --------------------------------------------------------------------------------- */

/* The place of a word in a list that ends with NULL. */
static int parse_word(const char *option, const char *text, const char *const *words, int *out) {
    cli_suggestion s = {.word = text, .n = text ? strlen(text) : 0};
    for (int i = 0; text && words[i]; i++) {
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return EXIT_OK;
        }
        cli_suggest(&s, words[i]);
    }
    return text ? cli_fail("%s %s: there is no such choice%s see `hone quantize --help`", option,
                           text, cli_suggestion_text(&s, ""))
                : EXIT_OK;
}

static int parse_quant_type(const char *option, const char *text, int32_t *type) {
    for (int32_t t = 1; text && t < 64; t++)
        if (strcmp(hone_elem_type_name(t), text) == 0) {
            *type = t;
            return EXIT_OK;
        }
    return text ? cli_fail("%s %s: there is no such type", option, text) : EXIT_OK;
}

static int parse_real(const char *option, const char *text, double *out) {
    if (text && !cli_parse_number(text, out))
        return cli_fail("%s %s: write a number", option, text);
    return EXIT_OK;
}

/* One wish of "TENSOR=int8,range=-1:1". */
static bool parse_wish(char *wish, hone_quantize_override *o) {
    double number;
    char *colon = strchr(wish, ':');
    if (strncmp(wish, "range=", 6) == 0 && colon) {
        *colon = '\0';
        o->has_range = true;
        return cli_parse_number(wish + 6, &o->min) && cli_parse_number(colon + 1, &o->max);
    }
    if (strncmp(wish, "scale=", 6) == 0 && cli_parse_number(wish + 6, &number)) {
        o->has_params = true;
        o->scale = (float)number;
        return true;
    }
    if (strncmp(wish, "zero=", 5) == 0 && cli_parse_number(wish + 5, &number)) {
        o->zero_point = (int32_t)number;
        return true;
    }
    if (strcmp(wish, "symmetric") == 0 || strcmp(wish, "asymmetric") == 0) {
        o->symmetric = *wish == 's';
        return true;
    }
    for (o->type = 1; o->type < 64; o->type++)
        if (strcmp(hone_elem_type_name(o->type), wish) == 0)
            return true;
    return false;
}

/* Splits the text in place. */
static int parse_override(char *text, hone_quantize_override *o) {
    char *equals = strchr(text, '=');
    *o = (hone_quantize_override){.tensor = text, .symmetric = -1, .reduce_range = -1};
    if (!equals)
        return cli_fail("--override %s: write TENSOR=WISH", text);
    *equals = '\0';
    for (char *wish = equals + 1; wish;) {
        char *comma = strchr(wish, ',');
        if (comma)
            *comma = '\0';
        if (!parse_wish(wish, o))
            return cli_fail("--override %s: '%s' is no wish; see `hone quantize --help`", text,
                            wish);
        wish = comma ? comma + 1 : NULL;
    }
    return EXIT_OK;
}

/* "NODE=TYPE", split in place at the last equals sign: names may have some. */
static int parse_choice(char *text, hone_quantize_choice *choice) {
    char *equals = strrchr(text, '=');
    if (!equals)
        return cli_fail("--type %s: write NODE=TYPE", text);
    *equals = '\0';
    choice->pattern = text;
    return parse_quant_type("--type", equals + 1, &choice->type);
}

/* "OP=AXIS", split in place. */
static int parse_axis(char *text, hone_quantize_axis *axis) {
    char *equals = strchr(text, '=');
    double number;
    if (!equals || !cli_parse_number(equals + 1, &number))
        return cli_fail("--channel-axis %s: write OP=AXIS", text);
    *equals = '\0';
    *axis = (hone_quantize_axis){text, (int32_t)number};
    return EXIT_OK;
}

static int parse_choices(const quantize_options *o, hone_quantize_options *q) {
    static const char *const modes[] = {"static", "dynamic", "weight-only", NULL};
    static const char *const formats[] = {"qdq", "qoperator", NULL};
    static const char *const methods[] = {"minmax", "moving-average", "percentile", "entropy",
                                          "mse",    "auto",           NULL};
    static const char *const answers[] = {"no", "yes", NULL};
    int mode = q->mode, format = q->format, method = q->calibration;
    if (parse_word("--mode", o->mode, modes, &mode) != EXIT_OK ||
        parse_word("--format", o->format, formats, &format) != EXIT_OK ||
        parse_word("--method", o->method, methods, &method) != EXIT_OK ||
        parse_word("--weight-symmetric", o->weight_symmetric, answers, &q->weight_symmetric) !=
            EXIT_OK ||
        parse_quant_type("--weights", o->weights, &q->weight_type) != EXIT_OK ||
        parse_quant_type("--activations", o->activations, &q->activation_type) != EXIT_OK ||
        parse_real("--percentile", o->percentile, &q->percentile) != EXIT_OK ||
        parse_real("--average-constant", o->average_constant, &q->moving_average_constant) !=
            EXIT_OK ||
        parse_real("--alpha", o->alpha, &q->smooth_alpha) != EXIT_OK ||
        parse_real("--minimum-range", o->minimum_range, &q->minimum_real_range) != EXIT_OK ||
        cli_parse_level(o->level, &q->level) != EXIT_OK)
        return EXIT_USAGE;
    q->mode = (hone_quantize_mode)mode;
    q->format = (hone_quantize_format)format;
    q->calibration = (hone_calibration)method;
    return EXIT_OK;
}

static void take_lists(const quantize_options *o, hone_quantize_options *q) {
    q->n_op_types = (uint32_t)o->ops.n;
    q->op_types = o->ops.at;
    q->n_excluded_op_types = (uint32_t)o->excluded_ops.n;
    q->excluded_op_types = o->excluded_ops.at;
    q->n_nodes = (uint32_t)o->nodes.n;
    q->nodes = o->nodes.at;
    q->n_excluded_nodes = (uint32_t)o->excluded_nodes.n;
    q->excluded_nodes = o->excluded_nodes.at;
    q->n_float_output_op_types = (uint32_t)o->float_outputs.n;
    q->float_output_op_types = o->float_outputs.at;
    q->activation_symmetric = o->symmetric;
    q->activation_restricted_asymmetric = o->restricted;
    q->per_channel = !o->per_tensor;
    q->reduce_range = o->reduce_range;
    q->block_size = (uint32_t)o->block;
    q->keep_first = o->keep_first;
    q->keep_last = o->keep_last;
    q->matmul_const_b_only = !o->all_products;
    q->force_no_input_check = o->force;
    q->keep_removable_activations = o->keep_activations;
    q->quantize_bias = !o->float_bias;
    q->weight_adjust_for_int32_bias = !o->no_bias_adjust;
    q->add_qdq_pair_to_weight = o->qdq_weights;
    q->dedicated_qdq_pair = o->dedicated_pairs;
    q->standard_ops = o->standard_ops;
    q->use_qdq_contrib_ops = o->contrib_qdq;
    q->range_symmetric = o->range_symmetric;
    q->calibration_cache = o->calib_cache;
    q->keep_sensitive = (uint32_t)o->keep_sensitive;
    q->search_scales = o->search;
    q->equalize = o->equalize;
    q->correct_bias = o->correct_bias;
    q->gptq = o->gptq;
    q->keep_outliers = o->keep_outliers;
    q->accuracy_level = (int64_t)o->accuracy_level;
    q->explain = o->explain;
    q->n_threads = (int)o->threads;
}

/* ---- quantizing ------------------------------------------------------------------------------ */

static int quantize_model(hone_model *m, const char *path, hone_quantize_options *q,
                          const quantize_options *o) {
    hone_model *quantized;
    hone_quantization *done;
    hone_error error;
    cli_progress progress = {0};
    cli_progress_begin(&progress, q->mode == HONE_QUANTIZE_STATIC ? "calibrating" : "quantizing",
                       "samples");
    q->progress = cli_progress_step;
    q->progress_ctx = &progress;
    bool ok = hone_model_quantize(m, q, &quantized, &done, &error) == HONE_OK;
    cli_progress_end(&progress);
    if (!ok)
        return cli_fail_error(&error);
    int status = o->save.output ? cli_save_model(quantized, &o->save) : EXIT_OK;
    if (status == EXIT_OK && o->json)
        status = hone_quantization_write_json(done, path, cli_write_stdout, NULL, &error) == HONE_OK
                     ? EXIT_OK
                     : cli_fail_error(&error);
    else if (status == EXIT_OK)
        print_quantization(done, path, o->save.output, o->explain);
    hone_quantization_free(done);
    hone_model_free(quantized);
    return status;
}

static int with_samples(hone_model *m, const char *path, hone_quantize_options *q,
                        const quantize_options *o) {
    cli_samples samples = {0};
    hone_dataset source;
    struct stat file;
    bool has_inputs = o->data.source || o->input.files.n || o->input.random || o->input.fill;
    bool has_cache = o->calib_cache && stat(o->calib_cache, &file) == 0;
    if (q->mode == HONE_QUANTIZE_STATIC && !has_inputs && !has_cache)
        return cli_fail("static quantization needs samples: --calib PATH (or --mode dynamic, which "
                        "needs none)");
    if (has_inputs && !cli_samples_open(m, &o->data, &o->input, &samples)) {
        cli_samples_close(&samples);
        return EXIT_FAILED;
    }
    if (has_inputs) {
        source = cli_samples_source(&samples);
        q->samples = &source;
    }
    int status = quantize_model(m, path, q, o);
    if (status == EXIT_OK && samples.dataset)
        cli_dataset_warn_bad(samples.dataset);
    cli_samples_close(&samples);
    return status;
}

static int quantize_file(const char *path, const quantize_options *o) {
    hone_quantize_options q;
    hone_quantize_options_init(&q);
    if (parse_choices(o, &q) != EXIT_OK)
        return EXIT_USAGE;
    take_lists(o, &q);
    hone_quantize_override *overrides = calloc(o->overrides.n + 1, sizeof *overrides);
    hone_quantize_choice *choices = calloc(o->choices.n + 1, sizeof *choices);
    hone_quantize_axis *axes = calloc(o->axes.n + 1, sizeof *axes);
    int status = overrides && choices && axes ? EXIT_OK : cli_fail("out of memory");
    for (size_t i = 0; i < o->axes.n && status == EXIT_OK; i++)
        status = parse_axis((char *)(uintptr_t)o->axes.at[i], &axes[i]);
    q.n_channel_axes = (uint32_t)o->axes.n;
    q.channel_axes = axes;
    for (size_t i = 0; i < o->choices.n && status == EXIT_OK; i++)
        status = parse_choice((char *)(uintptr_t)o->choices.at[i], &choices[i]);
    q.n_choices = (uint32_t)o->choices.n;
    q.choices = choices;
    for (size_t i = 0; i < o->overrides.n && status == EXIT_OK; i++)
        status = parse_override((char *)(uintptr_t)o->overrides.at[i], &overrides[i]);
    q.n_overrides = (uint32_t)o->overrides.n;
    q.overrides = overrides;
    hone_model *m = status == EXIT_OK ? cli_load(path, &o->model, false) : NULL;
    if (status == EXIT_OK)
        status = m ? with_samples(m, path, &q, o) : EXIT_FAILED;
    hone_model_free(m);
    free(overrides);
    free(choices);
    free(axes);
    return status;
}

static int run_quantize(const cli_command *self, int argc, char **argv) {
    quantize_options o = {0};
    cli_list files = {0};
    int status = cli_parse(self, argc, argv, &o, &files);
    if (status == EXIT_OK && files.n != 1) {
        cli_fail("give one model; see `hone quantize --help`");
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK)
        status = quantize_file(files.at[0], &o);
    cli_model_options_free(&o.model);
    cli_input_options_free(&o.input);
    cli_list_free(&o.ops);
    cli_list_free(&o.excluded_ops);
    cli_list_free(&o.nodes);
    cli_list_free(&o.excluded_nodes);
    cli_list_free(&o.overrides);
    cli_list_free(&o.choices);
    cli_list_free(&o.axes);
    cli_list_free(&o.float_outputs);
    cli_list_free(&files);
    return status < 0 ? EXIT_OK : status;
}

static const char *const quantize_examples[] = {
    "hone quantize in.onnx -o out.onnx --calib images/ --resize 256 --crop 224x224 --mean "
    "0.485,0.456,0.406 --std 0.229,0.224,0.225|static int8, calibrated with images",
    "hone quantize bert.onnx -o out.onnx --calib lines.txt --vocab vocab.txt --limit 200|a "
    "transformer, calibrated with text",
    "hone quantize in.onnx -o out.onnx --mode dynamic|no samples needed",
    "hone quantize in.onnx -o out.onnx --mode weight-only --weights int4 --block 32|4-bit weights",
    "hone quantize in.onnx -o out.onnx --calib data.npz --equalize --correct-bias|rescue accuracy "
    "that plain int8 loses",
    "hone quantize in.onnx --calib data.npz --explain|which layers lose most, nothing written",
    NULL,
};

const cli_command cli_command_quantize = {
    .name = "quantize",
    .arguments = "MODEL [-o FILE]",
    .summary = "make integers of weights and activations, and report what was done",
    .details = "Writes models of the ONNX standard that other runtimes run, too. Static "
               "quantization needs samples of the inputs; a few hundred will do. Without -o "
               "nothing is written. docs/quantize.md explains methods and reports.",
    .options = quantize_option_table,
    .n_options = sizeof quantize_option_table / sizeof *quantize_option_table,
    .examples = quantize_examples,
    .run = run_quantize,
};
