"""What random numbers cannot make, by names of dimensions, inputs and models. Patterns are searched in order."""

# Sizes of free dimensions, by their name.
NAMED_SIZES = {
    r"batch|^N$|^bs$|num_?images": 1,
    r"past|history": 16,
    r"^(seq|sequence|tokens?|text|input)(_?len(gth)?)?$|seq_len": 32,
}

# Ranges [low, high) of integers, by the name of the input.
INTEGERS = {
    r"mask": (1, 2),
    r"token_type|segment": (0, 1),
    r"input_ids|token|ids$|^text|bytes": (1, 250),
    r"position": (0, 8),
    r"len(gth)?s?$": (16, 17),
}

# By model: "sizes" of dimensions ("INPUT:AXIS" or their name), "integers" and "reals" [low, high) and "values" by input.
MODELS = {
    r"silero|vad": {"values": {"sr": 16000}, "sizes": {"input:1": 512, "sequence": 512}},
    r"migan": {"sizes": {"image:0": 1, "image:2": 512, "image:3": 512, "mask:0": 1, "mask:2": 512, "mask:3": 512}},
}
