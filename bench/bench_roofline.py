"""How far each architecture is above the floor that the machine sets, and which nodes keep it there.

usage: bench/run roofline, or python bench/bench_roofline.py TEST_KERN [--runs N] [--json FILE] [NAME...]

The floor of a node is the longer of two times: its arithmetic at the peak of one core, and its bytes
(weights, inputs, outputs, each once) at the speed at which one core reads memory. Both speeds are
measured first, by `test_kern --peaks`. The floor of a model is the sum over its nodes, one thread,
batch 1. It is no floor for what stays in a cache from node to node, nor for convolutions by
Winograd's method, which need less than their arithmetic: such nodes can lie below it.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import meta
import models_to_measure
import results

WORST = 10


def json_of(command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def floor_seconds(node, peaks):
    arithmetic = 2 * node["macs"] / (peaks["gflops"] * 1e9)
    return max(arithmetic, node["bytes"] / (peaks["read_gbytes_per_second"] * 1e9))


def profile(hone, path, runs, folder):
    import numpy

    command = [hone, "run", path, "--threads", "1", "--repeat", str(runs), "--profile", "--json"]
    for number, (name, value) in enumerate(models_to_measure.random_inputs(path).items()):
        numpy.save(folder / f"{number}.npy", value)
        command += ["--input", f"{name}={folder / f'{number}.npy'}"]
    return json_of([str(part) for part in command])["profile_nodes"]


def measure(path, runs, peaks):
    with tempfile.TemporaryDirectory() as folder:
        nodes = profile(meta.BUILD / "hone", path, runs, Path(folder))
    for node in nodes:
        node["floor_seconds"] = floor_seconds(node, peaks)
    nodes.sort(key=lambda node: node["floor_seconds"] - node["seconds"])
    row = {"seconds": sum(node["seconds"] for node in nodes),
           "floor_seconds": sum(node["floor_seconds"] for node in nodes),
           "gflop": 2e-9 * sum(node["macs"] for node in nodes), "worst": nodes[:WORST]}
    print(f"{path.stem}: {row['seconds'] / row['floor_seconds']:.2f} x its floor", file=sys.stderr)
    return row


def model_row(row, peaks):
    share = row["gflop"] / row["seconds"] / peaks["gflops"]
    return (f"| {row['model']} | {row['gflop']:.2f} | {row['floor_seconds'] * 1e3:.2f} | {row['seconds'] * 1e3:.2f} "
            f"| {row['seconds'] / row['floor_seconds']:.2f} x | {100 * share:.0f} % |")


def node_row(node, peaks):
    share = 2e-9 * node["macs"] / node["seconds"] / peaks["gflops"] if node["seconds"] else 0
    return (f"| `{node['name']}` | {node['op']} | {node['floor_seconds'] * 1e3:.3f} | {node['seconds'] * 1e3:.3f} "
            f"| {100 * share:.0f} % | {node['bytes'] / 1e6:.2f} |")


def table(result):
    """The models; the nodes that lose most follow, model by model."""
    peaks, rows = result["peaks"], [row for row in result["rows"] if "failure" not in row]
    lines = [f"One core multiplies and adds at most {peaks['gflops']:.0f} GFLOP/s and reads "
             f"{peaks['read_gbytes_per_second']:.1f} GB/s, measured in the same run.", "",
             "| model | GFLOP | floor, ms | hone, ms | above | of the peak |", "|---|---:|---:|---:|---:|---:|"]
    lines += [model_row(row, peaks) for row in rows]
    for row in rows:
        lines += ["", f"## {row['model']}: the nodes that lose most", "",
                  "| node | operator | floor, ms | hone, ms | of the peak | MB |", "|---|---|---:|---:|---:|---:|"]
        lines += [node_row(node, peaks) for node in row["worst"]]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Compares hone with what the machine allows.")
    parser.add_argument("test_kern", type=Path)
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--runs", type=int, default=10)
    results.add_options(parser)
    options = parser.parse_args()

    recorder = results.Recorder("roofline", options)
    peaks = json_of([str(options.test_kern.resolve()), "--peaks"])
    recorder.extra = {"peaks": peaks}
    for path in models_to_measure.architectures(options.names):
        recorder.measure({"model": path.stem}, measure, path, options.runs, peaks)
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
