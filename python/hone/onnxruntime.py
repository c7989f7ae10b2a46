"""A stand-in for onnxruntime: the names of hone, under a version that programs written for onnxruntime accept.

    import hone.onnxruntime as onnxruntime

or, for libraries that import onnxruntime themselves, before they do:

    hone.onnxruntime.install()
"""

import sys

from . import *  # noqa: F403
from . import __all__ as _names
from . import capi, onnxruntime_version

__version__ = onnxruntime_version
version = onnxruntime_version


def get_version_string() -> str:
    """The release of onnxruntime that this stands in for."""
    return onnxruntime_version


def install() -> None:
    """Makes `import onnxruntime`, and those of its modules that hone has, give this module."""
    theirs = sys.modules.get("onnxruntime")
    if theirs not in (None, sys.modules[__name__]):
        raise ImportError("onnxruntime was imported already: call hone.onnxruntime.install() before that")
    sys.modules["onnxruntime"] = sys.modules[__name__]
    inner = capi.__name__
    for name in [name for name in sys.modules if name == inner or name.startswith(inner + ".")]:
        sys.modules["onnxruntime.capi" + name[len(inner) :]] = sys.modules[name]


__all__ = [*_names, "install"]
