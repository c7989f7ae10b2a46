#!/bin/bash
# The stripped shared library stays small. Argument: the scratch folder of install.sh.
set -euo pipefail

# Evaluations of all operators, the optimizer, the quantizer and the kernels of every tier, of floats and
# of integers. libonnxruntime.so 1.31 as PyPI has it is 29 MB.
limit_bytes=2700000
library=$(find "$1/prefix" -name libhone.so)
strip -o "$1/stripped.so" "$library"
size_bytes=$(wc -c <"$1/stripped.so")
echo "libhone.so: $size_bytes bytes stripped, limit $limit_bytes"
[ "$size_bytes" -lt "$limit_bytes" ]
