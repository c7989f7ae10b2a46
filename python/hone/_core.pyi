"""The extension module. Use the package, not this module."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

# (name, type, kind, element type, shape, is an initializer)
Description = Tuple[str, str, int, int, Optional[Tuple[Union[int, str, None], ...]], bool]
# (name, op, domain, doc, subgraph, inputs, outputs, attributes)
NodeDescription = Tuple[str, str, str, str, int, List[str], List[str], Dict[str, Any]]

def version() -> str: ...
def cpu_features() -> str: ...
def cpu_tiers() -> list[str]: ...
def providers() -> List[str]: ...
def passes() -> List[Tuple[str, str, int, str]]: ...

class Value:
    kind: str
    elem_type: int
    shape: Optional[Tuple[int, ...]]
    nbytes: int
    address: int
    @staticmethod
    def borrow(buffer: Any, /) -> Optional[Value]: ...
    @staticmethod
    def from_bytes(elem_type: int, shape: Sequence[int], buffer: Any, /) -> Value: ...
    @staticmethod
    def from_pointer(elem_type: int, shape: Sequence[int], address: int, owner: Any, /) -> Value: ...
    @staticmethod
    def empty(elem_type: int, shape: Sequence[int], /) -> Value: ...
    @staticmethod
    def from_strings(texts: List[bytes], shape: Sequence[int], /) -> Value: ...
    @staticmethod
    def from_sequence(items: List[Value], /) -> Value: ...
    @staticmethod
    def from_map(keys: Value, values: Value, /) -> Value: ...
    @staticmethod
    def from_dlpack(capsule: Any, /) -> Value: ...
    def tobytes(self) -> bytes: ...
    def strings(self) -> List[str]: ...
    def items(self) -> List[Value]: ...
    def to_python(self) -> Any: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...

class Tensor:
    elem_type: int
    shape: Tuple[int, ...]
    nbytes: int
    has_data: bool
    is_sparse: bool
    external_location: Optional[str]
    def tobytes(self) -> bytes: ...

class Model:
    @staticmethod
    def load(
        path: Optional[bytes],
        data: Any,
        folder: Optional[bytes],
        skip_external: bool,
        copy_files: bool,
        libraries: List[bytes],
        /,
    ) -> Model: ...
    def save(self, path: bytes, external: int, threshold: int, file_name: Optional[str], /) -> None: ...
    def to_bytes(self) -> bytes: ...
    def to_text(self, max_elements: int, /) -> str: ...
    def info_json(self, label: str, parts: int, /) -> str: ...
    def header(self) -> Dict[str, Any]: ...
    def inputs(self) -> List[Description]: ...
    def outputs(self) -> List[Description]: ...
    def nodes(self) -> List[NodeDescription]: ...
    def initializers(self) -> Dict[str, Tensor]: ...
    def check_json(self, label: str, /) -> str: ...
    def infer(self) -> None: ...
    def fix_dim(self, name: str, size: int, /) -> None: ...
    def fix_shape(self, name: str, shape: Sequence[int], /) -> None: ...
    def rename(self, old: str, new: str, /) -> None: ...
    def set_initializer(self, name: str, value: Value, /) -> None: ...
    def optimize(
        self,
        level: int,
        target: int,
        opset: int,
        passes: List[str],
        disabled: List[str],
        stop_after: int,
        approximate: bool,
        verify: bool,
        seed: int,
        inputs: Dict[str, Value],
        precision: int,
        keep_io_types: bool,
        blocked_ops: List[str],
        blocked_nodes: List[str],
        trust_names: bool,
        timeout: float,
        memory_limit: int,
    ) -> Tuple[Model, str]: ...
    def quantize(
        self,
        numbers: Dict[bytes, float],
        lists: Dict[str, List[bytes]],
        overrides: List[Tuple[Any, ...]],
        choices: List[Tuple[str, int]],
        axes: List[Tuple[str, int]],
        cache: Optional[str],
        read: Optional[Callable[[int], Optional[Dict[bytes, Value]]]],
        /,
    ) -> Tuple[Model, str]: ...

class RunControl:
    terminate: bool
    timeout: Optional[float]

class Session:
    def __new__(
        cls,
        model: Model,
        level: int,
        n_threads: int,
        keep_denormals: bool,
        max_plans: int,
        memory_limit: int,
        cache_dir: Optional[str],
        kernel_choices: Optional[str],
        weights: int,
        compute: int,
        seed: int,
    ) -> Session: ...
    def notes(self) -> Tuple[str, str]: ...
    def run(
        self,
        names: Optional[Sequence[str]],
        inputs: Dict[str, Any],
        control: Optional[RunControl],
        record: Optional[List[Any]],
        /,
    ) -> List[Any]: ...
    def run_values(
        self,
        names: Sequence[str],
        inputs: Dict[str, Value],
        outputs: List[Optional[Value]],
        control: Optional[RunControl],
        record: Optional[List[Any]],
        /,
    ) -> List[Value]: ...
    def inputs(self) -> List[Description]: ...
    def outputs(self) -> List[Description]: ...
