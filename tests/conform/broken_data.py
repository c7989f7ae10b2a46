"""Rules of constant data: tensors, sparse tensors, data in other files."""
import os

import numpy
from onnx import AttributeProto, SparseTensorProto, TensorProto, helper, numpy_helper

from broken import CONSTANT, PLAIN, attribute, case

FLOATS = numpy.arange(3, dtype=numpy.float32).tobytes()


# ---- tensors -------------------------------------------------------------------------------------------

def weight(title, *names, gap=None, **fields):
    """The initializer w with exactly these fields, and three floats as what is not given."""
    def edit(model):
        tensor = model.graph.initializer[0]
        tensor.Clear()
        tensor.name = "w"
        given = {"data_type": TensorProto.FLOAT, "dims": [3], **fields}
        for field, value in given.items():
            if value is None:
                continue
            if isinstance(value, list):
                getattr(tensor, field).extend(value)
            else:
                setattr(tensor, field, value)
    case(title, PLAIN, edit, "w", *names, gap=gap)


weight("tensor without a type", data_type=None, float_data=[1, 2, 3])
weight("tensor of undefined type", data_type=0, float_data=[1, 2, 3])
weight("tensor of unknown type", "99", data_type=99, float_data=[1, 2, 3])
weight("tensor without data")
weight("tensor with too little typed data", float_data=[1, 2])
weight("tensor with too much typed data", float_data=[1, 2, 3, 4], gap="shape and data contradict each other")
weight("tensor with too little raw data", "12", "8", raw_data=FLOATS[:8])
weight("tensor with too much raw data", raw_data=FLOATS + FLOATS, gap="shape and data contradict each other")
weight("tensor with half an element", raw_data=FLOATS[:10])
weight("tensor with empty raw data", raw_data=b"")
weight("tensor with raw and typed data", raw_data=FLOATS, float_data=[1, 2, 3])
weight("tensor with two typed fields", float_data=[1, 2, 3], int32_data=[1, 2, 3])
weight("tensor with a negative dimension", "-1", dims=[-1], float_data=[1, 2, 3])
weight("tensor whose size overflows", dims=[1 << 40, 1 << 40], float_data=[1, 2, 3])
weight("tensor that is huge", dims=[1 << 40], raw_data=FLOATS)
for kind, field in [("FLOAT", "int32_data"), ("FLOAT", "double_data"), ("FLOAT", "int64_data"),
                    ("DOUBLE", "float_data"), ("INT64", "int32_data"), ("INT32", "int64_data"),
                    ("UINT64", "int64_data"), ("UINT32", "int32_data"), ("FLOAT16", "float_data"),
                    ("BFLOAT16", "float_data"), ("BOOL", "int64_data"), ("UINT8", "uint64_data"),
                    ("INT8", "int64_data"), ("FLOAT8E4M3FN", "float_data"), ("INT4", "int64_data"),
                    ("COMPLEX64", "double_data"), ("COMPLEX128", "float_data"), ("STRING", "int32_data")]:
    weight(f"{kind} in {field}", data_type=getattr(TensorProto, kind), **{field: [1, 2, 3]})
weight("strings in raw data", data_type=TensorProto.STRING, raw_data=b"abc")
weight("string data for floats", string_data=[b"a", b"b", b"c"])
weight("too few strings", data_type=TensorProto.STRING, string_data=[b"a", b"b"])
weight("too many strings", data_type=TensorProto.STRING, string_data=[b"a"] * 4)
weight("empty tensor with data", dims=[0], float_data=[1])
for kind, n_bytes in [("DOUBLE", 20), ("INT64", 8), ("FLOAT16", 3), ("INT8", 2), ("BOOL", 4), ("INT4", 1),
                      ("UINT4", 3), ("FLOAT8E5M2", 1), ("COMPLEX64", 16)]:
    weight(f"{kind} with {n_bytes} raw bytes", data_type=getattr(TensorProto, kind), raw_data=b"\0" * n_bytes)


def constant(title, edit, *names, gap=None):
    """The attribute of a Constant."""
    case(title, CONSTANT, lambda m: edit(m.graph.node[0], attribute(m.graph.node[0], "value")),
         "const", *names, gap=gap)


constant("attribute tensor with too little data", lambda _n, a: a.t.float_data.pop(), "value")
constant("attribute tensor without a type", lambda _n, a: a.t.ClearField("data_type"), "value")
constant("attribute tensor of another type", lambda _n, a: a.t.CopyFrom(
    helper.make_tensor("t", TensorProto.INT64, [3], [1, 2, 3])), "y")
constant("attribute tensor of another shape", lambda _n, a: a.t.CopyFrom(
    helper.make_tensor("t", TensorProto.FLOAT, [4], [1, 2, 3, 4])), "y")
