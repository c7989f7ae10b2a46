"""Compares the four levels of graph optimization: nodes, time to create a session, time of a run.

usage: python compare_levels.py MODEL [--runs N] [--threads N] [--dim NAME=SIZE]...
"""

import argparse
import tempfile
import time

import numpy as np

import hone

LEVELS = {
    "none": hone.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": hone.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": hone.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": hone.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def options_for(level, arguments):
    options = hone.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = arguments.threads
    for name, size in (text.rsplit("=", 1) for text in arguments.dim):
        options.add_free_dimension_override_by_name(name, int(size))
    return options


def nodes_at(model, level, arguments):
    """Nodes of the optimized model that a session would save."""
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        options = options_for(level, arguments)
        options.optimized_model_filepath = file.name
        hone.InferenceSession(model, options)
        return hone.info(file.name).n_nodes


def milliseconds(action, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        action()
        times.append(1e3 * (time.perf_counter() - start))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--dim", action="append", default=[])
    arguments = parser.parse_args()

    print(f"{'level':10} {'nodes':>6} {'create ms':>10} {'median ms':>10} {'p95 ms':>10}")
    for name, level in LEVELS.items():
        options = options_for(level, arguments)
        create = min(milliseconds(lambda options=options: hone.InferenceSession(arguments.model, options), 3))
        session = hone.InferenceSession(arguments.model, options)
        feed = hone.random_inputs(session)
        milliseconds(lambda session=session, feed=feed: session.run(None, feed), max(3, arguments.runs // 10))
        times = milliseconds(lambda session=session, feed=feed: session.run(None, feed), arguments.runs)
        median, p95 = np.percentile(times, [50, 95])
        n_nodes = nodes_at(arguments.model, level, arguments)
        print(f"{name:10} {n_nodes:6} {create:10.2f} {median:10.3f} {p95:10.3f}")


if __name__ == "__main__":
    main()
