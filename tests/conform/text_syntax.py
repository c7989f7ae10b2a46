#!/usr/bin/env python3
"""The textual syntax against the onnx package, both ways, over folders of models.

print: hone info --text --full MODEL is read by onnx.parser and compared with MODEL.
parse: onnx.printer's text of MODEL is read by hone, saved, and compared with what onnx.parser reads from that text.

Not compared, because the syntax of onnx has no place for it (hone keeps it in comments of its own):
  - doc_string and metadata_props of graphs, nodes, values, tensors, attributes; metadata_props of functions
  - sparse initializers, quantization annotations, training information, denotations
  - names of tensors and graphs that are attributes, when they are no identifiers
  - whether an empty string or an empty list is there or absent
  - in which field of a TensorProto the numbers are kept
Not compared, because onnx.parser drops it: lists of tensors, graphs and types as attributes.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
import onnx.parser
import onnx.printer
from onnx import AttributeProto, TensorProto, numpy_helper

import models

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*\Z")
DROPPED_LISTS = {AttributeProto.TENSORS, AttributeProto.GRAPHS, AttributeProto.TYPE_PROTOS, AttributeProto.SPARSE_TENSORS}


def messages(message):
    """The message and all messages inside of it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in value if isinstance(value, collections.abc.Iterable) else [value]:
            yield from messages(inner)


def inexpressible(model):
    """Why the grammar of onnx cannot say this model, or None."""
    for m in messages(model):
        kind = m.DESCRIPTOR.name
        if kind == "NodeProto":
            if m.op_type and not IDENTIFIER.match(m.op_type):
                return "an operator that is no identifier"
            if m.domain and not all(IDENTIFIER.match(part) for part in m.domain.split(".")):
                return "a domain that is no identifier"
        if kind == "AttributeProto":
            if not IDENTIFIER.match(m.name):
                return "an attribute that is no identifier"
            if m.type == AttributeProto.SPARSE_TENSOR:
                return "a sparse tensor as an attribute"
            if not all(IDENTIFIER.match(t.name) for t in m.tensors if t.name):
                return "a list of tensors whose names are no identifiers"
        if kind == "Tensor" and m.elem_type == TensorProto.UNDEFINED:
            return "a value without an element type"
        if kind in ("Sequence", "Optional") and not m.HasField("elem_type"):
            return "a sequence or optional without an element type"
    return None


def plain_tensor(tensor):
    """The same tensor with its numbers in raw_data; a tensor of a model without weights has none."""
    plain = TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
    if tensor.data_location == TensorProto.EXTERNAL:
        plain.data_location = tensor.data_location
        plain.external_data.extend(tensor.external_data)
    elif tensor.data_type == TensorProto.STRING:
        plain.string_data.extend(tensor.string_data)
    elif any(len(value) for field, value in tensor.ListFields() if field.name.endswith("_data")):
        plain.raw_data = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data
    return plain


def drop_inexpressible(message):
    kind = message.DESCRIPTOR.name
    fields = set(message.DESCRIPTOR.fields_by_name)
    if kind not in ("ModelProto", "FunctionProto") and "doc_string" in fields:
        message.ClearField("doc_string")
    if kind != "ModelProto" and "metadata_props" in fields:
        message.ClearField("metadata_props")
    for name in ("sparse_initializer", "quantization_annotation", "training_info", "denotation"):
        if name in fields:
            message.ClearField(name)
    if kind == "AttributeProto":
        if message.HasField("t") and not IDENTIFIER.match(message.t.name):
            message.t.ClearField("name")
        if message.HasField("g") and not IDENTIFIER.match(message.g.name):
            message.g.name = "_"
        if message.type in DROPPED_LISTS:
            for name in ("tensors", "graphs", "type_protos", "sparse_tensors"):
                message.ClearField(name)
    for field, value in message.ListFields():
        repeated = isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes))
        if not repeated and value in ("", b""):
            message.ClearField(field.name)


def canonical(model):
    """A copy that is equal for models that the syntax cannot tell apart."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for message in list(messages(copy)):
        if message.DESCRIPTOR.name == "TensorProto":
            message.CopyFrom(plain_tensor(message))
        drop_inexpressible(message)
    return copy


def first_difference(a, b):
    text_a, text_b = str(a).splitlines(), str(b).splitlines()
    for number, (line_a, line_b) in enumerate(zip(text_a, text_b)):
        if line_a != line_b:
            return f"line {number}: {line_a[:100]!r} became {line_b[:100]!r}"
    return f"{len(text_a)} lines became {len(text_b)}"


def compare(expected, found):
    a, b = canonical(expected), canonical(found)
    return None if a == b else first_difference(a, b)


def same_numbers(expected, found):
    """NaN is not equal to itself in a message; equal bytes are."""
    a, b = canonical(expected), canonical(found)
    if a.SerializeToString(deterministic=True) == b.SerializeToString(deterministic=True):
        return None
    return compare(expected, found)


class Checker:
    def __init__(self, hone, folder):
        self.hone = hone
        self.folder = folder
        self.count = collections.Counter()
        self.failures = []

    def run(self, *arguments):
        return subprocess.run([self.hone, *arguments], capture_output=True, check=False)

    def print_way(self, path, model):
        reason = inexpressible(model)
        if reason:
            return "excluded", reason
        done = self.run("info", "--text", "--full", str(path))
        if done.returncode != 0:
            return "failed", done.stderr.decode(errors="replace").strip()
        try:
            found = onnx.parser.parse_model(done.stdout.decode())
        except Exception as error:  # noqa: BLE001: the parser raises several kinds, all are failures
            return "failed", f"onnx.parser: {error}"
        difference = same_numbers(model, found)
        return ("failed", difference) if difference else ("passed", "")

    def parse_way(self, path, model):
        text = onnx.printer.to_text(model)
        try:
            expected = onnx.parser.parse_model(text)
        except Exception:  # noqa: BLE001
            return "excluded", "onnx.parser does not read onnx.printer's text"
        source, target = self.folder / "model.onnxtxt", self.folder / "model.onnx"
        source.write_text(text)
        done = self.run("save", str(source), "-o", str(target))
        if done.returncode != 0:
            return "failed", done.stderr.decode(errors="replace").strip()
        difference = same_numbers(expected, onnx.load(target, load_external_data=False))
        return ("failed", difference) if difference else ("passed", "")

    def check(self, path):
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception:  # noqa: BLE001: not for this test to judge
            self.count["print", "excluded", "onnx cannot load it"] += 1
            return
        for way, check in (("print", self.print_way), ("parse", self.parse_way)):
            outcome, reason = check(path, model)
            if outcome == "failed":
                self.failures.append(f"{way} {path}: {reason}")
                reason = ""
            self.count[way, outcome, reason] += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hone", default=os.environ.get("HONE_BIN", "hone"))
    parser.add_argument("--show", type=int, default=20, help="how many failures to show")
    parser.add_argument("folders", nargs="*", type=pathlib.Path, help="default: the ONNX backend tests")
    options = parser.parse_args()
    if options.folders:
        paths = sorted(path for folder in options.folders for path in folder.rglob("*.onnx"))
    else:
        paths = models.find(["backend"])
    if not paths:
        print("no models found")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(options.hone, pathlib.Path(folder))
        for path in paths:
            checker.check(path)
    for failure in checker.failures[: options.show]:
        print(failure)
    for (way, outcome, reason), n in sorted(checker.count.items()):
        print(f"{way}: {n} {outcome}{': ' + reason if reason else ''}")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
