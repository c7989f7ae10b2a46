"""Models as objects: load, info, check, save, optimize and diff.

Every function takes a path, bytes, an onnx.ModelProto or a Model.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Sequence, cast

import numpy as np

from . import _convert, _core, _types
from ._errors import InvalidArgument, Unsupported
from ._reports import CheckReport, Diff, ModelInfo, Optimization, ValueDiff, table
from ._session import InferenceSession, ModelSource, NodeArg, SessionOptions, load_core_model

LEVELS = {"none": 0, "basic": 1, "extended": 2, "all": 99}
TARGETS = {"onnx": 0, "onnxruntime": 1}
PRECISIONS = {"keep": 0, "float16": 1, "bfloat16": 2}
EXTERNAL_DATA = {"keep": 0, "never": 1, "always": 2}


def _number(names: dict[str, int], name: str | int, what: str) -> int:
    if isinstance(name, (int, np.integer)) and int(name) in names.values():
        return int(name)
    if name not in names:
        raise InvalidArgument(f"there is no {what} {name!r}; there is {', '.join(names)}")
    return names[name]


@dataclasses.dataclass(frozen=True)
class Node:
    """A node. `subgraph` is 0 in the main graph; attributes that are tensors are arrays."""

    name: str
    op: str
    domain: str
    doc: str
    subgraph: int
    inputs: List[str]
    outputs: List[str]
    attributes: Dict[str, Any]


def _array_of(tensor: _core.Tensor) -> np.ndarray:
    """A read-only array over the data of a constant."""
    if tensor.elem_type == _types.STRING:
        raise Unsupported("constants that hold strings cannot be seen as arrays")
    if not tensor.has_data:
        raise InvalidArgument(f"the data are in {tensor.external_location!r} and were not loaded")
    if _types.bits_of(tensor.elem_type) < 8:
        return _convert.unpacked(tensor.tobytes(), tensor.elem_type, tensor.shape)
    if tensor.is_sparse:
        raise Unsupported("sparse constants cannot be seen as arrays")
    dtype = _types.dtype_of(tensor.elem_type)
    if dtype is None:
        raise Unsupported(f"arrays of {_types.name_of(tensor.elem_type)} need the package ml_dtypes")
    return np.ndarray(tensor.shape, dtype, cast(Any, tensor))


def _attribute(value: Any) -> Any:
    if isinstance(value, _core.Tensor):
        return value if value.elem_type == _types.STRING or value.is_sparse else _array_of(value)
    return [_attribute(item) for item in value] if isinstance(value, list) else value


class Initializers(collections.abc.Mapping):  # type: ignore[type-arg]
    """Constants of the main graph by name, as arrays over the memory of the model."""

    def __init__(self, tensors: dict[str, _core.Tensor]) -> None:
        self._tensors = tensors

    def __getitem__(self, name: str) -> np.ndarray:
        return _array_of(self._tensors[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """Sizes, also of data that was not loaded."""
        return self._tensors[name].shape

    def type(self, name: str) -> str:
        """Name of the element type."""
        return _types.name_of(self._tensors[name].elem_type)

    def __repr__(self) -> str:
        return f"<{len(self)} initializers>"


class Model:
    """A model. Make one with hone.load."""

    def __init__(self, core: _core.Model, path: str = "", optimization: Optimization | None = None) -> None:
        self._core = core
        self.path = path  #: the file it was loaded from, or ''
        self.optimization = optimization  #: what hone.optimize did to make it, or None
        self.quantization: Any = None  #: what hone.quantize did to make it, or None

    # ---- looking ----------------------------------------------------------------------------------------

    @property
    def inputs(self) -> list[NodeArg]:
        """Inputs that a run needs."""
        return [NodeArg(entry) for entry in self._core.inputs() if not entry[5]]

    @property
    def outputs(self) -> list[NodeArg]:
        """Outputs."""
        return [NodeArg(entry) for entry in self._core.outputs()]

    @property
    def nodes(self) -> list[Node]:
        """Nodes in the order of execution: those of the main graph, then those of its subgraphs."""
        return [
            Node(*node[:-1], {name: _attribute(value) for name, value in node[-1].items()})
            for node in self._core.nodes()
        ]

    @property
    def initializers(self) -> Initializers:
        """Constants by name, as read-only arrays without a copy."""
        return Initializers(self._core.initializers())

    @property
    def op_counts(self) -> dict[str, int]:
        """How many nodes each operator has."""
        return self.info().op_counts

    @property
    def opsets(self) -> dict[str, int]:
        """Version of each operator set; '' is ai.onnx."""
        return self._core.header()["opsets"]

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata strings of the file."""
        return self._core.header()["metadata"]

    def info(self) -> ModelInfo:
        """Statistics of the model."""
        return ModelInfo.of_json(json.loads(self._core.info_json(self.path, 0)))

    def check(self) -> CheckReport:
        """Checks the model against the ONNX specification."""
        return CheckReport.of_json(json.loads(self._core.check_json(self.path)))

    def to_text(self, max_elements: int | None = 8) -> str:
        """The model in ONNX text syntax; longer initializers are abbreviated (None: none is)."""
        return self._core.to_text(2**64 - 1 if max_elements is None else max_elements)

    # ---- changing ---------------------------------------------------------------------------------------

    def infer(self) -> Model:
        """Infers types and shapes of all values."""
        self._core.infer()
        return self

    def fix_dim(self, name: str, size: int) -> Model:
        """Fixes a symbolic dimension to a size, everywhere."""
        self._core.fix_dim(name, size)
        return self

    def fix_shape(self, name: str, shape: Sequence[int]) -> Model:
        """Fixes the shape of an input."""
        self._core.fix_shape(name, tuple(shape))
        return self

    def rename(self, old: str, new: str) -> Model:
        """Renames a value."""
        self._core.rename(old, new)
        return self

    def set_initializer(self, name: str, array: Any) -> Model:
        """Replaces the data of an initializer by data of the same type and shape."""
        self._core.set_initializer(name, _convert.tensor(array))
        return self

    # ---- using ------------------------------------------------------------------------------------------

    def save(
        self,
        path: str | os.PathLike[str],
        external_data: str = "keep",
        external_threshold: int = 1024,
        external_file: str | None = None,
    ) -> None:
        """Writes the file, whole or not at all.

        external_data: 'always' puts tensors of external_threshold bytes and more into a data file beside it,
        'never' keeps all in one file.
        """
        mode = _number(EXTERNAL_DATA, external_data, "way to keep data")
        self._core.save(os.fsencode(path), mode, external_threshold, external_file)

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        return self._core.to_bytes()

    def optimize(self, **options: Any) -> Model:
        """An optimized model; see hone.optimize."""
        return optimize(self, **options)

    def session(self, sess_options: SessionOptions | None = None, **options: Any) -> InferenceSession:
        """An InferenceSession of the model."""
        return InferenceSession(self, sess_options, **options)

    def __repr__(self) -> str:
        return f"<hone.Model {self.path or self._core.header()['graph_name']}: {len(self._core.nodes())} nodes>"

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        nodes = [(node.name, node.op, ", ".join(node.inputs), ", ".join(node.outputs)) for node in self.nodes[:200]]
        return self.info()._repr_html_() + table(("node", "operator", "inputs", "outputs"), nodes)


