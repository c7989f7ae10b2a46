#!/bin/bash
# A stranger's CMake project finds the installed package and runs against both libraries.
# Argument: the scratch folder of install.sh.
set -euo pipefail

scratch=$1
for shared in OFF ON; do
    build=$scratch/consumer-shared-$shared
    rm -rf "$build"
    "${CMAKE:-cmake}" -S tests/build/consumer -B "$build" -DCMAKE_PREFIX_PATH="$scratch/prefix" \
        -DBUILD_SHARED_LIBS=$shared >/dev/null
    "${CMAKE:-cmake}" --build "$build" >/dev/null
    "$build/consumer"
done

# As a subproject it offers the same target, and installs and tests nothing of its own.
build=$scratch/consumer-subproject
rm -rf "$build"
"${CMAKE:-cmake}" -S tests/build/consumer -B "$build" -DHONE_SOURCE="$PWD" >/dev/null
if "${CMAKE:-cmake}" --install "$build" --prefix "$scratch/nothing" | grep hone; then
    echo "a subproject must not install"
    exit 1
fi
