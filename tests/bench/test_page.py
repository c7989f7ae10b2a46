"""Pages are written from clean trees and good results only."""

import json
import subprocess

import meta
import page
import pytest
import results

PAGE = "docs/performance.md"
META = {
    "commit": "", "dirty": False, "changed_files": [], "compiler": "cc 1", "flags": "-O3", "cpu": {"name": "a processor"},
    "processors": 2, "usable_processors": 2, "system": "", "scheduler": "normal", "load_before": [0, 0, 0],
    "load_after": [0, 0, 0], "command": ["bench_load.py"], "options": {}, "environment": {}, "versions": {},
}
ROW = {"model": "m", "bytes": 1, "info_s": 1, "onnx_load_s": 2, "save_s": 1, "cp_s": 1, "info_anonymous_bytes": 0}


def git(root, *arguments):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=root, check=True,
                   capture_output=True)


class Tree:
    """A repository with one page and one result."""

    def __init__(self, root):
        self.root, self.folder = root, root / "bench" / "results"
        self.folder.mkdir(parents=True)
        (root / "src").mkdir()
        (root / "docs").mkdir()
        (root / "src" / "a.c").write_text("int a;\n")
        (root / PAGE).write_text("before\n<!-- bench load -->\nold\n<!-- end of bench load -->\nafter\n")
        git(root, "init", "-q")
        self.commit()
        self.write_result()

    def commit(self):
        git(self.root, "add", ".")
        git(self.root, "commit", "-q", "-m", "all")

    def write_result(self, row=ROW, schema=results.SCHEMA, **changes):
        record = META | {"commit": meta.commit(self.root)} | changes
        result = {"schema": schema, "bench": "load", "meta": record, "rows": [row], "summary": {}}
        (self.folder / "load.json").write_text(json.dumps(result))

    def write_page(self):
        """Whether the page was written."""
        before = (self.root / PAGE).read_text()
        status = page.write(self.folder, self.root)
        assert (status == 0) == ((self.root / PAGE).read_text() != before)
        return status == 0


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_a_clean_tree_writes_between_the_marks(tree):
    assert tree.write_page()
    text = (tree.root / PAGE).read_text()
    assert text.startswith("before\n<!-- bench load -->\n") and text.endswith("<!-- end of bench load -->\nafter\n")
    assert "a processor" in text and "| m, 0.00 MB |" in text and "old" not in text


def test_results_that_were_committed_since_do_not_make_others_stale(tree):
    tree.commit()
    assert tree.write_page()


def test_a_changed_file_refuses(tree, capsys):
    (tree.root / "src" / "a.c").write_text("int b;\n")
    assert not tree.write_page()
    assert "src/a.c" in capsys.readouterr().err


def test_a_new_file_refuses(tree):
    (tree.root / "src" / "b.c").write_text("int b;\n")
    assert not tree.write_page()


def test_a_result_of_a_dirty_tree_refuses(tree):
    tree.write_result(dirty=True, changed_files=["src/a.c"])
    assert not tree.write_page()


def test_a_result_of_other_sources_refuses(tree):
    (tree.root / "src" / "a.c").write_text("int b;\n")
    tree.commit()
    assert not tree.write_page()


def test_a_result_of_an_unknown_commit_refuses(tree):
    tree.write_result(commit="0" * 40)
    assert not tree.write_page()


def test_a_failed_row_refuses(tree):
    tree.write_result(row={"model": "m", "failure": "Wrong: differs"})
    assert not tree.write_page()


def test_an_old_form_refuses(tree):
    tree.write_result(schema=1)
    assert not tree.write_page()


def test_a_missing_result_refuses(tree):
    (tree.folder / "load.json").unlink()
    assert not tree.write_page()
