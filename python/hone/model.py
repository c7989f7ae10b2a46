"""Models as objects: load, info, check, save, optimize and diff.

Every function takes a path, bytes, an onnx.ModelProto or a Model.
"""

import collections.abc
import dataclasses
import json
import os
from typing import Any, Dict, List

import numpy as np

from . import _convert, _core, _types
from ._errors import InvalidArgument, NotImplemented
from ._reports import CheckReport, Diff, ModelInfo, Optimization, ValueDiff, table
from ._session import InferenceSession, NodeArg, SessionOptions, load_core_model

LEVELS = {"none": 0, "basic": 1, "extended": 2, "all": 99}
TARGETS = {"onnx": 0, "onnxruntime": 1}
PRECISIONS = {"keep": 0, "float16": 1, "bfloat16": 2}
EXTERNAL_DATA = {"keep": 0, "never": 1, "always": 2}


def _number(names, name, what):
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


def _array_of(tensor):
    """An array over the data of a constant, which cannot be written to."""
    if tensor.elem_type == _types.STRING:
        raise NotImplemented("constants that hold strings cannot be seen as arrays")
    if not tensor.has_data:
        raise InvalidArgument(f"the data are in {tensor.external_location!r} and were not loaded")
    if _types.bits_of(tensor.elem_type) < 8:
        return _convert.unpacked(tensor.tobytes(), tensor.elem_type, tensor.shape)
    if tensor.is_sparse:
        raise NotImplemented("sparse constants cannot be seen as arrays")
    dtype = _types.dtype_of(tensor.elem_type)
    if dtype is None:
        raise NotImplemented(f"arrays of {_types.name_of(tensor.elem_type)} need the package ml_dtypes")
    return np.ndarray(tensor.shape, dtype, tensor)


def _attribute(value):
    if isinstance(value, _core.Tensor):
        return value if value.elem_type == _types.STRING or value.is_sparse else _array_of(value)
    return [_attribute(item) for item in value] if isinstance(value, list) else value


class Initializers(collections.abc.Mapping):
    """Constants of the main graph by name, as arrays over the memory of the model."""

    def __init__(self, tensors):
        self._tensors = tensors

    def __getitem__(self, name):
        return _array_of(self._tensors[name])

    def __iter__(self):
        return iter(self._tensors)

    def __len__(self):
        return len(self._tensors)

    def shape(self, name):
        """Sizes, also of data that were not loaded."""
        return self._tensors[name].shape

    def type(self, name):
        """Name of the element type."""
        return _types.name_of(self._tensors[name].elem_type)

    def __repr__(self):
        return f"<{len(self)} initializers>"


class Model:
    """A model. Make one with hone.load."""

    def __init__(self, core, path="", optimization=None):
        self._core = core
        self.path = path  #: the file it was loaded from, or ''
        self.optimization = optimization  #: what hone.optimize did to make it, or None

    # ---- looking ----------------------------------------------------------------------------------------

    @property
    def inputs(self):
        """Inputs that a run needs."""
        return [NodeArg(entry) for entry in self._core.inputs() if not entry[5]]

    @property
    def outputs(self):
        """Outputs."""
        return [NodeArg(entry) for entry in self._core.outputs()]

    @property
    def nodes(self):
        """Nodes in the order of execution: those of the main graph, then those of its subgraphs."""
        return [
            Node(*fields, {name: _attribute(value) for name, value in attributes.items()})
            for *fields, attributes in self._core.nodes()
        ]

    @property
    def initializers(self):
        """Constants by name, as arrays that are not copies and cannot be written to."""
        return Initializers(self._core.initializers())

    @property
    def op_counts(self):
        """How many nodes each operator has."""
        return self.info().op_counts

    @property
    def opsets(self):
        """Version of each operator set; '' is ai.onnx."""
        return self._core.header()["opsets"]

    @property
    def metadata(self):
        """Strings that the file carries along."""
        return self._core.header()["metadata"]

    def info(self):
        """The model in numbers."""
        return ModelInfo.of_json(json.loads(self._core.info_json(self.path, 0)))

    def check(self):
        """Whether the model keeps ONNX's rules, and what breaks them."""
        return CheckReport.of_json(json.loads(self._core.check_json(self.path)))

    def to_text(self, max_elements=8):
        """The model in ONNX text syntax; longer initializers are cut short (None: none is)."""
        return self._core.to_text(2**64 - 1 if max_elements is None else max_elements)

    # ---- changing ---------------------------------------------------------------------------------------

    def infer(self):
        """Finds types and shapes of all values."""
        self._core.infer()
        return self

    def fix_dim(self, name, size):
        """Gives a free dimension a size, everywhere."""
        self._core.fix_dim(name, size)
        return self

    def fix_shape(self, name, shape):
        """Gives an input a shape."""
        self._core.fix_shape(name, tuple(shape))
        return self

    def rename(self, old, new):
        """Renames a value."""
        self._core.rename(old, new)
        return self

    def set_initializer(self, name, array):
        """Other data for an initializer, of the same type and shape."""
        self._core.set_initializer(name, _convert.tensor(array))
        return self

    # ---- using ------------------------------------------------------------------------------------------

    def save(self, path, external_data="keep", external_threshold=1024, external_file=None):
        """Writes the file, whole or not at all.

        external_data: 'always' puts tensors of external_threshold bytes and more into a data file beside it,
        'never' keeps all in one file.
        """
        mode = _number(EXTERNAL_DATA, external_data, "way to keep data")
        self._core.save(os.fsencode(path), mode, external_threshold, external_file)

    def to_bytes(self):
        """The bytes of the file."""
        return self._core.to_bytes()

    def optimize(self, **options):
        """An optimized model; see hone.optimize."""
        return optimize(self, **options)

    def session(self, sess_options=None, **options):
        """An InferenceSession of the model."""
        return InferenceSession(self, sess_options, **options)

    def __repr__(self):
        return f"<hone.Model {self.path or self._core.header()['graph_name']}: {len(self._core.nodes())} nodes>"

    def __str__(self):
        return self.to_text()

    def _repr_html_(self):
        nodes = [(node.name, node.op, ", ".join(node.inputs), ", ".join(node.outputs)) for node in self.nodes[:200]]
        return self.info()._repr_html_() + table(("node", "operator", "inputs", "outputs"), nodes)


