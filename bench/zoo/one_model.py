"""One model of the zoo, in a process of its own: a crash or an endless loop ends this process only.

usage: one_model.py agree NAME PATH FOLDER         inputs, both engines, how far apart; keeps inputs and outputs in FOLDER
       one_model.py speed ENGINES PATH FOLDER      times in turns, of processor time, and creation
       one_model.py memory ENGINE PATH FOLDER      peak of one engine
       one_model.py file PATH FOLDER               onnxruntime runs an optimized file on the same inputs

Each prints one JSON object. All engines have one thread and their default options.
"""

import argparse
import json
import pickle
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import agreement
import engines
import turns

THREADS = 1
ROUNDS, SECONDS = 5, 0.2
FEW_ROUNDS, LONG_SECONDS = 3, 0.5  # of models whose run takes this long
CREATION_ROUNDS, CREATION_SECONDS = 3, 0.1


def load(folder, name):
    return pickle.loads((folder / name).read_bytes())


def store(folder, name, value):
    (folder / name).write_bytes(pickle.dumps(value))


QUANTIZED = {"QuantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul",
             "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "MatMulIntegerToFloat", "MatMulNBits"}


def graphs_of(graph):
    """The graph and all subgraphs."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                yield from graphs_of(inner)


def element_types(path):
    """What the model computes with: "float", "float16", or "quantized" integers."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    nodes, kinds = set(), set()
    for graph in [*graphs_of(model.graph), *model.functions]:
        nodes |= {node.op_type for node in graph.node}
        kinds |= {tensor.data_type for tensor in getattr(graph, "initializer", ())}
    return "quantized" if nodes & QUANTIZED else "float16" if onnx.TensorProto.FLOAT16 in kinds else "float"


def agree(name, path, folder):
    import recipes

    oracle = engines.Ort(engines.ONNXRUNTIME, path, THREADS)
    inputs = recipes.make(name, oracle.session)
    store(folder, "inputs", inputs)
    row = {"inputs": agreement.shapes_text(inputs), "type": element_types(path)}
    expected = oracle.outputs(inputs)
    store(folder, "expected", expected)
    try:
        found = engines.Ort(engines.HONE, path, THREADS).outputs(inputs)
    except Exception as error:
        return row | {"failure": str(error).strip()[:300]}
    return row | agreement.compare(found, expected, lambda: agreement.moves(path, inputs, expected))


def speed(names, path, folder):
    inputs = load(folder, "inputs")
    names = names.split(",")
    made = {name: engines.Ort(name, path, THREADS) for name in names}
    runs = {name: engine.runner(inputs) for name, engine in made.items()}
    start = time.process_time()
    runs[names[0]]()
    rounds = FEW_ROUNDS if time.process_time() - start > LONG_SECONDS else ROUNDS
    times = turns.take(runs, rounds, SECONDS, pause=0, time_round=turns.round_processor_time)
    row = turns.summary(times)
    row.pop("rounds_ms")
    created = turns.take({name: lambda name=name: engines.Ort(name, path, THREADS) for name in names}, CREATION_ROUNDS,
                         CREATION_SECONDS, pause=0, time_round=turns.round_processor_time)
    return row | {"creation_ms": turns.summary(created)["milliseconds"]}


def memory(name, path, folder):
    from bench_memory import RESET_PEAK, status_bytes

    inputs = load(folder, "inputs")
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = status_bytes("VmRSS")
    run = engines.Ort(name, path, THREADS).runner(inputs)
    for _ in range(2):
        run()
    return {"peak_bytes": status_bytes("VmHWM") - before}


def optimized_file(path, folder):
    inputs, expected = load(folder, "inputs"), load(folder, "expected")
    found = engines.Ort(engines.ONNXRUNTIME, path, THREADS).outputs(inputs)
    original = Path((folder / "original").read_text())
    return agreement.compare(found, expected, lambda: agreement.moves(original, inputs, expected))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("agree", "speed", "memory", "file"))
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    *first, path, folder = options.arguments
    function = {"agree": agree, "speed": speed, "memory": memory, "file": optimized_file}[options.what]
    print(json.dumps(function(*first, Path(path), Path(folder))))


if __name__ == "__main__":
    main()
