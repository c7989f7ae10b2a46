"""Classifies the images of a folder.

usage: python classify_folder.py MODEL FOLDER [--mean R,G,B] [--std R,G,B] [--batch N]

When the images lie in one subfolder per class, in the order of the model's classes, the share that is right is
told as well. Needs pillow. Sizes and the number of channels are those that the model takes.
"""

import argparse
import pathlib
import time

import numpy as np
from PIL import Image

import hone

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp"}


def numbers(text):
    return np.array([float(part) for part in text.split(",")], np.float32)


def read_image(path, height, width, channels, mean, std):
    """One image as the model takes it: [channels, height, width], scaled to 0 .. 1 and normalized."""
    image = Image.open(path).convert("RGB" if channels == 3 else "L").resize((width, height), Image.BILINEAR)
    pixels = np.asarray(image, np.float32).reshape(height, width, channels) / 255
    return ((pixels - mean) / std).transpose(2, 0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mean", type=numbers, default=numbers("0"))
    parser.add_argument("--std", type=numbers, default=numbers("1"))
    parser.add_argument("--batch", type=int, default=16)
    arguments = parser.parse_args()

    session = hone.InferenceSession(arguments.model)
    given = session.get_inputs()[0]
    channels, height, width = given.shape[1:]
    paths = sorted(path for path in arguments.folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    classes = sorted({path.parent.name for path in paths})

    n_right, seconds = 0, 0.0
    for begin in range(0, len(paths), arguments.batch):
        batch = paths[begin : begin + arguments.batch]
        images = np.stack([read_image(p, height, width, channels, arguments.mean, arguments.std) for p in batch])
        start = time.perf_counter()
        scores = session.run(None, {given.name: images})[0]
        seconds += time.perf_counter() - start
        for path, best in zip(batch, scores.argmax(axis=1)):
            n_right += len(classes) > best and path.parent.name == classes[best]
            print(f"{path.relative_to(arguments.folder)}: class {best}")
    print(f"{len(paths)} images, {1e3 * seconds / max(1, len(paths)):.2f} ms each")
    if len(classes) > 1:
        print(f"{n_right} right, {n_right / len(paths):.1%}")


if __name__ == "__main__":
    main()
