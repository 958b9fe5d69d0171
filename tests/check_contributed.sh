#!/bin/sh
# check_contributed.sh MOE_BENCH BASE: reads every contributed dataset that differs
# from the commit BASE as a reviewer does. Exit 1 when one does not pass, or when
# something else than whole datasets lies in results/contributed.
set -u
export LC_ALL=C
bench=$1 base=$2
root=results/contributed
changed=$(mktemp)
trap 'rm -f "$changed"' EXIT
git diff --name-only "$base...HEAD" -- "$root" >"$changed" || exit 3
cut -d/ -f1-3 "$changed" | sort -u >"$changed.dirs"
status=0 n=0
while IFS= read -r dir; do
    [ -e "$dir" ] || continue # removed
    n=$((n + 1))
    if [ ! -f "$dir/manifest.json" ]; then
        echo "$dir: no contributed dataset (no manifest.json)"
        status=1
        continue
    fi
    "$bench" validate "$dir" || status=1
done <"$changed.dirs"
rm -f "$changed.dirs"
echo "$n contributed datasets looked at, $([ $status -eq 0 ] && echo all pass || echo not all pass)"
exit $status
