#!/bin/bash
# The library and the command build with musl, and a session with worker threads computes the same
# as in the normal build. Arguments: scratch folder, the command of the normal build.
set -euo pipefail

scratch=$1 hone=$2
command -v musl-gcc >/dev/null || {
    echo "skipped: musl-gcc is missing (Debian package musl-tools)"
    exit 77
}
mkdir -p "$scratch"

# The compiler line of the README without optimization: it compiles faster, and its stack frames are
# the largest ones.
line=$(grep -E '^cc .* -o hone$' README.md)
line=${line#cc }
line=${line/-O2/-O0}
eval "musl-gcc -std=c11 -static ${line% hone} \"$scratch/hone\""
"$scratch/hone" --version

# outputs COMMAND FILE : what the model computes for the 360 test images, with two threads.
outputs() {
    "$1" run examples/digits/digits.onnx --input image=examples/digits/images.npy --threads 2 \
        --output "$2" >/dev/null
}
outputs "$hone" "$scratch/glibc.npz"
outputs "$scratch/hone" "$scratch/musl.npz"
cmp "$scratch/glibc.npz" "$scratch/musl.npz"
