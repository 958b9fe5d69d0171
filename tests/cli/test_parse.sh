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
    case $f in */41-* | */61-*) continue ;; esac
    "$bench" parse "$f" --json | python3 -c '
import json, sys
def refuse(word): raise ValueError(word)
d = json.load(sys.stdin, parse_constant=refuse)
assert d["format"] == "moe-bench/runlog/1"
assert set(d) == {"format", "dialect", "iterations", "timers", "memory",
                  "throughput", "warnings", "failure"}
for t in d["timers"]:
    assert t["iteration"] > 0
    assert "ranks" in t or t["min_ms"] <= t["max_ms"]' || echo "$f" >>"$dir/bad"
done
[ ! -e "$dir/bad" ]
check "every fixture gives strict JSON with the documented keys" $?

"$bench" parse $logs/55-mtp.log --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
last = d["iterations"][-1]
assert last["mtp_losses"] == [10.625, 11.25], last
assert last["tokens_per_s_per_gpu"] == 900.5 and last["consumed_samples"] == 96
assert d["throughput"]["tokens_per_s_per_gpu"] == 900.5, d["throughput"]'
check "MTP losses, tokens per second and samples are in the JSON" $?

"$bench" parse $logs/55-mtp.log >"$dir/out"
grep -q 'mtp_2 loss  11.25 at iteration 3' "$dir/out" &&
    grep -q 'tokens/s    900.5 per GPU' "$dir/out"
check "and in the summary" $?

# 4 layers of 8 h^2 + 4 h f + 2 s h products, a head of 2 h V, three times,
# 64 samples of 2048 tokens in 0.5 s on 8 GPUs: 17.987 TFLOP/s
"$bench" parse $logs/63-dump-and-throughput.log >"$dir/out"
grep -q '9.5 TFLOP/s per GPU as printed, 18.0 from our own' "$dir/out" &&
    grep -q 'tokens      393216 consumed' "$dir/out"
check "TFLOP/s of the dump's model stand beside the printed ones" $?

"$bench" parse $logs/63-dump-and-throughput.log --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
t = d["throughput"]
assert t["tflops_per_gpu"] == 9.5
assert abs(t["tflops_per_gpu_recomputed"] - 17.987323) < 1e-5, t
assert d["iterations"][-1]["consumed_tokens"] == 393216'
check "and in the JSON" $?

grep -v '   [2-9]/ ' $logs/11-dated.log | head -1 >"$dir/one.log"
"$bench" parse "$dir/one.log" >"$dir/out"
[ $? -eq 0 ] && grep -q 'no usable iteration; the last one logged took' \
    "$dir/out"
check "the only line of a log is shown although it may be warm-up" $?

"$bench" parse $logs/48-not-understood.log --json >"$dir/out"
grep -q "iteration 2: 'elapsed time per iteration (ms): 12.5Q' is not under" \
    "$dir/out" && ! grep -q '"step_ms": 12.5[^0-9]*"loss": 10' "$dir/out"
check "a value that is not understood is named and is no step" $?

"$bench" parse $logs/61-other-dialect.log >"$dir/out" 2>"$dir/err"
[ $? -eq 2 ] && grep -q 'form of torchtitan' "$dir/err" &&
    grep -q 'step: 10  loss:  8.25' "$dir/err"
check "a dialect that is not read is named with its first line" $?

for f in $logs/41-not-a-log.log $logs/absent.log $logs; do
    "$bench" parse "$f" >"$dir/out" 2>"$dir/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$dir/err")" -eq 1 ] && [ ! -s "$dir/out" ]
    check "parse of ${f#tests/fixtures/}: one line, exit 2" $?
done

"$bench" parse 2>/dev/null
[ $? -eq 2 ]
check "without a log: usage, exit 2" $?
