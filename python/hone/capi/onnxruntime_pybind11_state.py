"""Exceptions under the name by which programs written for onnxruntime import them."""

from .._errors import (
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoaded,
    NoModel,
    NoSuchFile,
    RuntimeException,
    Unsupported,
)
from .._options import GraphOptimizationLevel, RunOptions, SessionOptions
from .._providers import get_available_providers, get_device
from .._session import InferenceSession, ModelMetadata, NodeArg
from .._values import OrtDevice, OrtValue

NotImplemented = Unsupported  # noqa: A001 (the name is onnxruntime's)

__all__ = [
    "EPFail",
    "EngineError",
    "Fail",
    "GraphOptimizationLevel",
    "InferenceSession",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoaded",
    "ModelMetadata",
    "NoModel",
    "NoSuchFile",
    "NodeArg",
    "NotImplemented",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "RuntimeException",
    "SessionOptions",
    "get_available_providers",
    "get_device",
]
