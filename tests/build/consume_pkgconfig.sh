#!/bin/bash
# A plain compiler line with pkg-config builds against the installed package, shared and static.
# Argument: the scratch folder of install.sh.
set -euo pipefail

command -v pkg-config >/dev/null || { echo "skipped: pkg-config is missing"; exit 77; }

scratch=$1
lib=$(dirname "$(find "$scratch/prefix" -name libhone.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig
source=tests/build/consumer/main.c
cc=${CC:-cc}

read -ra shared < <(pkg-config --cflags --libs hone)
"$cc" "$source" "${shared[@]}" -o "$scratch/pc-shared"
LD_LIBRARY_PATH=$lib "$scratch/pc-shared"

read -ra static < <(pkg-config --static --cflags --libs hone)
"$cc" -static "$source" "${static[@]}" -o "$scratch/pc-static"
"$scratch/pc-static"
