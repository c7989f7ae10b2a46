#!/bin/bash
# The stripped shared library stays small. Argument: the scratch folder of install.sh.
set -euo pipefail

# Room for the plain evaluations of all operators beside reading, checking, inference and saving.
limit_bytes=1000000
library=$(find "$1/prefix" -name libhone.so)
strip -o "$1/stripped.so" "$library"
size_bytes=$(wc -c <"$1/stripped.so")
echo "libhone.so: $size_bytes bytes stripped, limit $limit_bytes"
[ "$size_bytes" -lt "$limit_bytes" ]
