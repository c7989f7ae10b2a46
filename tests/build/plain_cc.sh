#!/bin/bash
# The whole project builds with one compiler line and no build system: the line that the README
# gives, but for the optimization, which takes a minute. Argument: scratch folder.
set -euo pipefail

scratch=$1
mkdir -p "$scratch"
line=$(grep -E '^cc .* -o hone$' README.md)
line="${CC:-cc} -std=c11 ${line#cc }"
line=${line/-O2/-O0}
eval "${line% hone} \"$scratch/hone\""
"$scratch/hone" --version
