#!/usr/bin/env python3
"""Hostile graphs in hone and in onnxruntime: where do they not do the same?

    differential.py [--graphs N] [--seed N] [--seconds N] [--level none|all] [--json FILE] HOSTILE_GRAPHS

HOSTILE_GRAPHS is the program of that name, which makes the models. Both engines run each on the same made-up inputs, hone
at the level that is asked for, onnxruntime with its optimizations off, so that it computes what the nodes say. A difference belongs
to a class (class_of); docs/differences.md explains every class, and one that it does not name makes this fail. Work is
done by children with limits: onnxruntime ends some of them.
"""
import argparse
import collections
import json
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from difference_classes import class_of

SKIPPED = 77
MEMORY_BYTES = 6 << 30
MODEL_SECONDS = 10  # of processor time
MOST_ELEMENTS = 1 << 16
TOLERANCE = 1e-3  # of the largest number
LARGEST = 1e6     # sums of more cancel
LEVELS = {"none": "ORT_DISABLE_ALL", "all": "ORT_ENABLE_ALL"}
FREE_SIZES = {"N": 2, "M": 3, "batch": 1}


# ---- one model -----------------------------------------------------------------------------------------

def made_inputs(model):
    """Name to array, from what the model declares; None where that cannot be made."""
    import numpy
    import onnx

    random = numpy.random.default_rng(0)
    constants = {tensor.name for tensor in model.graph.initializer}
    inputs = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
            return None
        shape = [d.dim_value if d.HasField("dim_value") else FREE_SIZES.get(d.dim_param, 2) for d in tensor.shape.dim]
        if min(shape, default=0) < 0 or numpy.prod(shape, dtype=float) > MOST_ELEMENTS:
            return None
        if tensor.elem_type == onnx.TensorProto.STRING:
            inputs[value.name] = random.choice(["a", "b", "1", "x y"], shape).astype(object)
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind not in "fiub":
            return None  # numpy has no such type of its own
        numbers = random.standard_normal(shape) if dtype.kind == "f" else random.integers(0, 3, shape)
        inputs[value.name] = numpy.asarray(numbers).astype(dtype)
    return inputs


def run_engine(module, level, data, inputs):
    """("runs", outputs) or ("refuses", message)."""
    options = module.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(module.GraphOptimizationLevel, LEVELS[level])
    try:
        session = module.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        return "runs", session.run(None, inputs)
    except Exception as error:  # every kind that a package raises
        return "refuses", str(error).strip() or type(error).__name__


def difference(ours, theirs):
    """None, or what is different between two outputs."""
    import numpy

    if isinstance(theirs, (list, dict)) or isinstance(ours, (list, dict)) or theirs is None or ours is None:
        return None if type(ours) is type(theirs) and len(ours or ()) == len(theirs or ()) else "another kind"
    ours, theirs = numpy.asarray(ours), numpy.asarray(theirs)
    if ours.dtype != theirs.dtype and not (ours.dtype.kind in "OU" and theirs.dtype.kind in "OU"):
        return "another type"
    if ours.shape != theirs.shape:
        return "another shape"
    if theirs.dtype.kind != "f":
        return None if (ours == theirs).all() else "other integers"
    finite = numpy.isfinite(theirs) & numpy.isfinite(ours)
    if not numpy.array_equal(numpy.isnan(ours), numpy.isnan(theirs)):
        return "NaN elsewhere"
    if not numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True):
        return "infinite elsewhere"
    wide, own = theirs[finite].astype("f8"), ours[finite].astype("f8")
    largest = abs(wide).max(initial=0)
    tolerance = TOLERANCE if theirs.dtype.itemsize >= 4 else 0.02
    return None if largest > LARGEST or abs(own - wide).max(initial=0) <= tolerance * max(largest, 1e-3) else "other numbers"


ELEMENTS = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
            "double": 11, "uint32": 12, "uint64": 13}


def with_all_outputs(model):
    """The model with the values of all nodes as outputs, of the types that onnxruntime finds."""
    import onnx
    import onnxruntime

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output if name]
    del shown.graph.output[:]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(shown.SerializeToString(), options, providers=["CPUExecutionProvider"])
    del shown.graph.output[:]
    for output in session.get_outputs():
        element = re.fullmatch(r"tensor\((\w+)\)", output.type)
        if element and element.group(1) in ELEMENTS:
            shown.graph.output.append(onnx.helper.make_tensor_value_info(output.name, ELEMENTS[element.group(1)], None))
    del shown.graph.value_info[:]
    return shown


