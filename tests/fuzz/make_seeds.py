#!/usr/bin/env python3
"""Collects small models for the fuzzers and the damage test to begin with.

usage: make_seeds.py OUT

Takes the ONNX backend tests (onnx-backend-tests.tar.xz in the folder that HONE_SHARED names) as far
as they are small, and the models in tests/damage/models. OUT/onnx receives binary models, OUT/text
models in the textual syntax; where the backend tests are missing, there are fewer of both. OUT/data
receives a manifest and a text of datasets.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

MAX_BYTES = 8192
TEXT_EVERY = 25  # models that are also printed as text
MANIFEST = """{"inputs": {"x": {"type": "float", "shape": [3, 2], "file": "x.bin", "offset": 64}}, "labels": [7, -2.5e3, true],
 "samples": [{"name": "\\u00e9\\ud83d\\ude00\\n", "label": null, "inputs": {"x": "a.bin"}}, {}]}"""
WORDS = "hello\nworld\n##s\nuber\n世\nα\0Hello worlds! Über 世界 [SEP] ΑΣ 각 이 \u200b\t\u0301"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def backend_models(archive):
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and member.name.endswith(".onnx") and member.size <= MAX_BYTES:
                name = member.name.removesuffix(".onnx").removesuffix("/model")
                yield name.replace("/", "_"), tar.extractfile(member).read()


def convert(hone, source, target):
    done = subprocess.run([hone, "save", source, "-o", target], stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        target.unlink(missing_ok=True)


def main():
    out = pathlib.Path(sys.argv[1])
    hone = os.environ["HONE_BIN"]
    archive = pathlib.Path(os.environ.get("HONE_SHARED", ROOT.parent / "shared"),
                           "onnx-backend-tests.tar.xz")
    shutil.rmtree(out, ignore_errors=True)
    binary, text = out / "onnx", out / "text"
    binary.mkdir(parents=True)
    text.mkdir()
    (out / "data").mkdir()
    (out / "data/manifest.json").write_text(MANIFEST)
    (out / "data/words.txt").write_bytes(WORDS.encode())
    for source in sorted((ROOT / "tests/damage/models").glob("*.onnxtxt")):
        shutil.copy(source, text)
        convert(hone, source, binary / f"{source.stem}.onnx")
    if archive.exists():
        for i, (name, data) in enumerate(backend_models(archive)):
            (binary / f"{name}.onnx").write_bytes(data)
            if i % TEXT_EVERY == 0:
                convert(hone, binary / f"{name}.onnx", text / f"{name}.onnxtxt")
    print(f"{len(list(binary.iterdir()))} binary and {len(list(text.iterdir()))} text models")


if __name__ == "__main__":
    main()
