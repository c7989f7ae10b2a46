"""Search loops of com.microsoft over a tiny decoder: embeddings, and the mean of the states of all tokens, which past
states carry on; and Tokenizer. Each case is a name, a model and its inputs."""
import random

import numpy
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
WORDS, HEADS, SIZE, EOS, PAD = 12, 2, 3, 1, 0
I32, FLOAT = TensorProto.INT32, TensorProto.FLOAT


def decoder(seed):
    """(input_ids, position_ids, attention_mask, past_0) -> (logits, present_0), past_0 [2, batch, heads, length, size]"""
    rng, width = numpy.random.default_rng(seed), HEADS * SIZE
    weights = {"embedding": rng.standard_normal((WORDS, width)), "place": 0.3 * rng.standard_normal((64, width)),
               "key": rng.standard_normal((width, width)), "word": 1.5 * rng.standard_normal((width, WORDS))}
    tensors = [numpy_helper.from_array(v.astype("f4"), k) for k, v in weights.items()]
    numbers = {"heads": [0, 0, HEADS, SIZE], "flat": [0, 1, width], "one": [1], "two": [2], "mask_axes": [1, 3], "zero": [0]}
    tensors += [numpy_helper.from_array(numpy.array(v, "i8"), k) for k, v in numbers.items()]

    def node(op, inputs, *outputs, **attributes):
        return helper.make_node(op, inputs, list(outputs), **attributes)

    nodes = [
        node("Gather", ["embedding", "input_ids"], "word_in"), node("Gather", ["place", "position_ids"], "place_in"),
        node("Add", ["word_in", "place_in"], "x"), node("MatMul", ["x", "key"], "k"),
        node("Reshape", ["k", "heads"], "k4"), node("Transpose", ["k4"], "k5", perm=[0, 2, 1, 3]),
        node("Unsqueeze", ["k5", "zero"], "k6"), node("Concat", ["k6", "k6"], "new", axis=0),
        node("Concat", ["past_0", "new"], "present_0", axis=3),
        node("Gather", ["present_0", "zero"], "keys0", axis=0), node("Squeeze", ["keys0", "zero"], "keys"),
        node("Cast", ["attention_mask"], "mask", to=FLOAT), node("Unsqueeze", ["mask", "mask_axes"], "mask4"),
        node("Mul", ["keys", "mask4"], "masked"), node("ReduceSum", ["masked", "two"], "sum"),
        node("ReduceSum", ["mask4", "two"], "count"), node("Div", ["sum", "count"], "mean"),
        node("Transpose", ["mean"], "mean_t", perm=[0, 2, 1, 3]), node("Reshape", ["mean_t", "flat"], "state"),
        node("Add", ["x", "state"], "h"), node("Tanh", ["h"], "t"), node("MatMul", ["t", "word"], "logits")]
    ids = [helper.make_tensor_value_info(name, I32, ["batch", length])
           for name, length in (("input_ids", "length"), ("position_ids", "length"), ("attention_mask", "total"))]
    past = helper.make_tensor_value_info("past_0", FLOAT, [2, "batch", HEADS, "past", SIZE])
    outputs = [helper.make_tensor_value_info("logits", FLOAT, ["batch", "length", WORDS]),
               helper.make_tensor_value_info("present_0", FLOAT, [2, "batch", HEADS, "total", SIZE])]
    return helper.make_graph(nodes, "decoder", ids + [past], outputs, tensors)


