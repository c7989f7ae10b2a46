#!/usr/bin/env python3
"""Every model at hand loads and passes `hone check`, and the exit status says so.

    check_models.py [GROUP...]     groups of models.py; all when none is given

The verdict of `onnx.checker` with full check is asked as well: what it rejects although it is a
valid model is listed below with the reason, so that no agreement is taken for granted. The command
is found in HONE_BIN.
"""
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

import models

HONE = os.environ.get("HONE_BIN", "hone")
BATCH = 200  # models per call of hone
ONNX_CHECK_BYTES = 1 << 28  # onnx.checker copies a model several times: larger ones are hone's alone

# Models that onnx.checker rejects, and why hone does not.
REJECTED_BY_ONNX = {
    "test_mvn/model.onnx": "the operator's own definition as a function, which onnx expands, does not "
                           "pass onnx's check in this operator set version",
}


def hone_check(paths):
    """Exit status and one report per model."""
    run = subprocess.run([HONE, "check", "--json", *map(str, paths)], stdout=subprocess.PIPE, check=False)
    return run.returncode, json.loads(run.stdout)


def onnx_complaint(path):
    """First line of what onnx.checker says against the model; None when it accepts it."""
    if path.stat().st_size > ONNX_CHECK_BYTES:
        return None
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except Exception as error:  # it throws several unrelated kinds
        return str(error).strip().splitlines()[0]
    return None


def is_listed(path):
    return any(fnmatch.fnmatch(path.parent.name + "/" + path.name, p) for p in REJECTED_BY_ONNX)


def errors_of(report):
    return [p for p in report["problems"] if p["severity"] == "error"]


def check_batch(paths):
    """What is wrong with this batch, as lines."""
    status, reports = hone_check(paths)
    wrong = []
    for path, report in zip(paths, reports, strict=True):
        for error in errors_of(report):
            wrong.append(f"{path}: hone: {error['node']} {error['op']}: {error['message']}")
        if report["model"] != str(path) or report["valid"] == bool(errors_of(report)):
            wrong.append(f"{path}: the report contradicts itself")
        complaint = onnx_complaint(path)
        if bool(complaint) != is_listed(path):
            wrong.append(f"{path}: onnx.checker: {complaint or 'accepts what is listed as rejected'}")
    if (status == 0) != all(report["valid"] for report in reports) or status not in (0, 1):
        wrong.append(f"exit status {status} for {len(paths)} models from {paths[0]} on")
    return wrong


def check_exit_status(valid, scratch):
    """One bad model among good ones, files that are no models, and no file at all."""
    broken = scratch / "broken.onnx"
    model = onnx.load(valid)
    model.graph.node[0].op_type = "NoSuchOperator"
    onnx.save(model, broken)
    (scratch / "empty.onnx").touch()
    wanted = [([valid], 0), ([broken], 1), ([valid, broken, valid], 1), ([scratch / "absent.onnx"], 1),
              ([scratch / "empty.onnx"], 1), ([scratch], 1), ([], 2)]
    wrong = []
    for paths, status in wanted:
        for options in [["--json"], [], ["--quiet"]]:
            run = subprocess.run([HONE, "check", *options, *map(str, paths)], capture_output=True, check=False)
            if run.returncode != status:
                wrong.append(f"hone check {' '.join(map(str, options + paths))}: exit status "
                             f"{run.returncode} instead of {status}")
    return wrong


def main():
    if models.missing():
        print(models.missing())
    paths = models.find(sys.argv[1:] or models.GROUPS)
    wrong = []
    for i in range(0, len(paths), BATCH):
        wrong += check_batch(paths[i:i + BATCH])
    with tempfile.TemporaryDirectory() as folder:
        wrong += check_exit_status(paths[0], pathlib.Path(folder))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(paths)} models checked, {len(wrong)} complaints (onnx {onnx.__version__})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
