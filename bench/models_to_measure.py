"""The models that are measured, and inputs for them."""

import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFORM = ROOT / "tests" / "conform"
if str(CONFORM) not in sys.path:
    sys.path.append(str(CONFORM))

SIZES = {"batch": 1, "seq": 128, "time": 100, "h": 128, "w": 128, "past": 127}
# These files reshape to the length that they were exported with.
FIXED_SIZES = {"torch_encoder": {"seq": 64}}
LIMITS = {"input_ids": 8000, "tokens": 8000, "edges": 200}  # of random integers; others, flags among them, are 1


def architectures(names=(), folder=None):
    """Paths of the architectures (or models in a folder) whose names contain one of `names`; of all without any."""
    import live_weights
    import models

    paths = sorted(folder.glob("*.onnx")) if folder else models.find(("architectures",))
    return [live_weights.path_of(path) for path in paths if not names or any(name in path.stem for name in names)]


def published(names=()):
    """Paths of the models in the group `real`."""
    import models

    return [path for path in models.find(("real",)) if not names or any(name in path.stem for name in names)]


def free_sizes(path, sizes=None):
    return SIZES | (sizes or {}) | FIXED_SIZES.get(path.stem, {})


def random_inputs(path, sizes=None):
    """Name to array, with SIZES (and `sizes` over them) in place of free dimensions."""
    import numpy
    import onnx

    sizes = free_sizes(path, sizes)
    generator = numpy.random.default_rng(0)
    inputs = {}
    for value in onnx.load(path, load_external_data=False).graph.input:
        tensor = value.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if numpy.issubdtype(dtype, numpy.floating):
            numbers = generator.standard_normal(shape)
        elif value.name in LIMITS:
            numbers = generator.integers(0, LIMITS[value.name], shape)
        else:
            numbers = numpy.ones(shape)
        inputs[value.name] = numbers.astype(dtype)
    return inputs


def published_inputs(path, session):
    """The first input that tests/conform/run_models.py gives to a published model."""
    import run_models

    return next(iter(run_models.feeds(path.stem, session.get_inputs())))


def shapes_text(inputs):
    return " ".join("x".join(map(str, value.shape)) or "scalar" for value in inputs.values())


def seed_of(name):
    return zlib.crc32(name.encode())


def size_argument(text):
    name, _, size = text.partition("=")
    return name, int(size)
