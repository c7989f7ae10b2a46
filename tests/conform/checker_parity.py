#!/usr/bin/env python3
"""What onnx.checker with full check rejects, `hone check` rejects as well, and says where.

    checker_parity.py [SEED]

Three parts: models that break one rule each (broken_*.py), valid models with random damage
(mutate.py; the same ones for the same seed), and models with several faults, all of which must be
listed. Where hone rejects what onnx.checker accepts, the reason is listed, too: as `gap` beside the
rule, or below for random damage. The command is found in HONE_BIN, the models by models.py.
"""
import pathlib
import random
import re
import sys
import tempfile

import onnx
from onnx import parser

import broken
import broken_data
import broken_operators  # noqa: F401  (importing the rules fills broken.CASES)
import broken_parts  # noqa: F401
import broken_structure  # noqa: F401
import models
import mutate
import verdicts

DEFAULT_SEED = 20
DAMAGES = {"backend": 2, "trained": 20, "real": 30}  # per model
MAX_MODEL_BYTES = 3_000_000  # larger ones only take longer

# Rejections of valid models by onnx.checker: (damaged operator, what it says) and why it is wrong.
ONNX_IS_WRONG = {
    ("RMSNormalization", "Y has inconsistent type"):
        "it gives Y the type of X, while its own schema says that of the scale",
    ("Squeeze", "differ in rank"):
        "it ignores negative axes before version 11, which every runtime counts from the end",
    **{(op, "Inferred shape and existing shape differ"):
       "before version 22 it counts a last window that starts in the end padding, which every runtime drops"
       for op in ("AveragePool", "LpPool", "MaxPool")},
}

# Rejections by hone that onnx.checker does not make: what hone says and why that is right.
HONE_IS_STRICTER = {
    r"is declared as .*, but .* gives": "onnx infers no shape here, or a less exact one",
    r"broadcast|numbers of elements differ|cannot be multiplied|has another size|does not fit"
    r"|is both \S+ and \S+|needs the shape|must have \d+ elements|dimension \d+ must be|channels, but the filter"
    r"|have size \d+ at axis|only size 1 can be|but the filter has|which has \d+ elements|must hold one number|do not fit":
        "sizes that contradict each other, which onnx does not compare for this operator",
    r"must have rank|must have one rank|its rank must be|must have the same rank|inputs must have rank|needs? \d+ (for|axes)":
        "ranks that onnx does not check for this operator",
    r"must lie in \[": "axes that onnx does not check for this operator",
    r"must be given together": "inputs that mean nothing without each other",
    r"the window spans|heads of equal size": "windows and heads that do not fit, which onnx does not compute",
    r"(has|have|had) \d+ (entries|values|inputs)|\d+ entries|\d+ axes|they must agree|there are \d+ outputs":
        "lists of the wrong length, which onnx does not count for this operator",
    r"\d+ inputs and \d+ outputs": "arguments that onnx does not count for training operators",
    r"must not be negative|must be (none|at least|one of|LEFT|RGB|TF|LOWER|constant|0 or 1|positive|RIGHT|\d)|must be \w+, \w+|must be \w+ or \w+":
        "an attribute's value that the operator does not define",
    r"delta is 0, but must not be|cannot be negative": "values that only hone follows through the graph",
    r"has no operator '": "onnx takes any name in the preview domains",
    r"has no attribute '": "onnx takes any attribute for some function operators",
    r"is missing, but is not optional": "onnx takes gaps in lists of inputs",
    r"there are \d+ and \d+|names one axis twice|must have one element|blocks of":
        "numbers of arguments, axes and elements that onnx does not check for this operator",
    r"elements of type \S+ need \d+ bytes, but": "onnx accepts more data than the shape asks for",
}


# ---- one rule each ---------------------------------------------------------------------------------

def said(errors):
    return " ".join(" ".join((e["node"], e["op"], e["value"], e["message"])) for e in errors)


def judge_case(case, verdict):
    """What is wrong with the verdicts on a model that is known to be broken."""
    if not verdict.errors:
        return f"hone accepts it; onnx: {verdict.onnx}"
    if bool(verdict.onnx) == bool(case.gap):
        return f"onnx.checker: {verdict.onnx or 'accepts it, which has no reason'}"
    unsaid = [name for name in case.names if name not in said(verdict.errors)]
    if unsaid:
        return f"no error mentions {', '.join(unsaid)}: {said(verdict.errors)}"
    return None


