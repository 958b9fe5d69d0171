#!/bin/sh
# Measures how the sources read and fails where a bound is missed. usage:
# check_style.sh FOLDER... (all *.c and *.h below them). Bounds: median function
# of 15 lines, none over 60, none with more than 5 parameters, files of 600
# lines, comments on 10% of the lines of .c files and 35% of .h files. Blank
# lines do not count; a line with code and a comment counts as both.
set -eu
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0
say() { echo "$*"; bad=1; }

files=$(find "$@" -name '*.[ch]' | sort)
ctags -x --_xformat='%{input}|%n|%{end}|%N|%S' --kinds-C=f --fields=+neS \
    --languages=C --langmap=C:.c.h $files >"$work/functions"

# FILE|FIRST|LAST|NAME|(PARAMETERS) to LENGTH|PARAMETERS|FILE|NAME; commas within
# the parentheses of a function pointer part no parameters of ours
awk -F'|' '{
    depth = 0
    n = $5 == "(void)" || $5 == "()" ? 0 : 1
    for (i = 1; i <= length($5); i++) {
        c = substr($5, i, 1)
        depth += (c == "(") - (c == ")")
        n += c == "," && depth == 1
    }
    print $3 - $2 + 1 "|" n "|" $1 "|" $4
}' "$work/functions" | sort -t'|' -n >"$work/measured"

awk -F'|' '$1 > 60 { print $3 ": " $4 "() has " $1 " lines, want at most 60" }
    $2 > 5 { print $3 ": " $4 "() has " $2 " parameters, want at most 5" }' \
    "$work/measured" >"$work/offenders"
wc -l $files | awk '$2 != "total" && $1 > 600 {
    print $2 ": " $1 " lines, want at most 600" }' >>"$work/offenders"
if [ -s "$work/offenders" ]; then
    cat "$work/offenders"
    bad=1
fi
median=$(awk -F'|' '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }' \
    "$work/measured")
[ "$median" -le 15 ] || say "median function: $median lines, want at most 15"

# FOLDER LINES COMMENTS of each folder, and of all
count() { # SUFFIX
    awk '
    FNR == 1 {
        inside = 0
        folder = FILENAME
        sub(/\/[^\/]*$/, "", folder)
    }
    /^[ \t]*$/ { next }
    {
        gsub(/"([^"\\]|\\.)*"/, "\"\"") # no comment begins within a text
        hit = inside || /\/\*/ || /\/\//
        if (/\/\*/) inside = 1
        if (/\*\//) inside = 0
        lines[folder]++; comments[folder] += hit
        lines["all"]++; comments["all"] += hit
    }
    END { for (f in lines) print f, lines[f], comments[f] }
    ' $(printf '%s\n' $files | grep "\.$1\$")
}

for kind in c:10 h:35; do
    suffix=${kind%:*} want=${kind#*:}
    count "$suffix" | sort | awk -v suffix="$suffix" -v want="$want" '
    {
        share = 100 * $3 / $2
        missed = share < want
        if (missed)
            printf "%s: comments on %.1f%% of the lines of .%s files, want %d%%\n",
                   $1, share, suffix, want
        if ($1 == "all" && missed)
            failed = 1
    }
    END { exit failed }' || bad=1
done
n=$(wc -l <"$work/measured")
longest=$(awk -F'|' 'END { print $1 }' "$work/measured")
echo "$n functions: median $median lines, longest $longest"
exit $bad
