"""Writes models of architectures beside those of the test data, with random weights, as PyTorch exports them.

usage: python bench/more_models.py FOLDER [--batch N] [NAME...]

Files are FOLDER/NAME.onnx; one that is there is kept. With a batch other than 1 they are FOLDER/NAME_bN.onnx.
"""

import argparse
import sys
from pathlib import Path

import more_half
import more_pieces
import more_sequences
import more_vision
from model_builder import Builder

NETWORKS = {
    make.__name__: make
    for make in more_vision.NETWORKS + more_sequences.NETWORKS + more_pieces.NETWORKS + more_half.NETWORKS
}
HALF = {make.__name__ + "_f16": make for make in more_half.HALF}


def write(folder, names=(), batch=1):
    """Paths of the models whose names contain one of `names`, of all without any; makes those that are missing."""
    import onnx

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, make in (NETWORKS | HALF).items():
        if names and not any(part in name for part in names):
            continue
        path = folder / (name + (f"_b{batch}" if batch > 1 else "") + ".onnx")
        if not path.exists():
            graph = Builder(name)
            make(graph, batch)
            part = path.with_suffix(".part")
            onnx.save(more_half.to_half(graph.model()) if name in HALF else graph.model(), part)
            part.rename(path)
        paths.append(path)
    return paths


def main():
    parser = argparse.ArgumentParser(description="Writes models of more architectures.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="parts of names")
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_intermixed_args()
    for path in write(options.folder, options.names, options.batch):
        print(path, file=sys.stderr)


if __name__ == "__main__":
    main()
