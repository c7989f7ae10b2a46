"""Why rows of the zoo are not as they should be: (part of the model's name, kind of exception) to a sentence.

Kinds are those of zoo_page.exceptions. "not run" is a model that onnxruntime does not run, either.
"""

STFT = ("onnxruntime's STFT of 400 samples is 3e-5 of the largest number away from what doubles give, hone's 5e-8; the "
        "logarithm of the spectrum makes more of it.")
MADE_UP = "the sizes that hone makes up for free dimensions do not fit this model; with inputs that are given it is verified."
BYTES = "dynamically quantized: constant weights of bytes (products, LSTM) are packed or widened in every run."
RESAMPLER = "a 1-D convolution of one channel over a whole waveform, with few multiplications per element."
SLANET = "value_info declares conditions as scalars that Cast gives as lists of one."
GRAPH_NETWORK = "value_info declares rank 1 for what an Identity of a matrix gives."

EXPLANATIONS = {
    ("mul_1", "check"): "IR version 3 demands that initializers are inputs, too; onnxruntime does not look.",
    ("logreg_iris", "fails"): "LinearClassifier with 3 intercepts and coefficients for 6 scores; onnxruntime uses what there is.",
    ("logreg_iris", "optimize"): "the same.",
    ("nani_enc", "optimize"): "its input are strings, which hone does not make up.",
    ("kaldi", "optimize"): MADE_UP,
    ("lore_process", "optimize"): MADE_UP,
    ("aecmos", "optimize"): MADE_UP,
    ("silero", "optimize"): MADE_UP,
    ("moonshine", "optimize"): MADE_UP,
    ("_rec_infer", "optimize"): MADE_UP,
    ("migan_pipeline", "optimize"): MADE_UP,
    ("pymupdf", "optimize"): GRAPH_NETWORK,
    ("pymupdf", "check"): GRAPH_NETWORK,
    ("pymupdf", "fails"): GRAPH_NETWORK,
    ("pymupdf", "slow"): "BatchNormalization of matrices and ScatterElements of a graph network.",
    ("slanet", "check"): SLANET,
    ("SLANet", "check"): SLANET,
    ("ddddocr", "check"): "its output is declared with two dimensions, and the Reshape before it gives three.",
    ("gigaam", "differs"): STFT,
    ("whisper", "differs"): STFT,
    ("resample", "slow"): RESAMPLER,
    ("ddddocr", "slow"): BYTES,
    ("khmercut", "slow"): BYTES,
    ("moonshine", "slow"): BYTES,
    ("smart-turn", "slow"): ("quantized by QuantizeLinear and DequantizeLinear around float operators: onnxruntime makes one "
                             "operator of bytes of each group, hone computes all of them, and the two are plain loops."),
    ("ukis-csmask", "slow"): "computes in float16, whose convolutions miss the kernels of float.",
    ("background-removal", "slow"): "computes in float16, whose convolutions miss the kernels of float.",
    ("_qint8", "slow"): BYTES,
    ("_qint8", "differs"): ("dynamically quantized: activations are rounded to bytes in each layer, and onnxruntime's own results "
                            "move by more than 5 % when the last bits of the input change."),
    ("migan_pipeline", "unstable"): "results are bytes; 11 of 786,432 are a tie that rounds the other way, as they do in onnxruntime.",
}
