#!/bin/sh
# Snippets of bash: what planner/shell reads equals what bash does. A call is
# `rec WORD...`, a function that prints its words where bash runs.
calls=${BUILD:-build/release}/tests/shell_calls
snippets=tests/cli/shell_snippets.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -x "$calls" ] || {
    echo "not ok - $calls is not built"
    exit 1
}

# each snippet to a file of its own, after its number
awk -v dir="$work" '
    BEGIN { n = 1; file = sprintf("%s/%03d.sh", dir, n) }
    $0 == "----" { close(file); file = sprintf("%s/%03d.sh", dir, ++n); next }
    { print >file }' "$snippets"

# >&9: words that a snippet passes to a pipe or a file still count
echo 'rec() { { if [ $# = 0 ]; then printf "<>"; else printf "<%s>" "$@"; fi
    echo; } >&9; }' >"$work/first"
mkdir "$work/empty"
for file in "$work"/[0-9]*.sh; do
    name=$(basename "$file" .sh)
    mkdir "$work/run"
    cp "$file" "$work/run/snippet.sh"
    { cat "$work/first"; sed 's/^exec rec/rec/; s/; exec rec \(.*\); rec never/; rec \1/' "$file"; } \
        >"$work/run.sh"
    (cd "$work/run" && env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 \
        /bin/bash "$work/run.sh" 9>"$work/want" >/dev/null 2>&1 </dev/null)
    "$calls" -d "$work/run/snippet.sh" >"$work/got" 2>"$work/error"
    rm -rf "$work/run"
    if cmp -s "$work/want" "$work/got"; then
        echo "ok - snippet $name: $(head -n 1 "$file" | cut -c1-60)"
    else
        echo "not ok - snippet $name"
        sed 's/^/# /' "$file" "$work/error"
        diff "$work/want" "$work/got" | sed 's/^/# /'
    fi
done
