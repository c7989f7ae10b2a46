"""The programs of examples/python run."""

import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from conftest import HERE

EXAMPLES = HERE.parent.parent / "examples"
DIGITS = EXAMPLES / "digits" / "digits.onnx"


def run(name, *arguments):
    command = [sys.executable, EXAMPLES / "python" / name, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_classify_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    images, labels = (np.load(EXAMPLES / "digits" / f"{name}.npy") for name in ("images", "labels"))
    low, high = images.min(), images.max()
    for i in range(60):
        folder = tmp_path / str(labels[i])
        folder.mkdir(exist_ok=True)
        pixels = (255 * (images[i, 0] - low) / (high - low)).round().astype(np.uint8)
        image.fromarray(pixels).save(folder / f"{i}.png")
    scale = 1 / (high - low)
    text = run("classify_folder.py", DIGITS, tmp_path, "--mean", str(-low * scale), "--std", str(scale))
    assert "60 images" in text
    assert float(re.search(r"right, ([\d.]+)%", text)[1]) > 90, text


def test_compare_levels():
    lines = run("compare_levels.py", DIGITS, "--runs", "5", "--threads", "1").splitlines()
    assert [line.split()[0] for line in lines] == ["level", "none", "basic", "extended", "all"]
    assert all(float(cell) >= 0 for line in lines[1:] for cell in line.split()[1:])


def test_save_optimized(tmp_path):
    text = run("save_optimized.py", DIGITS, tmp_path / "optimized.onnx")
    assert "nodes become" in text and "largest difference" in text
    onnx.checker.check_model(tmp_path / "optimized.onnx")


def test_profile_model():
    pytest.importorskip("pandas")
    assert "us per run" in run("profile_model.py", DIGITS, "--runs", "3")


def test_the_command_comes_along():
    done = subprocess.run([sys.executable, "-m", "hone", "info", DIGITS], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "nodes" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "hone", "nonsense"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "nonsense" in done.stderr
