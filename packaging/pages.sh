#!/bin/sh
# Manual pages of programs and of each of their commands, from --help.
# usage: pages.sh DIR PROGRAM... ; PROGRAM is a path, DIR/NAME[-COMMAND].1 is
# written.
set -eu
export LC_ALL=C
here=$(dirname "$0")
dir=$1
shift
list=$(mktemp)
trap 'rm -f "$list" "$list.commands"' EXIT
mkdir -p "$dir"
all=
for program in "$@"; do all="$all ${program##*/}"; done

page() { # NAME WHAT ALSO; --help on standard input
    awk -v name="$1" -v version="$version" -v what="$2" -v also="$3" \
        -v list="$known" -v tell="$list" -f "$here/man.awk" >"$dir/$1.1.new"
    mv "$dir/$1.1.new" "$dir/$1.1"
}

for program in "$@"; do
    base=${program##*/} pages= known=
    version=$("$program" --version)
    sh "$here/commands.sh" "$program" >"$list.commands"
    while read -r command what; do
        "$program" "$command" --help </dev/null |
            page "$base-$command" "$what" "$base"
        pages="$pages $base-$command"
    done <"$list.commands"
    others=
    for other in $all; do
        [ "$other" = "$base" ] || others="$others $other"
    done
    [ -z "$pages" ] || known=$list
    "$program" --help | page "$base" "" "$pages$others"
done