constant("attribute says tensor but holds none", lambda _n, a: a.ClearField("t"), "value")
constant("constant without a value", lambda n, _a: n.ClearField("attribute"))
constant("constant with two values", lambda n, _a: n.attribute.append(helper.make_attribute("value_float", 1.0)))
constant("constant with inputs", lambda n, _a: n.input.append("z"))
constant("list of tensors for a tensor", lambda _n, a: (a.tensors.add().CopyFrom(a.t), a.ClearField("t"),
                                                        setattr(a, "type", AttributeProto.TENSORS)), "value")


# ---- sparse tensors --------------------------------------------------------------------------------------

def sparse(title, *names, gap=None, values=(1, 2), indices=(0, 4), dims=(2, 3), index_dims=None,
           kind=TensorProto.FLOAT, index_kind=TensorProto.INT64, value_dims=None):
    """A sparse constant of shape 2x3 with two values, as attribute and as initializer."""
    def make():
        proto = SparseTensorProto(dims=dims)
        if values is not None:
            proto.values.CopyFrom(helper.make_tensor("sw", kind, value_dims or [len(values)], values))
        if indices is not None:
            proto.indices.CopyFrom(helper.make_tensor("", index_kind, index_dims or [len(indices)], indices))
        return proto

    def as_attribute(model):
        node = model.graph.node.add(op_type="Constant", name="sparse_const", output=["s"])
        node.attribute.add(name="sparse_value", type=AttributeProto.SPARSE_TENSOR).sparse_tensor.CopyFrom(make())

    def as_initializer(model):
        model.graph.sparse_initializer.append(make())

    case(title + " (attribute)", PLAIN, as_attribute, "sparse_const", *names, gap=gap)
    if values is not None:
        case(title + " (initializer)", PLAIN, as_initializer, "sw", *names, gap=gap)


sparse("sparse values missing", values=None)
sparse("sparse indices missing", indices=None)
sparse("sparse values of rank 2", values=(1, 2), value_dims=[1, 2])
sparse("sparse indices of float", index_kind=TensorProto.FLOAT)
sparse("sparse indices of int32", index_kind=TensorProto.INT32)
sparse("sparse indices too few", indices=(0,))
sparse("sparse indices too many", indices=(0, 1, 4))
sparse("sparse indices of rank 3", indices=(0, 1), index_dims=[2, 1, 1])
sparse("sparse index past the end", "6", indices=(0, 6))
sparse("sparse index negative", "-1", indices=(-1, 4))
sparse("sparse indices descend", indices=(4, 0))
sparse("sparse index twice", indices=(4, 4))
sparse("sparse coordinates past the end", "3", indices=(0, 0, 1, 3), index_dims=[2, 2])
sparse("sparse coordinates negative", "-1", indices=(0, -1, 1, 2), index_dims=[2, 2])
sparse("sparse coordinates descend", indices=(1, 0, 0, 1), index_dims=[2, 2])
sparse("sparse coordinates twice", indices=(1, 1, 1, 1), index_dims=[2, 2])
sparse("sparse coordinates of another rank", indices=(0, 0, 0, 1, 1, 1), index_dims=[2, 3])
sparse("sparse shape missing", dims=())
sparse("sparse dimension zero", "0", dims=(0, 3))
sparse("sparse dimension negative", "-2", dims=(-2, 3))


# ---- external data -----------------------------------------------------------------------------------------

def lay_files(folder):
    """What the cases below refer to, beside the models."""
    (folder / "data.bin").write_bytes(FLOATS)
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "sub" / "data.bin").write_bytes(FLOATS)
    outside = folder.parent / (folder.name + "-outside.bin")
    outside.write_bytes(FLOATS)
    for name, target in [("link.bin", outside), ("link_to_link.bin", folder / "link.bin")]:
        if not os.path.lexists(folder / name):
            (folder / name).symlink_to(target)


def external(title, *names, gap=None, **entries):
    def edit(model):
        tensor = model.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
    case(title, PLAIN, edit, "w", *names, gap=gap)


external("external data without a location")
external("external data with an empty location", location="")
external("external data in a missing file", "absent.bin", location="absent.bin")
external("external data in a folder", "sub", location="sub")
external("external data with an absolute path", location="/etc/hostname")
external("external data that climbs out", location="../data.bin")
external("external data that climbs out further in", location="sub/../../data.bin")
external("external data behind a link", location="link.bin")
external("external data behind two links", location="link_to_link.bin")
external("external data with a length that does not fit", location="data.bin", length=8,
         gap="shape and data contradict each other")
external("external data past the end of the file", location="data.bin", offset=8,
         gap="the data is not there")
external("external data with a negative offset", location="data.bin", offset=-4, gap="there is no such place")
external("external data with an offset that is no number", location="data.bin", offset="four",
         gap="there is no such place")
external("external data with a length past the end", location="data.bin", length=4096,
         gap="the data is not there")


def string_external(model):
    tensor = model.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(numpy.array(["a", "b", "c"], dtype=object), "w"))
    tensor.ClearField("string_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="data.bin")


case("external strings", PLAIN, string_external, "w")
