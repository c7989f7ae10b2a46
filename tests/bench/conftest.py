"""The code of the benches is not a package; tests import its files. Nothing here measures time."""

import importlib.util
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
SKIP_STATUS = 77  # of CTest


def pytest_configure():
    if importlib.util.find_spec("onnxruntime") is None:
        pytest.exit("skipped: the onnxruntime package is not installed", SKIP_STATUS)
