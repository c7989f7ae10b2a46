"""The backend interface of the onnx package: onnx.backend.test.BackendTest(hone.backend) tests it.

Needs the package onnx.
"""

import numpy as np
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ._session import InferenceSession


class HoneBackendRep(BackendRep):
    """A model prepared for execution."""

    def __init__(self, session):
        self.session = session
        self._input_names = [arg.name for arg in session.get_inputs()]
        self._output_names = [arg.name for arg in session.get_outputs()]

    def run(self, inputs, **kwargs):
        """Outputs by position and by name. Inputs are a list, a dict, or the only one."""
        if isinstance(inputs, dict):
            feed = inputs
        else:
            is_list = isinstance(inputs, (list, tuple)) and len(self._input_names) != 1
            feed = dict(zip(self._input_names, inputs if is_list else self._single(inputs)))
        outputs = self.session.run(None, feed)
        return namedtupledict("Outputs", self._output_names)(*outputs)

    @staticmethod
    def _single(inputs):
        """The list of inputs of a model that takes one, which may itself be a list."""
        return inputs if isinstance(inputs, (list, tuple)) and len(inputs) == 1 else [inputs]


class HoneBackend(Backend):
    """Runs models for the onnx package."""

    @classmethod
    def is_compatible(cls, model, device="CPU", **kwargs):
        """Whether a model can be prepared."""
        try:
            cls.prepare(model, device, **kwargs)
        except Exception:
            return False
        return True

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        """Prepares a model for execution: an onnx.ModelProto, a path, bytes or a hone.Model."""
        if not cls.supports_device(device):
            raise ValueError(f"models run on the CPU, not on {device!r}")
        if isinstance(model, (HoneBackendRep, InferenceSession)):
            return model if isinstance(model, HoneBackendRep) else HoneBackendRep(model)
        return HoneBackendRep(InferenceSession(model, kwargs.get("sess_options")))

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        """Runs a model once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """Runs a single node on arrays."""
        listed = list(inputs.values()) if isinstance(inputs, dict) else list(inputs)
        names = [name for name in node.input if name]
        types = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, map(np.asarray, listed))
        ]
        outputs = [_output_info(name, i, outputs_info) for i, name in enumerate(node.output)]
        graph = helper.make_graph([node], "node", types, outputs)
        opset = helper.make_opsetid(node.domain, kwargs.pop("opset_version", 21))
        model = helper.make_model(graph, opset_imports=[opset])
        return cls.run_model(model, dict(zip(names, listed)), device, **kwargs)

    @classmethod
    def supports_device(cls, device):
        """Whether models can run on a device: 'CPU'."""
        return device.split(":")[0] == "CPU"


def _output_info(name, i, outputs_info):
    if not outputs_info:
        return helper.make_empty_tensor_value_info(name)
    dtype, shape = outputs_info[i]
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


is_compatible = HoneBackend.is_compatible
prepare = HoneBackend.prepare
run_model = HoneBackend.run_model
run_node = HoneBackend.run_node
supports_device = HoneBackend.supports_device

__all__ = [
    "HoneBackend",
    "HoneBackendRep",
    "is_compatible",
    "prepare",
    "run_model",
    "run_node",
    "supports_device",
]
