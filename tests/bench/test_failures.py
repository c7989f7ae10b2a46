"""A bench fails when a row does, whatever the reason."""

import argparse
import json
import pathlib

import engines
import numpy
import pytest
import results
import speed_rows

INPUTS = {"x": numpy.ones((1, 2), "f4")}
PATH = pathlib.Path("model.onnx")


class Engine:
    """Gives a fixed output, or raises."""

    session = None
    precision = "f32"

    def __init__(self, output):
        self.output = output

    def outputs(self, _):
        if isinstance(self.output, Exception):
            raise self.output
        return {"y": self.output}

    def runner(self, inputs):
        return lambda: self.outputs(inputs)


RIGHT = numpy.array([1, 2], "f4")


def bench(monkeypatch, tmp_path, outputs):
    """The exit status, table and file of a bench of speed over one model."""
    monkeypatch.setattr(engines, "make", lambda name, *_: Engine(outputs[name]))
    options = argparse.Namespace(rounds=2, seconds=0, json=tmp_path / "out.json")
    recorder = results.Recorder("speed", options)
    recorder.measure({"model": "model", "threads": 1}, speed_rows.measure, PATH, INPUTS, list(outputs), 1, options, 0)
    recorder.summary = speed_rows.summary(recorder.rows, list(outputs))
    status = recorder.finish(speed_rows.table)
    return status, speed_rows.table(json.loads(options.json.read_text())), results.read(options.json)


def test_right_results_succeed(monkeypatch, tmp_path):
    status, table, result = bench(monkeypatch, tmp_path, {"hone": RIGHT, "onnxruntime": RIGHT})
    assert status == 0 and "FAILED" not in table
    assert results.META_KEYS <= result["meta"].keys()
    assert result["summary"]["onnxruntime"]["1"]["count"] == 1


@pytest.mark.parametrize("ours", [RIGHT + 1, RIGHT[:1], RIGHT * numpy.nan, RIGHT.astype("f8"), RuntimeError("no memory")])
def test_wrong_results_fail_and_say_so(monkeypatch, tmp_path, ours):
    status, table, result = bench(monkeypatch, tmp_path, {"hone": ours, "onnxruntime": RIGHT})
    assert status == 1 and "FAILED" in table and result["rows"][0]["failure"]
    assert "milliseconds" not in result["rows"][0]  # no speed of a wrong result
    assert not result["summary"]["onnxruntime"]


def test_a_failing_oracle_fails(monkeypatch, tmp_path):
    assert bench(monkeypatch, tmp_path, {"hone": RIGHT, "onnxruntime": RuntimeError("dead")})[0] == 1


def test_openvino_may_be_unable(monkeypatch, tmp_path):
    outputs = {"hone": RIGHT, "onnxruntime": RIGHT, engines.OPENVINO: RuntimeError("unsupported")}
    status, table, result = bench(monkeypatch, tmp_path, outputs)
    assert status == 0 and "unsupported" in result["rows"][0]["cannot_run"][engines.OPENVINO]
    assert "cannot run" in table


def test_no_rows_fail(tmp_path):
    recorder = results.Recorder("speed", argparse.Namespace(json=tmp_path / "out.json"))
    assert recorder.finish(lambda result: "") == 1
