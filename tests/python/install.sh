#!/bin/bash
# Makes a wheel, installs it into a new virtual environment and uses it there, far from the source.
# Arguments: a Python that has what building needs; where hone is installed, which saves compiling it
# again; scratch folder.
set -euo pipefail

python=$1 prefix=$2 scratch=$3
model=$PWD/examples/digits/digits.onnx
unset PYTHONPATH
rm -rf "$scratch"
mkdir -p "$scratch"

pip() { "$@" -m pip --disable-pip-version-check --quiet "${pip_arguments[@]}"; }

pip_arguments=(wheel . --no-deps --no-build-isolation --wheel-dir "$scratch"
    -C build-dir="$scratch/build" -C cmake.source-dir=python -C cmake.define.hone_ROOT="$prefix")
pip "$python"
wheel=$(echo "$scratch"/*.whl)
case $wheel in
*-cp39-abi3-*) ;;
*)
    echo "$wheel is not for all versions of Python"
    exit 1
    ;;
esac

"$python" -m venv "$scratch/venv"
pip_arguments=(install --retries 1 "$wheel")
if ! pip "$scratch/venv/bin/python" 2>"$scratch/pip.log"; then
    if "$scratch/venv/bin/python" -m pip install --quiet --no-deps "$wheel"; then
        echo "skipped: the wheel in a new environment (NumPy cannot be downloaded)"
        exit 77
    fi
    cat "$scratch/pip.log"
    exit 1
fi

cd /
"$scratch/venv/bin/python" - "$model" <<'PROGRAM'
import sys

import numpy
import hone

session = hone.InferenceSession(sys.argv[1])
shape = [d if isinstance(d, int) else 2 for d in session.get_inputs()[0].shape]
outputs = session.run(None, {session.get_inputs()[0].name: numpy.zeros(shape, numpy.float32)})
print("hone", hone.__version__, "with NumPy", numpy.__version__, "gives", [output.shape for output in outputs])
PROGRAM
"$scratch/venv/bin/python" -m hone --version
"$scratch/venv/bin/hone" info "$model" >/dev/null
