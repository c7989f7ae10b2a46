"""Every type in and out: arrays, strings, small floats, sequences, maps, tensors of other packages."""

import gc

import hone
import ml_dtypes
import numpy as np
import onnx
import pytest
from conftest import identity, make_model
from onnx import TensorProto, helper

PLAIN = ["f4", "f8", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]
SMALL = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "int4", "uint4"]


def session_of(dtype, shape, opset=17):
    elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return hone.InferenceSession(identity(elem_type, shape, opset))


@pytest.mark.parametrize("dtype", PLAIN)
def test_every_type_of_numpy_goes_through(dtype):
    x = np.arange(-6, 6).reshape(3, 4).astype(dtype)
    (y,) = session_of(dtype, [3, 4]).run(None, {"x": x})
    assert y.dtype == x.dtype and y.shape == x.shape
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("name", SMALL)
def test_every_type_of_ml_dtypes_goes_through(name):
    x = np.arange(5).astype(getattr(ml_dtypes, name))  # an odd number of elements, for packed types
    (y,) = session_of(x.dtype, [5], 23).run(None, {"x": x})
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.astype(np.float32), x.astype(np.float32))


def test_negative_packed_integers_keep_their_sign():
    x = np.array([-8, 7, -1], ml_dtypes.int4)
    np.testing.assert_array_equal(session_of(x.dtype, [3], 23).run(None, {"x": x})[0].astype(int), [-8, 7, -1])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1, 1)])
def test_scalars_and_empty_arrays(shape):
    x = np.ones(shape, np.float32)
    (y,) = session_of("f4", list(shape)).run(None, {"x": x})
    assert isinstance(y, np.ndarray) and y.shape == shape


def test_strings_of_all_kinds():
    session = hone.InferenceSession(identity(TensorProto.STRING, ["N"]))
    expected = ["", "plain", "zwölf", "a\0b"]
    for x in (np.array(expected, object), expected, np.array([s.encode() for s in expected], object)):
        (y,) = session.run(None, {"x": x})
        assert y.dtype == object and y.tolist() == expected
    (y,) = session.run(None, {"x": np.array(["fixed", "width"])})
    assert y.tolist() == ["fixed", "width"]


def test_arrays_that_lie_awkwardly_are_copied():
    session = session_of("f4", ["N", "M"])
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    raw = np.zeros(4 * 12 + 1, np.uint8)
    unaligned = raw[1:].view(np.float32).reshape(3, 4)
    unaligned[...] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    for array in (x.T, x[::2], x[:, ::-1], x.astype(">f4"), unaligned, read_only):
        np.testing.assert_array_equal(session.run(None, {"x": array})[0], array)


def test_plain_numbers_and_lists_take_the_type_of_the_input():
    assert session_of("i8", []).run(None, {"x": 3})[0].dtype == np.int64
    assert session_of("f2", ["N"]).run(None, {"x": [1, 2]})[0].dtype == np.float16
    assert session_of("f4", []).run(None, {"x": np.float32(2)})[0] == 2


def test_outputs_outlive_their_session():
    session = session_of("f4", ["N"])
    (y,) = session.run(None, {"x": np.arange(1000, dtype=np.float32)})
    view = y[::2]
    del session, y
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(0, 1000, 2, dtype=np.float32))


def test_inputs_are_not_copied():
    x = np.arange(8, dtype=np.float32)
    value = hone.OrtValue.ortvalue_from_numpy(x)
    assert value.data_ptr() == x.ctypes.data
    x[0] = 42
    assert np.asarray(value)[0] == 42 and value.numpy()[0] == 42
    assert np.from_dlpack(value)[0] == 42
    assert hone.OrtValue.from_dlpack(x).data_ptr() == x.ctypes.data


def test_memory_of_a_value_lives_as_long_as_its_views():
    view = np.asarray(hone.OrtValue.ortvalue_from_numpy(np.arange(1000)))
    shared = np.from_dlpack(hone.OrtValue.ortvalue_from_numpy(np.arange(1000)))
    gc.collect()
    np.zeros(1000)
    np.testing.assert_array_equal(view, np.arange(1000))
    np.testing.assert_array_equal(shared, np.arange(1000))


def test_memory_that_is_read_only_stays_so(adder):
    constant = np.ones((1, 2), np.float32)
    constant.flags.writeable = False
    value = hone.OrtValue.ortvalue_from_numpy(constant)
    assert not np.asarray(value).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        np.from_dlpack(value)
    session = hone.InferenceSession(adder)
    binding = session.io_binding()
    binding.bind_ortvalue_input("x", value)
    binding.bind_cpu_input("y", constant)
    binding.bind_ortvalue_output("z", value)
    with pytest.raises(ValueError, match="'z' is bound to memory that is read-only"):
        session.run_with_iobinding(binding)


def test_dlpack_copies_when_asked_to():
    x = np.arange(3.0)
    value = hone.OrtValue.ortvalue_from_numpy(x)
    copied = hone.OrtValue.from_dlpack(value.__dlpack__(copy=True))
    assert copied.data_ptr() != value.data_ptr() and copied.numpy().tolist() == [0, 1, 2]


