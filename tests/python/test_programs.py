"""Programs written for onnxruntime: with `import hone` in its place they compute the same."""

import re
import warnings

import numpy as np
import pytest
from conftest import HERE

PROGRAMS = sorted(path for path in (HERE / "programs").glob("*.py"))


def run_program(path, module, model, folder):
    source = path.read_text(encoding="utf-8")
    source = re.sub(r"^import onnxruntime$", f"import {module} as onnxruntime", source, flags=re.MULTILINE)
    source = re.sub(r"^import onnxruntime as", f"import {module} as", source, flags=re.MULTILINE)
    source = source.replace("from onnxruntime.", f"from {module}.")
    names = {"MODEL": str(model), "FOLDER": str(folder), "__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, str(path), "exec"), names)
    return names["RESULT"]


@pytest.mark.parametrize("path", PROGRAMS, ids=[path.stem for path in PROGRAMS])
def test_computes_what_onnxruntime_computes(path, network, tmp_path):
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs").mkdir()
    ours = run_program(path, "hone", network, tmp_path / "ours")
    theirs = run_program(path, "onnxruntime", network, tmp_path / "theirs")
    assert ours.keys() == theirs.keys() and ours
    for name, expected in theirs.items():
        assert ours[name].dtype == expected.dtype and ours[name].shape == expected.shape, name
        np.testing.assert_allclose(ours[name], expected, rtol=1e-4, atol=1e-6, err_msg=name)
