"""Prints the accuracy of a digits model on the held-back images, by onnxruntime.

usage: python examples/digits/evaluate.py [MODEL]
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent


def main():
    model = sys.argv[1] if len(sys.argv) > 1 else HERE / "digits.onnx"
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    images, labels = np.load(HERE / "images.npy"), np.load(HERE / "labels.npy")
    (logits,) = session.run(None, {session.get_inputs()[0].name: images})
    n_right = int((logits.argmax(1) == labels).sum())
    print(f"{n_right} of {len(labels)} right, {n_right / len(labels):.2%}")


if __name__ == "__main__":
    main()
