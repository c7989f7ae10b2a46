"""How long it takes from a file to a session, and to its first result, beside onnxruntime.

usage: bench/run create, or python bench/bench_create.py [--threads N] [--processes N] [--json FILE] [NAME...]

Each engine gets a process of its own per measurement, and the engines take turns; the file is in the
page cache. What counts is the time of creating the session and the time until the first run has
ended, importing the package left out; medians over the processes. hone is measured once more with a
folder that a session before has filled (docs/cache.md). First results are compared.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import engines
import means
import models_to_measure
import results

COMPARED = (engines.HONE, engines.ONNXRUNTIME)
WARM = "hone with a cache"
WHAT = {"create": "creates", "first": "first result"}


def child(engine, path, threads, cache, outputs):
    """In a process of its own: prints the seconds until the session was there and until it had run."""
    import importlib
    import time

    import numpy

    name = engines.package(engine)
    importlib.import_module(name)
    inputs = models_to_measure.random_inputs(Path(path))
    config = [("hone.cache_dir", cache)] if engine == WARM else []
    start = time.perf_counter()
    made = engines.Ort(name, path, int(threads), config=config)
    created = time.perf_counter()
    found = made.outputs(inputs)
    first = time.perf_counter()
    numpy.savez(outputs, **found)
    print(json.dumps([created - start, first - start]))


def time_of(engine, path, threads, folder):
    command = [sys.executable, __file__, "--child", engine, str(path), str(threads), str(folder / "cache"),
               str(folder / f"{engine}.npz")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{engine} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def judge(path, folder):
    """The differences of both ways to get a first result of hone."""
    import numpy
    import verdict

    found = {engine: dict(numpy.load(folder / f"{engine}.npz")) for engine in (*COMPARED, WARM)}
    oracle = engines.Ort(engines.ONNXRUNTIME, path, 1).session
    inputs = models_to_measure.random_inputs(path)
    return max((verdict.judge(path.stem, found[engine], found[engines.ONNXRUNTIME], oracle, inputs)
                for engine in (engines.HONE, WARM)), key=lambda judged: judged["difference"])


def measure(path, options):
    times = {engine: [] for engine in (*COMPARED, WARM)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cache").mkdir()
        time_of(WARM, path, options.threads, folder)  # fills it
        for _ in range(options.processes):
            for engine, found in times.items():
                found.append(time_of(engine, path, options.threads, folder))
        row = {"file_bytes": path.stat().st_size, "seconds": {}, **judge(path, folder)}
    for engine, found in times.items():
        row["seconds"][engine] = {what: statistics.median(column) for what, column in zip(WHAT, zip(*found))}
    row["ratio"] = {what: row["seconds"][engines.ONNXRUNTIME][what] / row["seconds"][engines.HONE][what] for what in WHAT}
    print(f"{path.stem}: {row['ratio']}", file=sys.stderr)
    return row


def table(result):
    lines = ["| model | file MB | hone creates, ms | onnxruntime | hone is | hone's first result, ms | onnxruntime | hone is "
             "| with a cache: creates | first result |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for row in result["rows"]:
        if "failure" in row:
            lines.append(f"| {row['model']} | FAILED: {row['failure']} |" + " |" * 8)
            continue
        cells = [row["model"], f"{row['file_bytes'] / 1e6:.1f}"]
        for what in WHAT:
            cells += [f"{row['seconds'][engine][what] * 1e3:.1f}" for engine in COMPARED] + [f"{row['ratio'][what]:.2f} x"]
        cells += [f"{row['seconds'][WARM][what] * 1e3:.1f}" for what in WHAT]
        lines.append("| " + " | ".join(cells) + " |")
    for what, text in WHAT.items():
        lines += ["", f"Geometric mean, {text}: {means.sentence(result['summary'][what])}."]
    return "\n".join(lines)


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description="Compares the time to make a session with onnxruntime.")
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=5)
    results.add_options(parser)
    options = parser.parse_args()
    engines.installed(COMPARED)
    recorder = results.Recorder("create", options)
    for path in models_to_measure.architectures(options.names):
        recorder.measure({"model": path.stem}, measure, path, options)
    good = [row for row in recorder.rows if "failure" not in row]
    recorder.summary = {what: means.of({row["model"]: row["ratio"][what] for row in good}) for what in WHAT}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
