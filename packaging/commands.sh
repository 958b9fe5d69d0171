#!/bin/sh
# A program's commands from its --help, a line each: the name and, where a
# deeper row tells, what it does. usage: commands.sh PROGRAM
set -eu
export LC_ALL=C
"$1" --help | awk -v program="${1##*/}" '
function close_row() {
    if (name != "" && !seen[name]++)
        print name (what == "" ? "" : " " what)
    name = what = ""
}
/[Ee]xamples?:/ || /^(options|flags).*:$/ { exit }
/^  [a-z]/ {
    close_row()
    name = $1 == program ? $2 : $1
    next
}
/^      [a-z]/ && name != "" {
    what = $0
    sub(/^ */, "", what)
}
END { close_row() }'
