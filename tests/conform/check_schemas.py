#!/usr/bin/env python3
"""Compares every row and version of ops.def with the schemas of onnx and onnxruntime.

The rows come from `hone ops --json` (the command in HONE_BIN), or from a file given as argument.
Compared are: the set of operators and versions, deprecation, arity, parameters (name, option,
variadic kind, accepted types, which parameters share a type variable), and attributes (kind,
whether required, default). Exits with 77 when the onnx package is missing.
"""

import json
import os
import struct
import subprocess
import sys

try:
    import onnx
    import onnx.defs
except ImportError:
    print("skipped: the onnx package is not installed")
    sys.exit(77)

# onnxruntime changes com.microsoft from release to release without new versions; the table
# follows this one.
ORT_RELEASE = "1.31."
try:
    import onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    has_ort = onnxruntime.__version__.startswith(ORT_RELEASE)
except ImportError:
    has_ort = False

# Domains that onnxruntime defines; all others belong to the onnx package.
ORT_DOMAINS = {"com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"}

# Schemas that hone leaves out on purpose.
LEFT_OUT = {
    "MemcpyFromHost": "inserted by onnxruntime at run time, never saved",
    "MemcpyToHost": "inserted by onnxruntime at run time, never saved",
    "DisentangledAttention_TRT": "placeholder for a TensorRT plugin",
    "EfficientNMS_TRT": "placeholder for a TensorRT plugin",
    "MultilevelCropAndResize_TRT": "placeholder for a TensorRT plugin",
    "PyramidROIAlign_TRT": "placeholder for a TensorRT plugin",
}

NO_LIMIT = 2**31 - 1  # how onnx spells "any number"


def spaceless(text):
    return text.replace(" ", "")


def float32(text):
    return struct.pack("<f", float(text))


def default_value(attribute):
    """The default of a schema attribute as `typed_default` gives it; None when there is none."""
    proto = getattr(attribute, "default_value", None)
    if proto is None:  # onnxruntime hands out the serialized attribute
        proto = onnx.AttributeProto.FromString(attribute._default_value or b"")
    kinds = onnx.AttributeProto
    readers = {
        kinds.INT: lambda: [proto.i],
        kinds.INTS: lambda: list(proto.ints),
        kinds.FLOAT: lambda: [float32(proto.f)],
        kinds.FLOATS: lambda: [float32(f) for f in proto.floats],
        kinds.STRING: lambda: [proto.s.decode()],
        kinds.STRINGS: lambda: [s.decode() for s in proto.strings],
    }
    return readers[proto.type]() if proto.type in readers else None


def typed_default(kind, text):
    """The default as the table writes it."""
    if text is None:
        return None
    items = [text] if kind == "string" else text.split(",")
    convert = {"i": int, "f": float32, "s": str}[kind[0]]
    return [convert(item) for item in items]


def type_variables(parameters):
    """For each parameter, the first one with the same type variable, whatever its name."""
    seen = {}
    return [seen.setdefault(p["type"], i) for i, p in enumerate(parameters)]


def describe_parameters(parameters, constraints, least):
    described = []
    for i, p in enumerate(parameters):
        type_name = p.type_str if hasattr(p, "type_str") else p.typeStr
        option = str(p.option).rsplit(".", 1)[-1].lower()
        is_variadic = option == "variadic"
        homogeneous = p.is_homogeneous if hasattr(p, "is_homogeneous") else p.isHomogeneous
        # onnxruntime tells the least number of all inputs only, from which that of a variadic
        # parameter follows.
        min_arity = p.min_arity if hasattr(p, "min_arity") else least - i
        described.append({
            "name": p.name,
            "type": type_name,
            "types": sorted(spaceless(t) for t in constraints.get(type_name, [type_name])),
            "option": option,
            "heterogeneous": is_variadic and not homogeneous,
            "min_arity": min_arity if is_variadic else 0,
        })
    return described


def describe_attribute(attribute):
    kind = str(attribute.type).rsplit(".", 1)[-1].lower()
    return {
        "kind": "type_proto" if kind == "???" else kind,  # the older binding has no word for it
        "required": attribute.required,
        "default": default_value(attribute),
    }


def describe_schema(schema):
    """A schema of either package as one dictionary."""
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    return {
        "deprecated": schema.deprecated,
        "arity": (schema.min_input, schema.max_input, schema.min_output, schema.max_output),
        "inputs": describe_parameters(schema.inputs, constraints, schema.min_input),
        "outputs": describe_parameters(schema.outputs, constraints, schema.min_output),
        "attributes": {a.name: describe_attribute(a) for a in schema.attributes.values()},
    }


