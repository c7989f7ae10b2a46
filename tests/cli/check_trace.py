#!/usr/bin/env python3
"""Checks what `hone profile` writes.

usage: check_trace.py TRACE.json       the rules of the Trace Event Format that viewers rely on, and the fields of
                                       onnxruntime's profiles
       check_trace.py --findings FILE  the kinds of the findings in the output of --json, sorted
"""

import json
import sys
from collections import Counter

NODE_FIELDS = {"op_name", "provider", "node_index", "activation_size", "parameter_size", "output_size",
               "input_type_shape", "output_type_shape"}


def check_event(event):
    assert isinstance(event["name"], str) and isinstance(event["cat"], str), event
    assert event["ph"] in ("X", "C", "M"), event
    assert all(isinstance(event[key], int) for key in ("pid", "tid")), event
    assert isinstance(event["ts"], (int, float)) and event["ts"] >= 0, event
    if event["ph"] == "X":
        assert isinstance(event["dur"], (int, float)) and event["dur"] >= 0, event
    if event["ph"] == "C":
        assert event["args"] and all(isinstance(v, (int, float)) for v in event["args"].values()), event
    if event["cat"] == "Node":
        assert event["name"].endswith("_kernel_time") and NODE_FIELDS <= event["args"].keys(), event
        assert all(isinstance(event["args"][key], str) for key in NODE_FIELDS if key.endswith("_size")), event


def check_nesting(events):
    """Events of one thread lie beside or within each other: viewers draw them as stacks."""
    for thread in {e["tid"] for e in events}:
        ends = []
        mine = [e for e in events if e["ph"] == "X" and e["tid"] == thread]
        for event in sorted(mine, key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"]
            while ends and ends[-1] <= event["ts"] + 0.002:  # microseconds, with three digits
                ends.pop()
            assert not ends or end <= ends[-1] + 0.002, event
            ends.append(end)


def check_trace(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    for event in events:
        check_event(event)
    check_nesting(events)
    names = {e["name"] for e in events if e["cat"] == "Session"}
    assert {"model_loading_uri", "session_initialization", "model_run"} <= names, names
    count = Counter(e["cat"] for e in events)
    assert count["Node"] and count["Memory"], count
    print("valid:", ", ".join(sorted(k for k in count if k != "Thread")))


def list_findings(path):
    with open(path, encoding="utf-8") as file:
        found = json.load(file)["findings"]
    assert [f["us"] for f in found] == sorted((f["us"] for f in found), reverse=True)
    assert all(f["title"] and f["evidence"] for f in found)
    wanted = {"unfused", "layout", "denormals", "output", "casts", "constant"}
    print(" ".join(sorted({f["kind"] for f in found} & wanted)) or "none")


if sys.argv[1] == "--findings":
    list_findings(sys.argv[2])
else:
    check_trace(sys.argv[1])
