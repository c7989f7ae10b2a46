"""What the benches share: models, inputs, engines, and a note on the machine."""

import os
import platform
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conform"))

SIZES = {"batch": 1, "seq": 128, "time": 100, "h": 128, "w": 128, "past": 127}
# These files reshape to the length that they were exported with.
FIXED_SIZES = {"torch_encoder": {"seq": 64}}


def architectures(names=(), folder=None):
    """Paths of the architectures (or models in a folder) whose names contain one of `names`; of all without any."""
    import models

    paths = sorted(folder.glob("*.onnx")) if folder else models.find(("architectures",))
    return [path for path in paths if not names or any(name in path.stem for name in names)]


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
        is_float = numpy.issubdtype(dtype, numpy.floating)
        numbers = generator.standard_normal(shape) if is_float else numpy.ones(shape)
        inputs[value.name] = numbers.astype(dtype)
    return inputs


# ---- engines -------------------------------------------------------------------------------------

def hone_engine(path, threads, inputs):
    import hone

    options = hone.SessionOptions()
    options.intra_op_num_threads = threads
    session = hone.InferenceSession(str(path), options)
    return lambda: session.run(None, inputs)


def onnxruntime_engine(path, threads, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def openvino_engine(path, threads, inputs):
    import openvino

    core = openvino.Core()
    model = core.read_model(str(path))
    model.reshape({name: list(value.shape) for name, value in inputs.items()})
    request = core.compile_model(model, "CPU", {
        "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": False}).create_infer_request()
    return lambda: request.infer(inputs, share_inputs=True)


ENGINES = {"hone": hone_engine, "onnxruntime": onnxruntime_engine, "openvino": openvino_engine}


def installed_engines():
    """Those whose package can be imported; says which cannot."""
    import importlib

    found = []
    for name in ENGINES:
        try:
            importlib.import_module(name)
            found.append(name)
        except ImportError as error:
            print(f"skipped: {name} ({error})", file=sys.stderr)
    return found


def machine():
    """What the numbers depend on."""
    from importlib import metadata

    cpu = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), cpu)
    versions = {}
    for name in ENGINES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            pass
    return {"cpu": cpu, "processors": os.cpu_count(), "system": platform.platform(), "versions": versions}
