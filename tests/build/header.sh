#!/bin/bash
# Each public header compiles alone, as C99, C11 and C++17, without a warning.
set -euo pipefail

warnings=(-Wall -Wextra -Wpedantic -Wundef -Wshadow -Wconversion -Werror)
cxx=${CXX:-c++}
command -v "$cxx" >/dev/null || echo "skipped: C++17 ($cxx is missing)"

for name in hone extend quantize; do
    header="#include \"hone/$name.h\""
    for standard in c99 c11; do
        "${CC:-cc}" -std=$standard "${warnings[@]}" -Wstrict-prototypes -Iinclude -fsyntax-only \
            -xc - <<<"$header"
    done
    if command -v "$cxx" >/dev/null; then
        "$cxx" -std=c++17 "${warnings[@]}" -Wold-style-cast -Iinclude -fsyntax-only -xc++ - \
            <<<"$header"
    fi
done
