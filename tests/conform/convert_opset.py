#!/usr/bin/env python3
"""Models keep their meaning in another opset.

    convert_opset.py [--every N] [--opsets 13,17] [--refusals] [--onnxruntime] [NAME...]

Backend tests are brought to other versions of ai.onnx; what comes out passes the checker of the onnx package, and
`hone run --test` still finds the outputs of the test. A model may refuse to go, with a message that names a node.
NAMEs are parts of names of cases; the command is found in HONE_BIN.
With --onnxruntime that runs the converted models, too, where it gives the outputs of the test for the original.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx

import models

HONE = os.environ.get("HONE_BIN", models.ROOT / "build/dev/hone")
UP, DOWN = (13, 17, 21, 23, 25, 28), (17, 13, 11, 9)
FAMILIES = ("node", "simple", "pytorch-operator", "pytorch-converted")


def cases(names, every):
    found = [path.parent for path in models.backend() if path.name == "model.onnx" and path.parents[1].name in FAMILIES]
    chosen = [case for case in found if any(name in case.name for name in names)] if names else found[::every]
    return [case for case in chosen if (case / "test_data_set_0").exists()]


def opset_of(case):
    model = onnx.load(case / "model.onnx")
    version = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    return 0 if model.functions else version


def convert(case, opset, folder):
    """The converted model's folder, or the reason why there is none."""
    target = folder / f"{case.parent.name}.{case.name}"
    target.mkdir()
    done = subprocess.run([HONE, "optimize", case / "model.onnx", "-o", target / "model.onnx", "--level", "none", "--opset", str(opset)],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        target.rmdir()
        return None, done.stderr.strip()
    for data in case.glob("test_data_set_*"):
        (target / data.name).symlink_to(data.resolve())
    return target, ""


def checker_complaint(path):
    try:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    except Exception as error:  # whatever the checker raises
        return str(error).strip().splitlines()[0][:200]
    return None


def failures_of_runs(folder, n_cases):
    done = subprocess.run([HONE, "run", "--test", "--json", folder], capture_output=True, text=True, check=False)
    results = json.loads(done.stdout or "[]")
    if len(results) < n_cases:
        yield "run --test", f"{len(results)} of {n_cases} cases: {done.stderr.strip()}"
    for case in results:
        if case["verdict"] != "passed":
            yield case["name"], f"{case['verdict']}: {case.get('message')}"


# ---- another opinion -----------------------------------------------------------------------------------

CANNOT = ("NOT_IMPLEMENTED", "opset", "can't be converted")  # in messages of onnxruntime about what it does not have


def tensors_of(folder, kind, values):
    """By name; None when something is no tensor."""
    found = {}
    for i, value in enumerate(values):
        path = folder / f"{kind}_{i}.pb"
        if not value.type.HasField("tensor_type") or not path.exists():
            return None
        found[value.name] = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
    return found


def onnxruntime_complaint(folder):
    """None, or what is wrong. Models that it cannot run are no complaint."""
    import onnxruntime
    model = onnx.load(folder / "model.onnx")
    feed = tensors_of(folder / "test_data_set_0", "input", model.graph.input)
    expected = tensors_of(folder / "test_data_set_0", "output", model.graph.output)
    if feed is None or expected is None:
        return None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        outputs = session.run(list(expected), feed)
    except Exception as error:  # it has no name of its own for each
        return None if any(word in str(error) for word in CANNOT) else str(error)[:200]
    for (name, theirs), ours in zip(expected.items(), outputs):
        if ours.dtype.kind == "f" and not numpy.allclose(ours, theirs, rtol=1e-3, atol=1e-5, equal_nan=True):
            return f"output '{name}' differs"
        if ours.dtype.kind in "iub" and not numpy.array_equal(ours, theirs):
            return f"output '{name}' differs"
    return None


# ---- the whole -----------------------------------------------------------------------------------------

def passes_unconverted(case):
    return not list(failures_of_runs(case, 1)) and not checker_complaint(case / "model.onnx")


def problems_of(originals, opset, ask_onnxruntime):
    """Cases that are wrong after the conversion, and reasons of refusals."""
    wrong, refused = {}, collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in originals:
            target, reason = convert(case, opset, folder)
            if target is None:
                refused[reason] += 1
                if "node" not in reason:
                    wrong[case.name] = reason
                continue
            complaint = checker_complaint(target / "model.onnx")
            if complaint:
                wrong[case.name] = f"checker: {complaint}"
            complaint = onnxruntime_complaint(target) if ask_onnxruntime else None
            if complaint and not onnxruntime_complaint(case):
                wrong[case.name] = f"onnxruntime: {complaint}"
        n_converted = len(list(folder.iterdir()))
        for label, message in failures_of_runs(folder, n_converted) if n_converted else ():
            wrong[label.rsplit("/", 1)[-1].split(".", 1)[-1]] = message
    by_name = {case.name: case for case in originals}
    return {n: m for n, m in wrong.items() if n not in by_name or passes_unconverted(by_name[n])}, refused


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--opsets", default="")
    parser.add_argument("--refusals", action="store_true")
    parser.add_argument("--onnxruntime", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    versions = {case: opset_of(case) for case in cases(options.names, options.every)}
    wanted = [int(v) for v in options.opsets.split(",")] if options.opsets else sorted({*UP, *DOWN})
    n_wrong = 0
    for opset in wanted:
        chosen = [case for case, version in versions.items() if version and version != opset]
        wrong, refused = problems_of(chosen, opset, options.onnxruntime)
        n_wrong += len(wrong)
        print(f"opset {opset}: {len(chosen)} models, {sum(refused.values())} stay, {len(wrong)} wrong", flush=True)
        for name, message in sorted(wrong.items()):
            print(f"  {name}: {message}")
        for reason, n in refused.most_common() if options.refusals else ():
            print(f"  {n} x {reason}")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
