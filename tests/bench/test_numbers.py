"""Means, chains and records of what was measured."""

import argparse
import json

import bench_nodes
import chains
import engines
import means
import meta
import page
import pytest
import suite
import turns
import verdict

SHORT = 120  # beyond the last tap
EVERY_CHAIN = [*chains.CHAINS, chains.LOOP]


def test_means_name_their_outliers():
    found = means.of({"a": 1.0, "b": 1.0, "c": 1.0, "slow": 64.0})
    assert found["outliers"] == ["slow"] and found["without_outliers"] == 1
    assert found["mean"] == pytest.approx(64 ** 0.25) and (found["ahead"], found["count"]) == (4, 4)
    assert "slow" in means.sentence(found)


def test_small_ratios_are_outliers_too():
    assert means.outliers({"a": 1.0, "b": 1.2, "c": 0.9, "bad": 0.4}) == ["bad"]


def test_ratios_are_of_the_same_round():
    row = turns.summary({"hone": [1, 2, 4], "onnxruntime": [2, 4, 8]})
    assert row["ratio"] == {"onnxruntime": 2} and row["spread"] == {"onnxruntime": 0}


def test_every_round_begins_with_another_engine():
    calls = []
    turns.take({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=2, seconds=0, pause=0)
    runs = turns.FEWEST_RUNS + 1
    assert calls == ["a"] * runs + ["b"] * 2 * runs + ["a"] * runs


@pytest.mark.parametrize("name", EVERY_CHAIN)
def test_engines_run_every_node_of_a_chain(name, tmp_path):
    model, inputs, expected = chains.make(name, SHORT)
    path = tmp_path / "chain.onnx"
    path.write_bytes(model.SerializeToString())
    ran = bench_nodes.executed(engines.ONNXRUNTIME, path, "none", inputs, tmp_path)
    bench_nodes.check_executed(engines.ONNXRUNTIME, "none", ran, expected)
    pytest.importorskip("hone")
    ran = bench_nodes.executed(engines.HONE, path, "none", inputs, tmp_path)
    bench_nodes.check_executed(engines.HONE, "none", ran, expected)
    outputs = [engines.Ort(engine, path, 1, "all").outputs(inputs) for engine in bench_nodes.ENGINES]
    verdict.judge(name, *outputs)


def test_a_chain_that_lost_nodes_is_wrong():
    with pytest.raises(verdict.Wrong):
        bench_nodes.check_executed("hone", "none", {"Add": 1}, {"Add": 1000})


def test_flags_of_a_command():
    command = "/usr/bin/ccache /usr/bin/cc -DX=1 -I/a/include -O3 -std=gnu11 -fPIC -o a.o -c /a/a.c"
    assert meta.flags_of(command) == "-O3 -std=gnu11 -fPIC"


def test_every_table_on_a_page_has_a_bench_and_every_bench_a_page():
    assert sorted(page.names_in(meta.ROOT)) == sorted(suite.PUBLISHED)


def test_records_can_be_written():
    record = meta.end(meta.begin(argparse.Namespace(json=meta.ROOT / "bench" / "a.json")))
    assert json.loads(json.dumps(record))["options"] == {"json": "bench/a.json"}
    assert str(meta.ROOT) not in json.dumps(record["options"])
