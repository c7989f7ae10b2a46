"""Names that programs import from onnxruntime.capi.onnxruntime_inference_collection."""

from .._session import InferenceSession
from .._values import IOBinding, OrtDevice, OrtValue

__all__ = ["IOBinding", "InferenceSession", "OrtDevice", "OrtValue"]
