"""Peak resident memory of hone, onnxruntime and OpenVINO, all read in the same way.

usage: bench/run memory, or python bench/bench_memory.py [--runs N] [--processes N] [--threads N] [--json FILE] [NAME...]

Each engine gets a process of its own: Python loads numpy and the inputs, the peak is reset and the memory of that moment
noted; then the engine's package is imported, loads the model and runs it. What counts is the peak (VmHWM) less the
memory noted, so an engine pays for its library, its session and its results. Mapped files count like other memory. All
engines keep their default options; of several processes the lowest peak counts, for peaks vary. Results are
compared. Reads /proc, so Linux only.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import engines
import means
import models_to_measure
import results

RESET_PEAK = "5"  # for /proc/self/clear_refs


def status_bytes(field):
    return 1024 * int(re.search(field + r":\s+(\d+)", Path("/proc/self/status").read_text()).group(1))


def child(engine, path, runs, threads, inputs, outputs):
    """In a process of its own: prints the bytes that the engine added at its peak."""
    import numpy

    feed = dict(numpy.load(inputs))
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = status_bytes("VmRSS")
    made = engines.make(engine, path, int(threads), feed)
    run = made.runner(feed)
    for _ in range(int(runs)):
        found = run()
    peak = status_bytes("VmHWM")
    if engine in (engines.HONE, engines.ONNXRUNTIME):
        numpy.savez(outputs, **dict(zip(made.names, found)))
    print(peak - before)


def peak_of(engine, path, options, folder):
    command = [sys.executable, __file__, "--child", engine, path, str(options.runs), str(options.threads),
               folder / "inputs.npz", folder / f"{engine}.npz"]
    done = subprocess.run([str(part) for part in command], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return int(done.stdout)


def peaks_of(names, path, options, folder):
    """{engine: lowest peak}; OpenVINO may be unable to run a model."""
    found = {}
    for engine in names:
        try:
            found[engine] = min(peak_of(engine, path, options, folder) for _ in range(options.processes))
        except RuntimeError:
            if engine in (engines.HONE, engines.ONNXRUNTIME):
                raise
    return found


def measure(path, names, options):
    import numpy
    import verdict

    inputs = models_to_measure.random_inputs(path)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        numpy.savez(folder / "inputs.npz", **inputs)
        peaks = peaks_of(names, path, options, folder)
        outputs = [dict(numpy.load(folder / f"{engine}.npz")) for engine in (engines.HONE, engines.ONNXRUNTIME)]
    oracle = engines.Ort(engines.ONNXRUNTIME, path, 1).session
    row = {"file_bytes": path.stat().st_size, "input": models_to_measure.shapes_text(inputs), "peak_bytes": peaks,
           "share": {engine: peaks[engines.HONE] / peak for engine, peak in peaks.items() if engine != engines.HONE},
           **verdict.judge(path.stem, *outputs, oracle, inputs)}
    print(f"{path.stem}: {row['share']}", file=sys.stderr)
    return row


def table(result):
    others = list(result["summary"])
    lines = ["| model | input | file MB | hone MB | " + " | ".join(f"{name} MB | hone's share" for name in others) + " |",
             "|---|---|---:|---:|" + "---:|---:|" * len(others)]
    for row in result["rows"]:
        if "failure" in row:
            lines.append(f"| {row['model']} | FAILED: {row['failure']} | | |" + " | |" * len(others))
            continue
        cells = [row["model"], row["input"], f"{row['file_bytes'] / 1e6:.1f}", f"{row['peak_bytes'][engines.HONE] / 1e6:.1f}"]
        for name in others:
            cells += [f"{row['peak_bytes'][name] / 1e6:.1f}", f"{row['share'][name]:.2f}"] if name in row["share"] else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    for name, found in result["summary"].items():
        if found:
            lines += ["", f"Geometric mean of the shares of {name}'s memory: {means.shares(found)}."]
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description="Compares peak resident memory with other engines.")
    parser.add_argument("names", nargs="*", help="parts of file names of architectures")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    results.add_options(parser)
    options = parser.parse_args()
    names = engines.installed()
    recorder = results.Recorder("memory", options)
    for path in models_to_measure.architectures(options.names):
        recorder.measure({"model": path.stem}, measure, path, names, options)
    good = [row for row in recorder.rows if "failure" not in row]
    recorder.summary = {name: means.of({row["model"]: row["share"][name] for row in good if name in row["share"]})
                        for name in names if name != engines.HONE}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
