"""InferenceSession: a model prepared for execution."""

from __future__ import annotations

import logging
import os
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Protocol, Sequence, Union, cast

from . import _core, _options, _types
from ._errors import InvalidArgument, NoSuchFile
from ._options import GraphOptimizationLevel, RunOptions, SessionOptions
from ._profile import Profile
from ._providers import choose_providers
from ._values import IOBinding, OrtValue

if TYPE_CHECKING:
    from .model import Model


class ModelMessage(Protocol):
    """An onnx.ModelProto."""

    def SerializeToString(self) -> bytes:  # noqa: N802 (the name is protobuf's)
        """The bytes of the file."""


#: What a model is read from.
ModelSource = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, "Model", ModelMessage]

_LEVELS = {0: 0, 1: 1, 2: 2, 3: 99, 99: 99}  # the library's number of each level
_WEIGHTS = {"float": 0, "float16": 1, "bfloat16": 2}
_COMPUTE = {"float32": 0, "float16": 1, "bfloat16": 2}
_TARGET_ONNX, _TARGET_ONNXRUNTIME = 0, 1
_EXTERNAL_KEEP, _EXTERNAL_ALWAYS = 0, 2


class NodeArg:
    """An input or output: name, type ('tensor(float)') and shape (sizes, symbols, None)."""

    __slots__ = ("name", "shape", "type")

    def __init__(self, description: _core.Description) -> None:
        name, text, kind, elem_type, shape = description[:5]
        self.name: str = name
        self.type: str = f"tensor({_types.name_of(elem_type)})" if kind == 1 else _types.onnx_type(text)
        self.shape: list[int | str | None] = list(shape or ())

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class ModelMetadata:
    """The metadata of the file."""

    __slots__ = (
        "custom_metadata_map",
        "description",
        "domain",
        "graph_description",
        "graph_name",
        "producer_name",
        "version",
    )

    custom_metadata_map: dict[str, str]
    description: str
    domain: str
    graph_description: str
    graph_name: str
    producer_name: str
    version: int

    def __init__(self, header: dict[str, Any]) -> None:
        self.custom_metadata_map = header["metadata"]
        for name in self.__slots__[1:]:
            setattr(self, name, header[name])

    def __repr__(self) -> str:
        return f"ModelMetadata({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


def _shared_model(source: object) -> _core.Model | None:
    """The extension's Model of a hone.Model; None of anything else."""
    core = getattr(source, "_core", None)
    return core if isinstance(core, _core.Model) else None


def load_core_model(
    source: ModelSource,
    external_data_folder: str | os.PathLike[str] | None = None,
    skip_external_data: bool = False,
    libraries: Iterable[bytes] = (),
    copy_files: bool = False,
) -> _core.Model:
    """The extension's Model of a path, bytes, a hone.Model or an onnx.ModelProto."""
    folder = os.fsencode(external_data_folder) if external_data_folder else None
    options = (folder, skip_external_data, copy_files, list(libraries))
    if isinstance(source, (str, os.PathLike)):
        path = os.fsencode(source)
        if not os.path.exists(path):
            raise NoSuchFile(f"there is no file {os.fspath(source)!r}")
        return _core.Model.load(path, None, *options)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _core.Model.load(None, bytes(source), *options)  # a copy, so that it cannot change
    shared = _shared_model(source)
    if shared:
        return shared
    if hasattr(source, "SerializeToString"):
        return _core.Model.load(None, source.SerializeToString(), *options)
    raise TypeError(f"a model is a path, bytes, a hone.Model or an onnx.ModelProto, not {type(source).__name__!r}")


def _own_model(source: ModelSource, options: SessionOptions) -> _core.Model:
    """A copy of the model with fixed dimensions and the shapes of all outputs."""
    model = load_core_model(
        source,
        external_data_folder=options._entry(_options.EXTERNAL_FOLDER),
        libraries=options._custom_ops,
        copy_files=options._flag(_options.COPY_FILES),
    )
    is_shared = _shared_model(source) is not None
    if is_shared and not options._dims and not options._initializers:
        return model
    if is_shared:
        model = _core.Model.load(None, model.to_bytes(), None, False, False, options._custom_ops)
    for name, value in options._initializers.items():
        model.set_initializer(name, value._value)
    for name, size in options._dims.items():
        try:
            model.fix_dim(name, size)
        except InvalidArgument as problem:
            if problem.code != "HONE_E_NOT_FOUND":
                raise
            _options.say_once(f"the size for the dimension {name!r}", str(problem))
    if any(kind == 0 or (kind == 1 and (shape is None or None in shape)) for *_, kind, _, shape, _ in model.outputs()):
        model.infer()
    return model


