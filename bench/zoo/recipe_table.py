"""What random numbers cannot make, by names of dimensions, inputs and models. Patterns are searched in order."""

# Sizes of free dimensions, by their name.
NAMED_SIZES = {
    r"batch|^N$|^bs$|num_?images": 1,
    r"past|history": 16,
    r"encoder_seq": 40,
    r"decoder_seq": 1,
    r"^(seq|sequence|tokens?|text|input)(_?len(gth)?)?$|seq_len": 32,
    r"samples": 16000,
    r"frames": 200,
    r"num_nodes": 64,
    r"num_edges": 256,
}

# Ranges [low, high) of integers, by the name of the input.
INTEGERS = {
    r"mask": (1, 2),
    r"token_type|segment|^batch$": (0, 1),
    r"input_ids|token|ids$|^text|bytes|char_inputs": (1, 30),
    r"position": (0, 8),
    r"edge_index": (0, 64),
    r"len(gth)?s?$": (16, 17),
}


def image(name, height, width):
    return {"sizes": {f"{name}:2": height, f"{name}:3": width}}


# By model: "sizes" of dimensions ("INPUT:AXIS" or their name), "integers" and "reals" [low, high) and "values" by input.
MODELS = {
    r"silero|vad": {"values": {"sr": 16000}, "sizes": {"input:1": 512, "sequence": 512}},
    r"migan_pipeline": {"sizes": {"image:2": 512, "image:3": 512, "mask:2": 512, "mask:3": 512},
                        "integers": {"mask": (0, 256)}},
    r"onnx-asr": {"sizes": {"waveforms:1": 16000}, "values": {"waveforms_lens": 16000}},
    r"ddddocr": {"sizes": {"input1:3": 160}},
    r"cls": image("x", 48, 192),
    r"rec\b|_rec_": image("x", 48, 320),
    r"det\b|_det_": image("x", 320, 320),
    r"[sS][lL][aA][nN][eE][tT]": image("x", 488, 488),
    r"lore_detect": image("input", 512, 512),
    r"lore_process": {"sizes": {"slct_logi_feat:1": 16, "slct_logi_feat:2": 256, "dets:1": 16, "dets:2": 8},
                      "integers": {"dets": (0, 256)}},
    r"nudenet": image("images", 320, 320),
    r"table_cls": image("input", 224, 224),
    r"swift-f0": {"values": {"fmin": 46.875, "fmax": 2093.75}},
    r"nakdimon": {"sizes": {"input_1:1": 64}, "reals": {"input_1": (1, 30)}},
    r"piper-tts.*: model": {"values": {"input_lengths": 32}, "integers": {"diac_inputs": (0, 8)}},
    r"khmercut": {"sizes": {"time": 64}, "integers": {"cls": (0, 3)}},
    r"pymupdf": {"values": {"k": 8}},
}
