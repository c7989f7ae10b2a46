"""Result files: one JSON form for all benches.

    {"schema": 2, "bench": NAME, "meta": {...}, "rows": [...], "summary": {...}}

A row with a "failure" is one that must not be published; it makes the bench fail, as no rows do.
"""

import json
import sys
import traceback
from pathlib import Path

import meta

SCHEMA = 2
FOLDER = meta.ROOT / "bench" / "results"
META_KEYS = {"commit", "dirty", "compiler", "flags", "cpu", "processors", "system", "load_before", "load_after",
             "command", "options", "environment", "versions"}


class Recorder:
    """Collects the rows of one bench."""

    def __init__(self, bench, options):
        self.bench, self.options, self.rows = bench, options, []
        self.summary, self.extra = {}, {}  # what the table says under its rows; other keys of the file
        self.meta = meta.begin(options)

    def measure(self, head, measure, *arguments):
        """Adds the row that the function makes to `head`; what it raises becomes the row's failure."""
        try:
            row = head | measure(*arguments)
        except Exception as error:
            traceback.print_exc()
            row = head | {"failure": first_line(error)}
        self.add(row)
        return row

    def add(self, row):
        self.rows.append(row)
        if "failure" in row:
            print(f"FAILED: {name_of(row)}: {row['failure']}", file=sys.stderr)

    def finish(self, table):
        """Prints the table, writes the file if one is wanted, and returns the exit status."""
        result = {"schema": SCHEMA, "bench": self.bench, "meta": meta.end(self.meta), "rows": self.rows,
                  "summary": self.summary, **self.extra}
        print(table(result))
        if self.options.json:
            self.options.json.parent.mkdir(parents=True, exist_ok=True)
            self.options.json.write_text(json.dumps(result, indent=1) + "\n")
        for line in problems(result):
            print(f"{self.bench}: {line}", file=sys.stderr)
        return 1 if problems(result) else 0


def first_line(error):
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


def name_of(row):
    return " ".join(str(row[key]) for key in ("model", "threads", "level", "call") if key in row)


def problems(result):
    """Sentences on why the numbers must not be published, the tree left out."""
    found = [f"{name_of(row)} failed: {row['failure']}" for row in result["rows"] if "failure" in row]
    return found if result["rows"] else ["nothing was measured"]


def read(path):
    result = json.loads(Path(path).read_text())
    if result.get("schema") != SCHEMA:
        raise ValueError(f"{path}: schema {result.get('schema')} instead of {SCHEMA}; measure again")
    missing = META_KEYS - result["meta"].keys()
    if missing:
        raise ValueError(f"{path}: meta has no {', '.join(sorted(missing))}")
    return result


def add_options(parser):
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
