"""OrtValue and IOBinding: values that stay where they are from run to run."""

import numpy as np

from . import _convert, _types
from ._core import Value
from ._errors import InvalidArgument, NotImplemented


def _require_cpu(device_type):
    if str(device_type).lower() not in ("cpu", "hone"):
        raise NotImplemented(f"values live in the memory of the CPU, not of {device_type!r}")


class OrtDevice:
    """A device: here, the CPU."""

    def __init__(self, device_type="cpu", device_id=0, *_):
        self._type = str(device_type)
        self._id = int(device_id)

    @staticmethod
    def make(device_type, device_id, *_):
        """The device with this name."""
        _require_cpu(device_type)
        return OrtDevice(device_type, device_id)

    @staticmethod
    def cpu():
        """Number of the device type 'CPU'."""
        return 0

    @staticmethod
    def default_memory():
        """Number of the plain kind of memory."""
        return 0

    def device_type(self):
        """Name of the type."""
        return self._type

    def device_id(self):
        """Number among the devices of the type."""
        return self._id


class OrtValue:
    """A tensor, a sequence or a map outside of a run."""

    __slots__ = ("_value",)

    def __init__(self, value):
        if not isinstance(value, Value):
            raise TypeError("make OrtValues with ortvalue_from_numpy, ortvalue_from_shape_and_type or from_dlpack")
        self._value = value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj, device_type="cpu", device_id=0):
        """A value over the memory of an array; a copy where the array is not contiguous."""
        _require_cpu(device_type)
        return cls(_convert.tensor(np.asarray(numpy_obj)))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data, onnx_element_type):
        """The same, with the elements taken as another type of the same size (uint16 as bfloat16)."""
        data = np.ascontiguousarray(data)
        if data.itemsize * 8 != _types.bits_of(onnx_element_type):
            raise InvalidArgument(f"elements of {data.dtype} are not as large as {_types.name_of(onnx_element_type)}")
        return cls(Value.from_bytes(onnx_element_type, data.shape, data.reshape(-1).view(np.uint8)))

    @classmethod
    def ortvalue_from_shape_and_type(cls, shape, element_type=np.float32, device_type="cpu", device_id=0):
        """A new tensor; its elements are not initialized."""
        _require_cpu(device_type)
        return cls(Value.empty(_types.number_of(element_type), tuple(shape)))

    @classmethod
    def from_dlpack(cls, data, is_bool_tensor=False):
        """A value over the memory of a tensor of another package, or of a DLPack capsule."""
        value = Value.from_dlpack(data.__dlpack__() if hasattr(data, "__dlpack__") else data)
        if is_bool_tensor and value.elem_type == 2:
            value = Value.from_pointer(9, value.shape, value.address, value)
        return cls(value)

    def numpy(self):
        """The tensor as an array over the same memory; sequences are lists, maps are dicts."""
        return self._value.to_python()

    def update_inplace(self, np_arr):
        """Overwrites the elements."""
        target = self._value.to_python()
        np_arr = np.asarray(np_arr)
        if target.shape != np_arr.shape or target.dtype != np_arr.dtype:
            raise InvalidArgument(
                f"the value is {target.dtype}{list(target.shape)}, the array {np_arr.dtype}{list(np_arr.shape)}"
            )
        target[...] = np_arr

    def data_ptr(self):
        """Address of the first element."""
        return self._value.address

    def shape(self):
        """Sizes of a tensor."""
        return list(self._value.shape)

    def element_type(self):
        """ONNX number of the element type."""
        return self._value.elem_type

    def data_type(self):
        """ONNX's type string: 'tensor(float)'."""
        return _type_of(self._value)

    def device_name(self):
        """Name of the device: 'cpu'."""
        return "cpu"

    def tensor_size_in_bytes(self):
        """Bytes of a tensor."""
        return self._value.nbytes

    def has_value(self):
        """False for an empty optional."""
        return self._value.kind != "optional"

    def is_tensor(self):
        """Whether it is a tensor."""
        return self._value.kind == "tensor"

    def is_sparse_tensor(self):
        """Whether it is a sparse tensor; there are none at run time."""
        return False

    def is_tensor_sequence(self):
        """Whether it is a sequence of tensors."""
        items = self._value.items() if self._value.kind == "sequence" else None
        return items is not None and all(item.kind == "tensor" for item in items)

    def __array__(self, dtype=None, copy=None):
        array = self._value.to_python() if self._value.kind == "tensor" else np.asarray(self._value.to_python())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options):
        return self._value.__dlpack__()

    def __dlpack_device__(self):
        return self._value.__dlpack_device__()

    def __repr__(self):
        return f"OrtValue({self.data_type()}, shape={self._value.shape})"


def _type_of(value):
    if value.kind == "tensor":
        return f"tensor({_types.name_of(value.elem_type)})"
    items = [_type_of(item) for item in value.items()[:2]]
    if value.kind == "sequence":
        return f"seq({items[0] if items else 'tensor(float)'})"
    if value.kind == "map":
        return f"map({items[0][len('tensor(') : -1]},{items[1]})"
    return "optional"


class IOBinding:
    """Inputs and outputs that are set once and used by many runs."""

    def __init__(self, session):
        self._session = session
        self._inputs = {}
        self._outputs = {}  # name: Value to write to, or None
        self._results = {}

    def _bind_input(self, name, value):
        self._session._require_name("input", name)
        self._inputs[name] = value

    def _bind_output(self, name, value):
        self._session._require_name("output", name)
        self._outputs[name] = value

    def bind_cpu_input(self, name, arr_on_cpu):
        """An input over the memory of an array."""
        self._bind_input(name, _convert.tensor(arr_on_cpu))

    def bind_input(self, name, device_type, device_id, element_type, shape, buffer_ptr):
        """An input at an address, which must stay valid while it is bound."""
        _require_cpu(device_type)
        self._bind_input(name, Value.from_pointer(_types.number_of(element_type), tuple(shape), buffer_ptr, None))

    def bind_ortvalue_input(self, name, ortvalue):
        """An OrtValue as input."""
        self._bind_input(name, ortvalue._value)

    def bind_output(self, name, device_type="cpu", device_id=0, element_type=None, shape=None, buffer_ptr=None):
        """An output: in new memory of each run, or at an address that stays valid while it is bound."""
        _require_cpu(device_type)
        if buffer_ptr is None:
            self._bind_output(name, None)
            return
        if element_type is None or shape is None:
            raise InvalidArgument("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._bind_output(name, Value.from_pointer(_types.number_of(element_type), tuple(shape), buffer_ptr, None))

    def bind_ortvalue_output(self, name, ortvalue):
        """An output that is written to an OrtValue."""
        self._bind_output(name, ortvalue._value)

    def synchronize_inputs(self):
        """Does nothing: everything lies in the memory of the CPU."""

    def synchronize_outputs(self):
        """Does nothing: everything lies in the memory of the CPU."""

    def get_outputs(self):
        """The outputs of the last run, in the order in which they were bound."""
        return [OrtValue(self._results[name]) for name in self._outputs if name in self._results]

    def get_outputs_as_ortvaluevector(self):
        """The same."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self):
        """The outputs of the last run as arrays of their own."""
        return [np.copy(value) if value.is_tensor() else value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self):
        """Forgets all inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self):
        """Forgets all outputs."""
        self._outputs.clear()
        self._results.clear()

    def _run(self, control, record):
        names = list(self._outputs)
        values = self._session._core.run_values(names, self._inputs, list(self._outputs.values()), control, record)
        self._results = dict(zip(names, values))
