#!/usr/bin/env python3
"""Compares inferred types with those of onnx.shape_inference, for every value of many models.

    compare_shapes.py [MODEL or FOLDER or ARCHIVE]...    default: all models of HONE_SHARED

Every model is stripped of what it declares about inner values and outputs, so both have to infer.
For each value ours must be the same as theirs (strict off, data propagation on) or more exact.
What the file declared about its outputs is held against both: where theirs contradicts it and
ours does not, the difference is theirs. Other exceptions are listed below with their reasons.
Ours come from `hone info --values --json` (the command in HONE_BIN). Exits with 77 when the onnx
package is missing.
"""

import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

try:
    import onnx
    from onnx import shape_inference
except ImportError:
    print("skipped: the onnx package is not installed")
    sys.exit(77)

# (model, value) patterns where ours is right and theirs is not, and why.
EXCEPTIONS = {
    ("*/test_loop13_seq/*", "seq_res"):
        "the file declares a sequence of scalars, but the loop inserts vectors of growing length",
    ("*/test_sequence_map_identity_1_sequence/*", "out0"):
        "the output of the body is its input of size N, which the file also calls M",
    ("*/test_affine_grid_3d*expanded/*", "*_function_H_then"):
        "the third of four parts of 5 elements, in a branch that never runs: one is left, not two",
}

BATCH = 100  # models per call of hone
ONNX_KINDS = {"tensor_type": "tensor", "sparse_tensor_type": "sparse_tensor",
              "sequence_type": "sequence", "optional_type": "optional", "map_type": "map",
              "opaque_type": "opaque"}


# ---- types as plain data: (kind, element, shape, inner) -----------------------------------------

def dim_from_onnx(dim):
    """A number, a symbol, or None. Symbols that onnx made up say nothing."""
    which = dim.WhichOneof("value")
    if which == "dim_value":
        return dim.dim_value if dim.dim_value >= 0 else None
    if which == "dim_param" and dim.dim_param and not dim.dim_param.startswith("unk__"):
        return dim.dim_param
    return None


def type_from_onnx(proto):
    which = proto.WhichOneof("value")
    if which is None:
        return None
    part = getattr(proto, which)
    kind = ONNX_KINDS[which]
    if kind in ("tensor", "sparse_tensor"):
        name = onnx.TensorProto.DataType.Name(part.elem_type).lower()
        shape = [dim_from_onnx(d) for d in part.shape.dim] if part.HasField("shape") else None
        return kind, None if name == "undefined" else name, shape, None
    if kind == "map":
        key = onnx.TensorProto.DataType.Name(part.key_type).lower()
        return kind, key, None, type_from_onnx(part.value_type)
    inner = type_from_onnx(part.elem_type) if kind != "opaque" else None
    return kind, None, None, inner


def type_from_hone(entry):
    if entry["type"] == "unknown":
        return None
    element = entry.get("elem_type") or entry.get("key_type")
    inner = type_from_hone(entry["of"]) if "of" in entry else None
    return entry["type"], None if element == "undefined" else element, entry.get("shape"), inner


def type_text(described):
    if described is None:
        return "unknown"
    kind, element, shape, inner = described
    dims = "" if shape is None else "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"
    return f"{'' if kind == 'tensor' else kind + ' '}{element or ''}{dims}" + (
        f"({type_text(inner)})" if inner else "")


# ---- comparing -----------------------------------------------------------------------------------

def is_at_least_as_exact(ours, theirs):
    """Does `ours` say all that `theirs` says?"""
    if theirs is None:
        return True
    if ours is None or ours[0] != theirs[0] or (theirs[1] and ours[1] != theirs[1]):
        return False
    if theirs[2] is not None:
        if ours[2] is None or len(ours[2]) != len(theirs[2]):
            return False
        for our_dim, their_dim in zip(ours[2], theirs[2]):
            is_refined = isinstance(their_dim, str) and isinstance(our_dim, int)
            if their_dim is not None and our_dim != their_dim and not is_refined:
                return False
    return is_at_least_as_exact(ours[3], theirs[3])


def contradicts(found, declared):
    """Can no value have both types?"""
    if found is None or declared is None:
        return False
    if found[0] != declared[0] or (found[1] and declared[1] and found[1] != declared[1]):
        return True
    if found[2] is not None and declared[2] is not None:
        if len(found[2]) != len(declared[2]):
            return True
        if any(isinstance(a, int) and isinstance(b, int) and a != b
               for a, b in zip(found[2], declared[2])):
            return True
    return contradicts(found[3], declared[3])


def graphs_of(graph, number=None):
    """The graph and its subgraphs with the numbers that hone gives them: as they are met."""
    number = number if number is not None else [0]
    yield number[0], graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g] * attribute.HasField("g") + list(attribute.graphs):
                number[0] += 1
                yield from graphs_of(inner, number)


def declared_outputs(graph):
    return {(0, v.name): type_from_onnx(v.type) for v in graph.output if v.HasField("type")}


