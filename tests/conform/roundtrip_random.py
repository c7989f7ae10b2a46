#!/usr/bin/env python3
"""Fills every field that onnx.proto has with random values, saves with hone, and compares.

usage: roundtrip_random.py [--hone PATH] [--count N] [--seed N]

The messages are walked by reflection, so a field that a new onnx package brings is tested as well.
What the models mean is nonsense; hone must hand it back all the same.
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx
from google.protobuf.descriptor import FieldDescriptor as Field

KINDS = {  # AttributeProto.type -> the field that holds the value
    1: "f", 2: "i", 3: "s", 4: "t", 5: "g", 6: "floats", 7: "ints", 8: "strings", 9: "tensors",
    10: "graphs", 11: "sparse_tensor", 12: "sparse_tensors", 13: "tp", 14: "type_protos",
}
MAX_DEPTH = 14  # of messages


class Filler:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n_names = 0
        self.special = {
            "AttributeProto": self.attribute,
            "TensorProto": self.tensor,
            "SparseTensorProto": self.sparse,
            "ValueInfoProto": self.value_info,
            "TypeProto": self.type,
            "NodeProto": self.node,
            "FunctionProto": self.function,
        }

    def name(self):
        self.n_names += 1
        return f"n{self.n_names}"

    def scalar(self, field):
        if field.type == Field.TYPE_STRING:
            return self.random.choice(["", "text", "größer", "a\0b"])
        if field.type == Field.TYPE_BYTES:
            return self.random.randbytes(self.random.randrange(5))
        if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
            return self.random.choice([0.0, -1.5, float("inf"), 3.0e38])
        if field.type == Field.TYPE_ENUM:
            return self.random.choice(field.enum_type.values).number
        if field.type == Field.TYPE_UINT64:
            return self.random.choice([0, 1, 2**63, 2**64 - 1])
        if field.type == Field.TYPE_INT32:
            return self.random.choice([0, 1, -1, 2**31 - 1, -(2**31)])
        return self.random.choice([0, 1, -1, 300, 2**63 - 1, -(2**63)])

    def fill(self, message, depth, skip=()):
        for field in message.DESCRIPTOR.fields:
            if field.name not in skip and self.random.random() < 0.6:
                self.field(message, field, depth)

    def field(self, message, field, depth):
        is_message = field.type == Field.TYPE_MESSAGE
        if is_message and depth <= 0:
            return
        if not field.is_repeated:
            if is_message:
                getattr(message, field.name).SetInParent()
                self.message(getattr(message, field.name), depth - 1)
            else:
                setattr(message, field.name, self.scalar(field))
            return
        for _ in range(self.random.randrange(4)):
            if is_message:
                self.message(getattr(message, field.name).add(), depth - 1)
            else:
                getattr(message, field.name).append(self.scalar(field))

    def message(self, message, depth):
        self.special.get(message.DESCRIPTOR.name, self.fill)(message, depth)

    def attribute(self, message, depth):
        """The type and the value agree, as hone asks of those that are messages."""
        kind = self.random.choice(list(KINDS))
        field = message.DESCRIPTOR.fields_by_name[KINDS[kind]]
        if field.type == Field.TYPE_MESSAGE and depth <= 0:
            kind, field = 2, message.DESCRIPTOR.fields_by_name["i"]
        message.type = kind
        message.name = self.name()
        self.field(message, field, depth)
        if not field.is_repeated and not message.HasField(field.name):
            setattr(message, field.name, self.scalar(field))
        if self.random.random() < 0.2:
            message.ref_attr_name = self.name()
        if self.random.random() < 0.2:
            message.doc_string = "doc"

    def tensor(self, message, depth):
        """Sizes that exist, and as many strings as the shape asks for."""
        self.fill(message, depth, skip=("dims", "data_location", "string_data", "name"))
        dims = [self.random.randrange(4) for _ in range(self.random.randrange(3))]
        message.dims.extend(dims)
        message.name = self.name()
        message.data_type = self.random.randrange(30)
        if message.data_type == onnx.TensorProto.STRING:
            n_elems = 1
            for dim in dims:
                n_elems *= dim
            message.string_data.extend([b"s"] * n_elems)

    def sparse(self, message, depth):
        self.tensor(message.values, depth)
        self.tensor(message.indices, depth)
        message.dims.extend([self.random.randrange(9) for _ in range(self.random.randrange(3))])

    def value_info(self, message, depth):
        """No value is described twice."""
        self.fill(message, depth, skip=("name",))
        message.name = self.name()

    def node(self, message, depth):
        """The operator is always written."""
        self.fill(message, depth)
        message.op_type = "Op"

    def function(self, message, depth):
        """So is the name of a function."""
        self.fill(message, depth)
        message.name = self.name()

    def type(self, message, depth):
        """One alternative only: the others would be cleared anyway."""
        kinds = [f for f in message.DESCRIPTOR.fields if f.containing_oneof]
        if self.random.random() < 0.9:
            self.field(message, self.random.choice(kinds), depth)
        if self.random.random() < 0.3:
            message.denotation = "TENSOR"

    def model(self):
        model = onnx.ModelProto()
        self.fill(model, MAX_DEPTH, skip=("graph",))
        model.graph.SetInParent()
        self.message(model.graph, MAX_DEPTH)
        return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default=os.environ.get("HONE_BIN", "hone"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    n_failed = 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "source.onnx"), pathlib.Path(folder, "target.onnx")
        for seed in range(options.seed, options.seed + options.count):
            model = Filler(seed).model()
            source.write_bytes(model.SerializeToString())
            run = subprocess.run([options.hone, "save", str(source), "-o", str(target)],
                                 capture_output=True, text=True)
            problem = run.stderr.strip() if run.returncode else None
            if not problem and onnx.ModelProto.FromString(target.read_bytes()) != model:
                problem = "the saved model is another one"
            if problem:
                n_failed += 1
                print(f"seed {seed}: {problem}")
    print(f"{options.count} models, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