class EncoderDecoder:
    """An encoder and a decoder of the same kind, the latter with states of its own and of the encoder's sequence. In the
    older form the encoder takes the first step of the decoder, too."""

    def __init__(self, seed, is_old, has_hidden):
        self.rng, self.is_old, self.has_hidden = numpy.random.default_rng(seed), is_old, has_hidden
        width = HEADS * SIZE
        weights = {"source": self.rng.standard_normal((WORDS, width)), "target": self.rng.standard_normal((WORDS, width)),
                   "key": self.rng.standard_normal((width, width)), "word": 1.5 * self.rng.standard_normal((width, WORDS))}
        self.tensors = [numpy_helper.from_array(v.astype("f4"), k) for k, v in weights.items()]
        numbers = {"heads": [0, 0, HEADS, SIZE], "flat": [0, 1, width], "two": [2], "mask_axes": [1, 3], "last": [-1]}
        self.tensors += [numpy_helper.from_array(numpy.array(v, "i8"), k) for k, v in numbers.items()]

    def cross_nodes(self):
        return [helper.make_node("Gather", ["source", "encoder_input_ids"], ["encoder_hidden_states"]),
                helper.make_node("Reshape", ["encoder_hidden_states", "heads"], ["e4"]),
                helper.make_node("Transpose", ["e4"], ["present_key_cross_0"], perm=[0, 2, 1, 3]),
                helper.make_node("Neg", ["present_key_cross_0"], ["present_value_cross_0"])]

    def step_nodes(self, ids, past, cross):
        def node(op, inputs, output, **attributes):
            return helper.make_node(op, inputs, [output], **attributes)

        nodes = [node("Gather", [ids, "last"], "token", axis=1), node("Gather", ["target", "token"], "x"),
                 node("MatMul", ["x", "key"], "k"),
                 node("Reshape", ["k", "heads"], "k4"), node("Transpose", ["k4"], "new", perm=[0, 2, 1, 3])]
        for kind in ("key", "value"):
            nodes += [node("Concat", [f"past_{kind}_self_0", "new"], f"present_{kind}_self_0", axis=2) if past else
                      node("Identity", ["new"], f"present_{kind}_self_0")]
        return nodes + [
            node("ReduceMean", ["present_key_self_0"], "own", axes=[2]),
            node("Cast", ["encoder_attention_mask"], "mask", to=FLOAT), node("Unsqueeze", ["mask", "mask_axes"], "mask4"),
            node("Mul", [cross, "mask4"], "masked"), node("ReduceSum", ["masked", "two"], "sum"),
            node("ReduceSum", ["mask4", "two"], "count"), node("Div", ["sum", "count"], "mean"),
            node("Add", ["own", "mean"], "both"), node("Transpose", ["both"], "both_t", perm=[0, 2, 1, 3]),
            node("Reshape", ["both_t", "flat"], "state"), node("Add", ["x", "state"], "h"), node("Tanh", ["h"], "t"),
            node("MatMul", ["t", "word"], "logits")]

    @staticmethod
    def ids(name, length):
        return helper.make_tensor_value_info(name, I32, ["batch", length])

    @staticmethod
    def states(prefix, where, length):
        return [helper.make_tensor_value_info(f"{prefix}_{kind}_{where}_0", FLOAT, ["batch", HEADS, length, SIZE])
                for kind in ("key", "value")]

    def bodies(self):
        logits = helper.make_tensor_value_info("logits", FLOAT, ["batch", 1, WORDS])
        hidden = helper.make_tensor_value_info("encoder_hidden_states", FLOAT, ["batch", "source_length", HEADS * SIZE])
        inputs, outputs = [self.ids("encoder_input_ids", "source_length"), self.ids("encoder_attention_mask", "source_length")], []
        nodes = self.cross_nodes()
        if self.is_old:
            inputs.append(self.ids("decoder_input_ids", 1))
            outputs = [logits, hidden] + self.states("present", "self", 1)
            nodes += self.step_nodes("decoder_input_ids", False, "present_key_cross_0")
        outputs += self.states("present", "cross", "source_length")
        encoder = helper.make_graph(nodes, "encoder", inputs, outputs, self.tensors)
        inputs = [self.ids("input_ids", 1), self.ids("encoder_attention_mask", "source_length")]
        inputs += ([hidden] if self.has_hidden else []) + self.states("past", "self", "past") + self.states("past", "cross", "source_length")
        decoder_body = helper.make_graph(self.step_nodes("input_ids", True, "past_key_cross_0"), "decoder", inputs,
                                         [logits] + self.states("present", "self", "total"), self.tensors)
        return {"encoder": encoder, "decoder": decoder_body, "model_type": 1, "decoder_start_token_id": 2}


def model_of(op, inputs, outputs, seed, bodies=None, **attributes):
    """`inputs` are names and arrays, None where one is left out."""
    bodies = bodies or {"decoder": decoder(seed), "model_type": 0}
    node = helper.make_node(op, [name if value is not None else "" for name, value in inputs], outputs, domain=MS,
                            eos_token_id=EOS, pad_token_id=PAD, **bodies, **attributes)
    feed = {name: value for name, value in inputs if value is not None}
    declared = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                for name, value in feed.items()]
    ranks = {"sequences": (I32, 3 if op == "BeamSearch" else 2), "sequences_scores": (FLOAT, 2), "scores": (FLOAT, 4),
             "filtered_logits": (FLOAT, 2)}
    results = [helper.make_tensor_value_info(name, ranks[name][0], [None] * ranks[name][1]) for name in outputs]
    graph = helper.make_graph([node], "search", declared, results)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8), feed


def number(value, dtype="i4"):
    return numpy.array([value], dtype)


def prompt(rng, numbers):
    ids = numbers.integers(2, WORDS, (rng.randint(1, 3), rng.randint(1, 4))).astype("i4")
    if rng.random() < 0.3 and ids.shape[1] > 1:
        ids[0, 0] = PAD
    return ids


def common_inputs(rng, numbers, ids):
    vocab = (numbers.random(WORDS) < 0.8).astype("i4")
    vocab[2:4] = 1
    prefix = (numbers.random((ids.shape[0], WORDS)) < 0.7).astype("i4")
    prefix[:, 3:6] = 1
    return {"max_length": number(ids.shape[1] + rng.randint(1, 9)),
            "min_length": number(rng.randint(0, 6)) if rng.random() < 0.5 else None,
            "repetition_penalty": number(rng.choice([1.0, 1.3, 0.8]), "f4") if rng.random() < 0.5 else None,
            "vocab_mask": vocab if rng.random() < 0.3 else None,
            "prefix_vocab_mask": prefix if rng.random() < 0.3 else None,
            "attention_mask": (ids != PAD).astype("i4") if rng.random() < 0.3 else None}


