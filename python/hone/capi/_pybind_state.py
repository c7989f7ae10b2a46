"""The same names under another of onnxruntime's."""

from .onnxruntime_pybind11_state import *  # noqa: F403
