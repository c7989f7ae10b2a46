"""The classes of differences between hone and onnxruntime that hostile graphs show; docs/differences.md explains each
by its name. A row belongs to the first class whose `what` is its own and whose pattern is found in its text: the
operator that is guilty or else those of the model, a bar, and the message or what differs."""

import re

RUNS, REFUSES, DIFFERS = "hone runs, onnxruntime refuses", "hone refuses, onnxruntime runs", "differs"

CLASSES = [
    # onnxruntime refuses
    ("missing-kernels", RUNS, r"NOT_IMPLEMENTED|not a registered function/op|not currently registered|can't be converted to MLDataType|No corresponding Numpy"),
    ("inserted-casts", RUNS, r"InsertedPrecisionFreeCast"),
    ("opset-imports", RUNS, r"ValidateOpsetForDomain"),
    ("trusted-declarations", RUNS, r"FAIL : Node \(|InferenceError\]|Type Error|re-use buffer|Graph::Graph\(|This is an invalid model"),
    ("empty-windows", RUNS, r"running (Conv|ConvTranspose) node.*(Invalid input shape|Computed output dimension)"),
    ("texts-in-other-encodings", RUNS, r"codec can't decode"),
    ("narrow-kernels", RUNS, r"running \w+ node|Exception during initialization|Initializ"),
    # hone refuses
    ("missing-operators", REFUSES, r"hone cannot run this operator"),
    ("several-constants", REFUSES, r"\(Constant\): has \d+ attributes"),
    ("constants-of-another-type", REFUSES, r"is declared as .* \(Constant\) gives|Constant-\d+ does not give"),
    ("values-outside-the-schema", REFUSES, r"stash_type is|ceil_mode is|attribute 'to' is|attribute pads holds"),
    ("axes-out-of-range", REFUSES, r"ax(is|es) (is )?-?\d+|a scalar has no axes"),
    ("ranks-of-lists", REFUSES, r"must have rank \d+( or more)?|but must have rank"),
    ("contradicting-nodes", REFUSES, r"numbers of elements differ|do not broadcast|must have one rank|add up to|out of range|can be squeezed|have size|promise"
     r"|entries, but there are|elements, but needs|must be a square|does not broadcast to|must have one element"),
    ("nodes-without-values", REFUSES, r"has neither inputs nor outputs"),
    # both run; the operator is that of the first node whose results differ
    ("random-numbers", DIFFERS, r"^(Random|Bernoulli|Multinomial)"),
    ("dropout-masks", DIFFERS, r"^Dropout"),
    ("integer-overflow", DIFFERS, r"^(Reduce\w+|Pow|Mul|Add|Sub|CumSum|Range|Div|Mod|Abs|Shrink|Gemm|MatMul) \| other integers"),
    ("flags-above-one", DIFFERS, r"^(Reduce\w+|Unique) \| (another shape|other integers|NaN)"),
    ("split-counts", DIFFERS, r"^Split "),
    ("pooling-windows", DIFFERS, r"^(Average|Max|Lp)Pool \| (another shape|infinite|NaN)"),
    ("nan-order", DIFFERS, r"^(GlobalMaxPool|Hardmax|TopK|ArgM\w+|Reduce\w+|Max|Min|Unique|Sign) "),
    ("zero-divided-by-zero", DIFFERS, r"^(Div|Celu|MeanVarianceNormalization|Reciprocal|Log|Pow) \| NaN"),
    ("infinite-bounds", DIFFERS, r"^Clip \| infinite"),
    ("quantized-rounding", DIFFERS, r"^(\w*Quantize\w*|QLinear\w+) \| other"),
    ("denormals", DIFFERS, r"^(Normalizer|Div|Sqrt|Reciprocal|Log|NonZero) \| other"),
    ("first-normalization", DIFFERS, r"^MeanVarianceNormalization \| other numbers"),
    ("cancellation", DIFFERS, r"^(Instance|Layer|Group)Normalization \| other numbers"),
    ("unrun-bodies", DIFFERS, r"^(Loop|Scan) \| another shape"),
    ("singular-matrices", DIFFERS, r"^(Inverse|Det) "),
    ("wide-sums", DIFFERS, r"^(Global)?Lp\w+ \| infinite"),
    ("infinite-sums", DIFFERS, r"^(MatMul|FusedMatMul|Gemm|FusedGemm|Einsum|Conv\w*) \| (NaN|infinite)"),
    ("scalars", DIFFERS, r"^NonZero \| another shape"),
    ("backward-slices", DIFFERS, r"^Slice \| another shape"),
    ("near-ties", DIFFERS, r"^(Greater|Less|Equal|GreaterOrEqual|LessOrEqual|Floor|Ceil|Round|Cast|Mod|Sign|Not|Where) \| other|^(Acos|Acosh|Asin|Atanh|Sqrt) \| NaN"),
    # neither
    ("onnxruntime-ends", "onnxruntime crashes", r""),
    ("onnxruntime-ends", "onnxruntime never ends", r""),
]


def class_of(row):
    """The name of the class, or None."""
    text = f"{row.get('guilty') or ' '.join(row['operators'])} | {row.get('why', '')}"
    return next((name for name, what, pattern in CLASSES if what == row["what"] and re.search(pattern, text, re.S)), None)