def describe_row(row):
    """An entry of `hone ops --json` in the same form."""
    def limit(n):
        return NO_LIMIT if n is None else n

    def parameters(list_name):
        return [dict(p, types=sorted(map(spaceless, p["types"]))) for p in row[list_name]]

    def attribute(a):
        return {"kind": a["kind"], "required": a["required"],
                "default": typed_default(a["kind"], a["default"])}

    return {
        "deprecated": row["deprecated"],
        "arity": (row["min_inputs"], limit(row["max_inputs"]),
                  row["min_outputs"], limit(row["max_outputs"])),
        "inputs": parameters("inputs"),
        "outputs": parameters("outputs"),
        "attributes": {a["name"]: attribute(a) for a in row["attributes"]},
    }


def differences(ours, theirs, is_newest):
    """What differs, as text. A row holds the newest names of parameters, so those of older
    versions are not compared."""
    for key in ("deprecated", "arity"):
        if ours[key] != theirs[key]:
            yield f"{key}: {ours[key]} instead of {theirs[key]}"
    for side in ("inputs", "outputs"):
        a, b = ours[side], theirs[side]
        if len(a) != len(b):
            yield f"{side}: {[p['name'] for p in a]} instead of {[p['name'] for p in b]}"
            continue
        keys = ("option", "heterogeneous", "min_arity", "types") + (("name",) if is_newest else ())
        for p, q in zip(a, b):
            for key in keys:
                if p[key] != q[key]:
                    yield f"{side} {q['name']}: {key} {p[key]} instead of {q[key]}"
    a, b = ours["inputs"] + ours["outputs"], theirs["inputs"] + theirs["outputs"]
    # A fixed type that a later version turned into a variable of one type says the same.
    if len(a) == len(b) and any(x != y and len(p["types"]) > 1
                                for x, y, p in zip(type_variables(a), type_variables(b), b)):
        yield f"type variables: {[p['type'] for p in a]} instead of {[p['type'] for p in b]}"
    for name in sorted(ours["attributes"].keys() | theirs["attributes"].keys()):
        p, q = ours["attributes"].get(name), theirs["attributes"].get(name)
        if p != q:
            yield f"attribute {name}: {p} instead of {q}"


def reference_schemas():
    """(domain, name, version) -> (schema, whether onnxruntime is its source)."""
    schemas = {(s.domain or "ai.onnx", s.name, s.since_version): (s, False)
               for s in onnx.defs.get_all_schemas_with_history()}
    for s in get_all_operator_schema() if has_ort else []:
        key = (s.domain or "ai.onnx", s.name, s.since_version)
        if s.name not in LEFT_OUT and (key[0] in ORT_DOMAINS or key not in schemas):
            schemas[key] = (s, True)
    return schemas


def load_rows(arguments):
    if arguments:
        with open(arguments[0], encoding="utf-8") as file:
            return json.load(file)
    command = [os.environ.get("HONE_BIN", "hone"), "ops", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def main():
    rows = {(r["domain"], r["name"], r["since_version"]): r for r in load_rows(sys.argv[1:])}
    schemas = reference_schemas()
    newest = {}
    for domain, name, version in rows:
        newest[domain, name] = max(version, newest.get((domain, name), 0))

    def is_checkable(key):
        return has_ort or not (key[0] in ORT_DOMAINS or rows[key]["extension"])

    # A newer onnx package publishes opsets that the table does not claim to know.
    newest_opset = max(version for domain, _, version in rows if domain == "ai.onnx")
    missing = sorted(key for key in schemas.keys() - rows.keys() if key[2] <= newest_opset)
    problems = [f"{key}: not in ops.def" for key in missing]
    problems += [f"{key}: no such schema"
                 for key in sorted(rows.keys() - schemas.keys()) if is_checkable(key)]
    for key in sorted(rows.keys() & schemas.keys()):
        schema, is_ort = schemas[key]
        if rows[key]["extension"] != (is_ort and key[0] not in ORT_DOMAINS):
            problems.append(f"{key}: the mark x is wrong")
        is_newest = newest[key[0], key[1]] == key[2]
        ours, theirs = describe_row(rows[key]), describe_schema(schema)
        problems += [f"{key}: {d}" for d in differences(ours, theirs, is_newest)]
    for problem in problems:
        print(problem)
    if not has_ort:
        print(f"not compared: the operators of onnxruntime (needs release {ORT_RELEASE}x)")
    n = len(rows.keys() & schemas.keys())
    print(f"{n} schemas compared, {len(problems)} differences (onnx {onnx.__version__})")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
