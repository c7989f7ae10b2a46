"""How fast hone runs models, beside onnxruntime and (where it is installed) OpenVINO.

usage: python bench/bench_speed.py [--models FOLDER] [--threads N...] [--size NAME=N...]
                                   [--rounds N] [--seconds S] [--json FILE] [NAME...]

Without names: every architecture (see tests/conform/models.py) or file in the folder, at batch 1
and sequence 128. The engines take turns in one process: each round gives every engine a pause, one
run that does not count and then runs for S seconds, at least three. A round's time is its median;
the ratio of a model is the median of the rounds' ratios, the spread half the distance of their
quartiles. All engines have the same threads and their default options, onnxruntime all its
optimizations and OpenVINO the latency hint in float32.
"""

import argparse
import json
import math
import statistics
import sys
import time
from pathlib import Path

import bench_common

PAUSE_SECONDS = 0.08  # longer than idle workers of any engine keep a processor busy
FEWEST_RUNS = 3
OTHER_PICKS = 1e-3  # results that differ by more are lists of detections: random weights give many equal scores


def round_median(run, seconds):
    time.sleep(PAUSE_SECONDS)
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < FEWEST_RUNS or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def difference(ours, theirs):
    """The largest of all outputs, in parts of the largest number in the same output. Lists that data make long or short
    (detections) are left out."""
    import numpy

    pairs = [(a, b) for a, b in zip(ours, theirs)
             if b.size and a.shape == b.shape and numpy.issubdtype(b.dtype, numpy.floating)]
    return max((float(numpy.abs(a - b).max() / max(numpy.abs(b).max(), 1e-30)) for a, b in pairs), default=0.0)


def measure(path, engines, threads, sizes, options):
    inputs = bench_common.random_inputs(path, sizes)
    runs, results = {}, {}
    for name in engines:
        try:
            runs[name] = bench_common.ENGINES[name](path, threads, inputs)
            results[name] = runs[name]()
        except Exception as error:
            if name == "hone":
                raise
            print(f"{path.stem}: {name} cannot run it: {str(error).strip().splitlines()[0]}", file=sys.stderr)
    engines = [name for name in engines if name in results]
    rounds = {name: [] for name in engines}
    for number in range(options.rounds):
        turn = number % len(engines)
        for name in engines[turn:] + engines[:turn]:
            rounds[name].append(round_median(runs[name], options.seconds))
    row = {"model": path.stem, "threads": threads,
           "input": " ".join("x".join(map(str, value.shape)) for value in inputs.values()),
           "milliseconds": {name: statistics.median(times) * 1e3 for name, times in rounds.items()},
           "ratio": {}, "spread": {}}
    if "onnxruntime" in engines:
        row["difference"] = difference(results["hone"], results["onnxruntime"])
    for name in engines:
        if name != "hone":
            ratios = [theirs / ours for theirs, ours in zip(rounds[name], rounds["hone"])]
            low, _, high = statistics.quantiles(ratios, n=4)
            row["ratio"][name] = statistics.median(ratios)
            row["spread"][name] = (high - low) / 2
    return row


def print_table(rows, engines):
    others = [name for name in engines if name != "hone"]
    heads = ["model", "threads", "hone ms"] + [f"{name} ms | hone is" for name in others]
    print("| " + " | ".join(heads) + " |")
    print("|---|---:|---:|" + "---:|---:|" * len(others))
    for row in rows:
        cells = [row["model"], str(row["threads"]), f"{row['milliseconds']['hone']:.2f}"]
        for name in others:
            cells += [f"{row['milliseconds'][name]:.2f}",
                      f"{row['ratio'][name]:.2f} x ± {row['spread'][name]:.2f}"] if name in row["ratio"] else ["", ""]
        print("| " + " | ".join(cells) + " |")
    for threads in sorted({row["threads"] for row in rows}):
        means = []
        for name in others:
            ratios = [row["ratio"][name] for row in rows if row["threads"] == threads and name in row["ratio"]]
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            ahead = sum(ratio >= 1 for ratio in ratios)
            means.append(f"{mean:.2f} x {name} (at least as fast on {ahead} of {len(ratios)})")
        print(f"\n{threads} thread{'s' if threads > 1 else ''}, geometric mean: " + ", ".join(means))
    if "onnxruntime" in engines:
        compared = [row for row in rows if "difference" in row]
        others = sorted({row["model"] for row in compared if row["difference"] > OTHER_PICKS})
        worst = max((row for row in compared if row["model"] not in others), key=lambda row: row["difference"])
        print(f"\nResults differ from onnxruntime's by at most {worst['difference']:.1e} of the largest number ({worst['model']})"
              + (f"; among equal scores others are picked in {', '.join(others)}." if others else "."))


def size_argument(text):
    name, _, size = text.partition("=")
    return name, int(size)


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of hone with other engines.")
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="its .onnx files instead of the architectures")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--size", type=size_argument, nargs="+", default=[], metavar="NAME=N",
                        help="of a free dimension")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.3, help="of one engine in one round")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()

    engines = bench_common.installed_engines()
    if "hone" not in engines or len(engines) < 2:
        raise SystemExit("install hone (pip install .) and onnxruntime first, or run `make bench`")
    rows = []
    for path in bench_common.architectures(options.names, options.models):
        for threads in options.threads:
            row = measure(path, engines, threads, dict(options.size), options)
            rows.append(row)
            print(f"{path.stem}, {threads}: " + ", ".join(
                f"{ratio:.2f} x {name}" for name, ratio in row["ratio"].items()), file=sys.stderr)
    print_table(rows, engines)
    if options.json:
        result = {"machine": bench_common.machine(), "sizes": bench_common.SIZES | dict(options.size),
                  "rounds": options.rounds, "seconds": options.seconds, "rows": rows}
        options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
