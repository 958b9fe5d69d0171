#!/bin/sh
# Completion of programs for three shells, from --help. usage:
# completion.sh DIR MAN_DIR PROGRAM... ; MAN_DIR has the programs' pages, whose
# first lines say what commands do. Writes DIR/bash/NAME, DIR/zsh/_NAME and
# DIR/fish/NAME.fish.
set -eu
export LC_ALL=C
here=$(dirname "$0")
dir=$1 man=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$dir/bash" "$dir/zsh" "$dir/fish"

# "name \- what it does" of a page, as plain text
what_of() { # PAGE
    sed -n 's/^[^ ]* \\- //p; /^\.SH SYNOPSIS/q' "$1" |
        sed "s/\\\\-/-/g; s/\\\\(aq/'/g; s/\\\\(ga/\`/g; s/\\\\(dq/\"/g; s/\\\\e/\\\\/g"
}

for program in "$@"; do
    name=${program##*/}
    : >"$work/commands"
    sh "$here/commands.sh" "$program" >"$work/names"
    { echo @; "$program" --help; } >"$work/helps"
    while read -r command rest; do
        echo "$command $(what_of "$man/$name-$command.1")" >>"$work/commands"
        { echo "@ $command"; "$program" "$command" --help </dev/null; } \
            >>"$work/helps"
    done <"$work/names"
    # awk counts files, and passes over an empty one
    [ -s "$work/commands" ] || echo >"$work/commands"
    for shell in bash zsh fish; do
        case $shell in
        bash) file=bash/$name ;;
        zsh) file=zsh/_$name ;;
        fish) file=fish/$name.fish ;;
        esac
        awk -v shell=$shell -v program="$name" -f "$here/completion.awk" \
            "$work/commands" "$work/helps" >"$dir/$file.new"
        mv "$dir/$file.new" "$dir/$file"
    done
done