def guilty_operator(model, inputs):
    """The operator of the first node whose results differ where no node decides on declarations; "" where none does."""
    import hone
    import onnxruntime

    try:
        shown = with_all_outputs(model)
    except Exception:  # onnxruntime does not take the longer list
        return ""
    data = shown.SerializeToString()
    ours, theirs = (run_engine(engine, "none", data, inputs) for engine in (hone, onnxruntime))
    if ours[0] == "refuses" or theirs[0] == "refuses":
        return ""
    found = {output.name: difference(a, b) for output, a, b in zip(shown.graph.output, ours[1], theirs[1])}
    return next((node.op_type for node in model.graph.node if any(found.get(name) for name in node.output)), "")


def compare(path, level, tell):
    """A row of the report; `tell` is called with the engine that runs next."""
    import hone
    import onnx
    import onnxruntime

    data = path.read_bytes()
    model = onnx.load_from_string(data)
    row = {"model": path.name, "operators": sorted({node.op_type for node in model.graph.node})}
    inputs = made_inputs(model)
    if inputs is None:
        return row | {"what": "no inputs"}
    tell("hone")
    ours = run_engine(hone, level, data, inputs)
    tell("onnxruntime")
    theirs = run_engine(onnxruntime, "none", data, inputs)
    tell("nobody")
    if ours[0] != theirs[0]:
        return row | {"what": f"hone {ours[0]}, onnxruntime {theirs[0]}", "why": (ours if ours[0] == "refuses" else theirs)[1][:400]}
    if ours[0] == "refuses":
        return row | {"what": "both refuse"}
    found = [difference(a, b) for a, b in zip(ours[1], theirs[1])]
    found = [what for what in found if what]
    if not found:
        return row | {"what": "same"}
    return row | {"what": "differs", "why": found[0], "guilty": guilty_operator(model, inputs)}


# ---- children ------------------------------------------------------------------------------------------

def child(folder, level, first):
    """Rows on stdout, one line each; what runs at the moment is in the file `now`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for path in sorted(folder.glob("*.onnx")):
        if path.name >= first:
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + MODEL_SECONDS, resource.RLIM_INFINITY))
            row = compare(path, level, lambda engine, path=path: (folder / "now").write_text(f"{engine} {path.name}"))
            print(json.dumps(row), flush=True)


def rows_of(folder, level, seconds):
    """All rows; a child that ends early is followed by another that begins behind the model it was at."""
    rows, first, end = [], "", time.monotonic() + seconds
    names = sorted(path.name for path in folder.glob("*.onnx"))
    while first is not None and time.monotonic() < end:
        done = subprocess.run([sys.executable, __file__, "--child", str(folder), level, first], check=False, capture_output=True, text=True)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{") and line.endswith("}")]
        rows += found
        seen = found[-1]["model"] if found else None
        left = [name for name in names if name > (seen or "") and name >= first]
        if not left:
            break
        engine, name = (folder / "now").read_text().split()
        what = "never ends" if done.returncode == -signal.SIGXCPU else "crashes"
        rows.append({"model": name, "what": f"{engine} {what}", "why": f"status {done.returncode} {done.stderr[-200:]}", "operators": []})
        first = left[1] if len(left) > 1 else None
    return rows


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(Path(sys.argv[2]), *sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program", help="hostile_graphs")
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="of time, after which no child is started")
    parser.add_argument("--level", choices=LEVELS, default="all", help="of hone")
    parser.add_argument("--json", type=Path, help="all rows")
    options = parser.parse_args()
    try:
        import hone
        import onnxruntime
    except ImportError as error:
        print(f"skipped: {error}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([options.program, "--no-exercise", "--graphs", str(options.graphs), "--seed", str(options.seed),
                        "--dump", name], check=True, stdout=subprocess.DEVNULL)
        rows = rows_of(folder, options.level, options.seconds)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print(dict(collections.Counter(row["what"] for row in rows)))
    different = [row for row in rows if row["what"] not in ("same", "both refuse", "no inputs")]
    for name, n in collections.Counter(class_of(row) for row in different).most_common():
        print(f"{n:5} {name}")
    unexplained = [row for row in different if class_of(row) is None]
    for row in unexplained:
        print(f"not explained: {row['model']} {row['what']}, {row.get('guilty', '')}: {row['why'][-300:]}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