def attributes_of(rng):
    return {"no_repeat_ngram_size": rng.choice([2, 3])} if rng.random() < 0.3 else {}


def greedy_cases():
    rng, numbers = random.Random(11), numpy.random.default_rng(11)
    for i in range(25):
        ids = prompt(rng, numbers)
        given = common_inputs(rng, numbers, ids)
        names = ("max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask")
        inputs = [("input_ids", ids)] + [(name, given[name]) for name in names]
        yield f"GreedySearch {i}", *model_of("GreedySearch", inputs, ["sequences"], i, **attributes_of(rng))


def sampling_cases():
    rng, numbers = random.Random(13), numpy.random.default_rng(13)
    for i in range(25):
        ids = prompt(rng, numbers)
        given = common_inputs(rng, numbers, ids)
        names = ("max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask")
        inputs = [("input_ids", ids)] + [(name, given[name]) for name in names]
        inputs += [("presence_mask", None), ("seed", number(rng.randint(0, 1000)))]
        attributes = {"temperature": rng.choice([1.0, 0.7, 2.0]), "top_p": rng.choice([0.3, 0.6, 0.9]),
                      "filter_value": -1e20, "min_tokens_to_keep": rng.choice([0, 1, 2]), "custom": rng.randint(0, 1)}
        yield f"Sampling {i}", *model_of("Sampling", inputs, ["sequences"], i, **attributes, **attributes_of(rng))


def beam_cases():
    rng, numbers = random.Random(17), numpy.random.default_rng(17)
    for i in range(60):
        ids = prompt(rng, numbers)
        given = common_inputs(rng, numbers, ids)
        bodies = None
        if i >= 40:
            is_old = i % 3 != 0
            bodies = EncoderDecoder(i, is_old, is_old and i % 2 == 0).bodies()
            given["max_length"] = number(rng.randint(3, 10))
        beams = rng.randint(1, 4)
        given |= {"num_beams": number(beams), "num_return_sequences": number(rng.randint(1, beams)),
                  "min_length": number(rng.randint(0, 6)),  # the oracle wants it here, like length_penalty
                  "length_penalty": number(rng.choice([1.0, 0.5, 2.0]), "f4")}
        names = ("max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty", "repetition_penalty",
                 "vocab_mask", "prefix_vocab_mask", "attention_mask")
        inputs = [("input_ids", ids)] + [(name, given[name]) for name in names]
        outputs = ["sequences", "sequences_scores", "scores"][:rng.randint(1, 3)]
        yield f"BeamSearch {i}", *model_of("BeamSearch", inputs, outputs, i, bodies, early_stopping=rng.randint(0, 1),
                                           **attributes_of(rng))


def tokenizer_cases():
    texts = numpy.array([["Hello world, this is it", "a b  c"], ["", "x"], ["gr\u00fc\u00df dich!", "abcabcab"], ["1,2;3", "  "]], object)
    ways = [{"separators": s} for s in ([" "], [" ", ","], [" +"], ["[,;]", " "], ["bc", "ab"], ["b|bc"], ["\\s*"], ["\\W"], [""])]
    ways += [{"tokenexp": e} for e in ("[a-z]+", "\\w+", "a|ab|abc", "[^ ]", "x*", "\\bw\\w*", "^.")]
    for mark in (0, 1):
        for way in ways:
            for least in (1, 2) if way.get("separators") != [""] else (1,):
                node = helper.make_node("Tokenizer", ["x"], ["y"], domain=MS, mark=mark, mincharnum=least, pad_value="#", **way)
                graph = helper.make_graph([node], "tokenizer",
                                          [helper.make_tensor_value_info("x", TensorProto.STRING, texts.shape)],
                                          [helper.make_tensor_value_info("y", TensorProto.STRING, [None] * 3)])
                imports = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
                yield (f"Tokenizer {mark} {least} {way}", helper.make_model(graph, opset_imports=imports, ir_version=8),
                       {"x": texts})


def comparable(name, ours, theirs):
    """The oracle leaves what follows the last step as it finds it: not compared."""
    if not name.startswith(("GreedySearch", "Sampling", "BeamSearch")) or ours[0].shape != theirs[0].shape:
        return theirs
    theirs = [array.copy() for array in theirs]
    if not name.startswith("BeamSearch"):
        for row, wanted in zip(ours[0], theirs[0]):
            n_tokens = len(numpy.trim_zeros(row, "b")) + 1
            wanted[n_tokens:] = PAD
    elif len(ours) > 2:
        theirs[2][~ours[2].any(axis=(1, 2, 3))] = 0
    return theirs


def all_cases():
    for makers in (greedy_cases, sampling_cases, beam_cases, tokenizer_cases):
        yield from makers()
