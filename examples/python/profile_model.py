"""Profiles a model into a data frame, and tells which operators take the time.

usage: python profile_model.py MODEL [--runs N]

Needs pandas. The file of the profile opens in trace viewers, too.
"""

import argparse
import json
import os
import tempfile

import pandas

import hone


def profile(model, n_runs):
    """One row per node and run."""
    with tempfile.TemporaryDirectory() as folder:
        options = hone.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "profile")
        session = hone.InferenceSession(model, options)
        feed = hone.random_inputs(session)
        for _ in range(n_runs):
            session.run(None, feed)
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = [event for event in events if event["cat"] == "Node"]
    frame = pandas.DataFrame([event["args"] for event in nodes])
    frame["node"] = [event["name"][: -len("_kernel_time")] for event in nodes]
    frame["us"] = [event["dur"] for event in nodes]
    return frame


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()

    frame = profile(arguments.model, arguments.runs)
    by_op = frame.groupby("op_name")["us"].agg(["count", "sum"]).sort_values("sum", ascending=False)
    by_op["share"] = by_op["sum"] / max(1, by_op["sum"].sum())
    by_op[["count", "sum"]] = by_op[["count", "sum"]] / arguments.runs
    print(by_op.rename(columns={"count": "nodes", "sum": "us per run"}).to_string(float_format="{:.2f}".format))
    print()
    print(frame.groupby(["node", "op_name"])["us"].mean().nlargest(10).to_string(float_format="{:.1f}".format))


if __name__ == "__main__":
    main()
