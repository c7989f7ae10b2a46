#!/usr/bin/env python3
"""Runs the ONNX backend tests: every model on its data sets, outputs compared with the suite's tolerances.

usage: backend.py [--hone PATH] [--record] [--reads FORMAT]... [ARGUMENT...]

What is known to fail, and why, stands in backend_manifest.txt; lines that say that a FORMAT is not read do not
count. ARGUMENTs go to `hone run --test`.

backend_counts.csv tells for every operator how many cases have it and how many of those pass; docs/ops.md
shows it. It must be current; --record writes it. Cases that the onnx package made here instead of the
stored ones are others and do not count.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

import models

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = HERE / "backend_counts.csv"
OPTIONAL_FORMATS = {"TIFF", "WebP"}  # of which the command may have been built without


def write_manifest(formats, path):
    """The known failures of a command that has libraries for these formats of images."""
    ends = tuple(f": {name} is not read" for name in formats)
    lines = (HERE / "backend_manifest.txt").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not ends or not line.rstrip().endswith(ends)))


def run_cases(hone, formats, arguments):
    with tempfile.TemporaryDirectory() as folder:
        manifest = pathlib.Path(folder) / "manifest.txt"
        write_manifest(formats, manifest)
        command = [hone, "run", "--test", "--json", "--manifest", manifest, *arguments, models.backend_folder()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(done.stderr.strip() or f"{hone} ended with status {done.returncode}")
    return json.loads(done.stdout), done.returncode


def report(cases):
    for case in cases:
        if case["verdict"] not in ("passed", "excused"):
            print(f"{case['name']}: {case['verdict']}: {case.get('message') or case.get('excuse')}")
    verdicts = collections.Counter(case["verdict"] for case in cases)
    print(f"{len(cases)} cases: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(verdicts.items())))


# ---- counts by operator --------------------------------------------------------------------------------

def operators_in(nodes):
    for node in nodes:
        yield node.domain or "ai.onnx", node.op_type
        for attribute in node.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                yield from operators_in(graph.node)


def operators_of(path):
    model = onnx.load(path, load_external_data=False)
    names = set(operators_in(model.graph.node))
    for function in model.functions:
        names |= set(operators_in(function.node))
    return names - {(function.domain, function.name) for function in model.functions}


def counts_of(cases):
    passed, total = collections.Counter(), collections.Counter()
    for case in cases:
        for name in operators_of(case["model"]):
            total[name] += 1
            passed[name] += case["verdict"] == "passed"
    rows = [f"{domain},{operator},{passed[domain, operator]},{n}\n" for (domain, operator), n in sorted(total.items())]
    return "domain,operator,passed,cases\n" + "".join(rows)


def counts_are_current(cases, record):
    text = counts_of(cases)
    if record:
        COUNTS.write_text(text, encoding="ascii")
    if COUNTS.exists() and COUNTS.read_text(encoding="ascii") == text:
        return True
    print(f"{COUNTS.name} is stale: run backend.py --record, then tools/gen_docs")
    return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=os.environ.get("HONE_BIN", models.ROOT / "build/dev/hone"))
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--reads", action="append", default=[])
    options, arguments = parser.parse_known_args()
    cases, status = run_cases(options.hone, options.reads, arguments)
    report(cases)
    missing = OPTIONAL_FORMATS - set(options.reads)
    if missing:
        print(f"skipped: the counts, which include images in {', '.join(sorted(missing))}")
    elif status == 0 and models.BACKEND_ARCHIVE.exists() and not arguments:
        status = 0 if counts_are_current(cases, options.record) else 1
    sys.exit(status)


if __name__ == "__main__":
    main()
