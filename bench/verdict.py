"""Are our results those of onnxruntime? A bench whose results are wrong has measured nothing.

Integers must be equal and floats within TOLERANCE of the largest number of their output. Where they are not, onnxruntime
itself is asked how far its outputs move when the last bits of the inputs change (a quantized activation that is nearly
a tie, the logarithm of a sum that nearly cancels); more than four times as far, or more than MOST_TOLERANCE, fails.
Integers as inputs have no last bits: then how far its outputs move without its optimizations counts, which round
quantized activations at other places.
Outputs in float16 are rounded at other places by each engine, and must be within HALF_TOLERANCE.
Outputs that are one single number throughout prove nothing, and fail, too.

Lists of detections may have equal scores in any order, and where the list is full any of those that tie for the last
places: they are compared as sets.
"""

import numpy

import models_to_measure  # finds tests/conform
import run_models
import run_optimized

TOLERANCE = run_optimized.TOLERANCE
HALF_TOLERANCE = 2**-9
MOST_TOLERANCE = 0.05
MOST_CUT_TIES = 0.1  # of all detections
assert TOLERANCE <= run_models.TOLERANCE
# Outputs that are a list of detections: boxes, scores, labels.
DETECTIONS = {"ssdlite320_mobilenet_v3": ("boxes", "scores", "labels")}


class Wrong(Exception):
    """The results differ from onnxruntime's."""


def says_nothing(outputs):
    floats = [value.ravel() for value in outputs.values() if value.dtype.kind == "f"]
    numbers = numpy.concatenate(floats) if floats else numpy.empty(0)
    return numbers.size > 1 and bool((numbers == numbers[0]).all())


def largest_difference(ours, theirs, tolerance=TOLERANCE):
    """(difference, sentences): the largest of all outputs, and what is wrong with those beyond the tolerance."""
    if ours.keys() != theirs.keys():
        return float("inf"), [f"outputs {sorted(ours)} instead of {sorted(theirs)}"]
    worst, sentences = 0.0, []
    for name, expected in theirs.items():
        gap = run_models.difference(ours[name], expected)
        if isinstance(gap, str):
            sentences.append(f"'{name}': {gap}")
            worst = float("inf")
        elif gap > tolerance:
            sentences.append(f"'{name}' differs by {gap:.1e} of the largest number, {tolerance:.1e} is allowed")
        worst = max(worst, gap if not isinstance(gap, str) else 0.0)
    return worst, sentences


def moves_of(oracle, inputs, theirs, plain):
    """How far onnxruntime's outputs may be from ours, by how far they move themselves."""
    if plain is None or any(value.dtype.kind == "f" for value in inputs.values()):
        return run_optimized.tolerance_of(oracle, inputs, theirs)
    return run_optimized.TIMES_AS_MUCH * largest_difference(plain(), theirs)[0]


def judge(model, ours, theirs, oracle=None, inputs=None, plain=None):
    """{"difference", "tolerance"} of two dictionaries of outputs; raises Wrong when they are not the same. plain():
    the outputs of onnxruntime without optimizations."""
    if says_nothing(theirs):
        raise Wrong("all outputs are the same number, so they prove nothing")
    if model in DETECTIONS:
        return {"difference": detections_differ(ours, theirs, *DETECTIONS[model]), "tolerance": TOLERANCE}
    tolerance = HALF_TOLERANCE if any(value.dtype == numpy.float16 for value in theirs.values()) else TOLERANCE
    worst, sentences = largest_difference(ours, theirs, tolerance)
    if sentences and numpy.isfinite(worst) and oracle is not None:
        tolerance = max(tolerance, min(MOST_TOLERANCE, moves_of(oracle, inputs, theirs, plain)))
        worst, sentences = largest_difference(ours, theirs, tolerance)
    if sentences:
        raise Wrong("; ".join(sentences))
    return {"difference": worst, "tolerance": tolerance}


# ---- detections ----------------------------------------------------------------------------------------

def as_rows(outputs, boxes, scores, labels):
    """One row per detection (label, box), and its score."""
    label = outputs[labels].reshape(-1, 1).astype("f8")
    return numpy.hstack([label, outputs[boxes].reshape(len(label), -1)]), outputs[scores].ravel().astype("f8")


def tied_groups(scores, tolerance):
    """Ends of the runs of scores, best first, that are equal within the tolerance."""
    ends = [i + 1 for i in range(len(scores) - 1) if scores[i] - scores[i + 1] > tolerance]
    return [*ends, len(scores)]


def unmatched(ours, theirs, tolerance):
    """How many rows of ours have no partner of their own in theirs; and the largest distance of those that have."""
    left, worst, alone = list(range(len(theirs))), 0.0, 0
    for row in ours:
        gaps = [float(abs(row - theirs[i]).max()) for i in left]
        best = int(numpy.argmin(gaps)) if gaps else -1
        if best < 0 or gaps[best] > tolerance or row[0] != theirs[left[best]][0]:
            alone += 1
        else:
            worst = max(worst, gaps[best])
            left.pop(best)
    return alone, worst


def detections_differ(ours, theirs, *names):
    """The largest difference of scores and boxes, each of its largest number; raises Wrong when the sets differ."""
    for name in names:
        if ours[name].shape != theirs[name].shape or ours[name].dtype != theirs[name].dtype:
            raise Wrong(f"'{name}': {ours[name].dtype}{list(ours[name].shape)} instead of "
                        f"{theirs[name].dtype}{list(theirs[name].shape)}")
    (our_rows, our_scores), (rows, scores) = (as_rows(found, *names) for found in (ours, theirs))
    score_unit, box_unit = max(abs(scores).max(), 1e-30), max(abs(rows[:, 1:]).max(), 1e-30)
    order, our_order = numpy.argsort(-scores, kind="stable"), numpy.argsort(-our_scores, kind="stable")
    worst = float(abs(our_scores[our_order] - scores[order]).max()) / score_unit
    if not worst <= TOLERANCE:
        raise Wrong(f"scores differ by {worst:.1e} of the largest, {TOLERANCE:.1e} is allowed")
    start, tie = 0, TOLERANCE * score_unit
    for end in tied_groups(scores[order], tie):
        alone, gap = unmatched(our_rows[our_order[start:end]], rows[order[start:end]], TOLERANCE * box_unit)
        if alone and end < len(order):
            raise Wrong(f"{alone} of {end - start} detections with the score {scores[order[start]]:.6g} are others")
        if alone > MOST_CUT_TIES * len(order) or (alone and end - start == 1):
            raise Wrong(f"{alone} of the last {end - start} detections are others, too many to be a tie at the cut")
        worst, start = max(worst, gap / box_unit), end
    return float(worst)
