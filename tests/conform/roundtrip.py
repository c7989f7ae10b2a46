#!/usr/bin/env python3
"""Loads and saves models with hone, and asks the onnx package whether they are still the same.

usage: roundtrip.py [--hone PATH] [--external] [PATH...]

Every *.onnx in the folders and archives (.zip, .tar.*) is saved by `hone save`, as it is or (--external) with its weights in
a data file, and both files are compared field by field. Exit status: 0 all equal, 1 some differ,
77 nothing to compare. Without paths the models in HONE_SHARED are taken.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import onnx
from onnx import numpy_helper


def default_paths():
    root = pathlib.Path(__file__).resolve().parents[2]
    shared = pathlib.Path(os.environ.get("HONE_SHARED", root.parent / "shared"))
    names = ("models", "models/architectures.zip", "onnx-backend-tests.tar.xz")
    return [shared / name for name in names if (shared / name).exists()]


def find_models(paths, scratch):
    for i, path in enumerate(map(pathlib.Path, paths)):
        if path.is_file():
            shutil.unpack_archive(path, scratch / str(i))
            path = scratch / str(i)
        yield from sorted(path.rglob("*.onnx"))


def initializer_lists(graph):
    yield graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from initializer_lists(inner)


def weights_as_raw(model):
    """Weights that went to a data file come back as raw bytes, however they were stored before."""
    for initializers in initializer_lists(model.graph):
        for tensor in initializers:
            if tensor.data_type == onnx.TensorProto.STRING:
                continue
            try:
                raw = numpy_helper.from_array(numpy_helper.to_array(tensor))
            except ValueError:  # a shape without data: nothing that could have moved
                continue
            for field in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
            for field in ("external_data", "data_location"):
                tensor.ClearField(field)
            tensor.raw_data = raw.raw_data
    return model


def is_equal(a, b):
    # NaN differs from itself in a message, but not in its bytes.
    if a == b:
        return True
    return a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True)


def check(hone, path, folder, external):
    """Returns what is wrong, or None; and whether the files are the same to the byte."""
    saved = folder / "saved.onnx"
    command = [hone, "save", str(path), "-o", str(saved)]
    if external:
        command.append("--external-data")
    pathlib.Path(f"{saved}.data").unlink(missing_ok=True)  # of the model before, which hone would keep
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return f"hone save failed: {run.stderr.strip()}", False
    before, after = onnx.load(path), onnx.load(saved)
    if external:
        before, after = weights_as_raw(before), weights_as_raw(after)
    if not is_equal(before, after):
        return "the saved model is another one", False
    return None, path.read_bytes() == saved.read_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=os.environ.get("HONE_BIN", "hone"))
    parser.add_argument("--external", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    n_failed = n_identical = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        models = list(find_models(options.paths or default_paths(), scratch))
        if not models:
            print("skipped: no models in", " ".join(options.paths) or "HONE_SHARED")
            return 77
        for path in models:
            problem, identical = check(options.hone, path, scratch, options.external)
            n_identical += identical
            if problem:
                n_failed += 1
                print(f"{path}: {problem}")
    print(f"{len(models)} models, {n_failed} failed, {n_identical} identical to the byte")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
