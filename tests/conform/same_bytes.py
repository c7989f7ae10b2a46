#!/usr/bin/env python3
"""Outputs are the same bytes with 1, 2, 3 and 8 threads, and run after run.

    same_bytes.py [NAME...]     parts of file names; all light models when none is given, all with ""

The models and inputs are those of run_models.py, of each model the last. The command is found in
HONE_BIN. Exits with 77 when the models are missing.
"""
import sys
import tempfile
from pathlib import Path

import models
import run_models

THREADS = (1, 2, 3, 8)
LIGHT = 16 << 20  # bytes of a file
N_AGAIN = 2  # runs after the first of each process; the outputs are those of the last


def outputs_with(path, feed, n_threads, folder):
    options = ["--threads", str(n_threads), "--repeat", str(N_AGAIN if n_threads == THREADS[-1] else 0)]
    outputs = run_models.hone_outputs(path, feed, folder, options)
    return {name: value.tobytes() for name, value in outputs.items()}


def check(path):
    """The numbers of threads that give other bytes than one thread."""
    *_, feed = run_models.feeds(path.stem, run_models.load_oracle(path).get_inputs())
    with tempfile.TemporaryDirectory() as folder:
        reference, *others = [outputs_with(path, feed, n, Path(folder)) for n in THREADS]
    return [n for n, outputs in zip(THREADS[1:], others) if outputs != reference]


def main():
    paths = [p for p in models.find(run_models.GROUPS)
             if any(a in p.name for a in sys.argv[1:]) or (not sys.argv[1:] and p.stat().st_size < LIGHT)]
    if not paths:
        print(f"skipped: {models.missing() or 'no such model'}")
        sys.exit(77)
    n_wrong = 0
    for path in paths:
        differing = check(path)
        print(f"{path.stem}: " + (f"differs with {differing} threads" if differing else "same"), flush=True)
        n_wrong += bool(differing)
    print(f"{len(paths)} models, {n_wrong} differ")
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