def _model_of(source: ModelSource) -> Model:
    return source if isinstance(source, Model) else load(source)


def load(
    source: ModelSource,
    external_data_folder: str | os.PathLike[str] | None = None,
    load_external_data: bool = True,
    custom_ops: Iterable[str | os.PathLike[str]] = (),
    copy_files: bool = False,
) -> Model:
    """Loads a model. Its tensors stay where they are in the file, which must not be modified in place.

    external_data_folder: of tensors in other files; the model's own folder unless it is given.
    custom_ops: paths of shared libraries with operators made for hone.
    copy_files: read the files into memory, so that they may change afterwards.
    """
    libraries = [os.fsencode(library) for library in custom_ops]
    core = load_core_model(source, external_data_folder, not load_external_data, libraries, copy_files)
    return Model(core, os.fspath(source) if isinstance(source, (str, os.PathLike)) else "")


def info(source: ModelSource) -> ModelInfo:
    """Statistics of a model: interface, operators, parameters, cost."""
    return load(source, load_external_data=False).info() if not isinstance(source, Model) else source.info()


def check(source: ModelSource) -> CheckReport:
    """Checks a model against the ONNX specification."""
    return _model_of(source).check()


def save(model: ModelSource, path: str | os.PathLike[str], **options: Any) -> None:
    """Writes a model to a file; options are those of Model.save."""
    _model_of(model).save(path, **options)


def optimize(
    source: ModelSource,
    output: str | os.PathLike[str] | None = None,
    level: str | int = "extended",
    target: str = "onnx",
    opset: int | None = None,
    passes: Iterable[str] = (),
    disable: Iterable[str] = (),
    approximate: bool = False,
    verify: bool = False,
    seed: int = 0,
    inputs: Mapping[str, Any] | None = None,
    precision: str = "keep",
    keep_io_types: bool = False,
    block_ops: Iterable[str] = (),
    block_nodes: Iterable[str] = (),
    stop_after: int | None = None,
    trust_names: bool = False,
    timeout: float = 300.0,
    memory_limit: int = 4 << 30,
) -> Model:
    """Returns an optimized model; its `optimization` is the report. The original model does not change.

    output: a file to write it to.
    level: 'none', 'basic', 'extended' or 'all'. target: 'onnx', or 'onnxruntime' to allow its fused operators.
    passes: these alone; disable: 'pass' or 'pass.rule'. approximate: allow passes that change results slightly.
    verify: run the graph before and after every pass, on `inputs` (arrays by name) or random ones, and disable
    rules that change results; within `timeout` seconds, and `memory_limit` bytes for intermediate values.
    trust_names: dimensions of inputs that share a name have one size. precision: 'float16' or 'bfloat16' to compute in half precision.
    """
    model = _model_of(source)
    feed = {name: _convert.tensor(array) for name, array in (inputs or {}).items()}
    core, report = model._core.optimize(
        level=_number(LEVELS, level, "level"),
        target=_number(TARGETS, target, "target"),
        opset=opset or 0,
        passes=list(passes),
        disabled=list(disable),
        stop_after=0xFFFFFFFF if stop_after is None else stop_after,
        approximate=approximate,
        verify=verify or bool(feed),
        seed=seed,
        inputs=feed,
        precision=_number(PRECISIONS, precision, "precision"),
        keep_io_types=keep_io_types,
        blocked_ops=list(block_ops),
        blocked_nodes=list(block_nodes),
        trust_names=trust_names,
        timeout=timeout,
        memory_limit=memory_limit,
    )
    optimized = Model(core, optimization=Optimization.of_json(json.loads(report)))
    if output is not None:
        optimized.save(output)
    return optimized


