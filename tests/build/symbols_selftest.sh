#!/bin/bash
# check_symbols must reject libraries with a stray name. Argument: scratch folder.
set -euo pipefail

scratch=$1
mkdir -p "$scratch"
cc=${CC:-cc}

# expect_failure NAME SOURCE: a library that also defines NAME is refused, and NAME is printed.
expect_failure() {
    local name=$1 source=$2
    "$cc" -fPIC -c -xc - -o "$scratch/bad.o" <<<"$source"
    "$cc" -shared "$scratch/bad.o" -o "$scratch/bad.so"
    rm -f "$scratch/bad.a"
    ar rcs "$scratch/bad.a" "$scratch/bad.o"
    for library in bad.so bad.a; do
        if output=$(tools/check_symbols "$scratch/$library"); then
            case $library:$name in
            bad.a:hn_*) continue ;; # internal names are right in a static library
            esac
            echo "$library with $name was accepted"
            exit 1
        fi
        grep -q "$name" <<<"$output"
    done
}

expect_failure stray 'int stray(void); int stray(void) { return 0; }'
expect_failure hn_inside 'int hn_inside(void); int hn_inside(void) { return 0; }'
expect_failure counter 'int counter; int hone_next(void); int hone_next(void) { return ++counter; }'
