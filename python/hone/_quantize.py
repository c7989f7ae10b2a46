"""hone.quantize: float models to integers."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, Sequence

from . import _convert, _core, _types
from ._errors import InvalidArgument
from ._reports import heading, table
from ._session import ModelSource
from .model import LEVELS, Model, _model_of, _number

MODES = {"static": 0, "dynamic": 1, "weight-only": 2}
FORMATS = {"qdq": 0, "qoperator": 1}
METHODS = {"minmax": 0, "moving-average": 1, "percentile": 2, "entropy": 3, "mse": 4, "auto": 5}


@dataclasses.dataclass(frozen=True)
class QuantizedNode:
    """A node that could be quantized. Signal to noise in decibels; NaN: not measured."""

    node: str
    op: str
    quantized: bool
    reason: str = ""
    float_bytes: int = 0
    quantized_bytes: int = 0
    weight_sqnr: float = math.nan
    input_sqnr: float = math.nan
    output_sqnr: float = math.nan


@dataclasses.dataclass(frozen=True)
class Quantization:
    """What hone.quantize did: nodes, ranges of activations, and sentences about the rest."""

    samples: int
    float_bytes: int
    quantized_bytes: int
    notes: List[str]
    nodes: List[QuantizedNode]
    tensors: List[Dict[str, Any]]

    @classmethod
    def of_json(cls, found: dict[str, Any]) -> Quantization:
        """Converts the JSON object that the library writes."""
        nodes = [QuantizedNode(**node) for node in found.pop("nodes")]
        return cls(nodes=nodes, **found)

    def _repr_html_(self) -> str:
        names = [field.name for field in dataclasses.fields(QuantizedNode)]
        rows = [[getattr(node, name) for name in names] for node in self.nodes]
        return heading("; ".join(self.notes) or "quantized") + table(names, rows)


def _elem_type(name: str | int) -> int:
    if isinstance(name, int):
        return name
    number = _types.number_of(f"tensor({name})")
    if not number:
        raise InvalidArgument(f"there is no type {name!r}")
    return number


def _override(tensor: str, wish: Mapping[str, Any]) -> tuple[Any, ...]:
    known = {"type", "symmetric", "reduce_range", "range", "scale", "zero_point"}
    if set(wish) - known:
        raise InvalidArgument(f"override of {tensor!r}: {', '.join(sorted(set(wish) - known))} is not known")
    scale = wish.get("scale")
    return (
        tensor,
        _elem_type(wish["type"]) if "type" in wish else 0,
        int(wish.get("symmetric", -1)),
        int(wish.get("reduce_range", -1)),
        tuple(map(float, wish["range"])) if "range" in wish else None,
        None if scale is None else (float(scale), int(wish.get("zero_point", 0))),
    )


def _reader(samples: Any) -> Callable[[int], dict[bytes, _core.Value] | None]:
    """Sample i of a sequence or of an iterable, which is gone through again for each pass."""
    iterator: Any = None
    is_sequence = hasattr(samples, "__getitem__") and hasattr(samples, "__len__")

    def read(i: int) -> dict[bytes, _core.Value] | None:
        nonlocal iterator
        if is_sequence:
            sample = samples[i] if i < len(samples) else None
        else:
            if i == 0:
                iterator = iter(samples)
            sample = next(iterator, None)
        return None if sample is None else {k.encode(): _convert.tensor(v) for k, v in sample.items()}

    return read


def quantize(
    source: ModelSource,
    output: str | os.PathLike[str] | None = None,
    samples: Sequence[Mapping[str, Any]] | Iterable[Mapping[str, Any]] | None = None,
    mode: str | int = "static",
    format: str | int = "qdq",
    weight_type: str | int = "int8",
    activation_type: str | int = "uint8",
    calibration: str | int = "auto",
    op_types: Iterable[str] = (),
    excluded_op_types: Iterable[str] = (),
    nodes: Iterable[str] = (),
    excluded_nodes: Iterable[str] = (),
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    choices: Mapping[str, str | int] | None = None,
    calibration_cache: str | os.PathLike[str] | None = None,
    level: str | int = "extended",
    weight_symmetric: bool | None = None,
    **options: Any,
) -> Model:
    """Returns a quantized model; its `quantization` is the report. The original model does not change.

    output: a file to write it to. samples: inputs to calibrate with, dicts of arrays by name (static mode).
    mode: 'static', 'dynamic' or 'weight-only'. format: 'qdq' or 'qoperator'.
    calibration: 'minmax', 'moving-average', 'percentile', 'entropy', 'mse' or 'auto'.
    overrides: of tensors by name: type, symmetric, reduce_range, range=(low, high), scale, zero_point.
    choices: type of the weights of layers by patterns of their names.
    options: the other members of hone_quantize_options (docs/quantize.md): per_channel, reduce_range,
    activation_symmetric, block_size, keep_first, keep_last, percentile, equalize, correct_bias, explain, ...
    """
    model = _model_of(source)
    numbers: dict[str, Any] = {
        "mode": _number(MODES, mode, "mode"),
        "format": _number(FORMATS, format, "format"),
        "weight_type": _elem_type(weight_type),
        "activation_type": _elem_type(activation_type),
        "calibration": _number(METHODS, calibration, "calibration"),
        "level": _number(LEVELS, level, "level"),
        "weight_symmetric": -1 if weight_symmetric is None else int(weight_symmetric),
        **options,
    }
    lists = {
        "op_types": op_types,
        "excluded_op_types": excluded_op_types,
        "nodes": nodes,
        "excluded_nodes": excluded_nodes,
    }
    core, report = model._core.quantize(
        {name.encode(): float(value) for name, value in numbers.items()},
        {name: [text.encode() for text in texts] for name, texts in lists.items()},
        [_override(tensor, wish) for tensor, wish in (overrides or {}).items()],
        [(pattern, _elem_type(name)) for pattern, name in (choices or {}).items()],
        None if calibration_cache is None else os.fspath(calibration_cache),
        None if samples is None else _reader(samples),
    )
    quantized = Model(core)
    quantized.quantization = Quantization.of_json(json.loads(report))
    if output is not None:
        quantized.save(output)
    return quantized
