#!/bin/bash
# The man page formats without a warning, and shows every command.
set -euo pipefail
page=share/man/man1/hone.1
command -v groff >/dev/null || exit 77

warnings=$(groff -man -Tutf8 -ww -z "$page" 2>&1)
if [ -n "$warnings" ]; then
    echo "$warnings"
    exit 1
fi
for command in $(sed -n 's/^COMMAND(\(.*\))$/\1/p' cli/commands.def); do
    groff -man -Tascii -P-c -P-b -P-u "$page" | grep -q "hone $command " || {
        echo "no section about hone $command"
        exit 1
    }
done