def strip_declarations(model):
    """Leaves only the inputs typed. Subgraph outputs keep their types: ops need them declared."""
    for _, graph in graphs_of(model.graph):
        del graph.value_info[:]
    for output in model.graph.output:
        which = output.type.WhichOneof("value")
        if which == "tensor_type":
            output.type.tensor_type.ClearField("shape")


def their_types(model):
    """(subgraph, value) -> type. None when onnx fails on the model."""
    try:
        inferred = shape_inference.infer_shapes(model, strict_mode=False, data_prop=True)
    except Exception:  # whatever it throws, there is nothing to compare with
        return None
    types = {}
    for number, graph in graphs_of(inferred.graph):
        for value in list(graph.value_info) + list(graph.output):
            if value.HasField("type"):
                types[number, value.name] = type_from_onnx(value.type)
    return types


def our_types(paths):
    """One dictionary like that of their_types per path; None when hone fails on the model."""
    command = [os.environ.get("HONE_BIN", "hone"), "info", "--values", "--json"]
    result = subprocess.run(command + paths, stdout=subprocess.PIPE, check=False)
    decoder, text, types = json.JSONDecoder(), result.stdout.decode(), {}
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        report, at = decoder.raw_decode(text, at)
        types[report["model"]] = {(v["subgraph"], v["name"]): type_from_hone(v)
                                  for v in report["values"]}
    return [types.get(path) for path in paths]


# ---- models --------------------------------------------------------------------------------------

def default_sources():
    shared = pathlib.Path(os.environ.get("HONE_SHARED", "../shared"))
    named = [shared / "onnx-backend-tests.tar.xz", shared / "models" / "architectures.zip",
             shared / "models" / "trained", shared / "models" / "real"]
    return [path for path in named if path.exists()]


def find_models(source, scratch):
    """(name, path) of every model in a file, folder or archive."""
    source = pathlib.Path(source)
    if source.suffix == ".onnx":
        return [(source.stem, source)]
    if source.is_file():
        target = scratch / source.name
        opened = zipfile.ZipFile(source) if source.suffix == ".zip" else tarfile.open(source)
        with opened as archive:
            archive.extractall(target)
        source = target
    return [(str(path.relative_to(source)), path) for path in sorted(source.rglob("*.onnx"))]


def is_excepted(model, value):
    return any(fnmatch.fnmatch(model, m) and fnmatch.fnmatch(value, v) for m, v in EXCEPTIONS)


class Tally:
    def __init__(self):
        self.n_models = self.n_values = self.n_more_exact = self.n_theirs_wrong = self.n_excepted = 0
        self.problems = []

    def compare_value(self, model, key, ours, theirs, declared):
        self.n_values += 1
        self.n_more_exact += ours != theirs and is_at_least_as_exact(ours, theirs)
        where = f"{model}: '{key[1]}'" + (f" in subgraph {key[0]}" if key[0] else "")
        if contradicts(ours, declared):
            self.problems.append(f"{where}: {type_text(ours)}, but the file says {type_text(declared)}")
        elif is_at_least_as_exact(ours, theirs):
            pass
        elif contradicts(theirs, declared):
            self.n_theirs_wrong += 1
        elif is_excepted(model, key[1]):
            self.n_excepted += 1
        else:
            self.problems.append(f"{where}: {type_text(ours)}, but onnx says {type_text(theirs)}")

    def compare_model(self, name, ours, theirs, declared):
        self.n_models += 1
        if ours is None:
            self.problems.append(f"{name}: hone gave nothing")
            return
        for key in sorted((theirs or {}).keys() | declared.keys()):
            self.compare_value(name, key, ours.get(key), (theirs or {}).get(key), declared.get(key))


def compare_batch(batch, scratch, tally):
    stripped = []
    for i, (_, path) in enumerate(batch):
        model = onnx.load(path, load_external_data=False)
        declared = declared_outputs(model.graph)
        strip_declarations(model)
        target = scratch / f"{i}.onnx"
        target.write_bytes(model.SerializeToString())
        stripped.append((str(target), their_types(model), declared))
    ours = our_types([path for path, _, _ in stripped])
    for (name, _), (_, theirs, declared), found in zip(batch, stripped, ours):
        tally.compare_model(name, found, theirs, declared)


def main():
    sources = sys.argv[1:] or default_sources()
    if not sources:
        print("skipped: no models (HONE_SHARED)")
        return 77
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        models = [found for source in sources for found in find_models(source, scratch)]
        for i in range(0, len(models), BATCH):
            compare_batch(models[i:i + BATCH], scratch, tally)
    for problem in tally.problems:
        print(problem)
    print(f"{tally.n_values} values of {tally.n_models} models: {tally.n_more_exact} more exact, "
          f"{tally.n_theirs_wrong} where onnx contradicts the file, {tally.n_excepted} excepted, "
          f"{len(tally.problems)} problems (onnx {onnx.__version__})")
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
