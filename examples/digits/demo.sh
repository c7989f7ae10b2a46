#!/bin/bash
# A short tour of hone with the digits model. Argument: the hone command.
set -euo pipefail

hone=$(realpath "${1:-build/release/hone}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$(dirname "$0")"/{digits.onnx,images.npy,calib.npy} "$scratch"
cd "$scratch"

bold='' plain=''
if [ -t 1 ]; then
    bold=$'\e[1m' plain=$'\e[0m'
fi

# step TITLE ARGUMENT... : a heading, the command as one would type it, and what it says.
step() {
    printf '\n%s── %s%s\n' "$bold" "$1" "$plain"
    shift
    printf '$ hone %s\n\n' "$*"
    "$hone" "$@"
}

step 'What is in this model?' info digits.onnx
step 'And for a batch of 16, node by node?' info digits.onnx --nodes --dim batch=16
step 'Is it right?' check digits.onnx
step 'Store the shape of every value in the file' save digits.onnx --infer -o shaped.onnx
step 'And the copy?' check shaped.onnx
step 'Run it on the 360 images that training never saw' run digits.onnx --input image=images.npy --repeat 20
step 'Make it smaller, and prove that it computes the same' optimize digits.onnx -o fast.onnx --verify |
    sed -n '1,4p; /^  nodes/p; /^verified/p'
step 'Make it int8, from a few images, and see what each layer loses' quantize digits.onnx --calib calib.npy -o int8.onnx --explain
step 'And run that' run int8.onnx --input image=images.npy --repeat 20
step 'Does the copy compute the same?' diff digits.onnx shaped.onnx --random 1 --all
