#!/bin/sh
# Fails on an include against the order of the rooms, on a circle of files, and
# on a room of more than 20 modules. usage: check_deps.sh ROOM... (folders, in
# dependency order). A file includes its own room's headers by name ("err.h"),
# another room's with the room's name ("base/err.h"). Rooms of commands, the last
# of each program, are included by nobody; harness/train takes part in nothing of
# the harness, nor the harness in it. Tests and fuzzers may include any room.
set -eu
export LC_ALL=C
bad=0
edges=$(mktemp)
trap 'rm -f "$edges"' EXIT

say() { echo "$*"; bad=1; }

includes() { sed -n 's/^#include "\([A-Za-z_0-9\/]*\.h\)".*/\1/p' "$1"; }

path_of() { # FILE INCLUDE: the file that it names, nothing when there is none
    for p in "$(dirname "$1")/$2" "planner/$2" "harness/$2"; do
        [ -f "$p" ] && echo "$p" && return
    done
}

allowed() { # ROOM OTHER: may a file of ROOM include one of OTHER?
    case $1:$2 in
    *:*/cmd | harness/train:harness/* | harness/*:harness/train) return 1 ;;
    esac
    case $before in *" $2 "*) return 0 ;; *) return 1 ;; esac
}

look() { # FILE ROOM
    for inc in $(includes "$1"); do
        to=$(path_of "$1" "$inc")
        [ -n "$to" ] || { say "$1: includes '$inc', found no such file"; continue; }
        echo "$1 $to" >>"$edges"
        other=$(dirname "$to")
        [ "$other" = "$2" ] || allowed "$2" "$other" ||
            say "$1: includes '$inc' of $other, want only rooms before $2"
    done
}

before=" "
for room in "$@"; do
    n=$(ls "$room" | sed -n 's/\.[ch]$//p' | sort -u | wc -l)
    [ "$n" -le 20 ] || say "$room: $n modules, want at most 20"
    for file in "$room"/*.c "$room"/*.h; do
        [ -f "$file" ] && look "$file" "$room"
    done
    before="$before$room "
done
for file in tests/*.c tests/*.h tests/mpi/*.c tests/fuzz/*.[ch]; do
    for inc in $(includes "$file"); do
        to=$(path_of "$file" "$inc")
        case $to in
        "") say "$file: includes '$inc', found no such file" ;;
        */cmd/*) say "$file: includes '$inc', want no file of the commands" ;;
        esac
    done
done
# a header includes itself through its .c only: what is left must be a tree
grep -v '^$' "$edges" | tsort >/dev/null 2>"$edges.circle" ||
    { cat "$edges.circle"; say "includes run in a circle"; }
rm -f "$edges.circle"
exit $bad
