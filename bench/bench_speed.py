"""How fast hone runs models, beside onnxruntime and (where it is installed) OpenVINO.

usage: bench/run speed, or python bench/bench_speed.py [--models FOLDER] [--threads N...] [--size NAME=N...]
                           [--rounds N] [--seconds S] [--json FILE] [NAME...]

Without names: every architecture (see tests/conform/models.py) or file in the folder, at batch 1
and sequence 128. The engines take turns in one process: each round gives every engine a pause, one
run that does not count and then runs for S seconds, at least three. A round's time is its median;
the ratio of a model is the median of the rounds' ratios, the spread half the distance of their
quartiles. All engines have the same threads and their default options, onnxruntime all its
optimizations; OpenVINO has the latency hint, once in float32 and once in its default precision.
Results that are not onnxruntime's (bench/verdict.py) make the bench fail.
"""

import argparse
import sys
from pathlib import Path

import engines
import models_to_measure
import results
import speed_rows
import turns


def main():
    parser = argparse.ArgumentParser(description="Compares the speed of hone with other engines.")
    parser.add_argument("names", nargs="*", help="parts of names of architectures")
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="its .onnx files instead of the architectures")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--size", type=models_to_measure.size_argument, nargs="+", default=[], metavar="NAME=N",
                        help="of a free dimension")
    turns.add_options(parser, rounds=9, seconds=0.2)
    results.add_options(parser)
    options = parser.parse_args()

    names = engines.installed()
    recorder = results.Recorder("speed", options)
    for path in models_to_measure.architectures(options.names, options.models):
        inputs = models_to_measure.random_inputs(path, dict(options.size))
        for threads in options.threads:
            head = {"model": path.stem, "threads": threads}
            recorder.measure(head, speed_rows.measure, path, inputs, names, threads, options)
    recorder.summary = speed_rows.summary(recorder.rows, names)
    return recorder.finish(speed_rows.table)


if __name__ == "__main__":
    sys.exit(main())
