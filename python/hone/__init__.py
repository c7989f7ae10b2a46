"""hone: load, inspect, check, optimize, save and run ONNX models.

Programs written for onnxruntime run with `import hone as ort`:

    session = hone.InferenceSession("model.onnx")
    outputs = session.run(None, {"input": array})

Models are objects, too: hone.load, info, check, save, optimize and diff.
"""

import logging
import os

from . import _core, _options, capi
from ._errors import (
    Cancelled,
    EngineError,
    EPFail,
    Error,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    NoModel,
    NoSuchFile,
    OutOfMemory,
    RuntimeException,
    Unsupported,
)
from ._options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from ._providers import get_all_providers, get_available_providers, get_device
from ._session import InferenceSession, ModelMetadata, NodeArg
from ._values import IOBinding, OrtDevice, OrtValue
from ._quantize import Quantization, QuantizedNode, quantize
from .model import Model, check, diff, info, load, optimize, random_inputs, save

__version__ = _core.version()
version = __version__
#: The release of onnxruntime whose API this is; hone.onnxruntime, its stand-in, reports it as its version.
onnxruntime_version = "1.31.0"
SessionIOBinding = IOBinding


def _check_cpu_variable() -> None:
    """The library ignores a value that it does not know: said once, when the package is imported."""
    value = os.environ.get("HONE_CPU", "")
    if value and value not in _core.cpu_tiers():
        known = ", ".join(_core.cpu_tiers())
        logging.getLogger("hone").warning("HONE_CPU=%s: there is no such instruction set; it is one of %s", value, known)


_check_cpu_variable()


def get_version_string() -> str:
    """The version of the library."""
    return __version__


def get_build_info() -> str:
    """The version of the library, and the processor features it uses."""
    return f"hone {__version__}, {_core.cpu_features()}"


def set_default_logger_severity(severity: int) -> None:
    """Accepted for compatibility: the library never prints."""


def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted for compatibility: the library never prints."""


def set_seed(seed: int) -> None:
    """Sessions created from now on draw reproducible random numbers; 0: new ones in every run."""
    _options.default_seed = int(seed)


def enable_telemetry_events() -> None:
    """Accepted for compatibility: there are none."""


def disable_telemetry_events() -> None:
    """Accepted for compatibility: there are none."""


__all__ = [
    "Cancelled",
    "EPFail",
    "EngineError",
    "Error",
    "ExecutionMode",
    "ExecutionOrder",
    "Fail",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "Model",
    "ModelMetadata",
    "NoModel",
    "NoSuchFile",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "OutOfMemory",
    "RunOptions",
    "RuntimeException",
    "SessionIOBinding",
    "SessionOptions",
    "Unsupported",
    "__version__",
    "capi",
    "check",
    "diff",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "info",
    "load",
    "onnxruntime_version",
    "optimize",
    "random_inputs",
    "save",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
    "version",
]
