"""Converts between Python objects and Values. The extension converts plain arrays itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _types
from ._core import Value
from ._errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from ._core import Description

# Kinds as the library numbers them.
TENSOR, SPARSE_TENSOR, SEQUENCE, OPTIONAL, MAP = 1, 2, 3, 4, 5


# ---- to values ------------------------------------------------------------------------------------------


def to_value(thing: Any, description: Description) -> Value | None:
    """A Value of an object for an input, whose description is what the extension says of it.

    None, for an optional input, stays None: it is left out.
    """
    name, text, kind, elem_type = description[:4]
    if isinstance(getattr(thing, "_value", None), Value):
        return thing._value
    try:
        if kind == OPTIONAL:
            if thing is None:
                return None
            text = text[len("optional(") : -1]
            kind = SEQUENCE if text.startswith("seq(") else TENSOR
        if kind == SEQUENCE:
            return _sequence(thing, text[len("seq(") : -1])
        if kind == MAP:
            return _map(thing, text)
        return tensor(thing, elem_type or None)
    except (TypeError, ValueError, BufferError) as problem:
        if isinstance(problem, InvalidArgument):
            raise
        message = f"input {name!r} takes {text}, and {_describe(thing)} cannot be made one: {problem}"
        raise InvalidArgument(message) from None


def _describe(thing: Any) -> str:
    return "None" if thing is None else f"an object of type {type(thing).__name__!r}"


def tensor(thing: Any, elem_type: int | None = None) -> Value:
    """A tensor of an array, an OrtValue, or anything else that NumPy or DLPack can read.

    elem_type: of elements that have no type of their own (numbers and lists).
    """
    value = getattr(thing, "_value", thing)
    if isinstance(value, Value):
        return value
    if isinstance(thing, np.ndarray):
        return _tensor_of_array(thing)
    if hasattr(thing, "__dlpack__") and not hasattr(thing, "__array_interface__"):
        return _tensor_of_dlpack(thing)
    if thing is None:
        raise InvalidArgument("None is no tensor")
    if hasattr(thing, "__array__") or isinstance(thing, np.generic):
        return _tensor_of_array(np.asarray(thing))
    return _tensor_of_array(_array_of_plain(thing, elem_type))


def _array_of_plain(thing: Any, elem_type: int | None) -> np.ndarray:
    """Numbers, strings and lists of them get the element type that the model declares."""
    if elem_type == _types.STRING or isinstance(thing, (str, bytes)):
        return np.array(thing, dtype=object)
    if isinstance(thing, dict):
        raise InvalidArgument("a dict is no tensor")
    dtype = _types.dtype_of(elem_type) if elem_type else None
    return np.asarray(thing, dtype=dtype)


def _tensor_of_dlpack(thing: Any) -> Value:
    try:
        return Value.from_dlpack(thing.__dlpack__())
    except (BufferError, InvalidArgument):
        if not hasattr(thing, "contiguous"):
            raise
        return Value.from_dlpack(thing.contiguous().__dlpack__())


def _tensor_of_array(array: np.ndarray) -> Value:
    elem_type = _types.number_of(array.dtype)
    if elem_type == _types.STRING:
        return _tensor_of_strings(array)
    if not elem_type:
        raise InvalidArgument(f"ONNX has no type for NumPy's {array.dtype}")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.require(array, requirements=["C_CONTIGUOUS", "ALIGNED"]).reshape(array.shape)
    if _types.bits_of(elem_type) < 8:
        return Value.from_bytes(elem_type, array.shape, _packed(array, _types.bits_of(elem_type)))
    value = Value.borrow(array)
    if value is None:  # a type without a buffer: its bytes have one
        value = Value.from_bytes(elem_type, array.shape, array.reshape(-1).view(np.uint8))
    return value


def _tensor_of_strings(array: np.ndarray) -> Value:
    def encoded(item: Any) -> bytes:
        if isinstance(item, (bytes, np.bytes_)):
            return bytes(item)
        if not isinstance(item, str):
            raise InvalidArgument(
                f"an array of objects must hold strings, not {type(item).__name__}: convert it with astype()"
            )
        return item.encode("utf-8", "surrogateescape")

    return Value.from_strings([encoded(item) for item in array.reshape(-1).tolist()], array.shape)


def _sequence(thing: Any, item_text: str) -> Value:
    if isinstance(thing, (str, bytes, dict)) or not hasattr(thing, "__iter__"):
        raise InvalidArgument(f"a list is wanted, not {_describe(thing)}")
    if item_text.startswith("map("):
        return Value.from_sequence([_map(item, item_text) for item in thing])
    elem_type = _types.number_of(f"tensor({item_text.split('[')[0]})")
    return Value.from_sequence([tensor(item, elem_type) for item in thing])


def _map(thing: Any, text: str) -> Value:
    if not isinstance(thing, dict):
        raise InvalidArgument(f"a dict is wanted, not {_describe(thing)}")
    key_type, value_type = text[len("map(") : -1].split(", ", 1)
    keys = tensor(list(thing.keys()), _types.number_of(f"tensor({key_type})"))
    values = tensor(list(thing.values()), _types.number_of(f"tensor({value_type.split('[')[0]})"))
    return Value.from_map(keys, values)


# ---- elements of less than a byte -----------------------------------------------------------------------


def _packed(array: np.ndarray, bits: int) -> np.ndarray:
    """Packs elements of one byte each: the first is in the lowest bits."""
    per_byte = 8 // bits
    flat = array.reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    flat = np.concatenate([flat, np.zeros(-len(flat) % per_byte, np.uint8)])
    packed = np.zeros(len(flat) // per_byte, np.uint8)
    for place in range(per_byte):
        packed |= flat[place::per_byte] << (place * bits)
    return packed


def unpacked(data: bytes, elem_type: int, shape: tuple[int, ...]) -> np.ndarray:
    """The array of a packed tensor's bytes."""
    dtype, bits = _types.dtype_of(elem_type), _types.bits_of(elem_type)
    if dtype is None:
        raise Unsupported(f"arrays of {_types.name_of(elem_type)} need the package ml_dtypes: pip install ml_dtypes")
    packed = np.frombuffer(data, np.uint8)
    n = int(np.prod(shape, dtype=np.int64))
    flat = np.stack([(packed >> (place * bits)) & ((1 << bits) - 1) for place in range(8 // bits)], axis=-1)
    flat = flat.reshape(-1)[:n].astype(np.uint8)
    if np.dtype(dtype).name.startswith("int"):  # the sign
        flat = ((flat ^ (1 << (bits - 1))) - (1 << (bits - 1))).astype(np.int8).astype(dtype)
        return flat.reshape(shape)
    return flat.view(dtype).reshape(shape)


# ---- from values ----------------------------------------------------------------------------------------


def to_python(value: Value) -> Any:
    """Converts a Value that is not a plain array to Python objects."""
    if value.kind == "tensor":
        return _array_of(value)
    if value.kind == "sequence":
        return [item.to_python() for item in value.items()]
    if value.kind == "map":
        keys, values = (item.to_python().tolist() for item in value.items())
        return dict(zip(keys, values))
    return None


def _array_of(value: Value) -> np.ndarray:
    if value.elem_type == _types.STRING:
        array = np.empty(len(value.strings()), dtype=object)
        array[:] = value.strings()
        return array.reshape(value.shape)
    if _types.bits_of(value.elem_type) < 8:
        return unpacked(value.tobytes(), value.elem_type, value.shape or ())
    raise Unsupported(
        f"arrays of {_types.name_of(value.elem_type)} need the package ml_dtypes: pip install ml_dtypes "
        "(or take an OrtValue and look at its bytes as integers with numpy.asarray)"
    )


# ---- images ---------------------------------------------------------------------------------------------


def decode_image(data: bytes) -> tuple[int, int, bytes]:
    """(height, width, pixels) of an image file, for the operator ImageDecoder."""
    import io

    try:
        from PIL import Image
    except ImportError:
        raise Unsupported("the operator ImageDecoder needs the package pillow: pip install pillow") from None
    image = Image.open(io.BytesIO(data)).convert("RGB")
    return image.height, image.width, image.tobytes()
