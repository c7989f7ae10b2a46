"""Options of sessions and runs, and the names of providers."""

from __future__ import annotations

import enum
import os
import warnings
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Sequence

from . import _core
from ._errors import InvalidArgument, Unsupported

if TYPE_CHECKING:
    from ._values import OrtValue


class GraphOptimizationLevel(enum.IntEnum):
    """The optimization level of a session, which applies to its own copy of the graph."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.IntEnum):
    """Accepted for compatibility: operators share all threads, nodes run one after the other."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.IntEnum):
    """Accepted for compatibility."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class IgnoredOptionWarning(UserWarning):
    """An option was accepted that has no effect."""


_said: set[str] = set()


def say_once(what: str, why: str, stacklevel: int = 4) -> None:
    """Tells once per process that an option has no effect."""
    if what not in _said:
        _said.add(what)
        warnings.warn(f"{what} has no effect in hone: {why}", IgnoredOptionWarning, stacklevel=stacklevel)


# ---- config entries -------------------------------------------------------------------------------------

DENORMALS = "session.set_denormal_as_zero"
EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
OPTIMIZED_DATA_FILE = "session.optimized_model_external_initializers_file_name"
OPTIMIZED_DATA_MIN_BYTES = "session.optimized_model_external_initializers_min_size_in_bytes"
MEMORY_LIMIT = "hone.memory_limit_bytes"  # ours: of intermediate values, and of each output
MAX_PLANS = "hone.max_plans"  # ours: input shapes whose plan is kept
CACHE_FOLDER = "hone.cache_dir"  # ours: packed weights for this processor
KERNEL_CHOICES = "hone.kernel_choices"  # ours: a file of `hone tune --kernels`
COPY_FILES = "hone.copy_files"  # ours: "1" reads the model's files into memory, so that they may change
WEIGHTS = "hone.weights"  # ours: the type that weights of matrix products are kept in
SEED = "hone.seed"  # ours: of operators that draw random numbers and have no seed

default_seed = 0  # of sessions without that entry; 0: new numbers in every run

_HONOURED = {
    DENORMALS,
    EXTERNAL_FOLDER,
    OPTIMIZED_DATA_FILE,
    OPTIMIZED_DATA_MIN_BYTES,
    MEMORY_LIMIT,
    MAX_PLANS,
    CACHE_FOLDER,
    KERNEL_CHOICES,
    COPY_FILES,
    WEIGHTS,
    SEED,
    "session.use_deterministic_compute",  # runs always are deterministic
    "session.disable_cpu_ep_fallback",  # providers never fall back
}
# Values that promise an effect that hone does not have.
_REFUSED = {
    ("session.load_model_format", "ORT"): "models in onnxruntime's own format cannot be read: give it the .onnx file",
    ("session.save_model_format", "ORT"): "models are saved as .onnx files only",
    ("ep.context_enable", "1"): "no provider here compiles a context model",
}


def _check_config_entry(key: str, value: str) -> None:
    reason = _REFUSED.get((key, value))
    if reason:
        raise Unsupported(f"{key}={value}: {reason}")
    if key not in _HONOURED:
        say_once(f"the config entry {key!r}", "it steers something that is not done this way here")


class _ConfigEntries:
    """Strings by key."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, str] = {}

    def _add(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError("key and value of a config entry are strings")
        self._entries[key] = value

    def _get(self, key: str) -> str:
        if key not in self._entries:
            raise InvalidArgument(f"there is no config entry {key!r}")
        return self._entries[key]


# ---- options of sessions --------------------------------------------------------------------------------


class SessionOptions(_ConfigEntries):
    """Options of a session. Names and defaults are those of onnxruntime."""

    graph_optimization_level: GraphOptimizationLevel
    optimized_model_filepath: str
    intra_op_num_threads: int
    inter_op_num_threads: int
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    enable_profiling: bool
    profile_file_prefix: str
    enable_mem_pattern: bool
    enable_cpu_mem_arena: bool
    enable_mem_reuse: bool
    use_deterministic_compute: bool
    use_per_session_threads: bool
    log_severity_level: int
    log_verbosity_level: int
    logid: str

    _DEFAULTS: dict[str, Any] = {
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "optimized_model_filepath": "",
        "intra_op_num_threads": 0,
        "inter_op_num_threads": 0,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "enable_profiling": False,
        "profile_file_prefix": "onnxruntime_profile_",
        "enable_mem_pattern": True,
        "enable_cpu_mem_arena": True,
        "enable_mem_reuse": True,
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
    }
    _IGNORED: dict[str, str] = {
        "inter_op_num_threads": "nodes of a run go one after the other, each with all threads",
        "execution_mode": "nodes of a run go one after the other, each with all threads",
        "execution_order": "the order of the file is kept",
        "enable_mem_pattern": "memory is always planned",
        "enable_cpu_mem_arena": "memory is always planned",
        "enable_mem_reuse": "memory is always planned",
        "use_per_session_threads": "sessions with equally many threads share them when it pays",
    }
    __slots__ = (*_DEFAULTS, "_custom_ops", "_initializers", "_dims", "_providers")

    def __init__(self) -> None:
        super().__init__()
        for name, value in self._DEFAULTS.items():
            setattr(self, name, value)
        self._custom_ops: list[bytes] = []
        self._initializers: dict[str, OrtValue] = {}
        self._dims: dict[str, int] = {}
        self._providers: list[tuple[str, dict[Any, Any]]] = []

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Sets a config entry; keys are onnxruntime's, and those in docs/python.md that begin with 'hone.'."""
        _check_config_entry(key, value)
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """The value of a config entry that was set."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fixes a symbolic dimension of the model ('batch') to one size in all runs."""
        self._dims[name] = int(size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Raises an error: denotations are not kept."""
        raise Unsupported(
            f"dimensions are not known by their denotation ({denotation!r}): use add_free_dimension_override_by_name"
        )

    def add_initializer(self, name: str, ortvalue: OrtValue) -> None:
        """Uses a value instead of the data of the initializer with this name."""
        self._initializers[name] = ortvalue

    def add_external_initializers(self, names: Iterable[str], ortvalues: Iterable[OrtValue]) -> None:
        """The same for several."""
        for name, value in zip(names, ortvalues):
            self.add_initializer(name, value)

    def register_custom_ops_library(self, path: str | os.PathLike[str]) -> None:
        """Loads operators of a shared library built for hone (docs/custom-ops.md)."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise InvalidArgument(f"there is no library {path!r}")
        self._custom_ops.append(os.fsencode(path))

    def add_provider(self, name: str, options: Mapping[str, str]) -> None:
        """Adds a provider, with lower preference than those added before."""
        self._providers.append((name, dict(options)))

    def has_providers(self) -> bool:
        """Whether add_provider was called."""
        return bool(self._providers)

    def _say_what_is_ignored(self) -> None:
        for name, why in self._IGNORED.items():
            value = getattr(self, name)
            if value != self._DEFAULTS[name] and not (name == "inter_op_num_threads" and value == 1):
                say_once(f"SessionOptions.{name}", why)

    def _entry(self, key: str) -> str | None:
        return self._entries.get(key)

    def _flag(self, key: str) -> bool:
        value = self._entries.get(key, "0")
        if value not in ("0", "1"):
            raise InvalidArgument(f"{key} is '0' or '1', not {value!r}")
        return value == "1"


class RunOptions(_core.RunControl):
    """Options of a run. `timeout` (seconds) is hone's own; terminate may be set from another thread."""

    __slots__ = ("_config", "log_severity_level", "log_verbosity_level", "logid", "only_execute_path_to_fetches")

    def __init__(self) -> None:
        self._config = _ConfigEntries()
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = True  # always the case

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted for compatibility: no entry has an effect."""
        say_once(f"the run config entry {key!r}", "it steers something that is not done this way here", stacklevel=3)
        self._config._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of a config entry that was set."""
        return self._config._get(key)


# ---- providers ------------------------------------------------------------------------------------------

# Providers that programs may name, in the order of onnxruntime. Those of this build are in _core.providers().
_KNOWN_PROVIDERS = (
    "NvTensorRTRTXExecutionProvider",
    "TensorrtExecutionProvider",
    "CUDAExecutionProvider",
    "MIGraphXExecutionProvider",
    "OpenVINOExecutionProvider",
    "DnnlExecutionProvider",
    "VitisAIExecutionProvider",
    "QNNExecutionProvider",
    "NnapiExecutionProvider",
    "VSINPUExecutionProvider",
    "JsExecutionProvider",
    "CoreMLExecutionProvider",
    "ArmNNExecutionProvider",
    "ACLExecutionProvider",
    "DmlExecutionProvider",
    "RknpuExecutionProvider",
    "WebNNExecutionProvider",
    "WebGpuExecutionProvider",
    "XnnpackExecutionProvider",
    "CANNExecutionProvider",
    "ROCMExecutionProvider",
    "AzureExecutionProvider",
    "CPUExecutionProvider",
)


def get_all_providers() -> list[str]:
    """Names of all providers that programs may ask for, also those that this build does not have."""
    return list(_KNOWN_PROVIDERS)


def get_available_providers() -> list[str]:
    """Names of the providers of this build, the preferred one first."""
    have = set(_core.providers())
    return [name for name in _KNOWN_PROVIDERS if name[: -len("ExecutionProvider")].lower() in have]


def get_device() -> str:
    """The device that runs models: 'CPU'."""
    return "CPU"


def choose_providers(
    wanted: Sequence[str | tuple[str, dict[Any, Any]]] | None, options: Sequence[dict[Any, Any]] | None
) -> list[tuple[str, dict[Any, Any]]]:
    """Those of the wanted providers that this build has, as [(name, options)].

    Programs list what they would like first, so one of the others that is missing is only said. When none is
    left, or a name is nobody's, that is an error.
    """
    available = get_available_providers()
    if not wanted:
        return [(name, {}) for name in available]
    if options is not None and len(options) != len(wanted):
        raise InvalidArgument("provider_options must have as many entries as providers")
    chosen: list[tuple[str, dict[Any, Any]]] = []
    for i, entry in enumerate(wanted):
        name, own = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
        if not isinstance(name, str) or not isinstance(own, dict):
            raise InvalidArgument("a provider is a name, or a tuple of a name and a dict of options")
        if name in available:
            chosen.append((name, dict(own or (options[i] if options else {}))))
        elif name in _KNOWN_PROVIDERS:
            warnings.warn(f"{name} is not in this build; available: {', '.join(available)}", stacklevel=3)
        else:
            raise InvalidArgument(f"there is no provider {name!r}; available: {', '.join(available)}")
    if not chosen:
        raise InvalidArgument(f"none of the providers asked for is in this build; available: {', '.join(available)}")
    for name, own in chosen:
        if own:
            say_once(f"options of {name}", "it has none")
    return chosen
