"""The names of providers, and which of them run a session."""

from __future__ import annotations

import warnings
from typing import Any, Sequence

from . import _core
from ._errors import InvalidArgument
from ._options import NO_FALLBACK, say_once

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
    wanted: Sequence[str | tuple[str, dict[Any, Any]]] | None,
    options: Sequence[dict[Any, Any]] | None,
    may_fall_back: bool = True,
) -> list[tuple[str, dict[Any, Any]]]:
    """Those of the wanted providers that this build has, as [(name, options)].

    One that is missing is warned of, as in onnxruntime, and the CPU is used when none is left. It is an error
    where `may_fall_back` is false, and a name that is nobody's always is.
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
        elif name not in _KNOWN_PROVIDERS:
            raise InvalidArgument(f"there is no provider {name!r}; available: {', '.join(available)}")
        elif may_fall_back:
            warnings.warn(f"{name} is not in this build; available: {', '.join(available)}", stacklevel=3)
        else:
            raise InvalidArgument(
                f"{name} is not in this build, and {NO_FALLBACK} is set; available: {', '.join(available)}"
            )
    chosen = chosen or [("CPUExecutionProvider", {})]
    for name, own in chosen:
        if own:
            say_once(f"options of {name}", "it has none")
    return chosen
