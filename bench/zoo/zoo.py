"""Published models beside onnxruntime: do they run, agree, how fast, with how much memory, and what does hone make of them.

usage: make zoo, or bench/run zoo [--page] [NAME...]

Fetches the packages of bench/zoo/packages.txt and takes every model that they ship through agreement, speed (one
thread, processor time, in turns), creation, memory, `hone check`, `hone optimize --verify`, and the optimized file in
onnxruntime. Rows go to build/zoo/rows.json as they are made; --page writes docs/zoo.md from them (NAME... measures
those models again and keeps the other rows). The exit status is 1 when a row has an exception that the table of
exceptions does not explain.
"""

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

import engines
import fetch
import meta
import zoo_page

ROWS = fetch.FOLDER / "rows.json"
HONE = meta.BUILD / "hone"
CHILD = Path(__file__).with_name("one_model.py")
CPU_SECONDS = 300  # of one step of one model
MEMORY_BYTES = 10 << 30


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def run(*command):
    return subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True, errors="replace",
                          preexec_fn=limit)


def last_line(done):
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no message"]
    return lines[-1][:300]


def step(*arguments):
    """What one_model.py says, or {"failure"}."""
    done = run(sys.executable, CHILD, *arguments)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"failure": last_line(done)}


# ---- the steps of one model ----------------------------------------------------------------------------

def both_run(path, folder):
    """Times and memory of both engines."""
    names = (engines.HONE, engines.ONNXRUNTIME)
    row = {"speed": step("speed", ",".join(names), path, folder)}
    row["memory"] = {name: step("memory", name, path, folder).get("peak_bytes") for name in names}
    return row


def checked(path):
    done = run(HONE, "check", "--quiet", path)
    return "valid" if done.returncode == 0 else last_line(done)


def optimized(path, folder):
    """`optimize --verify` with inputs that hone makes up itself, and the file in onnxruntime."""
    out = folder / "optimized.onnx"
    done = run(HONE, "optimize", "--verify", path, "-o", out)
    row = {"optimize": "written" if done.returncode == 0 and out.exists() else last_line(done)}
    if out.exists():
        (folder / "original").write_text(str(path))
        row["optimized_file"] = step("file", out, folder)
    return row


def measure(name, path):
    row = {"model": name, "file_bytes": path.stat().st_size}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        row["agreement"] = step("agree", name, path, folder)
        if not (folder / "expected").exists():
            return row | {"not_run": row["agreement"].get("failure", "")}  # onnxruntime does not run it either
        row["check"] = checked(path)
        if "failure" not in row["agreement"]:
            row |= both_run(path, folder)
        return row | optimized(path, folder)


# ---- all of them ---------------------------------------------------------------------------------------

def read_rows():
    return json.loads(ROWS.read_text()) if ROWS.exists() else {}


def write_rows(rows):
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    new = ROWS.with_suffix(".new")
    new.write_text(json.dumps(rows, indent=1) + "\n")
    new.replace(ROWS)


def measure_all(wanted, again):
    rows = read_rows()
    found = [(name, path) for name, path in fetch.models() if not wanted or any(part in name for part in wanted)]
    found.sort(key=lambda row: row[1].stat().st_size)  # what is wrong with small ones is seen soon
    for number, (name, path) in enumerate(found, 1):
        if name in rows and not again:
            continue
        rows[name] = measure(name, path)
        write_rows(rows)
        print(f"{number}/{len(found)} {zoo_page.short(rows[name])}", file=sys.stderr)
    return rows


def main():
    parser = argparse.ArgumentParser(prog="bench/run zoo", description=__doc__.split("\n\n", 2)[2])
    parser.add_argument("names", nargs="*", help="parts of names of models or packages")
    parser.add_argument("--again", action="store_true", help="measure models that have a row already")
    parser.add_argument("--page", action="store_true", help="write docs/zoo.md from all rows")
    parser.add_argument("--page-only", action="store_true", help="the same, and measure nothing")
    options = parser.parse_args()
    if shutil.which("npm") is None:
        print("npm is missing: its packages are left out", file=sys.stderr)
    engines.check_hone()
    rows = read_rows() if options.page_only else measure_all(options.names, options.again)
    if options.page or options.page_only:
        zoo_page.write(list(rows.values()), meta.sentence(meta.end(meta.begin(options))))
    unexplained = [line for row in rows.values() for line in zoo_page.unexplained(row)]
    for line in unexplained:
        print(line, file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
