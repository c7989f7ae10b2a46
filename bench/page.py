"""Puts the tables of bench/results into the pages, between the marks

    <!-- bench NAME -->
    <!-- end of bench NAME -->

and refuses all of them when one number does not belong there: the tree differs from its commit, a result was measured
in a tree that did or with other sources, a row failed, a file is missing or has an old form.
"""

import importlib
import re
import sys
from pathlib import Path

import meta
import results

PAGES = [path for path in meta.WRITTEN if path.endswith(".md")]
MARKED = re.compile(r"(<!-- bench ([\w-]+) -->\n).*?(<!-- end of bench \2 -->)", re.S)
# What a number depends on.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "bench", "cli", "cmake", "include", "python", "src",
           *(f":!{path}" for path in meta.WRITTEN))
# Benches whose table is that of another.
TABLES = {"speed": "speed_rows", "small": "bench_small"}


def names_in(root):
    """Names of the results that pages show."""
    return [found.group(2) for page in PAGES if (root / page).exists()
            for found in MARKED.finditer((root / page).read_text())]


def has_other_sources(commit, root):
    return bool(meta.output_of("git", "diff", "--name-only", commit, "HEAD", "--", *SOURCES, cwd=root)) or \
        not meta.output_of("git", "cat-file", "-t", commit, cwd=root)


def complaints(name, path, root):
    """Why a result must not be published."""
    try:
        result = results.read(path)
    except (OSError, ValueError) as error:
        return [str(error)]
    found = [f"{name}: {line}" for line in results.problems(result)]
    if result["meta"]["dirty"]:
        found.append(f"{name} was measured in a tree with changes: {', '.join(result['meta']['changed_files'])}")
    elif has_other_sources(result["meta"]["commit"], root):
        found.append(f"{name} was measured at {result['meta']['commit'][:10]}, whose sources are not those of HEAD")
    return found


def rendered(result):
    module = importlib.import_module(TABLES.get(result["bench"], f"bench_{result['bench']}"))
    return f"{meta.sentence(result['meta'])}\n\n{module.table(result)}\n"


def refusals(folder, root, names):
    found = [f"{path} is not as the commit has it" for path in meta.changed_files(root)]
    found += [f"no page shows {name}" for name in names if name not in names_in(root)]
    for name in names:
        found += complaints(name, folder / f"{name}.json", root)
    return found


def write(folder=results.FOLDER, root=meta.ROOT, names=()):
    """Writes all tables, or those of these names, or none; returns the exit status. Tables that are left say which
    commit they were measured at."""
    names = names or names_in(root)
    found = refusals(folder, root, names)
    for line in found:
        print(f"no page is written: {line}", file=sys.stderr)
    if found:
        return 1
    for page in PAGES:
        path = Path(root / page)
        if path.exists():
            path.write_text(MARKED.sub(
                lambda mark: mark.group(0) if mark.group(2) not in names else
                mark.group(1) + rendered(results.read(folder / f"{mark.group(2)}.json")) + mark.group(3),
                path.read_text()))
    return 0


if __name__ == "__main__":
    sys.exit(write())
