"""How long it takes from a file to a session, and to its first result, beside onnxruntime.

usage: python bench/bench_create.py [--threads N] [--processes N] [--json FILE] [NAME...]

Each engine gets a process of its own per measurement, and the engines take turns; the file is in the
page cache. What counts is the time of creating the session and the time until the first run has
ended, importing the package left out; medians over the processes. hone is measured once more with a
folder that a session before has filled (docs/cache.md).
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bench_common

ENGINES = ("hone", "onnxruntime")
WARM = "warm"


def warm_engine(path, threads, inputs, folder):
    import hone

    options = hone.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("hone.cache_dir", folder)
    session = hone.InferenceSession(path, options)
    return lambda: session.run(None, inputs)


def child(engine, path, threads, folder):
    """In a process of its own: prints the seconds until the session was there and until it had run."""
    import importlib
    import time

    importlib.import_module("hone" if engine == WARM else engine)
    inputs = bench_common.random_inputs(Path(path))
    start = time.perf_counter()
    if engine == WARM:
        run = warm_engine(path, int(threads), inputs, folder)
    else:
        run = bench_common.ENGINES[engine](path, int(threads), inputs)
    created = time.perf_counter()
    run()
    print(json.dumps([created - start, time.perf_counter() - start]))


def measure(path, options):
    times = {engine: [] for engine in ENGINES + (WARM,)}

    def time_of(engine, folder):
        command = [sys.executable, __file__, "--child", engine, str(path), str(options.threads), folder]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    with tempfile.TemporaryDirectory() as folder:
        time_of(WARM, folder)  # fills it
        for _ in range(options.processes):
            for engine, found in times.items():
                found.append(time_of(engine, folder))
    row = {"model": path.stem, "file_bytes": path.stat().st_size, "seconds": {}}
    for engine, found in times.items():
        created, first = zip(*found)
        row["seconds"][engine] = {"create": statistics.median(created), "first": statistics.median(first)}
    return row


def share(row, what):
    return row["seconds"]["hone"][what] / row["seconds"]["onnxruntime"][what]


def print_table(rows):
    print("| model | file MB | hone creates, ms | onnxruntime | ratio | hone's first result, ms | onnxruntime | ratio "
          "| with a cache: creates | first result |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row in rows:
        cells = [row["model"], f"{row['file_bytes'] / 1e6:.1f}"]
        for what in ("create", "first"):
            cells += [f"{row['seconds'][engine][what] * 1e3:.1f}" for engine in ENGINES] + [f"{share(row, what):.2f}"]
        cells += [f"{row['seconds'][WARM][what] * 1e3:.1f}" for what in ("create", "first")]
        print("| " + " | ".join(cells) + " |")
    for what in ("create", "first"):
        mean = math.exp(statistics.fmean(math.log(share(row, what)) for row in rows))
        print(f"\ngeometric mean, {what}: {mean:.2f}")


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description="Compares the time to make a session with onnxruntime.")
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--processes", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    rows = []
    for path in bench_common.architectures(options.names):
        rows.append(measure(path, options))
        print(f"{path.stem}: {share(rows[-1], 'create'):.2f}, {share(rows[-1], 'first'):.2f}", file=sys.stderr)
    print_table(rows)
    if options.json:
        options.json.write_text(json.dumps({"machine": bench_common.machine(), "rows": rows}, indent=2) + "\n")
    return None


if __name__ == "__main__":
    main()
