"""Times loading and saving, each against its yardstick in the same run: `hone info` against
onnx.load, `hone save` against cp. The two of a pair alternate; medians are compared.

usage: bench/run load, or python bench/bench_load.py [--runs N] [--json FILE] [MODEL...]

Without models: the digits example and the architecture bert_base. A saved model must equal the
original (`hone diff`).
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

import meta
import models_to_measure
import results

HONE = meta.BUILD / "hone"


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def anonymous_peak_bytes(*command):
    """Most resident memory that is no file mapping, by sampling /proc; 0 where there is none."""
    peak_kb = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        status = Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            for line in status.read_text().splitlines() if status.exists() else ():
                if line.startswith("RssAnon:"):
                    peak_kb = max(peak_kb, int(line.split()[1]))
    return peak_kb * 1024


def compare(n_runs, ours, yardstick):
    """Median seconds of both, alternating; the first round only warms the caches."""
    pairs = [(seconds(ours), seconds(yardstick)) for _ in range(n_runs + 1)][1:]
    return [statistics.median(column) for column in zip(*pairs)]


def measure(model, n_runs):
    row = {"bytes": model.stat().st_size}
    row["info_s"], row["onnx_load_s"] = compare(n_runs, lambda: run(HONE, "info", model), lambda: onnx.load(model))
    row["info_anonymous_bytes"] = anonymous_peak_bytes(HONE, "info", model)
    with tempfile.TemporaryDirectory(dir=meta.BUILD) as folder:
        saved, copied = Path(folder, "saved.onnx"), Path(folder, "copied.onnx")
        row["save_s"], row["cp_s"] = compare(
            n_runs, lambda: run(HONE, "save", model, "-o", saved), lambda: run("cp", model, copied))
        run(HONE, "diff", model, saved)
    return row


def table(result):
    lines = ["| model | what | hone ms | yardstick ms | hone is |", "|---|---|---:|---:|---:|"]
    for row in result["rows"]:
        if "failure" in row:
            lines.append(f"| {row['model']} | FAILED: {row['failure']} | | | |")
            continue
        name = f"{row['model']}, {row['bytes'] / 1e6:.2f} MB"
        for what, ours, theirs in (("`hone info` against `onnx.load`", "info_s", "onnx_load_s"),
                                   ("`hone save` against `cp`", "save_s", "cp_s")):
            lines.append(f"| {name} | {what} | {row[ours] * 1e3:.1f} | {row[theirs] * 1e3:.1f} "
                         f"| {row[theirs] / row[ours]:.2f} x |")
    beside = [f"{row['info_anonymous_bytes'] / 1e6:.1f} MB for {row['model']}" for row in result["rows"]
              if "failure" not in row]
    return "\n".join([*lines, "", f"Memory of `hone info` beside the mapped file: {', '.join(beside)}."])


def main():
    parser = argparse.ArgumentParser(description="Times hone info and hone save.")
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--runs", type=int, default=9)
    results.add_options(parser)
    options = parser.parse_args()
    paths = options.models or [meta.ROOT / "examples/digits/digits.onnx", *models_to_measure.architectures(["bert_base"])]
    options.models = [str(path.name) for path in paths]
    recorder = results.Recorder("load", options)
    for path in paths:
        recorder.measure({"model": path.stem}, measure, path, options.runs)
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
