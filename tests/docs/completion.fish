#!/usr/bin/env fish
# What the fish completion offers for some command lines.
source share/fish/vendor_completions.d/hone.fish
set -g failed 0

function expect --argument-names wanted line
    set -l offered (complete -C "$line" | string replace -r '\t.*' '' | string join ' ')
    if test "$offered" != "$wanted"
        echo "$line: '$offered' instead of '$wanted'"
        set -g failed 1
    end
end

expect check 'hone ch'
expect --version 'hone --v'
expect save 'hone help s'
expect --json 'hone ops --j'
expect '--infer --inline-functions' 'hone save --in'
expect 'json npy npz pb' 'hone run --format '
expect README.md 'hone info READM'
exit $failed
