"""Every class of differences to onnxruntime is explained on its page."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "hostile"))

import difference_classes


def test_the_page_names_every_class_and_no_other():
    page = (ROOT / "docs" / "differences.md").read_text()
    named = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    assert named == {name for name, _, _ in difference_classes.CLASSES}


def test_rows_find_their_class():
    refused = {"what": "hone refuses, onnxruntime runs", "operators": ["A"], "why": "node 'n' (A): hone cannot run this operator"}
    assert difference_classes.class_of(refused) == "missing-operators"
    differs = {"what": "differs", "operators": ["Add", "Slice"], "guilty": "Slice", "why": "another shape"}
    assert difference_classes.class_of(differs) == "backward-slices"
    assert difference_classes.class_of(differs | {"guilty": "Conv"}) is None