def check_rules(folder):
    broken_data.lay_files(folder)
    paths = []
    for i, case in enumerate(broken.CASES):
        paths.append(folder / f"rule_{i}.onnx")
        paths[-1].write_bytes(case.model.SerializeToString())
    wrong = []
    for case, verdict in zip(broken.CASES, verdicts.ask_both(paths)):
        problem = judge_case(case, verdict)
        if problem:
            wrong.append(f"{case.title}: {problem}")
    n_gaps = sum(bool(case.gap) for case in broken.CASES)
    print(f"{len(paths)} models that break one rule each, {n_gaps} of which onnx.checker accepts")
    return wrong


# ---- random damage -----------------------------------------------------------------------------------

def damaged_models(folder, rng):
    """(path, title, names) of damaged copies."""
    found = []
    for group, per_model in DAMAGES.items():
        for path in models.find([group]):
            data = path.read_bytes() if path.stat().st_size <= MAX_MODEL_BYTES else b""
            for _ in range(per_model if data else 0):
                model = onnx.ModelProto.FromString(data)
                mutate.name_nodes(model.graph)
                damage = rng.choice(list(mutate.MUTATIONS))
                names = mutate.MUTATIONS[damage](model, rng)
                if names is None:
                    continue
                target = folder / f"damage_{len(found)}.onnx"
                target.write_bytes(model.SerializeToString())
                found.append((target, f"{path.parent.name}/{path.name}, {damage}", names))
    return found


def is_onnx_wrong(complaint):
    return any(f"op_type:{op}" in complaint and text in complaint for op, text in ONNX_IS_WRONG)


def is_stricter(errors):
    return any(re.search(pattern, errors[0]["message"]) for pattern in HONE_IS_STRICTER)


def judge_damage(names, verdict):
    if verdict.onnx == verdicts.CRASHED:
        return None
    if verdict.onnx and not verdict.errors:
        return None if is_onnx_wrong(verdict.onnx) else f"hone accepts it; onnx: {verdict.onnx}"
    if not verdict.errors:
        return None
    if not verdict.onnx and not is_stricter(verdict.errors):
        return f"only hone rejects it, which has no reason: {said(verdict.errors[:1])}"
    is_placed = verdict.errors[0]["node"] or any(name and name in said(verdict.errors) for name in names)
    return None if is_placed else f"the error has no place: {said(verdict.errors)}"


def check_damage(folder, seed):
    found = damaged_models(folder, random.Random(seed))
    judged = verdicts.ask_both([path for path, _, _ in found])
    wrong = []
    for (_, title, names), verdict in zip(found, judged):
        problem = judge_damage(names, verdict)
        if problem:
            wrong.append(f"{title}: {problem}")
    both = sum(bool(v.onnx) and bool(v.errors) for v in judged)
    stricter = sum(not v.onnx and bool(v.errors) for v in judged)
    crashes = sum(v.onnx == verdicts.CRASHED for v in judged)
    print(f"{len(found)} damaged models (seed {seed}): both reject {both}, only hone {stricter}; "
          f"onnx.checker crashed on {crashes}")
    return wrong


# ---- all problems at once ------------------------------------------------------------------------------

MANY_FAULTS = """
<ir_version: 10, opset_import: ["" : 21]>
main (float[2,3] x, float[4] z) => (float[2,3] y) {
   [unknown] a = Rlu (x)
   [sizes] b = Add (x, z)
   [arity] c = Relu (x, x)
   [kind] d = LeakyRelu <alpha: int = 1> (x)
   [needed] e = Concat (x, x)
   [ghostly] f = Neg (ghost)
   [typed] g = And (x, x)
   [ranged] h = Softmax <axis: int = 5> (x)
   [fine] y = Identity (x)
}"""


def check_all_listed(folder):
    path = folder / "many.onnx"
    model = parser.parse_model(MANY_FAULTS)
    path.write_bytes(model.SerializeToString())
    named = {error["node"] for error in verdicts.ask_hone([path])[0]}
    wanted = {node.name for node in model.graph.node} - {"fine"}
    return [] if named == wanted else [f"many faults: listed {sorted(named)} instead of {sorted(wanted)}"]


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_SEED
    if models.missing():
        print(models.missing())
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "models"
        folder.mkdir()
        wrong = check_rules(folder) + check_damage(folder, seed) + check_all_listed(folder)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(wrong)} complaints (onnx {onnx.__version__})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
