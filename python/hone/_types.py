"""Element types: ONNX numbers, names of type strings, and NumPy types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

# ONNX number: (name in type strings, NumPy type or the name of one of ml_dtypes, bits)
_TYPES = {
    1: ("float", "float32", 32),
    2: ("uint8", "uint8", 8),
    3: ("int8", "int8", 8),
    4: ("uint16", "uint16", 16),
    5: ("int16", "int16", 16),
    6: ("int32", "int32", 32),
    7: ("int64", "int64", 64),
    8: ("string", "object", 0),
    9: ("bool", "bool", 8),
    10: ("float16", "float16", 16),
    11: ("double", "float64", 64),
    12: ("uint32", "uint32", 32),
    13: ("uint64", "uint64", 64),
    14: ("complex64", "complex64", 64),
    15: ("complex128", "complex128", 128),
    16: ("bfloat16", "bfloat16", 16),
    17: ("float8e4m3fn", "float8_e4m3fn", 8),
    18: ("float8e4m3fnuz", "float8_e4m3fnuz", 8),
    19: ("float8e5m2", "float8_e5m2", 8),
    20: ("float8e5m2fnuz", "float8_e5m2fnuz", 8),
    21: ("uint4", "uint4", 4),
    22: ("int4", "int4", 4),
    23: ("float4e2m1", "float4_e2m1fn", 4),
    24: ("float8e8m0", "float8_e8m0fnu", 8),
    25: ("uint2", "uint2", 2),
    26: ("int2", "int2", 2),
}
STRING = 8

_BY_NAME = {name: number for number, (name, _, _) in _TYPES.items()}
_BY_DTYPE = {dtype: number for number, (_, dtype, _) in _TYPES.items() if number != STRING}


def name_of(elem_type: int) -> str:
    """Name of an element type in type strings: 'float' for 1."""
    return _TYPES[elem_type][0] if elem_type in _TYPES else "undefined"


def bits_of(elem_type: int) -> int:
    """Bits of one element; 0 for strings."""
    return _TYPES[elem_type][2]


def dtype_of(elem_type: int) -> np.dtype | None:
    """The NumPy type of an element type, or None when it needs ml_dtypes and that is not installed."""
    if elem_type not in _TYPES:
        return None
    name = _TYPES[elem_type][1]
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else None


def viewed_dtype(elem_type: int) -> np.dtype | None:
    """The same for elements that an array can view in place; None for strings and packed types."""
    if elem_type not in _TYPES or bits_of(elem_type) < 8:
        return None
    return dtype_of(elem_type)


def number_of(dtype: Any) -> int:
    """ONNX number of a NumPy type, a type string ('tensor(float)') or an ONNX number; 0: there is none."""
    if isinstance(dtype, (int, np.integer)):
        return int(dtype) if int(dtype) in _TYPES else 0
    if isinstance(dtype, str) and dtype.startswith("tensor("):
        return _BY_NAME.get(dtype[len("tensor(") : -1], 0)
    dtype = np.dtype(dtype)
    if dtype.kind in "OUST":
        return STRING
    return _BY_DTYPE.get(dtype.newbyteorder("=").name, 0)


def onnx_type(text: str) -> str:
    """ONNX's type string of a type as the library writes it: 'tensor(float)' of 'float[batch,3]'.

    Shapes go, and every name of an element type that is no key of a map stands for a tensor.
    """
    text = re.sub(r"\[[^\]]*\]", "", text).replace(", ", ",")
    wrapped = re.fullmatch(r"((?:seq\(|optional\(|map\(\w+,)*)(sparse_tensor\(\w+\)|\w+)(\)*)", text)
    if not wrapped:
        return text
    opening, leaf, closing = wrapped.groups()
    return opening + (leaf if leaf.startswith("sparse_tensor") else f"tensor({leaf})") + closing
