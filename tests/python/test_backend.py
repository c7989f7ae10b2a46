"""The onnx package's own runner judges hone.backend, with the exceptions of the C suite."""

import re
import warnings

import hone.backend
import onnx.backend.test
from conftest import HERE

MANIFEST = HERE.parent / "conform" / "backend_manifest.txt"

# The manifest's tolerances beside "NAME: reason", which is known to fail.
LINE = re.compile(r"^(?P<name>\w+)(?: rtol=(?P<rtol>[^ :]+))?(?: atol=(?P<atol>[^ :]+))?:")


def exceptions():
    for line in MANIFEST.read_text(encoding="ascii").splitlines():
        found = LINE.match(line)
        if found:
            yield found["name"], {key: float(found[key]) for key in ("rtol", "atol") if found[key]}


def make_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tolerances = {name: limits for name, limits in exceptions() if limits}
        runner = onnx.backend.test.BackendTest(hone.backend, __name__, test_kwargs=tolerances)
        for name, limits in exceptions():
            if not limits:
                runner.exclude(f"^{name}_cpu$")
        runner.exclude("_cuda$")
        runner.exclude("^test_loop16_seq_none_cpu$")  # the runner cannot compare lists of scalars; the C suite does
        runner.exclude(
            "^test_(resnet50|inception_v1|inception_v2|densenet121|shufflenet|squeezenet|vgg19|zfnet512|bvlc)"
        )
        return runner.enable_report().test_cases


globals().update(make_cases())
