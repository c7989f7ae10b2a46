"""Options of sessions and runs."""

from __future__ import annotations

import copy
import enum
import logging
import operator
import os
from typing import TYPE_CHECKING, Any, Iterable, Mapping

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


_logger = logging.getLogger("hone")
_said: set[str] = set()


def say_once(what: str, why: str) -> None:
    """Logs once per process that an option has no effect.

    Not a Python warning: programs that turn warnings into errors set options of onnxruntime, too.
    """
    if what not in _said:
        _said.add(what)
        _logger.warning("%s has no effect in hone: %s", what, why)


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
COMPUTE = "hone.compute"  # ours: the type that products with constant weights multiply
NO_FALLBACK = "session.disable_cpu_ep_fallback"  # a provider that is missing is an error
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
    COMPUTE,
    SEED,
    "session.use_deterministic_compute",  # runs always are deterministic
    NO_FALLBACK,
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


_LEVEL_NAMES = {
    "none": GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "layout": GraphOptimizationLevel.ORT_ENABLE_LAYOUT,
    "all": GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def _level(value: Any) -> GraphOptimizationLevel:
    if isinstance(value, str) and value.lower() in _LEVEL_NAMES:
        return _LEVEL_NAMES[value.lower()]
    if isinstance(value, str) and value in GraphOptimizationLevel.__members__:
        return GraphOptimizationLevel[value]
    try:
        return GraphOptimizationLevel(value)
    except ValueError:
        raise InvalidArgument(
            f"there is no graph optimization level {value!r}; there is {', '.join(_LEVEL_NAMES)}, "
            "and GraphOptimizationLevel"
        ) from None


def _thread_count(value: Any) -> int:
    count = operator.index(value)
    if count < 0:
        raise InvalidArgument(f"a number of threads cannot be negative: {count}; 0 means all processors")
    return count


_MEMORY_IS_PLANNED = "memory is always planned"
_ONE_NODE_AT_A_TIME = "nodes of a run go one after the other, each with all threads"


class SessionOptions(_ConfigEntries):
    """Options of a session. Names and defaults are those of onnxruntime.

    Options without an effect here are accepted; the logger 'hone' says so once.
    """

    graph_optimization_level: GraphOptimizationLevel | int | str
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
        "inter_op_num_threads": _ONE_NODE_AT_A_TIME,
        "execution_mode": _ONE_NODE_AT_A_TIME,
        "execution_order": "the order of the file is kept",
        "enable_mem_pattern": _MEMORY_IS_PLANNED,
        "enable_cpu_mem_arena": _MEMORY_IS_PLANNED,
        "enable_mem_reuse": _MEMORY_IS_PLANNED,
        "use_per_session_threads": "sessions with equally many threads share them when it pays",
    }
    _CHECKS: dict[str, Any] = {
        "graph_optimization_level": _level,
        "intra_op_num_threads": _thread_count,
        "inter_op_num_threads": _thread_count,
    }
    # The texts are what help(SessionOptions) prints.
    __slots__ = {
        "graph_optimization_level": "how far the graph is optimized: a GraphOptimizationLevel, its number, or "
        "'none', 'basic', 'extended', 'all' (default)",
        "optimized_model_filepath": "file to write the optimized model to; '' (default) for none",
        "intra_op_num_threads": "threads of a run; 0 (default) for all processors",
        "inter_op_num_threads": f"no effect: {_ONE_NODE_AT_A_TIME}",
        "execution_mode": f"no effect: {_ONE_NODE_AT_A_TIME}",
        "execution_order": "no effect: the order of the file is kept",
        "enable_profiling": "whether runs are recorded, for InferenceSession.end_profiling",
        "profile_file_prefix": "how the name of the profile begins",
        "enable_mem_pattern": f"no effect: {_MEMORY_IS_PLANNED}",
        "enable_cpu_mem_arena": f"no effect: {_MEMORY_IS_PLANNED}",
        "enable_mem_reuse": f"no effect: {_MEMORY_IS_PLANNED}",
        "use_deterministic_compute": "no effect: results are always the same bytes",
        "use_per_session_threads": "no effect: sessions with equally many threads share them when it pays",
        "log_severity_level": "no effect: the library never prints",
        "log_verbosity_level": "no effect: the library never prints",
        "logid": "no effect: the library never prints",
        "_custom_ops": None,
        "_initializers": None,
        "_dims": None,
        "_providers": None,
    }

    def __init__(self) -> None:
        super().__init__()
        for name, value in self._DEFAULTS.items():
            setattr(self, name, value)
        self._custom_ops: list[bytes] = []
        self._initializers: dict[str, OrtValue] = {}
        self._dims: dict[str, int] = {}
        self._providers: list[tuple[str, dict[Any, Any]]] = []

    def __setattr__(self, name: str, value: Any) -> None:
        check = self._CHECKS.get(name)
        super().__setattr__(name, check(value) if check else value)

    def __repr__(self) -> str:
        changed = [name for name, default in self._DEFAULTS.items() if getattr(self, name) != default]
        texts = [f"{name}={getattr(self, name)!r}" for name in changed]
        texts += [f"{key!r}: {value!r}" for key, value in self._entries.items()]
        return f"SessionOptions({', '.join(texts)})"

    def _for_unpickling(self, has_own_model: bool) -> SessionOptions:
        """A copy for a session in another process; its own model has fixed sizes and replaced weights already."""
        copied = copy.copy(self)
        copied.optimized_model_filepath = ""  # written once, by the session that was asked to
        if has_own_model:
            copied._dims, copied._initializers = {}, {}
        return copied

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
        names = [name for name in self._IGNORED if getattr(self, name) != self._DEFAULTS[name]]
        if self.inter_op_num_threads == 1 and "inter_op_num_threads" in names:
            names.remove("inter_op_num_threads")  # which is what is done
        if names:
            reasons = dict.fromkeys(self._IGNORED[name] for name in names)
            say_once("SessionOptions." + ", ".join(names), "; ".join(reasons))

    def _entry(self, key: str) -> str | None:
        return self._entries.get(key)

    def _flag(self, key: str) -> bool:
        value = self._entries.get(key, "0")
        if value not in ("0", "1"):
            raise InvalidArgument(f"{key} is '0' or '1', not {value!r}")
        return value == "1"


class RunOptions(_core.RunControl):
    """Options of a run. `timeout` (seconds) is hone's own; terminate may be set from another thread."""

    __slots__ = {
        "_config": None,
        "log_severity_level": "no effect: the library never prints",
        "log_verbosity_level": "no effect: the library never prints",
        "logid": "no effect: the library never prints",
        "only_execute_path_to_fetches": "no effect: only what the wanted outputs need is run",
    }

    def __init__(self) -> None:
        self._config = _ConfigEntries()
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = True  # always the case

    def __repr__(self) -> str:
        return f"RunOptions(timeout={self.timeout}, terminate={self.terminate})"

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Accepted for compatibility: no entry has an effect."""
        say_once(f"the run config entry {key!r}", "it steers something that is not done this way here")
        self._config._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """The value of a config entry that was set."""
        return self._config._get(key)
