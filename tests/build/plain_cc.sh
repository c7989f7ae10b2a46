#!/bin/bash
# The whole project builds with one compiler line and no build system. Argument: scratch folder.
set -euo pipefail

scratch=$1
mkdir -p "$scratch"
"${CC:-cc}" -std=c11 -O2 -Iinclude -Isrc src/*/*.c cli/*.c -lm -lpthread -o "$scratch/hone"
"$scratch/hone" --version
