"""The Python in docs/python.md and README.md runs."""

import os
import re
import shutil

import pytest
from conftest import HERE

ROOT = HERE.parent.parent


@pytest.mark.parametrize("page", ["docs/python.md", "README.md"])
def test_snippets_run(page, tmp_path, monkeypatch):
    shutil.copy(ROOT / "examples" / "digits" / "digits.onnx", tmp_path / "model.onnx")
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert snippets
    names = {}
    for snippet in snippets:
        exec(compile(snippet, page, "exec"), names)
    assert os.listdir(tmp_path)
