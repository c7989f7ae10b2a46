"""How fast hone runs published models that take next to no time, where what a run costs beside arithmetic counts.

usage: bench/run small, or python bench/bench_small.py [--below MS] [--rounds N] [--seconds S] [--json FILE] [NAME...]

The models are those of the group `real` (tests/conform/models.py) that onnxruntime runs in less than 2 ms with one
thread; how long it takes for the others stands in the result. One thread, batch 1; otherwise as bench_speed.py.
"""

import argparse
import sys

import engines
import models_to_measure
import results
import speed_rows
import turns

PROBE_SECONDS = 0.3


def choose(paths, below_ms):
    """[(path, inputs)] of the models that are fast enough, and {name: milliseconds} of the others."""
    chosen, others = [], {}
    for path in paths:
        oracle = engines.Ort(engines.ONNXRUNTIME, path, 1)
        inputs = models_to_measure.published_inputs(path, oracle.session)
        milliseconds = 1e3 * turns.round_median(oracle.runner(inputs), PROBE_SECONDS, 0)
        if milliseconds < below_ms:
            chosen.append((path, inputs))
        else:
            others[path.stem] = milliseconds
    return chosen, others


def table(result):
    left_out = ", ".join(f"{name} {found:.1f}" for name, found in result["left_out"].items())
    return speed_rows.table(result) + (f"\nLeft out, with onnxruntime's milliseconds: {left_out}." if left_out else "")


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of models that take next to no time.")
    parser.add_argument("names", nargs="*", help="parts of names of models")
    parser.add_argument("--below", type=float, default=2.0, metavar="MS", help="of onnxruntime with one thread")
    turns.add_options(parser, rounds=15, seconds=0.1)
    results.add_options(parser)
    options = parser.parse_args()
    names = engines.installed()
    recorder = results.Recorder("small", options)
    chosen, left_out = choose(models_to_measure.published(options.names), options.below)
    for path, inputs in chosen:
        recorder.measure({"model": path.stem, "threads": 1}, speed_rows.measure, path, inputs, names, 1, options)
    recorder.summary = speed_rows.summary(recorder.rows, names)
    recorder.extra = {"left_out": left_out}
    return recorder.finish(table)


if __name__ == "__main__":
    sys.exit(main())
