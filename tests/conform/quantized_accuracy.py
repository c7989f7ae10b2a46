#!/usr/bin/env python3
"""Trained models classify as well when they are quantized, and when they were made hard to quantize before.

    quantized_accuracy.py [--every N] [NAME...]     every Nth image (default: all); parts of "ROW;"

Both trained models, calibrated with the shared images by `hone quantize` and judged by `hone run --data`: static
models lose at most 0.3 points, dynamic ones 0.5. Models whose channels unbalance.py has spread lose at most 1 point
with --equalize --correct-bias. With fewer images the error of a sample is added. Prints a table in Markdown.

The command is found in HONE_BIN. Exits with 77 when the models or the images are missing.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import models

HONE = os.environ.get("HONE_BIN", "hone")
TASKS = {
    "cifar10": ("mobilenetv2_cifar10", "test", ["--mean", "0.4914,0.4822,0.4465", "--std", "0.2470,0.2435,0.2616"]),
    "imagenette": ("mobilenetv2_imagenette", "val", ["--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"]),
}
SEEDS = (0, 1, 2, 3)
RESCUE = ["--equalize", "--correct-bias"]
# Name, options, whether it is calibrated, points that may be lost; None: reported only.
ROWS = [
    ("static", [], True, 0.3),
    ("static, per tensor", ["--per-tensor"], True, None),
    ("static, gptq", ["--gptq"], True, 0.3),
    ("static, int4 weights", ["--weights", "int4"], True, None),
    ("static, int4 weights, gptq", ["--weights", "int4", "--gptq", "--correct-bias"], True, None),
    ("dynamic", ["--mode", "dynamic"], False, 0.5),
    ("int4 blocks of 32", ["--mode", "weight-only", "--weights", "int4", "--block", "32", "--search-scales"], False, None),
    ("int4 blocks of 32, samples", ["--mode", "weight-only", "--weights", "int4", "--block", "32", "--search-scales"], True,
     None),
]


def accuracy(model, images, pixels):
    done = subprocess.run([HONE, "run", model, "--data", images, *pixels, "--batch", "50", "--json"], check=True,
                          capture_output=True, text=True)
    return 100 * json.loads(done.stdout)["top1"]


def quantize(model, to, options, calib, pixels):
    samples = ["--calib", calib, *pixels, "--batch", "10"] if calib else []
    done = subprocess.run([HONE, "quantize", model, "-o", to, *options, *samples], check=True, capture_output=True, text=True)
    return [line.strip() for line in done.stdout.splitlines() if "equalized" in line or "corrected" in line]


def unpack(archive, folder, split, every):
    """The images of the split, every Nth of each class, and those for calibration."""
    with zipfile.ZipFile(archive) as zipped:
        zipped.extractall(folder)
    root = next(folder.iterdir())
    for of_class in (root / split).iterdir():
        for i, image in enumerate(sorted(of_class.iterdir())):
            if i % every:
                image.unlink()
    n = sum(1 for _ in (root / split).rglob("*.*"))
    return root / split, root / "calib", n


def check(task, folder, options):
    """How many rows lose too much."""
    name, split, pixels = TASKS[task]
    model = models.SHARED / "models" / "trained" / f"{name}.onnx"
    images, calib, n = unpack(models.SHARED / "data" / f"{task}.zip", folder / task, split, options.every)
    exact, n_wrong, to = accuracy(model, images, pixels), 0, folder / "q.onnx"
    slack = 0 if options.every == 1 else 100 * 2 / math.sqrt(n) * 0.3
    rows = [(f"{task}: {row}", model, how, is_calibrated, most) for row, how, is_calibrated, most in ROWS]
    if task == "cifar10":
        for seed in SEEDS:
            rows.append((f"{task} unbalanced, seed {seed}: static", seed, [], True, None))
            rows.append((f"{task} unbalanced, seed {seed}: static, rescue", seed, RESCUE, True, 1.0))
    for row, of, how, is_calibrated, most in rows:
        if options.names and not any(part in row + ";" for part in options.names):
            continue
        if isinstance(of, int):
            unbalance = models.SHARED / "models" / "unbalance.py"
            subprocess.run([sys.executable, unbalance, model, folder / "hard.onnx", "64", str(of)], check=True,
                           capture_output=True)
            of = folder / "hard.onnx"
        notes = quantize(of, to, how, calib if is_calibrated else None, pixels)
        found = accuracy(to, images, pixels)
        is_wrong = most is not None and found < exact - most - slack - 1e-9
        n_wrong += is_wrong
        size = to.stat().st_size / Path(of).stat().st_size
        print(f"| {row} | {exact:.2f} | {found:.2f} | {found - exact:+.2f} | {size:.3f} |{' WRONG' if is_wrong else ''}", *notes,
              sep="\n    ", flush=True)
    return n_wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not (models.SHARED / "data").exists() or not models.find(["trained"]):
        print(f"skipped: the trained models and their images are not in {models.SHARED} (HONE_SHARED)")
        sys.exit(77)
    folder = Path(tempfile.mkdtemp())
    try:
        n_wrong = sum(check(task, folder, options) for task in TASKS)
    finally:
        shutil.rmtree(folder)
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
