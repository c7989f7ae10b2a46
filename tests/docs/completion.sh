#!/bin/bash
# Presses Tab: what the bash completion offers for some command lines.
set -uo pipefail
source share/bash-completion/completions/hone
failed=0

# expect "OFFERED..." WORD...: the last word is being typed; bash splits words at '='.
expect() {
    local wanted=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _hone
    if [ "${COMPREPLY[*]-}" != "$wanted" ]; then
        echo "$*: '${COMPREPLY[*]-}' instead of '$wanted'"
        failed=1
    fi
}

expect "check" hone ch
expect "--version" hone --v
expect "save" hone help s
expect "--json" hone ops --j
expect "--dim" hone info model.onnx --d
expect "--inline-functions --infer" hone save --in
expect "docs" hone save --strip = d
expect "always never keep" hone save --external-data =
expect "--strip" hone save --strip
expect "" hone save --dim = b
expect "" hone info mod
expect "" hone nonsense --
exit $failed
