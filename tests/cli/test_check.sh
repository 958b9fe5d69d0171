#!/bin/sh
# moe-layout check: verdicts by version, caret, warnings, ranks, list form.
L=${BUILD:-build/release}/moe-layout
M=experiments/models/7b-a1b.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

is() { # CLAIM GOT WANTED
    if [ "$2" = "$3" ]; then echo "ok - $1"; else
        echo "not ok - $1: got '$2', want '$3'"; fi
}

"$L" check $M 'Et*5|t*6|t*4|mL' --pp 4 >"$tmp/out" 2>"$tmp/err"
is "a layout that is not valid: exit 1, what was read on stderr" \
    "$? $(grep -vc ' layers of width ' "$tmp/err")" "1 0"
is "plain words, the string, a caret, Megatron's words" "$(cat "$tmp/out")" \
"not valid: one t for each decoder layer: found 15, want 16
  Et*5|t*6|t*4|mL
           ^
Megatron: AssertionError: Number of decoder layers must match num_layers"

for core in 0.12 0.13 0.14 0.15 0.16 0.17 0.18 0.19 0.20; do
    "$L" check $M 'Et*5|t*11|m|L' --pp 4 --core $core >/dev/null 2>&1
    echo "$core $?"
done >"$tmp/out"
is "m on a stage of its own by version" "$(tr '\n' ' ' <"$tmp/out")" \
    "0.12 1 0.13 1 0.14 0 0.15 1 0.16 0 0.17 0 0.18 0 0.19 0 0.20 0 "
"$L" check $M 'Et*5|t*11|m|L' --pp 4 --core 1.0 >/dev/null 2>"$tmp/err"
is "an unknown version: exit 2" "$? $(grep -c '0.12 to 0.20' "$tmp/err")" "2 1"

"$L" check $M 'Et*5|t*6|t*5|mL' --pp 4 >"$tmp/out"
is "the rank table" "$(sed -n '5p' "$tmp/out" | tr -s ' ')" "2 0 2 11-15 t*5"
"$L" check $M 'Et|t|t|t|t|t|t|t|t|t|t|tttt|t|mL|' --pp 3 --json >"$tmp/out"
is "L away from the last stage is told of" \
    "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], len([w for w in d["warnings"] if w.startswith("L is not")]))' \
        "$tmp/out")" "True 1"
"$L" check $M 'Et|t|t|t|t|t|t|t|t|t|t|tttt|t|m|L' --pp 3 --json >"$tmp/out"
is "JSON has the shortest string and the list of lists" \
    "$(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], d["vpp"], d["shortest"], d["list"][-2:])' "$tmp/out")" \
    "True 5 E(t|)*11t*4|t|m|L [['mtp'], ['loss']]"
"$L" check $M 'E|t*8m|t*8|L' --pp 2 --json >"$tmp/out"
is "JSON has the reason, Megatron's words and the place" \
    "$? $(python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
print(d["valid"], d["error"], d["position"], d["megatron"].split(":")[0])' "$tmp/out")" \
    "1 False t_after_m 7 AssertionError"

"$L" check $M 'E|t*16|mL|' --pp 4 -- --overlap-moe-expert-parallel-comm |
    grep -c '^warning' >"$tmp/out"
is "warnings of the run: L, the empty stage, standalone, m, timer" "$(cat "$tmp/out")" 5

vectors=../shared/vectors/layout_vectors.jsonl
if [ -f $vectors ]; then
    "$L" check --batch $vectors >"$tmp/out"
    is "all vectors in one batch" "$(python3 -c '
import json, sys
n = bad = 0
for want, got in zip(open(sys.argv[1]), open(sys.argv[2]), strict=True):
    want, got = json.loads(want), json.loads(got)
    n += 1
    bad += any(got[k] != want[k] for k in
               ("valid", "error", "vpp", "stages", "mtp_standalone"))
print(n, bad)' $vectors "$tmp/out")" "200 0"
else
    echo "ok - all vectors in one batch # SKIP $vectors is not there"
fi
