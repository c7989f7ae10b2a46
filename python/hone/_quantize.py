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


# Keys of onnxruntime's extra_options that have a member of the same meaning.
EXTRA_OPTIONS = {
    "ActivationSymmetric": "activation_symmetric",
    "ActivationRestrictedAsymmetric": "activation_restricted_asymmetric",
    "WeightSymmetric": "weight_symmetric",
    "ForceQuantizeNoInputCheck": "force_no_input_check",
    "MatMulConstBOnly": "matmul_const_b_only",
    "AddQDQPairToWeight": "add_qdq_pair_to_weight",
    "OpTypesToExcludeOutputQuantization": "float_output_op_types",
    "DedicatedQDQPair": "dedicated_qdq_pair",
    "QDQOpTypePerChannelSupportToAxis": "channel_axes",
    "CalibTensorRangeSymmetric": "range_symmetric",
    "CalibMovingAverageConstant": "moving_average_constant",
    "CalibPercentile": "percentile",
    "QuantizeBias": "quantize_bias",
    "SmoothQuant": "equalize",
    "SmoothQuantAlpha": "smooth_alpha",
    "UseQDQContribOps": "use_qdq_contrib_ops",
    "MinimumRealRange": "minimum_real_range",
    "QDQKeepRemovableActivations": "keep_removable_activations",
    "BlockSize": "block_size",
}
# Those that change nothing here; docs/quantize.md says why.
NEEDLESS_OPTIONS = {
    "EnableSubgraph",
    "CalibMaxIntermediateOutputs",
    "CalibStridedMinMax",
    "SmoothQuantFolding",
    "DefaultTensorType",
}
OVERRIDE_NAMES = {"quant_type": "type"}


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


def _ort_override(tensor: str, wishes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """An entry of onnxruntime's TensorQuantOverrides."""
    if len(wishes) != 1:
        raise InvalidArgument(f"override of {tensor!r}: one entry for the whole tensor is expected")
    wish = {OVERRIDE_NAMES.get(key, key): value for key, value in wishes[0].items()}
    if "type" in wish:  # a QuantType, which has the number of the type
        wish["type"] = getattr(wish["type"], "tensor_type", wish["type"])
    if "rmin" in wish or "rmax" in wish:
        wish["range"] = (wish.pop("rmin", 0), wish.pop("rmax", 0))
    return wish


def _from_extra_options(extra: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of quantize that mean the same as onnxruntime's extra_options."""
    found: dict[str, Any] = {}
    for name, value in extra.items():
        if name == "CalibMovingAverage":
            found.update({"calibration": "moving-average"} if value else {})
        elif name == "QDQDisableWeightAdjustForInt32Bias":
            found["weight_adjust_for_int32_bias"] = not value
        elif name == "TensorQuantOverrides":
            found["overrides"] = {tensor: _ort_override(tensor, wishes) for tensor, wishes in value.items()}
        elif name in EXTRA_OPTIONS:
            if value is not None:
                found[EXTRA_OPTIONS[name]] = value
        elif name not in NEEDLESS_OPTIONS:
            raise InvalidArgument(f"there is no extra option {name!r}")
    return found


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
    float_output_op_types: Iterable[str] = (),
    channel_axes: Mapping[str, int] | None = None,
    overrides: Mapping[str, Mapping[str, Any]] | None = None,
    choices: Mapping[str, str | int] | None = None,
    calibration_cache: str | os.PathLike[str] | None = None,
    level: str | int = "extended",
    weight_symmetric: bool | None = None,
    extra_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Model:
    """Returns a quantized model; its `quantization` is the report. The original model does not change.

    output: a file to write it to. samples: inputs to calibrate with, dicts of arrays by name (static mode).
    mode: 'static', 'dynamic' or 'weight-only'. format: 'qdq' or 'qoperator'.
    calibration: 'minmax', 'moving-average', 'percentile', 'entropy', 'mse' or 'auto'.
    overrides: of tensors by name: type, symmetric, reduce_range, range=(low, high), scale, zero_point.
    choices: type of the weights of layers by patterns of their names.
    float_output_op_types: operators whose outputs stay float where no quantized node reads them.
    channel_axes: the axis of the scales of weights, by operator. extra_options: a dict as onnxruntime's
    quantize_static takes it; what it says wins.
    options: the other members of hone_quantize_options (docs/quantize.md): per_channel, reduce_range,
    activation_symmetric, block_size, keep_first, keep_last, percentile, equalize, correct_bias, gptq, ...
    """
    if extra_options:
        named = {k: v for k, v in locals().items() if k not in ("options", "extra_options")}
        return quantize(**{**named, **options, **_from_extra_options(extra_options)})
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
        "float_output_op_types": float_output_op_types,
    }
    core, report = model._core.quantize(
        {name.encode(): float(value) for name, value in numbers.items()},
        {name: [text.encode() for text in texts] for name, texts in lists.items()},
        [_override(tensor, wish) for tensor, wish in (overrides or {}).items()],
        [(pattern, _elem_type(name)) for pattern, name in (choices or {}).items()],
        list((channel_axes or {}).items()),
        None if calibration_cache is None else os.fspath(calibration_cache),
        None if samples is None else _reader(samples),
    )
    quantized = Model(core)
    quantized.quantization = Quantization.of_json(json.loads(report))
    if output is not None:
        quantized.save(output)
    return quantized
