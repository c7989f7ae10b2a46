#!/bin/bash
# The installed libraries define no names but our own. Argument: the scratch folder of install.sh.
set -euo pipefail

lib=$(dirname "$(find "$1/prefix" -name libhone.a)")
tools/check_symbols "$lib/libhone.so" "$lib/libhone.a"
