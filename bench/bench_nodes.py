"""What a node costs when it has next to nothing to compute, beside onnxruntime: bench/chains.py has the models.

usage: bench/run nodes, or python bench/bench_nodes.py [--rounds N] [--seconds S] [--json FILE] [NAME...]

One thread, engines in turns. At the level `none` both engines run every node; that is checked in a profile of each, and
results are compared. At the level `all`, the default, an engine may run fewer: the profile says how many, and the time
is still divided by the nodes of the model.
"""

import argparse
import collections
import json
import statistics
import sys
import tempfile
from pathlib import Path

import chains
import engines
import means
import results
import turns
import verdict

PAUSE_SECONDS = 0.005  # with one thread there are no workers
ENGINES = (engines.HONE, engines.ONNXRUNTIME)


def executed(name, path, level, inputs, folder):
    """How many nodes of each operator one run executes, as the engine's profile says."""
    engine = engines.Ort(name, path, 1, level, profile=folder / f"{name} {level}")
    engine.outputs(inputs)
    events = json.loads(Path(engine.session.end_profiling()).read_text())
    return dict(collections.Counter(event["args"]["op_name"] for event in events
                                    if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")))


def check_executed(name, level, found, expected):
    if level == "none" and found != expected:
        raise verdict.Wrong(f"{name} ran {found} at level none, and not {expected}")


def measure(name, level, options):
    model, inputs, expected = chains.make(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.onnx"
        path.write_bytes(model.SerializeToString())
        steps = {engine: executed(engine, path, level, inputs, Path(folder)) for engine in ENGINES}
        for engine, found in steps.items():
            check_executed(engine, level, found, expected)
        made = {engine: engines.Ort(engine, path, 1, level) for engine in ENGINES}
        outputs = {engine: one.outputs(inputs) for engine, one in made.items()}
        judged = verdict.judge(name, *outputs.values())
        times = turns.take({engine: one.runner(inputs) for engine, one in made.items()}, options.rounds, options.seconds,
                           PAUSE_SECONDS)
    nodes = sum(count for op, count in expected.items() if op != chains.LOOP)
    return {"nodes": nodes, "executed": {engine: sum(found.values()) for engine, found in steps.items()},
            "nanoseconds_per_node": {engine: statistics.median(found) * 1e9 / nodes for engine, found in times.items()},
            **judged, **turns.summary(times)}


def table(result):
    lines = ["| chain | level | nodes | run by hone | by onnxruntime | hone, ns per node | onnxruntime, ns per node | hone is |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for row in result["rows"]:
        if "failure" in row:
            lines.append(f"| {row['model']} | {row['level']} | FAILED: {row['failure']} | | | | | |")
            continue
        ran = [str(row["executed"][engine]) for engine in ENGINES]
        cost = [f"{row['nanoseconds_per_node'][engine]:.0f}" for engine in ENGINES]
        lines.append(f"| {row['model']} | {row['level']} | {row['nodes']} | " + " | ".join(ran + cost)
                     + f" | {row['ratio'][engines.ONNXRUNTIME]:.2f} x ± {row['spread'][engines.ONNXRUNTIME]:.2f} |")
    for level, found in result["summary"].items():
        lines += ["", f"Level {level}, geometric mean: {means.sentence(found)}."]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Measures what a tiny node costs.")
    parser.add_argument("names", nargs="*", help="parts of names of chains")
    parser.add_argument("--levels", nargs="+", default=["none", "all"], choices=list(engines.LEVELS))
    turns.add_options(parser, rounds=15, seconds=0.1)
    results.add_options(parser)
    options = parser.parse_args()
    engines.installed(ENGINES)
    recorder = results.Recorder("nodes", options)
    for name in (*chains.CHAINS, chains.LOOP):
        if not options.names or any(part in name for part in options.names):
            for level in options.levels:
                recorder.measure({"model": name, "level": level}, measure, name, level, options)
                print(f"{name}, {level}: done", file=sys.stderr)
    ratios = means.per_key(recorder.rows, "level", lambda row: row["ratio"][engines.ONNXRUNTIME])
    recorder.summary = {level: means.of(found) for level, found in ratios.items()}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
