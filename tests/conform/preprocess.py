#!/usr/bin/env python3
"""Images become the tensors that torchvision's Resize, CenterCrop, ToTensor and Normalize make of them.

Resize is Pillow's Image.resize, bilinear with antialiasing, of the shorter side or to a size; the
offsets of CenterCrop are rounded half to even. Pixels may be off by one grey level. The command is
found in HONE_BIN. Exits with 77 when a package is missing.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

try:
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HONE = os.environ.get("HONE_BIN", "hone")
MODEL = '<ir_version: 8, opset_import: ["" : 17]> g (float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Identity (x) }'
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# height and width of the image, --resize, --crop
CASES = (
    (40, 60, "32", "28"), (60, 40, "32", "29"), (33, 47, "24", "17x23"), (31, 31, "31", "30"),
    (7, 5, "64", "63"), (200, 3, "2", "2"), (50, 70, "25x90", None), (64, 48, "64x24", "11"),
    (300, 451, "256", "224"), (500, 375, "232", "224"), (1, 1, "5", None), (97, 13, None, "12x13"),
)


def resized(image, size):
    """The size of torchvision's Resize; "HxW", or the shorter side."""
    if "x" in size:
        height, width = map(int, size.split("x"))
    else:
        side, shorter = int(size), min(image.size)
        width, height = (side if n == shorter else int(side * n / shorter) for n in image.size)
    return image.resize((width, height), Image.BILINEAR)


def cropped(image, size):
    height, width = (int(n) for n in (size.split("x") if "x" in size else (size, size)))
    top, left = round((image.height - height) / 2), round((image.width - width) / 2)
    return image.crop((left, top, left + width, top + height))


def expected(image, resize, crop):
    image = resized(image, resize) if resize else image
    image = cropped(image, crop) if crop else image
    return numpy.asarray(image, "f4").transpose(2, 0, 1)[None]


def run(folder, *options):
    subprocess.run([HONE, "run", folder / "model.onnxtxt", "-i", folder / "image.png", "-o",
                    folder / "y.npy", *options], check=True, stdout=subprocess.DEVNULL)
    return numpy.load(folder / "y.npy")


def main():
    random = numpy.random.default_rng(1)
    worst, n_failed = 0.0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.onnxtxt").write_text(MODEL)
        for height, width, resize, crop in CASES:
            smooth = numpy.indices((height, width)).sum(0)[..., None] * (3, 5, 7) % 256
            noise = random.integers(0, 256, (height, width, 3))
            for content in (smooth, noise):
                image = Image.fromarray(content.astype("u1"))
                image.save(folder / "image.png")
                options = (["--resize", resize] if resize else []) + (["--crop", crop] if crop else [])
                reference = expected(image, resize, crop)
                levels = run(folder, *options, "--scale", "1")
                elements = run(folder, *options, "--mean", ",".join(map(str, MEAN)),
                               "--std", ",".join(map(str, DEVIATION)))
                normalized = ((levels / 255 - numpy.reshape(MEAN, (3, 1, 1)))
                              / numpy.reshape(DEVIATION, (3, 1, 1)))
                off = numpy.abs(levels - reference).max() if levels.shape == reference.shape else 999
                worst = max(worst, off)
                if off > 1 or numpy.abs(elements - normalized).max() > 1e-5:
                    print(f"FAIL {height}x{width} --resize {resize} --crop {crop}: off by {off}")
                    n_failed += 1
    print(f"{2 * len(CASES)} images, {n_failed} failures, at most {worst:g} grey levels off")
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
