"""Inputs for the models of the zoo.

Most models take random numbers of any size. The tables say what others need: sizes of free dimensions, ranges of
integers, values that mean something. A free dimension that no table names gets the first of SIZES_TO_TRY with which
onnxruntime runs the model.
"""

import re

import numpy

from recipe_table import INTEGERS, MODELS, NAMED_SIZES

DTYPES = {"float": "f4", "double": "f8", "float16": "f2", "int64": "i8", "int32": "i4", "int16": "i2", "int8": "i1",
          "uint8": "u1", "uint16": "u2", "uint32": "u4", "uint64": "u8", "bool": "?", "string": object}
SIZES_TO_TRY = (64, 128, 1, 224, 16, 320, 512, 640, 2, 8)
MOST_ELEMENTS = 1 << 24
WORDS = ("a", "cat", "the", "red", "house")


class NoInputs(Exception):
    """No table says how to make inputs, and random ones do not run."""


def recipe_of(name):
    """The union of the rows of MODELS whose pattern is found in the name."""
    found = {}
    for pattern, recipe in MODELS.items():
        if re.search(pattern, name):
            for key, value in recipe.items():
                found[key] = {**found.get(key, {}), **value}
    return found


def named_size(name):
    for pattern, size in NAMED_SIZES.items():
        if re.search(pattern, name, re.I):
            return size
    return None


def size_of(node, axis, dim, recipe, other):
    """Of one dimension: as declared, as the recipe says, by its name, or the size that is tried."""
    if isinstance(dim, int) and dim > 0:
        return dim
    for key in (f"{node.name}:{axis}", dim):
        if key in recipe.get("sizes", {}):
            return recipe["sizes"][key]
    by_name = named_size(dim) if isinstance(dim, str) else None
    if by_name is not None:
        return by_name
    return 1 if axis == 0 else other


def dtype_of(node):
    element = re.fullmatch(r"tensor\((\w+)\)", node.type)
    if not element or element.group(1) not in DTYPES:
        raise NoInputs(f"input '{node.name}' is a {node.type}")
    return numpy.dtype(DTYPES[element.group(1)])


def range_of(name, dtype, recipe):
    if name in recipe.get("integers", {}):
        return recipe["integers"][name]
    for pattern, limits in INTEGERS.items():
        if re.search(pattern, name, re.I):
            return limits
    return (0, 256) if dtype == "u1" else (0, 2)


def array_for(node, shape, recipe, generator):
    dtype = dtype_of(node)
    if node.name in recipe.get("values", {}):
        return numpy.broadcast_to(numpy.asarray(recipe["values"][node.name], dtype), shape).copy()
    if dtype == object:
        return generator.choice(WORDS, shape).astype(object)
    if dtype == bool:
        return numpy.ones(shape, bool)
    if dtype.kind in "iu":
        low, high = range_of(node.name, dtype, recipe)
        return generator.integers(low, high, shape).astype(dtype)
    low_high = recipe.get("reals", {}).get(node.name)
    numbers = generator.uniform(*low_high, shape) if low_high else generator.standard_normal(shape)
    return numbers.astype(dtype)


def inputs_with(nodes, recipe, other):
    """Dictionary of inputs where free dimensions that nothing names have the size `other`."""
    generator = numpy.random.default_rng(0)
    inputs = {}
    for node in nodes:
        shape = [size_of(node, axis, dim, recipe, other) for axis, dim in enumerate(node.shape)]
        if numpy.prod(shape, dtype=float) > MOST_ELEMENTS:
            raise NoInputs(f"input '{node.name}' would have {shape}")
        inputs[node.name] = array_for(node, shape, recipe, generator)
    return inputs


def make(name, session):
    """Inputs that the session runs on."""
    recipe, last = recipe_of(name), None
    for other in SIZES_TO_TRY:
        inputs = inputs_with(session.get_inputs(), recipe, other)
        try:
            session.run(None, inputs)
        except Exception as error:
            last = error
        else:
            return inputs
    raise NoInputs(f"no sizes run: {str(last).strip()[:200]}")
