"""Exceptions. Their names are those that programs written for onnxruntime catch.

Each is also the built-in exception that fits, so `except ValueError` or `except FileNotFoundError` does what
one expects.
"""

from __future__ import annotations


class Error(RuntimeError):
    """The base class. Beside the message it has the node, operator, value and offset, where known."""

    code: str = "HONE_E_INTERNAL"  #: name of the library's status
    node: str = ""  #: node of the model
    op: str = ""  #: its operator
    value: str = ""  #: value (tensor) of the model
    offset: int | None = None  #: byte in the model's file


class Fail(Error):
    """The model or the run failed."""


class InvalidArgument(Error, ValueError):
    """An argument has a wrong name, type or shape."""


class NoSuchFile(Error, FileNotFoundError):
    """The file does not exist."""


class NoModel(Error):
    """No model is loaded."""


class EngineError(Error):
    """An internal error of the library."""


class RuntimeException(Error):  # noqa: N818 (the name is onnxruntime's)
    """A run failed because a resource was missing."""


class OutOfMemory(RuntimeException, MemoryError):
    """Memory ran out, or a memory limit was reached."""


class InvalidProtobuf(Error):
    """The file is not a model."""


class ModelLoaded(Error):
    """A model is loaded already."""


class Unsupported(Error, NotImplementedError):
    """This is not supported. onnxruntime says NotImplemented, and so does hone.capi."""


class InvalidGraph(Error):
    """The model violates the ONNX specification."""


class EPFail(Error):
    """An execution provider failed."""


class Cancelled(Fail, TimeoutError):
    """A run was stopped by its options: `terminate` or `timeout`."""


# The same status maps to different exceptions for a file and for a call.
_LOADING: dict[str, type[Error]] = {
    "HONE_E_NOMEM": OutOfMemory,
    "HONE_E_ARGUMENT": InvalidArgument,
    "HONE_E_IO": Fail,
    "HONE_E_FORMAT": InvalidProtobuf,
    "HONE_E_LIMIT": InvalidProtobuf,
    "HONE_E_UNSUPPORTED": Unsupported,
    "HONE_E_INVALID": InvalidGraph,
    "HONE_E_TYPE": InvalidGraph,
    "HONE_E_SHAPE": InvalidGraph,
    "HONE_E_NOT_FOUND": InvalidArgument,
    "HONE_E_CANCELLED": Cancelled,
}
_RUNNING: dict[str, type[Error]] = {
    **_LOADING,
    "HONE_E_IO": RuntimeException,
    "HONE_E_FORMAT": RuntimeException,
    "HONE_E_LIMIT": OutOfMemory,
    "HONE_E_INVALID": InvalidArgument,
    "HONE_E_TYPE": InvalidArgument,
    "HONE_E_SHAPE": InvalidArgument,
}


def make_exception(code: str, message: str, node: str, op: str, value: str, offset: int, is_loading: bool) -> Error:
    """The exception for an error record of the library."""
    kind: type[Error] = (_LOADING if is_loading else _RUNNING).get(code, EngineError)
    exception = kind(message)
    exception.code, exception.node, exception.op, exception.value = code, node, op, value
    exception.offset = None if offset < 0 else offset
    return exception


def unknown_name(what: str, name: object, known: list[str]) -> InvalidArgument:
    """The exception for a name that no input or output has."""
    listed = ", ".join(repr(k) for k in known) or "none"
    return InvalidArgument(f"the model has no {what} {name!r}; it has {listed}")