def _model_of(source):
    return source if isinstance(source, Model) else load(source)


def load(source, external_data_folder=None, load_external_data=True, custom_ops=()):
    """Loads a model. Its tensors stay where they are in the file.

    external_data_folder: of tensors in other files; the model's own folder unless it is given.
    custom_ops: paths of shared libraries with operators made for hone.
    """
    core = load_core_model(
        source, external_data_folder, not load_external_data, [os.fsencode(library) for library in custom_ops]
    )
    return Model(core, os.fspath(source) if isinstance(source, (str, os.PathLike)) else "")


def info(source):
    """A model in numbers: interface, operators, parameters, cost."""
    return load(source, load_external_data=False).info() if not isinstance(source, Model) else source.info()


def check(source):
    """Whether a model keeps ONNX's rules, and what breaks them."""
    return _model_of(source).check()


def save(model, path, **options):
    """Writes a model to a file; options are those of Model.save."""
    _model_of(model).save(path, **options)


def optimize(
    source,
    output=None,
    level="extended",
    target="onnx",
    opset=None,
    passes=(),
    disable=(),
    approximate=False,
    verify=False,
    seed=0,
    inputs=None,
    precision="keep",
    keep_io_types=False,
    block_ops=(),
    block_nodes=(),
    stop_after=None,
):
    """An optimized model; its `optimization` tells what was done. The other model stays as it is.

    output: a file to write it to.
    level: 'none', 'basic', 'extended' or 'all'. target: 'onnx', or 'onnxruntime' to allow its fused operators.
    passes: these alone; disable: 'pass' or 'pass.rule'. approximate: allow what changes numbers a little.
    verify: run the graph before and after every pass, on `inputs` (arrays by name) or random ones, and leave out
    what changes results. precision: 'float16' or 'bfloat16' to compute in 16 bits.
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
    )
    optimized = Model(core, optimization=Optimization.of_json(json.loads(report)))
    if output is not None:
        optimized.save(output)
    return optimized


# ---- comparing ------------------------------------------------------------------------------------------


def random_inputs(source, seed=0, free_size=1):
    """Made-up inputs for a model or an InferenceSession: arrays by name. Free dimensions get one size."""
    random = np.random.default_rng(seed)
    inputs = source.get_inputs() if isinstance(source, InferenceSession) else _model_of(source).inputs
    return {arg.name: _random_array(arg, random, free_size) for arg in inputs}


def _random_array(arg, random, free_size):
    elem_type = _types.number_of(arg.type) if arg.type.startswith("tensor(") else 0
    shape = [size if isinstance(size, int) else free_size for size in arg.shape]
    if not elem_type:
        raise InvalidArgument(f"inputs of type {arg.type} must be given: {arg.name!r}")
    if elem_type == _types.STRING:
        return np.full(shape, "", object)
    dtype = _types.dtype_of(elem_type)
    if dtype is None:
        raise NotImplemented(f"arrays of {_types.name_of(elem_type)} need the package ml_dtypes")
    if dtype.kind in "iu?":
        return random.integers(0, 2, shape).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def _compare(name, first, second, limit):
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


def _cosine(a, b):
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.vdot(a, b).real) / length if length else 1.0


def _sqnr(a, error):
    noise, signal = float(np.sum(error**2)), float(np.sum(np.abs(a) ** 2))
    return 10 * float(np.log10(signal / noise)) if noise and signal else (np.inf if not noise else -np.inf)


def diff(first, second, inputs=None, limit=1e-4, seed=0, sess_options=None):
    """How two models differ in what they compute, and in their operators.

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


def _outputs(session, feed):
    names = [arg.name for arg in session.get_outputs()]
    return dict(zip(names, session.run(None, feed)))
