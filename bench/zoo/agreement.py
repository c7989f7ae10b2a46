"""Do two engines agree? Bounds by element type, widened only by what onnxruntime's own results move.

Integers, strings and truth values are equal; floats are within a share of the largest number of their output, which
counts as SMALLEST_UNIT where it is less: Sigmoid in onnxruntime is off by 1e-7, whatever it gives. Where they are not, onnxruntime is asked how far its own outputs move when the last bits of the inputs change, and how far its own
levels of optimization are apart: four times as far is allowed, up to MOST. Sequences and maps are compared item by item.
"""

import numpy

import engines

BOUNDS = {"f8": 2e-5, "f4": 2e-5, "f2": 4e-3}  # of the largest number
SMALLEST_UNIT = 0.01
MOST = 0.05
SHAKES = 6
TIMES_AS_MUCH = 4
LAST_BITS = {"f8": 1e-6, "f4": 1e-6, "f2": 1e-3}


def shapes_text(inputs):
    return " ".join("x".join(map(str, value.shape)) or "scalar" for value in inputs.values())


def leaves(value, path=""):
    """(path, array) of a tensor, of all items of a sequence, of a map."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], f"{path}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, numpy.asarray(value)


def gap(ours, theirs):
    """The largest difference as a share of the largest number; a sentence where that has no meaning."""
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"{ours.dtype}{list(ours.shape)} instead of {theirs.dtype}{list(theirs.shape)}"
    if theirs.dtype.kind != "f":
        n = int(numpy.count_nonzero(ours != theirs))
        return f"{n} of {theirs.size} elements differ" if n else 0.0
    finite = numpy.isfinite(theirs)
    if not numpy.array_equal(ours[~finite], theirs[~finite], equal_nan=True) or not numpy.isfinite(ours[finite]).all():
        return "infinities or NaN differ"
    largest = max(float(abs(theirs[finite]).max(initial=0)), SMALLEST_UNIT)
    return float(abs(ours[finite].astype("f8") - theirs[finite]).max(initial=0)) / largest


def gaps(ours, theirs):
    """[(name of the output, gap, element type)]"""
    if ours.keys() != theirs.keys():
        return [("outputs", f"are {sorted(ours)} instead of {sorted(theirs)}", "")]
    found = []
    for name, expected in theirs.items():
        expected, own = dict(leaves(expected)), dict(leaves(ours[name]))
        if expected.keys() != own.keys():
            found.append((name, "other items", ""))
            continue
        found += [(name + path, gap(own[path], value), value.dtype.str[1:]) for path, value in expected.items()]
    return found


def moves(path, inputs, expected):
    """How far onnxruntime's outputs move by themselves: {"shaken", "levels"}, as shares of the largest number."""
    def farthest(found):
        numbers = [number for _, number, _ in gaps(found, expected)]
        return max((MOST if isinstance(number, str) else number for number in numbers), default=0.0)

    random = numpy.random.default_rng(0)
    oracle = engines.Ort(engines.ONNXRUNTIME, path, 1)
    shaken = 0.0
    for _ in range(SHAKES):
        changed = {name: (value * (1 + random.uniform(-1, 1, value.shape) * LAST_BITS[value.dtype.str[1:]])).astype(value.dtype)
                   if value.dtype.kind == "f" else value for name, value in inputs.items()}
        shaken = max(shaken, farthest(oracle.outputs(changed)))
    plain = engines.Ort(engines.ONNXRUNTIME, path, 1, level="none")
    return {"shaken": shaken, "levels": farthest(plain.outputs(inputs))}


def compare(ours, theirs, own_moves):
    """{"difference", "bound", "verdict", "why"}; `own_moves` is asked only where the plain bound does not hold."""
    found = gaps(ours, theirs)
    sentences = [f"'{name}': {number}" for name, number, _ in found if isinstance(number, str)]
    numbers = [(number, BOUNDS.get(kind, 0.0), name) for name, number, kind in found if not isinstance(number, str)]
    worst = max((number for number, _, _ in numbers), default=0.0)
    row = {"difference": worst, "bound": max((bound for _, bound, _ in numbers), default=0.0)}
    if not sentences and all(number <= bound for number, bound, _ in numbers):
        return row | {"verdict": "agrees"}
    moved = own_moves()
    row |= {"bound": min(MOST, TIMES_AS_MUCH * max(moved.values())), "moves": moved}
    if not sentences and worst <= row["bound"]:
        return row | {"verdict": "agrees", "why": "onnxruntime's own results move as far"}
    if sentences and max(moved.values()) >= MOST:
        return row | {"verdict": "unstable", "why": "onnxruntime's own results change as much; " + "; ".join(sentences)[:200]}
    return row | {"verdict": "differs", "why": ("; ".join(sentences) or f"by {worst:.1e}, {row['bound']:.1e} is allowed")[:300]}
