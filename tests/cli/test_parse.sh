#!/bin/sh
# moe-bench parse: exit codes, JSON, one line on bad input.
set -u
bench=${BUILD:-build/release}/moe-bench
logs=tests/fixtures/logs
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

check() { # CLAIM STATUS
    if [ "$2" -eq 0 ]; then echo "ok - $1"; else echo "not ok - $1"; fi
}

if [ ! -x "$bench" ]; then
    echo "ok - moe-bench parse # SKIP $bench is not built"
    exit 0
fi

"$bench" parse $logs/39-moe-train.log >"$dir/out" 2>"$dir/err"
status=$?
[ $status -eq 0 ] && grep -q 'median 42.8 ms of 2 (min 42.2, max 43.2)' \
    "$dir/out" && [ ! -s "$dir/err" ]
check "the summary gives the median of the usable iterations" $?

"$bench" parse $logs/32-oom.log --json >"$dir/out"
[ $? -eq 0 ] && grep -q '"kind": "oom", "rank": 5' "$dir/out"
check "a log that tells of a failure exits 0 and names kind and rank" $?

"$bench" parse $logs/25-restart.log --json >"$dir/file"
"$bench" parse /dev/stdin --json <$logs/25-restart.log >"$dir/stdin"
cat $logs/25-restart.log | "$bench" parse /dev/stdin --json >"$dir/pipe"
cmp -s "$dir/file" "$dir/pipe" && cmp -s "$dir/file" "$dir/stdin"
check "a pipe gives the same JSON as the file" $?

[ "$(grep -c '"step_ms"' "$dir/file")" -eq 6 ]
check "a restart's iterations are there once each" $?

for f in $logs/*.log; do
    case $f in */41-*) continue ;; esac
    "$bench" parse "$f" --json | python3 -c '
import json, sys
def refuse(word): raise ValueError(word)
d = json.load(sys.stdin, parse_constant=refuse)
assert d["format"] == "moe-bench/runlog/1"
assert set(d) == {"format", "dialect", "iterations", "timers", "memory",
                  "failure"}
for t in d["timers"]:
    assert t["iteration"] > 0
    assert "ranks" in t or t["min_ms"] <= t["max_ms"]' || echo "$f" >>"$dir/bad"
done
[ ! -e "$dir/bad" ]
check "every fixture gives strict JSON with the documented keys" $?

for f in $logs/41-not-a-log.log $logs/absent.log $logs; do
    "$bench" parse "$f" >"$dir/out" 2>"$dir/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ]
    check "parse of ${f#tests/fixtures/}: one line, exit 2" $?
done

"$bench" parse 2>/dev/null
[ $? -eq 2 ]
check "without a log: usage, exit 2" $?
