"""OrtValue and IOBinding: values that stay in place from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from . import _convert, _types
from ._core import RunControl, Value
from ._errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from ._session import InferenceSession


def _require_cpu(device_type: object) -> None:
    if str(device_type).lower() not in ("cpu", "hone"):
        raise Unsupported(f"values live in the memory of the CPU, not of {device_type!r}")


class OrtDevice:
    """A device: here, the CPU."""

    def __init__(self, device_type: object = "cpu", device_id: int = 0, *_: Any) -> None:
        self._type = str(device_type)
        self._id = int(device_id)

    @staticmethod
    def make(device_type: object, device_id: int, *_: Any) -> OrtDevice:
        """The device with this name."""
        _require_cpu(device_type)
        return OrtDevice(device_type, device_id)

    @staticmethod
    def cpu() -> int:
        """Number of the device type 'CPU'."""
        return 0

    @staticmethod
    def default_memory() -> int:
        """Number of the default kind of memory."""
        return 0

    def device_type(self) -> str:
        """Name of the type."""
        return self._type

    def device_id(self) -> int:
        """Number among the devices of the type."""
        return self._id

    def __repr__(self) -> str:
        return f"OrtDevice({self._type!r}, {self._id})"


class OrtValue:
    """A tensor, a sequence or a map outside of a run."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        if not isinstance(value, Value):
            raise TypeError("make OrtValues with ortvalue_from_numpy, ortvalue_from_shape_and_type or from_dlpack")
        self._value = value

    @classmethod
    def ortvalue_from_numpy(cls, numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """A value over the memory of an array; a copy where the array is not contiguous."""
        _require_cpu(device_type)
        return cls(_convert.tensor(np.asarray(numpy_obj)))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Any, onnx_element_type: int) -> OrtValue:
        """The same, with the elements taken as another type of the same size (uint16 as bfloat16)."""
        data = np.ascontiguousarray(data)
        if data.itemsize * 8 != _types.bits_of(onnx_element_type):
            raise InvalidArgument(f"elements of {data.dtype} are not as large as {_types.name_of(onnx_element_type)}")
        return cls(Value.from_bytes(onnx_element_type, data.shape, data.reshape(-1).view(np.uint8)))

    @classmethod
    def ortvalue_from_shape_and_type(
        cls, shape: Sequence[int], element_type: Any = np.float32, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """A new tensor; its elements are not initialized."""
        _require_cpu(device_type)
        return cls(Value.empty(_types.number_of(element_type), tuple(shape)))

    @classmethod
    def from_dlpack(cls, data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """A value over the memory of a tensor of another package, or of a DLPack capsule."""
        value = Value.from_dlpack(data.__dlpack__() if hasattr(data, "__dlpack__") else data)
        if is_bool_tensor and value.elem_type == 2:
            value = Value.from_pointer(9, value.shape or (), value.address, value)
        return cls(value)

    def numpy(self) -> Any:
        """The tensor as an array over the same memory; sequences are lists, maps are dicts."""
        return self._value.to_python()

    def update_inplace(self, np_arr: Any) -> None:
        """Overwrites the elements."""
        target = self._value.to_python()
        np_arr = np.asarray(np_arr)
        if target.shape != np_arr.shape or target.dtype != np_arr.dtype:
            raise InvalidArgument(
                f"the value is {target.dtype}{list(target.shape)}, the array {np_arr.dtype}{list(np_arr.shape)}"
            )
        target[...] = np_arr

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._value.address

    def shape(self) -> list[int]:
        """Sizes of a tensor."""
        return list(self._value.shape or ())

    def element_type(self) -> int:
        """ONNX number of the element type."""
        return self._value.elem_type

    def data_type(self) -> str:
        """ONNX's type string: 'tensor(float)'."""
        return _type_of(self._value)

    def device_name(self) -> str:
        """Name of the device: 'cpu'."""
        return "cpu"

    def tensor_size_in_bytes(self) -> int:
        """Bytes of a tensor."""
        return self._value.nbytes

    def has_value(self) -> bool:
        """False for an empty optional."""
        return self._value.kind != "optional"

    def is_tensor(self) -> bool:
        """Whether it is a tensor."""
        return self._value.kind == "tensor"

    def is_sparse_tensor(self) -> bool:
        """Whether it is a sparse tensor; there are none at run time."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a sequence of tensors."""
        items = self._value.items() if self._value.kind == "sequence" else None
        return items is not None and all(item.kind == "tensor" for item in items)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self._value.to_python() if self._value.kind == "tensor" else np.asarray(self._value.to_python())
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        value = _convert.tensor(np.copy(self)) if options.get("copy") else self._value
        return value.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    def __repr__(self) -> str:
        return f"OrtValue({self.data_type()}, shape={self._value.shape})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles a tensor with its elements."""
        if self._value.kind != "tensor":
            raise TypeError(f"an OrtValue of type {self.data_type()} cannot be pickled, only tensors can")
        if self._value.elem_type == _types.STRING:
            return (OrtValue.ortvalue_from_numpy, (self.numpy(),))
        return (_tensor_of_bytes, (self._value.elem_type, self._value.shape, self._value.tobytes()))


def _tensor_of_bytes(elem_type: int, shape: Sequence[int], data: bytes) -> OrtValue:
    return OrtValue(Value.from_bytes(elem_type, tuple(shape), bytearray(data)))


def _type_of(value: Value) -> str:
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

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Value] = {}
        self._outputs: dict[str, Value | None] = {}  # what to write to, or None
        self._results: dict[str, Value] = {}

    def __repr__(self) -> str:
        return f"IOBinding(inputs={list(self._inputs)}, outputs={list(self._outputs)})"

    def _bind_input(self, name: str, value: Value) -> None:
        self._session._require_name("input", name)
        self._inputs[name] = value

    def _bind_output(self, name: str, value: Value | None) -> None:
        self._session._require_name("output", name)
        self._outputs[name] = value

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """An input over the memory of an array."""
        self._bind_input(name, _convert.tensor(arr_on_cpu))

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """An input at an address, which must stay valid while it is bound."""
        _require_cpu(device_type)
        self._bind_input(name, Value.from_pointer(_types.number_of(element_type), tuple(shape), buffer_ptr, None))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """An OrtValue as input."""
        self._bind_input(name, ortvalue._value)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """An output: in new memory of each run, or at an address that stays valid while it is bound."""
        _require_cpu(device_type)
        if buffer_ptr is None:
            self._bind_output(name, None)
            return
        if element_type is None or shape is None:
            raise InvalidArgument("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
        self._bind_output(name, Value.from_pointer(_types.number_of(element_type), tuple(shape), buffer_ptr, None))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """An output that is written to an OrtValue."""
        self._bind_output(name, ortvalue._value)

    def synchronize_inputs(self) -> None:
        """Does nothing: everything is in CPU memory."""

    def synchronize_outputs(self) -> None:
        """Does nothing: everything is in CPU memory."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return [OrtValue(self._results[name]) for name in self._outputs if name in self._results]

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """The same."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as copied arrays."""
        return [np.copy(value) if value.is_tensor() else value.numpy() for value in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        """Removes all inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Removes all outputs."""
        self._outputs.clear()
        self._results.clear()

    def _run(self, control: RunControl | None, record: list[Any] | None) -> None:
        names = list(self._outputs)
        values = self._session._core.run_values(names, self._inputs, list(self._outputs.values()), control, record)
        self._results = dict(zip(names, values))
