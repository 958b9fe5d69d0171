#!/bin/sh
# Fails on an include that points against the module order.
# usage: check_deps.sh MODULE... (in dependency order)
set -eu
bad=0
seen=" "
for m in "$@"; do
    seen="$seen$m "
    for f in planner/base/$m planner/$m harness/train/$m harness/$m; do
        for file in "$f.c" "$f.h"; do
            [ -f "$file" ] || continue
            for inc in $(sed -n 's/^#include "\([a-z_0-9]*\)\.h".*/\1/p' "$file"); do
                case $seen in
                *" $inc "*) ;;
                *) echo "$file: includes '$inc.h', want only modules before '$m'"
                   bad=1 ;;
                esac
            done
        done
    done
done
exit $bad
