#!/usr/bin/env python3
"""Runs the sessions in tests/cli/*.t and compares what the commands print.

A line that begins with "$ " is a command for the shell; the lines after it, up to the next command or
empty line, are its exact output (standard output and error together); a last line "[N]" is an exit status
other than 0. In expected lines `*` alone stands for the rest of the line. Other lines are remarks.
Each file runs in its own empty folder, with `hone` on the PATH, DATA naming examples/digits, CUSTOM_OP
examples/custom_op, MY_OPS the library that is built there, CUSTOM_RULE and MY_RULES those of
examples/custom_rule, ON_TERMINAL a program that runs a command on a terminal, INTERRUPTED one that
presses Ctrl-C, and CHECK_TRACE one that checks a trace or lists the findings of a profile.

usage: run.py [--update] [FILE.t...]     HONE_BIN names the command under test
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def blocks(text):
    """Yields (remarks, command, expected lines)."""
    remarks, command, expected = [], None, []
    for line in text.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield remarks, command, expected
                remarks = []
            command, expected = line[2:], []
        elif command is not None and line:
            expected.append(line)
        else:
            if command is not None:
                yield remarks, command, expected
                remarks, command, expected = [], None, []
            remarks.append(line)
    if command is not None:
        yield remarks, command, expected
    elif remarks:
        yield remarks, None, []


def run_command(command, folder, environment):
    environment = {**environment, "XDG_CACHE_HOME": f"{folder}/cache"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3600, check=False)
    # An empty line would end the expectation: printed output shows it as "~".
    lines = ["~" if not line.strip() else line for line in done.stdout.decode(errors="replace").splitlines()]
    return lines + ([f"[{done.returncode}]"] if done.returncode else [])


def matches(expected, actual):
    if len(expected) != len(actual):
        return False
    patterns = (re.escape(line.rstrip()).replace(r"\*", ".*") for line in expected)
    return all(re.fullmatch(p, line.rstrip()) for p, line in zip(patterns, actual))


def run_file(path, environment, update):
    failures, written = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for remarks, command, expected in blocks(path.read_text()):
            written += remarks
            if command is None:
                continue
            actual = run_command(command, folder, environment)
            same = matches(expected, actual)
            written += [f"$ {command}"] + (expected if same else actual)
            if not same:
                failures += 1
                if not update:
                    print(f"{path.name}: $ {command}")
                    print("".join(f"  - {line}\n" for line in expected) + "".join(f"  + {line}\n" for line in actual))
    if update and failures:
        path.write_text("\n".join(line.rstrip() for line in written) + "\n")
        print(f"{path.name}: {failures} outputs rewritten")
        return 0
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true", help="rewrite the outputs that differ")
    parser.add_argument("files", type=Path, nargs="*")
    options = parser.parse_args()
    hone = Path(os.environ.get("HONE_BIN", ROOT / "build/dev/hone")).resolve()
    environment = {**os.environ, "PATH": f"{hone.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "NO_COLOR": "1",
                   "COLUMNS": "100", "DATA": str(ROOT / "examples/digits"), "MODELS": str(HERE / "models"),
                   "ON_TERMINAL": f"{sys.executable} {HERE / 'on_terminal.py'}",
                   "CHECK_TRACE": f"{sys.executable} {HERE / 'check_trace.py'}",
                   "INTERRUPTED": f"{sys.executable} {HERE / 'interrupted.py'}",
                   "CUSTOM_OP": str(ROOT / "examples/custom_op"),
                   "MY_OPS": str(hone.parent / "examples/custom_op/my_ops.so"),
                   "CUSTOM_RULE": str(ROOT / "examples/custom_rule"),
                   "MY_RULES": str(hone.parent / "examples/custom_rule/my_rules.so")}
    files = options.files or sorted(HERE.glob("*.t"))
    failures = sum(run_file(path, environment, options.update) for path in files)
    print(f"{len(files)} files, {failures} failures")
    sys.exit(1 if failures or not files else 0)


if __name__ == "__main__":
    main()
