#!/bin/bash
# Builds a release and installs it, then moves the installed tree, so that the tests which use it
# also prove that nothing in it remembers where it was. Argument: scratch folder.
set -euo pipefail

scratch=$1
prefix=$scratch/prefix
"${CMAKE:-cmake}" -S . -B "$scratch/release" -DCMAKE_BUILD_TYPE=Release -DHONE_BUILD_TESTS=OFF \
    -DCMAKE_INSTALL_PREFIX="$scratch/before" >"$scratch.log"
"${CMAKE:-cmake}" --build "$scratch/release" --parallel 2
rm -rf "$scratch/before" "$prefix"
"${CMAKE:-cmake}" --install "$scratch/release" >>"$scratch.log"
mv "$scratch/before" "$prefix"

if grep -rlI "$scratch/before" "$prefix"; then
    echo "the files above name the folder they were installed to"
    exit 1
fi
"$prefix/bin/hone" --version
