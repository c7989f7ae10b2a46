#!/usr/bin/env python3
"""Runs the ONNX backend tests: every model on its data sets, outputs compared with the suite's tolerances.

usage: backend.py [--hone PATH] [ARGUMENT...]

What is known to fail, and why, stands in backend_manifest.txt. ARGUMENTs go to `hone run --test`.
"""
import argparse
import os
import pathlib
import subprocess
import sys

import models

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", default=os.environ.get("HONE_BIN", models.ROOT / "build/dev/hone"))
    options, arguments = parser.parse_known_args()
    command = [options.hone, "run", "--test", "--manifest", HERE / "backend_manifest.txt", *arguments]
    sys.exit(subprocess.run([*command, models.backend_folder()], check=False).returncode)


if __name__ == "__main__":
    main()
