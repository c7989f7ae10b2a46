"""Peak resident memory of hone and of onnxruntime, in processes of the same shape: load the model,
run it 20 times on the same input, end.

usage: python bench/bench_memory.py HONE [--runs N] [--processes N] [--threads N] [--json FILE] [NAME...]

Without names: every architecture (see tests/conform/models.py), at batch 1. onnxruntime keeps its
default options, all optimizations among them; of several processes the lowest peak counts, for its
peaks vary. It is called from Python, whose own memory before the
package is imported is taken off its peak; of hone the whole process counts. Reads /proc, so Linux
only.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_common

POLL_SECONDS = 0.002

# A child process: MODEL RUNS THREADS INPUTS.npz; prints what onnxruntime adds to the interpreter.
ORT_CHILD = """
import re, sys
import numpy
def peak_kb(field):
    return int(re.search(field + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1))
inputs = dict(numpy.load(sys.argv[4]))
before = peak_kb("VmRSS")
import onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
options.intra_op_num_threads = int(sys.argv[3])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
for _ in range(int(sys.argv[2])):
    session.run(None, inputs)
print(peak_kb("VmHWM") - before)
"""


def peak_of_process(command):
    """VmHWM in bytes. It only grows, so the last reading before the end is the peak but for the
    memory of the last moments."""
    peak_kb = 0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{process.pid}/status").read_text())
            peak_kb = int(found.group(1)) if found else peak_kb
            time.sleep(POLL_SECONDS)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return peak_kb * 1024


def measure(hone, path, options, folder):
    import numpy

    inputs = bench_common.random_inputs(path)
    numpy.savez(folder / "inputs.npz", **inputs)
    command = [hone, "run", path, "--repeat", str(options.runs - 1), "--threads", str(options.threads)]
    for number, (name, value) in enumerate(inputs.items()):
        numpy.save(folder / f"{number}.npy", value)
        command += ["--input", f"{name}={folder / f'{number}.npy'}"]
    child = [sys.executable, "-c", ORT_CHILD, path, str(options.runs), str(options.threads), folder / "inputs.npz"]
    theirs = [int(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
              for _ in range(options.processes)]
    return {
        "model": path.stem,
        "file_bytes": path.stat().st_size,
        "input": " ".join("x".join(map(str, value.shape)) for value in inputs.values()),
        "hone_bytes": min(peak_of_process(command) for _ in range(options.processes)),
        "onnxruntime_bytes": min(theirs) * 1024,
    }


def print_table(rows):
    print("| model | input | file MB | hone MB | onnxruntime MB | ratio |")
    print("|---|---|---:|---:|---:|---:|")
    for row in rows:
        ours, theirs = row["hone_bytes"] / 1e6, row["onnxruntime_bytes"] / 1e6
        print(f"| {row['model']} | {row['input']} | {row['file_bytes'] / 1e6:.1f} | {ours:.1f} | {theirs:.1f} "
              f"| {ours / theirs:.2f} |")


def main():
    parser = argparse.ArgumentParser(description="Compares peak resident memory with onnxruntime.")
    parser.add_argument("hone", type=Path)
    parser.add_argument("names", nargs="*", help="parts of file names of architectures")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()

    rows = []
    for path in bench_common.architectures(options.names):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measure(options.hone.resolve(), path, options, Path(folder)))
        print(f"{path.stem}: {rows[-1]['hone_bytes'] / rows[-1]['onnxruntime_bytes']:.2f}", file=sys.stderr)
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