class OnlyDLPack:
    """A tensor of another package."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def test_tensors_of_other_packages_are_inputs():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (y,) = session_of("f4", ["N", 3]).run(None, {"x": OnlyDLPack(x)})
    np.testing.assert_array_equal(y, x)


def test_small_floats_without_their_package(monkeypatch):
    value = hone.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), TensorProto.BFLOAT16)
    assert value.data_type() == "tensor(bfloat16)" and value.shape() == [1]
    assert np.asarray(memoryview(value._value))[0] == 0x3F80
    (y,) = session_of(ml_dtypes.bfloat16, [1]).run_with_ort_values(None, {"x": value})
    assert y.numpy().astype(np.float32)[0] == 1


def sequence_model():
    tensors = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, ["N"])
    node = helper.make_node("Identity", ["s"], ["t"])
    output = helper.make_tensor_sequence_value_info("t", TensorProto.FLOAT, ["N"])
    return make_model([node], [tensors], [output])


def test_sequences_are_lists():
    session = hone.InferenceSession(sequence_model())
    assert session.get_inputs()[0].type == "seq(tensor(float))"
    items = [np.arange(n, dtype=np.float32) for n in (1, 3)]
    (y,) = session.run(None, {"s": items})
    assert isinstance(y, list) and [item.tolist() for item in y] == [[0], [0, 1, 2]]
    (value,) = session.run_with_ort_values(["t"], {"s": session.run_with_ort_values(None, {"s": _value(items)})[0]})
    assert value.is_tensor_sequence() and value.data_type() == "seq(tensor(float))"


def _value(items):
    return hone.OrtValue(
        hone._core.Value.from_sequence([hone.OrtValue.ortvalue_from_numpy(item)._value for item in items])
    )


def test_maps_are_dicts():
    nodes = [helper.make_node("ZipMap", ["x"], ["y"], domain="ai.onnx.ml", classlabels_strings=["cat", "dog"])]
    output = helper.make_value_info(
        "y",
        helper.make_sequence_type_proto(
            helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
        ),
    )
    model = make_model(nodes, [("x", TensorProto.FLOAT, ["N", 2])], [output], domains=[("ai.onnx.ml", 1)])
    session = hone.InferenceSession(model)
    assert session.get_outputs()[0].type == "seq(map(string,tensor(float)))"
    (y,) = session.run(None, {"x": np.array([[0.25, 0.75], [1, 0]], np.float32)})
    assert y == [{"cat": 0.25, "dog": 0.75}, {"cat": 1, "dog": 0}]


def test_dicts_are_inputs():
    nodes = [
        helper.make_node("DictVectorizer", ["x"], ["y"], domain="ai.onnx.ml", string_vocabulary=["one", "two", "three"])
    ]
    given = helper.make_value_info(
        "x", helper.make_map_type_proto(TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    )
    model = make_model(nodes, [given], [("y", TensorProto.FLOAT, [1, 3])], domains=[("ai.onnx.ml", 1)])
    (y,) = hone.InferenceSession(model).run(None, {"x": {"three": 3.0, "one": 1.0}})
    assert y.reshape(-1).tolist() == [1, 0, 3]


def test_optional_inputs_may_be_none():
    optional = helper.make_value_info(
        "x", helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [2]))
    )
    model = make_model(
        [helper.make_node("OptionalHasElement", ["x"], ["y"])], [optional], [("y", TensorProto.BOOL, [])], opset=18
    )
    session = hone.InferenceSession(model)
    assert session.get_inputs()[0].type == "optional(tensor(float))"
    assert not session.run(None, {"x": None})[0]
    assert session.run(None, {"x": np.ones(2, np.float32)})[0]


def test_defaults_may_be_replaced():
    model = make_model(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [("x", TensorProto.FLOAT, [2]), ("w", TensorProto.FLOAT, [2])],
        [("y", TensorProto.FLOAT, [2])],
        [("w", np.ones(2, np.float32))],
    )
    session = hone.InferenceSession(model)
    assert [arg.name for arg in session.get_inputs()] == ["x"]
    assert [arg.name for arg in session.get_overridable_initializers()] == ["w"]
    x = np.zeros(2, np.float32)
    assert session.run(None, {"x": x})[0].tolist() == [1, 1]
    assert session.run(None, {"x": x, "w": x + 5})[0].tolist() == [5, 5]


def test_images_are_decoded_with_pillow():
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "png")
    model = make_model(
        [helper.make_node("ImageDecoder", ["x"], ["y"])],
        [("x", TensorProto.UINT8, ["N"])],
        [("y", TensorProto.UINT8, ["H", "W", 3])],
        opset=20,
    )
    session = hone.InferenceSession(model)
    (y,) = session.run(None, {"x": np.frombuffer(file.getvalue(), np.uint8)})
    np.testing.assert_array_equal(y, pixels)
    with pytest.raises(hone.Error, match="image"):
        session.run(None, {"x": np.zeros(10, np.uint8)})


def test_a_model_of_the_onnx_package_needs_no_file():
    model = onnx.ModelProto()
    model.CopyFrom(identity(TensorProto.FLOAT, [1]))
    assert hone.InferenceSession(model).run(None, {"x": [2.0]})[0].tolist() == [2]


def test_many_inputs_and_outputs():
    n = 40
    names = [(f"x{i}", TensorProto.FLOAT, ["N"]) for i in range(n)]
    outputs = [(f"y{i}", TensorProto.FLOAT, ["N"]) for i in range(n)]
    nodes = [helper.make_node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(n)]
    session = hone.InferenceSession(make_model(nodes, names, outputs))
    results = session.run(None, {f"x{i}": np.full(i, i, np.float32) for i in reversed(range(n))})
    assert [result.tolist() for result in results] == [[-i] * i for i in range(n)]
    with pytest.raises(hone.InvalidArgument, match="'x7' is missing"):
        session.run(None, {f"x{i}": np.zeros(1, np.float32) for i in range(n) if i != 7})