class _ClosedSession:
    """What a session has instead of the extension's Session after it was closed."""

    def __getattr__(self, name: str) -> Any:
        raise InvalidArgument("the session is closed")


class InferenceSession:
    """Runs a model, as onnxruntime.InferenceSession does; safe to use from many threads.

    path_or_bytes: a file, its bytes, a hone.Model, or an onnx.ModelProto.
    providers: names, the preferred one first; this build runs models on the CPU.

    `with InferenceSession(...) as session:` frees it at the end. A session can be pickled: the path of its
    model, or the model where it did not come from a file, and the options.
    """

    def __init__(
        self,
        path_or_bytes: ModelSource,
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        started = time.monotonic_ns()
        options = sess_options if sess_options is not None else SessionOptions()
        if not isinstance(options, SessionOptions):
            raise TypeError("sess_options must be SessionOptions")
        _refuse_unknown(kwargs)
        options._say_what_is_ignored()
        self._options = options
        self._providers = self._choose_providers(providers or options._providers, provider_options)
        self._profile = Profile(options.profile_file_prefix) if options.enable_profiling else None
        level = _LEVELS[int(options.graph_optimization_level)]
        weights = _WEIGHTS.get(options._entry(_options.WEIGHTS) or "float")
        if weights is None:
            raise InvalidArgument(f"{_options.WEIGHTS} is float, float16 or bfloat16")
        compute = _COMPUTE.get(options._entry(_options.COMPUTE) or "float32")
        if compute is None:
            raise InvalidArgument(f"{_options.COMPUTE} is float32, float16 or bfloat16")
        self._path = os.path.abspath(path_or_bytes) if isinstance(path_or_bytes, (str, os.PathLike)) else None
        self._model = _own_model(path_or_bytes, options)
        loaded = time.monotonic_ns()
        if options.optimized_model_filepath:
            _save_optimized(self._model, level, options)
        self._core: _core.Session = _core.Session(
            self._model,
            level,
            int(options.intra_op_num_threads),
            options._entry(_options.DENORMALS) == "0",
            int(options._entry(_options.MAX_PLANS) or 16),
            int(options._entry(_options.MEMORY_LIMIT) or 0),
            options._entry(_options.CACHE_FOLDER),
            options._entry(_options.KERNEL_CHOICES),
            weights,
            compute,
            int(options._entry(_options.SEED) or _options.default_seed),
        )
        *notes, model_note = self._core.notes()
        for note in filter(None, notes):
            warnings.warn(note, stacklevel=2)
        if model_note:
            logging.getLogger("hone").warning("%s", model_note)
        self._describe()
        if self._profile:
            what = "model_loading_uri" if self._path else "model_loading_array"
            self._profile.add_session_event(what, started, loaded)
            self._profile.add_session_event("session_initialization", loaded, time.monotonic_ns())

    def _describe(self) -> None:
        inputs = self._core.inputs()
        self._inputs = [NodeArg(entry) for entry in inputs if not entry[5]]
        self._defaults = [NodeArg(entry) for entry in inputs if entry[5]]
        self._outputs = [NodeArg(entry) for entry in self._core.outputs()]

    # ---- lifetime ---------------------------------------------------------------------------------------

    def close(self) -> None:
        """Frees what the session holds, and writes the profile if one is recorded; runs are errors after that."""
        self.end_profiling()
        self._core = cast(Any, _ClosedSession())

    def __enter__(self) -> InferenceSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the path of the model, or the model itself where it did not come from a file."""
        source: str | bytes = self._path or self._model.to_bytes()
        options = self._options._for_unpickling(has_own_model=self._path is None)
        return (InferenceSession, (source, options, list(self._providers)))

    # ---- runs -------------------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Runs the model: inputs by name, outputs as a list of arrays.

        output_names: None or [] for all. Inputs are arrays, tensors of other packages (through DLPack),
        OrtValues, lists and numbers; sequences are lists and maps are dicts. Contiguous arrays are not copied.
        """
        if type(input_feed) is not dict:
            input_feed = dict(input_feed)
        if self._profile:
            return self._run_profiled(self._core.run, output_names or None, input_feed, run_options)
        return self._core.run(output_names or None, input_feed, run_options, None)

    def _run_profiled(self, run: Callable[..., Any], *args: Any) -> Any:
        steps: list[Any] = []
        started = time.monotonic_ns()
        results = run(*args, steps)
        if self._profile:
            self._profile.add_run(steps, started, time.monotonic_ns())
        return results

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any = None,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs the model in another thread, which then calls callback(results, user_data, error message)."""

        def work() -> None:
            try:
                results, message = self.run(output_names, input_feed, run_options), ""
            except Exception as problem:
                results, message = [], str(problem)
            callback(results, user_data, message)

        threading.Thread(target=work, name="hone-run", daemon=True).start()

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Runs the model on OrtValues, and returns OrtValues."""
        names = list(output_names or (output.name for output in self._outputs))
        feed = {name: value._value for name, value in input_dict_ort_values.items()}
        run = self._core.run_values
        if self._profile:
            values = self._run_profiled(run, names, feed, [None] * len(names), run_options)
        else:
            values = run(names, feed, [None] * len(names), run_options, None)
        return [OrtValue(value) for value in values]

    def io_binding(self) -> IOBinding:
        """A new IOBinding for this session."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs the model on inputs and outputs that are bound."""
        if iobinding._session is not self:
            raise InvalidArgument("the binding belongs to another session")
        if self._profile:
            self._run_profiled(iobinding._run, run_options)
        else:
            iobinding._run(run_options, None)

    # ---- queries ----------------------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """Inputs that a run needs."""
        return list(self._inputs)

    def get_outputs(self) -> list[NodeArg]:
        """Outputs, in the model's order."""
        return list(self._outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Inputs with a default, which a run may replace."""
        return list(self._defaults)

    def get_modelmeta(self) -> ModelMetadata:
        """The metadata of the file."""
        return ModelMetadata(self._model.header())

    def get_providers(self) -> list[str]:
        """Names of the providers that run the model."""
        return [name for name, _ in self._providers]

    def get_provider_options(self) -> dict[str, dict[Any, Any]]:
        """Options of each provider, by name."""
        return {name: dict(own) for name, own in self._providers}

    def set_providers(
        self,
        providers: Sequence[str | tuple[str, dict[Any, Any]]] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
    ) -> None:
        """Checks the providers; those of a session are set when it is created."""
        self._providers = self._choose_providers(providers, provider_options)

    def _choose_providers(self, *wanted: Any) -> list[tuple[str, dict[Any, Any]]]:
        may_fall_back = self._options._entry(_options.NO_FALLBACK) != "1"
        return choose_providers(*wanted, may_fall_back)

    def get_session_options(self) -> SessionOptions:
        """The options that the session was created with."""
        return self._options

    def enable_fallback(self) -> None:
        """Accepted for compatibility: there is nothing to fall back to."""

    def disable_fallback(self) -> None:
        """Accepted for compatibility: there is nothing to fall back to."""

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, on the clock of time.monotonic_ns(); 0 without profiling."""
        return self._profile.start_ns if self._profile else 0

    def end_profiling(self) -> str:
        """Writes the profile, and returns the path of the file; '' without profiling."""
        profile, self._profile = self._profile, None
        return profile.save() if profile else ""

    def _require_name(self, what: str, name: str) -> None:
        args = self._inputs + self._defaults if what == "input" else self._outputs
        if all(arg.name != name for arg in args):
            raise InvalidArgument(
                f"the model has no {what} {name!r}; it has {', '.join(repr(arg.name) for arg in args) or 'none'}"
            )

    def __repr__(self) -> str:
        return f"InferenceSession(inputs={self._inputs}, outputs={self._outputs})"


def _refuse_unknown(kwargs: dict[str, Any]) -> None:
    for name in kwargs:
        if name == "disabled_optimizers" and kwargs[name]:
            _options.say_once("disabled_optimizers", "the passes here are others; see hone.optimize(disable=...)")
        elif name not in ("disabled_optimizers", "enable_fallback", "read_config_from_model"):
            raise TypeError(f"InferenceSession has no argument {name!r}")


def _save_optimized(model: _core.Model, level: int, options: SessionOptions) -> None:
    """Writes the model as onnxruntime would at this level: fused operators are those of com.microsoft, too."""
    optimized = model
    if level:
        optimized, _ = model.optimize(
            level=level,
            target=_TARGET_ONNXRUNTIME if level > GraphOptimizationLevel.ORT_ENABLE_BASIC else _TARGET_ONNX,
            opset=0,
            passes=[],
            disabled=[],
            stop_after=0xFFFFFFFF,
            approximate=False,
            verify=False,
            seed=0,
            inputs={},
            precision=0,
            keep_io_types=True,
            blocked_ops=[],
            blocked_nodes=[],
            trust_names=False,
            timeout=0.0,
            memory_limit=0,
        )
    data_file = options._entry(_options.OPTIMIZED_DATA_FILE)
    optimized.save(
        os.fsencode(options.optimized_model_filepath),
        _EXTERNAL_ALWAYS if data_file else _EXTERNAL_KEEP,
        int(options._entry(_options.OPTIMIZED_DATA_MIN_BYTES) or 1024),
        data_file,
    )


__all__ = ["InferenceSession", "ModelMetadata", "NodeArg", "RunOptions", "SessionOptions"]
