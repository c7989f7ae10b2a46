#!/usr/bin/env zsh
# Presses Tab in a zsh of its own: what the completion makes of some command lines.
emulate -L zsh
zmodload zsh/zpty
failed=0

zpty inner zsh -f -i
zpty -w inner 'PS1= PS2= RPS1=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; fpath=(share/zsh/site-functions $fpath)'
zpty -w inner "autoload -Uz compinit; compinit -u -D; setopt no_list_ambiguous no_beep; bindkey -e; bindkey '^I' complete-word"

# expect "COMPLETED LINE" "TYPED": ^A goes to the beginning, where `print` takes the line as its words.
expect() {
    local seen
    zpty -w -n inner "$2"$'\t\C-aprint -r -- "<<" \C-e ">>"\n'
    zpty -r -m inner seen $'*\n<< *>>*'
    seen=${${seen##*$'\n'<< }%% >>*}
    if [[ ${seen%% } != "$1" ]]; then
        print -r -- "$2: '${seen%% }' instead of '$1'"
        failed=1
    fi
}

expect "hone check" "hone ch"
expect "hone help providers" "hone help prov"
expect "hone run --repeat" "hone run --repe"
expect "hone run --format=json" "hone run --format=js"
expect "hone save --strip=docs" "hone save --strip=d"
expect "hone info README.md" "hone info READM"
zpty -d inner
exit $failed
