#!/usr/bin/env python3
"""Trained models classify the shared images as well as their makers say.

    accuracy.py [--every N] [NAME...]     every Nth image (default: all); parts of file names of models

The images go through `hone run` in batches, and through onnxruntime. With all images the accuracy
must be the stated one; with fewer, or where the stated one is of more images than there are, it may
be off by the error of a sample. In any case both classify alike: of images that do not lie on the
border of two classes, all. The command is found in HONE_BIN. Exits with 77 when the models, the
images or a package is missing.
"""
import argparse
import io
import math
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy

import models

try:
    import onnxruntime
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")
SAMPLE_ERRORS = 3  # standard deviations that an accuracy of a sample may be off
BORDER = 1e-3      # logits of two classes that are as near as this may change places
# model, archive, folder in it, mean and deviation of RGB/255, batch, stated accuracy, of how many images
TASKS = (
    ("mobilenetv2_cifar10", "cifar10.zip", "cifar10/test/",
     (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616), 500, 0.915, 10000),
    ("mobilenetv2_imagenette", "imagenette.zip", "imagenette/val/",
     (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 20, 0.9034, 3925),
)


def labelled_images(archive, folder, every):
    """Pairs of a file in the archive and the number of its class: folders in sorted order."""
    files = sorted(n for n in archive.namelist() if n.startswith(folder) and not n.endswith("/"))
    classes = sorted({n.split("/")[-2] for n in files})
    return [(n, classes.index(n.split("/")[-2])) for n in files[::every]]


def pixels(archive, names, mean, deviation):
    """Normalized images as one tensor in the order batch, channel, row, column."""
    images = [numpy.asarray(Image.open(io.BytesIO(archive.read(n))).convert("RGB"), "f4") for n in names]
    normalized = (numpy.stack(images) / 255 - numpy.array(mean, "f4")) / numpy.array(deviation, "f4")
    return numpy.ascontiguousarray(normalized.transpose(0, 3, 1, 2), "f4")


def hone_logits(model, batch, folder):
    inputs, outputs = folder / "in.npy", folder / "out.npy"
    numpy.save(inputs, batch)
    subprocess.run([HONE, "run", model, "--input", f"input={inputs}", "--output", f"logits={outputs}"],
                   check=True, stdout=subprocess.DEVNULL)
    return numpy.load(outputs)


def both_logits(model, archive, images, task, folder):
    """Of hone and onnxruntime, one row per image; and the seconds that hone took."""
    _, _, _, mean, deviation, n_batch, _, _ = task
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    ours, theirs, seconds = [], [], 0.0
    for begin in range(0, len(images), n_batch):
        batch = pixels(archive, [name for name, _ in images[begin:begin + n_batch]], mean, deviation)
        start = time.perf_counter()
        ours.append(hone_logits(model, batch, folder))
        seconds += time.perf_counter() - start
        theirs += session.run(None, {"input": batch})
    return numpy.concatenate(ours), numpy.concatenate(theirs), seconds


def n_classified_otherwise(ours, theirs):
    """Images that lie on no border and get another class."""
    best = numpy.sort(theirs, axis=1)
    is_clear = best[:, -1] - best[:, -2] > BORDER
    return int(numpy.count_nonzero(is_clear & (ours.argmax(axis=1) != theirs.argmax(axis=1))))


def check(model, task, every):
    """Prints the accuracy; true when it is as stated."""
    name, archive, inside, _, _, _, stated, n_stated = task
    with zipfile.ZipFile(models.SHARED / "data" / archive) as zipped, tempfile.TemporaryDirectory() as folder:
        images = labelled_images(zipped, inside, every)
        ours, theirs, seconds = both_logits(str(model), zipped, images, task, Path(folder))
    labels = numpy.array([label for _, label in images])
    found, oracle = (float((x.argmax(axis=1) == labels).mean()) for x in (ours, theirs))
    allowed = 0.0005 if len(images) == n_stated else SAMPLE_ERRORS * math.sqrt(stated * (1 - stated) / len(images))
    n_other = n_classified_otherwise(ours, theirs)
    print(f"{name}: {len(images)} images, {found:.2%} (onnxruntime {oracle:.2%}, stated {stated:.2%} of {n_stated}), "
          f"{n_other} classified otherwise, {seconds:.1f} s", flush=True)
    return abs(found - stated) <= allowed and n_other == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    paths = {path.stem: path for path in models.find(["trained"])}
    tasks = [t for t in TASKS if not options.names or any(n in t[0] for n in options.names)]
    if any(t[0] not in paths or not (models.SHARED / "data" / t[1]).exists() for t in tasks):
        print(f"skipped: the trained models and their images are not in {models.SHARED} (HONE_SHARED)")
        sys.exit(77)
    passed = [check(paths[t[0]], t, options.every) for t in tasks]
    sys.exit(0 if all(passed) else 1)


if __name__ == "__main__":
    main()