# ---- comparing ------------------------------------------------------------------------------------------


def random_inputs(source: ModelSource | InferenceSession, seed: int = 0, free_size: int = 1) -> dict[str, np.ndarray]:
    """Random inputs for a model or an InferenceSession: arrays by name. Symbolic dimensions get one size."""
    random = np.random.default_rng(seed)
    inputs = source.get_inputs() if isinstance(source, InferenceSession) else _model_of(source).inputs
    return {arg.name: _random_array(arg, random, free_size) for arg in inputs}


def _random_array(arg: NodeArg, random: np.random.Generator, free_size: int) -> np.ndarray:
    elem_type = _types.number_of(arg.type) if arg.type.startswith("tensor(") else 0
    shape = [size if isinstance(size, int) else free_size for size in arg.shape]
    if not elem_type:
        raise InvalidArgument(f"inputs of type {arg.type} must be given: {arg.name!r}")
    if elem_type == _types.STRING:
        return np.full(shape, "", object)
    dtype = _types.dtype_of(elem_type)
    if dtype is None:
        raise Unsupported(f"arrays of {_types.name_of(elem_type)} need the package ml_dtypes")
    if dtype.kind in "iu?":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _compare(name: str, first: np.ndarray, second: np.ndarray, limit: float) -> ValueDiff:
    kind = f"{first.dtype}{list(first.shape)}"
    if first.shape != second.shape or first.dtype.kind == "O":
        is_equal = first.shape == second.shape and bool((first == second).all())
        return ValueDiff(name, kind, is_equal, 0.0, 0.0, float(is_equal), np.inf if is_equal else -np.inf)
    wide = np.complex128 if first.dtype.kind == "c" else np.float64
    a, b = first.astype(wide).reshape(-1), second.astype(wide).reshape(-1)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0, np.abs(a - b))
    max_abs = float(error.max(initial=0))
    finite = np.abs(a[np.isfinite(a)])
    largest = float(finite.max(initial=0))
    max_rel = 0.0 if max_abs == 0 else max_abs / largest if largest else np.inf
    return ValueDiff(name, kind, not max_rel > limit, max_abs, max_rel, _cosine(a, b), _sqnr(a, error))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.vdot(a, b).real) / length if length else 1.0


def _sqnr(a: np.ndarray, error: np.ndarray) -> float:
    noise, signal = float(np.sum(error**2)), float(np.sum(np.abs(a) ** 2))
    return 10 * float(np.log10(signal / noise)) if noise and signal else (np.inf if not noise else -np.inf)


def diff(
    first: ModelSource,
    second: ModelSource,
    inputs: Mapping[str, Any] | None = None,
    limit: float = 1e-4,
    seed: int = 0,
    sess_options: SessionOptions | None = None,
) -> Diff:
    """Compares the outputs and the operators of two models.

    inputs: arrays by name; the others are random. limit: largest difference that counts as none, relative to the
    largest element of the first model's output.
    """
    first, second = _model_of(first), _model_of(second)
    random = np.random.default_rng(seed)
    feed = dict(inputs or {})
    feed.update((arg.name, _random_array(arg, random, 1)) for arg in first.inputs if arg.name not in feed)
    options = sess_options or SessionOptions()
    results = [_outputs(InferenceSession(model, options), feed) for model in (first, second)]
    counts = [model.op_counts for model in (first, second)]
    return Diff(
        limit=limit,
        values=[_compare(n, results[0][n], results[1][n], limit) for n in results[0] if n in results[1]],
        operators={
            op: (counts[0].get(op, 0), counts[1].get(op, 0))
            for op in sorted({*counts[0], *counts[1]})
            if counts[0].get(op, 0) != counts[1].get(op, 0)
        },
        only_in_first=[n for n in results[0] if n not in results[1]],
        only_in_second=[n for n in results[1] if n not in results[0]],
    )


def _outputs(session: InferenceSession, feed: dict[str, Any]) -> dict[str, Any]:
    names = [arg.name for arg in session.get_outputs()]
    return dict(zip(names, session.run(None, feed)))
