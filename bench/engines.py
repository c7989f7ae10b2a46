"""The engines that are compared, each behind the same few calls.

OpenVINO is there twice: in float32, which is what the others compute in, and in the precision that it chooses by
itself on this processor (bfloat16 where the processor has it).
"""

import importlib
import os
import subprocess
import sys

import meta

HONE, ONNXRUNTIME, OPENVINO, OPENVINO_DEFAULT = "hone", "onnxruntime", "openvino float32", "openvino default"
LEVELS = {"none": "ORT_DISABLE_ALL", "all": "ORT_ENABLE_ALL"}  # default options are those of all
# Some versions use tile registers without asking the system for them, and die.
SAFE_ISA = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_FP16"}


class Ort:
    """hone or onnxruntime: their Python packages have the same classes."""

    def __init__(self, name, path, threads, level="all", profile=None, config=()):
        module = importlib.import_module(name)
        options = module.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        options.graph_optimization_level = getattr(module.GraphOptimizationLevel, LEVELS[level])
        for key, value in config:
            options.add_session_config_entry(key, value)
        if profile:
            options.enable_profiling, options.profile_file_prefix = True, str(profile)
        self.session = module.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]

    def runner(self, inputs):
        """A call that runs on these inputs and returns the outputs in order."""
        return lambda: self.session.run(None, inputs)

    def outputs(self, inputs):
        return dict(zip(self.names, self.session.run(None, inputs)))


class OpenVino:
    def __init__(self, path, threads, inputs, precision=None):
        import openvino

        core = openvino.Core()
        model = core.read_model(str(path))
        model.reshape({name: list(value.shape) for name, value in inputs.items()})
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "ENABLE_CPU_PINNING": False}
        if precision:
            settings["INFERENCE_PRECISION_HINT"] = precision
        compiled = core.compile_model(model, "CPU", settings)
        self.precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
        self.request = compiled.create_infer_request()

    def runner(self, inputs):
        return lambda: self.request.infer(inputs, share_inputs=True)


def make(name, path, threads, inputs):
    """An engine with its default options."""
    if name in (HONE, ONNXRUNTIME):
        return Ort(name, path, threads)
    return OpenVino(path, threads, inputs, "f32" if name == OPENVINO else None)


def package(name):
    return name.split()[0]


def check_hone():
    """The package that is measured must be the one that bench/run built from this tree."""
    import hone

    if not os.path.realpath(hone.__file__).startswith(str(meta.BUILD)):
        raise SystemExit(f"hone comes from {hone.__file__}, not from {meta.BUILD}; use bench/run")


def keep_openvino_alive():
    """Runs a small model in a process of its own, and forbids the newest instructions to this one when that dies."""
    code = ("import numpy, openvino as o, openvino.opset13 as op\n"
            "x = op.parameter([64, 64], numpy.float32)\n"
            "m = o.Model([op.matmul(x, op.constant(numpy.ones((64, 64), 'f4')), False, False)], [x])\n"
            "o.Core().compile_model(m, 'CPU')([numpy.ones((64, 64), 'f4')])\n")
    if subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode < 0:
        os.environ.update(SAFE_ISA)
        print(f"OpenVINO dies with its default options here; measured with {SAFE_ISA}", file=sys.stderr)


def installed(wanted=(HONE, ONNXRUNTIME, OPENVINO, OPENVINO_DEFAULT)):
    """Those whose package can be imported; says which cannot. Without hone and onnxruntime there is nothing to do."""
    found, missing = [], {}
    for name in wanted:
        try:
            importlib.import_module(package(name))
            found.append(name)
        except ImportError as error:
            missing[package(name)] = error
    for name, error in missing.items():
        print(f"skipped: {name} ({error})", file=sys.stderr)
    if HONE not in found or ONNXRUNTIME not in found:
        raise SystemExit("the benches need hone and onnxruntime; use bench/run")
    check_hone()
    if OPENVINO_DEFAULT in found:
        keep_openvino_alive()
    return found
